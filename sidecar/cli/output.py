"""What the command prints: data on standard output, talk on standard error.

On a terminal tables are drawn with rich (loaded only then); elsewhere they are plain aligned
text. Whatever comes from a memory is printed with its control characters escaped, so that no
content can move the cursor, change the title or reorder the line.
"""

import io
import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console

CELL_CHARACTERS_MAX: Final = 160
BAR_CHARACTERS: Final = 24

# C0 and C1 controls, DEL, line separators, bidirectional overrides, halves of surrogate pairs.
_CONTROLS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_RAW_CONTROLS_IN_JSON: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table. A `wide` one is cut at the terminal's edge."""

    name: str
    right: bool = False
    wide: bool = False


def prepare_streams() -> None:
    """Write UTF-8 whatever the locale, and never fail for one character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def say(text: str) -> None:
    """Talk: one line on standard error."""
    print(safe(text), file=sys.stderr)


def tell(text: str = "") -> None:
    """Data for a reader: one line on standard output."""
    print(safe(text))


def emit_json(value: Any) -> None:
    """Data for a program: the value as JSON, readable, with Korean and emoji as they are."""
    _print_json(json.dumps(value, ensure_ascii=False, indent=2))


def emit_json_line(value: Any) -> None:
    """The same as one line, where one after the other comes."""
    _print_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _print_json(text: str) -> None:
    print(_RAW_CONTROLS_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def json_line(value: Any) -> str:
    """The value as JSON on one line, without a character that could move a cursor."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _RAW_CONTROLS_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def safe(text: str) -> str:
    """The text on one line, with every control character as a visible escape."""
    return _CONTROLS.sub(_escape, text)


def cell(text: str) -> str:
    """The text for a table: safe, and cut when it is long."""
    shown = safe(text[: CELL_CHARACTERS_MAX + 1])
    return shown if len(shown) <= CELL_CHARACTERS_MAX else shown[: CELL_CHARACTERS_MAX - 1] + "…"


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """A table on standard output. Cells are escaped and cut here."""
    cells = [[cell(text) for text in row] for row in rows]
    if sys.stdout.isatty():
        _draw_table(columns, cells)
        return
    header = [column.name for column in columns]
    widths = [max(map(_width, each)) for each in zip(header, *cells, strict=True)]
    for row in [header, *cells]:
        print(_aligned(columns, widths, row))


def bars(rows: Sequence[tuple[str, str, float | None]]) -> None:
    """Labelled amounts with the share of their limit: a bar on a terminal, else per cent."""
    if sys.stdout.isatty():
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        for label, amount, share in rows:
            style = "red" if share is not None and share > 1 else "green"
            bar = Text("")
            if share is not None:
                bar = ProgressBar(1.0, min(share, 1.0), BAR_CHARACTERS, complete_style=style)
            grid.add_row(f"  {label}", Text(amount, justify="right"), bar, _per_cent(share))
        _console().print(grid)
        return
    width = max(len(label) for label, _, _ in rows)
    for label, amount, share in rows:
        print(f"  {label:<{width}}  {amount}  {_per_cent(share)}".rstrip())


def _draw_table(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        drawn.add_column(
            column.name,
            justify="right" if column.right else "left",
            no_wrap=column.wide or column.right,
            overflow="ellipsis" if column.wide else "fold",
        )
    for row in cells:
        drawn.add_row(*(Text(text) for text in row))
    _console().print(drawn)


def _console() -> "Console":
    from rich.console import Console

    return Console(file=sys.stdout, markup=False, emoji=False, highlight=False)


def _aligned(columns: Sequence[Column], widths: Sequence[int], row: Sequence[str]) -> str:
    parts: list[str] = []
    for column, width, text in zip(columns, widths, row, strict=True):
        padding = " " * (width - _width(text))
        parts.append(padding + text if column.right else text + padding)
    return "  ".join(parts).rstrip()


def _width(text: str) -> int:
    """How many terminal columns the text takes (Korean and emoji take two each)."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _NAMED.get(character, f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _per_cent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
