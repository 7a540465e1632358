"""What reading answers about a namespace that does not exist: the answer of an empty one."""

import hashlib
from typing import Final

from sidecar.cycle_reports import ForgettingReport
from sidecar.errors import PlanUnknown
from sidecar.estimate import ESTIMATOR_VERSION
from sidecar.lifecycle_config import LifecycleOptions
from sidecar.lifecycle_reports import ArchivedPage, ForgetSummary, ReasonCounts
from sidecar.model import MEMORY_TYPES, STATUSES
from sidecar.plan.cycle_plan import CYCLE_ACTIONS, CYCLE_POLICY
from sidecar.plan.lifecycle import LIFECYCLE_POLICY
from sidecar.plan.policies import POLICY_DEFAULT, policy_named
from sidecar.reasons import InvalidationReason
from sidecar.reports import (
    EstimateReport,
    ExportPage,
    SweepReport,
    ThresholdsReport,
    ThresholdValue,
    TierCounts,
)
from sidecar.thresholds import DEFAULTS

# The state hash of a namespace that never had a memory.
NOTHING_HASH: Final = hashlib.sha256().hexdigest()


def no_sweep(
    namespace: str, *, now: int, plan_id: str | None = None, policy_name: str | None = None
) -> SweepReport:
    """The report of a dry run over no memories. It has no plan to apply.

    Raises PlanUnknown where the call named a plan, PolicyUnknown for an unknown policy.
    """
    if plan_id is not None:
        raise PlanUnknown(remedy="plan again with dryRun: true")
    policy = policy_named(policy_name or POLICY_DEFAULT, ESTIMATOR_VERSION)
    return SweepReport(
        namespace=namespace,
        run_id=None,
        plan_id=None,
        dry_run=True,
        trigger="call",
        now=now,
        policy=policy.name,
        policy_version=policy.version,
        mode="normal",
        before=_no_tiers(),
        after=_no_tiers(),
        thresholds=dict(DEFAULTS),
        stages=[],
        decisions=[],
        decisions_truncated=False,
        counts={},
        kept=0,
        skipped=[],
        skipped_count=0,
        protected={},
        unscored=0,
        unscored_ids=[],
        shortfall=None,
        brake=None,
        bytes_planned=0,
        bytes_reclaimed=0,
        media=None,
        space_note=None,
        duration_ms=0.0,
    )


def no_cycle(namespace: str, *, now: int, plan_id: str | None = None) -> ForgettingReport:
    """The report of a dry run of a cycle over no memories. It has no plan to apply.

    Raises PlanUnknown where the call named a plan.
    """
    if plan_id is not None:
        raise PlanUnknown(remedy="plan again with dryRun: true")
    return ForgettingReport(
        namespace=namespace,
        run_id=None,
        plan_id=None,
        dry_run=True,
        trigger="call",
        now=now,
        policy_version=CYCLE_POLICY.version,
        before=_no_tiers(),
        after=_no_tiers(),
        scanned=0,
        kept=0,
        faded=0,
        pruned=0,
        media_deleted=0,
        duplicates_flagged=0,
        skipped_records=0,
        skipped_media=0,
        by_type={name: dict.fromkeys(CYCLE_ACTIONS, 0) for name in MEMORY_TYPES},
        by_reason={},
        by_skipped={},
        broken_chains=[],
        broken_chain_count=0,
        brake=None,
        decisions=[],
        decisions_truncated=False,
        weakest=[],
        nearest=[],
        bytes_reclaimed=0,
        space_note=None,
        duration_ms=0.0,
    )


def no_lifecycle(
    namespace: str, options: LifecycleOptions, *, now: int, plan_id: str | None = None
) -> ForgetSummary:
    """The report of a dry run of active forgetting over no memories. It has no plan to apply.

    Raises PlanUnknown where the call named a plan.
    """
    if plan_id is not None:
        raise PlanUnknown(remedy="plan again with dryRun: true")
    return ForgetSummary(
        namespace=namespace,
        run_id=None,
        plan_id=None,
        dry_run=True,
        trigger="call",
        now=now,
        policy_version=LIFECYCLE_POLICY.version,
        forget_enabled=options.forget_enabled,
        forced=False,
        usefulness_floor=options.usefulness_floor,
        min_age_days=options.min_age_days,
        protect_use_count=options.protect_use_count,
        harmful_floor=options.harmful_floor,
        scanned=0,
        unscored=0,
        candidate_count=0,
        archived=0,
        skipped=0,
        failed=0,
        by_skipped={},
        brake=None,
        candidates=[],
        candidates_truncated=False,
        duration_ms=0.0,
    )


def no_reasons(namespace: str) -> ReasonCounts:
    """The counts of a namespace without memories."""
    return ReasonCounts(
        namespace=namespace,
        total=0,
        reasons={reason.value: 0 for reason in InvalidationReason},
        statuses=dict.fromkeys(STATUSES[1:], 0),
        texts=[],
        texts_truncated=False,
    )


def no_estimates(namespace: str) -> EstimateReport:
    """What would be estimated anew of no memories."""
    return EstimateReport(
        namespace=namespace,
        dry_run=True,
        estimator_version=ESTIMATOR_VERSION,
        refreshed=0,
        raised=0,
        lowered=0,
        damaged=0,
        duration_ms=0.0,
    )


def no_archived() -> ArchivedPage:
    """The only page of archived memories where there are none."""
    return ArchivedPage(memories=[], cursor=None)


def _no_tiers() -> TierCounts:
    return TierCounts(hot=0, cold=0, forgotten=0, total=0, live_bytes=0, overhead_bytes=0)


def no_thresholds(namespace: str) -> ThresholdsReport:
    """The defaults, with nothing crossed and nothing paused."""
    return ThresholdsReport(
        namespace=namespace,
        thresholds={
            name: ThresholdValue(value=value, origin="default") for name, value in DEFAULTS.items()
        },
        crossed=[],
        paused=[],
        stage_two_not_before=None,
    )


def no_export() -> ExportPage:
    """The only page of an export of nothing."""
    return ExportPage(lines=[], again=0, cursor=None, state_hash=NOTHING_HASH, damaged=[])
