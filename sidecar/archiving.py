"""Active forgetting in one namespace: signals, plan, apply, report. Everything here blocks."""

import time
from collections.abc import Callable

import numpy as np

from sidecar.apply import ending, lifecycle_journal
from sidecar.apply.brake import brake_report
from sidecar.apply.ending import LIFECYCLE_COMPLETED, LifecycleBegun
from sidecar.apply.runner import Runner
from sidecar.clock import Clock
from sidecar.errors import ForgettingDisabled
from sidecar.idempotency import Key
from sidecar.lifecycle_config import LifecycleRequest, lifecycle_settings
from sidecar.lifecycle_reports import ForgetCandidate, ForgetSummary
from sidecar.limits import MILLISECONDS_PER_DAY
from sidecar.model import MEMORY_TYPES, TIERS
from sidecar.plan.lifecycle import (
    LIFECYCLE_POLICY,
    NOTHING,
    LifecyclePlan,
    plan_lifecycle,
)
from sidecar.plan.plan import CascadeSettings
from sidecar.plan_shelf import PlanShelf, ShelvedPlan
from sidecar.replies import keep_reply
from sidecar.reports import Decision
from sidecar.settings_book import SettingsBook
from sidecar.store import beliefs
from sidecar.store.store import Store
from sidecar.touches import TouchBuffer


class Archiver:
    """Plans and applies the active forgetting of one namespace."""

    def __init__(
        self,
        name: str,
        store: Store,
        clock: Clock,
        book: SettingsBook,
        touches: TouchBuffer,
        runner: Runner,
        fold: Callable[[], None],
    ) -> None:
        """`fold` writes pending touches; a run calls it before it looks at anything."""
        self._name = name
        self._store = store
        self._clock = clock
        self._book = book
        self._touches = touches
        self._runner = runner
        self._fold = fold
        self.shelf: PlanShelf[LifecyclePlan] = PlanShelf("lifecycle.forget {dryRun: true}")

    def dry_run(self, request: LifecycleRequest) -> ForgetSummary:
        """Plan, keep the plan for its one use, write nothing."""
        started = time.monotonic()
        plan, settings = self._plan(request)
        applicable = request.now is None
        shelved = self.shelf.add(plan, settings, self._clock.now_ms(), applicable=applicable)
        return self._report(plan, shelved.plan_id, request, started)

    def show(self, plan_id: str, request: LifecycleRequest) -> ForgetSummary:
        """A kept plan once more, as its dry run answered it."""
        started = time.monotonic()
        plan = self.shelf.find(plan_id, self._clock.now_ms()).plan
        return self._report(plan, plan_id, request, started)

    def run(self, request: LifecycleRequest, key: Key | None = None) -> ForgetSummary:
        """Plan and carry out at once, for the call with a key. Raises ForgettingDisabled."""
        self._refuse_if_disabled(request)
        started = time.monotonic()
        self._fold()
        plan, settings = self._plan(request)
        return self._carry_out(plan, settings, None, request, started, key)

    def run_plan(
        self, plan_id: str, request: LifecycleRequest, key: Key | None = None
    ) -> ForgetSummary:
        """Carry out exactly a kept plan. Raises the errors of PlanShelf.take."""
        self._refuse_if_disabled(request)
        started = time.monotonic()
        shelved = self.shelf.take(plan_id, self._clock.now_ms(), LIFECYCLE_POLICY.version)
        self._fold()
        return self._carry_out(shelved.plan, shelved.settings, plan_id, request, started, key)

    def page(self, shelved: ShelvedPlan[LifecyclePlan], start: int, limit: int) -> list[Decision]:
        """Some of a kept plan's candidates, in the order in which a report shows them."""
        plan = shelved.plan
        return [
            Decision(
                id=plan.ids[at],
                action="archive" if int(plan.spared[at]) == NOTHING else "keep",
                reason="forgotten",
                from_tier=TIERS[int(plan.from_tier[at])],
                score=float(plan.mean[at]),
                strength=float(plan.strength[at]),
                parts=None,
                outcome=plan.spared_name(at),
            )
            for at in range(start, min(start + limit, len(plan)))
        ]

    def _refuse_if_disabled(self, request: LifecycleRequest) -> None:
        self._book.refuse_if_disabled()
        if not request.options.forget_enabled and not request.forced:
            raise ForgettingDisabled(
                "Active forgetting is switched off",
                bound="forget_enabled = true under [lifecycle] in forgetd.toml",
                remedy="write it there, or let the operator do it with forgetd lifecycle forget"
                " --force; dry runs still plan",
            )

    def _plan(self, request: LifecycleRequest) -> tuple[LifecyclePlan, CascadeSettings]:
        settings = self._book.cascade()
        now = self._clock.now_ms() if request.now is None else request.now
        # First the snapshot: a signal that comes between is then a change of its own.
        snapshot = self._touches.folded(self._store.columns.snapshot())
        with self._store.readers.borrow() as connection:
            usefulness = beliefs.usefulness_of(connection, snapshot.rid)
        window = self._runner.window()
        plan = plan_lifecycle(
            snapshot,
            usefulness,
            lifecycle_settings(request.options),
            settings,
            now=now,
            forgotten_in_window=window.forgotten,
            archived_in_window=window.archived,
        )
        return plan, settings

    def _carry_out(
        self,
        plan: LifecyclePlan,
        settings: CascadeSettings,
        plan_id: str | None,
        request: LifecycleRequest,
        started: float,
        key: Key | None,
    ) -> ForgetSummary:
        planned = self._report(plan, plan_id, request, started)
        planned.dry_run = False
        decisions = lifecycle_journal.packed(plan)
        if not len(decisions):
            if key is not None:
                self._runner.write(lambda tx: keep_reply(tx, key, self._clock.now_ms(), planned))
            return planned
        begun = LifecycleBegun(planned=planned)
        header = self._runner.begin(
            "lifecycle", "call", decisions, settings, begun, key=key, plan=plan, plan_id=plan_id
        )
        result = self._runner.carry_out(header)
        with self._store.readers.view() as connection:
            took_ms = (time.monotonic() - started) * 1000
            report = ending.lifecycle_report(connection, begun, result, took_ms)
        self._runner.finish(header, report, LIFECYCLE_COMPLETED, ending.told_of_lifecycle(report))
        return report

    def _report(
        self,
        plan: LifecyclePlan,
        plan_id: str | None,
        request: LifecycleRequest,
        started: float,
    ) -> ForgetSummary:
        """The report of a plan that was not carried out."""
        spared = int(np.count_nonzero(plan.spared != NOTHING))
        settings = plan.settings
        return ForgetSummary(
            namespace=self._name,
            run_id=None,
            plan_id=plan_id,
            dry_run=True,
            trigger="call",
            now=plan.now,
            policy_version=LIFECYCLE_POLICY.version,
            forget_enabled=request.options.forget_enabled,
            forced=request.forced and not request.options.forget_enabled,
            usefulness_floor=settings.usefulness_floor,
            min_age_days=settings.min_age_days,
            protect_use_count=settings.protect_use_count,
            harmful_floor=settings.harmful_floor,
            scanned=plan.scanned,
            unscored=plan.unscored,
            candidate_count=len(plan),
            archived=len(plan) - spared,
            skipped=spared,
            failed=0,
            by_skipped=plan.spared_counts(),
            brake=brake_report(plan.brake),
            candidates=[
                _candidate(plan, at) for at in range(min(len(plan), request.candidates_limit))
            ],
            candidates_truncated=len(plan) > request.candidates_limit,
            duration_ms=round((time.monotonic() - started) * 1000, 3),
        )


def _candidate(plan: LifecyclePlan, at: int) -> ForgetCandidate:
    stale_since = int(plan.stale_since[at])
    return ForgetCandidate(
        id=plan.ids[at],
        memory_type=MEMORY_TYPES[min(int(plan.memory_type[at]), len(MEMORY_TYPES) - 1)],
        tier=TIERS[int(plan.from_tier[at])],
        usefulness=float(plan.mean[at]),
        use_count=int(plan.use_count[at]),
        stale_since=stale_since,
        age_days=(plan.now - stale_since) / MILLISECONDS_PER_DAY,
        executed=False,
        skipped=plan.spared_name(at),
    )
