"""One row of `memories`, as Python sees it, and how it is read and written."""

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from sidecar.limits import TIME_MIN_MS
from sidecar.store.sqlite.typed import Connection

# What a memory takes beside its text and its vector, measured on stores of ordinary facts: the
# row and its share of the indexes. A cold one is found by its run and its segment too.
HOT_ROW_BYTES: Final = 240
COLD_ROW_BYTES: Final = 380
TEXT_INDEX_SHARE: Final = 0.6  # the text index, per byte of what is indexed
# What zstd leaves of a line, before it is known: of its scalars, and per byte of text.
COLD_LINE_BYTES: Final = 60
COLD_TEXT_SHARE: Final = 0.4
FLOAT32_BYTES: Final = 4
VECTOR_PAGE_SHARE: Final = 1.05  # vectors do not fill database pages to the end


class Row(msgspec.Struct):
    """Every column of one memory. Codes are positions in the tuples of model.py."""

    rid: int
    id: str
    tier: int
    status: int
    status_reason: str | None
    status_at: int | None
    memory_type: int
    importance: float | None
    estimate: float
    estimator: str
    fade_factor: float
    created_at: int
    updated_at: int
    last_recalled_at: int | None
    valid_from: int | None
    expires_at: int | None
    held_until: int | None
    recall_count: int
    use_count: int
    regret_count: int
    success_count: int
    failure_count: int
    usefulness_score: float
    last_useful_at: int | None
    superseded_by: str | None
    pinned: int
    evergreen: int
    media_ref: str | None
    embedding_model: str | None
    embedding_dimensions: int | None
    revision: int
    change_counter: int
    content_hash: bytes
    text_bytes: int
    bytes: int
    segment: str | None
    frame: int | None
    line: int | None
    forgotten_at: int | None
    restored_at: int | None
    moved_run: str | None
    moved_reason: int | None
    tier_left: int | None
    faded_at: int | None
    archived_run: str | None = None

    @property
    def value(self) -> float:
        """The importance that scores use: the host's, else the estimate."""
        return self.estimate if self.importance is None else self.importance

    def expired(self, now: int) -> bool:
        """Whether the memory's time is over. Computed, never stored; never by an impossible one."""
        return self.expires_at is not None and TIME_MIN_MS <= self.expires_at <= now


COLUMNS: Final = tuple(spec.name for spec in msgspec.structs.fields(Row))
_SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM memories"
_INSERT: Final = (
    f"INSERT INTO memories ({', '.join(COLUMNS[1:])}) "
    f"VALUES ({', '.join(f':{name}' for name in COLUMNS[1:])})"
)
_UPDATE: Final = (
    f"UPDATE memories SET {', '.join(f'{name} = :{name}' for name in COLUMNS[1:])} WHERE rid = :rid"
)

# Where a memory lies and how it got there: no part of what is believed of it.
PLACEMENT: Final = frozenset(
    {
        "rid",
        "tier",
        "bytes",
        "text_bytes",
        "segment",
        "frame",
        "line",
        "moved_run",
        "moved_reason",
        "tier_left",
        "archived_run",
        "change_counter",
    }
)
# The columns whose change is content or belief, so that it raises the revision.
BELIEF: Final = frozenset(
    {
        "status",
        "status_reason",
        "memory_type",
        "importance",
        "created_at",
        "valid_from",
        "expires_at",
        "superseded_by",
        "media_ref",
        "embedding_model",
        "embedding_dimensions",
        "content_hash",
    }
)


def from_values(values: tuple[Any, ...]) -> Row:
    """A row from the values of `SELECT` in column order."""
    return Row(*values)


def by_id(connection: Connection, memory_id: str) -> Row | None:
    """The row with this id, in any tier."""
    found = connection.execute(f"{_SELECT} WHERE id = ?", (memory_id,)).fetchall()
    return from_values(found[0]) if found else None


def by_rid(connection: Connection, rid: int) -> Row | None:
    """The row with this row number, in any tier."""
    found = connection.execute(f"{_SELECT} WHERE rid = ?", (rid,)).fetchall()
    return from_values(found[0]) if found else None


def by_rids(connection: Connection, rids: Sequence[int]) -> list[Row]:
    """The rows with these row numbers that are there, in any tier, in order of row."""
    where = "WHERE rid IN (SELECT value FROM json_each(?)) ORDER BY rid"
    return select(connection, where, (json.dumps(rids),))


def select(connection: Connection, where: str, bindings: tuple[Any, ...]) -> list[Row]:
    """All rows of a condition."""
    return [from_values(values) for values in connection.execute(f"{_SELECT} {where}", bindings)]


def insert(connection: Connection, row: Row) -> None:
    """Add the row and give it its row number."""
    connection.execute(_INSERT, msgspec.structs.asdict(row))
    row.rid = connection.last_insert_rowid()


def update(connection: Connection, row: Row) -> None:
    """Write every column of the row."""
    connection.execute(_UPDATE, msgspec.structs.asdict(row))


def scalars(row: Row) -> dict[str, Any]:
    """Every scalar column by name, as values that JSON can hold."""
    values = msgspec.structs.asdict(row)
    values["content_hash"] = row.content_hash.hex()
    return values


def hot_bytes(text_bytes: int, indexed_bytes: int, dimensions: int | None) -> int:
    """What a hot memory takes on disk: row, text, its share of the text index, vector."""
    vector = FLOAT32_BYTES * (dimensions or 0)
    index = round(indexed_bytes * TEXT_INDEX_SHARE)
    return HOT_ROW_BYTES + text_bytes + index + round(vector * VECTOR_PAGE_SHARE)


def cold_bytes(text_bytes: int, dimensions: int | None) -> int:
    """What a memory is expected to take on disk once it is cold: row, line, vector."""
    line = COLD_LINE_BYTES + round(text_bytes * COLD_TEXT_SHARE)
    return COLD_ROW_BYTES + line + FLOAT32_BYTES * (dimensions or 0)
