"""What a cycle would do with one memory, picked out of the plan of a whole one."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from sidecar.plan.cycle_plan import CYCLE_ACTIONS, CyclePlan
from sidecar.plan.plan import Float64

_REASONS: Final = {
    "superseded": "a newer version stands",
    "low_performance": "a procedure that mostly failed",
}
_SKIPPED: Final = {
    "guarded": "kept: it differs in what it says from one that is near",
    "at_floor": "kept: its importance is at the floor",
    "braked": "kept: the brake has let enough go for this day",
}


@dataclass(frozen=True, slots=True)
class CycleView:
    """One memory as a cycle sees it.

    `reason` is why it goes, fades, or would have, and `skipped` what stopped that; both are None
    for a memory that is simply kept. `survivor` is the id of the memory that stands for it.
    Thresholds are those of its type. Score and importances are None where it is unscored.
    """

    action: Literal["keep", "fade", "prune"]
    reason: str | None
    skipped: str | None
    why: str
    score: float | None
    prune_threshold: float
    fade_threshold: float
    survivor: str | None
    old_importance: float | None
    new_importance: float | None


def explain_cycle(plan: CyclePlan, rid: int) -> CycleView:
    """The decision of a plan on the memory with row number `rid`, with its reasons."""
    at = _place_of(plan, rid)
    survivor_rid = int(plan.survivor_rid[at])
    survivor = plan.ids[_place_of(plan, survivor_rid)] if survivor_rid else None
    kind = plan.memory_type[at : at + 1]
    prune, fade = (
        float(thresholds(kind)[0])
        for thresholds in (plan.settings.prune_thresholds, plan.settings.fade_thresholds)
    )
    return CycleView(
        action=CYCLE_ACTIONS[int(plan.action[at])],
        reason=plan.reason_name(at),
        skipped=plan.skipped_name(at),
        why=_why(plan, at, survivor, prune, fade),
        score=_known(plan.score, plan, at),
        prune_threshold=prune,
        fade_threshold=fade,
        survivor=survivor,
        old_importance=_known(plan.old_importance, plan, at),
        new_importance=_known(plan.new_importance, plan, at),
    )


def _why(plan: CyclePlan, at: int, survivor: str | None, prune: float, fade: float) -> str:
    """One sentence: what stops it, and why it would fade or go."""
    reason, skipped = plan.reason_name(at), plan.skipped_name(at)
    score = float(plan.score[at])
    if skipped == "unscored":
        return "unscored: a value is missing or impossible, so it is kept"
    if reason is None:
        return f"kept: strength {score:.4g} is not below {fade:g}"
    if reason == "likely_duplicate" and survivor is not None:
        told = f"another memory says the same: {survivor}"
    elif reason == "time_decay":
        told = f"strength {score:.4g} is below {prune if score < prune else fade:g}"
    else:
        told = _REASONS.get(reason, "another memory is near")
    if skipped is None:
        return f"{reason}: {told}"
    if skipped == "fade_interval":
        days = plan.settings.fade_interval_days
        return f"{told}; kept: used or faded less than {days:g} days ago"
    return f"{told}; {_SKIPPED.get(skipped, f'protected: {skipped}')}"


def _place_of(plan: CyclePlan, rid: int) -> int:
    """Where a plan, which is in order of row number, has a row."""
    return int(np.searchsorted(plan.rid, rid))


def _known(column: Float64, plan: CyclePlan, at: int) -> float | None:
    return None if np.isnan(plan.score[at]) else float(column[at])
