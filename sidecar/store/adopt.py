"""Taking in memories from sealed segments that the database does not know.

A rotten WAL, or a database restored from yesterday, can lose the rows of a segment that is
whole on disk. Its memories are adopted where their ids live nowhere else.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from sidecar.store import events, rows
from sidecar.store.payload import content_hash
from sidecar.store.rows import COLUMNS, Row
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import SegmentDamaged, SegmentReader, SegmentRecord
from sidecar.store.sqlite.typed import Connection

_OWN: Final = frozenset({"rid", "tier", "segment", "frame", "line", "content_hash"})


@dataclass(slots=True)
class Adopted:
    """How many memories came back, and the names of segments that cannot be read."""

    memories: int = 0
    damaged: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Found:
    tier: int
    segment: str
    frame: int
    line: int
    record: SegmentRecord

    @property
    def changes(self) -> int:
        counter = self.record.scalars.get("change_counter", 0)
        return counter if isinstance(counter, int) else 0


def adopt(
    connection: Connection, files: SegmentFiles, unknown: list[tuple[int, str]], now: int
) -> Adopted:
    """Adopt, in one transaction, every memory of `unknown` whose id has no row.

    Of two copies the one that changed more often counts. Damaged segments stay untouched.
    """
    adopted = Adopted()
    newest: dict[str, _Found] = {}
    readers: dict[str, tuple[int, SegmentReader, bytes]] = {}
    for tier, name in unknown:
        try:
            reader = files.reader(tier, name)
            digest = reader.verify()
            for found in _without_row(connection, reader, tier, name):
                known = newest.get(found.record.payload.id)
                if known is None or known.changes < found.changes:
                    newest[found.record.payload.id] = found
            readers[name] = (tier, reader, digest)
        except (SegmentDamaged, OSError):
            adopted.damaged.append(name)
    if newest:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _write(connection, list(newest.values()), readers, now)
            connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'commits'")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
    adopted.memories = len(newest)
    return adopted


def _without_row(
    connection: Connection, reader: SegmentReader, tier: int, name: str
) -> list[_Found]:
    found: list[_Found] = []
    for frame, line, record in reader:
        query = "SELECT 1 FROM memories WHERE id = ?"
        if not connection.execute(query, (record.payload.id,)).fetchall():
            found.append(_Found(tier, name, frame, line, record))
    return found


def _write(
    connection: Connection,
    found: list[_Found],
    readers: dict[str, tuple[int, SegmentReader, bytes]],
    now: int,
) -> None:
    counts: dict[str, int] = {}
    for one in found:
        row = _row_of(one)
        rows.insert(connection, row)
        events.append(
            connection,
            now,
            "memory.adopted",
            row.id,
            events.changes(None, rows.scalars(row)),
        )
        counts[one.segment] = counts.get(one.segment, 0) + 1
    for name, live in counts.items():
        tier, reader, digest = readers[name]
        connection.execute(
            "INSERT INTO segments VALUES (?, ?, NULL, ?, ?, ?, ?, ?)",
            (name, tier, reader.count, live, reader.bytes, digest, now),
        )


def _row_of(found: _Found) -> Row:
    """The row as it was at the move, by the line's scalars, pointing at the line."""
    record = found.record
    values: dict[str, Any] = dict.fromkeys(COLUMNS)
    values.update({name: value for name, value in record.scalars.items() if name in values})
    values.update(
        rid=0,
        tier=found.tier,
        segment=found.segment,
        frame=found.frame,
        line=found.line,
        content_hash=content_hash(record.payload),
    )
    return Row(**values)
