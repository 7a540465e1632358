"""Moving memories between tiers as the journal says, one transaction a chunk.

A payload is written to its new place and read back there before the row is pointed at it; only
then does the same transaction take it out of its old place. A kill at any byte leaves each
memory whole in one of the two.
"""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sidecar.apply import journal
from sidecar.apply.batches import (
    Group,
    Place,
    first_braked,
    groups_of,
    memories_per_encoding,
    places_of,
    register,
)
from sidecar.apply.checks import Present, outcome_of, present_rows, survivor_stands
from sidecar.apply.in_place import change_in_place
from sidecar.apply.journal import MOVED, OUTCOME_CODE, Chunk, RunHeader
from sidecar.apply.lift import lift_row
from sidecar.apply.media import MediaMover
from sidecar.apply.sunk import EVENT_KIND, after_sinking
from sidecar.clock import Clock
from sidecar.errors import DiskFull, ReadOnly, ShuttingDown
from sidecar.model import FORGOTTEN, HOT
from sidecar.plan.plan import ACTIONS, REASON_CODE, CascadeSettings
from sidecar.store import hot_payloads, media_trash, rows
from sidecar.store.encode import EncodedSegment, EncodeFailed, EncodeResult
from sidecar.store.encode_process import NamespaceEncoder
from sidecar.store.payload import Payload
from sidecar.store.segments import publish, remove_temporaries
from sidecar.store.space import Reserve, is_full, with_reserve
from sidecar.store.sqlite.source import PayloadDamaged, read_payload
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store

POLICY_RUNS: Final = frozenset({"sweep", "spill", "cycle", "lifecycle"})
# What a cycle prunes however young it is.
FORCED: Final = frozenset({REASON_CODE["superseded"], REASON_CODE["likely_duplicate"]})


class RunStopped(ShuttingDown):
    """The daemon is stopping; the run goes on at the next start."""

    default_message = "The daemon is stopping: the run goes on when it starts again"


class Mover:
    """Carries out the pending chunks of one run. Used once, in a thread of its own."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        header: RunHeader,
        settings: CascadeSettings,
        reserve: Reserve,
        media: MediaMover,
        stopping: threading.Event,
        forgets_allowed: int | None,
        enabled: Callable[[], bool],
    ) -> None:
        """`forgets_allowed` is what the brake leaves to this run; None where it is off.

        `enabled` says whether a policy may still move anything: asked before each transaction,
        so that switching forgetting off stops a run that is under way, or was interrupted.
        """
        self._store = store
        self._clock = clock
        self._header = header
        self._settings = settings
        self._reserve = reserve
        self._media = media
        self._stopping = stopping
        self._forgets_allowed = forgets_allowed
        self._braked_from: int | None = None
        self._enabled = enabled
        self._by_policy = header.kind in POLICY_RUNS
        self._registered: set[str] = set()
        self._disabled = False

    def carry_out(self) -> None:
        """Work through every chunk without outcomes. Raises RunStopped between transactions."""
        with self._store.readers.borrow() as connection:
            pending = journal.pending(connection, self._header.run_id)
        self._braked_from = first_braked(pending, self._forgets_allowed, self._store.columns)
        counts = self._store.columns.counts()
        memories = sum(len(chunk.decisions) for chunk in pending)
        memories_max = memories_per_encoding(memories, counts.live_bytes / max(1, counts.total))
        groups = list(groups_of(pending, memories_max))
        try:
            self._work_through(groups)
        finally:
            for tier in {group.tier for group in groups if group.moves_down}:
                remove_temporaries(self._store.files.folder(tier), self._header.run_id)
        self._store.remove_unneeded_segments()

    def _work_through(self, groups: list[Group]) -> None:
        """Encode each group while the rows of the one before it move."""
        with (
            NamespaceEncoder(self._store.directory) as encoder,
            ThreadPoolExecutor(1, "forgetd-encode") as ahead,
        ):

            def encode(number: int) -> Future[EncodeResult] | None:
                if number >= len(groups) or not groups[number].moves_down:
                    return None
                return ahead.submit(self._encode, encoder, groups[number])

            encoded = encode(0)
            for number, group in enumerate(groups):
                following = encode(number + 1)
                if encoded is None:
                    for chunk in group.chunks:
                        self._settle(chunk) if group.in_place else self._lift(chunk)
                else:
                    self._sink(group, self._result(encoded, ahead, encoder, group))
                encoded = following

    def _encode(self, encoder: NamespaceEncoder, group: Group) -> EncodeResult:
        rids = np.concatenate([one.decisions["rid"] for one in group.chunks]).tolist()
        folder = self._store.files.folder(group.tier)
        return encoder.encode(rids, folder, self._header.run_id)

    def _result(
        self,
        encoded: Future[EncodeResult],
        ahead: ThreadPoolExecutor,
        encoder: NamespaceEncoder,
        group: Group,
    ) -> EncodeResult | None:
        """The encoded group, at the second try where the encoder died; None on a full disk."""
        try:
            return encoded.result()
        except EncodeFailed:
            pass
        except OSError as error:
            if not is_full(error):
                raise
            if not self._reserve.release():
                return None
        try:
            return ahead.submit(self._encode, encoder, group).result()
        except OSError as error:
            if not is_full(error):
                raise
            return None

    def _sink(self, group: Group, result: EncodeResult | None) -> None:
        """Publish a group's segments, then point its rows at them."""
        published: list[EncodedSegment] = []
        try:
            if result is None or not self._publish(group.tier, result, published):
                for chunk in group.chunks:
                    full = np.full(len(chunk.decisions), OUTCOME_CODE["disk_full"], np.uint8)
                    self._call(self._record, chunk, full)
                return
            places = places_of(result)
            unplaced = dict.fromkeys(result.corrupt, OUTCOME_CODE["corrupt"])
            unplaced |= dict.fromkeys(result.missing, OUTCOME_CODE["gone"])
            unplaced |= dict.fromkeys(result.oversized, OUTCOME_CODE["oversized"])
            for chunk in group.chunks:
                self._call(self._sink_chunk, group.tier, chunk, places, unplaced)
        finally:
            self._retire(group.tier, published)

    def _publish(self, tier: int, result: EncodeResult, published: list[EncodedSegment]) -> bool:
        """Make the segments visible, each noted in `published`; False on a full disk."""
        folder = self._store.files.folder(tier)
        for segment in result.segments:
            give_name = partial(publish, segment.temporary, folder / segment.name)
            try:
                with_reserve(self._reserve, give_name)
            except OSError as error:
                if not is_full(error):
                    raise
                return False
            published.append(segment)
        return True

    def _sink_chunk(
        self,
        tx: Transaction,
        tier: int,
        chunk: Chunk,
        places: dict[int, Place],
        unplaced: dict[int, int],
    ) -> None:
        now = self._clock.now_ms()
        decisions = chunk.decisions
        present = present_rows(tx.connection, decisions["rid"].tolist())
        outcomes = np.zeros(len(decisions), np.uint8)
        moves: list[tuple[Any, Present, Place]] = []
        for number, decision in enumerate(decisions):
            row = present.get(int(decision["rid"]))
            outcome = self._outcome(tx, chunk, number, row, now)
            place = places.get(int(decision["rid"]))
            if outcome == MOVED and place is None:
                outcome = unplaced.get(int(decision["rid"]), OUTCOME_CODE["changed"])
            elif outcome == MOVED and place and row and place.counter != row.change_counter:
                outcome = OUTCOME_CODE["changed"]
            outcomes[number] = outcome
            if outcome == MOVED and row is not None and place is not None:
                moves.append((decision, row, place))
        if moves:
            self._write_moves(tx, tier, moves, now)
        self._record(tx, chunk, outcomes)

    def _outcome(
        self, tx: Transaction, chunk: Chunk, number: int, row: Present | None, now: int
    ) -> int:
        """The outcome of one decision of a chunk, as things are in this transaction."""
        if self._disabled:
            return OUTCOME_CODE["disabled"]
        decision: Any = chunk.decisions[number]
        outcome = outcome_of(
            tx.connection,
            decision,
            row,
            self._settings,
            now,
            by_policy=self._by_policy,
            forced=self._header.kind == "cycle" and int(decision["reason"]) in FORCED,
        )
        if outcome == MOVED and decision["reason"] == REASON_CODE["likely_duplicate"]:
            assert chunk.details is not None, "a duplicate has its survivor"
            if not survivor_stands(tx.connection, chunk.details[number]):
                return OUTCOME_CODE["changed"]
        braked = self._braked_from is not None and decision["rank"] >= self._braked_from
        if outcome == MOVED and braked and journal.counts_for_brake(decision):
            return OUTCOME_CODE["braked"]
        return outcome

    def _write_moves(
        self, tx: Transaction, tier: int, moves: list[tuple[Any, Present, Place]], now: int
    ) -> None:
        connection = tx.connection
        self._registered |= register(
            tx, tier, self._header.run_id, [place for _, _, place in moves], now
        )
        for _, row, _ in moves:
            if row.tier == FORGOTTEN:
                media_trash.come_back(tx, row.rid, self._header.run_id)
        hot = [row.rid for _, row, _ in moves if row.tier == HOT]
        hot_payloads.delete(tx, hot)
        left = Counter(row.segment for _, row, _ in moves if row.segment is not None)
        hot_payloads.leave_segments(connection, left)
        forgotten_at = now if tier == FORGOTTEN else None
        connection.executemany(
            "UPDATE memories SET tier = ?, segment = ?, frame = ?, line = ?, bytes = ?,"
            " change_counter = change_counter + 1, moved_run = ?, moved_reason = ?,"
            " tier_left = ?, forgotten_at = ?, restored_at = CASE WHEN ? THEN ? ELSE restored_at"
            " END WHERE rid = ?",
            [
                (
                    tier,
                    place.segment.name,
                    place.frame,
                    place.line,
                    rows.COLD_ROW_BYTES + place.share_bytes,
                    self._header.run_id,
                    int(decision["reason"]),
                    row.tier,
                    forgotten_at,
                    row.tier == FORGOTTEN,
                    now,
                    row.rid,
                )
                for decision, row, place in moves
            ],
        )
        after_sinking(tx, self._header, tier, moves, now)

    def _retire(self, tier: int, published: list[EncodedSegment]) -> None:
        """Segments of this run that no row needs: every memory in them stayed where it was.

        Also where the run stops here: it encodes anew when it goes on.
        """
        unused = [one for one in published if one.name not in self._registered]
        if not unused:
            return
        now = self._clock.now_ms()

        def work(tx: Transaction) -> None:
            tx.connection.executemany(
                "INSERT INTO unlink_intents VALUES (?, ?, ?)",
                [(segment.name, tier, now) for segment in unused],
            )

        # Where this fails too, the files stay as segments that are not known, and are reported.
        with suppress(ShuttingDown, ReadOnly, DiskFull):
            with_reserve(self._reserve, lambda: self._store.writer.call(work))

    def _settle(self, chunk: Chunk) -> None:
        """Change a chunk's memories where they lie."""
        self._call(self._settle_chunk, chunk)

    def _settle_chunk(self, tx: Transaction, chunk: Chunk) -> None:
        now = self._clock.now_ms()
        present = present_rows(tx.connection, chunk.decisions["rid"].tolist())
        outcomes = np.zeros(len(chunk.decisions), np.uint8)
        for number, rid in enumerate(chunk.decisions["rid"].tolist()):
            outcomes[number] = self._outcome(tx, chunk, number, present.get(rid), now)
            if outcomes[number] == MOVED:
                change_in_place(tx, self._header, chunk, number, now)
        self._record(tx, chunk, outcomes)

    def _lift(self, chunk: Chunk) -> None:
        """Bring a chunk's memories into the hot store."""
        payloads: dict[int, Payload] = {}
        with self._store.readers.view() as connection:
            for rid in chunk.decisions["rid"].tolist():
                row = rows.by_rid(connection, rid)
                if row is not None and row.tier != HOT:
                    try:
                        payloads[rid] = read_payload(connection, self._store.files, row)
                    except PayloadDamaged:
                        continue
        self._call(self._lift_chunk, chunk, payloads)

    def _lift_chunk(self, tx: Transaction, chunk: Chunk, payloads: dict[int, Payload]) -> None:
        now = self._clock.now_ms()
        decisions = chunk.decisions
        present = present_rows(tx.connection, decisions["rid"].tolist())
        outcomes = np.zeros(len(decisions), np.uint8)
        for number, decision in enumerate(decisions):
            rid = int(decision["rid"])
            outcome = self._outcome(tx, chunk, number, present.get(rid), now)
            if outcome == MOVED and rid not in payloads:
                outcome = OUTCOME_CODE["corrupt"]
            outcomes[number] = outcome
            if outcome == MOVED:
                row = rows.by_rid(tx.connection, rid)
                assert row is not None, "the row was there a moment ago, in this transaction"
                kind = EVENT_KIND[ACTIONS[decision["action"]]]
                row.moved_run, row.moved_reason = self._header.run_id, int(decision["reason"])
                lift_row(tx, row, payloads[rid], now, kind, self._header.run_id)
        self._record(tx, chunk, outcomes)

    def _record(self, tx: Transaction, chunk: Chunk, outcomes: NDArray[np.uint8]) -> None:
        journal.record(tx, self._header.run_id, chunk.number, outcomes)

    def _call(self, step: Callable[..., None], *arguments: Any) -> None:
        """One transaction of the run; other writes get their turn before the next."""
        if self._stopping.is_set():
            raise RunStopped
        self._disabled = self._by_policy and not self._enabled()

        def work(tx: Transaction) -> None:
            step(tx, *arguments)

        try:
            with_reserve(self._reserve, lambda: self._store.writer.call(work))
        except ShuttingDown:
            raise RunStopped from None
        self._media.settle_if_waiting()
