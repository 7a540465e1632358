"""When a memory that is never used again comes below a threshold, in closed form.

Strength falls as `held * e^(-decay * days)`, so it passes a bound after `ln(held / bound) / decay`
days. To be below a bound is not all: a run also waits for the end of each protection that has one,
and for a while after the last use. What has no end, such as a pin, is waited for in vain.

A time is the first millisecond at which something holds. One that is past says since when it
would have held, had the memory been all that time what it is now.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from sidecar.limits import MILLISECONDS_PER_DAY
from sidecar.model import ACTIVE
from sidecar.plan.cycle_plan import CyclePlan
from sidecar.plan.guards import protection_names
from sidecar.plan.plan import Protection
from sidecar.plan.scoring import BELIEVED, Assessment
from sidecar.strength import STRENGTH_MIN, below_after_ms, decay_of, held_at_use

Threshold = Literal["weak", "expiry", "fade", "prune"]

_ENDLESS: Final[dict[Protection, str]] = {
    "pinned": "it is pinned",
    "evergreen": "it is evergreen",
    "unscored": "it is unscored: a value is missing or impossible",
}


@dataclass(frozen=True, slots=True)
class Crossing:
    """One threshold of one memory. Times are ms, None for never.

    From `crossed_at` its strength is below `bound` (of an expiry: its time is over). From
    `acts_at` a run may act on it, for `why`. Pressure decides whether a sweep does.
    """

    threshold: Threshold
    bound: float | None
    crossed_at: int | None
    acts_at: int | None
    why: str


@dataclass(frozen=True, slots=True)
class _Wait:
    """Something that holds from a time on (ms)."""

    until: int
    once: str


@dataclass(frozen=True, slots=True)
class _Outlook:
    """What the crossings of one memory are computed from. `blocked` says what has no end."""

    now: int
    last_use: int
    held: float | None
    decay: float
    blocked: str | None
    waits: tuple[_Wait, ...]

    def crossing(self, threshold: Threshold, bound: float, waits: Sequence[_Wait] = ()) -> Crossing:
        """The crossing of a bound of strength; a run waits for the last of `waits` too."""
        crossed = self._crossed_at(bound)
        if self.blocked is not None:
            return Crossing(threshold, bound, crossed, None, f"not while {self.blocked}")
        if crossed is None:
            why = f"never: no strength falls below {STRENGTH_MIN:g}"
            return Crossing(threshold, bound, None, None, why)
        below = _Wait(crossed, f"its strength is below {bound:g}")
        last = max((below, *waits, *self.waits), key=lambda wait: wait.until)
        return Crossing(threshold, bound, crossed, last.until, f"once {last.once}")

    def _crossed_at(self, bound: float) -> int | None:
        """The first millisecond at which the strength is below a bound."""
        if self.held is None:
            return None
        after = below_after_ms(bound, held=self.held, decay=self.decay)
        if after == 0:
            return min(self.last_use, self.now)
        return None if after is None else self.last_use + after


def sweep_crossings(view: Assessment, index: int) -> tuple[Crossing, ...]:
    """When pressure may forget row `index`: by being weak, and by having expired."""
    outlook, settings = _outlook(view, index), view.settings
    bound = settings.weak_strength
    expires_at = int(view.snapshot.expires_at[index])
    may_expire = expires_at > 0 and int(view.status[index]) == ACTIVE
    weak = outlook.crossing("weak", bound)
    if int(view.group[index]) == BELIEVED:
        weak = outlook.crossing("weak", bound, (_unused(outlook, settings.idle_days_min),))
        if not settings.forget_active:
            weak = _never(weak, "not while it is believed: forgetActive is off")
    if not may_expire or not view.scored[index]:
        return (weak,)
    expired = outlook.crossing("weak", bound, (_Wait(expires_at, "its time is over"),))
    return (weak, Crossing("expiry", None, expires_at, expired.acts_at, expired.why))


def cycle_crossings(view: Assessment, index: int, plan: CyclePlan) -> tuple[Crossing, ...]:
    """When a cycle may fade row `index` for its strength, and when it may prune it."""
    outlook, settings = _outlook(view, index), plan.settings
    kind = view.snapshot.memory_type[index : index + 1]
    days = settings.fade_interval_days
    faded_at = int(view.snapshot.faded_at[index])
    rested: tuple[_Wait, ...] = ()
    if days > 0:
        faded = _Wait(_later(faded_at, days), f"its last fade is {days:g} days ago")
        rested = (_unused(outlook, days), faded)
    fade = outlook.crossing("fade", float(settings.fade_thresholds(kind)[0]), rested)
    prune = outlook.crossing("prune", float(settings.prune_thresholds(kind)[0]), rested)
    place = int(np.searchsorted(plan.rid, int(view.snapshot.rid[index])))
    reason = plan.reason_name(place)
    if reason not in (None, "time_decay") and plan.skipped_name(place) != "guarded":
        why = f"not for its strength: what counts is {reason}"
        return _never(fade, why), _never(prune, why)
    if (plan.survivor_rid == plan.rid[place]).any():
        prune = _never(prune, "not while it stands for a memory that says the same")
    if plan.old_importance[place] <= settings.fade_floor:
        fade = _never(fade, f"not below the least importance, {settings.fade_floor:g}")
    if _acts_by(prune, fade.acts_at):
        fade = _never(fade, "not before it is pruned")
    return fade, prune


def _acts_by(crossing: Crossing, at: int | None) -> bool:
    return at is not None and crossing.acts_at is not None and crossing.acts_at <= at


def _outlook(view: Assessment, index: int) -> _Outlook:
    snapshot = view.snapshot
    held, decay = None, 0.0
    if view.scored[index]:
        value, kind = float(view.parts.value[index]), int(snapshot.memory_type[index])
        decay = decay_of(value, kind)
        held = held_at_use(
            value=value,
            fade_factor=float(snapshot.fade_factor[index]),
            recall_count=int(snapshot.recall_count[index]),
            success_count=int(snapshot.success_count[index]),
            failure_count=int(snapshot.failure_count[index]),
            memory_type=kind,
        )
    return _Outlook(
        now=view.now,
        last_use=int(view.last_use[index]),
        held=held,
        decay=decay,
        blocked=_blocked(view, index),
        waits=_protections(view, index),
    )


def _blocked(view: Assessment, index: int) -> str | None:
    """The first protection that nobody knows an end of."""
    for kind in protection_names(int(view.protections[index])):
        if kind in _ENDLESS:
            return _ENDLESS[kind]
        if kind == "head" and view.chains.has_predecessor[index]:
            return "an older version is here"
    return None


def _protections(view: Assessment, index: int) -> tuple[_Wait, ...]:
    """The protections that end by themselves."""
    snapshot, settings = view.snapshot, view.settings
    waits = [
        _Wait(int(snapshot.held_until[index]), "its hold is over"),
        _Wait(_later(int(snapshot.created_at[index]), settings.newborn_days), "it is not newborn"),
    ]
    restored_at = int(snapshot.restored_at[index])
    if restored_at > 0:
        over = _later(restored_at, settings.restore_grace_days)
        waits.append(_Wait(over, "its grace after being restored is over"))
    alone_since = int(view.chains.predecessor_gone_at[index])
    if alone_since > 0 and not view.chains.in_force[index]:
        over = math.floor(alone_since + settings.newborn_days * MILLISECONDS_PER_DAY) + 1
        waits.append(_Wait(over, "its last older version is gone for a while"))
    return tuple(waits)


def _unused(outlook: _Outlook, days: float) -> _Wait:
    return _Wait(_later(outlook.last_use, days), f"it was not used for {days:g} days")


def _later(at: int, days: float) -> int:
    """The first millisecond at which so many days have passed."""
    return math.ceil(at + days * MILLISECONDS_PER_DAY)


def _never(crossing: Crossing, why: str) -> Crossing:
    """The crossing, on which nothing acts; what had no end already says so."""
    return crossing if crossing.acts_at is None else replace(crossing, acts_at=None, why=why)
