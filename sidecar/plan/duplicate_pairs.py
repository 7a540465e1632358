"""All pairs of vectors at a cosine of at least a threshold: every one, and no other.

Comparing 100 000 vectors with each other in all their numbers takes most of a minute. Here the
vectors are turned so that their first few numbers say most (the main directions of a sample);
what the rest could add at most is one number more, its length. The product of these short
vectors is never smaller than the cosine (Cauchy and Schwarz), so a pair whose short product is
below the threshold is none. What is left, a few pairs in a million, is computed in float64 from
the vectors as they were given. Rounding is bounded, so the answer does not depend on the
library that multiplies, on blocks, or on the order of the rows.

RAM beside the input: n · (k + 1) float32, k of at most 256 or the dimensions, whichever is less;
two blocks; the pairs found. No step makes an array of n · n.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.limits import (
    DUPLICATE_BLOCK_MEMORIES,
    DUPLICATE_CHECKED_COUNT,
    DUPLICATE_PAIRS_COUNT_MAX,
    DUPLICATE_SAMPLE_MEMORIES,
)
from sidecar.plan.plan import Bool, Float64, Int64

Float32 = NDArray[np.float32]

COSINE_DECIMALS: Final = 12  # what summing in another order cannot change
# More than all rounding of the short product in float32, which is below 2e-5 in 257 numbers.
MARGIN: Final = 1e-4
_REST_SLACK: Final = 1e-6
_SIZES: Final = (16, 24, 32, 48, 64, 96, 128, 192, 256)
# What looking at one short product costs, in numbers multiplied; and computing one cosine.
_LOOK_COST: Final = 24
_CHECK_COST: Final = 40_000


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors of one embedding model. `rows` are indices into the snapshot, each once.

    `vectors` is (rows, dimensions); lengths may be any. A vector of length zero, or with a NaN
    or an infinity in it, meets nothing.
    """

    model: str | None
    rows: Int64
    vectors: Float32


def _nothing() -> Int64:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows `a` < `b` with their cosine, sorted by `a`, then `b`.

    `overflowed` says that there are more than DUPLICATE_PAIRS_COUNT_MAX: these are some of them.
    """

    a: Int64 = field(default_factory=_nothing)
    b: Int64 = field(default_factory=_nothing)
    cosine: Float64 = field(default_factory=lambda: np.empty(0, dtype=np.float64))
    overflowed: bool = False

    def __len__(self) -> int:
        return len(self.a)


def similar_pairs(
    embeddings: Embeddings, threshold: float, proceed: Callable[[], bool] = lambda: True
) -> Pairs | None:
    """Every pair of rows whose cosine, rounded to COSINE_DECIMALS, is at least `threshold`.

    `proceed` is asked before each block, some milliseconds apart: False ends the search, and
    the answer is None. Raises ValueError where rows and vectors do not fit, or the threshold is
    not in (0, 1].
    """
    if embeddings.vectors.ndim != 2 or len(embeddings.rows) != len(embeddings.vectors):
        raise ValueError("there must be one vector a row")
    if not 0 < threshold <= 1:
        raise ValueError("the threshold must be above 0 and at most 1")
    order = np.argsort(embeddings.rows, kind="stable")
    vectors = embeddings.vectors
    lengths = _lengths(vectors)
    usable = order[(np.isfinite(lengths) & (lengths > 0))[order]]
    search = _Search(vectors, lengths, usable, threshold)
    if not search.run(proceed):
        return None
    return search.pairs(embeddings.rows)


def cosines(vectors: Float32, lengths: Float64, a: Int64, b: Int64) -> Float64:
    """The cosines of pairs of vectors, in float64, rounded to COSINE_DECIMALS."""
    left = vectors[a].astype(np.float64) / lengths[a, None]
    right = vectors[b].astype(np.float64) / lengths[b, None]
    products: Float64 = np.einsum("ij,ij->i", left, right)
    return np.round(products, COSINE_DECIMALS)


def _lengths(vectors: Float32) -> Float64:
    """The length of each vector: NaN or infinite where one of its numbers is."""
    lengths = np.empty(len(vectors), dtype=np.float64)
    for start in range(0, len(vectors), DUPLICATE_BLOCK_MEMORIES):
        part = vectors[start : start + DUPLICATE_BLOCK_MEMORIES].astype(np.float64)
        lengths[start : start + len(part)] = np.sqrt(np.einsum("ij,ij->i", part, part))
    return lengths


class _Search:
    """One search: the short vectors, then block by block the pairs that they let through."""

    def __init__(self, vectors: Float32, lengths: Float64, usable: Int64, threshold: float) -> None:
        self._vectors = vectors
        self._lengths = lengths
        self._usable = usable
        self._threshold = threshold
        self._bound = np.float32(threshold - MARGIN)
        self._short = self._shortened()
        self._found: list[tuple[Int64, Int64, Float64]] = []
        self._count = 0

    def run(self, proceed: Callable[[], bool]) -> bool:
        """Search; False where it was told to stop."""
        # A small store, looked through for the sake of one memory, takes no more than it needs.
        count = len(self._usable)
        size = min(DUPLICATE_BLOCK_MEMORIES, max(1, count))
        products = np.empty(size * size, dtype=np.float32)
        # Whole words of eight flags are looked at: what stands behind the last must be false.
        flags = np.zeros(size * size + 8, dtype=np.bool_)
        for start in range(0, count, size):
            rows = self._short[start : start + size]
            for other in range(start, count, size):
                if not proceed():
                    return False
                columns = self._short[other : other + size]
                shape = (len(rows), len(columns))
                product = products[: shape[0] * shape[1]].reshape(shape)
                np.matmul(rows, columns.T, out=product)
                self._take(product, flags, start, other)
                if self._count > DUPLICATE_PAIRS_COUNT_MAX:
                    return True
        return True

    def pairs(self, rows: Int64) -> Pairs:
        """What was found, as rows of the snapshot."""
        if not self._found:
            return Pairs()
        a, b, cosine = (np.concatenate(part) for part in zip(*self._found, strict=True))
        a, b = rows[self._usable[a]], rows[self._usable[b]]
        order = np.lexsort((b, a))
        return Pairs(a[order], b[order], cosine[order], self._count > DUPLICATE_PAIRS_COUNT_MAX)

    def _take(self, product: Float32, flags: Bool, start: int, other: int) -> None:
        """Compute the cosines that may reach the threshold; keep those that do."""
        size = product.size
        np.greater_equal(product.reshape(-1), self._bound, out=flags[:size])
        words = np.flatnonzero(flags[: size + (-size % 8)].view(np.uint64))
        if len(words) == 0:
            return
        near = flags[: size + (-size % 8)].reshape(-1, 8)[words]
        places = np.flatnonzero(near)
        places = words[places >> 3] * 8 + (places & 7)
        flags[:] = False
        a, b = np.divmod(places, product.shape[1])
        a, b = a + start, b + other
        if start == other:
            a, b = a[a < b], b[a < b]
        for first in range(0, len(a), DUPLICATE_CHECKED_COUNT):
            self._check(
                a[first : first + DUPLICATE_CHECKED_COUNT],
                b[first : first + DUPLICATE_CHECKED_COUNT],
            )

    def _check(self, a: Int64, b: Int64) -> None:
        cosine = cosines(self._vectors, self._lengths, self._usable[a], self._usable[b])
        reached = cosine >= self._threshold
        if np.any(reached):
            self._found.append((a[reached], b[reached], cosine[reached]))
            self._count += int(np.count_nonzero(reached))

    def _shortened(self) -> Float32:
        """The short vectors: their product is at least the cosine, but for MARGIN."""
        basis = self._basis()
        size = self._best_size(basis)
        short = np.empty((len(self._usable), size + 1), dtype=np.float32)
        for start in range(0, len(short), DUPLICATE_BLOCK_MEMORIES):
            part = short[start : start + DUPLICATE_BLOCK_MEMORIES]
            at = self._usable[start : start + len(part)]
            part[:] = _turned(self._unit(at), basis[:, :size])
        return short

    def _unit(self, at: Int64) -> Float64:
        return self._vectors[at].astype(np.float64) / self._lengths[at, None]

    def _sample(self, share: float = 0) -> Float64:
        """Rows at one distance; of another `share` of the distance other rows."""
        step = -(-len(self._usable) // DUPLICATE_SAMPLE_MEMORIES) or 1
        return self._unit(self._usable[int(share * step) :: step])

    def _basis(self) -> Float64:
        """Orthonormal columns, those first along which the sample extends most."""
        sample = self._sample()
        if len(sample) >= sample.shape[1]:
            _, directions = np.linalg.eigh(sample.T @ sample)
            return np.ascontiguousarray(directions[:, ::-1][:, : _SIZES[-1]])
        _, weights = np.linalg.eigh(sample @ sample.T)
        directions, _ = np.linalg.qr(sample.T @ weights[:, ::-1][:, : _SIZES[-1]])
        return directions

    def _best_size(self, basis: Float64) -> int:
        """How many numbers to keep: few are quick to multiply, but let more pairs through."""
        width = basis.shape[1]
        sample = self._sample(1 / 2)  # not those that the basis was made to fit
        costs: dict[int, float] = {}
        for size in [*(size for size in _SIZES if size < width), width]:
            short = _turned(sample, basis[:, :size])
            near = np.count_nonzero(short @ short.T >= self._bound) - len(short)
            share = max(near, 0) / max(len(short) ** 2, 1)
            costs[size] = size + _LOOK_COST + share * _CHECK_COST
        return min(costs, key=lambda size: (costs[size], size))


def _turned(unit: Float64, basis: Float64) -> Float32:
    """Coordinates along the basis, and the most that the rest of each vector can add."""
    short = np.empty((len(unit), basis.shape[1] + 1), dtype=np.float32)
    short[:, :-1] = unit @ basis
    known = np.einsum("ij,ij->i", short[:, :-1], short[:, :-1], dtype=np.float64)
    short[:, -1] = np.sqrt(np.maximum(1 - known, 0) + _REST_SLACK)
    return short
