"""The cycle: every live memory is kept, faded or pruned, by one snapshot and one instant.

What forces a prune is settled first, then strength decides for the rest:

    superseded         an older version of which a newer one still stands: pruned
    likely_duplicate   a member of a cluster whose survivor stays: pruned
    low_performance    a procedure whose success rate is low even at best guess: pruned once it
                       was tried often enough, faded until then
    time_decay         strength below the type's prune threshold: pruned; below its fade
                       threshold: faded

The first that applies is the reason; none applies to a memory that is simply kept. Bounds are
strict: a strength equal to a threshold is not below it.

What protects a memory from being forgotten protects it from fading too: what must not go is not
pushed there either. Newborn alone does not stop the first two reasons. A memory that was used or
faded less than the fade interval ago neither fades nor goes by time decay. The survivor of a
cluster does not go by itself in the plan that collapses the cluster; weak, it fades.
A newer version that stands is never pruned beside the older one: while the older one is here,
the newest is its chain's protected head.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from sidecar.limits import MILLISECONDS_PER_DAY, REPORT_NAMED_MAX
from sidecar.model import HOT, PROCEDURAL, SUPERSEDED
from sidecar.plan.cycle_plan import (
    CYCLE_POLICY,
    FADED,
    KEPT,
    NONE,
    PRUNED,
    SKIPPED_CODE,
    CyclePlan,
)
from sidecar.plan.cycle_settings import CycleSettings
from sidecar.plan.guards import PROTECTION_BIT, first_kinds
from sidecar.plan.order import first_in_order
from sidecar.plan.plan import (
    REASON_CODE,
    Bool,
    Brake,
    CascadeSettings,
    Counts,
    Float64,
    Int64,
    Snapshot,
    UInt8,
)
from sidecar.plan.scoring import Assessment, assess
from sidecar.plan.space import space_of
from sidecar.plan.stages import NO_ROWS, brake_of
from sidecar.strength import wilson_lower

_SUPERSEDED: Final = REASON_CODE["superseded"]
_DUPLICATE: Final = REASON_CODE["likely_duplicate"]
_LOW_PERFORMANCE: Final = REASON_CODE["low_performance"]
_TIME_DECAY: Final = REASON_CODE["time_decay"]
_NEWBORN: Final = np.uint8(PROTECTION_BIT["newborn"])

# The rank of each reason, by code: the lowest goes first and is named first.
_RANKS: Final = np.full(NONE + 1, 4, dtype=np.uint8)
_RANKS[[_SUPERSEDED, _DUPLICATE, _LOW_PERFORMANCE, _TIME_DECAY]] = range(4)


class Resolution(Protocol):
    """What a search for duplicates found, by row of the snapshot."""

    @property
    def survivor(self) -> Int64:
        """The row of the memory that each row's cluster keeps; itself or -1 where none."""
        ...

    @property
    def flagged(self) -> Int64:
        """The members of components that are kept whole, for a person to look at."""
        ...


@dataclass(slots=True)
class _Draft:
    """The decisions as they come to be, by row of the snapshot."""

    action: UInt8
    reason: UInt8
    skipped: UInt8

    def keep(self, rows: Bool, kind: str) -> None:
        """Let these rows be, and say what stopped the action."""
        self.action[rows] = KEPT
        self.skipped[rows] = SKIPPED_CODE[kind]


@dataclass(frozen=True, slots=True)
class _Fading:
    """The importance that each row shows, and what one fade would make of it."""

    old: Float64
    new: Float64
    factor: Float64
    lowers: Bool


def plan_cycle(
    snapshot: Snapshot,
    settings: CycleSettings,
    cascade_settings: CascadeSettings,
    *,
    now: int,
    resolution: Resolution | None = None,
    forgotten_in_window: int = 0,
    archived_in_window: int = 0,
    forgotten_total: int = 0,
) -> CyclePlan:
    """Plan one cycle of a namespace at `now` (ms). Changes nothing; equal input, equal plan.

    `cascade_settings` give the protections and the brake; `resolution` the duplicates, None
    where they were not looked for. `forgotten_in_window` is what runs forgot in the last
    BRAKE_WINDOW_MS, `archived_in_window` what of it was only archived, `forgotten_total` what is
    in the forgotten tier.
    """
    view = assess(snapshot, cascade_settings, now=now, policy=CYCLE_POLICY)
    survivor = _survivors(view, resolution)
    flagged = _flagged(view, resolution)
    fading = _fading(snapshot, settings)
    draft = _wanted(view, settings, survivor)
    _spare_survivors(draft, survivor)
    _protect(draft, view)
    _wait(draft, view, settings)
    draft.keep((draft.action == FADED) & ~fading.lowers, "at_floor")
    _flag(draft, view, flagged)
    pruned, brake = _brake(draft, view, forgotten_in_window, archived_in_window)
    return _plan_of(
        view, settings, draft, fading, survivor, flagged, pruned, brake, forgotten_total
    )


def _survivors(view: Assessment, resolution: Resolution | None) -> Int64:
    """The row of the memory that stands for each row, -1 where it stands for itself.

    A survivor that is a duplicate itself, or is believed less, stands for nothing.
    """
    size = len(view.snapshot)
    none = np.full(size, -1, dtype=np.int64)
    if resolution is None or size == 0:
        return none
    survivor = np.where(resolution.survivor == np.arange(size), -1, resolution.survivor)
    stays = (survivor[survivor] < 0) & (view.group[survivor] >= view.group)
    return np.where((survivor >= 0) & stays, survivor, none)


def _flagged(view: Assessment, resolution: Resolution | None) -> Bool:
    flagged = np.zeros(len(view.snapshot), dtype=np.bool_)
    if resolution is not None:
        flagged[resolution.flagged] = True
    return flagged


def _wanted(view: Assessment, settings: CycleSettings, survivor: Int64) -> _Draft:
    """What each row would come to if nothing stopped it: the reasons from the last to the first."""
    snapshot = view.snapshot
    size = len(snapshot)
    draft = _Draft(
        action=np.full(size, KEPT, dtype=np.uint8),
        reason=np.full(size, NONE, dtype=np.uint8),
        skipped=np.full(size, NONE, dtype=np.uint8),
    )
    strength = view.parts.strength
    fades = view.scored & (strength < settings.fade_thresholds(snapshot.memory_type))
    goes = view.scored & (strength < settings.prune_thresholds(snapshot.memory_type))
    draft.action[fades] = FADED
    draft.action[goes] = PRUNED
    draft.reason[fades | goes] = _TIME_DECAY
    for rows, enough in _failing(view, settings):
        draft.action[rows] = PRUNED if enough else FADED
        draft.reason[rows] = _LOW_PERFORMANCE
    for rows, reason in ((survivor >= 0, _DUPLICATE), (view.status == SUPERSEDED, _SUPERSEDED)):
        draft.action[rows] = PRUNED
        draft.reason[rows] = reason
    return draft


def _failing(view: Assessment, settings: CycleSettings) -> tuple[tuple[Int64, bool], ...]:
    """The procedures that fail too often: those tried often enough, and the others."""
    snapshot = view.snapshot
    tries = snapshot.success_count + snapshot.failure_count
    rows = np.flatnonzero((snapshot.memory_type == PROCEDURAL) & view.scored & (tries > 0))
    lower = wilson_lower(
        snapshot.success_count[rows].astype(np.float64),
        snapshot.failure_count[rows].astype(np.float64),
    )
    rows = rows[lower < settings.procedural_low_perf_wilson_threshold]
    enough = tries[rows] >= settings.procedural_low_perf_min_outcomes
    return (rows[enough], True), (rows[~enough], False)


def _spare_survivors(draft: _Draft, survivor: Int64) -> None:
    """A survivor that would go by itself fades instead: it holds what others said too."""
    spared = np.zeros(len(survivor), dtype=np.bool_)
    spared[survivor[survivor >= 0]] = True
    unforced = _RANKS[draft.reason] > _RANKS[_DUPLICATE]
    draft.action[spared & unforced & (draft.action == PRUNED)] = FADED


def _protect(draft: _Draft, view: Assessment) -> None:
    forced = (draft.reason == _SUPERSEDED) | (draft.reason == _DUPLICATE)
    bits = np.where(forced, view.protections & ~_NEWBORN, view.protections)
    rows = np.flatnonzero((draft.action != KEPT) & (bits > 0))
    draft.action[rows] = KEPT
    draft.skipped[rows] = first_kinds(bits[rows])
    draft.keep(~view.scored, "unscored")


def _wait(draft: _Draft, view: Assessment, settings: CycleSettings) -> None:
    """Give a memory time after each use and each fade."""
    interval = settings.fade_interval_days * MILLISECONDS_PER_DAY
    if interval <= 0:
        return
    since = view.now - np.maximum(view.last_use, view.snapshot.faded_at)
    decays = (draft.action == PRUNED) & (draft.reason == _TIME_DECAY)
    draft.keep(((draft.action == FADED) | decays) & (since < interval), "fade_interval")


def _flag(draft: _Draft, view: Assessment, flagged: Bool) -> None:
    """Name the guard where it is all that keeps a memory, or outranks what keeps it.

    The guard says that a memory is no duplicate; it does not shield it from its age.
    """
    rows = flagged & view.scored & (draft.action == KEPT)
    rows &= _RANKS[draft.reason] > _RANKS[_DUPLICATE]
    draft.reason[rows] = _DUPLICATE
    draft.skipped[rows] = SKIPPED_CODE["guarded"]


def _brake(
    draft: _Draft, view: Assessment, forgotten_in_window: int, archived_in_window: int
) -> tuple[Int64, Brake]:
    """The rows to prune, first of all the clearest reason and the weakest; the rest stay."""
    brake = brake_of(view.settings, len(view.snapshot), forgotten_in_window, archived_in_window)
    rows = np.flatnonzero(draft.action == PRUNED)
    allowed = len(rows) if brake.allowed is None else min(brake.allowed, len(rows))
    older = draft.reason == _SUPERSEDED
    columns = (
        _RANKS[draft.reason],
        np.where(older, -view.chains.depth, 0),  # the oldest version first
        view.parts.value * view.parts.retention,  # the strength before it is clamped
        view.last_use,
        view.snapshot.created_at,
    )
    going = first_in_order(rows, allowed, columns, view.snapshot.ids)
    stopped = draft.action == PRUNED
    stopped[going] = False
    draft.keep(stopped, "braked")
    engaged = bool(stopped.any())
    return going, Brake(brake.share, forgotten_in_window, brake.allowed, engaged)


def _fading(snapshot: Snapshot, settings: CycleSettings) -> _Fading:
    """Fading lowers the factor and leaves the base, so that the past does not age again."""
    base, before = snapshot.importance, snapshot.fade_factor
    old = base * before
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lowest = settings.fade_floor / base
        lowest = np.where(base * lowest < settings.fade_floor, np.nextafter(lowest, np.inf), lowest)
        after = np.maximum(before * settings.fade_factor, lowest)
        new = base * after
        lowers = (new < old) & (old > settings.fade_floor)
    return _Fading(old=old, new=new, factor=after, lowers=lowers)


def _plan_of(
    view: Assessment,
    settings: CycleSettings,
    draft: _Draft,
    fading: _Fading,
    survivor: Int64,
    flagged: Bool,
    pruned: Int64,
    brake: Brake,
    forgotten_total: int,
) -> CyclePlan:
    snapshot = view.snapshot
    order = np.argsort(snapshot.rid)
    fades = draft.action == FADED
    freed = np.zeros(len(snapshot), dtype=np.int64)
    freed[pruned] = space_of(snapshot, NO_ROWS).freed_by(pruned)
    broken = np.flatnonzero((snapshot.successor_rid == -1) | view.chains.endless)
    broken = broken[np.argsort(snapshot.rid[broken])]
    before, after = _counts(snapshot, draft.action == PRUNED, int(freed.sum()), forgotten_total)
    return CyclePlan(
        now=view.now,
        settings=settings,
        rid=snapshot.rid[order],
        ids=tuple(np.array(snapshot.ids, dtype=np.object_)[order].tolist()),
        memory_type=snapshot.memory_type[order],
        from_tier=snapshot.tier[order],
        action=draft.action[order],
        reason=draft.reason[order],
        skipped=draft.skipped[order],
        score=np.where(view.scored, view.parts.strength, np.nan)[order],
        old_fade_factor=snapshot.fade_factor[order],
        old_importance=fading.old[order],
        new_importance=np.where(fades, fading.new, fading.old)[order],
        new_fade_factor=np.where(fades, fading.factor, snapshot.fade_factor)[order],
        survivor_rid=np.where(survivor >= 0, snapshot.rid[survivor], 0)[order],
        flagged=flagged[order],
        change_counter=snapshot.change_counter[order],
        bytes_freed=freed[order],
        before=before,
        after=after,
        brake=brake,
        broken_chains=len(broken),
        broken_chain_ids=tuple(map(snapshot.ids.__getitem__, broken[:REPORT_NAMED_MAX].tolist())),
    )


def _counts(
    snapshot: Snapshot, pruned: Bool, freed: int, forgotten_total: int
) -> tuple[Counts, Counts]:
    """The counts before and after. Live bytes count a file of several owners once."""
    hot = int(np.count_nonzero(snapshot.tier == HOT))
    cold = len(snapshot) - hot
    live_bytes = space_of(snapshot, NO_ROWS).live_bytes
    hot_gone = int(np.count_nonzero(pruned & (snapshot.tier == HOT)))
    gone = int(np.count_nonzero(pruned))
    return (
        Counts(hot, cold, forgotten_total, live_bytes),
        Counts(hot - hot_gone, cold - gone + hot_gone, forgotten_total + gone, live_bytes - freed),
    )
