"""Pure planning: a snapshot and settings in, a plan out. No store, no clock, no file."""
