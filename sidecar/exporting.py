"""Giving a namespace away, page by page: every memory with all that makes up its state.

Pages go by row number. Nothing is held between them, so what is written meanwhile must be caught
up with: after the last row the memories that changed since the pass began are given again, until
one page ends with nothing left to give. What was given, each id as it came last, is then the
namespace as it is at that moment, and that page tells the state hash.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.errors import Corrupt, InvalidParams, Overloaded
from sidecar.limits import EXPORT_PAGE_BYTES_MAX
from sidecar.model import COLD, FORGOTTEN, HOT, MEMORY_TYPES, STATUSES, TIERS, ExportedMemory, Tier
from sidecar.plan.plan import REASONS
from sidecar.reports import ExportPage
from sidecar.store import event_log, events, rows
from sidecar.store.payload import Payload, content_hash
from sidecar.store.rows import FLOAT32_BYTES, Row
from sidecar.store.sqlite.typed import Connection
from sidecar.store.store import Store

ALL_TIERS: Final = [HOT, COLD, FORGOTTEN]
ROWS_A_READ: Final = 1_000
VIEWS_A_PAGE_MAX: Final = 5
# A memory that only moved between hot and cold is the same memory.
_MOVES: Final = " AND kind NOT IN ('memory.spilled', 'memory.thawed')"
# What the log tells of after an event. By row number, so that no order has to be made.
_TOLD_OF: Final = (
    "rid IN (SELECT rid FROM memories WHERE id IN"
    " (SELECT memory_id FROM events WHERE seq > ? AND memory_id IS NOT NULL{}))"
)
_COPIED: Final = tuple(
    name
    for name in ExportedMemory.__struct_fields__
    if name in Row.__struct_fields__
    and name not in ("memory_type", "status", "tier", "tier_left", "moved_reason", "content_hash")
)


class _Cursor(Struct, array_like=True):
    """Where an export stands. `since` None: in its first pass, which is over all rows.

    `began`, `pass_began` and `since` are sequence numbers of the event log.
    """

    tiers: list[int]
    began: int
    pass_began: int
    since: int | None = None
    rid: int = 0
    damaged: bool = False


class _Moved(Exception):
    """A payload was changed and moved away while it was read: the page needs a newer view."""


@dataclass(slots=True)
class _Page:
    limit: int
    lines: list[ExportedMemory] = field(default_factory=list[ExportedMemory])
    damaged: list[str] = field(default_factory=list[str])
    rids: set[int] = field(default_factory=set[int])
    bytes: int = 0
    again: int = 0

    def take(self, line: ExportedMemory, *, again: bool) -> bool:
        """Add a line; False where there is no room for it."""
        size = len(msgspec.json.encode(line))
        if self.lines and self.bytes + size > EXPORT_PAGE_BYTES_MAX:
            return False
        self.lines.append(line)
        self.bytes += size
        self.again += again
        return True

    def answer(self, cursor: str | None, state_hash: str | None) -> ExportPage:
        """The page as it is answered."""
        return ExportPage(
            lines=self.lines,
            again=self.again,
            cursor=cursor,
            state_hash=state_hash,
            damaged=self.damaged,
        )


def export_page(
    store: Store, *, tiers: Sequence[Tier], cursor: str | None, limit: int
) -> ExportPage:
    """One page of an export. Raises InvalidParams for a cursor that is not of this export."""
    wanted = sorted({TIERS.index(tier) for tier in tiers})
    for _ in range(VIEWS_A_PAGE_MAX):
        at = None if cursor is None else _read(cursor, wanted)
        try:
            with store.readers.view() as connection:
                return _page(store, connection, at, wanted, limit)
        except _Moved:
            continue
    raise Overloaded("Memories change faster than they can be read", remedy="call again")


def _page(
    store: Store, connection: Connection, at: _Cursor | None, tiers: list[int], limit: int
) -> ExportPage:
    if at is not None and event_log.folded(connection) > at.began:
        # What changed since cannot be told any more, and the pages would not fit together.
        raise InvalidParams(
            "The export began before events that have been folded since",
            field="$.cursor",
            bound="a cursor of an export that began after the oldest event of the log",
            remedy="start again without a cursor",
        )
    newest = event_log.latest(connection)
    at = at or _Cursor(tiers, newest, newest)
    page = _Page(limit)
    while True:
        done = _fill(store, connection, at, page)
        at.damaged = at.damaged or bool(page.damaged)
        if not done:
            return page.answer(_write(at), None)
        if not _any(connection, *_changed(at.tiers, at.pass_began)):
            whole = not at.damaged and not _left(connection, at)
            return page.answer(None, events.state_hash(connection, at.tiers) if whole else None)
        at = _Cursor(at.tiers, at.began, newest, at.pass_began, 0, at.damaged)


def _fill(store: Store, connection: Connection, at: _Cursor, page: _Page) -> bool:
    """Give rows of a pass until there are no more (True) or the page is full."""
    for batch in _batches(connection, at, page):
        room = page.limit - len(page.rids)
        payloads = _payloads(store, connection, batch[:room])
        for row in batch[:room]:
            payload = payloads.get(row.rid)
            if payload is None:
                page.damaged.append(row.id)
            elif not page.take(exported(row, payload), again=at.since is not None):
                return False
            page.rids.add(row.rid)
            at.rid = row.rid
        if len(batch) > room:
            return False
    return True


def _batches(connection: Connection, at: _Cursor, page: _Page) -> Iterator[list[Row]]:
    """What is left of a pass, in order of row; a batch is at most about a page."""
    where, bindings = f"+tier IN ({_named(at.tiers)})", ()  # in order of row, not by an index
    if at.since is not None:
        where, bindings = _changed(at.tiers, at.since)
    after = at.rid
    while True:
        # One more than there is room for tells whether the page is the last one.
        count = min(page.limit - len(page.rids) + 1, ROWS_A_READ)
        query = f"WHERE rid > ? AND {where} ORDER BY rid LIMIT ?"
        found = rows.select(connection, query, (after, *bindings, count))
        batch: list[Row] = []
        size = 0
        for row in found:
            if row.rid in page.rids:  # given on this very page, so it has not changed since
                continue
            size += row.text_bytes + FLOAT32_BYTES * (row.embedding_dimensions or 0)
            if batch and size > EXPORT_PAGE_BYTES_MAX:
                yield batch
                batch, size = [], 0
            batch.append(row)
        if batch:
            yield batch
        if len(found) < count:
            return
        after = found[-1].rid


def _payloads(store: Store, connection: Connection, batch: Sequence[Row]) -> dict[int, Payload]:
    """The payloads of rows by row number, but for damaged ones. Each frame is read once."""
    found: dict[int, Payload] = {}
    for row in sorted(batch, key=lambda row: (row.segment or "", row.frame or 0, row.line or 0)):
        try:
            payload = store.payload(connection, row)
        except Corrupt:
            continue
        if content_hash(payload) != row.content_hash:
            raise _Moved
        found[row.rid] = payload
    return found


def _changed(tiers: Sequence[int], since: int) -> tuple[str, tuple[Any, ...]]:
    """The condition, with its bindings, for what changed after an event and is in the tiers."""
    moves = _MOVES if HOT in tiers and COLD in tiers else ""
    return f"+tier IN ({_named(tiers)}) AND {_TOLD_OF.format(moves)}", (since,)


def _left(connection: Connection, at: _Cursor) -> bool:
    """Whether a memory that may have been given is in none of the tiers any more."""
    others = [tier for tier in ALL_TIERS if tier not in at.tiers]
    where = f"+tier IN ({_named(others)}) AND {_TOLD_OF.format('')}"
    return _any(connection, where, (at.began,))


def _any(connection: Connection, where: str, bindings: tuple[Any, ...]) -> bool:
    query = f"SELECT 1 FROM memories WHERE {where} LIMIT 1"
    return bool(connection.execute(query, bindings).fetchall())


def _named(tiers: Sequence[int]) -> str:
    return ", ".join(map(str, tiers))


def exported(row: Row, payload: Payload) -> ExportedMemory:
    """A row and its payload as one record."""
    copied: dict[str, Any] = {name: getattr(row, name) for name in _COPIED}
    copied["pinned"], copied["evergreen"] = bool(row.pinned), bool(row.evergreen)
    embedding = payload.embedding
    return ExportedMemory(
        **copied,
        memory_type=MEMORY_TYPES[row.memory_type],
        content=payload.content,
        importance_base=row.value,
        importance_source="estimated" if row.importance is None else "host",
        embedding=None if embedding is None else base64.b64encode(embedding).decode(),
        metadata=msgspec.json.decode(payload.metadata),
        extra=msgspec.json.decode(payload.extra),
        status=STATUSES[row.status],
        tier=TIERS[row.tier],
        tier_left=None if row.tier_left is None else TIERS[row.tier_left],
        moved_reason=None if row.moved_reason is None else REASONS[row.moved_reason],
        content_hash=row.content_hash.hex(),
    )


def _write(at: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(at)).decode()


def _read(cursor: str, tiers: list[int]) -> _Cursor:
    try:
        raw = base64.urlsafe_b64decode(cursor.encode())
        at = msgspec.json.decode(raw, type=_Cursor)
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        at = None
    if at is None or at.tiers != tiers:
        raise InvalidParams(
            "$.cursor is not one that memory.export gave for these tiers",
            field="$.cursor",
            bound="the cursor of the page before, with the same tiers",
            remedy="start again without a cursor",
        )
    return at
