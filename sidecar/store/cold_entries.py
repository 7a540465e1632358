"""Which memories are cold, and which of them are indexed, in RAM: 30 bytes a memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.store.vector_index import RowIds

NO_SPACE = -1
COUNTER_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class ColdNow:
    """The cold rows and their change counters.

    `changes` rises whenever a cold memory comes, goes or changes.
    """

    rids: RowIds
    counters: NDArray[np.int64]
    changes: int


def stamp_of(content_hash: bytes) -> int:
    """The part of a content hash by which an entry knows the content it was made of."""
    return int.from_bytes(content_hash[:8], "little", signed=True)


@dataclass(frozen=True, slots=True)
class Entries:
    """The indexed rows in order of row id; parallel arrays.

    `counter` is the change counter at which the row was last seen to have the indexed content,
    the one array that changes; `space` and `slot` say where its vector is.
    """

    rid: RowIds
    stamp: NDArray[np.int64]
    counter: NDArray[np.int64]
    space: NDArray[np.int16]
    slot: NDArray[np.int32]

    @staticmethod
    def of(
        rows: Iterable[tuple[int, int, int, int]], counters: Sequence[int] | None = None
    ) -> "Entries":
        """Entries of (rid, stamp, space, slot), and of their counters where these are known."""
        kinds = np.dtype([("rid", "i8"), ("stamp", "i8"), ("space", "i2"), ("slot", "i4")])
        packed = np.fromiter(rows, kinds)
        counter = np.full(len(packed), COUNTER_UNKNOWN, np.int64)
        if counters is not None:
            counter[:] = counters
        order = np.argsort(packed["rid"])
        return Entries(
            packed["rid"][order].copy(),
            packed["stamp"][order].copy(),
            counter[order],
            packed["space"][order].copy(),
            packed["slot"][order].copy(),
        )

    def __len__(self) -> int:
        return len(self.rid)

    def find(self, rids: RowIds) -> NDArray[np.int64]:
        """The position of each row, -1 for one that has no entry."""
        if not len(self.rid):
            return np.full(len(rids), -1, np.int64)
        places = np.minimum(np.searchsorted(self.rid, rids), len(self.rid) - 1)
        return np.where(self.rid[places] == rids, places, -1)

    def stored(self) -> list[tuple[int, int, int, int]]:
        """(rid, stamp, space, slot) of each entry."""
        columns = (self.rid, self.stamp, self.space, self.slot)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def without(self, rids: RowIds) -> "Entries":
        """All but these rows."""
        kept = np.isin(self.rid, rids, invert=True)
        return Entries(
            self.rid[kept], self.stamp[kept], self.counter[kept], self.space[kept], self.slot[kept]
        )

    def joined(self, others: Sequence["Entries"]) -> "Entries":
        """These and entries of other rows."""
        parts = [self, *others]
        order = np.argsort(np.concatenate([part.rid for part in parts]), kind="stable")
        return Entries(
            np.concatenate([part.rid for part in parts])[order],
            np.concatenate([part.stamp for part in parts])[order],
            np.concatenate([part.counter for part in parts])[order],
            np.concatenate([part.space for part in parts])[order],
            np.concatenate([part.slot for part in parts])[order],
        )

    def moved(self, places: NDArray[np.int64], slots: NDArray[np.int32]) -> "Entries":
        """With the vectors of some positions in other slots."""
        slot = self.slot.copy()
        slot[places] = slots
        return Entries(self.rid, self.stamp, self.counter, self.space, slot)
