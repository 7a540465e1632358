"""What a reader yields, and how records are grouped into calls."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

CHUNK_MEMORIES_MAX: Final = 500
CHUNK_BYTES_MAX: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """One memory as `memory.import` takes it, and the line of the file that it comes from."""

    line: int
    memory: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be stored. `field` is a JSON path in the line, None for the whole."""

    line: int
    field: str | None
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something about a line that the reader of the report should know; nothing is wrong.

    `repeated`: the memory stands in an earlier line too and is stored once.
    `unknown_type`: the line is of a type unknown here and is kept as it is; `detail` names it.
    `blank`: a text of the line is blank, so there is nothing to remember.
    """

    line: int
    kind: Literal["repeated", "unknown_type", "blank"]
    detail: str


Item = Record | BadLine | Notice


def chunks(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records in groups of at most 500 memories and about 4 MB, for one call each."""
    group: list[Record] = []
    group_bytes = 0
    for record in records:
        size = len(json.dumps(record.memory, ensure_ascii=False).encode())
        full = len(group) == CHUNK_MEMORIES_MAX or group_bytes + size > CHUNK_BYTES_MAX
        if group and full:
            yield group
            group, group_bytes = [], 0
        group.append(record)
        group_bytes += size
    if group:
        yield group
