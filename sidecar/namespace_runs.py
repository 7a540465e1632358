"""The runs of a namespace: sweeps, spills, forgetting by id, restore, undo, and the ledger."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar

from sidecar.apply import ending, journal, restore
from sidecar.apply.ending import ForgetBegun, RunResult
from sidecar.apply.forget import decisions_for
from sidecar.apply.restore import Choice
from sidecar.apply.runner import Runner
from sidecar.archiving import Archiver
from sidecar.automatic import Automatic
from sidecar.clock import Clock
from sidecar.cycle_config import CycleOptions
from sidecar.cycling import Cycler
from sidecar.duplicate_search import DuplicateSearch
from sidecar.errors import InvalidParams, RunNotUndoable
from sidecar.estimate import Estimator
from sidecar.idempotency import Key, current_key
from sidecar.lifecycle_config import LifecycleOptions
from sidecar.replies import keep_reply
from sidecar.reports import (
    ForgetReport,
    RestoreReport,
    SweepReport,
)
from sidecar.run_slots import RunSlots
from sidecar.settings_book import PAUSE_UNDO, SettingsBook
from sidecar.store import replies
from sidecar.store.space import Reserve
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.sweeping import Mode, Sweeper, SweepOutcome, SweepRequest
from sidecar.threads import Threads
from sidecar.touches import TouchBuffer, writes

T = TypeVar("T")
R = TypeVar("R")


class NamespaceRuns(ABC):
    """What `Namespace` is made of besides reading and writing."""

    store: Store
    book: SettingsBook
    cycle_options: CycleOptions
    lifecycle_options: LifecycleOptions

    def __init__(self, name: str, clock: Clock, estimator: Estimator, threads: Threads) -> None:
        self.name = name
        self.clock = clock
        self.estimator = estimator
        self.threads = threads
        self.touches = TouchBuffer()
        self.slots = RunSlots(threads.runs)
        self.automatic: Automatic | None = None
        self.in_flight = 0

    def build_runs(self, reserve: Reserve) -> None:
        """After the store is open: what plans and what carries out."""
        self.runner = Runner(
            self.store, self.clock, reserve, lambda: self.book.values.forget_enabled
        )
        self.sweeper = Sweeper(
            self.name,
            self.store,
            self.clock,
            self.book,
            self.touches,
            self.runner,
            self.estimator,
            self.fold_touches,
        )
        self.duplicates = DuplicateSearch(self.store, lambda: not self.runner.stopping.is_set())
        self.cycler = Cycler(
            self.name,
            self.store,
            self.clock,
            self.book,
            self.touches,
            self.runner,
            self.fold_touches,
            lambda: self.cycle_options,
            self.duplicates.find,
            self.announce,
        )
        self.archiver = Archiver(
            self.name,
            self.store,
            self.clock,
            self.book,
            self.touches,
            self.runner,
            self.fold_touches,
        )

    @abstractmethod
    def announce(self, at: int, kind: str, payload: Mapping[str, Any]) -> None:
        """Tell those who follow events, at `at` (ms), what no log keeps."""

    def fold_touches(self) -> None:
        """Write the touches that wait. Blocks."""
        batches = self.touches.take()
        for number, batch in enumerate(batches):
            try:
                self.runner.write(writes(self.store.records, batch, self.clock.now_ms()))
            except BaseException:
                self.touches.give_back(batches[number:])
                raise

    async def sweep(
        self,
        *,
        dry_run: bool,
        plan_id: str | None,
        mode: Mode,
        policy: str | None,
        brake_share: float | None,
        now: int | None,
        decisions_limit: int,
        trigger: str = "call",
    ) -> SweepReport:
        """Plan a sweep, apply a plan, or do both at once. See forgetSweep."""
        request = SweepRequest(
            trigger=trigger,
            mode=mode,
            policy=policy,
            brake_share=brake_share,
            now=now,
            decisions_limit=decisions_limit,
        )
        _refuse_mixture(request, plan_id, dry_run)
        if dry_run:
            work = partial(self.sweeper.dry_run, request)
            if plan_id is not None:
                work = partial(self.sweeper.show, plan_id, request)
            return (await self._in_thread(work)).report
        if plan_id is not None:
            return await self._in_slot(
                ("plan", plan_id),
                lambda key: self.sweeper.run_plan(plan_id, request, key),
                lambda outcome: outcome.report,
            )
        return await self._in_slot(
            ("sweep", request),
            lambda key: self.sweeper.run(request, key),
            lambda outcome: outcome.report,
        )

    async def sweep_automatically(self, request: SweepRequest) -> SweepOutcome:
        """A sweep that the detector asks for."""
        return await self.slots.run(("sweep", request), partial(self.sweeper.run, request))

    async def cold_spill(self, *, dry_run: bool, target: int | None) -> SweepReport:
        """Spill hot memories down to `target`, whatever the thresholds say."""
        request = SweepRequest(spill_only=True, target=target)
        if dry_run:
            return (await self._in_thread(self.sweeper.dry_run, request)).report
        return await self._in_slot(
            ("spill", request),
            lambda key: self.sweeper.run(request, key),
            lambda outcome: outcome.report,
        )

    async def forget(self, *, ids: Sequence[str], reason: str) -> ForgetReport:
        """Forget memories by id, as the host wishes: also while forgetting is switched off."""
        unique = tuple(dict.fromkeys(ids))
        return await self._in_slot(
            ("forget", unique, reason), lambda key: self._forget(unique, reason, key), _itself
        )

    def _forget(self, ids: Sequence[str], reason: str, key: Key | None) -> ForgetReport:
        self.fold_touches()
        now = self.clock.now_ms()
        with self.store.readers.view() as connection:
            decisions, answers = decisions_for(connection, ids, now)
        begun = ForgetBegun(results=answers)
        if not len(decisions):
            report = ending.forget_report(begun, None)
            self._keep(key, report)
            return report
        header = self.runner.begin(
            "forget", "call", decisions, self.book.cascade(), begun, key=key, reason=reason
        )
        report = ending.forget_report(begun, self.runner.carry_out(header))
        payload = {"forgotten": report.forgotten, "reason": reason}
        self.runner.finish(header, report, "forgetting.sweep_completed", payload)
        return report

    async def restore(
        self, *, ids: Sequence[str] | None, run_id: str | None, reason: str | None
    ) -> RestoreReport:
        """Bring memories back by id, by run, or by reason."""
        unique = None if ids is None else tuple(dict.fromkeys(ids))
        return await self._in_slot(
            ("restore", unique, run_id, reason),
            lambda key: self._restore(unique, run_id, reason, key),
            _itself,
        )

    def _restore(
        self, ids: Sequence[str] | None, run_id: str | None, reason: str | None, key: Key | None
    ) -> RestoreReport:
        self.fold_touches()
        with self.store.readers.view() as connection:
            if ids is not None:
                choice = restore.by_ids(connection, ids)
            elif run_id is not None:
                choice = restore.by_run(connection, run_id, "restored")
            else:
                choice = restore.by_reason(connection, reason or "")
        return self._bring_back(choice, None, key)

    async def undo(self, *, run_id: str) -> RestoreReport:
        """Bring back all that a run moved, and pause automatic runs until they are resumed."""
        return await self._in_slot(("undo", run_id), lambda key: self._undo(run_id, key), _itself)

    def _undo(self, run_id: str, key: Key | None) -> RestoreReport:
        self.fold_touches()
        with self.store.readers.view() as connection:
            choice = restore.by_run(connection, run_id, "undone")
            run = journal.summary(connection, run_id)
        if run is not None and run.undone_by is not None:
            raise RunNotUndoable(
                "The run was undone already",
                field="$.runId",
                bound="one undo of a run",
                remedy="see what the undo did with runs.get",
            )
        return self._bring_back(choice, run_id, key)

    def _bring_back(self, choice: Choice, undoes: str | None, key: Key | None) -> RestoreReport:
        started = time.monotonic()
        paused = undoes is not None or PAUSE_UNDO in self.book.paused
        begun = ending.restore_begun(self.name, choice, paused=paused)

        def report_of(connection: Connection, result: RunResult | None) -> RestoreReport:
            took_ms = (time.monotonic() - started) * 1000
            now, media = self.clock.now_ms(), self.runner.media.told_of(connection, result)
            return ending.restore_report(connection, begun, result, media, now, took_ms)

        def mark(tx: Transaction, by: str) -> None:
            if undoes is not None:
                tx.connection.execute(
                    "UPDATE runs SET state = 'undone', undone_by = ? WHERE run_id = ?", (by, undoes)
                )
                self.book.pause(tx, PAUSE_UNDO, None, self.clock.now_ms())

        if len(choice.decisions) or undoes is not None:
            kind = "restore" if undoes is None else "undo"
            header = self.runner.begin(
                kind,
                "call",
                choice.decisions,
                self.book.cascade(),
                begun,
                key=key,
                undoes=undoes,
                details=choice.details,
                also=mark,
            )
            result = self.runner.carry_out(header)
            with self.store.readers.view() as connection:
                report = report_of(connection, result)
            event = "forgetting.run_undone" if undoes else "forgetting.restore_completed"
            payload = {"counts": report.counts, "undoes": undoes}
            self.runner.finish(header, report, event, payload)
        else:
            with self.store.readers.view() as connection:
                report = report_of(connection, None)
            self._keep(key, report)
        if self.automatic is not None:
            self.automatic.notify()
        return report

    async def reply_of(self, key: Key) -> bytes | None:
        """The reply kept for a key, once its run has ended; None where the call is a new one.

        Raises IdempotencyConflict, and what finishing an interrupted run may raise.
        """
        kept = self._kept(key)
        if kept is not None and kept.reply is None:
            await self.slots.run(("interrupted",), self.runner.finish_interrupted)
            kept = self._kept(key)
        return None if kept is None else kept.reply

    def _kept(self, key: Key) -> replies.Kept | None:
        with self.store.readers.borrow() as connection:
            return replies.find(connection, key, self.clock.now_ms())

    async def _in_slot(
        self, slot: Hashable, work: Callable[[Key | None], T], answered: Callable[[T], R]
    ) -> R:
        """Run `work` in its turn, or join the run in the same slot; keep the reply of a key.

        `work` keeps it in its own transactions, which one that is joined has not done.
        """
        key = current_key()
        joined = True

        def own() -> T:
            nonlocal joined
            joined = False
            return work(key)

        answer = answered(await self.slots.run(slot, own))
        if joined and key is not None:
            await self._in_thread(self._keep, key, answer)
        return answer

    def _keep(self, key: Key | None, reply: object) -> None:
        """Keep the reply of a call that had nothing to write. Blocks."""
        if key is not None:
            self.runner.write(lambda tx: keep_reply(tx, key, self.clock.now_ms(), reply))

    async def files_follow(self) -> None:
        """Let files follow the memories that a write has just brought back."""
        if self.store.columns.media_waits:
            await self._in_thread(self.runner.media.settle_if_waiting)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await self._in_pool(self.threads.reads, work, *arguments)

    async def _in_pool(self, pool: Executor, work: Callable[..., T], *arguments: Any) -> T:
        self.in_flight += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
        finally:
            self.in_flight -= 1


def _refuse_mixture(request: SweepRequest, plan_id: str | None, dry_run: bool) -> None:
    """Refuse parameters that contradict each other rather than guess which one counts."""
    given = {
        "now": request.now is not None,
        "policy": request.policy is not None,
        "brakeShare": request.brake_share is not None,
        "mode": request.mode != "normal",
    }
    if request.now is not None and not dry_run:
        raise InvalidParams(
            "$.now is for dry runs",
            field="$.now",
            bound="only with dryRun: true",
            remedy="leave it out, or plan with dryRun: true",
        )
    for name, named in given.items():
        if plan_id is not None and named:
            raise InvalidParams(
                f"$.{name} does not go with $.planId: the plan keeps what it was made with",
                field=f"$.{name}",
                bound="absent where planId is given",
                remedy="make a new plan with the value you want",
            )


def _itself(report: R) -> R:
    return report
