"""Beginning, carrying out and finishing a run. Everything here blocks: it runs in a thread."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final

import msgspec
import numpy as np
from ulid import ULID

from sidecar.apply import compact, ending, journal
from sidecar.apply.brake import Window, window_since
from sidecar.apply.destroy import Destroyer, Destruction
from sidecar.apply.ending import (
    CYCLE_COMPLETED,
    LIFECYCLE_COMPLETED,
    Begun,
    CycleBegun,
    ForgetBegun,
    LifecycleBegun,
    Report,
    RunResult,
    SweepBegun,
)
from sidecar.apply.journal import (
    MOVED,
    OUTCOME_CODE,
    Decisions,
    Details,
    RunHeader,
    RunKind,
)
from sidecar.apply.media import MediaMover
from sidecar.apply.moves import POLICY_RUNS, Mover
from sidecar.clock import Clock
from sidecar.cycle_reports import ForgettingReport
from sidecar.errors import DiskFull
from sidecar.gc_reports import GcReport
from sidecar.idempotency import PARAMETER, Key
from sidecar.lifecycle_reports import ForgetSummary
from sidecar.limits import BRAKE_WINDOW_MS, GIGABYTE_BYTES, VACUUM_GAIN_SHARE_MIN
from sidecar.model import FORGOTTEN, HOT
from sidecar.plan.cycle_plan import CyclePlan
from sidecar.plan.lifecycle import LifecyclePlan
from sidecar.plan.plan import CascadeSettings, Counts, Plan
from sidecar.plan.stages import brake_of
from sidecar.reports import TierCounts
from sidecar.store import events, media_trash, replies, search_upkeep
from sidecar.store.space import Reserve, disk_error, give_back, with_reserve
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store

# A run's list is committed in parts, for one of which a write waits: 40 are some milliseconds.
LISTED_CHUNKS_PER_TRANSACTION: Final = 40


class Runner:
    """Carries out the runs of one namespace, one at a time (the caller sees to that)."""

    def __init__(
        self, store: Store, clock: Clock, reserve: Reserve, enabled: Callable[[], bool]
    ) -> None:
        """`enabled` says whether forgetting is switched on for the namespace."""
        self._enabled = enabled
        self._store = store
        self._clock = clock
        self._reserve = reserve
        self.media = MediaMover(store, clock)
        self.stopping = threading.Event()
        self.running: str | None = None

    def begin(
        self,
        kind: RunKind,
        trigger: str,
        decisions: Decisions,
        settings: CascadeSettings,
        begun: Begun | None,
        *,
        key: Key | None = None,
        plan: Plan | CyclePlan | LifecyclePlan | None = None,
        details: Details | None = None,
        plan_id: str | None = None,
        undoes: str | None = None,
        reason: str | None = None,
        also: Callable[[Transaction, str], None] | None = None,
    ) -> RunHeader:
        """Commit a run with its whole list. `also(tx, run id)` joins the transaction.

        With a `key` the run is the one that its call wanted: its report is the call's reply.
        """
        if self._store.writer.unfinished_run:
            self.finish_interrupted()
        now = self._clock.now_ms()
        named = {"reason": reason, PARAMETER: None if key is None else key.value}
        header = RunHeader(
            run_id=f"run-{ULID()}",
            kind=kind,
            trigger=trigger,
            planned_at=now if plan is None else plan.now,
            started_at=now,
            settings=asdict(settings) | {name: told for name, told in named.items() if told},
            plan_id=plan_id,
            policy=plan.policy.name if plan else None,
            policy_version=plan.policy.version if plan else None,
            undoes=undoes,
        )

        chunks = journal.chunk_rows(header, decisions, details)
        before = max(0, len(chunks) - LISTED_CHUNKS_PER_TRANSACTION)

        def work(tx: Transaction) -> None:
            told = msgspec.json.encode(begun)
            journal.begin(tx, header, len(decisions), told, chunks[before:])
            if key is not None:
                replies.claim(tx, key, now, header.run_id)
            if also is not None:
                also(tx, header.run_id)

        self._store.writer.unfinished_run = True
        try:
            for start in range(0, before, LISTED_CHUNKS_PER_TRANSACTION):
                part = chunks[start : min(before, start + LISTED_CHUNKS_PER_TRANSACTION)]
                self.write(partial(journal.list_chunks, chunks=part))
            self.write(work)
        except BaseException:
            self._store.writer.unfinished_run = False
            raise
        return header

    def write(self, work: Callable[[Transaction], object]) -> None:
        """One transaction without which no run goes on: on a full disk it gets the reserve."""
        with_reserve(self._reserve, lambda: self._store.writer.call(work))

    def carry_out(self, header: RunHeader) -> RunResult:
        """Do what the journal still has to do, and give space back.

        Raises RunStopped; and, with the run unfinished for the next start or run, DiskFull,
        ReadOnly (a file could not be written) and EncodeFailed.
        """
        settings = CascadeSettings(
            **{
                name: value
                for name, value in header.settings.items()
                if name in CascadeSettings.__dataclass_fields__
            }
        )
        allowed = None
        if header.kind in POLICY_RUNS:
            live = self._store.columns.counts().total
            window = self.window()
            allowed = brake_of(settings, live, window.forgotten, window.archived).allowed
        before = self._store.bytes_on_disk()
        self.running = header.run_id
        try:
            Mover(
                self._store,
                self._clock,
                header,
                settings,
                self._reserve,
                self.media,
                self.stopping,
                allowed,
                self._enabled,
            ).carry_out()
            self.media.settle()  # also what waited before this run
            with self._store.readers.view() as connection:
                decisions, outcomes = journal.all_decisions(connection, header.run_id)
                media = media_trash.report_of(connection, header.run_id)
                damaged = decisions["rid"][outcomes == OUTCOME_CODE["corrupt"]]
                self._store.findings.corrupt_ids.update(journal.ids_of(connection, damaged))
            note = self._make_room(decisions, outcomes)
        except OSError as error:
            raise disk_error(error) from error
        finally:
            self.running = None
        return RunResult(
            header.run_id, decisions, outcomes, before - self._store.bytes_on_disk(), note, media
        )

    def finish(
        self,
        header: RunHeader,
        report: Report | GcReport | dict[str, Any],
        event: str,
        payload: dict[str, Any],
    ) -> None:
        """Close the run in the ledger, with its report and its event, and keep the reply."""

        def work(tx: Transaction) -> None:
            now = self._clock.now_ms()
            journal.finish(tx, header.run_id, now, ending.stored(report))
            if header.key is not None:
                replies.fulfil(tx, header.key, header.run_id, msgspec.json.encode(report))
            events.append(tx.connection, now, event, None, payload, header.run_id)

        self._store.writer.unfinished_run = False
        try:
            self.write(work)
        except BaseException:
            self._store.writer.unfinished_run = True
            raise
        self._reserve.fill()
        self._store.cold_index.wake()

    def finish_interrupted(self) -> list[str]:
        """Finish the runs that a kill cut short; each decision is checked again."""
        with self._store.readers.borrow() as connection:
            unbegun = journal.unbegun(connection)
            run_ids = journal.unfinished(connection)
            headers = [journal.header_of(connection, run_id) for run_id in run_ids]
        self._store.writer.unfinished_run = bool(run_ids)
        if unbegun:
            self.write(journal.drop_unbegun)
        for header in headers:
            assert header is not None, "an unfinished run is in the ledger"
            if header.kind == "gc":
                self._finish_destruction(header)
                continue
            result = self.carry_out(header)
            report = self._late_report(header, result)
            if isinstance(report, ForgettingReport):
                self.finish(header, report, CYCLE_COMPLETED, ending.told_of(report))
                continue
            if isinstance(report, ForgetSummary):
                told = ending.told_of_lifecycle(report) | {"interrupted": True}
                self.finish(header, report, LIFECYCLE_COMPLETED, told)
                continue
            counts = ending.outcome_counts(result.decisions, result.outcomes)
            payload = {"counts": counts, "interrupted": True}
            event = "forgetting.sweep_completed"
            if header.kind in ("restore", "undo"):
                event = "forgetting.restore_completed"
            self.finish(header, report, event, payload)
        return run_ids

    def _late_report(self, header: RunHeader, result: RunResult) -> Report:
        """The report of a run that was cut short; it took from its beginning until now."""
        now = self._clock.now_ms()
        duration_ms = max(0, now - header.started_at)
        with self._store.readers.view() as connection:
            begun = msgspec.json.decode(journal.begun_of(connection, header.run_id), type=Begun)
            if isinstance(begun, ForgetBegun):
                return ending.forget_report(begun, result)
            if isinstance(begun, LifecycleBegun):
                return ending.lifecycle_report(connection, begun, result, duration_ms)
            if isinstance(begun, SweepBegun | CycleBegun):
                before, after = begun.planned.before, self.tier_counts()
                freed = (
                    before.live_bytes
                    + before.overhead_bytes
                    - after.live_bytes
                    - after.overhead_bytes
                )
                whole = replace(result, bytes_reclaimed=freed)
                if isinstance(begun, CycleBegun):
                    return ending.cycle_report(connection, begun, whole, after, duration_ms)
                return ending.sweep_report(connection, begun, whole, after, duration_ms)
            media = self.media.told_of(connection, result)
            return ending.restore_report(connection, begun, result, media, now, duration_ms)

    def destroy(self, header: RunHeader) -> Destruction:
        """Do what the list of a gc run still has to do. Raises as `carry_out`."""
        destroyer = Destroyer(self._store, self._clock, self._reserve, self.stopping, header)
        self.running = header.run_id
        try:
            result = destroyer.carry_out()
            self.write(destroyer.end)
        finally:
            self.running = None
        return result

    def _finish_destruction(self, header: RunHeader) -> None:
        result = self.destroy(header)
        with self._store.readers.borrow() as connection:
            run = journal.summary(connection, header.run_id)
        assert run is not None, "an unfinished run is in the ledger"
        payload = {
            "trigger": header.trigger,
            "destroyed": run.moved,
            "left": run.skipped,
            "bytesReclaimed": result.bytes_reclaimed,
            "interrupted": True,
        }
        self.finish(header, payload, "gc.completed", payload)

    def window(self) -> Window:
        """What counts for the brake now."""
        with self._store.readers.view() as connection:
            return window_since(connection, self._clock.now_ms() - BRAKE_WINDOW_MS)

    def suggest_gc(self, warn_gigabytes: float) -> None:
        """Say once a run that much of the disk is forgotten and could be given back."""
        held = self._store.files.bytes_on_disk(FORGOTTEN)
        if held > warn_gigabytes * GIGABYTE_BYTES:
            now = self._clock.now_ms()
            payload = {"forgottenBytes": held}
            self._store.writer.call(
                lambda tx: events.append(tx.connection, now, "gc.suggested", None, payload)
            )

    def tier_counts(self) -> TierCounts:
        """The counters and the bytes on disk now."""
        return self.tiers_of(self._store.columns.counts())

    def tiers_of(self, counts: Counts, overhead: int | None = None) -> TierCounts:
        """Counters as they are reported, with the overhead on disk now where none is given."""
        if overhead is None:
            overhead = max(0, self._store.bytes_on_disk() - counts.live_bytes)
        return TierCounts(
            hot=counts.hot,
            cold=counts.cold,
            forgotten=counts.forgotten,
            total=counts.total,
            live_bytes=counts.live_bytes,
            overhead_bytes=overhead,
        )

    def _make_room(self, decisions: Decisions, outcomes: Any) -> str | None:
        """Merge segments that are mostly dead, and shrink hot.db where a run emptied it."""
        notes = [compact.merge_dead(self._store, self._clock, self._reserve, self.stopping)]
        left_hot = (
            (outcomes == MOVED) & (decisions["from_tier"] == HOT) & (decisions["to_tier"] != HOT)
        )
        hot = self._store.columns.counts().hot
        hot_before = hot + int(np.count_nonzero(left_hot))
        if search_upkeep.worth_merging(self._store.meta(search_upkeep.DELETED_KEY) or 0, hot):
            with suppress(DiskFull):  # it only saves room and time
                search_upkeep.merge(self._store.writer, self.stopping)
        if hot_before and np.count_nonzero(left_hot) / hot_before >= VACUUM_GAIN_SHARE_MIN:
            notes.append(give_back(self._store.writer, self._store.directory))
        return "; ".join(note for note in notes if note) or None
