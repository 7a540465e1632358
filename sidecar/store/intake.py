"""Taking in whole memories exactly as an export gave them, forgotten ones too.

A memory that comes forgotten never lies in the hot tables: its payload is written into a sealed
segment first, and the row that points there is made in the transaction that publishes the
segment. A crash between the two leaves a sealed segment that the next start adopts.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ulid import ULID

from sidecar.errors import InvalidParams, MemoryExists
from sidecar.exchange import CheckedExport
from sidecar.limits import SEGMENT_BYTES_MAX
from sidecar.model import FORGOTTEN, HOT
from sidecar.plan.plan import REASON_CODE
from sidecar.store import events, hot_payloads, links, rows, tombstones
from sidecar.store.encode import EncodedSegment, encode_segments
from sidecar.store.media import measure_media
from sidecar.store.payload import Payload, SourceRecord, content_hash
from sidecar.store.records import IfExists, PutResult, Records
from sidecar.store.rows import COLUMNS, Row
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import publish, remove_temporaries
from sidecar.store.space import disk_error
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.written import write


@dataclass(slots=True)
class Arrival:
    """One memory as it is to be, and its payload. The row's place is that of a new memory."""

    row: Row
    payload: Payload

    @property
    def forgotten(self) -> bool:
        """Whether it comes as a forgotten memory."""
        return self.row.tier == FORGOTTEN


def arrival_of(records: Records, checked: CheckedExport, path: str) -> Arrival:
    """A checked record as a row and a payload. Raises InvalidParams for another content hash."""
    given, scalars = checked.payload, dict(checked.scalars)
    content = given.content or ""
    payload = Payload(
        checked.id,
        content,
        given.metadata or "{}",
        given.extra or "{}",
        scalars["created_at"],
        scalars["embedding_model"],
        given.embedding or None,
    )
    digest = content_hash(payload)
    if checked.content_hash not in (None, digest):
        raise InvalidParams(
            f"{path}.contentHash is not that of this record",
            field=f"{path}.contentHash",
            bound="the SHA-256 that memory.export gave with it, or null",
            remedy="the record was changed or damaged on its way; if you changed it, write null",
        )
    if scalars["estimator"] is None:
        scalars["estimate"] = records.estimator.estimate(content)
        scalars["estimator"] = records.estimator.version
    # A name that this release does not know says nothing.
    scalars["moved_reason"] = REASON_CODE.get(scalars["moved_reason"] or "")
    if not checked.forgotten:
        scalars |= {"moved_reason": None, "tier_left": None}
    absent: dict[str, Any] = dict.fromkeys(COLUMNS)
    own: dict[str, Any] = {
        "id": checked.id,
        "rid": 0,
        "tier": FORGOTTEN if checked.forgotten else HOT,
        "content_hash": digest,
        "text_bytes": 0,
        "bytes": 0,
        "change_counter": 1,
    }
    row = Row(**(absent | scalars | own))
    hot_payloads.measure(row, payload)
    return Arrival(row, payload)


@dataclass(slots=True)
class Place:
    """Where the payload of a forgotten arrival lies."""

    segment: EncodedSegment
    frame: int
    line: int
    share_bytes: int


@dataclass(slots=True)
class Archive:
    """Sealed segments with the payloads of forgotten arrivals; none has its name yet."""

    files: SegmentFiles
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    segments: list[EncodedSegment] = field(default_factory=list[EncodedSegment])
    published: list[str] = field(default_factory=list[str])
    run_id: str = field(default_factory=lambda: f"import-{ULID()}")

    def fill(self, arrivals: Sequence[Arrival]) -> None:
        """Write and verify the segments. Raises DiskFull, ReadOnly, InvalidParams."""
        if not arrivals:
            return
        folder = self.files.folder(FORGOTTEN)
        try:
            result = encode_segments(_Given(arrivals), range(len(arrivals)), folder, self.run_id)
        except OSError as error:
            raise disk_error(error) from error
        self.segments = result.segments
        for at in result.oversized:
            raise InvalidParams(
                f"The memory {arrivals[at].row.id!r} does not fit into one segment",
                bound=f"{SEGMENT_BYTES_MAX} bytes, compressed",
                remedy="leave this memory out",
            )
        for segment in result.segments:
            for number, at in enumerate(segment.rid):
                self.places[arrivals[int(at)].row.id] = Place(
                    segment,
                    int(segment.frame[number]),
                    int(segment.line[number]),
                    int(segment.share_bytes[number]),
                )

    def publish(self, tx: Transaction) -> None:
        """Give every segment that a row points at its name: the last step before COMMIT."""
        for segment in self.segments:
            query = "SELECT 1 FROM segments WHERE name = ?"
            if tx.connection.execute(query, (segment.name,)).fetchall():
                final = self.files.path(FORGOTTEN, segment.name)
                try:
                    publish(segment.temporary, final)
                except OSError as error:
                    raise disk_error(error) from error
                self.published.append(segment.name)

    def retire(self, tx: Transaction, now: int) -> None:
        """After a COMMIT that failed: what was published may go, for no row points at it."""
        tx.connection.executemany(
            "INSERT OR IGNORE INTO unlink_intents SELECT ?, ?, ?"
            " WHERE NOT EXISTS (SELECT 1 FROM segments WHERE name = ?)",
            [(name, FORGOTTEN, now, name) for name in self.published],
        )

    def tidy(self) -> None:
        """Remove what was written and not published."""
        if self.segments:
            remove_temporaries(self.files.folder(FORGOTTEN), self.run_id)


class _Given:
    """A source for the encoder: the arrivals themselves, numbered."""

    def __init__(self, arrivals: Sequence[Arrival]) -> None:
        self._arrivals = arrivals

    def read(self, rids: Sequence[int]) -> Iterator[SourceRecord]:
        """See RecordSource."""
        for rid in rids:
            row, payload = self._arrivals[rid].row, self._arrivals[rid].payload
            scalars = rows.scalars(row)
            yield SourceRecord(rid, row.change_counter, payload, row.content_hash, scalars)

    def close(self) -> None:
        """Nothing is held."""


def take_in(
    tx: Transaction,
    records: Records,
    arrival: Arrival,
    archive: Archive,
    if_exists: IfExists,
    now: int,
    path: str,
    *,
    revive: bool = False,
) -> tuple[Row, PutResult]:
    """Make a memory, or an existing one what it is to be. One that is so already stays.

    `revive`: also where a memory with this id was destroyed. Raises MemoryExists,
    MemoryDestroyed, InvalidParams, SupersessionConflict.
    """
    existing = rows.by_id(tx.connection, arrival.row.id)
    if existing is None and not revive:
        tombstones.refuse(tx.connection, arrival.row.id, path)
    if existing is not None:
        if if_exists == "error":
            raise MemoryExists(field=f"{path}.id", remedy='send ifExists "replace" or "skip"')
        if if_exists == "skip" or _is_already(existing, arrival):
            return existing, "skipped"
    if arrival.row.superseded_by is not None:
        links.refuse_loop(
            tx.connection, arrival.row.id, arrival.row.superseded_by, f"{path}.supersededBy"
        )
    records.check_dimensions(tx, arrival.row, path)
    if existing is None:
        return _create(tx, records, arrival, archive, now), "created"
    return _replace(tx, records, existing, arrival, archive, now), "replaced"


def _is_already(row: Row, arrival: Arrival) -> bool:
    """Whether nothing would change. Being forgotten is part of the state, by its time."""
    return all(getattr(row, name) == getattr(arrival.row, name) for name in events.STATE_FIELDS)


def _create(tx: Transaction, records: Records, arrival: Arrival, archive: Archive, now: int) -> Row:
    row = arrival.row
    if arrival.forgotten:
        _point(tx, row, archive.places[row.id], now)
    rows.insert(tx.connection, row)
    if not arrival.forgotten:
        hot_payloads.insert(tx, row.rid, arrival.payload)
    measure_media(tx, records.directory, row.media_ref)
    events.append(tx.connection, now, events.CREATED, row.id, events.birth(rows.scalars(row)))
    successor = links.successor_rid(tx.connection, row)
    if arrival.forgotten:
        gone_at = row.forgotten_at or 0
        tx.after_commit.append(lambda columns: columns.came_forgotten(row.rid, successor, gone_at))
    else:
        tx.after_commit.append(lambda columns: columns.put(row, successor))
    links.link_predecessors(tx, row)
    return row


def _replace(
    tx: Transaction, records: Records, row: Row, arrival: Arrival, archive: Archive, now: int
) -> Row:
    before = rows.scalars(row)
    same = row.content_hash == arrival.row.content_hash
    stays = same and (row.tier == FORGOTTEN) == arrival.forgotten
    for name in events.STATE_FIELDS:
        setattr(row, name, getattr(arrival.row, name))
    if arrival.forgotten:
        row.moved_reason, row.tier_left = arrival.row.moved_reason, arrival.row.tier_left
    if not stays:
        if arrival.forgotten:
            _leave(tx, row)
            row.tier, row.text_bytes = FORGOTTEN, arrival.row.text_bytes
            _point(tx, row, archive.places[row.id], now)
        elif row.tier == HOT:
            hot_payloads.delete(tx, [row.rid])
            hot_payloads.insert(tx, row.rid, arrival.payload)
            hot_payloads.measure(row, arrival.payload)
        else:
            hot_payloads.place_hot(tx, row, arrival.payload)
    measure_media(tx, records.directory, row.media_ref)
    return write(tx, before, row, "memory.updated", now)


def _leave(tx: Transaction, row: Row) -> None:
    """Take the payload from where it lies: the new one is sealed elsewhere."""
    if row.segment is None:
        hot_payloads.delete(tx, [row.rid])
    else:
        hot_payloads.leave_segments(tx.connection, Counter({row.segment: 1}))


def _point(tx: Transaction, row: Row, place: Place, now: int) -> None:
    """Let the row point at its line, and count it into the segment."""
    segment = place.segment
    row.segment, row.frame, row.line = segment.name, place.frame, place.line
    row.bytes = rows.COLD_ROW_BYTES + place.share_bytes
    tx.connection.execute(
        "INSERT INTO segments VALUES (?, ?, NULL, ?, 1, ?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET live = live + 1",
        (segment.name, FORGOTTEN, segment.records, segment.bytes, segment.sha256, now),
    )
