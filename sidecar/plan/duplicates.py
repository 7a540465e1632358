"""Duplicates of one snapshot: who meets whom, and which one of each cluster stays.

The pairs come from `duplicate_pairs` (vectors of one model) and from `equal_texts` (memories
without a vector). A resolver makes clusters of them and names one survivor each, or keeps a
cluster whole. It decides nothing else: pins, grace and age are the planner's business.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sidecar.model import ACTIVE, SEMANTIC, SUPERSEDED
from sidecar.plan.chains import chains_of
from sidecar.plan.duplicate_guard import Difference, difference
from sidecar.plan.duplicate_pairs import Pairs
from sidecar.plan.duplicate_scan import folded
from sidecar.plan.plan import Float64, Int64, Snapshot


@dataclass(frozen=True, slots=True)
class DuplicateCandidates:
    """What a resolver is given: a snapshot, pairs of its rows, and the texts of those rows.

    `pairs` holds one entry a model and one of equal texts; a row is in at most one of them.
    """

    snapshot: Snapshot
    pairs: Sequence[Pairs]
    texts: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Guarded:
    """Two rows of one cluster that say two things: `row` < `other`, and in what they differ."""

    row: int
    other: int
    why: Difference


@dataclass(frozen=True, slots=True)
class Resolution:
    """Which row stands for which.

    `survivor` has one entry a row of the snapshot: the row that stays for it, itself for a row
    that stays, -1 for a row that is in no cluster or whose cluster is kept whole. `guarded` are
    the pairs that kept a cluster whole, by row; `flagged` all rows of such clusters, ascending.
    """

    survivor: Int64
    guarded: tuple[Guarded, ...] = ()
    flagged: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))


class DuplicateResolver(Protocol):
    """Decides which of near memories stays. Pure: the same candidates, the same resolution."""

    def resolve(self, candidates: DuplicateCandidates) -> Resolution: ...


def meeting_rows(snapshot: Snapshot, now: int) -> Int64:
    """The rows that may have duplicates at `now` (ms), ascending.

    Semantic memories that are believed or superseded. What was set aside, held wrong, is
    expired, or has an impossible importance meets nothing: it must not stand for another.
    """
    believed = (snapshot.status == ACTIVE) | (snapshot.status == SUPERSEDED)
    expired = (snapshot.expires_at > 0) & (snapshot.expires_at <= now)
    shown = snapshot.importance * snapshot.fade_factor
    known = (shown >= 0) & (shown <= 1)
    return np.flatnonzero((snapshot.memory_type == SEMANTIC) & believed & ~expired & known)


def equal_texts(texts: Iterable[tuple[int, str]]) -> Pairs:
    """Pairs of rows whose texts are equal but for letter case, punctuation and spaces.

    For memories without a vector, of whichever model the others are. Each row is paired with
    the first that had its text, so a cluster of n has n - 1 pairs. A text in which nothing is
    left, such as one of punctuation, meets nothing.
    """
    first: dict[tuple[int, int], int] = {}
    found: list[tuple[int, int]] = []
    for row, text in texts:
        plain = folded(text)
        if plain:
            # A hash instead of the text; the guard compares the texts themselves.
            other = first.setdefault((hash(plain), len(plain)), row)
            if other != row:
                found.append((min(other, row), max(other, row)))
    a, b = np.array(sorted(found), dtype=np.int64).reshape(-1, 2).T
    return Pairs(a, b, np.ones(len(found)))


def clusters_of(pairs: Pairs) -> list[Int64]:
    """The connected components of pairs: rows ascending, clusters by their first row."""
    rows, ends = np.unique(np.concatenate([pairs.a, pairs.b]), return_inverse=True)
    a, b = np.split(ends, 2)
    label = np.arange(len(rows))
    while True:
        before = label.copy()
        least = np.minimum(label[a], label[b])
        np.minimum.at(label, label[a], least)
        np.minimum.at(label, label[b], least)
        label = label[label]
        if np.array_equal(before, label):
            break
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    return [rows[part] for part in np.split(order, starts[1:])] if len(rows) else []


class GuardedResolver:
    """The resolver that comes with the daemon.

    The survivor of a cluster of any size is the first by: not superseded by a memory that still
    stands, importance shown, recall count, latest creation, smallest id. A cluster is kept whole
    where two of its texts say two things: of each pair that was found, and of the survivor and
    each other member. `guard` tells the difference of two texts; None collapses whatever is near.
    """

    def __init__(self, guard: Callable[[str, str], Difference | None] | None = difference) -> None:
        self._guard = guard

    def resolve(self, candidates: DuplicateCandidates) -> Resolution:
        """One survivor a cluster, or the reasons to keep it whole. Independent of pair order."""
        snapshot = candidates.snapshot
        survivor = np.full(len(snapshot), -1, dtype=np.int64)
        rank = ranks_of(snapshot)
        guarded: list[Guarded] = []
        flagged: list[Int64] = []
        for pairs in candidates.pairs:
            for cluster, near in _with_pairs(pairs):
                best = cluster[np.argmin(rank[cluster])]
                met = [] if pairs.overflowed else self._differences(near, candidates.texts)
                if not met and not pairs.overflowed:
                    others = [(int(best), int(row)) for row in cluster if row != best]
                    met = self._differences(others, candidates.texts)
                guarded += met
                if met or pairs.overflowed:
                    flagged.append(cluster)
                else:
                    survivor[cluster] = best
        guarded.sort(key=lambda one: (one.row, one.other))
        rows = np.sort(np.concatenate(flagged)) if flagged else np.empty(0, dtype=np.int64)
        return Resolution(survivor, tuple(guarded), rows)

    def _differences(
        self, pairs: Iterable[tuple[int, int]], texts: Mapping[int, str]
    ) -> list[Guarded]:
        if self._guard is None:
            return []
        found: list[Guarded] = []
        for one, other in pairs:
            row, higher = min(one, other), max(one, other)
            why = self._guard(texts[row], texts[higher])
            if why is not None:
                found.append(Guarded(row, higher, why))
        return found


def ranks_of(snapshot: Snapshot) -> Int64:
    """The place of each row in the order of survivors, 0 for the first.

    Ties in all that is compared fall to the smaller id by code point.
    """
    size = len(snapshot)
    by_id = np.empty(size, dtype=np.int64)
    by_id[sorted(range(size), key=lambda row: snapshot.ids[row])] = np.arange(size)
    shown: Float64 = snapshot.importance * snapshot.fade_factor
    order = np.lexsort(
        (
            by_id,
            -snapshot.created_at,
            -snapshot.recall_count,
            -shown,
            chains_of(snapshot).in_force,
        )
    )
    rank = np.empty(size, dtype=np.int64)
    rank[order] = np.arange(size)
    return rank


def _with_pairs(pairs: Pairs) -> Iterable[tuple[Int64, list[tuple[int, int]]]]:
    """Each cluster with its pairs, in an order that does not depend on theirs."""
    clusters = clusters_of(pairs)
    place: dict[int, int] = {
        int(row): number for number, cluster in enumerate(clusters) for row in cluster
    }
    near: list[list[tuple[int, int]]] = [[] for _ in clusters]
    for a, b in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True):
        near[place[a]].append((a, b))
    return zip(clusters, near, strict=True)
