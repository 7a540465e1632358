"""Why one memory would go or stay: as each policy of a sweep sees it, and what else there is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sidecar.apply.brake import Window
from sidecar.cycle_config import cycle_settings
from sidecar.errors import Corrupt, MemoryNotFound
from sidecar.estimate import ESTIMATOR_VERSION, estimate_parts
from sidecar.explain_reports import (
    CrossingReport,
    CycleExplanation,
    EstimateExplanation,
    Explanation,
    LifecycleExplanation,
    PolicyExplanation,
)
from sidecar.lifecycle_config import lifecycle_settings
from sidecar.limits import EXPLAIN_DUPLICATES_MEMORIES_MAX
from sidecar.model import TIERS
from sidecar.plan.crossings import Crossing, cycle_crossings, sweep_crossings
from sidecar.plan.cycle import plan_cycle
from sidecar.plan.cycle_plan import CYCLE_POLICY, CyclePlan
from sidecar.plan.duplicates import meeting_rows
from sidecar.plan.explain import explain
from sidecar.plan.explain_cycle import explain_cycle
from sidecar.plan.explain_lifecycle import explain_lifecycle
from sidecar.plan.lifecycle import LIFECYCLE_POLICY, plan_lifecycle
from sidecar.plan.plan import CascadeSettings, Snapshot
from sidecar.plan.policies import POLICY_NAMES, policy_named
from sidecar.plan.scoring import assess
from sidecar.reports import ScoreParts
from sidecar.store import beliefs
from sidecar.store.records import live_row
from sidecar.store.rows import Row

if TYPE_CHECKING:
    from sidecar.namespace_runs import NamespaceRuns


@dataclass(frozen=True, slots=True)
class Subject:
    """The memory that is explained, in row `index` of a snapshot at `now` (ms).

    `window` is what counts for the brake; `cycle` is what a cycle would do now, planned with or
    without looking for duplicates.
    """

    namespace: "NamespaceRuns"
    row: Row
    snapshot: Snapshot
    index: int
    settings: CascadeSettings
    now: int
    window: Window
    cycle: CyclePlan
    duplicates_searched: bool


def explanation_of(
    namespace: "NamespaceRuns", row: Row, snapshot: Snapshot, policy: str | None
) -> Explanation:
    """How each policy (or the one named) sees a memory of a snapshot. Raises PolicyUnknown."""
    subject = _subject(namespace, row, snapshot, search=policy in (None, CYCLE_POLICY.name))
    names = POLICY_NAMES if policy is None else () if policy in EXPLAINERS else (policy,)
    return Explanation(
        id=row.id,
        now=subject.now,
        tier=TIERS[row.tier],
        importance_source="estimated" if row.importance is None else "host",
        estimate=row.estimate,
        estimator_version=row.estimator,
        estimate_parts=_explain_estimate(namespace, row),
        policies=[_explain_sweep(subject, name) for name in names],
        crossings=_crossings(subject),
        **{
            name: explained(subject)
            for name, explained in EXPLAINERS.items()
            if policy in (None, name)
        },
    )


def _explain_estimate(namespace: "NamespaceRuns", row: Row) -> EstimateExplanation | None:
    """What made the estimate; None where another estimator did, or the text is damaged."""
    if row.estimator != ESTIMATOR_VERSION:
        return None
    try:
        with namespace.store.readers.view() as connection:
            present = live_row(connection, row.id)  # it may have moved since
            parts = estimate_parts(namespace.store.payload(connection, present).content)
    except (Corrupt, MemoryNotFound):
        return None
    return EstimateExplanation(
        value=parts.value,
        standing=parts.standing,
        length=parts.length,
        words=parts.words,
        sentences=parts.sentences,
    )


def _subject(namespace: "NamespaceRuns", row: Row, snapshot: Snapshot, *, search: bool) -> Subject:
    """Plan a cycle for the sake of one memory; with `search`, duplicates and all.

    The search compares all semantic memories with each other, because a survivor is that of a
    whole cluster. With 10 000 of them it takes 50 times as long as all the rest: it is left out
    where there are more.
    """
    options, settings = namespace.cycle_options, namespace.book.cascade()
    now = namespace.clock.now_ms()
    meeting = len(meeting_rows(snapshot, now))
    searched = search and meeting <= EXPLAIN_DUPLICATES_MEMORIES_MAX
    window = namespace.runner.window()
    plan = plan_cycle(
        snapshot,
        cycle_settings(options),
        settings,
        now=now,
        resolution=namespace.duplicates.find(snapshot, options, now) if searched else None,
        forgotten_in_window=window.forgotten,
        archived_in_window=window.archived,
    )
    index = int(np.flatnonzero(snapshot.rid == row.rid)[0])
    return Subject(namespace, row, snapshot, index, settings, now, window, plan, searched)


def _explain_sweep(subject: Subject, name: str) -> PolicyExplanation:
    policy = policy_named(name, subject.namespace.estimator.version, besides=tuple(EXPLAINERS))
    view = explain(
        subject.snapshot, subject.index, subject.settings, now=subject.now, policy=policy
    )
    parts = ScoreParts(
        value=view.value,
        retention=view.retention,
        recall_recency=view.recency,
        status_factor=view.status_factor,
    )
    return PolicyExplanation(
        policy=policy.name,
        policy_version=policy.version,
        stage=view.stage,
        candidate=view.candidate,
        why=view.why,
        score=view.score,
        strength=view.strength,
        parts=None if view.score is None else parts,
        protections=list(view.protections),
        rank=view.rank,
        of=view.of,
    )


def _explain_cycle(subject: Subject) -> CycleExplanation:
    view = explain_cycle(subject.cycle, subject.row.rid)
    return CycleExplanation(
        enabled=subject.namespace.cycle_options.enabled,
        policy_version=CYCLE_POLICY.version,
        action=view.action,
        reason=view.reason,
        skipped=view.skipped,
        why=view.why,
        score=view.score,
        prune_threshold=view.prune_threshold,
        fade_threshold=view.fade_threshold,
        old_importance=view.old_importance,
        new_importance=view.new_importance,
        survivor=view.survivor,
        duplicates_searched=subject.duplicates_searched,
    )


def _explain_lifecycle(subject: Subject) -> LifecycleExplanation:
    namespace, snapshot = subject.namespace, subject.snapshot
    with namespace.store.readers.borrow() as connection:
        usefulness = beliefs.usefulness_of(connection, snapshot.rid)
    options, window = namespace.lifecycle_options, subject.window
    plan = plan_lifecycle(
        snapshot,
        usefulness,
        lifecycle_settings(options),
        subject.settings,
        now=subject.now,
        forgotten_in_window=window.forgotten,
        archived_in_window=window.archived,
    )
    view = explain_lifecycle(snapshot, usefulness, plan, subject.settings, subject.index)
    return LifecycleExplanation(
        enabled=options.forget_enabled,
        policy_version=LIFECYCLE_POLICY.version,
        action=view.action,
        candidate=view.candidate,
        skipped=view.skipped,
        why=view.why,
        usefulness=view.usefulness,
        use_count=view.use_count,
        age_days=view.age_days,
    )


def _crossings(subject: Subject) -> list[CrossingReport]:
    """Every threshold of the memory, the nearest to its strength first."""
    view = assess(subject.snapshot, subject.settings, now=subject.now, policy=CYCLE_POLICY)
    found = [
        *sweep_crossings(view, subject.index),
        *cycle_crossings(view, subject.index, subject.cycle),
    ]
    strength = float(view.parts.strength[subject.index])
    if view.scored[subject.index]:
        found.sort(key=lambda one: np.inf if one.bound is None else abs(strength - one.bound))
    return [_crossing_report(one) for one in found]


def _crossing_report(one: Crossing) -> CrossingReport:
    return CrossingReport(
        threshold=one.threshold,
        bound=one.bound,
        crossed_at=one.crossed_at,
        acts_at=one.acts_at,
        why=one.why,
    )


# What explains a memory besides the policies of a sweep: the name by which `policy` asks for it,
# which is its field of Explanation too.
EXPLAINERS: Final[Mapping[str, Callable[[Subject], Any]]] = {
    CYCLE_POLICY.name: _explain_cycle,
    LIFECYCLE_POLICY.name: _explain_lifecycle,
}
