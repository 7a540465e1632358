"""Active forgetting: which memories were of so little use, for so long, that they are set aside.

A candidate is three things at once:

    low      its usefulness a use is at most the usefulness floor; one that was never used counts
             as used once
    stale    made, and last of use, longer ago than the least age
    unloved  not marked evergreen, and used less often than what popularity protects; however
             often it was used, popularity yields where the usefulness a use is at most the
             harmful floor

Only what is still believed and not expired can be one. What protects a memory from every other
run protects it here as well, and what has an impossible value is kept. Candidates go from the
least useful on, as far as the brake allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sidecar.limits import FUTURE_TOLERANCE_MS, MILLISECONDS_PER_DAY, TIME_MIN_MS
from sidecar.model import ACTIVE
from sidecar.plan.guards import first_kinds
from sidecar.plan.order import first_in_order
from sidecar.plan.plan import (
    PROTECTIONS,
    Bool,
    Brake,
    CascadeSettings,
    Float64,
    Int64,
    Policy,
    Snapshot,
    UInt8,
)
from sidecar.plan.scoring import BELIEVED, Assessment, assess
from sidecar.plan.stages import brake_of
from sidecar.strength import FORMULA_VERSION

# Why a candidate stays all the same.
SPARED: Final = (*PROTECTIONS, "braked")
NOTHING: Final = 255  # in `spared`: it is set aside
_BRAKED: Final = SPARED.index("braked")

LIFECYCLE_POLICY: Final = Policy(
    "lifecycle", 1.0, 1.0, 0.0, f"lifecycle; formula {FORMULA_VERSION}"
)


@dataclass(frozen=True, slots=True)
class Usefulness:
    """What hosts said of each row of a snapshot, in its order. `last_useful_at` is ms, 0: never."""

    use_count: Int64
    score: Float64
    last_useful_at: Int64

    @property
    def mean(self) -> Float64:
        """The usefulness a use; of one that was never used, its whole usefulness."""
        return self.score / np.maximum(self.use_count, 1)


@dataclass(frozen=True, slots=True)
class LifecycleSettings:
    """The numbers of active forgetting. Floors are of usefulness a use, `*_days` are days.

    Whoever makes one has checked the values: `sidecar.lifecycle_config` does.
    """

    usefulness_floor: float = -0.1
    min_age_days: float = 90.0
    protect_use_count: int = 10
    harmful_floor: float = -0.5


@dataclass(frozen=True, slots=True)
class LifecyclePlan:
    """The candidates at `now` (ms), in the order in which they are set aside.

    `spared` indexes SPARED, or is NOTHING. `stale_since` is the time from which a candidate's age
    counts. `change_counter` is the memory's counter at planning. `scanned` are all live memories,
    `unscored` those of them that were kept for an impossible value.
    """

    now: int
    settings: LifecycleSettings
    rid: Int64
    ids: Sequence[str]
    memory_type: UInt8
    from_tier: UInt8
    mean: Float64
    use_count: Int64
    stale_since: Int64
    strength: Float64
    spared: UInt8
    change_counter: Int64
    scanned: int
    unscored: int
    brake: Brake

    def __len__(self) -> int:
        return len(self.rid)

    @property
    def policy(self) -> Policy:
        """What a plan is bound to."""
        return LIFECYCLE_POLICY

    def spared_name(self, at: int) -> str | None:
        """What keeps the candidate at this place."""
        code = int(self.spared[at])
        return None if code == NOTHING else SPARED[code]

    def spared_counts(self) -> dict[str, int]:
        """How many candidates each kind of SPARED keeps; only kinds that occur."""
        counts = np.bincount(self.spared[self.spared != NOTHING], minlength=len(SPARED))
        return {kind: int(n) for kind, n in zip(SPARED, counts, strict=True) if n}


@dataclass(frozen=True, slots=True)
class Conditions:
    """Which rows meet each of the three conditions, and the age that counts."""

    low: Bool
    stale: Bool
    unloved: Bool
    stale_since: Int64
    known: Bool

    @property
    def all_three(self) -> Bool:
        """The candidates."""
        return self.low & self.stale & self.unloved & self.known


def plan_lifecycle(
    snapshot: Snapshot,
    usefulness: Usefulness,
    settings: LifecycleSettings,
    cascade_settings: CascadeSettings,
    *,
    now: int,
    forgotten_in_window: int = 0,
    archived_in_window: int = 0,
) -> LifecyclePlan:
    """Plan one run of active forgetting at `now` (ms). Changes nothing; equal input, equal plan.

    `cascade_settings` give the protections and the brake; `forgotten_in_window` is what runs
    forgot or archived in the last BRAKE_WINDOW_MS, `archived_in_window` what of it was archived.
    """
    view = assess(snapshot, cascade_settings, now=now, policy=LIFECYCLE_POLICY)
    met = conditions_of(view, usefulness, settings)
    # `known` leaves no unscored row in, so that no candidate is protected for being one.
    rows = np.flatnonzero(met.all_three)
    columns = (usefulness.mean, met.stale_since, snapshot.created_at)
    rows = first_in_order(rows, len(rows), columns, snapshot.ids)
    bits = view.protections[rows]
    spared = np.full(len(rows), NOTHING, dtype=np.uint8)
    spared[bits > 0] = first_kinds(bits[bits > 0])
    brake = brake_of(cascade_settings, len(snapshot), forgotten_in_window, archived_in_window)
    free = np.flatnonzero(bits == 0)
    stopped = free[len(free) if brake.allowed is None else brake.allowed :]
    spared[stopped] = _BRAKED
    return LifecyclePlan(
        now=now,
        settings=settings,
        rid=snapshot.rid[rows],
        ids=list(map(snapshot.ids.__getitem__, rows.tolist())),
        memory_type=snapshot.memory_type[rows],
        from_tier=snapshot.tier[rows],
        mean=usefulness.mean[rows],
        use_count=usefulness.use_count[rows],
        stale_since=met.stale_since[rows],
        strength=view.parts.strength[rows],
        spared=spared,
        change_counter=snapshot.change_counter[rows],
        scanned=len(snapshot),
        unscored=int(np.count_nonzero(~met.known)),
        brake=Brake(
            brake.share, brake.forgotten_in_window, brake.allowed, engaged=len(stopped) > 0
        ),
    )


def conditions_of(
    view: Assessment, usefulness: Usefulness, settings: LifecycleSettings
) -> Conditions:
    """Which rows of a view meet which condition. Bounds as they are: at most, older, fewer."""
    snapshot, mean = view.snapshot, usefulness.mean
    stale_since = np.maximum(snapshot.created_at, usefulness.last_useful_at)
    age_min = settings.min_age_days * MILLISECONDS_PER_DAY
    popular = usefulness.use_count >= settings.protect_use_count
    believed = (snapshot.status == ACTIVE) & (view.group == BELIEVED)
    return Conditions(
        low=believed & (mean <= settings.usefulness_floor),
        stale=view.now - stale_since > age_min,
        unloved=~snapshot.evergreen & (~popular | (mean <= settings.harmful_floor)),
        stale_since=stale_since,
        known=view.scored & _possible(usefulness, view.now),
    )


def _possible(usefulness: Usefulness, now: int) -> Bool:
    """The rows of which a host can have meant what it said."""
    at = usefulness.last_useful_at
    possible = np.isfinite(usefulness.score) & (usefulness.use_count >= 0)
    return possible & ((at == 0) | ((at >= TIME_MIN_MS) & (at <= now + FUTURE_TOLERANCE_MS)))
