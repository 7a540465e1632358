"""Carrying out a plan, step by step, so that a kill at any byte loses nothing."""
