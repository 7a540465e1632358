"""Cycles of one namespace: snapshot, duplicates, plan, apply, report. Everything here blocks."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from sidecar.apply import cycle_journal, ending
from sidecar.apply.brake import brake_report
from sidecar.apply.ending import CycleBegun
from sidecar.apply.runner import Runner
from sidecar.clock import Clock
from sidecar.cycle_config import CycleOptions, cycle_settings
from sidecar.cycle_reports import CycleDecision, ForgettingReport
from sidecar.idempotency import Key
from sidecar.limits import CYCLE_DECISIONS_DEFAULT, CYCLE_EXAMPLES, GUARDED_PAIRS_PLANNED_COUNT_MAX
from sidecar.model import MEMORY_TYPES, TIERS
from sidecar.plan.cycle import plan_cycle
from sidecar.plan.cycle_order import in_order
from sidecar.plan.cycle_plan import CYCLE_ACTIONS, CYCLE_POLICY, KEPT, CyclePlan
from sidecar.plan.duplicates import Resolution
from sidecar.plan.plan import CascadeSettings, Int64, Snapshot
from sidecar.plan.review import guarded_pairs
from sidecar.plan_shelf import PlanShelf, ShelvedPlan
from sidecar.replies import keep_reply
from sidecar.reports import Decision, TierCounts
from sidecar.settings_book import SettingsBook
from sidecar.store import events, reviews
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.touches import TouchBuffer

PREVIEWED: Final = "forgetting.cycle_dry_run"
IDLE_KEY: Final = "cycled_at"  # in `meta`: when a cycle ended that had nothing to do

FindDuplicates = Callable[[Snapshot, CycleOptions, int], Resolution]
# Tells those who follow: (when in ms, kind, payload).
Announce = Callable[[int, str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class CycleRequest:
    """What a caller, or the timer, wants of a cycle. `now` (ms) only for a dry run."""

    trigger: str = "call"
    now: int | None = None
    decisions_limit: int = CYCLE_DECISIONS_DEFAULT


class Cycler:
    """Plans and applies the cycles of one namespace."""

    def __init__(
        self,
        name: str,
        store: Store,
        clock: Clock,
        book: SettingsBook,
        touches: TouchBuffer,
        runner: Runner,
        fold: Callable[[], None],
        options: Callable[[], CycleOptions],
        find_duplicates: FindDuplicates,
        announce: Announce,
    ) -> None:
        """`fold` writes pending touches; a run calls it before it looks at anything."""
        self._name = name
        self._store = store
        self._clock = clock
        self._book = book
        self._touches = touches
        self._runner = runner
        self._fold = fold
        self._options = options
        self._find_duplicates = find_duplicates
        self._announce = announce
        self.shelf: PlanShelf[CyclePlan] = PlanShelf("forgetting.runCycle {dryRun: true}")

    def dry_run(self, request: CycleRequest) -> ForgettingReport:
        """Plan, keep the plan for its one use, tell those who follow, write nothing."""
        started = time.monotonic()
        plan, settings = self._plan(request)
        now = self._clock.now_ms()
        shelved = self.shelf.add(plan, settings, now, applicable=request.now is None)
        report = self._previewed(plan, shelved.plan_id, request, started)
        self._announce(now, PREVIEWED, ending.told_of(report))
        return report

    def show(self, plan_id: str, request: CycleRequest) -> ForgettingReport:
        """A kept plan once more, as its dry run answered it."""
        started = time.monotonic()
        plan = self.shelf.find(plan_id, self._clock.now_ms()).plan
        return self._previewed(plan, plan_id, request, started)

    def run(self, request: CycleRequest, key: Key | None = None) -> ForgettingReport:
        """Plan and carry out at once, for the call with a key. Raises ForgettingDisabled."""
        self._book.refuse_if_disabled()
        started = time.monotonic()
        self._fold()
        plan, settings = self._plan(request)
        return self._carry_out(plan, settings, None, request, started, key)

    def run_plan(
        self, plan_id: str, request: CycleRequest, key: Key | None = None
    ) -> ForgettingReport:
        """Carry out exactly a kept plan. Raises the errors of PlanShelf.take."""
        self._book.refuse_if_disabled()
        started = time.monotonic()
        shelved = self.shelf.take(plan_id, self._clock.now_ms(), CYCLE_POLICY.version)
        self._fold()
        return self._carry_out(shelved.plan, shelved.settings, shelved, request, started, key)

    def page(self, shelved: ShelvedPlan[CyclePlan], start: int, limit: int) -> list[Decision]:
        """Some of a kept plan's decisions, in the order in which a report shows them."""
        plan = shelved.plan
        return [
            Decision(
                id=plan.ids[at],
                action=CYCLE_ACTIONS[int(plan.action[at])],
                reason=plan.reason_name(at),
                from_tier=TIERS[int(plan.from_tier[at])],
                score=None,
                strength=_number(plan.score[at]),
                parts=None,
                outcome=plan.skipped_name(at),
            )
            for at in map(int, in_order(plan)[start : start + limit])
        ]

    def last_run_at(self) -> int | None:
        """When the last real cycle ended, also one that a later start finished, ms; None: never."""
        query = (
            "SELECT max(at) FROM (SELECT max(finished_at) AS at FROM runs WHERE kind = 'cycle'"
            " UNION ALL SELECT value FROM meta WHERE key = ?)"
        )
        with self._store.readers.borrow() as connection:
            return connection.execute(query, (IDLE_KEY,)).fetchall()[0][0]

    def _plan(self, request: CycleRequest) -> tuple[CyclePlan, CascadeSettings]:
        options, settings = self._options(), self._book.cascade()
        snapshot = self._touches.folded(self._store.columns.snapshot())
        # One instant for every decision, taken before the search, which may be long.
        now = self._clock.now_ms() if request.now is None else request.now
        resolution = self._find_duplicates(snapshot, options, now)
        window = self._runner.window()
        plan = plan_cycle(
            snapshot,
            cycle_settings(options),
            settings,
            now=now,
            resolution=resolution,
            forgotten_in_window=window.forgotten,
            archived_in_window=window.archived,
            forgotten_total=self._store.columns.counts().forgotten,
        )
        guarded = guarded_pairs(snapshot, resolution.guarded, GUARDED_PAIRS_PLANNED_COUNT_MAX)
        return replace(plan, guarded=guarded), settings

    def _carry_out(
        self,
        plan: CyclePlan,
        settings: CascadeSettings,
        shelved: ShelvedPlan[CyclePlan] | None,
        request: CycleRequest,
        started: float,
        key: Key | None,
    ) -> ForgettingReport:
        before = self._runner.tier_counts()
        plan_id = shelved.plan_id if shelved else None
        planned = self._report(plan, plan_id, request, before, before, started)
        planned.dry_run = False
        decisions, details = cycle_journal.packed(plan)
        if not len(decisions):
            self._runner.write(lambda tx: self._tell_of_nothing(tx, plan, planned, key))
            return planned
        begun = CycleBegun(planned=planned)
        header = self._runner.begin(
            "cycle",
            request.trigger,
            decisions,
            settings,
            begun,
            key=key,
            plan=plan,
            plan_id=plan_id,
            details=details,
            also=lambda tx, _: reviews.note_pairs(tx, plan.guarded, self._clock.now_ms()),
        )
        result = self._runner.carry_out(header)
        after = self._runner.tier_counts()
        with self._store.readers.view() as connection:
            took_ms = (time.monotonic() - started) * 1000
            report = ending.cycle_report(connection, begun, result, after, took_ms)
        self._runner.finish(header, report, ending.CYCLE_COMPLETED, ending.told_of(report))
        self._runner.suggest_gc(self._book.values.forgotten_warn_gb)
        return report

    def _tell_of_nothing(
        self, tx: Transaction, plan: CyclePlan, report: ForgettingReport, key: Key | None
    ) -> None:
        """The event of a cycle that had nothing to do, and the reply of its call."""
        now = self._clock.now_ms()
        reviews.note_pairs(tx, plan.guarded, now)
        events.append(tx.connection, now, ending.CYCLE_COMPLETED, None, ending.told_of(report))
        tx.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (IDLE_KEY, now))
        if key is not None:
            keep_reply(tx, key, now, report)

    def _previewed(
        self, plan: CyclePlan, plan_id: str, request: CycleRequest, started: float
    ) -> ForgettingReport:
        before = self._runner.tiers_of(plan.before)
        after = self._runner.tiers_of(plan.after, before.overhead_bytes)
        return self._report(plan, plan_id, request, before, after, started)

    def _report(
        self,
        plan: CyclePlan,
        plan_id: str | None,
        request: CycleRequest,
        before: TierCounts,
        after: TierCounts,
        started: float,
    ) -> ForgettingReport:
        """The report of a plan that was not carried out."""
        counts = plan.counts()
        return ForgettingReport(
            namespace=self._name,
            run_id=None,
            plan_id=plan_id,
            dry_run=True,
            trigger=request.trigger,
            now=plan.now,
            policy_version=CYCLE_POLICY.version,
            before=before,
            after=after,
            scanned=len(plan),
            kept=counts["keep"],
            faded=counts["fade"],
            pruned=counts["prune"],
            media_deleted=0,
            duplicates_flagged=int(plan.flagged.sum()),
            skipped_records=0,
            skipped_media=0,
            by_type=plan.counts_by_type(),
            by_reason=plan.counts_by_reason(),
            by_skipped=plan.counts_by_skipped(),
            broken_chains=list(plan.broken_chain_ids),
            broken_chain_count=plan.broken_chains,
            brake=brake_report(plan.brake),
            decisions=_decisions(plan, in_order(plan)[: request.decisions_limit]),
            decisions_truncated=len(plan) > request.decisions_limit,
            weakest=_decisions(plan, plan.weakest(KEPT, CYCLE_EXAMPLES)),
            nearest=_decisions(plan, plan.nearest(CYCLE_EXAMPLES)),
            bytes_reclaimed=0,
            space_note=None,
            duration_ms=round((time.monotonic() - started) * 1000, 3),
        )


def _decisions(plan: CyclePlan, places: Int64) -> list[CycleDecision]:
    return [
        CycleDecision(
            record_id=plan.ids[at],
            memory_type=MEMORY_TYPES[min(int(plan.memory_type[at]), len(MEMORY_TYPES) - 1)],
            action=CYCLE_ACTIONS[int(plan.action[at])],
            reason=plan.reason_name(at),
            score=_number(plan.score[at]),
            media_deleted=False,
            old_importance=_number(plan.old_importance[at]),
            new_importance=_number(plan.new_importance[at]),
            executed=False,
            skipped=plan.skipped_name(at),
        )
        for at in map(int, places)
    ]


def _number(value: Any) -> float | None:
    """A number that JSON can hold; an impossible importance has none."""
    number = float(value)
    return number if -1e300 < number < 1e300 else None
