"""The memories of a simulation: a snapshot that plans are carried out on."""

from dataclasses import fields, replace
from typing import Any, Final

import numpy as np

from sidecar.model import COLD, HOT
from sidecar.plan.arrivals import Arrivals
from sidecar.plan.cycle_plan import FADED, PRUNED, CyclePlan
from sidecar.plan.plan import FORGET, SPILL, Bool, Counts, Int64, Plan, Snapshot
from sidecar.plan.space import space_of
from sidecar.plan.stages import NO_ROWS

# The columns that have one entry a row; the others are files, and links of forgotten memories.
_BY_ROW: Final = tuple(
    field.name
    for field in fields(Snapshot)
    if field.name not in ("ids", "media_bytes") and not field.name.startswith("gone_")
)


class SimulatedStore:
    """What is live, in order of row number, and how much is forgotten.

    What arrives is counted at once and takes its place when somebody plans: arrivals are many.
    """

    def __init__(self, snapshot: Snapshot, forgotten: int) -> None:
        """A copy of a snapshot, and the count of the forgotten tier."""
        self._snapshot = _taken(snapshot, np.argsort(snapshot.rid))
        self._waiting: list[Snapshot] = []
        named = (snapshot.rid, snapshot.successor_rid)
        gone = (snapshot.gone_rid, snapshot.gone_successor_rid)
        self._rid_next = 1 + max(int(column.max(initial=0)) for column in (*named, *gone))
        self._arrived = 0
        self._forgotten = forgotten
        self._count()

    def counts(self) -> Counts:
        """The counters as a namespace keeps them; constant time."""
        return Counts(self._hot, self._cold, self._forgotten, self._live_bytes)

    def arrive(self, arrivals: Arrivals, count: int, at: int) -> None:
        """Let so many memories come at `at` (ms)."""
        if not count:
            return
        came = arrivals.snapshot(self._arrived, count, at=at, rid=self._rid_next)
        self._waiting.append(came)
        self._arrived += count
        self._rid_next += count
        self._hot += count
        self._live_bytes += int(came.bytes.sum())

    def snapshot(self) -> Snapshot:
        """Every live memory, for a plan."""
        if self._waiting:
            parts = (self._snapshot, *self._waiting)
            ids = [one for part in parts for one in part.ids]
            columns: dict[str, Any] = {
                name: np.concatenate([getattr(part, name) for part in parts]) for name in _BY_ROW
            }
            self._snapshot = replace(self._snapshot, ids=ids, **columns)
            self._waiting = []
        return self._snapshot

    def carry_out(self, plan: Plan) -> tuple[int, int]:
        """Do what a sweep of this snapshot decided: how many were spilled, and forgotten."""
        rows = self._rows_of(plan.rid)
        spilled, forgotten = rows[plan.action == SPILL], rows[plan.action == FORGET]
        tier, size = self._snapshot.tier.copy(), self._snapshot.bytes.copy()
        tier[spilled] = COLD
        size[spilled] = self._snapshot.cold_bytes[spilled]
        self._snapshot = replace(self._snapshot, tier=tier, bytes=size)
        self._forget(forgotten, plan.now)
        self._count()
        return len(spilled), len(forgotten)

    def carry_out_cycle(self, plan: CyclePlan) -> tuple[int, int]:
        """Do what a cycle over this snapshot decided: how many faded, and were pruned."""
        faded = self._rows_of(plan.rid[plan.action == FADED])
        pruned = self._rows_of(plan.rid[plan.action == PRUNED])
        factor, faded_at = self._snapshot.fade_factor.copy(), self._snapshot.faded_at.copy()
        factor[faded] = plan.new_fade_factor[plan.action == FADED]
        faded_at[faded] = plan.now
        self._snapshot = replace(self._snapshot, fade_factor=factor, faded_at=faded_at)
        self._forget(pruned, plan.now)
        self._count()
        return len(faded), len(pruned)

    def _forget(self, rows: Int64, now: int) -> None:
        """Take rows out; the links of those that name a successor stay, as chains need them."""
        before = self._snapshot
        linked = rows[before.successor_rid[rows] != 0]
        stays: Bool = np.ones(len(before), dtype=np.bool_)
        stays[rows] = False
        self._forgotten += len(rows)
        if len(rows):
            self._snapshot = replace(
                _taken(before, np.flatnonzero(stays)),
                gone_rid=np.concatenate([before.gone_rid, before.rid[linked]]),
                gone_successor_rid=np.concatenate(
                    [before.gone_successor_rid, before.successor_rid[linked]]
                ),
                gone_at=np.concatenate([before.gone_at, np.full(len(linked), now, dtype=np.int64)]),
            )

    def _rows_of(self, rid: Int64) -> Int64:
        return np.searchsorted(self._snapshot.rid, rid)

    def _count(self) -> None:
        self._hot = int(np.count_nonzero(self._snapshot.tier == HOT))
        self._cold = len(self._snapshot) - self._hot
        self._live_bytes = space_of(self._snapshot, NO_ROWS).live_bytes


def _taken(snapshot: Snapshot, rows: Int64) -> Snapshot:
    """These rows of a snapshot, in this order, with all of its links and files."""
    columns: dict[str, Any] = {name: getattr(snapshot, name)[rows] for name in _BY_ROW}
    ids = np.array(snapshot.ids, dtype=np.object_)[rows].tolist()
    return replace(snapshot, ids=ids, **columns)
