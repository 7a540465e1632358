"""Recalls that are not yet counted in the database.

They are written at most five seconds later, and before any run; a kill may lose them. A dry
run, which writes nothing, seals what has come so far and counts it in RAM: what comes after
the plan is then a change of its own.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sidecar.limits import TOUCHES_PENDING_MAX
from sidecar.plan.plan import Snapshot
from sidecar.store.records import Records
from sidecar.store.sqlite.writer import Transaction

Batch = dict[int, tuple[int, int]]  # row number -> (recalls, time of the last one)


class TouchBuffer:
    """Pending touches in sealed batches; each batch is one change of each of its memories."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches: list[Batch] = [{}]

    def add(self, rids: list[int], at: int) -> None:
        """Count one recall of each row. Beyond the limit the newest touches are dropped."""
        with self._lock:
            batch = self._batches[-1]
            for rid in rids:
                if rid not in batch and len(batch) >= TOUCHES_PENDING_MAX:
                    continue
                count, _ = batch.get(rid, (0, 0))
                batch[rid] = (count + 1, at)

    @property
    def pending(self) -> bool:
        """Whether anything waits to be written."""
        return any(self._batches)

    def take(self) -> list[Batch]:
        """Every batch that has touches, oldest first; the buffer is empty afterwards."""
        with self._lock:
            taken = [batch for batch in self._batches if batch]
            self._batches = [{}]
        return taken

    def give_back(self, batches: list[Batch]) -> None:
        """Put batches back that could not be written."""
        with self._lock:
            self._batches = [*batches, *self._batches]

    def folded(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot as it will be once the touches so far are written. Seals them."""
        with self._lock:
            batches = [dict(batch) for batch in self._batches if batch]
            if self._batches[-1]:
                self._batches.append({})
        if not batches:
            return snapshot
        recalls = snapshot.recall_count.copy()
        recalled_at = snapshot.last_recalled_at.copy()
        counters = snapshot.change_counter.copy()
        touched = np.array(sorted({rid for batch in batches for rid in batch}), np.int64)
        slots = np.flatnonzero(np.isin(snapshot.rid, touched))
        for slot, rid in zip(slots.tolist(), snapshot.rid[slots].tolist(), strict=True):
            for batch in batches:
                if rid in batch:
                    count, at = batch[rid]
                    recalls[slot] += count
                    recalled_at[slot] = max(recalled_at[slot], at)
                    counters[slot] += 1
        return replace(
            snapshot, recall_count=recalls, last_recalled_at=recalled_at, change_counter=counters
        )


def writes(records: Records, batch: Batch, now: int) -> Callable[[Transaction], None]:
    """A job for the writer that counts one batch, in row order."""

    def work(tx: Transaction) -> None:
        for rid in sorted(batch):
            count, at = batch[rid]
            records.touch(tx, rid, count, at, now)

    return work
