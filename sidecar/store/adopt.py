"""Taking in memories from sealed segments that the database does not know.

A rotten WAL, or a database restored from yesterday, can lose the rows of a segment that is
whole on disk. A memory of such a segment is adopted where its id has no row, or where its row
points at a segment that cannot be read any more. A line that differs from what its row holds is
no copy of anything: it counts as needed, so that nothing automatic ever takes its file away.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import apsw

from sidecar.model import FORGOTTEN, HOT
from sidecar.store import events, rows, tombstones
from sidecar.store.hot_payloads import leave_segments
from sidecar.store.rows import COLUMNS, Row, cold_bytes
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import SegmentDamaged, SegmentReader
from sidecar.store.sqlite.source import PayloadDamaged, read_payload
from sidecar.store.sqlite.typed import Connection


@dataclass(slots=True)
class Adopted:
    """How many memories came back, and the names of segments that cannot be read."""

    memories: int = 0
    damaged: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class _Found:
    """One line of an unknown segment, without its payload."""

    tier: int
    segment: str
    frame: int
    line: int
    memory_id: str
    content_hash: bytes
    scalars: dict[str, Any]

    @property
    def changes(self) -> int:
        """How often the memory had changed when the line was written."""
        counter = self.scalars.get("change_counter", 0)
        return counter if isinstance(counter, int) else 0


def adopt(
    connection: Connection, files: SegmentFiles, unknown: list[tuple[int, str]], now: int
) -> Adopted:
    """Adopt, in one transaction, what the segments of `unknown` hold alone.

    Of two lines of one memory the one that changed more often counts. Damaged segments and
    lines that make no row stay untouched.
    """
    adoption = _Adoption(connection, files, now)
    try:
        for tier, name in unknown:
            try:
                reader = files.reader(tier, name)
                digest = reader.verify()
            except (SegmentDamaged, OSError):
                adoption.adopted.damaged.append(name)
            else:
                adoption.take(reader, digest, tier, name)
        adoption.end()
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if not isinstance(error, apsw.FullError):
            raise
        adoption.adopted.memories = 0  # the files stay: a start with room adopts
    return adoption.adopted


class _Adoption:
    """One pass over the unknown segments; its transaction begins with the first memory taken."""

    def __init__(self, connection: Connection, files: SegmentFiles, now: int) -> None:
        self.adopted = Adopted()
        self._connection = connection
        self._files = files
        self._now = now
        self._mine: dict[str, _Found] = {}
        self._whole: dict[str, tuple[int, SegmentReader, bytes]] = {}
        self._needed: dict[str, int] = {}  # lines that stand nowhere else, by segment

    def take(self, reader: SegmentReader, digest: bytes, tier: int, name: str) -> None:
        """Adopt what one whole segment holds alone."""
        self._whole[name] = (tier, reader, digest)
        self._needed[name] = 0
        known: list[tuple[Row, _Found]] = []
        for found in _lines(reader, tier, name):
            row = rows.by_id(self._connection, found.memory_id)
            mine = self._mine.get(found.memory_id)
            if row is None and tombstones.stands(self._connection, found.memory_id):
                continue
            if row is None or (mine is not None and mine.changes < found.changes):
                self._write(row, found)
            elif mine is None:
                known.append((row, found))
        # In the order in which the rows lie, so that each of their frames is read once.
        for row, found in sorted(known, key=lambda pair: _place(pair[0])):
            self._compare(row, found)

    def end(self) -> None:
        """Register the segments in which adopted memories lie, and commit."""
        if not self._connection.in_transaction:
            return
        held = dict.fromkeys(self._whole, 0)
        for found in self._mine.values():
            held[found.segment] += 1
        for name, (tier, reader, digest) in self._whole.items():
            if held[name]:
                live = held[name] + self._needed[name]
                self._connection.execute(
                    "INSERT INTO segments VALUES (?, ?, NULL, ?, ?, ?, ?, ?)",
                    (name, tier, reader.count, live, reader.bytes, digest, self._now),
                )
        self._connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'commits'")
        self._connection.execute("COMMIT")
        self.adopted.memories = len(self._mine)

    def _compare(self, row: Row, found: _Found) -> None:
        """A line whose memory has a row: a copy, the better copy, or something else."""
        same = row.content_hash == found.content_hash
        try:
            read_payload(self._connection, self._files, row)
        except PayloadDamaged:
            if row.tier != HOT and (same or row.change_counter < found.changes):
                self._write(row, found)
            else:
                self._needed[found.segment] += 1
            return
        if not same:
            self._needed[found.segment] += 1

    def _write(self, before: Row | None, found: _Found) -> None:
        """Let the memory's row, a new one where it has none, point at the line."""
        connection = self._connection
        if not connection.in_transaction:
            connection.execute("BEGIN IMMEDIATE")
        connection.execute("SAVEPOINT line")
        try:
            row = _row_of(found, self._now)
            if before is None:
                rows.insert(connection, row)
            else:
                row.rid = before.rid
                rows.update(connection, row)
                self._leave(before)
            changed = events.changes(before and rows.scalars(before), rows.scalars(row))
            events.append(connection, self._now, "memory.adopted", row.id, changed)
        except (apsw.ConstraintError, TypeError):
            # Scalars that make no row, of a file that is not ours: it keeps what it holds.
            connection.execute("ROLLBACK TO line")
            self._needed[found.segment] += 1
        else:
            self._mine[found.memory_id] = found
        connection.execute("RELEASE line")

    def _leave(self, before: Row) -> None:
        """Count the row out of a segment that is gone; one that is only damaged stays as it is."""
        name = before.segment
        if name is not None and not self._files.path(before.tier, name).exists():
            leave_segments(self._connection, Counter({name: 1}))


def _lines(reader: SegmentReader, tier: int, name: str) -> Iterator[_Found]:
    for frame, line, record in reader:
        yield _Found(
            tier, name, frame, line, record.payload.id, record.content_hash, record.scalars
        )


def _place(row: Row) -> tuple[int, str, int, int]:
    return row.tier, row.segment or "", row.frame or 0, row.line or row.rid


def _row_of(found: _Found, now: int) -> Row:
    """The row as it was at the move, by the line's scalars, pointing at the line."""
    values: dict[str, Any] = dict.fromkeys(COLUMNS)
    values.update({name: value for name, value in found.scalars.items() if name in values})
    left = values["tier"]
    values.update(
        rid=0,
        tier=found.tier,
        segment=found.segment,
        frame=found.frame,
        line=found.line,
        content_hash=found.content_hash,
    )
    row = Row(**values)
    row.bytes = cold_bytes(row.text_bytes, row.embedding_dimensions)
    if left != found.tier:
        # The scalars are those of the moment before the move.
        row.change_counter = found.changes + 1
        row.tier_left, row.moved_run, row.moved_reason = left, None, None
        row.restored_at = now if left == FORGOTTEN else row.restored_at
        row.forgotten_at = None
    if found.tier == FORGOTTEN and row.forgotten_at is None:
        row.forgotten_at = now
    return row
