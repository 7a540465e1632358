"""Where in the text of a TOML file a key stands, so that an error can name the line."""

import re
from collections.abc import Sequence
from typing import Final

_TABLE: Final = re.compile(r"^\s*\[(?!\[)\s*(?P<path>[^\]]*?)\s*\]")
_ENTRY: Final = re.compile(
    r"""^\s*(?P<path>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART: Final = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The number (from 1) of the line where the key or the table at `path` is written.

    A key inside an inline table answers with the line of that table. None where the text says
    it in a way that is not looked for.
    """
    wanted = tuple(path)
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = _parts(header["path"])
            if table[: len(wanted)] == wanted:
                return number
        elif entry := _ENTRY.match(line):
            written = (*table, *_parts(entry["path"]))
            if written == wanted[: len(written)] or written[: len(wanted)] == wanted:
                return number
    return None


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))
