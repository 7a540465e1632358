"""What a caller who mistyped a name probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

SHOWN_CHARACTERS_MAX: Final = 80


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name` (letter case aside), or None."""
    by_folded = {_folded(candidate): candidate for candidate in known}
    # Comparing takes time by length: a name longer than any known one is not a slip of a key.
    matches = get_close_matches(_folded(shortened(name)), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def remedy_for(name: str, known: Iterable[str]) -> str:
    """A sentence for `error.data.remedy`: the likely name, or every name there is."""
    names = list(known)
    if match := closest(name, names):
        return f"did you mean {match}?"
    return f"use one of: {', '.join(names)}" if names else "leave it out"


def shortened(name: str) -> str:
    """`name`, cut where it is too long to be told back."""
    return name if len(name) <= SHOWN_CHARACTERS_MAX else name[: SHOWN_CHARACTERS_MAX - 1] + "…"


def quoted(name: str) -> str:
    """`name` in quotes for a message, without control characters, cut where it is long."""
    return repr(shortened(name))


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")
