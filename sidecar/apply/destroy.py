"""Destroying memories for good: the only code that takes a payload's last copy away.

What is to go stands in the ledger before anything happens. Then archive files are rewritten
without the lines, and a transaction for each chunk deletes rows and traces and puts up tombstones;
files go after that, and last the database is written anew without what was deleted. A kill at
any step leaves each memory whole or gone, and the next start finishes what was begun.
"""

import hashlib
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from sidecar.apply.journal import RunHeader
from sidecar.apply.moves import RunStopped
from sidecar.apply.rewrite import Cleared, Rewriter
from sidecar.clock import Clock
from sidecar.errors import DiskFull, ShuttingDown
from sidecar.limits import MOVES_PER_TRANSACTION_MAX
from sidecar.model import HOT
from sidecar.store import (
    backups,
    event_log,
    events,
    hot_payloads,
    media_removal,
    rows,
    search_upkeep,
    tombstones,
    traces,
)
from sidecar.store.rows import Row
from sidecar.store.space import Reserve, disk_error, give_back, with_reserve
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.store.tombstones import Tombstone
from sidecar.store.traces import Traces

# Why a memory is destroyed. Tombstones hold the names.
Reason = Literal["aged", "run", "erased", "replaced", "standing_order"]
Doomed = NDArray[Any]
DOOMED: Final = np.dtype([("rid", "<i8"), ("mark", "<i8"), ("tier", "u1")])

OUTCOMES: Final = ("destroyed", "changed", "held", "gone", "unreadable", "disk_full")
OUTCOME_CODE: Final = {name: code for code, name in enumerate(OUTCOMES)}
DESTROYED: Final = 0
# What may change of a memory without its being another one than was planned: a touch, and where
# in its tier the payload lies.
_UNMARKED: Final = frozenset(
    {
        "rid", "recall_count", "last_recalled_at", "change_counter",
        "bytes", "text_bytes", "segment", "frame", "line",
    }
)  # fmt: skip


@dataclass(slots=True)
class Destruction:
    """What became of a list. Sizes in bytes; `outcomes` are codes, in the order of `doomed`."""

    doomed: Doomed
    outcomes: NDArray[np.uint8]
    media_removed: int = 0
    backups_removed: list[str] = field(default_factory=list[str])
    bytes_reclaimed: int = 0
    notes: list[str] = field(default_factory=list[str])

    @property
    def destroyed(self) -> int:
        """How many memories are gone for good."""
        return int(np.count_nonzero(self.outcomes == DESTROYED))


def mark_of(row: Row) -> int:
    """A number that differs when the memory was changed or moved; touches do not count."""
    values = msgspec.structs.asdict(row)
    told = repr([(name, values[name]) for name in values if name not in _UNMARKED])
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "little", signed=True)


def doomed_of(found: Sequence[Row]) -> Doomed:
    """A list of rows as they are now, in row order."""
    packed = np.zeros(len(found), DOOMED)
    for at, row in enumerate(sorted(found, key=lambda one: one.rid)):
        packed[at] = (row.rid, mark_of(row), row.tier)
    return packed


def begin(tx: Transaction, run_id: str, doomed: Doomed) -> None:
    """Write the whole list into the transaction that begins the run."""
    starts = range(0, len(doomed), MOVES_PER_TRANSACTION_MAX)
    tx.connection.executemany(
        "INSERT INTO destruction_chunks (run_id, chunk, decisions) VALUES (?, ?, ?)",
        [
            (run_id, chunk, doomed[start : start + MOVES_PER_TRANSACTION_MAX].tobytes())
            for chunk, start in enumerate(starts)
        ],
    )
    tx.connection.execute("UPDATE runs SET decisions = ? WHERE run_id = ?", (len(doomed), run_id))


class Destroyer:
    """Carries out the list of one run. Used once, in a thread of its own."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        reserve: Reserve,
        stopping: threading.Event,
        header: RunHeader,
    ) -> None:
        self._store = store
        self._clock = clock
        self._reserve = reserve
        self._stopping = stopping
        self._run_id = header.run_id
        self._reason = str(header.settings.get("reason", "erased"))
        self._rewriter = Rewriter(store, clock, reserve, stopping)

    def carry_out(self) -> Destruction:
        """Destroy what is still as it was planned, and give the room back.

        Raises RunStopped between transactions; DiskFull and ReadOnly leave the run for the next
        start or run to finish.
        """
        before = self._store.bytes_on_disk()
        try:
            pending = self._pending()
            removed = self._clear_and_destroy(pending)
            doomed, outcomes = self._outcomes()
            result = Destruction(doomed, outcomes, backups_removed=removed.backups)
            result.notes += removed.cleared.notes
            self._clean_up(result)
        except ShuttingDown:
            raise RunStopped from None
        except OSError as error:
            raise disk_error(error) from error
        result.bytes_reclaimed = before - self._store.bytes_on_disk()
        return result

    def end(self, tx: Transaction) -> None:
        """Drop the list in the transaction that finishes the run: it describes what is gone."""
        tx.connection.execute("DELETE FROM destruction_chunks WHERE run_id = ?", (self._run_id,))

    # --- the list --------------------------------------------------------------------------

    def _pending(self) -> list[tuple[int, Doomed]]:
        query = (
            "SELECT chunk, decisions FROM destruction_chunks WHERE run_id = ?"
            " AND outcomes IS NULL ORDER BY chunk"
        )
        with self._store.readers.borrow() as connection:
            found = connection.execute(query, (self._run_id,)).fetchall()
        return [(chunk, np.frombuffer(blob, DOOMED)) for chunk, blob in found]

    def _outcomes(self) -> tuple[Doomed, NDArray[np.uint8]]:
        query = "SELECT decisions, outcomes FROM destruction_chunks WHERE run_id = ? ORDER BY chunk"
        with self._store.readers.borrow() as connection:
            found = connection.execute(query, (self._run_id,)).fetchall()
        doomed = np.frombuffer(b"".join(decisions for decisions, _ in found), DOOMED)
        return doomed, np.frombuffer(b"".join(outcomes for _, outcomes in found), np.uint8)

    # --- carrying it out -------------------------------------------------------------------

    def _clear_and_destroy(self, pending: list[tuple[int, Doomed]]) -> "_Removed":
        removed = _Removed()
        if not pending:
            return removed
        with self._store.readers.view() as connection:
            doomed = _still_planned(connection, pending, self._clock.now_ms())
            found = traces.look(connection, doomed.values())
        removed.cleared = self._rewriter.clear(doomed)
        removed.backups = backups.remove_naming(self._store.directory, doomed.values())
        for chunk, decisions in pending:
            if self._stopping.is_set():
                raise ShuttingDown
            self._call(
                lambda tx, chunk=chunk, decisions=decisions: self._destroy_chunk(
                    tx, chunk, decisions, removed.cleared, found
                )
            )
        return removed

    def _destroy_chunk(
        self, tx: Transaction, chunk: int, decisions: Doomed, cleared: Cleared, found: Traces
    ) -> None:
        now = self._clock.now_ms()
        outcomes = np.zeros(len(decisions), np.uint8)
        going: list[Row] = []
        for at, decision in enumerate(decisions):
            row = rows.by_rid(tx.connection, int(decision["rid"]))
            outcome = _outcome(row, decision, now)
            if row is not None and outcome == DESTROYED and row.segment in cleared.blocked:
                outcome = OUTCOME_CODE[cleared.blocked[row.segment]]
            if row is not None and outcome == DESTROYED:
                going.append(row)
            outcomes[at] = outcome
        if going:
            with _overwriting(tx.connection):
                self._destroy(tx, going, found, now)
        tx.connection.execute(
            "UPDATE destruction_chunks SET outcomes = ? WHERE run_id = ? AND chunk = ?",
            (outcomes.tobytes(), self._run_id, chunk),
        )
        tx.connection.execute(
            "UPDATE runs SET moved = moved + ?, skipped = skipped + ? WHERE run_id = ?",
            (len(going), len(decisions) - len(going), self._run_id),
        )

    def _destroy(self, tx: Transaction, going: list[Row], found: Traces, now: int) -> None:
        """Delete rows, payloads and traces, and put up the tombstones. One transaction."""
        connection = tx.connection
        rids = [row.rid for row in going]
        hot_payloads.delete(tx, [row.rid for row in going if row.tier == HOT])
        for row in going:
            if row.segment is not None:
                hot_payloads.leave_segments(connection, {row.segment: 1})
        connection.executemany("DELETE FROM memories WHERE rid = ?", [(rid,) for rid in rids])
        media_removal.intend(connection, [(row.id, row.media_ref) for row in going], now)
        key = tombstones.made_salt(connection)
        stones = {
            row.id: Tombstone(
                tombstones.id_hash(key, row.id),
                tombstones.content_hash(key, row.content_hash),
                now,
                self._reason,
                self._run_id,
            )
            for row in going
        }
        tombstones.put_up(connection, stones.values())
        traces.take_out(tx, found, {name: stone.id_hash for name, stone in stones.items()}, now)
        for stone in stones.values():
            payload = {
                event_log.TOMBSTONE: stone.id_hash,
                "content_hash": stone.content_hash,
                "reason": stone.reason,
            }
            events.append(connection, now, events.DESTROYED, None, payload, self._run_id)
        tx.after_commit.append(lambda columns: columns.destroyed(rids))

    # --- afterwards ------------------------------------------------------------------------

    def _clean_up(self, result: Destruction) -> None:
        """Let nothing of what was deleted stay in files: each step may be done twice."""
        self._store.remove_unneeded_segments()
        result.media_removed = media_removal.finish(self._store.writer, self._store.directory)
        self._call(traces.take_out_reasons)
        self._store.cold_index.discard()
        if self._store.meta(search_upkeep.DELETED_KEY):
            try:
                search_upkeep.merge(self._store.writer, self._stopping)
            except DiskFull:
                result.notes.append("the text index could not be rewritten: the disk is full")
        note = give_back(self._store.writer, self._store.directory)
        if note is not None:
            result.notes.append(note)
        if self._stopping.is_set():
            raise ShuttingDown
        with suppress(DiskFull):
            self._store.refresh_media()

    def _call(self, work: Callable[[Transaction], object]) -> None:
        with_reserve(self._reserve, lambda: self._store.writer.call(work))


@contextmanager
def _overwriting(connection: Connection) -> Generator[None]:
    """What is deleted meanwhile is overwritten with zeros, where else only free pages would be."""
    connection.execute("PRAGMA secure_delete = ON").fetchall()
    try:
        yield
    finally:
        connection.execute("PRAGMA secure_delete = FAST").fetchall()


@dataclass(slots=True)
class _Removed:
    """What was cleared away before any row went."""

    cleared: Cleared = field(default_factory=Cleared)
    backups: list[str] = field(default_factory=list[str])


def _still_planned(
    connection: Connection, pending: list[tuple[int, Doomed]], now: int
) -> dict[int, str]:
    """The ids of the rows that are still as they were planned, by row number."""
    doomed: dict[int, str] = {}
    for _, decisions in pending:
        for decision in decisions:
            row = rows.by_rid(connection, int(decision["rid"]))
            if row is not None and _outcome(row, decision, now) == DESTROYED:
                doomed[row.rid] = row.id
    return doomed


def _outcome(row: Row | None, decision: Any, now: int) -> int:
    if row is None:
        return OUTCOME_CODE["gone"]
    if (row.held_until or 0) > now:
        return OUTCOME_CODE["held"]
    same = row.tier == decision["tier"] and mark_of(row) == decision["mark"]
    return DESTROYED if same else OUTCOME_CODE["changed"]
