"""One recall: hot first, then cold where that is asked for or needed. Everything here blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import Corrupt, InvalidParams
from sidecar.model import (
    ACTIVE,
    ARCHIVED,
    COLD,
    HOT,
    MEMORY_TYPES,
    Memory,
    MemoryType,
    RecalledMemory,
)
from sidecar.plan.plan import Int64
from sidecar.reports import RecallReport
from sidecar.shown import memory_of
from sidecar.store import links, rows
from sidecar.store.recall import (
    ColdScan,
    Hit,
    fuse,
    hot_statistics,
    is_relevant,
    load_cold_rows,
    merge_hits,
    search_hot_text,
)
from sidecar.store.search_text import TermCounter, TextQuery, parse_query
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.store.vector_index import VectorIndex
from sidecar.strength import strength_parts

Depth = Literal["auto", "hot", "deep"]
# Each list goes this much deeper than the answer, so that fusing has something to fuse.
POOL_SHARE = 3
POOL_MIN = 50


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A checked recall. `vector` is little-endian float32."""

    query: str | None
    vector: bytes | None
    model: str | None
    top_k: int
    depth: Depth
    memory_types: frozenset[int] | None
    include_archived: bool
    min_strength: float | None


class Recall:
    """Answers the recalls of one namespace."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def run(self, request: RecallRequest, now: int) -> tuple[RecallReport, list[rows.Row]]:
        """The report, and the rows behind it in its order. Changes nothing.

        Raises InvalidParams where the vector's size fits no memory of its model.
        """
        self._check_dimensions(request)
        allowed = _Allowed(self._store, request, now)
        query = parse_query(request.query) if request.query is not None else None
        pool = max(POOL_MIN, POOL_SHARE * request.top_k)
        with self._store.readers.view() as connection:
            text = search_hot_text(connection, query, pool, allowed) if query else []
            vectors = self._nearest(request, pool, allowed)
            found = self._fused(connection, request, text, vectors, query, allowed)
            scanned = 0
            deep = request.depth == "deep" or (
                request.depth == "auto"
                and self._store.columns.counts().cold > 0
                and sum(one.relevant for one in found) < request.top_k
            )
            if deep:
                cold = ColdScan(
                    limit=pool,
                    query=query,
                    vector=request.vector,
                    model=request.model,
                    statistics=hot_statistics(connection, query) if query else None,
                )
                places = load_cold_rows(connection)
                within = allowed(places.rid)
                result = cold.run(self._store.files.folder(COLD), places.keep(within))
                scanned = result.scanned
                text = merge_hits(pool, text, result.text)
                vectors = merge_hits(pool, vectors, result.vectors)
                found = self._fused(connection, request, text, vectors, query, allowed)
        report = RecallReport(
            results=[one.result for one in found],
            depth="deep" if deep else "hot",
            cold_scanned=scanned,
        )
        return report, [one.row for one in found]

    def _check_dimensions(self, request: RecallRequest) -> None:
        if request.vector is None:
            return
        size = len(request.vector) // rows.FLOAT32_BYTES
        known = self._store.records.dimensions
        sizes = set(known.values()) if request.model is None else {known.get(request.model, size)}
        if sizes and size not in sizes:
            raise InvalidParams(
                f"$.embedding has {size} numbers; the memories' have {sorted(sizes)}",
                field="$.embedding",
                bound=f"as many numbers as the stored embeddings: {sorted(sizes)}",
                remedy="embed the query with the model that embedded the memories",
            )

    def _nearest(self, request: RecallRequest, limit: int, allowed: "_Allowed") -> list[Hit]:
        if request.vector is None:
            return []
        if self._store.columns.vectors is None:
            self._store.writer.call(self._load_vectors, alone=True)
        index = self._store.columns.vectors
        assert index is not None, "the vectors were loaded"
        rids, cosines = index.search(request.model, request.vector, limit, allowed)
        return list(zip(rids.tolist(), cosines.tolist(), strict=True))

    def _load_vectors(self, tx: Transaction) -> None:
        if self._store.columns.vectors is None:
            index = VectorIndex()
            index.load(tx.connection)
            self._store.columns.vectors = index

    def _fused(
        self,
        connection: Connection,
        request: RecallRequest,
        text: list[Hit],
        vectors: list[Hit],
        query: TextQuery | None,
        allowed: "_Allowed",
    ) -> list["_Found"]:
        text_scores, vector_scores = dict(text), dict(vectors)
        rankings = [list(scores) for scores in (text_scores, vector_scores) if scores]
        known = {rid for ranking in rankings for rid in ranking}
        strengths, ids = allowed.strengths(np.array(sorted(known), np.int64))
        ranked = fuse(rankings, strengths.get, lambda rid: ids.get(rid, ""))
        counter = TermCounter(query) if query and query.terms else None
        found: list[_Found] = []
        for rid, score in ranked:
            if len(found) == request.top_k:
                break
            shown = self._shown(connection, rid, allowed.now)
            if shown is None:
                continue
            row, memory = shown
            cosine = vector_scores.get(rid)
            share = counter.share(memory.content) if counter else None
            result = RecalledMemory(
                memory=memory,
                score=score,
                text_score=text_scores.get(rid),
                vector_score=cosine,
            )
            found.append(_Found(row, result, is_relevant(share, cosine)))
        return found

    def _shown(self, connection: Connection, rid: int, now: int) -> tuple[rows.Row, Memory] | None:
        """A result; a damaged memory is left out, the others are still answered."""
        row = rows.by_rid(connection, rid)
        if row is None or row.tier not in (HOT, COLD):
            return None
        try:
            payload = self._store.payload(connection, row)
        except Corrupt:
            self._store.findings.corrupt_ids.add(row.id)
            return None
        older = links.predecessors(connection, row.id)
        superseded = links.is_superseded(connection, row)
        return row, memory_of(
            row, payload, older, now, superseded=superseded, include_embedding=False
        )


@dataclass(frozen=True, slots=True)
class _Found:
    row: rows.Row
    result: RecalledMemory
    relevant: bool


class _Allowed:
    """Which rows a recall may answer: live, valid, unexpired, believed, of a wanted type."""

    def __init__(self, store: Store, request: RecallRequest, now: int) -> None:
        self._store = store
        self._request = request
        self.now = now

    def __call__(self, rids: Int64) -> NDArray[np.bool_]:
        request, now = self._request, self.now
        snapshot, valid_from, live = self._store.columns.rows_at(rids)
        keep = snapshot.status == ACTIVE
        if request.include_archived:
            keep |= snapshot.status == ARCHIVED
        keep &= (snapshot.expires_at == 0) | (snapshot.expires_at > now)
        keep &= valid_from <= now
        if request.memory_types is not None:
            keep &= np.isin(snapshot.memory_type, list(request.memory_types))
        if request.min_strength is not None:
            parts = strength_parts(snapshot, now)
            keep &= ~parts.scored | (parts.strength >= request.min_strength)
        allowed = np.zeros(len(rids), np.bool_)
        allowed[live] = keep
        return allowed

    def strengths(self, rids: Int64) -> tuple[dict[int, float | None], dict[int, str]]:
        """Strength and id of each live row."""
        snapshot, _, _ = self._store.columns.rows_at(rids)
        parts = strength_parts(snapshot, self.now)
        strengths = {
            rid: strength if scored else None
            for rid, strength, scored in zip(
                snapshot.rid.tolist(), parts.strength.tolist(), parts.scored.tolist(), strict=True
            )
        }
        return strengths, dict(zip(snapshot.rid.tolist(), snapshot.ids, strict=True))


def type_codes(names: Sequence[MemoryType] | None) -> frozenset[int] | None:
    """Memory types by their code."""
    return None if names is None else frozenset(MEMORY_TYPES.index(name) for name in names)
