"""The file that `forgetd export` writes: a first line about the export, records, a last line.

The last line says how many records there are and the SHA-256 of all before it, so a file that was
cut off or damaged is known before anything is stored. Records alone, without these two lines, are
read too. Where a record's id comes twice, because it changed while it was exported, the last one
counts.
"""

import hashlib
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, cast

from sidecar.importers.check import Seen, problem_of_whole
from sidecar.importers.items import BadLine, Item, Notice, Record
from sidecar.importers.lines import Line, Unclear, parse_json, read_lines
from sidecar.limits import EXPORT_LINE_BYTES_MAX

MARK: Final = "forgetd"  # the only field of the first and the last line
VERSION: Final = 1
CLOSING_BYTES_MAX: Final = 4_096
BLOCK_BYTES: Final = 1_048_576
COPY_AGAIN: Final = "copy the file again, or export again"


def read(stream: BinaryIO) -> Iterator[Item]:
    """The records of the file in its order, and what cannot be or need not be stored."""
    closing, ends_at = _closing(stream)
    if closing is not None and (bad := _damage(stream, closing, ends_at)):
        yield bad
    repeated = closing is None or closing.get("repeated") != 0
    last_lines = _last_lines(stream) if repeated else {}
    stream.seek(0)
    seen = Seen()
    opened = False
    for line in read_lines(stream, EXPORT_LINE_BYTES_MAX):
        if isinstance(line, BadLine):
            yield line
        elif set(line.value) == {MARK}:
            opened = True
            if bad := _unknown_version(line):
                yield bad
                return
        else:
            yield _record(line, last_lines, seen)
    if opened and closing is None:
        what = "the file is cut off: its last line does not say how many records it has"
        yield BadLine(0, None, what, COPY_AGAIN, "the end")


def _record(line: Line, last_lines: dict[str, int], seen: Seen) -> Item:
    record = Record(line.number, line.value)
    if bad := problem_of_whole(record):
        return bad
    newer = last_lines.get(record.memory["id"], line.number)
    if newer != line.number:
        return Notice(line.number, "repeated", f"line {newer}")
    return seen.admit(record)


def _closing(stream: BinaryIO) -> tuple[dict[str, Any] | None, int]:
    """What the last line says, if it is one that ends an export, and where it begins."""
    size = stream.seek(0, os.SEEK_END)
    start = stream.seek(max(0, size - CLOSING_BYTES_MAX))
    tail = stream.read()
    text = tail.removesuffix(b"\n")
    begin = text.rfind(b"\n") + 1
    try:
        value: Any = parse_json(text[begin:].decode())
    except (ValueError, RecursionError, Unclear):  # it does not end an export
        return None, size
    told: Any = cast(dict[str, Any], value).get(MARK) if isinstance(value, dict) else None
    if not isinstance(told, dict) or "records" not in told:
        return None, size
    return cast(dict[str, Any], told), start + begin


def _damage(stream: BinaryIO, closing: dict[str, Any], ends_at: int) -> BadLine | None:
    """Whether what stands before the last line is what was exported."""
    digest = hashlib.sha256()
    stream.seek(0)
    left = ends_at
    while left and (block := stream.read(min(BLOCK_BYTES, left))):
        digest.update(block)
        left -= len(block)
    if digest.hexdigest() == closing.get("sha256"):
        return None
    return BadLine(
        0,
        None,
        "is not as it was exported: lines are missing, changed or damaged",
        f"{COPY_AGAIN}; if you changed it yourself, take away its first and its last line",
        "the file",
    )


def _last_lines(stream: BinaryIO) -> dict[str, int]:
    """The last line of each id."""
    stream.seek(0)
    return {
        line.value["id"]: line.number
        for line in read_lines(stream, EXPORT_LINE_BYTES_MAX)
        if isinstance(line, Line) and isinstance(line.value.get("id"), str)
    }


def _unknown_version(line: Line) -> BadLine | None:
    told: Any = line.value[MARK]
    version: Any = cast(dict[str, Any], told).get("export") if isinstance(told, dict) else None
    if version == VERSION or (isinstance(told, dict) and "records" in told):
        return None
    return BadLine(
        line.number,
        f"$.{MARK}.export",
        f"is {version!r}; this release reads version {VERSION}",
        "import it with the release that exported it, or a newer one",
    )
