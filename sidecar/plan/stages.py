"""The two stages of a cascade: which rows go, in which order, and what stops them.

A stage works down to its low watermark. *Crossed* means strictly greater than the threshold.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from sidecar.limits import BRAKE_MEMORIES_MIN, BRAKE_STORE_MEMORIES_MIN
from sidecar.model import HOT
from sidecar.plan.guards import SPILLED_LAST, STAYS_HOT
from sidecar.plan.order import first_in_order
from sidecar.plan.plan import REASON_CODE, Bool, Brake, CascadeSettings, Int64, UInt8
from sidecar.plan.scoring import BELIEVED, OLDER_VERSION, SET_ASIDE, Assessment
from sidecar.plan.space import Space

Mode = Literal["normal", "strict"]
Crossed = tuple[Literal["count", "total", "disk"], ...]

NO_ROWS: Final = np.empty(0, dtype=np.int64)
_LAST_GROUP: Final = BELIEVED + 1  # of stage 1: what is spilled only when nothing else is left


@dataclass(frozen=True, slots=True)
class SpillStage:
    """Stage 1: the rows to spill in order, and the pinned ones that were passed over."""

    rows: Int64
    crossed: bool
    shortfall: int
    passed_over: Bool


@dataclass(frozen=True, slots=True)
class ForgetStage:
    """Stage 2: the rows to forget in order, why, and the protected ones passed over."""

    rows: Int64
    reason: UInt8
    freed: Int64
    crossed: Crossed
    shortfall_memories: int
    shortfall_bytes: int
    braked: bool
    passed_over: Bool


@dataclass(frozen=True, slots=True)
class _Need:
    """How far stage 2 has to go: memories and bytes over the low watermark."""

    memories: int
    bytes: int
    crossed: Crossed


def low_watermark(threshold: int, share: float) -> int:
    """What a stage works down to, in the unit of the threshold.

    Rounded down, with a millionth of tolerance for shares that binary cannot hold.
    """
    floor = min(threshold, 1) if share > 0 else 0
    return min(threshold, max(floor, math.floor(threshold * share + 1e-6)))


def brake_of(
    settings: CascadeSettings, live: int, forgotten_in_window: int, archived_in_window: int = 0
) -> Brake:
    """How many more memories a run may forget now, from what a rolling day allows in all.

    Measured against the live memories together with those forgotten in that day, so that many
    small runs may forget no more than one. `archived_in_window` are those that count as forgotten
    and are live all the same.
    """
    at_start = live - archived_in_window + forgotten_in_window
    allowed = None
    if at_start >= BRAKE_STORE_MEMORIES_MIN:
        share = math.floor(settings.brake_share * at_start + 1e-6)
        allowed = max(0, max(BRAKE_MEMORIES_MIN, share) - forgotten_in_window)
    return Brake(
        share=settings.brake_share, forgotten_in_window=forgotten_in_window, allowed=allowed
    )


def spill_stage(view: Assessment, count: int, *, crossed: bool) -> SpillStage:
    """The first `count` hot memories of stage 1's order, pinned ones left out."""
    size = len(view.snapshot)
    if count <= 0:
        return SpillStage(NO_ROWS, crossed, 0, np.zeros(size, dtype=np.bool_))
    late = (view.protections & SPILLED_LAST) != 0
    group = np.where(late, np.uint8(_LAST_GROUP), view.group)
    hot = view.snapshot.tier == HOT
    pinned = hot & ((view.protections & STAYS_HOT) != 0)
    rows = _first_by_group(view, hot & ~pinned, group, count)
    missing = count - len(rows)
    passed = _passed(view, pinned, group, rows, all_of=missing > 0)
    return SpillStage(rows, crossed, missing, passed)


def forget_stage(
    view: Assessment, space: Space, brake: Brake, mode: Mode, *, run: bool
) -> ForgetStage:
    """Stage 2 on what stage 1 leaves: `space` counts what it spills as cold already."""
    need = _need_of(view, space)
    if not need.crossed or not run:
        return forget_nothing(need.crossed, len(view.snapshot))
    pressed = _pressed(view, mode)
    free = pressed & (view.protections == 0)
    candidates = int(np.count_nonzero(free))
    limit = candidates if brake.allowed is None else min(candidates, brake.allowed)
    rows, freed = _enough(view, space, free, need, limit)
    missing = max(0, need.memories - len(rows))
    missing_bytes = max(0, need.bytes - int(freed.sum()))
    short = missing > 0 or missing_bytes > 0
    braked = short and candidates > len(rows)
    ran_out = short and not braked
    protected = pressed & (view.protections != 0)
    passed = _passed(view, protected, view.group, rows, all_of=ran_out)
    # An unscored memory has no strength to be weak by: it is counted wherever there is need.
    passed |= ~view.scored
    return ForgetStage(
        rows=rows,
        reason=_forget_reasons(view, rows, need),
        freed=freed,
        crossed=need.crossed,
        shortfall_memories=missing if ran_out else 0,
        shortfall_bytes=missing_bytes if ran_out else 0,
        braked=braked,
        passed_over=passed,
    )


def forget_nothing(crossed: Crossed, memories: int) -> ForgetStage:
    """A stage 2 that is not needed, or not run, on this many live memories."""
    return ForgetStage(
        rows=NO_ROWS,
        reason=np.empty(0, dtype=np.uint8),
        freed=NO_ROWS,
        crossed=crossed,
        shortfall_memories=0,
        shortfall_bytes=0,
        braked=False,
        passed_over=np.zeros(memories, dtype=np.bool_),
    )


def _pressed(view: Assessment, mode: Mode) -> Bool:
    """The rows that may go if no protection holds them."""
    pressed = view.weak_enough() if mode == "normal" else np.ones_like(view.scored)
    if not view.settings.forget_active:
        pressed &= view.group != BELIEVED
    return pressed


def _need_of(view: Assessment, space: Space) -> _Need:
    settings = view.settings
    total, live_bytes = len(view.snapshot), space.live_bytes
    crossed: Crossed = ()
    memories = over_bytes = 0
    if total > settings.threshold_total:
        crossed = (*crossed, "total")
        memories = total - low_watermark(settings.threshold_total, settings.low_watermark)
    if live_bytes > settings.threshold_disk_bytes:
        crossed = (*crossed, "disk")
        target = low_watermark(settings.threshold_disk_bytes, settings.low_watermark)
        over_bytes = live_bytes - target
    return _Need(memories, over_bytes, crossed)


def _enough(
    view: Assessment, space: Space, free: Bool, need: _Need, limit: int
) -> tuple[Int64, Int64]:
    """The shortest beginning of stage 2's order that meets the need, at most `limit` rows.

    Bytes are known only along the order, so it is laid out further and further, doubling.
    """
    count = need.memories
    if need.bytes > 0:
        mean = max(1, space.live_bytes // max(1, len(view.snapshot)))
        count = max(count, need.bytes // mean + 1)
    while True:
        rows = _first_by_group(view, free, view.group, min(count, limit))
        freed = space.freed_by(rows)
        reached = np.cumsum(freed) >= need.bytes
        if need.bytes <= 0 or bool(reached.any()) or len(rows) >= limit:
            break
        count *= 2
    keep = need.memories
    if need.bytes > 0:
        keep = max(keep, int(np.argmax(reached)) + 1 if reached.any() else len(rows))
    return rows[:keep], freed[:keep]


def _first_by_group(view: Assessment, mask: Bool, group: UInt8, count: int) -> Int64:
    """The first `count` masked rows: one group after the other, each in its own order."""
    found: list[Int64] = []
    for number in (OLDER_VERSION, SET_ASIDE, BELIEVED, _LAST_GROUP):
        if count <= 0:
            break
        rows = np.flatnonzero(mask & (group == number))
        rows = first_in_order(rows, count, view.columns_of(number), view.snapshot.ids)
        found.append(rows)
        count -= len(rows)
    return np.concatenate(found) if found else NO_ROWS


def _passed(view: Assessment, held: Bool, group: UInt8, rows: Int64, *, all_of: bool) -> Bool:
    """The held rows that come before the last of `rows`; all of them where none was left."""
    if all_of:
        return held
    return held & view.before(int(rows[-1]), group) if len(rows) else np.zeros_like(held)


def _forget_reasons(view: Assessment, rows: Int64, need: _Need) -> UInt8:
    """The class's reason; for believed ones the threshold that still asked at their place."""
    reason = view.reason[rows]
    by_total = np.arange(len(rows)) < need.memories
    pressure = np.where(
        by_total,
        np.uint8(REASON_CODE["total_over_threshold"]),
        np.uint8(REASON_CODE["disk_over_threshold"]),
    )
    return np.where(view.group[rows] == BELIEVED, pressure, reason)
