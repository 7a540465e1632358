"""The vectors of hot memories in RAM: exact cosine search by one matrix product.

Vectors are kept normalised, one matrix for each pair of embedding model and dimensions. Only
vectors of one model can be compared, so a search that names a model sees that model only.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.model import HOT
from sidecar.store.sqlite.typed import Connection

Float32 = NDArray[np.float32]
RowIds = NDArray[np.int64]
# Given row ids, which of them may be answered.
Allowed = Callable[[RowIds], NDArray[np.bool_]]

_ROWS_FIRST = 64
LOADED_AT_ONCE: Final = 256
_MORE_THAN_ASKED = 4  # how many times `limit` is looked at before `allowed` sees everything

_LOAD = """
SELECT memories.rid, memories.embedding_model, vectors.embedding
FROM memories JOIN vectors ON vectors.rid = memories.rid WHERE memories.tier = ?
"""


def normalised(embedding: bytes) -> Float32 | None:
    """A little-endian float32 embedding at length 1; None when it has no direction.

    Zero vectors and vectors with NaN or infinity have none: they match nothing.
    """
    vector = np.frombuffer(embedding, dtype="<f4").astype(np.float64)
    length = float(np.sqrt(vector @ vector))
    if not np.isfinite(length) or length == 0.0:
        return None
    return (vector / length).astype(np.float32)


def _normalised_all(embeddings: Sequence[bytes]) -> tuple[Float32, NDArray[np.bool_]]:
    """Those of embeddings of one size that have a direction, as `normalised`; and which these are.

    Bit for bit the same: a vector must not depend on whether it was put or loaded.
    """
    vectors = np.frombuffer(b"".join(embeddings), "<f4").astype(np.float64)
    vectors = vectors.reshape(len(embeddings), -1)
    lengths = np.sqrt(np.vecdot(vectors, vectors))
    directed = np.isfinite(lengths) & (lengths > 0)
    return (vectors[directed] / lengths[directed, None]).astype(np.float32), directed


@dataclass(slots=True)
class _Matrix:
    rows: Float32
    rids: RowIds
    count: int = 0
    position: dict[int, int] = field(default_factory=dict[int, int])

    def put(self, rid: int, vector: Float32) -> None:
        at = self.position.get(rid, self.count)
        if at == len(self.rows):
            self._grow(self.count)
        self.rows[at] = vector
        self.rids[at] = rid
        self.position[rid] = at
        self.count = max(self.count, at + 1)

    def append(self, rids: RowIds, vectors: Float32) -> None:
        """Add rows that are not there yet."""
        start, self.count = self.count, self.count + len(rids)
        while self.count > len(self.rows):
            self._grow(start)
        self.rows[start : self.count] = vectors
        self.rids[start : self.count] = rids
        self.position.update(zip(rids.tolist(), range(start, self.count), strict=True))

    def remove(self, rid: int) -> None:
        at = self.position.pop(rid)
        self.count -= 1
        if at != self.count:
            self.rows[at] = self.rows[self.count]
            self.rids[at] = self.rids[self.count]
            self.position[int(self.rids[at])] = at

    def _grow(self, used: int) -> None:
        rows = np.empty((2 * len(self.rows), self.rows.shape[1]), dtype=np.float32)
        rids = np.empty(2 * len(self.rows), dtype=np.int64)
        rows[:used] = self.rows[:used]
        rids[:used] = self.rids[:used]
        self.rows, self.rids = rows, rids


class VectorIndex:
    """Cosine search over the vectors of one namespace's hot memories.

    Safe for one writer and any number of readers; each call is atomic.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._matrices: dict[tuple[str | None, int], _Matrix] = {}
        self._key_of: dict[int, tuple[str | None, int]] = {}

    def __len__(self) -> int:
        """How many vectors can be found."""
        return len(self._key_of)

    def load(self, connection: Connection) -> None:
        """Replace everything by the vectors of the hot memories in the database."""
        fresh = VectorIndex()
        rows: Iterator[tuple[int, str | None, bytes]] = iter(connection.execute(_LOAD, (HOT,)))
        # Many at once: writes wait for this.
        while block := list(islice(rows, LOADED_AT_ONCE)):
            fresh._append(block)
        with self._lock:
            self._matrices, self._key_of = fresh._matrices, fresh._key_of

    def put(self, rid: int, model: str | None, embedding: bytes | None) -> None:
        """Add or replace a memory's vector; None, and a vector without direction, removes it."""
        vector = None if embedding is None else normalised(embedding)
        with self._lock:
            key = None if vector is None else (model, len(vector))
            previous = self._key_of.get(rid)
            if previous is not None and previous != key:
                self._remove(rid)
            if vector is None or key is None:
                return
            self._matrix(key).put(rid, vector)
            self._key_of[rid] = key

    def remove(self, rid: int) -> None:
        """Take a memory out; unknown row ids are ignored."""
        with self._lock:
            if rid in self._key_of:
                self._remove(rid)

    def search(
        self, model: str | None, query: bytes, limit: int, allowed: Allowed | None = None
    ) -> tuple[RowIds, Float32]:
        """The nearest memories, best first, with their cosines; equal ones by row id.

        `model` None searches every model whose vectors have as many dimensions as the query.
        """
        vector = normalised(query)
        if vector is None or limit <= 0:
            return _nothing()
        with self._lock:
            compared = [
                _compared(matrix, vector)
                for (name, dimensions), matrix in self._matrices.items()
                if dimensions == len(vector) and (model is None or name == model)
            ]
        # `allowed` may wait for a lock whose holder waits for ours: ask it when ours is free.
        parts = [_nearest(rids, cosines, limit, allowed) for rids, cosines in compared]
        rids = np.concatenate([part[0] for part in parts]) if parts else _nothing()[0]
        cosines = np.concatenate([part[1] for part in parts]) if parts else _nothing()[1]
        return best(rids, cosines, limit)

    def _append(self, block: list[tuple[int, str | None, bytes]]) -> None:
        """Add vectors of memories that have none here yet."""
        alike: dict[tuple[str | None, int], list[tuple[int, bytes]]] = {}
        for rid, model, embedding in block:
            alike.setdefault((model, len(embedding)), []).append((rid, embedding))
        for (model, _), members in alike.items():
            vectors, directed = _normalised_all([embedding for _, embedding in members])
            rids = np.array([rid for rid, _ in members], np.int64)[directed]
            if len(rids):
                key = (model, vectors.shape[1])
                self._matrix(key).append(rids, vectors)
                self._key_of.update(dict.fromkeys(rids.tolist(), key))

    def _matrix(self, key: tuple[str | None, int]) -> _Matrix:
        matrix = self._matrices.get(key)
        if matrix is None:
            rows = np.empty((_ROWS_FIRST, key[1]), dtype=np.float32)
            matrix = self._matrices[key] = _Matrix(rows, np.empty(_ROWS_FIRST, dtype=np.int64))
        return matrix

    def _remove(self, rid: int) -> None:
        key = self._key_of.pop(rid)
        matrix = self._matrices[key]
        matrix.remove(rid)
        if matrix.count == 0:
            del self._matrices[key]


def best(rids: RowIds, scores: Float32, limit: int) -> tuple[RowIds, Float32]:
    """The `limit` highest scores, best first; equal ones by row id."""
    if len(rids) > limit:
        # Ties at the border must not depend on the order in RAM: keep all of them for now.
        border = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        within = scores >= border
        rids, scores = rids[within], scores[within]
    order = np.lexsort((rids, -scores))[:limit]
    return rids[order], scores[order]


def _compared(matrix: _Matrix, vector: Float32) -> tuple[RowIds, Float32]:
    # Not `@`: its threads wait for one another, and on a busy machine that takes far longer.
    cosines = np.clip(np.vecdot(matrix.rows[: matrix.count], vector), -1.0, 1.0)
    return matrix.rids[: matrix.count].copy(), cosines


def _nearest(
    rids: RowIds, cosines: Float32, limit: int, allowed: Allowed | None
) -> tuple[RowIds, Float32]:
    if allowed is None:
        return best(rids, cosines, limit)
    some_rids, some_cosines = best(rids, cosines, _MORE_THAN_ASKED * limit)
    within = allowed(some_rids)
    if int(within.sum()) < limit and len(some_rids) < len(rids):
        some_rids, some_cosines, within = rids, cosines, allowed(rids)
    return best(some_rids[within], some_cosines[within], limit)


def _nothing() -> tuple[RowIds, Float32]:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
