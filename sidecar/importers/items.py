"""What a reader yields, and how records are grouped into calls."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

CHUNK_MEMORIES_MAX: Final = 500
CHUNK_BYTES_MAX: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """One memory as `memory.import` takes it, and the place of the source it comes from.

    `where` names the place in a source that has no lines ("facts[3]"); `line` is then 0.
    """

    line: int
    memory: dict[str, Any]
    where: str | None = None

    @property
    def place(self) -> str:
        """The place as a person is told it."""
        return place_of(self.line, self.where)


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be stored. `field` is a JSON path in the line, None for the whole."""

    line: int
    field: str | None
    message: str
    remedy: str
    where: str | None = None

    @property
    def place(self) -> str:
        """The place as a person is told it."""
        return place_of(self.line, self.where)


NoticeKind = Literal[
    "repeated", "unknown_type", "blank", "deleted", "no_vector", "no_link", "no_memory"
]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something about a line that the reader of the report should know; nothing is wrong.

    `repeated`: the memory stands in an earlier line too and is stored once.
    `unknown_type`: the line is of a type unknown here and is kept as it is; `detail` names it.
    `blank`: a text of the line is blank, so there is nothing to remember.
    `deleted`: the other store deleted this memory. `no_vector`, `no_link`: the memory is stored
    without its vector, or without its successor, which cannot be right. `no_memory`: a part of
    the source that holds no memories and is left out; `detail` names it.
    """

    line: int
    kind: NoticeKind
    detail: str
    where: str | None = None


Item = Record | BadLine | Notice


def place_of(line: int, where: str | None) -> str:
    """ "line 3", or the name of the place."""
    return f"line {line}" if where is None else where


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
