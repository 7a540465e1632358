"""The decisions of a cycle as the journal keeps them: what fades and what is pruned."""

import numpy as np

from sidecar.apply.journal import DECISION, DETAIL, Decisions, Details
from sidecar.model import FORGOTTEN
from sidecar.plan.cycle_order import in_order
from sidecar.plan.cycle_plan import FADED, KEPT, PRUNED, CyclePlan
from sidecar.plan.plan import FADE, FORGET


def packed(plan: CyclePlan) -> tuple[Decisions, Details]:
    """What a plan changes, in the order in which it is shown, and the details beside it."""
    order = in_order(plan)
    order = order[plan.action[order] != KEPT]
    prunes = plan.action[order] == PRUNED
    decisions = np.zeros(len(order), DECISION)
    decisions["rid"] = plan.rid[order]
    decisions["counter"] = plan.change_counter[order]
    decisions["rank"] = np.arange(len(order), dtype=np.int32)
    decisions["action"] = np.where(prunes, FORGET, FADE)
    decisions["reason"] = plan.reason[order]
    decisions["from_tier"] = plan.from_tier[order]
    decisions["to_tier"] = np.where(prunes, FORGOTTEN, plan.from_tier[order])
    decisions["strength"] = plan.score[order]
    for name in ("score", "value", "retention", "recency"):
        decisions[name] = np.nan
    details = np.zeros(len(order), DETAIL)
    details["survivor"] = plan.survivor_rid[order]
    details["factor_before"] = plan.old_fade_factor[order]
    details["factor_after"] = plan.new_fade_factor[order]
    details["memory_type"] = plan.memory_type[order]
    survivor = np.searchsorted(plan.rid, plan.survivor_rid[order])
    counter = plan.change_counter + (plan.action == FADED)
    details["survivor_counter"] = np.where(plan.survivor_rid[order] > 0, counter[survivor], 0)
    assert np.all(prunes | (plan.action[order] == FADED)), "a cycle keeps, fades or prunes"
    return decisions, details
