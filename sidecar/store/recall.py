"""The parts of a recall: hot text, a scan of cold segments, and the fusing of rankings.

Scores of one kind are comparable across tiers (BM25 by one formula, exact cosines), so hot and
cold hits of one kind are merged by score first; text and vectors are then fused by rank.
"""

import itertools
import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sidecar.model import COLD
from sidecar.store import bm25
from sidecar.store.bm25 import TextStatistics, term_frequencies
from sidecar.store.search_text import TermCounter, TextQuery, parse_query
from sidecar.store.segment_format import FrameVectors, SegmentDamaged, decode_content
from sidecar.store.segment_reader import SegmentReader
from sidecar.store.sqlite.typed import Connection
from sidecar.store.vector_index import Allowed, Float32, RowIds, best, normalised

# Reciprocal rank fusion: the constant of its authors; small enough that first places count,
# large enough that one list alone does not decide.
FUSION_K: Final = 60

# What counts as an answer when `auto` decides whether hot memories suffice. Sentence vectors of
# unrelated texts lie around .14 (99 of 100 below .48, measured on dialogue): below .3 a cosine
# says nothing. A text that has less than half of what was asked for is about something else.
RELEVANCE_COSINE_MIN: Final = 0.3
RELEVANCE_TERM_SHARE_MIN: Final = 0.5

_HOT_TEXT = "SELECT rowid, -bm25(search) FROM search WHERE search MATCH ? ORDER BY rank, rowid"
_HOT_FETCH_ROWS = 256

Hit = tuple[int, float]  # row id, score; higher is better


# --- hot text ----------------------------------------------------------------------------


def search_hot_text(
    connection: Connection,
    query: TextQuery | str,
    limit: int,
    allowed: Allowed | None = None,
) -> list[Hit]:
    """The hot memories that hold any term of the query, best BM25 first (higher is better)."""
    expression = (parse_query(query) if isinstance(query, str) else query).expression
    if expression is None or limit <= 0:
        return []
    found: list[Hit] = []
    rows: Any = connection.execute(_HOT_TEXT, (expression,))
    try:
        while len(found) < limit:
            block: list[Hit] = [row for _, row in zip(range(_HOT_FETCH_ROWS), rows, strict=False)]
            found += _keep(block, allowed)
            if len(block) < _HOT_FETCH_ROWS:
                break
    finally:
        rows.close(True)
    return found[:limit]


def _keep(hits: list[Hit], allowed: Allowed | None) -> Iterable[Hit]:
    if allowed is None or not hits:
        return hits
    within = allowed(np.array([rid for rid, _ in hits], dtype=np.int64))
    return [hit for hit, keep in zip(hits, within, strict=True) if keep]


def hot_statistics(connection: Connection, query: TextQuery) -> TextStatistics:
    """The statistics of the hot text index for a query, to score cold texts like hot ones."""
    found: list[Any] = connection.execute("SELECT count(*) FROM search").fetchall()
    return TextStatistics(found[0][0], term_frequencies(connection, query))


# --- cold segments -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColdRows:
    """The live cold memories in the order in which they lie in the segments.

    `segment` and `model` are positions in `segments` and `models`; the other arrays are
    parallel to them. Valid until a cold memory moves, or its segment is merged.
    """

    segments: tuple[str, ...]
    models: tuple[str | None, ...]
    rid: RowIds
    segment: NDArray[np.int32]
    frame: NDArray[np.int32]
    line: NDArray[np.int32]
    model: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.rid)

    def keep(self, within: NDArray[np.bool_]) -> "ColdRows":
        """Only the rows where `within` is true."""
        return ColdRows(
            self.segments,
            self.models,
            self.rid[within],
            self.segment[within],
            self.frame[within],
            self.line[within],
            self.model[within],
        )


def load_cold_rows(connection: Connection, rids: RowIds | None = None) -> ColdRows:
    """Where every cold memory lies, or where those of some rows do, from the database."""
    segments: dict[str, int] = {}
    models: dict[str | None, int] = {}
    columns = [array("q") for _ in range(5)]
    query = (
        "SELECT rid, segment, frame, line, embedding_model FROM memories"
        " WHERE tier = ? AND segment IS NOT NULL"
    )
    bindings: tuple[int | str, ...] = (COLD,)
    if rids is not None:
        query += " AND rid IN (SELECT value FROM json_each(?))"
        bindings = (COLD, json.dumps(rids.tolist()))
    rows: Any = connection.execute(query, bindings)
    for rid, segment, frame, line, model in rows:
        place = segments.setdefault(segment, len(segments))
        values = (rid, place, frame, line, models.setdefault(model, len(models)))
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    rid, segment, frame, line, model = (np.array(column, dtype=np.int64) for column in columns)
    order = np.lexsort((line, frame, segment))
    return ColdRows(
        tuple(segments),
        tuple(models),
        rid[order],
        segment[order].astype(np.int32),
        frame[order].astype(np.int32),
        line[order].astype(np.int32),
        model[order].astype(np.int32),
    )


@dataclass(frozen=True, slots=True)
class SegmentFault:
    """A part of the archive that a scan could not read: a whole segment, or one frame of it."""

    segment: str
    frame: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class ColdResult:
    """The best cold memories by text and by vector, best first, and what could not be read.

    `scanned` counts the memories that were looked at; `statistics` are those of their texts.
    """

    text: list[Hit]
    vectors: list[Hit]
    scanned: int
    faults: list[SegmentFault]
    statistics: TextStatistics | None = None


class ColdScan:
    """One recall's pass over cold segments, frame by frame.

    Holds one frame (bounded by the segment format), the hits of the text search as packed
    arrays, and the best vectors. Damage is reported in the result and never raised.
    `model` None compares with every vector of as many dimensions, as `VectorIndex.search`.
    """

    def __init__(
        self,
        *,
        limit: int,
        query: TextQuery | None = None,
        vector: bytes | None = None,
        model: str | None = None,
        statistics: TextStatistics | None = None,
    ) -> None:
        self._limit = limit
        self._text = None
        if query is not None and query.terms:
            self._text = _TextHits(query, statistics or TextStatistics(0, (0,) * len(query.terms)))
        self._vector = None if vector is None else normalised(vector)
        self._model = model
        self._nearest: tuple[RowIds, Float32] = _no_vectors()
        self._scanned = 0
        self._faults: list[SegmentFault] = []

    def run(self, directory: Path, rows: ColdRows) -> ColdResult:
        """Scan the segments in `directory` that hold the given rows."""
        if self._text is not None or self._vector is not None:
            for code, part in _runs(rows.segment):
                self._scan_segment(directory, rows.segments[code], rows, part)
        text = [] if self._text is None else self._text.best(self._limit)
        statistics = None if self._text is None else self._text.statistics()
        rids, cosines = self._nearest
        vectors: list[Hit] = list(zip(rids.tolist(), cosines.tolist(), strict=True))
        return ColdResult(text, vectors, self._scanned, self._faults, statistics)

    def _scan_segment(self, directory: Path, name: str, rows: ColdRows, part: slice) -> None:
        try:
            reader = SegmentReader(directory / name)
        except SegmentDamaged as damage:
            self._faults.append(SegmentFault(name, None, damage.reason))
            return
        with reader:
            for frame, within in _runs(rows.frame[part]):
                chosen = slice(part.start + within.start, part.start + within.stop)
                try:
                    self._scan_frame(reader, frame, rows, chosen)
                except SegmentDamaged as damage:
                    self._faults.append(SegmentFault(name, frame, damage.reason))

    def _scan_frame(self, reader: SegmentReader, frame: int, rows: ColdRows, part: slice) -> None:
        rids, lines = rows.rid[part], rows.line[part]
        if len(lines) and not 0 <= int(lines[0]) <= int(lines[-1]) < reader.records_in(frame):
            raise SegmentDamaged("index", "A segment has no such line")
        self._scanned += len(rids)
        if self._text is not None:
            texts, places = reader.lines(frame), zip(rids.tolist(), map(int, lines), strict=True)
            for rid, line in places:
                self._text.add(rid, decode_content(texts[line]))
        if self._vector is not None:
            comparable = np.array([self._compares(model) for model in rows.models])[
                rows.model[part]
            ]
            if comparable.any():
                self._add_vectors(reader.vectors(frame), rids[comparable], lines[comparable])

    def _compares(self, model: str | None) -> bool:
        return self._model is None or model == self._model

    def _add_vectors(self, vectors: FrameVectors, rids: RowIds, lines: NDArray[np.int32]) -> None:
        assert self._vector is not None
        embeddings = [vectors.of(line) for line in lines.tolist()]
        fitting = np.array([len(e or b"") == self._vector.nbytes for e in embeddings])
        if not fitting.any():
            return
        packed = b"".join(e for e in embeddings if len(e or b"") == self._vector.nbytes and e)
        matrix = np.frombuffer(packed, dtype="<f4").reshape(-1, len(self._vector))
        with np.errstate(all="ignore"):  # vectors without direction become NaN and are dropped
            lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
            cosines = (np.vecdot(matrix, self._vector) / lengths).astype(np.float32)
        finite = np.isfinite(cosines)
        rids, cosines = rids[fitting][finite], np.clip(cosines[finite], -1.0, 1.0)
        known_rids, known_cosines = self._nearest
        self._nearest = best(
            np.concatenate([known_rids, rids]),
            np.concatenate([known_cosines, cosines]),
            self._limit,
        )


class _TextHits:
    """Term counts of the texts that hold any term, and what BM25 needs of the others.

    Lengths are counted in words where `others` know the mean, else in characters.
    """

    def __init__(self, query: TextQuery, others: TextStatistics) -> None:
        self._counter = TermCounter(query)
        self._others = others
        self._documents = 0
        self._characters = 0
        self._rids = array("q")
        self._lengths = array("d")
        self._document = array("q")
        self._term = array("q")
        self._count = array("d")

    def add(self, rid: int, content: str) -> None:
        self._documents += 1
        self._characters += len(content)
        counts = self._counter.count(content)
        if counts is None:
            return
        for term, count in enumerate(counts):
            if count:
                self._document.append(len(self._rids))
                self._term.append(term)
                self._count.append(count)
        self._rids.append(rid)
        in_words = self._others.mean_tokens is not None
        self._lengths.append(self._counter.length(content) if in_words else len(content))

    def statistics(self) -> TextStatistics:
        """Those of the texts that were added."""
        frequencies = np.bincount(self._term, minlength=len(self._others.frequencies))
        return TextStatistics(self._documents, tuple(frequencies.tolist()))

    def best(self, limit: int) -> list[Hit]:
        """The best documents by BM25, with the others counted in."""
        if not self._rids:
            return []
        rarity = (self._others + self.statistics()).rarity()
        mean = self._others.mean_tokens or self._characters / self._documents
        document, term = np.array(self._document), np.array(self._term)
        count = np.array(self._count)
        length = np.array(self._lengths) / mean
        damping = bm25.K1 * (1 - bm25.B + bm25.B * length[document])
        weights = rarity[term] * count * (bm25.K1 + 1) / (count + damping)
        scores = np.bincount(document, weights=weights)
        order = np.lexsort((np.array(self._rids), -scores))[:limit]
        return [(self._rids[at], float(scores[at])) for at in order.tolist()]


def _runs(codes: NDArray[np.int32]) -> Iterator[tuple[int, slice]]:
    """Each stretch of equal neighbours, as (value, where it lies)."""
    borders = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for start, stop in itertools.pairwise(borders):
        if start < stop:
            yield int(codes[start]), slice(start, stop)


def _no_vectors() -> tuple[RowIds, Float32]:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)


# --- putting it together -----------------------------------------------------------------


def merge_hits(limit: int, *lists: Sequence[Hit]) -> list[Hit]:
    """Hits of one kind from several tiers, best first; a memory found twice counts once."""
    scores: dict[int, float] = {}
    for hits in lists:
        for rid, score in hits:
            scores[rid] = max(score, scores.get(rid, -math.inf))
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]


def fuse(
    rankings: Sequence[Sequence[int]],
    strength: Callable[[int], float | None],
    identity: Callable[[int], str],
    k: int = FUSION_K,
) -> list[Hit]:
    """Reciprocal rank fusion of rankings of row ids, best first.

    Equal scores go by greater strength (an unknown one last), then by id.
    """
    shares: dict[int, list[float]] = {}
    for ranking in rankings:
        for rank, rid in enumerate(ranking, start=1):
            shares.setdefault(rid, []).append(1.0 / (k + rank))
    # fsum: equal ranks give equal scores in whatever order the lists came.
    hits = [(rid, math.fsum(parts)) for rid, parts in shares.items()]

    def order(hit: Hit) -> tuple[float, float, str]:
        known = strength(hit[0])
        return -hit[1], -(-math.inf if known is None else known), identity(hit[0])

    return sorted(hits, key=order)


def is_relevant(term_share: float | None, cosine: float | None) -> bool:
    """Whether a result stands above the relevance floor, by its text or by its vector.

    `term_share` is `TermCounter.share` of its content; None: not asked by text.
    """
    by_text = term_share is not None and term_share >= RELEVANCE_TERM_SHARE_MIN
    return by_text or (cosine is not None and cosine >= RELEVANCE_COSINE_MIN)
