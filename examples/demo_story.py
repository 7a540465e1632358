"""How the demo speaks: scenes, sentences, and claims that must be true."""

import os
import sys

COLOURS = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


class NotAsTold(Exception):
    """Something is not as the demo says."""


def say(sentence: str) -> None:
    """One sentence of the story."""
    print(f"   {sentence}", flush=True)


def scene(number: int, title: str) -> None:
    """The head of a part of the story."""
    text = f"{number}  {title}"
    print(f"\n\033[1m{text}\033[0m\n" if COLOURS else f"\n{text}\n", flush=True)


def claim(sentence: str, holds: bool, found: object) -> None:
    """One sentence that must be true; raises NotAsTold with what was found instead."""
    if not holds:
        raise NotAsTold(f"{sentence}\n  found: {found}")
    tick = "\033[32m✓\033[0m" if COLOURS else "✓"
    print(f" {tick} {sentence}", flush=True)
