"""The cold part of a recall: what is indexed is looked up, the rest is scanned.

Text scores are BM25 over hot, indexed and scanned texts together, so the hot hits are scored anew
on the same scale. Cosines are exact: the index names candidates, their vectors are read from the
segments.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from sidecar.model import COLD
from sidecar.store.bm25 import TextStatistics
from sidecar.store.cold_entries import ColdNow, Entries
from sidecar.store.cold_index import ColdIndex, Reading
from sidecar.store.cold_tables import FAULTS
from sidecar.store.cold_text import search_text
from sidecar.store.cold_vectors import exact_cosines, shortlist
from sidecar.store.recall import (
    ColdResult,
    ColdScan,
    Hit,
    SegmentFault,
    hot_statistics,
    load_cold_rows,
    merge_hits,
)
from sidecar.store.search_text import TextQuery
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import SegmentDamaged
from sidecar.store.sqlite.typed import Connection
from sidecar.store.vector_index import Allowed, Float32, RowIds, best, normalised

_COMMITS = "SELECT value FROM meta WHERE key = 'commits'"
_COLD = "SELECT rid, change_counter FROM memories WHERE tier = ?"
_PLACES = (
    "SELECT rid, segment, frame, line FROM memories WHERE tier = ? AND segment IS NOT NULL"
    " AND rid IN (SELECT value FROM json_each(?)) ORDER BY segment, frame, line"
)


@dataclass(frozen=True, slots=True)
class ColdRequest:
    """What a deep recall asks for. `vector` is little-endian float32."""

    query: TextQuery | None
    vector: bytes | None
    model: str | None
    limit: int
    allowed: Allowed


def read_commits(connection: Connection) -> int:
    """How many commits a view has; the view begins with this at the latest."""
    found: list[tuple[int]] = connection.execute(_COMMITS).fetchall()
    return found[0][0]


def read_cold_rows(connection: Connection) -> ColdNow:
    """The cold rows of a view, from the database."""
    pairs = np.dtype([("rid", "i8"), ("counter", "i8")])
    found = np.fromiter(connection.execute(_COLD, (COLD,)), pairs)
    return ColdNow(found["rid"].copy(), found["counter"].copy(), 0)


class ColdSearch:
    """Searches the cold memories of one namespace."""

    def __init__(self, index: ColdIndex, files: SegmentFiles) -> None:
        self._index = index
        self._files = files

    def run(self, hot: Connection, cold: ColdNow, request: ColdRequest) -> ColdResult:
        """The best of hot and cold texts, and the nearest of cold vectors, best first.

        `hot` is a view of the database and `cold` the cold rows in it. What cannot be read is
        reported in the result and never raised.
        """
        try:
            with self._index.reading() as reading:
                if reading is not None:
                    matched = self._index.matched(hot, reading.entries, cold)
                    found = _Look(self._files, hot, cold, request, reading, matched).run()
                    pending = int(np.count_nonzero(~matched))
                    dead = len(reading.entries) - (len(matched) - pending)
                    self._wake_if(pending, dead)
                    return found
        except FAULTS:
            self._index.drop()
        nothing = np.zeros(len(cold.rids), np.bool_)
        found = _Look(self._files, hot, cold, request, None, nothing).run()
        self._wake_if(len(cold.rids), 0)  # after the scan, not beside it
        return found

    def _wake_if(self, pending: int, dead: int) -> None:
        if self._index.is_behind(pending, dead):
            self._index.wake()


class _Look:
    """One search, in one view of the database and of the index. `matched` rows are indexed."""

    def __init__(
        self,
        files: SegmentFiles,
        hot: Connection,
        cold: ColdNow,
        request: ColdRequest,
        reading: Reading | None,
        matched: NDArray[np.bool_],
    ) -> None:
        self.files = files
        self.hot = hot
        self.cold = cold
        self.request = request
        self.reading = reading
        self.pending = cold.rids[~matched]
        self.entries = Entries.of(()) if reading is None else reading.entries
        self.places = self.entries.find(cold.rids[matched])

    def run(self) -> ColdResult:
        request = self.request
        query = request.query if request.query and request.query.terms else None
        vector = None if request.vector is None else normalised(request.vector)
        if query is None and vector is None:
            return ColdResult([], [], 0, [])
        tables = [] if query is None else self._tables(query)
        elsewhere = [own for _, own, _ in tables]
        scan = self._scan(query, _together(elsewhere))
        text, nearest, faults = scan.text, scan.vectors, scan.faults
        if query is not None:
            scanned = [] if scan.statistics is None else [scan.statistics]
            everywhere = _together(elsewhere + scanned)
            assert everywhere is not None, "the hot table has statistics"
            for connection, own, allowed in tables:
                hits = search_text(connection, query, own, everywhere, request.limit, allowed)
                text = merge_hits(request.limit, text, hits)
        if vector is not None and self.reading is not None:
            indexed, damage = self._nearest(self.reading, vector)
            nearest = merge_hits(request.limit, nearest, indexed)
            faults = faults + damage
        return ColdResult(text, nearest, len(self.cold.rids), faults)

    def _tables(self, query: TextQuery) -> list[tuple[Connection, TextStatistics, Allowed]]:
        """Each text table with its statistics, and which of its rows may be answered."""
        tables = [(self.hot, hot_statistics(self.hot, query), self.request.allowed)]
        if self.reading is not None:
            is_current = np.zeros(len(self.entries) + 1, np.bool_)  # the last: of no entry
            is_current[self.places] = True
            own = self.reading.statistics(query)

            def allowed(rids: RowIds) -> NDArray[np.bool_]:
                return is_current[self.entries.find(rids)] & self.request.allowed(rids)

            tables.append((self.reading.connection, own, allowed))
        return tables

    def _scan(self, query: TextQuery | None, elsewhere: TextStatistics | None) -> ColdResult:
        """What is cold, wanted and not indexed, read from the segments."""
        pending = self.pending[self.request.allowed(self.pending)]
        if not len(pending):
            return ColdResult([], [], 0, [])
        scan = ColdScan(
            limit=self.request.limit,
            query=query,
            vector=self.request.vector,
            model=self.request.model,
            statistics=elsewhere,
        )
        return scan.run(self.files.folder(COLD), load_cold_rows(self.hot, pending))

    def _nearest(self, reading: Reading, vector: Float32) -> tuple[list[Hit], list[SegmentFault]]:
        """The nearest of the indexed vectors, with exact cosines."""
        request, entries, places = self.request, self.entries, self.places
        rids = [np.empty(0, np.int64)]
        approximate = [np.empty(0, np.float32)]
        for space in reading.spaces:
            comparable = request.model is None or space.model == request.model
            if comparable and space.dimensions == len(vector):
                members = places[entries.space[places] == space.number]
                rids.append(entries.rid[members])
                approximate.append(reading.cosines(space, vector)[entries.slot[members]])
        candidates, scores = np.concatenate(rids), np.concatenate(approximate)
        chosen = shortlist(candidates, scores, request.limit, request.allowed)
        candidates, scores, faults = self._exact(candidates[chosen], scores[chosen], vector)
        nearest = best(candidates, scores, request.limit)
        return list(zip(*(part.tolist() for part in nearest), strict=True)), faults

    def _exact(
        self, rids: RowIds, approximate: Float32, vector: Float32
    ) -> tuple[RowIds, Float32, list[SegmentFault]]:
        """The candidates with exact cosines; one whose vector cannot be read keeps what it has."""
        scores = dict(zip(rids.tolist(), approximate.tolist(), strict=True))
        read: list[int] = []
        embeddings: list[bytes] = []
        faults: dict[str, SegmentFault] = {}
        bindings = (COLD, json.dumps(rids.tolist()))
        for rid, segment, frame, line in self.hot.execute(_PLACES, bindings):
            try:
                embedding = self.files.reader(COLD, segment).embedding(frame, line)
            except SegmentDamaged as damage:
                faults[segment] = SegmentFault(segment, None, damage.reason)
                continue
            if embedding is not None and len(embedding) == vector.nbytes:
                read.append(rid)
                embeddings.append(embedding)
        scores.update(zip(read, exact_cosines(embeddings, vector).tolist(), strict=True))
        kept = {rid: score for rid, score in scores.items() if not np.isnan(score)}
        found = np.array(list(kept), np.int64), np.array(list(kept.values()), np.float32)
        return *found, list(faults.values())


def _together(statistics: Sequence[TextStatistics]) -> TextStatistics | None:
    """Those of all; None where there are none."""
    return reduce(add, statistics) if statistics else None
