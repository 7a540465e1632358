"""Files of float16 vectors: what they keep, how far a cosine is off, and who is a candidate."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from sidecar.store import cold_vectors
from sidecar.store.cold_vectors import HALF_ERROR, Space, VectorsDamaged
from sidecar.store.vector_index import Float32, VectorIndex, normalised

DIMENSIONS = 24


def unit(generator: np.random.Generator, count: int, dimensions: int = DIMENSIONS) -> list[Float32]:
    """Random vectors of length 1."""
    found: list[Float32] = []
    for row in generator.standard_normal((count, dimensions)).astype("<f4"):
        vector = normalised(row.tobytes())
        assert vector is not None
        found.append(vector)
    return found


def written(folder: Path, vectors: list[Float32], parts: int = 1) -> Space:
    """A space with these vectors, appended in so many parts."""
    space = Space(1, "m", len(vectors[0]), cold_vectors.new_file_name("m", len(vectors[0])))
    size = -(-len(vectors) // parts)
    for start in range(0, len(vectors), size):
        data = cold_vectors.as_halves(vectors[start : start + size])
        space = cold_vectors.append(folder, space, data)
    return space


def cosines(folder: Path, space: Space, query: Float32) -> Float32:
    """All cosines of a space, as they are read."""
    descriptor = cold_vectors.open_vectors(folder, space)
    try:
        return cold_vectors.cosines(descriptor, space, query)
    finally:
        os.close(descriptor)


@pytest.mark.gate("COLD-20")
@pytest.mark.parametrize("dimensions", [1, 3, 24, 384, 4_096])
def test_a_cosine_is_off_by_no_more_than_is_said(tmp_path: Path, dimensions: int) -> None:
    generator = np.random.default_rng(dimensions)
    vectors = unit(generator, 300, dimensions)
    (query,) = unit(generator, 1, dimensions)
    vectors.append(query)
    space = written(tmp_path, vectors, parts=4)
    exact = np.array([vector.astype(float) @ query.astype(float) for vector in vectors])
    found = cosines(tmp_path, space, query)
    assert space.slots == len(found) == 301
    assert float(np.abs(found - exact).max()) <= HALF_ERROR
    assert cold_vectors.is_vector_file(space.file)
    assert (tmp_path / space.file).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / space.file).stat().st_size == 301 * dimensions * 2


@pytest.mark.gate("COLD-20")
def test_every_finite_half_becomes_the_number_that_it_is(tmp_path: Path) -> None:
    halves = np.arange(65_536, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves) & (np.abs(halves) <= 1)]
    space = Space(1, None, 1, cold_vectors.new_file_name(None, 1))
    space = cold_vectors.append(tmp_path, space, halves.astype("<f2").tobytes())
    found = cosines(tmp_path, space, np.ones(1, np.float32))
    assert found.tolist() == halves.astype(np.float32).tolist()
    assert len(found) == 2 * 15_361


@pytest.mark.gate("COLD-20")
def test_reading_in_blocks_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    space = written(tmp_path, unit(generator, 100))
    (query,) = unit(generator, 1)
    at_once = cosines(tmp_path, space, query)
    for slots in (1, 7, 100):
        monkeypatch.setattr(cold_vectors, "_READ_BYTES", slots * DIMENSIONS * 2)
        assert cosines(tmp_path, space, query).tolist() == at_once.tolist()
        cold_vectors.check(tmp_path, space)


@pytest.mark.gate("COLD-21")
def test_a_file_that_is_cut_changed_or_gone_is_noticed(tmp_path: Path) -> None:
    space = written(tmp_path, unit(np.random.default_rng(1), 50))
    path = tmp_path / space.file
    whole = path.read_bytes()
    cold_vectors.check(tmp_path, space)
    for place in (0, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(VectorsDamaged):
            cold_vectors.check(tmp_path, space)
    path.write_bytes(whole[:-1])
    with pytest.raises(VectorsDamaged):
        cold_vectors.check(tmp_path, space)
    with pytest.raises(VectorsDamaged):
        cosines(tmp_path, space, unit(np.random.default_rng(2), 1)[0])
    path.unlink()
    with pytest.raises(FileNotFoundError):
        cold_vectors.check(tmp_path, space)
    path.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_bytes(whole)
    with pytest.raises(OSError, match="symbolic"):
        cold_vectors.check(tmp_path, space)


@pytest.mark.gate("COLD-21")
def test_what_a_failed_append_left_is_overwritten(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    first, second = unit(generator, 10), unit(generator, 10)
    space = written(tmp_path, first)
    cold_vectors.append(tmp_path, space, cold_vectors.as_halves(unit(generator, 4)))  # not kept
    space = cold_vectors.append(tmp_path, space, cold_vectors.as_halves(second))
    cold_vectors.check(tmp_path, space)
    found = cosines(tmp_path, space, second[3])
    assert int(np.argmax(found)) == 13


@pytest.mark.gate("COLD-22")
@pytest.mark.parametrize("spread", [1.0, 0.01, 0.0005])
def test_the_nearest_are_among_the_candidates_however_close_they_are(
    tmp_path: Path, spread: float
) -> None:
    """Vectors around one direction, as near to each other as float16 can hardly tell."""
    generator = np.random.default_rng(int(spread * 10_000))
    (centre,) = unit(generator, 1, 384)
    noise = np.stack(unit(generator, 3_000, 384))
    rows = (centre + spread * noise).astype("<f4")
    vectors = [vector for row in rows if (vector := normalised(row.tobytes())) is not None]
    space = written(tmp_path, vectors)
    exact = np.array([vector.astype(float) @ centre.astype(float) for vector in vectors])
    approximate = cosines(tmp_path, space, centre)
    rids = np.arange(len(vectors), dtype=np.int64)
    limit = 40
    # As many as are read again; where all lie within the error, no more than that.
    border = np.sort(exact)[-limit]
    close = int((exact >= border - 4 * HALF_ERROR).sum())
    chosen = cold_vectors.shortlist(rids, approximate, limit, lambda some: np.ones(len(some), bool))
    nearest = set(np.argsort(-exact)[:limit].tolist())
    if close <= cold_vectors.CANDIDATES_SHARE_MAX * limit:
        assert nearest <= set(chosen.tolist())
    assert len(chosen) <= cold_vectors.CANDIDATES_SHARE_MAX * limit
    assert float(exact[chosen].min()) >= border - 4 * HALF_ERROR
    assert limit <= len(chosen)


@pytest.mark.gate("COLD-22")
def test_candidates_are_looked_for_until_enough_are_allowed() -> None:
    generator = np.random.default_rng(9)
    rids = generator.permutation(5_000).astype(np.int64)
    scores = generator.random(5_000).astype(np.float32)
    for allowed_below in (5_000, 400, 12, 0):
        chosen = cold_vectors.shortlist(rids, scores, 10, lambda some, n=allowed_below: some < n)
        allowed = np.flatnonzero(rids < allowed_below)
        best = allowed[np.argsort(-scores[allowed])][:10]
        assert set(best.tolist()) <= set(chosen.tolist())
        assert (rids[chosen] < allowed_below).all()
    nobody = cold_vectors.shortlist(
        np.empty(0, np.int64), np.empty(0, np.float32), 10, lambda some: np.ones(len(some), bool)
    )
    assert len(nobody) == 0


@pytest.mark.gate("COLD-22")
def test_equal_vectors_go_by_row() -> None:
    rids = np.array([9, 3, 7, 1, 5], np.int64)
    scores = np.full(5, 0.5, np.float32)
    chosen = cold_vectors.shortlist(rids, scores, 1, lambda some: np.ones(len(some), bool))
    assert rids[chosen].tolist() == [1, 3, 5, 7]


@pytest.mark.gate("COLD-22")
def test_exact_cosines_are_those_of_the_stored_numbers() -> None:
    generator = np.random.default_rng(4)
    rows = generator.standard_normal((5, DIMENSIONS)).astype("<f4") * np.float32(37)
    rows[3] = 0
    rows[4, 0] = np.nan
    (query,) = unit(generator, 1)
    found = cold_vectors.exact_cosines([row.tobytes() for row in rows], query)
    expected = [row.astype(float) @ query / np.linalg.norm(row.astype(float)) for row in rows[:3]]
    np.testing.assert_allclose(found[:3], expected, atol=1e-6)
    assert np.isnan(found[3:]).all()
    assert len(cold_vectors.exact_cosines([], query)) == 0


@pytest.mark.gate("COLD-16")
def test_a_search_of_hot_vectors_holds_no_lock_while_it_asks_what_is_allowed() -> None:
    """A writer that holds the lock behind `allowed` changes the vectors meanwhile."""
    index = VectorIndex()
    for rid, vector in enumerate(unit(np.random.default_rng(8), 20)):
        index.put(rid, "m", vector.tobytes())

    def allowed(rids: np.ndarray) -> np.ndarray:
        writer = threading.Thread(target=index.remove, args=(3,))
        writer.start()
        writer.join(30)
        assert not writer.is_alive(), "a recall and the writer wait for each other"
        return np.ones(len(rids), np.bool_)

    rids, _ = index.search("m", unit(np.random.default_rng(7), 1)[0].tobytes(), 5, allowed)
    assert len(rids) == 5
