"""Sweeps of one namespace: snapshot, plan, apply, report. Everything here blocks."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidecar.apply import journal
from sidecar.apply.brake import brake_report
from sidecar.apply.ending import STAGE_ACTION, SweepBegun, outcome_counts, sweep_report
from sidecar.apply.runner import Runner
from sidecar.clock import Clock
from sidecar.estimate import Estimator
from sidecar.idempotency import Key
from sidecar.limits import REPORT_NAMED_MAX
from sidecar.plan.cascade import plan_cascade, plan_spill
from sidecar.plan.plan import FORGET, CascadeSettings, Plan, Policy, StagePlan
from sidecar.plan.policies import POLICY_DEFAULT, policy_named
from sidecar.plan.stages import low_watermark
from sidecar.plan_shelf import PlanShelf, ShelvedPlan
from sidecar.replies import keep_reply
from sidecar.reports import (
    Decision,
    Shortfall,
    StageReport,
    SweepReport,
    TierCounts,
)
from sidecar.settings_book import SettingsBook
from sidecar.store.store import Store
from sidecar.touches import TouchBuffer

Mode = Literal["normal", "strict"]


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What a caller, or the detector, wants of a sweep. `target` makes it a cold spill."""

    trigger: str = "call"
    mode: Mode = "normal"
    policy: str | None = None
    brake_share: float | None = None
    now: int | None = None
    decisions_limit: int = 100
    target: int | None = None
    spill_only: bool = False
    stage_one: bool = True
    stage_two: bool = True


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """A report, and what the detector needs to know of the run behind it.

    `forgetting_shortfall` is what stage 2 alone lacks: the report's is that of both stages.
    """

    report: SweepReport
    moved_by_stage: dict[int, int]
    braked: bool
    forgetting_shortfall: Shortfall | None


class Sweeper:
    """Plans and applies the sweeps of one namespace."""

    def __init__(
        self,
        name: str,
        store: Store,
        clock: Clock,
        book: SettingsBook,
        touches: TouchBuffer,
        runner: Runner,
        estimator: Estimator,
        fold: Callable[[], None],
    ) -> None:
        """`fold` writes pending touches; a run calls it before it looks at anything."""
        self._name = name
        self._store = store
        self._clock = clock
        self._book = book
        self._touches = touches
        self._runner = runner
        self._estimator = estimator
        self._fold = fold
        self.shelf: PlanShelf[Plan] = PlanShelf("forgetSweep {dryRun: true}")

    def dry_run(self, request: SweepRequest) -> SweepOutcome:
        """Plan, keep the plan for its one use, write nothing."""
        started = time.monotonic()
        plan, settings = self._plan(request)
        shelved = self.shelf.add(
            plan, settings, self._clock.now_ms(), applicable=request.now is None
        )
        return self._previewed(plan, shelved.plan_id, request, started)

    def show(self, plan_id: str, request: SweepRequest) -> SweepOutcome:
        """A kept plan once more, as its dry run answered it."""
        started = time.monotonic()
        plan = self.shelf.find(plan_id, self._clock.now_ms()).plan
        return self._previewed(plan, plan_id, request, started)

    def run(self, request: SweepRequest, key: Key | None = None) -> SweepOutcome:
        """Plan and carry out at once, for the call with a key. Raises ForgettingDisabled."""
        self._book.refuse_if_disabled()
        started = time.monotonic()
        self._fold()
        plan, settings = self._plan(request)
        return self._carry_out(plan, settings, None, request, started, key)

    def run_plan(self, plan_id: str, request: SweepRequest, key: Key | None = None) -> SweepOutcome:
        """Carry out exactly a kept plan. Raises the errors of PlanShelf.take."""
        self._book.refuse_if_disabled()
        started = time.monotonic()
        now = self._clock.now_ms()
        shelved = self.shelf.find(plan_id, now)
        current = self.policy(shelved.plan.policy.name)
        shelved = self.shelf.take(plan_id, now, current.version)
        self._fold()
        return self._carry_out(shelved.plan, shelved.settings, shelved, request, started, key)

    def policy(self, name: str | None) -> Policy:
        """A policy by name; None is the default one. Raises PolicyUnknown."""
        return policy_named(name or POLICY_DEFAULT, self._estimator.version)

    def decisions_of_plan(
        self, shelved: ShelvedPlan[Plan], start: int, limit: int
    ) -> list[Decision]:
        """A page of a kept plan's decisions."""
        return self._decisions(shelved.plan, slice(start, start + limit))

    def _plan(self, request: SweepRequest) -> tuple[Plan, CascadeSettings]:
        settings = self._book.cascade(request.brake_share)
        policy = self.policy(request.policy)
        now = self._clock.now_ms() if request.now is None else request.now
        snapshot = self._touches.folded(self._store.columns.snapshot())
        forgotten = self._store.columns.counts().forgotten
        if request.spill_only:
            target = request.target
            if target is None:
                target = low_watermark(settings.threshold_count, settings.low_watermark)
            plan = plan_spill(
                snapshot, settings, target, now=now, policy=policy, forgotten_total=forgotten
            )
        else:
            window = self._runner.window()
            plan = plan_cascade(
                snapshot,
                settings,
                now=now,
                policy=policy,
                mode=request.mode,
                run_stage_one=request.stage_one,
                run_stage_two=request.stage_two,
                forgotten_in_window=window.forgotten,
                archived_in_window=window.archived,
                forgotten_total=forgotten,
            )
        return plan, settings

    def _carry_out(
        self,
        plan: Plan,
        settings: CascadeSettings,
        shelved: ShelvedPlan[Plan] | None,
        request: SweepRequest,
        started: float,
        key: Key | None,
    ) -> SweepOutcome:
        before = self._runner.tier_counts()
        plan_id = shelved.plan_id if shelved else None
        planned = self._report(plan, plan_id, request, before, before, started, decisions_limit=0)
        planned.dry_run = False
        if not len(plan):
            if key is not None:
                self._runner.write(lambda tx: keep_reply(tx, key, self._clock.now_ms(), planned))
            return _outcome(planned, plan)
        begun = SweepBegun(planned=planned, decisions_limit=request.decisions_limit)
        planned.decisions_truncated = len(plan) > request.decisions_limit
        header = self._runner.begin(
            "spill" if plan.kind == "spill" else "sweep",
            request.trigger,
            journal.decisions_of(plan),
            settings,
            begun,
            key=key,
            plan=plan,
            plan_id=plan_id,
        )
        result = self._runner.carry_out(header)
        after = self._runner.tier_counts()
        with self._store.readers.view() as connection:
            took_ms = (time.monotonic() - started) * 1000
            report = sweep_report(connection, begun, result, after, took_ms)
        payload = {
            "planId": plan_id,
            "trigger": request.trigger,
            "counts": report.counts,
            "bytesReclaimed": report.bytes_reclaimed,
        }
        self._runner.finish(header, report, "forgetting.sweep_completed", payload)
        self._runner.suggest_gc(self._book.values.forgotten_warn_gb)
        return _outcome(report, plan)

    def _previewed(
        self, plan: Plan, plan_id: str, request: SweepRequest, started: float
    ) -> SweepOutcome:
        before = self._runner.tiers_of(plan.before)
        after = self._runner.tiers_of(plan.after, before.overhead_bytes)
        limit = request.decisions_limit
        report = self._report(plan, plan_id, request, before, after, started, decisions_limit=limit)
        return _outcome(report, plan)

    def _report(
        self,
        plan: Plan,
        plan_id: str | None,
        request: SweepRequest,
        before: TierCounts,
        after: TierCounts,
        started: float,
        *,
        decisions_limit: int,
    ) -> SweepReport:
        """The report of a plan that was not carried out."""
        return SweepReport(
            namespace=self._name,
            run_id=None,
            plan_id=plan_id,
            dry_run=True,
            trigger=request.trigger,
            now=plan.now,
            policy=plan.policy.name,
            policy_version=plan.policy.version,
            mode=plan.mode,
            before=before,
            after=after,
            thresholds=dict(self._book.wire_values()),
            stages=[_stage(stage, plan) for stage in plan.stages],
            decisions=self._decisions(plan, slice(0, decisions_limit)),
            decisions_truncated=len(plan) > decisions_limit,
            counts=_counts(plan),
            kept=plan.kept,
            skipped=[],
            skipped_count=0,
            protected=dict(plan.protected),
            unscored=plan.unscored,
            unscored_ids=list(plan.unscored_ids[:REPORT_NAMED_MAX]),
            shortfall=_shortfall(plan.stages),
            brake=None if plan.brake is None else brake_report(plan.brake),
            bytes_planned=int(plan.bytes_freed.sum()),
            bytes_reclaimed=0,
            media=None,
            space_note=None,
            duration_ms=round((time.monotonic() - started) * 1000, 3),
        )

    def _decisions(self, plan: Plan, part: slice) -> list[Decision]:
        return journal.to_wire(journal.decisions_of(plan)[part], list(plan.ids[part]), None)


def _outcome(report: SweepReport, plan: Plan) -> SweepOutcome:
    return SweepOutcome(
        report,
        {stage.stage: stage.moved for stage in report.stages},
        braked=any(stage.braked for stage in plan.stages),
        forgetting_shortfall=_shortfall(
            [one for one in plan.stages if STAGE_ACTION[one.stage] == FORGET]
        ),
    )


def _stage(stage: StagePlan, plan: Plan) -> StageReport:
    selected = int(np.count_nonzero(plan.action == STAGE_ACTION[stage.stage]))
    return StageReport(
        stage=stage.stage, crossed=list(stage.crossed), selected=selected, moved=0, skipped=0
    )


def _counts(plan: Plan) -> dict[str, int]:
    counts = outcome_counts(journal.decisions_of(plan), np.zeros(len(plan), np.int16))
    return {name: counts[name] for name in ("spill", "forget", "skipped")}


def _shortfall(stages: Sequence[StagePlan]) -> Shortfall | None:
    """The most that any of the stages lacks; None where candidates sufficed."""
    memories = max((stage.shortfall_memories for stage in stages), default=0)
    missing_bytes = max((stage.shortfall_bytes for stage in stages), default=0)
    return Shortfall(memories=memories, bytes=missing_bytes) if memories or missing_bytes else None
