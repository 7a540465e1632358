"""One recall: hot first, then cold where that is asked for or needed. Everything here blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import Corrupt, InvalidParams
from sidecar.limits import TIME_MIN_MS
from sidecar.model import (
    ACTIVE,
    ARCHIVED,
    COLD,
    HOT,
    INVALIDATED,
    MEMORY_TYPES,
    SUPERSEDED,
    Memory,
    MemoryType,
    RecalledMemory,
)
from sidecar.plan.plan import Int64, Snapshot
from sidecar.reports import RecallReport
from sidecar.shown import memory_of
from sidecar.store import links, rows
from sidecar.store.cold_entries import ColdNow
from sidecar.store.cold_search import ColdRequest, ColdSearch, read_cold_rows, read_commits
from sidecar.store.recall import (
    ColdResult,
    Hit,
    fuse,
    is_relevant,
    merge_hits,
    search_hot_text,
)
from sidecar.store.search_text import TermCounter, TextQuery, parse_query
from sidecar.store.sqlite.source import read_hot_payloads
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.store.vector_index import VectorIndex
from sidecar.strength import strength_parts

Depth = Literal["auto", "hot", "deep"]
# Each list goes this much deeper than the answer, so that fusing has something to fuse.
POOL_SHARE = 3
POOL_MIN = 50
# A merge may take a segment away under a scan, which then looks again in a new view.
VIEWS_MAX = 3
NO_COLD = ColdNow(np.empty(0, np.int64), np.empty(0, np.int64), 0)


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
        self._cold = ColdSearch(store.cold_index, store.files)

    def run(self, request: RecallRequest, now: int) -> tuple[RecallReport, list[rows.Row]]:
        """The report, and the rows behind it in its order. Changes nothing.

        Raises InvalidParams where the vector's size fits no memory of its model.
        """
        self._check_dimensions(request)
        allowed = _Allowed(self._store, request, now)
        deep, result, found = self._look(request, allowed)
        for _ in range(VIEWS_MAX - 1):
            if not (result.faults and self._store.remember_faults(result.faults)):
                break
            deep, result, found = self._look(request, allowed)
        report = RecallReport(
            results=[one.result for one in found],
            depth="deep" if deep else "hot",
            cold_scanned=result.scanned,
        )
        return report, [one.row for one in found]

    def _look(
        self, request: RecallRequest, allowed: "_Allowed"
    ) -> tuple[bool, ColdResult, list["_Found"]]:
        """One recall in one view: whether it went deep, what the scan saw, and the results.

        The vectors of hot memories and the columns are not those of the view where a memory moved
        meanwhile: then once more. The last time both are taken as they are before and in the view.
        """
        pool = max(POOL_MIN, POOL_SHARE * request.top_k)
        for tries_left in reversed(range(VIEWS_MAX)):
            before = [] if tries_left else self._nearest(request, pool, allowed)
            with self._store.readers.view() as connection:
                if request.depth == "hot":
                    vectors = self._nearest(request, pool, allowed)
                    return self._look_in(connection, request, allowed, pool, vectors, NO_COLD)
                commits = read_commits(connection)
                mark = self._store.columns.progress.follow(commits)
                vectors = self._nearest(request, pool, allowed)
                cold = self._store.columns.cold_now()
                if mark != (commits, cold.changes):
                    if tries_left:
                        continue
                    cold = read_cold_rows(connection)
                    vectors = merge_hits(pool, before, vectors)
                return self._look_in(connection, request, allowed, pool, vectors, cold)
        raise AssertionError("the last view is answered")

    def _look_in(
        self,
        connection: Connection,
        request: RecallRequest,
        allowed: "_Allowed",
        pool: int,
        vectors: list[Hit],
        cold: ColdNow,
    ) -> tuple[bool, ColdResult, list["_Found"]]:
        query = parse_query(request.query) if request.query is not None else None
        nothing = ColdResult([], [], 0, [])
        if request.depth != "deep":
            text = search_hot_text(connection, query, pool, allowed) if query else []
            found = self._fused(connection, request, text, vectors, allowed)
            if not len(cold.rids) or _enough(found, query, request.top_k):
                return False, nothing, found
        asked = ColdRequest(query, request.vector, request.model, pool, allowed)
        result = self._cold.run(connection, cold, asked)
        vectors = merge_hits(pool, vectors, result.vectors)
        return True, result, self._fused(connection, request, result.text, vectors, allowed)

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
        allowed: "_Allowed",
    ) -> list["_Found"]:
        text_scores, vector_scores = dict(text), dict(vectors)
        rankings = [list(scores) for scores in (text_scores, vector_scores) if scores]
        known = {rid for ranking in rankings for rid in ranking}
        strengths, ids = allowed.strengths(np.array(sorted(known), np.int64))
        ranked = fuse(rankings, strengths.get, lambda rid: ids.get(rid, ""))
        found: list[_Found] = []
        for start in range(0, len(ranked), request.top_k):  # one part, unless some are damaged
            part = ranked[start : start + request.top_k]
            shown = self._shown(connection, [rid for rid, _ in part], allowed.now)
            for rid, score in part:
                if rid not in shown:
                    continue
                row, memory = shown[rid]
                result = RecalledMemory(
                    memory=memory,
                    score=score,
                    text_score=text_scores.get(rid),
                    vector_score=vector_scores.get(rid),
                )
                found.append(_Found(row, result))
            if len(found) >= request.top_k:
                break
        return found[: request.top_k]

    def _shown(
        self, connection: Connection, rids: list[int], now: int
    ) -> dict[int, tuple[rows.Row, Memory]]:
        """Results by row; a damaged memory is left out, the others are still answered."""
        shown: dict[int, tuple[rows.Row, Memory]] = {}
        found = [row for row in rows.by_rids(connection, rids) if row.tier in (HOT, COLD)]
        older = links.predecessors_of(connection, [row.id for row in found])
        hot = read_hot_payloads(connection, found)
        for row in found:
            try:
                payload = hot.get(row.rid) or self._store.payload(connection, row)
            except Corrupt:
                self._store.findings.corrupt_ids.add(row.id)
                continue
            superseded = links.is_superseded(connection, row)
            replaced = older.get(row.id, [])
            memory = memory_of(
                row, payload, replaced, now, superseded=superseded, include_embedding=False
            )
            shown[row.rid] = row, memory
        return shown


@dataclass(frozen=True, slots=True)
class _Found:
    row: rows.Row
    result: RecalledMemory


def _enough(found: list[_Found], query: TextQuery | None, top_k: int) -> bool:
    """Whether so many results stand above the relevance floor that nothing else is looked at."""
    counter = TermCounter(query) if query and query.terms else None
    relevant = 0
    for one in found:
        share = counter.share(one.result.memory.content) if counter else None
        relevant += is_relevant(share, one.result.vector_score)
    return relevant >= top_k


class _Allowed:
    """Which rows a recall may answer: live, valid, unexpired, believed, of a wanted type."""

    def __init__(self, store: Store, request: RecallRequest, now: int) -> None:
        self._store = store
        self._request = request
        self.now = now

    def __call__(self, rids: Int64) -> NDArray[np.bool_]:
        request, now = self._request, self.now
        snapshot, valid_from, live = self._store.columns.rows_at(rids)
        keep = (snapshot.status == ACTIVE) | self._not_replaced(snapshot)
        if request.include_archived:
            keep |= snapshot.status == ARCHIVED
        keep &= (snapshot.expires_at < TIME_MIN_MS) | (snapshot.expires_at > now)
        keep &= valid_from <= now
        if request.memory_types is not None:
            keep &= np.isin(snapshot.memory_type, list(request.memory_types))
        if request.min_strength is not None:
            parts = strength_parts(snapshot, now)
            keep &= ~parts.scored | (parts.strength >= request.min_strength)
        allowed = np.zeros(len(rids), np.bool_)
        allowed[live] = keep
        return allowed

    def _not_replaced(self, snapshot: Snapshot) -> NDArray[np.bool_]:
        """Superseded memories of which no newer version stands: as for a sweep, they count.

        Where the direct successor stands, the columns say so; the few others follow the chain.
        """
        alone = (snapshot.status == SUPERSEDED) & (snapshot.successor_rid != 0)
        places = np.flatnonzero(alone)
        if not len(places):
            return alone
        successors = snapshot.successor_rid[places]
        newer, _, live = self._store.columns.rows_at(np.maximum(successors, 0))
        standing = np.zeros(len(places), np.bool_)
        standing[live] = newer.status != INVALIDATED
        alone[places[standing]] = False
        with self._store.readers.borrow() as connection:
            for place in [int(one) for one in places[~standing]]:
                alone[place] = not links.newer_stands(connection, snapshot.ids[place])
        return alone

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
