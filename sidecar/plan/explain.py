"""Why one memory would go or stay under a policy, from what planning itself computes."""

from dataclasses import dataclass

import numpy as np

from sidecar.limits import MILLISECONDS_PER_DAY
from sidecar.model import HOT
from sidecar.plan.guards import STAYS_HOT, protection_names
from sidecar.plan.plan import REASONS, CascadeSettings, Policy, Protection, Snapshot
from sidecar.plan.scoring import BELIEVED, OLDER_VERSION, Assessment, assess, status_factor


@dataclass(frozen=True, slots=True)
class MemoryView:
    """One memory as one policy sees it.

    `stage` is the furthest stage that could take it as it is now: 2 forgets it, 1 only spills
    it, 0 neither. `candidate` is stage 2: pressure may forget it. `rank` counts from 1, the
    first to go, among the `of` scored live memories, whatever protects them. Score, strength,
    factors and rank are None where the memory is unscored.
    """

    policy: Policy
    stage: int
    candidate: bool
    why: str
    score: float | None
    strength: float | None
    value: float | None
    retention: float | None
    recency: float | None
    status_factor: int
    protections: tuple[Protection, ...]
    rank: int | None
    of: int


def explain(
    snapshot: Snapshot, index: int, settings: CascadeSettings, *, now: int, policy: Policy
) -> MemoryView:
    """The view of row `index` at `now` (ms): the numbers that a sweep then would use."""
    view = assess(snapshot, settings, now=now, policy=policy)
    scored = bool(view.scored[index])
    bits = int(view.protections[index])
    why, weak = _why(view, index)
    candidate = weak and bits == 0
    goes_before = view.before(index, view.group)
    spillable = int(snapshot.tier[index]) == HOT and not bits & STAYS_HOT
    return MemoryView(
        policy=policy,
        stage=2 if candidate else int(spillable),
        candidate=candidate,
        why=why,
        score=float(view.sweep[index]) if scored else None,
        strength=float(view.parts.strength[index]) if scored else None,
        value=float(view.parts.value[index]) if scored else None,
        retention=float(view.parts.retention[index]) if scored else None,
        recency=float(view.parts.recall_recency[index]) if scored else None,
        status_factor=int(status_factor(view.status)[index]),
        protections=tuple(protection_names(bits)),
        rank=1 + int(np.count_nonzero(goes_before & view.scored)) if scored else None,
        of=int(np.count_nonzero(view.scored)),
    )


def _why(view: Assessment, index: int) -> tuple[str, bool]:
    """One sentence, and whether the memory is weak enough to be forgotten unless protected."""
    settings = view.settings
    bits = int(view.protections[index])
    believed = int(view.group[index]) == BELIEVED
    if not view.scored[index]:
        return "unscored: a value is missing or impossible, so it is kept", False
    if believed and not settings.forget_active:
        return "kept: active, and forgetActive is off", False
    strength = float(view.parts.strength[index])
    if strength >= settings.weak_strength:
        return f"kept: strength {strength:.4g} is not below {settings.weak_strength:g}", False
    idle_days = (view.now - int(view.last_use[index])) / MILLISECONDS_PER_DAY
    if believed and idle_days < settings.idle_days_min:
        return f"kept: used {idle_days:.4g} days ago, less than {settings.idle_days_min:g}", False
    if bits:
        return f"weak, but protected: {', '.join(protection_names(bits))}", True
    if believed:
        return f"weak: strength {strength:.4g}, unused for {idle_days:.4g} days", True
    if int(view.group[index]) == OLDER_VERSION:
        return "superseded: a newer version stands", True
    return f"{REASONS[view.reason[index]]}: no longer believed", True
