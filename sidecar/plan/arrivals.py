"""The memories that a simulation lets arrive: like those that came last, one after the other."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from sidecar.limits import SIMULATED_SAMPLE_MEMORIES
from sidecar.model import ACTIVE, HOT, SEMANTIC
from sidecar.plan.plan import Float64, Int64, Snapshot, UInt8
from sidecar.plan.scoring import possible_values
from sidecar.strength import true_in_all

# The golden ratio of 2**32: multiples of it, taken modulo 2**32, are spread evenly.
_SPREAD: Final = 2_654_435_769
_SPREAD_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The kinds of memories that arrive. The n-th arrival is of the kind `kinds(n, 1)`.

    Each arrives hot and active, unused, without a pin, a hold, an end or a file of its own.
    """

    memory_type: UInt8
    importance: Float64
    bytes: Int64
    cold_bytes: Int64

    def __len__(self) -> int:
        return len(self.importance)

    def kinds(self, first: int, count: int) -> Int64:
        """Which kinds the arrivals from number `first` on are of: each about equally often."""
        numbers = np.arange(first, first + count, dtype=np.int64)
        return (numbers * _SPREAD % (1 << _SPREAD_BITS)) * len(self) >> _SPREAD_BITS

    def snapshot(self, first: int, count: int, *, at: int, rid: int) -> Snapshot:
        """Arrivals from number `first` on, created at `at` (ms), with row numbers from `rid`."""
        kinds = self.kinds(first, count)
        nothing = np.zeros(count, dtype=np.int64)
        never = np.zeros(count, dtype=np.bool_)
        return Snapshot(
            rid=np.arange(rid, rid + count, dtype=np.int64),
            ids=[arrival_id(number) for number in range(first, first + count)],
            tier=np.full(count, HOT, dtype=np.uint8),
            status=np.full(count, ACTIVE, dtype=np.uint8),
            memory_type=self.memory_type[kinds],
            importance=self.importance[kinds],
            fade_factor=np.ones(count),
            faded_at=nothing,
            created_at=np.full(count, at, dtype=np.int64),
            last_recalled_at=nothing,
            recall_count=nothing,
            success_count=nothing,
            failure_count=nothing,
            pinned=never,
            evergreen=never,
            held_until=nothing,
            restored_at=nothing,
            expires_at=nothing,
            successor_rid=nothing,
            change_counter=nothing,
            bytes=self.bytes[kinds],
            cold_bytes=self.cold_bytes[kinds],
            media_group=nothing - 1,
            media_bytes=nothing[:0],
        )


# Where nothing is known: memories without importance, with texts of some 120 bytes, no vectors.
_ALIKE: Final = Arrivals(
    memory_type=np.array([SEMANTIC], dtype=np.uint8),
    importance=np.array([0.5]),
    bytes=np.array([432], dtype=np.int64),
    cold_bytes=np.array([488], dtype=np.int64),
)


def no_memories() -> Snapshot:
    """The snapshot of an empty store."""
    return _ALIKE.snapshot(0, 0, at=0, rid=1)


def arrivals_like(snapshot: Snapshot, now: int) -> Arrivals:
    """The newest scored memories of a snapshot at `now` (ms): hot ones, whose bytes are known.

    What lived long is no measure of what arrives: it is what was not forgotten.
    """
    rows = np.flatnonzero(
        true_in_all(possible_values(snapshot, now).values()) & (snapshot.tier == HOT)
    )
    if len(rows) == 0:
        return _ALIKE
    newest_first = np.lexsort((snapshot.rid[rows], -snapshot.created_at[rows]))
    rows = rows[newest_first[:SIMULATED_SAMPLE_MEMORIES]]
    return Arrivals(
        memory_type=snapshot.memory_type[rows],
        importance=snapshot.importance[rows],
        bytes=snapshot.bytes[rows],
        cold_bytes=snapshot.cold_bytes[rows],
    )


def arrival_id(number: int) -> str:
    """The id of an arrival: only to order memories that are alike in all else."""
    return f"simulated-{number:09}"
