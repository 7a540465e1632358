"""What the tests of the cycle share: cycles of small stores, and one decision of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec
import numpy as np

from protocol.vector_store import DAY, NOW, StoredMemory, StoreSettings, snapshot_of
from sidecar.plan.cycle import plan_cycle
from sidecar.plan.cycle_plan import CYCLE_ACTIONS, FADED, PRUNED, CyclePlan
from sidecar.plan.cycle_settings import CycleSettings
from sidecar.plan.plan import Bool, Int64, Snapshot

# A memory made or used just now may fade or go at once: strength is then its importance.
AT_ONCE: dict[str, Any] = {"fade_interval_days": 0.0, "newborn_days": 0.0}
CYCLE_NAMES = frozenset(field.name for field in fields(CycleSettings))


@dataclass(frozen=True)
class Found:
    """What a search for duplicates found."""

    survivor: Int64
    flagged: Bool


@dataclass(frozen=True)
class Decision:
    """One decision in words."""

    action: str
    reason: str | None
    skipped: str | None


def resolution(
    snapshot: Snapshot, survivors: Mapping[str, str], flagged: Sequence[str] = ()
) -> Found:
    """The resolution that says who survives for whom."""
    row = {id: place for place, id in enumerate(snapshot.ids)}
    survivor = np.full(len(snapshot), -1, dtype=np.int64)
    for id, other in survivors.items():
        survivor[row[id]] = row[other]
    marked = np.zeros(len(snapshot), dtype=np.bool_)
    marked[[row[id] for id in flagged]] = True
    return Found(survivor, marked)


def cycle(
    memories: Sequence[StoredMemory],
    *,
    survivors: Mapping[str, str] | None = None,
    flagged: Sequence[str] = (),
    forgotten_in_window: int = 0,
    row_numbers: dict[str, int] | None = None,
    now: int = NOW,
    **changed: Any,
) -> CyclePlan:
    """Plan a cycle of a small store. Further names change the settings."""
    snapshot = snapshot_of(memories, row_numbers)
    own = {name: value for name, value in changed.items() if name in CYCLE_NAMES}
    rest = {name: value for name, value in changed.items() if name not in CYCLE_NAMES}
    return plan_cycle(
        snapshot,
        replace(CycleSettings(), **own),
        msgspec.structs.replace(StoreSettings(), **rest).to_cascade(),
        now=now,
        resolution=resolution(snapshot, survivors or {}, flagged),
        forgotten_in_window=forgotten_in_window,
    )


def decisions(plan: CyclePlan) -> dict[str, Decision]:
    """Every decision of a plan, by id."""
    return {
        id: Decision(CYCLE_ACTIONS[plan.action[at]], plan.reason_name(at), plan.skipped_name(at))
        for at, id in enumerate(plan.ids)
    }


def decision_on(memory: StoredMemory, *others: StoredMemory, **changed: Any) -> Decision:
    """The decision on the first of some memories."""
    return decisions(cycle([memory, *others], **changed))[memory.id]


def after(snapshot: Snapshot, plan: CyclePlan) -> Snapshot:
    """A snapshot in order of row number once the plan was carried out, without what it pruned."""
    faded = plan.action == FADED
    left = plan.action != PRUNED
    changed = replace(
        snapshot,
        fade_factor=np.where(faded, plan.new_fade_factor, snapshot.fade_factor),
        faded_at=np.where(faded, plan.now, snapshot.faded_at),
    )
    columns = {
        field.name: getattr(changed, field.name)[left]
        for field in fields(Snapshot)
        if isinstance(getattr(changed, field.name), np.ndarray)
        and not field.name.startswith("gone")
        and field.name != "media_bytes"
    }
    ids = [id for id, stays in zip(snapshot.ids, left, strict=True) if stays]
    return replace(changed, ids=ids, **columns)


def fresh(id: str, importance: float, **other: Any) -> StoredMemory:
    """A memory made this instant: its strength is its importance."""
    return StoredMemory(id=id, importance=importance, created_at=NOW, **other)


def aged(id: str, days: float, **other: Any) -> StoredMemory:
    """A memory made so many days ago."""
    return StoredMemory(id=id, created_at=NOW - round(days * DAY), **other)
