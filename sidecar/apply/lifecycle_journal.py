"""The decisions of active forgetting as the journal keeps them: what is archived."""

import numpy as np

from sidecar.apply.journal import DECISION, Decisions
from sidecar.plan.lifecycle import NOTHING, LifecyclePlan
from sidecar.plan.plan import ARCHIVE, REASON_CODE


def packed(plan: LifecyclePlan) -> Decisions:
    """What a plan sets aside, in its order. The score is the usefulness a use."""
    rows = np.flatnonzero(plan.spared == NOTHING)
    decisions = np.zeros(len(rows), DECISION)
    decisions["rid"] = plan.rid[rows]
    decisions["counter"] = plan.change_counter[rows]
    decisions["rank"] = np.arange(len(rows), dtype=np.int32)
    decisions["action"] = ARCHIVE
    decisions["reason"] = REASON_CODE["forgotten"]
    decisions["from_tier"] = decisions["to_tier"] = plan.from_tier[rows]
    decisions["score"] = plan.mean[rows]
    decisions["strength"] = plan.strength[rows]
    for name in ("value", "retention", "recency"):
        decisions[name] = np.nan
    return decisions
