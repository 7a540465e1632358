"""What the tests of active forgetting share: small stores with what hosts said of each memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec
import numpy as np

from protocol.vector_store import DAY, NOW, StoredMemory, StoreSettings, snapshot_of
from sidecar.plan.lifecycle import LifecyclePlan, LifecycleSettings, Usefulness, plan_lifecycle
from sidecar.plan.plan import Snapshot

LIFECYCLE_NAMES = frozenset(field.name for field in fields(LifecycleSettings))


@dataclass(frozen=True)
class Said:
    """What hosts said of one memory. `last_useful_at` is ms, 0: never."""

    uses: int = 0
    score: float = 0.0
    last_useful_at: int = 0

    @property
    def mean(self) -> float:
        """The usefulness a use."""
        return self.score / max(self.uses, 1)


@dataclass(frozen=True)
class Judged:
    """A memory and what was said of it."""

    memory: StoredMemory
    said: Said

    @property
    def id(self) -> str:
        return self.memory.id


def useless(
    id: str = "m",
    *,
    days: float = 100,
    uses: int = 1,
    score: float = -1.0,
    last_useful_at: int = 0,
    **changed: Any,
) -> Judged:
    """A memory that meets all three conditions, unless an argument says otherwise."""
    given: dict[str, Any] = {"created_at": NOW - round(days * DAY), **changed}
    return Judged(StoredMemory(id=id, **given), Said(uses, score, last_useful_at))


def said_of(snapshot: Snapshot, said: Mapping[str, Said]) -> Usefulness:
    """The columns of what was said, in the order of a snapshot."""
    told = [said[id] for id in snapshot.ids]
    return Usefulness(
        use_count=np.array([one.uses for one in told], dtype=np.int64),
        score=np.array([one.score for one in told], dtype=np.float64),
        last_useful_at=np.array([one.last_useful_at for one in told], dtype=np.int64),
    )


def lifecycle(
    judged: Sequence[Judged],
    *,
    forgotten_in_window: int = 0,
    archived_in_window: int = 0,
    row_numbers: dict[str, int] | None = None,
    now: int = NOW,
    **changed: Any,
) -> LifecyclePlan:
    """Plan active forgetting of a small store. Further names change the settings."""
    snapshot = snapshot_of([one.memory for one in judged], row_numbers)
    own = {name: value for name, value in changed.items() if name in LIFECYCLE_NAMES}
    rest = {name: value for name, value in changed.items() if name not in LIFECYCLE_NAMES}
    return plan_lifecycle(
        snapshot,
        said_of(snapshot, {one.id: one.said for one in judged}),
        replace(LifecycleSettings(), **own),
        msgspec.structs.replace(StoreSettings(), **rest).to_cascade(),
        now=now,
        forgotten_in_window=forgotten_in_window,
        archived_in_window=archived_in_window,
    )


def candidates(plan: LifecyclePlan) -> dict[str, str | None]:
    """Every candidate in order, and what keeps it."""
    return {id: plan.spared_name(at) for at, id in enumerate(plan.ids)}


def archived(plan: LifecyclePlan) -> list[str]:
    """The ids that a plan sets aside, in its order."""
    return [id for id, spared in candidates(plan).items() if spared is None]


def is_candidate(one: Judged, *others: Judged, **changed: Any) -> bool:
    """Whether the first of some memories meets all three conditions."""
    return one.id in candidates(lifecycle([one, *others], **changed))
