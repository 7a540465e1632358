"""Small stores written as JSON, and the snapshots that planning reads: for vectors and tests."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np

from sidecar.limits import MILLISECONDS_PER_DAY
from sidecar.model import MEMORY_TYPES, STATUSES, TIERS, MemoryType, Status, Tier
from sidecar.plan.plan import CascadeSettings, Int64, Snapshot, UInt8

NOW = 1_760_000_000_000  # 2025-10-09T08:53:20Z
DAY = MILLISECONDS_PER_DAY


class StoredMemory(msgspec.Struct, rename="camel", omit_defaults=True):
    """One memory of a small store; what is left out has the value given here.

    Importance and fade factor may be the texts "NaN", "Infinity", "-Infinity". A forgotten
    memory is no part of the snapshot, but its link to a successor is.
    """

    id: str
    tier: Tier = "hot"
    status: Status = "active"
    memory_type: MemoryType = "semantic"
    importance: float | str = 0.5
    fade_factor: float | str = 1.0
    faded_at: int | None = None
    created_at: int = NOW - 100 * DAY
    last_recalled_at: int | None = None
    recall_count: int = 0
    success_count: int = 0
    failure_count: int = 0
    pinned: bool = False
    evergreen: bool = False
    held_until: int | None = None
    restored_at: int | None = None
    expires_at: int | None = None
    superseded_by: str | None = None
    forgotten_at: int | None = None
    bytes: int = 1_000
    cold_bytes: int = 400
    media_ref: str | None = None
    media_bytes: int = 0


class StoreSettings(msgspec.Struct, rename="camel", omit_defaults=True):
    """The settings of a sweep under their wire names; disk in bytes, not gigabytes."""

    threshold_count: int = msgspec.field(default=10_000, name="forgetThresholdCount")
    threshold_total: int = msgspec.field(default=100_000, name="forgetThresholdTotal")
    threshold_disk_bytes: int = msgspec.field(
        default=2_000_000_000, name="forgetThresholdDiskBytes"
    )
    low_watermark: float = 0.9
    weak_strength: float = 0.05
    idle_days_min: float = msgspec.field(default=7.0, name="minIdleDays")
    newborn_days: float = 1.0
    restore_grace_days: float = 30.0
    forget_active: bool = True
    brake_share: float = 0.2

    def to_cascade(self) -> CascadeSettings:
        """The settings as planning takes them."""
        return CascadeSettings(**msgspec.structs.asdict(self))


Mode = Literal["normal", "strict"]


def snapshot_of(
    memories: Sequence[StoredMemory], row_numbers: dict[str, int] | None = None
) -> Snapshot:
    """The snapshot of a small store. Row numbers follow the order given, from 1, unless given."""
    numbers = row_numbers or {memory.id: n for n, memory in enumerate(memories, 1)}
    live = [memory for memory in memories if memory.tier != "forgotten"]
    gone = [m for m in memories if m.tier == "forgotten" and m.superseded_by is not None]
    files = sorted({memory.media_ref for memory in live if memory.media_ref})
    sizes = {memory.media_ref: memory.media_bytes for memory in live}
    return Snapshot(
        rid=integers(numbers[m.id] for m in live),
        ids=[m.id for m in live],
        tier=codes(TIERS.index(m.tier) for m in live),
        status=codes(STATUSES.index(m.status) for m in live),
        memory_type=codes(MEMORY_TYPES.index(m.memory_type) for m in live),
        importance=np.array([float(m.importance) for m in live], dtype=np.float64),
        fade_factor=np.array([float(m.fade_factor) for m in live], dtype=np.float64),
        faded_at=integers(m.faded_at for m in live),
        created_at=integers(m.created_at for m in live),
        last_recalled_at=integers(m.last_recalled_at for m in live),
        recall_count=integers(m.recall_count for m in live),
        success_count=integers(m.success_count for m in live),
        failure_count=integers(m.failure_count for m in live),
        pinned=np.array([m.pinned for m in live], dtype=np.bool_),
        evergreen=np.array([m.evergreen for m in live], dtype=np.bool_),
        held_until=integers(m.held_until for m in live),
        restored_at=integers(m.restored_at for m in live),
        expires_at=integers(m.expires_at for m in live),
        successor_rid=integers(successor_of(m, numbers) for m in live),
        change_counter=integers(1 for _ in live),
        bytes=integers(m.bytes for m in live),
        cold_bytes=integers(m.cold_bytes if m.tier == "hot" else m.bytes for m in live),
        media_group=integers(files.index(m.media_ref) if m.media_ref else -1 for m in live),
        media_bytes=integers(sizes[file] for file in files),
        gone_rid=integers(numbers[m.id] for m in gone),
        gone_successor_rid=integers(successor_of(m, numbers) for m in gone),
        gone_at=integers(m.forgotten_at for m in gone),
    )


def successor_of(memory: StoredMemory, numbers: dict[str, int]) -> int:
    """The row number of the successor: 0 where none is named, -1 where it does not exist."""
    return 0 if memory.superseded_by is None else numbers.get(memory.superseded_by, -1)


def integers(values: Iterable[int | None]) -> Int64:
    """An int64 column; an absent time is 0."""
    return np.array([value or 0 for value in values], dtype=np.int64)


def codes(values: Iterable[int]) -> UInt8:
    """A column of small codes."""
    return np.array(list(values), dtype=np.uint8)
