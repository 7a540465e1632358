"""The runs of a namespace: sweeps, spills, forgetting by id, restore, undo, and the ledger."""

import asyncio
import base64
import binascii
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from sidecar.apply import journal, restore
from sidecar.apply.forget import decisions_for, forget_report
from sidecar.apply.lift import revive_row
from sidecar.apply.restore import Choice
from sidecar.apply.runner import Runner
from sidecar.automatic import Automatic
from sidecar.clock import Clock
from sidecar.errors import InvalidParams, RunNotUndoable, RunUnknown
from sidecar.estimate import Estimator
from sidecar.reports import (
    DecisionPage,
    ForgetReport,
    RestoreReport,
    RunDetail,
    RunPage,
    SweepReport,
)
from sidecar.run_slots import RunSlots
from sidecar.settings_book import PAUSE_UNDO, SettingsBook
from sidecar.store import rows
from sidecar.store.space import Reserve
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.sweeping import Mode, Sweeper, SweepOutcome, SweepRequest
from sidecar.threads import Threads
from sidecar.touches import TouchBuffer, writes

T = TypeVar("T")


class NamespaceRuns:
    """What `Namespace` is made of besides reading and writing."""

    store: Store
    book: SettingsBook

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
            outcome = await self.slots.run(
                ("plan", plan_id), partial(self.sweeper.run_plan, plan_id, request)
            )
        else:
            outcome = await self.slots.run(("sweep", request), partial(self.sweeper.run, request))
        return outcome.report

    async def sweep_automatically(self, request: SweepRequest) -> SweepOutcome:
        """A sweep that the detector asks for."""
        return await self.slots.run(("sweep", request), partial(self.sweeper.run, request))

    async def cold_spill(self, *, dry_run: bool, target: int | None) -> SweepReport:
        """Spill hot memories down to `target`, whatever the thresholds say."""
        request = SweepRequest(spill_only=True, target=target)
        if dry_run:
            return (await self._in_thread(self.sweeper.dry_run, request)).report
        outcome = await self.slots.run(("spill", request), partial(self.sweeper.run, request))
        return outcome.report

    async def forget(self, *, ids: Sequence[str], reason: str) -> ForgetReport:
        """Forget memories by id, as the host wishes: also while forgetting is switched off."""
        unique = tuple(dict.fromkeys(ids))
        return await self.slots.run(
            ("forget", unique, reason), lambda: self._forget(unique, reason)
        )

    def _forget(self, ids: Sequence[str], reason: str) -> ForgetReport:
        self.fold_touches()
        now = self.clock.now_ms()
        with self.store.readers.view() as connection:
            decisions, answers = decisions_for(connection, ids, now)
        run_id = None
        header = None
        if len(decisions):
            header = self.runner.begin(
                "forget", "call", decisions, self.book.cascade(), reason=reason
            )
            result = self.runner.carry_out(header)
            run_id = result.run_id
            for rid, code in zip(
                result.decisions["rid"].tolist(), result.outcomes.tolist(), strict=True
            ):
                answers[rid] = "forgotten" if code == journal.MOVED else "changed"
        with self.store.readers.borrow() as connection:
            report = forget_report(connection, ids, answers, run_id)
        if header is not None:
            payload = {"forgotten": report.forgotten, "reason": reason}
            self.runner.finish(
                header, msgspec.json.encode(report), "forgetting.sweep_completed", payload
            )
        return report

    async def restore(
        self, *, ids: Sequence[str] | None, run_id: str | None, reason: str | None
    ) -> RestoreReport:
        """Bring memories back by id, by run, or by reason."""
        unique = None if ids is None else tuple(dict.fromkeys(ids))
        return await self.slots.run(
            ("restore", unique, run_id, reason), lambda: self._restore(unique, run_id, reason)
        )

    def _restore(
        self, ids: Sequence[str] | None, run_id: str | None, reason: str | None
    ) -> RestoreReport:
        self.fold_touches()
        with self.store.readers.view() as connection:
            if ids is not None:
                choice = restore.by_ids(connection, ids)
            elif run_id is not None:
                choice = restore.by_run(connection, run_id, "restored")
            else:
                choice = restore.by_reason(connection, reason or "")
        return self._bring_back(choice, None)

    async def undo(self, *, run_id: str) -> RestoreReport:
        """Bring back all that a run moved, and pause automatic runs until they are resumed."""
        return await self.slots.run(("undo", run_id), lambda: self._undo(run_id))

    def _undo(self, run_id: str) -> RestoreReport:
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
        return self._bring_back(choice, run_id)

    def _bring_back(self, choice: Choice, undoes: str | None) -> RestoreReport:
        started = time.monotonic()

        def mark(tx: Transaction, by: str) -> None:
            if undoes is not None:
                tx.connection.execute(
                    "UPDATE runs SET state = 'undone', undone_by = ? WHERE run_id = ?", (by, undoes)
                )
                self.book.pause(tx, PAUSE_UNDO, None, self.clock.now_ms())

        if choice.revived:
            self.store.writer.call(self._revive(choice.revived))
        header = None
        outcomes: dict[int, int] = {}
        if len(choice.decisions) or undoes is not None:
            header = self.runner.begin(
                "restore" if undoes is None else "undo",
                "call",
                choice.decisions,
                self.book.cascade(),
                undoes=undoes,
                also=mark,
            )
            result = self.runner.carry_out(header)
            rids, codes = result.decisions["rid"].tolist(), result.outcomes.tolist()
            outcomes = dict(zip(rids, codes, strict=True))
        with self.store.readers.view() as connection:
            report = restore.report(
                connection,
                self.name,
                header.run_id if header else None,
                choice,
                outcomes,
                self.clock.now_ms(),
                paused=PAUSE_UNDO in self.book.paused,
                duration_ms=round((time.monotonic() - started) * 1000, 3),
            )
        if header is not None:
            event = "forgetting.run_undone" if undoes else "forgetting.restore_completed"
            payload = {"counts": report.counts, "undoes": undoes}
            self.runner.finish(header, msgspec.json.encode(report), event, payload)
        if self.automatic is not None:
            self.automatic.notify()
        return report

    def _revive(self, rids: Sequence[int]) -> Callable[[Transaction], None]:
        now = self.clock.now_ms()

        def work(tx: Transaction) -> None:
            for rid in rids:
                row = rows.by_rid(tx.connection, rid)
                if row is not None:
                    revive_row(tx, row, now)

        return work

    async def runs(self, *, limit: int, cursor: str | None) -> RunPage:
        """The ledger, newest first."""
        before = _run_of_cursor(cursor)
        with self.store.readers.borrow() as connection:
            found = journal.summaries(connection, limit + 1, before)
        page = found[:limit]
        more = len(found) > limit
        following = _cursor([page[-1].started_at, page[-1].run_id]) if more else None
        return RunPage(runs=page, cursor=following)

    async def run(self, *, run_id: str) -> RunDetail:
        """One run and its report. Raises RunUnknown."""
        with self.store.readers.borrow() as connection:
            summary = journal.summary(connection, run_id)
            found = connection.execute(
                "SELECT report FROM runs WHERE run_id = ?", (run_id,)
            ).fetchall()
        if summary is None:
            raise RunUnknown(field="$.runId", remedy="look the id up with runs.list")
        report = found[0][0]
        return RunDetail(
            run=summary, report=None if report is None else msgspec.json.decode(report)
        )

    async def decisions(
        self, *, run_id: str | None, plan_id: str | None, cursor: str | None, limit: int
    ) -> DecisionPage:
        """A page of the decisions of a run or of a kept plan, in plan order."""
        start = _offset_of_cursor(cursor)
        if plan_id is not None:
            shelved = self.sweeper.shelf.find(plan_id, self.clock.now_ms())
            page = self.sweeper.decisions_of_plan(shelved, start, limit)
            return _page(page, start, len(shelved.plan))
        return await self._in_thread(self._run_decisions, run_id or "", start, limit)

    def _run_decisions(self, run_id: str, start: int, limit: int) -> DecisionPage:
        with self.store.readers.view() as connection:
            if journal.summary(connection, run_id) is None:
                raise RunUnknown(field="$.runId", remedy="look the id up with runs.list")
            decisions, outcomes = journal.all_decisions(connection, run_id)
            part = slice(start, start + limit)
            ids = journal.ids_of(connection, decisions["rid"][part])
        page = journal.to_wire(decisions[part], ids, outcomes[part])
        return _page(page, start, len(decisions))

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        self.in_flight += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.threads.reads, work, *arguments)
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


def _page(page: list[Any], start: int, total: int) -> DecisionPage:
    end = start + len(page)
    return DecisionPage(decisions=page, cursor=_cursor(end) if end < total else None, total=total)


def _cursor(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


def _read_cursor(cursor: str) -> Any:
    try:
        return json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, ValueError):
        return None


def _offset_of_cursor(cursor: str | None) -> int:
    value = 0 if cursor is None else _read_cursor(cursor)
    if not isinstance(value, int) or value < 0:
        raise _bad_cursor()
    return value


def _run_of_cursor(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    match _read_cursor(cursor):
        case [int(at), str(run_id)]:
            return at, run_id
        case _:
            raise _bad_cursor()


def _bad_cursor() -> InvalidParams:
    return InvalidParams(
        "$.cursor is not one that the page before gave",
        field="$.cursor",
        bound="the cursor of the page before",
        remedy="start again without a cursor",
    )
