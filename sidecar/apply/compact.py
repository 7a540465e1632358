"""Merging segments that are mostly dead, or many and small, into new ones.

Placement only: no memory changes, no event is written. The old file goes after every memory in
it that is still needed was written, read back and pointed at elsewhere.
"""

import threading
from collections import Counter
from functools import partial

from sidecar.clock import Clock
from sidecar.errors import DiskFull
from sidecar.limits import (
    MOVES_PER_TRANSACTION_MAX,
    SEGMENT_BYTES_MAX,
    SEGMENT_DEAD_SHARE_MAX,
    SEGMENTS_SMALL_MAX,
)
from sidecar.model import COLD, FORGOTTEN
from sidecar.store import hot_payloads, rows
from sidecar.store.encode import EncodedSegment, EncodeFailed
from sidecar.store.encode_process import NamespaceEncoder
from sidecar.store.segments import publish, remove_temporaries
from sidecar.store.space import Reserve, is_full, with_reserve
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store

MERGE_RUN_ID = "merge"
MERGED_MEMORIES_MAX = 20_000  # of one round; the next run goes on
SMALL_SEGMENT_SHARE = 8  # a segment under an eighth of the largest size is small


def merge_dead(
    store: Store, clock: Clock, reserve: Reserve, stopping: threading.Event
) -> str | None:
    """Rewrite what is worth rewriting in both tiers; None, or why that was left out.

    The run that asks for it has moved all it had to move: what cannot be merged now stays as it
    is, and a later run merges it. Raises ReadOnly of the database.
    """
    note = None
    with NamespaceEncoder(store.directory) as encoder:
        for tier in (COLD, FORGOTTEN):
            names = worth_merging(store, tier)
            try:
                if names and not stopping.is_set():
                    _merge(store, clock, reserve, encoder, tier, names)
            except (OSError, EncodeFailed, DiskFull) as error:
                why = "the disk is full" if is_full(error) else type(error).__name__
                note = f"merging segments left out: {why}"
            finally:
                remove_temporaries(store.files.folder(tier), MERGE_RUN_ID)
    store.remove_unneeded_segments()
    return note


def worth_merging(store: Store, tier: int) -> list[str]:
    """Segments more than 30 % dead, and small ones once there are many of them."""
    with store.readers.borrow() as connection:
        known = connection.execute(
            "SELECT name, records, live, bytes FROM segments WHERE tier = ? ORDER BY name", (tier,)
        ).fetchall()
    dead = {
        name
        for name, records, live, _ in known
        if records - live > records * SEGMENT_DEAD_SHARE_MAX
    }
    small = {name for name, _, _, size in known if size < SEGMENT_BYTES_MAX // SMALL_SEGMENT_SHARE}
    chosen = dead | (small if len(small) > SEGMENTS_SMALL_MAX else set[str]())
    damaged = set(store.findings.missing_segments) | set(store.findings.damaged_segments)
    names: list[str] = []
    memories = 0
    for name, _, live, _ in known:
        if name in chosen - damaged and memories + live <= MERGED_MEMORIES_MAX:
            names.append(name)
            memories += live
    return names


def _merge(
    store: Store,
    clock: Clock,
    reserve: Reserve,
    encoder: NamespaceEncoder,
    tier: int,
    names: list[str],
) -> None:
    with store.readers.borrow() as connection:
        rids = [
            rid
            for name in names
            for (rid,) in connection.execute(
                "SELECT rid FROM memories WHERE segment = ? ORDER BY frame, line", (name,)
            )
        ]
    move_to_new_segments(store, clock, reserve, encoder, tier, rids, MERGE_RUN_ID)


def move_to_new_segments(
    store: Store,
    clock: Clock,
    reserve: Reserve,
    encoder: NamespaceEncoder,
    tier: int,
    rids: list[int],
    run_id: str,
) -> None:
    """Write memories of one tier anew, and point each that has not changed meanwhile there.

    Raises OSError, EncodeFailed, DiskFull; what was not moved stays where it was.
    """
    folder = store.files.folder(tier)
    result = with_reserve(reserve, lambda: encoder.encode(rids, folder, run_id))
    for segment in result.segments:
        publish(segment.temporary, folder / segment.name)
        for start in range(0, segment.records, MOVES_PER_TRANSACTION_MAX):
            places = range(start, min(start + MOVES_PER_TRANSACTION_MAX, segment.records))
            repoint = partial(_repoint, tier=tier, segment=segment, places=places, clock=clock)
            with_reserve(reserve, partial(store.writer.call, repoint))
        store.writer.call(lambda tx, s=segment: _retire_if_unused(tx, tier, s, clock.now_ms()))


def _repoint(
    tx: Transaction, tier: int, segment: EncodedSegment, places: range, clock: Clock
) -> None:
    """Point every row that has not changed since it was encoded at its new line."""
    moved: list[tuple[object, ...]] = []
    sizes: list[tuple[int, int, int]] = []
    left: Counter[str] = Counter()
    for at in places:
        rid = int(segment.rid[at])
        row = rows.by_rid(tx.connection, rid)
        unchanged = row is not None and row.change_counter == segment.change_counter[at]
        if row is None or not unchanged or row.tier != tier or row.segment is None:
            continue
        left[row.segment] += 1
        size = rows.COLD_ROW_BYTES + int(segment.share_bytes[at])
        moved.append((segment.name, int(segment.frame[at]), int(segment.line[at]), size, rid))
        sizes.append((rid, size, row.change_counter))
    tx.connection.executemany(
        "UPDATE memories SET segment = ?, frame = ?, line = ?, bytes = ? WHERE rid = ?", moved
    )
    hot_payloads.leave_segments(tx.connection, left)
    if moved:
        tx.connection.execute(
            "INSERT INTO segments VALUES (?, ?, NULL, ?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET live = live + excluded.live",
            (
                segment.name,
                tier,
                segment.records,
                len(moved),
                segment.bytes,
                segment.sha256,
                clock.now_ms(),
            ),
        )
    if tier == COLD:
        tx.after_commit.append(
            lambda columns: [columns.moved(rid, tier, size, n) for rid, size, n in sizes]
        )


def _retire_if_unused(tx: Transaction, tier: int, segment: EncodedSegment, now: int) -> None:
    """Where every memory changed meanwhile, nothing points at the new segment."""
    tx.connection.execute(
        "INSERT INTO unlink_intents SELECT ?, ?, ?"
        " WHERE NOT EXISTS (SELECT 1 FROM segments WHERE name = ?)",
        (segment.name, tier, now, segment.name),
    )
