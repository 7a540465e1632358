"""From bytes to one JSON object a line, strictly: what is unclear is reported, never guessed."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

from sidecar.importers.items import BadLine
from sidecar.limits import IMPORT_LINE_BYTES_MAX, INTEGER_MAX, JSON_DEPTH_MAX

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
DRAIN_BYTES: Final = 1_048_576

# A record lies in {params: {memories: [record]}}, and what is unknown goes one or two down.
RECORD_DEPTH_MAX: Final = JSON_DEPTH_MAX - 6

REPAIR: Final = "repair the line, or leave it out with --skip-bad"


@dataclass(frozen=True, slots=True)
class Line:
    """One line that holds a JSON object. Lines are counted from 1, blank ones too."""

    number: int
    value: dict[str, Any]


class Unclear(Exception):
    """JSON that has more than one reading, or a value that JSON has not."""


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises Unclear, JSONDecodeError, RecursionError, ValueError."""
    return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)


def read_lines(
    stream: BinaryIO, bytes_max: int = IMPORT_LINE_BYTES_MAX
) -> Iterator[Line | BadLine]:
    """Each line that is not blank, as a JSON object or as the reason why it is none.

    Accepts a byte order mark, CRLF, and a last line without newline. A line may have 4 MiB, or
    as many bytes as `bytes_max` says.
    """
    number = 0
    while piece := stream.readline(bytes_max + 2):  # with room for CRLF
        number += 1
        if not piece.endswith(b"\n") and len(piece) == bytes_max + 2:
            _skip_rest_of_line(stream)
        content = piece.removesuffix(b"\n").removesuffix(b"\r")
        if number == 1:
            content = content.removeprefix(BYTE_ORDER_MARK)
        if len(content) > bytes_max:
            yield BadLine(
                number,
                None,
                f"the line is longer than {bytes_max} bytes",
                "split what it holds into several records, or leave it out with --skip-bad",
            )
        elif content.strip():
            yield _parse(number, content)


def _skip_rest_of_line(stream: BinaryIO) -> None:
    while (rest := stream.readline(DRAIN_BYTES)) and not rest.endswith(b"\n"):
        pass


def _parse(number: int, content: bytes) -> Line | BadLine:
    try:
        value = parse_json(content.decode())
    except UnicodeDecodeError as error:
        if content.startswith(UTF16_MARKS):
            return BadLine(number, None, "the file is UTF-16", "save it as UTF-8")
        return BadLine(number, None, f"byte {error.start + 1} of the line is not UTF-8", REPAIR)
    except json.JSONDecodeError as error:
        what = f"the line is cut off or is no JSON (column {error.colno}: {error.msg})"
        return BadLine(number, None, what, REPAIR)
    except Unclear as unclear:
        return BadLine(number, None, str(unclear), REPAIR)
    except RecursionError:
        return BadLine(number, None, f"nested deeper than {RECORD_DEPTH_MAX} levels", REPAIR)
    except ValueError:  # an integer with thousands of digits
        return BadLine(number, None, f"an integer is beyond ±{INTEGER_MAX}", REPAIR)
    if not isinstance(value, dict):
        return BadLine(number, None, "the line is JSON but no object ({…})", REPAIR)
    record = cast(dict[str, Any], value)
    return _first_unsendable(number, record) or Line(number, record)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Unclear(f"the field {twice!r} stands twice in one object")
    return value


def _refuse_constant(name: str) -> None:
    raise Unclear(f"{name} is not JSON; write null where a number is unknown")


def _first_unsendable(number: int, record: dict[str, Any]) -> BadLine | None:
    """The first value that the wire cannot carry, with its path."""
    if found := unsendable(record):
        return BadLine(number, *found, REPAIR)
    return None


def unsendable(value: Any) -> tuple[str, str] | None:
    """The first value in it that the wire cannot carry: its JSON path, and the problem."""
    found = _unsendable(value, 1)
    return found and (f"${found[0]}".encode(errors="replace").decode(), found[1])


def _unsendable(value: Any, depth: int) -> tuple[str, str] | None:
    """The path below `value` and the problem there. The path is built only when there is one."""
    if isinstance(value, str):
        return None if _is_unicode(value) else ("", "holds half of a surrogate pair (a cut emoji)")
    if isinstance(value, float):
        return None if math.isfinite(value) else ("", "is too large for a number")
    if isinstance(value, int):
        return None if abs(value) <= INTEGER_MAX else ("", f"is an integer beyond ±{INTEGER_MAX}")
    if value is None:
        return None
    if depth > RECORD_DEPTH_MAX:
        return "", f"is nested deeper than {RECORD_DEPTH_MAX} levels"
    if isinstance(value, dict):
        for name, member in cast(dict[str, Any], value).items():
            if not _is_unicode(name):
                return f".{name}", "is a name with half of a surrogate pair"
            if found := _unsendable(member, depth + 1):
                return f".{name}{found[0]}", found[1]
        return None
    for at, element in enumerate(cast(list[Any], value)):
        if found := _unsendable(element, depth + 1):
            return f"[{at}]{found[0]}", found[1]
    return None


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
