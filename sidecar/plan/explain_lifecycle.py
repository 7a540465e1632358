"""What active forgetting would do with one memory: which of the three conditions it meets."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidecar.limits import MILLISECONDS_PER_DAY
from sidecar.model import STATUSES
from sidecar.plan.lifecycle import (
    LIFECYCLE_POLICY,
    LifecyclePlan,
    LifecycleSettings,
    Usefulness,
    conditions_of,
)
from sidecar.plan.plan import CascadeSettings, Snapshot
from sidecar.plan.scoring import BELIEVED, Assessment, assess


@dataclass(frozen=True, slots=True)
class LifecycleView:
    """One memory as active forgetting sees it. `usefulness` is a use's, None where impossible."""

    action: Literal["archive", "keep"]
    candidate: bool
    skipped: str | None
    why: str
    usefulness: float | None
    use_count: int
    age_days: float


def explain_lifecycle(
    snapshot: Snapshot,
    usefulness: Usefulness,
    plan: LifecyclePlan,
    cascade_settings: CascadeSettings,
    index: int,
) -> LifecycleView:
    """The view of row `index` of the snapshot that `plan` was made of."""
    view = assess(snapshot, cascade_settings, now=plan.now, policy=LIFECYCLE_POLICY)
    met = conditions_of(view, usefulness, plan.settings)
    mean = float(usefulness.mean[index])
    age_days = (plan.now - int(met.stale_since[index])) / MILLISECONDS_PER_DAY
    places = np.flatnonzero(plan.rid == snapshot.rid[index])
    candidate = len(places) > 0
    skipped = plan.spared_name(int(places[0])) if candidate else None
    uses = int(usefulness.use_count[index])
    if candidate:
        low = f"usefulness {mean:.4g} a use, not useful for {age_days:.4g} days"
        why = f"{low}; kept: {skipped}" if skipped else low
    elif not met.known[index]:
        why = "unscored: a value is missing or impossible, so it is kept"
    else:
        why = f"kept: {_unmet(view, plan.settings, index, mean=mean, uses=uses, age_days=age_days)}"
    return LifecycleView(
        action="archive" if candidate and skipped is None else "keep",
        candidate=candidate,
        skipped=skipped,
        why=why,
        usefulness=mean if np.isfinite(mean) else None,
        use_count=uses,
        age_days=age_days,
    )


def _unmet(
    view: Assessment,
    settings: LifecycleSettings,
    index: int,
    *,
    mean: float,
    uses: int,
    age_days: float,
) -> str:
    """The first condition that a memory does not meet."""
    if view.group[index] != BELIEVED or view.snapshot.status[index]:
        status = STATUSES[int(view.snapshot.status[index])]
        return f"it is {status if status != 'active' else 'expired'} already"
    if mean > settings.usefulness_floor:
        return f"usefulness {mean:.4g} a use is above {settings.usefulness_floor:g}"
    if age_days <= settings.min_age_days:
        return f"made or of use {age_days:.4g} days ago, not more than {settings.min_age_days:g}"
    if view.snapshot.evergreen[index]:
        return "it is evergreen"
    return (
        f"used {uses} times, at least {settings.protect_use_count}, and its usefulness {mean:.4g}"
        f" a use is above {settings.harmful_floor:g}"
    )
