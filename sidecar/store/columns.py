"""The scoring columns of all live memories, in RAM, as numpy arrays.

They follow the database: a change is applied only after its COMMIT returned. A plan is made
from a copy, so planning never waits for a write and a write hardly waits for planning.
About 130 bytes a memory, and its id.
"""

import threading
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sidecar.model import COLD, FORGOTTEN, HOT
from sidecar.plan.plan import Counts, Int64, Snapshot
from sidecar.store.cold_entries import ColdNow
from sidecar.store.column_kinds import BETWEEN, COLUMN_TYPES, IMPOSSIBLE, LOADED, NEVER
from sidecar.store.progress import Progress
from sidecar.store.rows import Row, cold_bytes
from sidecar.store.sqlite.typed import Connection
from sidecar.store.vector_index import VectorIndex

CAPACITY_FIRST: Final = 1_024
_NO_SLOT: Final = -1
_LOADED_AT_ONCE: Final = 4_096


class Columns:
    """Live memories by slot; `slot_of` finds a row number's slot. Guarded by one lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.progress = Progress(self.lock)
        self._size = 0
        self._arrays: dict[str, NDArray[Any]] = {
            name: np.zeros(CAPACITY_FIRST, kind) for name, kind in COLUMN_TYPES.items()
        }
        self._ids: list[str] = []
        self._slot_of = np.full(CAPACITY_FIRST, _NO_SLOT, np.int32)
        self._media: dict[str, int] = {}
        self._media_sizes: list[int] = []
        self._media_owners: list[int] = []
        self.media_waits = False  # a file is to follow a memory that has moved
        # Links of forgotten memories: row number -> (successor's row number, when it went).
        self._gone: dict[int, tuple[int, int]] = {}
        self.hot = 0
        self.cold = 0
        self.forgotten = 0
        self.live_bytes = 0
        # The vectors of the hot memories; loaded by the first recall that needs them.
        self.vectors: VectorIndex | None = None

    def counts(self) -> Counts:
        """The kept counters; constant time."""
        return Counts(self.hot, self.cold, self.forgotten, self.live_bytes)

    def returned(self, row: Row, successor_rid: int) -> None:
        """Record that a forgotten memory is live again (caller holds the lock)."""
        self.forgotten -= 1
        self.put(row, successor_rid)

    def put(self, row: Row, successor_rid: int) -> None:
        """Add or replace a live memory (caller holds the lock)."""
        values = (
            row.rid,
            row.id,
            row.tier,
            row.status,
            row.memory_type,
            row.value,
            row.fade_factor,
            row.faded_at,
            row.created_at,
            row.last_recalled_at,
            row.recall_count,
            row.success_count,
            row.failure_count,
            row.pinned,
            row.evergreen,
            row.held_until,
            row.restored_at,
            row.expires_at,
            row.valid_from,
            row.change_counter,
            row.bytes,
            row.text_bytes,
            row.embedding_dimensions,
            row.media_ref,
        )
        self._put(values, successor_rid)

    def remove(self, rid: int, gone_at: int) -> None:
        """Take a forgotten memory out of the live ones (caller holds the lock)."""
        slot = self._slot(rid)
        if slot == _NO_SLOT:
            return
        self._account(slot, -1)
        self.forgotten += 1
        successor = int(self._arrays["successor_rid"][slot])
        if successor:
            self._gone[rid] = (successor, gone_at)
        last = self._size - 1
        if slot != last:
            for array in self._arrays.values():
                array[slot] = array[last]
            self._ids[slot] = self._ids[last]
            self._slot_of[self._arrays["rid"][slot]] = slot
        self._ids.pop()
        self._slot_of[rid] = _NO_SLOT
        self._size = last

    def destroyed(self, rids: list[int]) -> None:
        """Record that rows are gone for good, from any tier (caller holds the lock)."""
        for rid in rids:
            self.remove(rid, 0)  # counts a live one among the forgotten, where the others are
            self._gone.pop(rid, None)
        self.forgotten -= len(rids)
        links = self._arrays["successor_rid"][: self._size]
        links[np.isin(links, rids)] = -1
        lost = set(rids)
        self._gone = {r: (-1 if s in lost else s, at) for r, (s, at) in self._gone.items()}

    def moved(self, rid: int, tier: int, size: int, change_counter: int) -> None:
        """Record a move between hot and cold (caller holds the lock)."""
        slot = self._slot(rid)
        assert slot != _NO_SLOT, "a memory that moves is live"
        self._account(slot, -1)
        self._arrays["tier"][slot] = tier
        self._arrays["bytes"][slot] = size
        self._arrays["change_counter"][slot] = change_counter
        self._account(slot, 1)

    def touched(self, rid: int, at: int, recall_count: int, change_counter: int) -> None:
        """Record a folded touch (caller holds the lock)."""
        slot = self._slot(rid)
        if slot != _NO_SLOT:
            self._arrays["last_recalled_at"][slot] = at
            self._arrays["recall_count"][slot] = recall_count
            self._arrays["change_counter"][slot] = change_counter

    def linked(self, rid: int, successor_rid: int) -> None:
        """Record that a named successor exists now (caller holds the lock)."""
        if rid in self._gone:
            self._gone[rid] = (successor_rid, self._gone[rid][1])
        slot = self._slot(rid)
        if slot != _NO_SLOT:
            self._arrays["successor_rid"][slot] = successor_rid

    def gone(self, rid: int, successor_rid: int, gone_at: int) -> None:
        """Record the successor of a forgotten memory, 0 for none (caller holds the lock)."""
        self._gone.pop(rid, None)
        if successor_rid:
            self._gone[rid] = (successor_rid, gone_at)

    def came_forgotten(self, rid: int, successor_rid: int, gone_at: int) -> None:
        """Record a new memory that was never live here (caller holds the lock)."""
        self.forgotten += 1
        self.gone(rid, successor_rid, gone_at)

    def media_size(self, ref: str, size: int) -> None:
        """Record the size of a file, shared or not (caller holds the lock)."""
        group = self._media_group(ref)
        if self._media_owners[group]:
            self.live_bytes += size - self._media_sizes[group]
        self._media_sizes[group] = size

    def media_follows(self) -> None:
        """Record that a file is to follow a memory that has moved (caller holds the lock)."""
        self.media_waits = True

    def vector_put(self, rid: int, model: str | None, embedding: bytes) -> None:
        """Record a hot memory's vector, where vectors are loaded (caller holds the lock)."""
        if self.vectors is not None:  # it may be empty, and an empty one is false
            self.vectors.put(rid, model, embedding)

    def vectors_removed(self, rids: Iterable[int]) -> None:
        """Drop the vectors of memories that left the hot store (caller holds the lock)."""
        if self.vectors is not None:
            for rid in rids:
                self.vectors.remove(rid)

    def snapshot(self) -> Snapshot:
        """A copy of every column, for a plan."""
        with self.lock:
            size = self._size
            copies = {name: array[:size].copy() for name, array in self._arrays.items()}
            ids = self._ids.copy()
            del copies["valid_from"]
            media = np.array(self._media_sizes, np.int64)
            gone = [(rid, successor, at) for rid, (successor, at) in self._gone.items()]
        links = np.array(gone, np.int64).reshape(-1, 3)
        return Snapshot(
            ids=ids,
            media_bytes=media,
            gone_rid=links[:, 0].copy(),
            gone_successor_rid=links[:, 1].copy(),
            gone_at=links[:, 2].copy(),
            **copies,
        )

    def rows_at(self, rids: Int64) -> tuple[Snapshot, Int64, NDArray[np.bool_]]:
        """The live ones of some rows, when each becomes valid, and which of `rids` they are."""
        with self.lock:
            within = rids < len(self._slot_of)
            slots = np.where(within, self._slot_of[np.where(within, rids, 0)], _NO_SLOT)
            live = slots != _NO_SLOT
            slots = slots[live]
            copies = {name: array[slots] for name, array in self._arrays.items()}
            chosen: list[int] = slots.tolist()
            ids = [self._ids[slot] for slot in chosen]
        valid_from = copies.pop("valid_from")
        nothing = np.empty(0, np.int64)
        return Snapshot(ids=ids, media_bytes=nothing, **copies), valid_from, live

    def cold_now(self) -> ColdNow:
        """The cold rows with their change counters."""
        with self.lock:
            cold = np.flatnonzero(self._arrays["tier"][: self._size] == COLD)
            rids, counters = (self._arrays[name][cold] for name in ("rid", "change_counter"))
            return ColdNow(rids, counters, self.progress.cold_changes)

    def load(self, connection: Connection) -> None:
        """Fill the columns from the database (at open, or after an uncertain commit)."""
        with self.lock:
            self.__dict__.update(
                {
                    name: value
                    for name, value in Columns().__dict__.items()
                    if name not in ("lock", "progress", "vectors")
                }
            )
            self.progress.cold_changes += 1
            query = "SELECT value FROM meta WHERE key = 'commits'"
            self.progress.reach(connection.execute(query).fetchall()[0][0])
            if self.vectors is not None:
                self.vectors.load(connection)
            self.media_waits = True  # for all we know
            for ref, size in connection.execute("SELECT ref, bytes FROM media"):
                self.media_size(ref, size)
            successors = dict(
                connection.execute(
                    "SELECT m.rid, coalesce(s.rid, -1) FROM memories m"
                    " LEFT JOIN memories s ON s.id = m.superseded_by"
                    " WHERE m.superseded_by IS NOT NULL"
                )
            )
            query = f"SELECT {LOADED} FROM memories WHERE tier < {FORGOTTEN} ORDER BY rid"
            found = iter(connection.execute(query))
            while block := list(islice(found, _LOADED_AT_ONCE)):
                self._append(block, successors)
            self.forgotten = connection.execute(
                "SELECT count(*) FROM memories WHERE tier = ?", (FORGOTTEN,)
            ).fetchall()[0][0]
            gone = connection.execute(
                "SELECT rid, coalesce(forgotten_at, 0) FROM memories"
                " WHERE tier = ? AND superseded_by IS NOT NULL",
                (FORGOTTEN,),
            )
            self._gone = {rid: (successors[rid], at) for rid, at in gone}

    def _append(self, block: list[tuple[Any, ...]], successors: dict[int, int]) -> None:
        """Add rows of `LOADED` that are not there yet, many at once."""
        rids, ids, *middle, text_bytes, dimensions, media_refs = zip(*block, strict=True)
        start, stop = self._size, self._size + len(block)
        self._make_room(stop, max(rids))
        arrays = self._arrays
        arrays["rid"][start:stop] = rids
        for name, values in zip(BETWEEN, middle, strict=True):
            arrays[name][start:stop] = values
        arrays["successor_rid"][start:stop] = [successors.get(rid, 0) for rid in rids]
        arrays["cold_bytes"][start:stop] = list(map(cold_bytes, text_bytes, dimensions))
        arrays["media_group"][start:stop] = -1
        self._slot_of[list(rids)] = np.arange(start, stop)
        self._ids += ids
        self._size = stop
        hot = int(np.count_nonzero(arrays["tier"][start:stop] == HOT))
        self.hot += hot
        self.cold += len(block) - hot
        self.live_bytes += int(arrays["bytes"][start:stop].sum())
        for slot, ref in enumerate(media_refs, start):
            if ref is not None:
                group = arrays["media_group"][slot] = self._media_group(ref)
                self._own(group, 1)

    def _put(self, values: tuple[Any, ...], successor_rid: int) -> None:
        rid, memory_id, *middle, text_bytes, dimensions, media_ref = values
        self._gone.pop(rid, None)
        slot = self._slot(rid)
        if slot == _NO_SLOT:
            slot = self._grow(rid)
            self._ids.append(memory_id)
        else:
            self._account(slot, -1)
        arrays = self._arrays
        arrays["rid"][slot] = rid
        for name, value in zip(BETWEEN, middle, strict=True):
            arrays[name][slot] = value or (NEVER if value is None else IMPOSSIBLE.get(name, 0))
        arrays["successor_rid"][slot] = successor_rid
        arrays["cold_bytes"][slot] = cold_bytes(text_bytes, dimensions)
        arrays["media_group"][slot] = -1 if media_ref is None else self._media_group(media_ref)
        self._account(slot, 1)

    def _grow(self, rid: int) -> int:
        slot = self._size
        self._make_room(slot + 1, rid)
        self._slot_of[rid] = slot
        self._size += 1
        return slot

    def _make_room(self, size: int, rid_max: int) -> None:
        """Let so many slots, and row numbers up to `rid_max`, fit in. Doubles at least."""
        capacity = len(self._arrays["rid"])
        if size > capacity:
            more = max(size - capacity, capacity)
            for name, array in self._arrays.items():
                self._arrays[name] = np.concatenate([array, np.zeros(more, array.dtype)])
        if rid_max >= len(self._slot_of):
            more = max(rid_max + 1 - len(self._slot_of), len(self._slot_of))
            added = np.full(more, _NO_SLOT, np.int32)
            self._slot_of = np.concatenate([self._slot_of, added])

    def _slot(self, rid: int) -> int:
        return int(self._slot_of[rid]) if rid < len(self._slot_of) else _NO_SLOT

    def _account(self, slot: int, sign: int) -> None:
        if self._arrays["tier"][slot] == HOT:
            self.hot += sign
        else:
            self.cold += sign
            self.progress.cold_changes += 1
        self.live_bytes += sign * int(self._arrays["bytes"][slot])
        group = int(self._arrays["media_group"][slot])
        if group >= 0:
            self._own(group, sign)

    def _own(self, group: int, sign: int) -> None:
        before = self._media_owners[group]
        self._media_owners[group] = before + sign
        if before == 0 or before + sign == 0:
            self.live_bytes += sign * self._media_sizes[group]

    def _media_group(self, ref: str) -> int:
        group = self._media.get(ref)
        if group is None:
            group = self._media[ref] = len(self._media_sizes)
            self._media_sizes.append(0)
            self._media_owners.append(0)
        return group
