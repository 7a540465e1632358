"""All close pairs against brute force in float64: the same ones, whatever the vectors."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.limits import DUPLICATE_BLOCK_MEMORIES
from sidecar.plan import duplicate_pairs
from sidecar.plan.duplicate_pairs import COSINE_DECIMALS, Embeddings, Pairs, similar_pairs


def near_vectors(seed: int, count: int, dimensions: int, spread: float) -> np.ndarray:
    """Vectors of any length around a few centres, some copied, some edited a little."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, count // 6), dimensions))
    made = centres[rng.integers(0, len(centres), count)]
    made = made + spread * rng.standard_normal((count, dimensions))
    made[rng.random(count) < 0.1] = centres[0]
    return (made * 10.0 ** rng.integers(-6, 6, (count, 1))).astype(np.float32)


def brute_force(vectors: np.ndarray, rows: np.ndarray, threshold: float) -> set[tuple[int, int]]:
    """One cosine after another, in float64."""
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1)
    fit = [p for p in range(len(rows)) if np.isfinite(lengths[p]) and lengths[p] > 0]
    return {
        (min(rows[a], rows[b]), max(rows[a], rows[b]))
        for place, a in enumerate(fit)
        for b in fit[place + 1 :]
        if round(float(exact[a] @ exact[b] / (lengths[a] * lengths[b])), COSINE_DECIMALS)
        >= threshold
    }


def found(pairs: Pairs | None) -> set[tuple[int, int]]:
    """The pairs as a set, each once."""
    assert pairs is not None
    told = list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    assert told == sorted(set(told))
    assert all(a < b for a, b in told)
    return set(told)


@pytest.mark.gate("DUP-01")
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(0, 70),
    dimensions=st.integers(1, 40),
    spread=st.sampled_from([0.0, 0.01, 0.1, 0.3, 2.0]),
    threshold=st.sampled_from([0.05, 0.5, 0.9, 0.95, 0.999, 1.0]),
)
def test_the_pairs_are_those_of_brute_force(
    seed: int, count: int, dimensions: int, spread: float, threshold: float
) -> None:
    vectors = near_vectors(seed, count, dimensions, spread)
    rows = np.random.default_rng(seed).permutation(count * 3)[:count].astype(np.int64)
    pairs = similar_pairs(Embeddings("m", rows, vectors), threshold)
    assert found(pairs) == brute_force(vectors, rows, threshold)


@pytest.mark.gate("DUP-01")
@pytest.mark.parametrize("block", [8, 32, 1_000])
def test_blocks_and_order_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = near_vectors(7, 300, 48, 0.2)
    rows = np.arange(300)
    whole = similar_pairs(Embeddings(None, rows, vectors), 0.95)
    assert whole is not None
    assert len(whole) > 20
    order = np.random.default_rng(1).permutation(300)
    monkeypatch.setattr(duplicate_pairs, "DUPLICATE_BLOCK_MEMORIES", block)
    again = similar_pairs(Embeddings(None, rows[order], vectors[order]), 0.95)
    assert found(again) == found(whole) == brute_force(vectors, rows, 0.95)
    assert again is not None
    assert np.array_equal(again.cosine, whole.cosine)


@pytest.mark.gate("DUP-02")
def test_vectors_without_a_direction_meet_nothing() -> None:
    vectors = np.ones((6, 4), dtype=np.float32)
    vectors[1] = 0
    vectors[2, 0] = np.nan
    vectors[3, 0] = np.inf
    pairs = similar_pairs(Embeddings(None, np.arange(6), vectors), 0.95)
    assert found(pairs) == {(0, 4), (0, 5), (4, 5)}


@pytest.mark.gate("DUP-03")
def test_ram_grows_with_the_rows_and_not_with_their_square() -> None:
    count = 6 * DUPLICATE_BLOCK_MEMORIES
    vectors = near_vectors(3, count, 64, 3.0)
    tracemalloc.start()
    similar_pairs(Embeddings(None, np.arange(count), vectors), 0.95)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    blocks = 4 * 5 * DUPLICATE_BLOCK_MEMORIES**2
    assert peak < blocks + 8 * vectors.nbytes < 4 * count * count


@pytest.mark.gate("DUP-03")
def test_too_many_pairs_are_told_and_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicate_pairs, "DUPLICATE_PAIRS_COUNT_MAX", 100)
    monkeypatch.setattr(duplicate_pairs, "DUPLICATE_BLOCK_MEMORIES", 16)
    vectors = np.ones((500, 4), dtype=np.float32)
    pairs = similar_pairs(Embeddings(None, np.arange(500), vectors), 0.95)
    assert pairs is not None
    assert pairs.overflowed
    assert 100 < len(pairs) < 500


@pytest.mark.gate("DUP-04")
def test_the_search_stops_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicate_pairs, "DUPLICATE_BLOCK_MEMORIES", 8)
    answers = iter([True, True, False])
    vectors = near_vectors(1, 100, 8, 0.1)
    assert similar_pairs(Embeddings(None, np.arange(100), vectors), 0.95, answers.__next__) is None
    assert list(answers) == []


@pytest.mark.gate("DUP-02")
@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, float("nan")])
def test_a_threshold_out_of_bounds_is_refused(threshold: float) -> None:
    nothing = Embeddings(None, np.arange(0), np.empty((0, 3), dtype=np.float32))
    with pytest.raises(ValueError, match="threshold"):
        similar_pairs(nothing, threshold)


@pytest.mark.gate("DUP-02")
def test_rows_and_vectors_must_fit() -> None:
    with pytest.raises(ValueError, match="one vector a row"):
        similar_pairs(Embeddings(None, np.arange(2), np.ones((3, 3), dtype=np.float32)), 0.95)
