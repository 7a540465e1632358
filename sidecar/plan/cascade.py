"""The cascade: spill the coldest memories, then forget the weakest, as far as pressure asks.

Stage 1 spills hot memories: older versions (the deepest first), then what is set aside, then
the rest by sweep score; newborn, restored and unscored ones last, pinned ones never.
Stage 2 forgets memories that are weak, unprotected, and unused for a while if still believed,
in the same order of classes. It stops at the watermark, at the brake, or when none is left.
Mode `strict` drops "weak" and "unused for a while", nothing else.
"""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from sidecar.limits import REPORT_NAMED_MAX
from sidecar.model import HOT
from sidecar.plan.guards import count_by_first_kind
from sidecar.plan.plan import (
    FORGET,
    REASON_CODE,
    SPILL,
    Bool,
    Brake,
    CascadeSettings,
    Counts,
    Float64,
    Int64,
    Plan,
    Policy,
    Snapshot,
    StagePlan,
    UInt8,
)
from sidecar.plan.scoring import BELIEVED, Assessment, assess
from sidecar.plan.space import space_of
from sidecar.plan.stages import (
    NO_ROWS,
    ForgetStage,
    Mode,
    SpillStage,
    brake_of,
    forget_nothing,
    forget_stage,
    low_watermark,
    spill_stage,
)

# From an eighth of all ids on, numpy takes them faster than one by one.
MANY_ROWS_SHARE: Final = 8


def plan_cascade(
    snapshot: Snapshot,
    settings: CascadeSettings,
    *,
    now: int,
    policy: Policy,
    mode: Mode = "normal",
    run_stage_one: bool = True,
    run_stage_two: bool = True,
    forgotten_in_window: int = 0,
    archived_in_window: int = 0,
    forgotten_total: int = 0,
) -> Plan:
    """Plan one sweep of a namespace at `now` (ms). Changes nothing; equal input, equal plan.

    `forgotten_in_window` is what runs forgot in the last BRAKE_WINDOW_MS, `archived_in_window`
    what of it was only archived, `forgotten_total` what is in the forgotten tier. A stage that is
    not run still says which thresholds are crossed. Each memory has at most one decision: its
    final tier.
    """
    view = assess(snapshot, settings, now=now, policy=policy)
    hot = int(np.count_nonzero(snapshot.tier == HOT))
    over = hot > settings.threshold_count
    target = low_watermark(settings.threshold_count, settings.low_watermark)
    spill = spill_stage(view, hot - target if over and run_stage_one else 0, crossed=over)
    brake = brake_of(settings, len(snapshot), forgotten_in_window, archived_in_window)
    forget = forget_stage(view, space_of(snapshot, spill.rows), brake, mode, run=run_stage_two)
    return _plan_of(
        view,
        spill,
        forget,
        kind="sweep",
        mode=mode,
        brake=Brake(brake.share, brake.forgotten_in_window, brake.allowed, forget.braked),
        forgotten_total=forgotten_total,
    )


def plan_spill(
    snapshot: Snapshot,
    settings: CascadeSettings,
    target: int,
    *,
    now: int,
    policy: Policy,
    forgotten_total: int = 0,
) -> Plan:
    """Plan to spill down to `target` hot memories at `now` (ms), whatever the thresholds say."""
    view = assess(snapshot, settings, now=now, policy=policy)
    hot = int(np.count_nonzero(snapshot.tier == HOT))
    spill = spill_stage(view, hot - target, crossed=hot > settings.threshold_count)
    return _plan_of(
        view,
        spill,
        forget_nothing((), len(snapshot)),
        kind="spill",
        mode="normal",
        brake=None,
        forgotten_total=forgotten_total,
    )


def _plan_of(
    view: Assessment,
    spill: SpillStage,
    forget: ForgetStage,
    *,
    kind: Literal["sweep", "spill"],
    mode: Mode,
    brake: Brake | None,
    forgotten_total: int,
) -> Plan:
    """Both stages as one plan: the spills first, each stage in its order.

    What would be spilled and then forgotten goes in one step.
    """
    snapshot = view.snapshot
    leaving = np.zeros(len(snapshot), dtype=np.bool_)
    leaving[forget.rows] = True
    spilled = spill.rows[~leaving[spill.rows]]
    rows = np.concatenate([spilled, forget.rows])
    forgotten = leaving[rows]
    unscored = ~view.scored[rows]
    bytes_freed = _bytes_freed(view, spill, forget)[rows]
    before = _counts_before(view, forgotten_total)
    return Plan(
        kind=kind,
        now=view.now,
        policy=view.policy,
        mode=mode,
        rid=snapshot.rid[rows],
        ids=_ids_at(snapshot.ids, rows),
        action=np.where(forgotten, np.uint8(FORGET), np.uint8(SPILL)),
        reason=np.concatenate([_spill_reasons(view, spilled, kind), forget.reason]),
        from_tier=snapshot.tier[rows],
        score=_known(view.sweep, rows, unscored),
        strength=_known(view.parts.strength, rows, unscored),
        value=_known(view.parts.value, rows, unscored),
        retention=_known(view.parts.retention, rows, unscored),
        recency=_known(view.parts.recall_recency, rows, unscored),
        change_counter=snapshot.change_counter[rows],
        bytes_freed=bytes_freed,
        before=before,
        after=_counts_after(before, snapshot.tier[rows], forgotten, int(bytes_freed.sum())),
        stages=_stage_plans(spill, forget, len(spilled))[: 2 if kind == "sweep" else 1],
        protected=count_by_first_kind(view.protections[spill.passed_over | forget.passed_over]),
        unscored=int(np.count_nonzero(~view.scored)),
        unscored_ids=_first_unscored(view),
        kept=len(snapshot) - len(rows),
        brake=brake,
    )


def _spill_reasons(view: Assessment, rows: Int64, kind: str) -> UInt8:
    """The class's reason; for believed ones, what asked for the room."""
    asked = REASON_CODE["hot_over_threshold" if kind == "sweep" else "called"]
    return np.where(view.group[rows] == BELIEVED, np.uint8(asked), view.reason[rows])


def _bytes_freed(view: Assessment, spill: SpillStage, forget: ForgetStage) -> Int64:
    """What each row's decision frees: by becoming cold, then by being forgotten."""
    freed = np.zeros(len(view.snapshot), dtype=np.int64)
    freed[spill.rows] = view.snapshot.bytes[spill.rows] - view.snapshot.cold_bytes[spill.rows]
    freed[forget.rows] += forget.freed
    return freed


def _counts_before(view: Assessment, forgotten_total: int) -> Counts:
    hot = int(np.count_nonzero(view.snapshot.tier == HOT))
    return Counts(
        hot=hot,
        cold=len(view.snapshot) - hot,
        forgotten=forgotten_total,
        live_bytes=space_of(view.snapshot, NO_ROWS).live_bytes,
    )


def _counts_after(before: Counts, from_tier: UInt8, forgotten: Bool, freed: int) -> Counts:
    left_hot = int(np.count_nonzero(from_tier == HOT))
    leaving = int(np.count_nonzero(forgotten))
    return Counts(
        hot=before.hot - left_hot,
        cold=before.cold + left_hot - leaving,
        forgotten=before.forgotten + leaving,
        live_bytes=before.live_bytes - freed,
    )


def _stage_plans(spill: SpillStage, forget: ForgetStage, spilled: int) -> tuple[StagePlan, ...]:
    return (
        StagePlan(
            stage=1,
            crossed=("count",) if spill.crossed else (),
            selected=spilled,
            shortfall_memories=spill.shortfall,
        ),
        StagePlan(
            stage=2,
            crossed=forget.crossed,
            selected=len(forget.rows),
            shortfall_memories=forget.shortfall_memories,
            shortfall_bytes=forget.shortfall_bytes,
            braked=forget.braked,
        ),
    )


def _known(column: Float64, rows: Int64, unscored: Bool) -> Float64:
    """The column at these rows; NaN where unscored, as nothing is known of them."""
    taken = column[rows]
    taken[unscored] = np.nan
    return taken


def _first_unscored(view: Assessment) -> tuple[str, ...]:
    rows = np.flatnonzero(~view.scored)
    oldest = rows[np.argsort(view.snapshot.rid[rows])][:REPORT_NAMED_MAX]
    return _ids_at(view.snapshot.ids, oldest)


def _ids_at(ids: Sequence[str], rows: Int64) -> tuple[str, ...]:
    """The ids of these rows, copied: the plan outlives the snapshot's columns."""
    if len(rows) * MANY_ROWS_SHARE < len(ids):
        return tuple(map(ids.__getitem__, rows.tolist()))
    column = np.array(ids, dtype=np.object_)
    return tuple(column[rows].tolist())
