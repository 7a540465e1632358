"""What a caller who mistyped a name probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

SHOWN_CHARACTERS_MAX: Final = 80
# Alike enough to be a slip of the fingers; names that only share letters are less.
LIKENESS_MIN: Final = 0.78
BEGINNING_CHARACTERS_MIN: Final = 4


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name` (letter case aside), or the only one it begins."""
    by_folded = {_folded(candidate): candidate for candidate in known}
    # Comparing takes time by length: a name longer than any known one is not a slip of a key.
    wanted = _folded(shortened(name))
    if matches := get_close_matches(wanted, by_folded, n=1, cutoff=LIKENESS_MIN):
        return by_folded[matches[0]]
    begun = [folded for folded in by_folded if folded.startswith(wanted)]
    is_cut_short = len(begun) == 1 and len(wanted) >= BEGINNING_CHARACTERS_MIN
    return by_folded[begun[0]] if is_cut_short else None


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
