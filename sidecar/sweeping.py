"""Sweeps of one namespace: snapshot, plan, apply, report. Everything here blocks."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from sidecar.apply import journal
from sidecar.apply.journal import MOVED
from sidecar.apply.runner import Runner, RunResult, outcome_counts
from sidecar.clock import Clock
from sidecar.errors import ForgettingDisabled
from sidecar.estimate import Estimator
from sidecar.limits import GIGABYTE_BYTES, REPORT_NAMED_MAX
from sidecar.model import FORGOTTEN
from sidecar.plan.cascade import plan_cascade, plan_spill
from sidecar.plan.plan import FORGET, SPILL, Brake, CascadeSettings, Plan, Policy, StagePlan
from sidecar.plan.policies import POLICY_DEFAULT, policy_named
from sidecar.plan.stages import low_watermark
from sidecar.plan_shelf import PlanShelf, ShelvedPlan
from sidecar.reports import (
    BrakeReport,
    Decision,
    Shortfall,
    Skipped,
    StageReport,
    SweepReport,
    TierCounts,
)
from sidecar.settings_book import SettingsBook
from sidecar.store import events
from sidecar.store.store import Store
from sidecar.touches import TouchBuffer

Mode = Literal["normal", "strict"]
STAGE_ACTION: Final = {1: SPILL, 2: FORGET}


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
    """A report, and what the detector needs to know of the run behind it."""

    report: SweepReport
    moved_by_stage: dict[int, int]
    braked: bool
    short: bool


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
        self.shelf = PlanShelf()

    def dry_run(self, request: SweepRequest) -> SweepOutcome:
        """Plan, keep the plan for its one use, write nothing."""
        started = time.monotonic()
        plan, settings = self._plan(request)
        shelved = self.shelf.add(
            plan, settings, self._clock.now_ms(), applicable=request.now is None
        )
        before = self._tiers(plan.before)
        after = self._tiers(plan.after, before.overhead_bytes)
        return self._outcome(plan, shelved.plan_id, request, before, after, None, started)

    def show(self, plan_id: str, request: SweepRequest) -> SweepOutcome:
        """A kept plan once more, as its dry run answered it."""
        started = time.monotonic()
        plan = self.shelf.find(plan_id, self._clock.now_ms()).plan
        before = self._tiers(plan.before)
        after = self._tiers(plan.after, before.overhead_bytes)
        return self._outcome(plan, plan_id, request, before, after, None, started)

    def run(self, request: SweepRequest) -> SweepOutcome:
        """Plan and carry out at once. Raises ForgettingDisabled."""
        self._refuse_if_disabled()
        started = time.monotonic()
        self._fold()
        plan, settings = self._plan(request)
        return self._carry_out(plan, settings, None, request, started)

    def run_plan(self, plan_id: str, request: SweepRequest) -> SweepOutcome:
        """Carry out exactly a kept plan. Raises the errors of PlanShelf.take."""
        self._refuse_if_disabled()
        started = time.monotonic()
        now = self._clock.now_ms()
        shelved = self.shelf.find(plan_id, now)
        current = self.policy(shelved.plan.policy.name)
        shelved = self.shelf.take(plan_id, now, current.version)
        self._fold()
        return self._carry_out(shelved.plan, shelved.settings, shelved, request, started)

    def policy(self, name: str | None) -> Policy:
        """A policy by name; None is the default one. Raises PolicyUnknown."""
        return policy_named(name or POLICY_DEFAULT, self._estimator.version)

    def decisions_of_plan(self, shelved: ShelvedPlan, start: int, limit: int) -> list[Decision]:
        """A page of a kept plan's decisions."""
        return self._decisions(shelved.plan, slice(start, start + limit), None)

    def _refuse_if_disabled(self) -> None:
        if not self._book.values.forget_enabled:
            raise ForgettingDisabled(
                bound="forgetEnabled: true",
                remedy="set it with thresholds.set {forgetEnabled: true}; dry runs still plan",
            )

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
            plan = plan_cascade(
                snapshot,
                settings,
                now=now,
                policy=policy,
                mode=request.mode,
                run_stage_one=request.stage_one,
                run_stage_two=request.stage_two,
                forgotten_in_window=self._runner.forgotten_in_window(),
                forgotten_total=forgotten,
            )
        return plan, settings

    def _carry_out(
        self,
        plan: Plan,
        settings: CascadeSettings,
        shelved: ShelvedPlan | None,
        request: SweepRequest,
        started: float,
    ) -> SweepOutcome:
        before = self._runner.tier_counts()
        plan_id = shelved.plan_id if shelved else None
        if not len(plan):
            return self._outcome(
                plan, plan_id, request, before, before, RunNothing, started, real=True
            )
        header = self._runner.begin(
            "spill" if plan.kind == "spill" else "sweep",
            request.trigger,
            journal.decisions_of(plan),
            settings,
            plan=plan,
            plan_id=plan_id,
        )
        result = self._runner.carry_out(header)
        outcome = self._outcome(
            plan, plan_id, request, before, self._runner.tier_counts(), result, started, real=True
        )
        report = outcome.report
        payload = {
            "planId": plan_id,
            "trigger": request.trigger,
            "counts": report.counts,
            "bytesReclaimed": report.bytes_reclaimed,
        }
        stored = msgspec.structs.replace(report, decisions=report.decisions[:REPORT_NAMED_MAX])
        self._runner.finish(
            header, msgspec.json.encode(stored), "forgetting.sweep_completed", payload
        )
        self._suggest_gc()
        return outcome

    def _suggest_gc(self) -> None:
        """Say once a run that much of the disk is forgotten and could be given back."""
        held = self._store.files.bytes_on_disk(FORGOTTEN)
        if held > self._book.values.forgotten_warn_gb * GIGABYTE_BYTES:
            now = self._clock.now_ms()
            payload = {"forgottenBytes": held}
            self._store.writer.call(
                lambda tx: events.append(tx.connection, now, "gc.suggested", None, payload)
            )

    def _tiers(self, counts: Any, overhead: int | None = None) -> TierCounts:
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

    def _outcome(
        self,
        plan: Plan,
        plan_id: str | None,
        request: SweepRequest,
        before: TierCounts,
        after: TierCounts,
        result: "RunResult | None",
        started: float,
        *,
        real: bool = False,
    ) -> SweepOutcome:
        outcomes = result.outcomes if result else None
        limit = request.decisions_limit
        skipped = self._skipped(plan, outcomes)
        stages = [_stage(stage, plan, outcomes) for stage in plan.stages]
        short = [
            stage for stage in plan.stages if stage.shortfall_memories or stage.shortfall_bytes
        ]
        report = SweepReport(
            namespace=self._name,
            run_id=result.run_id if result and result.run_id else None,
            plan_id=plan_id,
            dry_run=not real,
            trigger=request.trigger,
            now=plan.now,
            policy=plan.policy.name,
            policy_version=plan.policy.version,
            mode=plan.mode,
            before=before,
            after=after,
            thresholds=dict(self._book.wire_values()),
            stages=stages,
            decisions=self._decisions(plan, slice(0, limit), outcomes),
            decisions_truncated=len(plan) > limit,
            counts=_counts(plan, outcomes),
            kept=plan.kept,
            skipped=skipped[:REPORT_NAMED_MAX],
            skipped_count=len(skipped),
            protected=dict(plan.protected),
            unscored=plan.unscored,
            unscored_ids=list(plan.unscored_ids[:REPORT_NAMED_MAX]),
            shortfall=_shortfall(short),
            brake=_brake(plan.brake),
            bytes_planned=int(plan.bytes_freed.sum()),
            bytes_reclaimed=result.bytes_reclaimed if result else 0,
            space_note=result.space_note if result else None,
            duration_ms=round((time.monotonic() - started) * 1000, 3),
        )
        return SweepOutcome(
            report,
            {stage.stage: stage.moved for stage in stages},
            braked=any(stage.braked for stage in plan.stages),
            short=bool(short),
        )

    def _decisions(
        self, plan: Plan, part: slice, outcomes: NDArray[np.int16] | None
    ) -> list[Decision]:
        packed = journal.decisions_of(plan)[part]
        chosen = None if outcomes is None else outcomes[part]
        return journal.to_wire(packed, list(plan.ids[part]), chosen)

    def _skipped(self, plan: Plan, outcomes: NDArray[np.int16] | None) -> list[Skipped]:
        if outcomes is None:
            return []
        return [
            Skipped(id=plan.ids[at], why=journal.OUTCOMES[int(outcomes[at])])
            for at in np.flatnonzero(outcomes != MOVED).tolist()
        ]


# The result of a run that had nothing to do: no row in the ledger, no decision.
RunNothing: Final = RunResult("", np.zeros(0, journal.DECISION), np.zeros(0, np.int16), 0, None)


def _stage(stage: StagePlan, plan: Plan, outcomes: NDArray[np.int16] | None) -> StageReport:
    own = plan.action == STAGE_ACTION[stage.stage]
    moved = 0 if outcomes is None else int(np.count_nonzero(own & (outcomes == MOVED)))
    skipped = 0 if outcomes is None else int(np.count_nonzero(own & (outcomes != MOVED)))
    return StageReport(
        stage=stage.stage,
        crossed=list(stage.crossed),
        selected=int(np.count_nonzero(own)),
        moved=moved,
        skipped=skipped,
    )


def _counts(plan: Plan, outcomes: NDArray[np.int16] | None) -> dict[str, int]:
    packed = journal.decisions_of(plan)
    done = np.zeros(len(plan), np.int16) if outcomes is None else outcomes
    counts = outcome_counts(packed, done)
    return {name: counts[name] for name in ("spill", "forget", "skipped")}


def _shortfall(short: list[StagePlan]) -> Shortfall | None:
    if not short:
        return None
    return Shortfall(
        memories=max(stage.shortfall_memories for stage in short),
        bytes=max(stage.shortfall_bytes for stage in short),
    )


def _brake(brake: Brake | None) -> BrakeReport | None:
    if brake is None:
        return None
    return BrakeReport(
        share=brake.share,
        forgotten_in_window=brake.forgotten_in_window,
        allowed=brake.allowed,
        engaged=brake.engaged,
    )
