"""Vectors in RAM: exact nearest neighbours through every change."""

import threading
from collections.abc import Iterator

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from sidecar.model import COLD, HOT
from sidecar.store.vector_index import LOADED_AT_ONCE, VectorIndex, normalised

DIMENSIONS = 16


def vector(seed: int, dimensions: int = DIMENSIONS) -> bytes:
    return np.random.default_rng(seed).standard_normal(dimensions).astype("<f4").tobytes()


def cosine(one: bytes, other: bytes) -> float:
    left, right = np.frombuffer(one, "<f4").astype(float), np.frombuffer(other, "<f4").astype(float)
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


def expected(stored: dict[int, bytes], query: bytes, limit: int) -> list[int]:
    return sorted(stored, key=lambda rid: (-cosine(stored[rid], query), rid))[:limit]


@pytest.mark.gate("REC-07")
def test_search_is_exact_after_any_mix_of_changes() -> None:
    random = np.random.default_rng(5)
    index, stored = VectorIndex(), dict[int, bytes]()
    for step in range(2_000):
        rid = int(random.integers(1, 400))
        if random.random() < 0.35:
            index.remove(rid)
            stored.pop(rid, None)
        else:
            stored[rid] = vector(step)
            index.put(rid, "m", stored[rid])
        if step % 100 == 99:
            query = vector(10_000 + step)
            rids, cosines = index.search("m", query, 10)
            assert rids.tolist() == expected(stored, query, 10)
            wanted = [cosine(stored[rid], query) for rid in rids.tolist()]
            np.testing.assert_allclose(cosines, wanted, atol=1e-6)
            assert len(index) == len(stored)


@pytest.mark.gate("REC-08")
def test_only_one_model_of_one_size_is_compared() -> None:
    index = VectorIndex()
    index.put(1, "a", vector(1))
    index.put(2, "b", vector(1))
    index.put(3, None, vector(1))
    index.put(4, "a", vector(1, 8))
    assert index.search("a", vector(1), 10)[0].tolist() == [1]
    assert index.search("b", vector(1), 10)[0].tolist() == [2]
    assert index.search("c", vector(1), 10)[0].tolist() == []
    assert index.search("a", vector(1, 8), 10)[0].tolist() == [4]
    assert index.search(None, vector(1), 10)[0].tolist() == [1, 2, 3]


@pytest.mark.gate("REC-08")
def test_a_memory_that_changes_its_model_is_found_under_the_new_one_only() -> None:
    index = VectorIndex()
    index.put(1, "a", vector(1))
    index.put(1, "b", vector(1))
    assert len(index) == 1
    assert index.search("a", vector(1), 10)[0].tolist() == []
    assert index.search("b", vector(1), 10)[0].tolist() == [1]
    index.put(1, "b", None)
    assert len(index) == 0
    assert index.search(None, vector(1), 10)[0].tolist() == []


@pytest.mark.gate("REC-09")
@pytest.mark.parametrize(
    "bad", [np.zeros(4), np.array([np.nan, 1, 1, 1]), np.array([np.inf, 1, 1, 1])]
)
def test_a_vector_without_direction_matches_nothing(bad: NDArray[np.float64]) -> None:
    index = VectorIndex()
    index.put(1, "m", np.ones(4, "<f4").tobytes())
    index.put(2, "m", bad.astype("<f4").tobytes())
    assert index.search("m", np.ones(4, "<f4").tobytes(), 10)[0].tolist() == [1]
    assert index.search("m", bad.astype("<f4").tobytes(), 10)[0].tolist() == []
    index.put(1, "m", bad.astype("<f4").tobytes())
    assert len(index) == 0


@pytest.mark.gate("REC-09")
@pytest.mark.parametrize("length", [1e-30, 1e-38, 1e30, 3e38])
def test_very_short_and_very_long_vectors_keep_their_direction(length: float) -> None:
    direction = np.array([length, -length, 0, 0], dtype="<f4")
    unit = normalised(direction.tobytes())
    assert unit is not None
    np.testing.assert_allclose(unit, [2**-0.5, -(2**-0.5), 0, 0], rtol=1e-6)


@pytest.mark.gate("REC-10")
def test_only_allowed_memories_are_answered_however_rare_they_are() -> None:
    index = VectorIndex()
    stored = {rid: vector(rid) for rid in range(1, 1_001)}
    for rid, embedding in stored.items():
        index.put(rid, "m", embedding)
    rare = {rid: embedding for rid, embedding in stored.items() if rid % 250 == 0}
    query = vector(7_777)
    rids, _ = index.search("m", query, 10, lambda rids: rids % 250 == 0)
    assert rids.tolist() == expected(rare, query, 10)
    rids, _ = index.search("m", query, 10, lambda rids: rids % 2 == 0)
    half = {rid: embedding for rid, embedding in stored.items() if rid % 2 == 0}
    assert rids.tolist() == expected(half, query, 10)
    assert index.search("m", query, 0)[0].tolist() == []


@pytest.mark.gate("REC-10")
def test_equal_vectors_are_ordered_by_row_id_whatever_came_first() -> None:
    index = VectorIndex()
    for rid in (9, 3, 7, 1, 5):
        index.put(rid, "m", vector(1))
    assert index.search("m", vector(1), 3)[0].tolist() == [1, 3, 5]
    index.remove(1)
    assert index.search("m", vector(1), 3)[0].tolist() == [3, 5, 7]


@pytest.fixture
def database() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE TABLE memories (rid INTEGER PRIMARY KEY, tier INTEGER, embedding_model TEXT);"
        "CREATE TABLE vectors (rid INTEGER PRIMARY KEY, embedding BLOB)"
    )
    yield connection
    connection.close()


@pytest.mark.gate("REC-11")
def test_load_takes_the_hot_memories_of_the_database_and_nothing_else(
    database: apsw.Connection,
) -> None:
    for rid, tier, model in ((1, HOT, "m"), (2, COLD, "m"), (3, HOT, None), (4, HOT, "m")):
        database.execute("INSERT INTO memories VALUES (?, ?, ?)", (rid, tier, model))
        if rid != 4:
            database.execute("INSERT INTO vectors VALUES (?, ?)", (rid, vector(rid)))
    index = VectorIndex()
    index.put(99, "m", vector(99))
    index.load(database)
    assert index.search(None, vector(1), 10)[0].tolist()[0] == 1
    assert sorted(index.search(None, vector(1), 10)[0].tolist()) == [1, 3]


@pytest.mark.gate("REC-11")
def test_a_loaded_vector_is_bit_for_bit_the_one_that_was_put(database: apsw.Connection) -> None:
    put, loaded = VectorIndex(), VectorIndex()
    models = ("m", "n", None)
    for rid in range(1, 3 * LOADED_AT_ONCE):
        embedding = vector(rid, DIMENSIONS if rid % 2 else 2 * DIMENSIONS)
        if rid % 100 == 0:
            bad = 0 if rid % 200 else np.nan
            embedding = np.full(DIMENSIONS, bad, "<f4").tobytes()
        put.put(rid, models[rid % 3], embedding)
        database.execute("INSERT INTO memories VALUES (?, ?, ?)", (rid, HOT, models[rid % 3]))
        database.execute("INSERT INTO vectors VALUES (?, ?)", (rid, embedding))
    loaded.load(database)
    assert len(loaded) == len(put) < 3 * LOADED_AT_ONCE - 1
    for dimensions in (DIMENSIONS, 2 * DIMENSIONS):
        for model in models:
            query = vector(9, dimensions)
            was, now = put.search(model, query, 10_000), loaded.search(model, query, 10_000)
            assert now[0].tolist() == was[0].tolist()
            assert now[1].tobytes() == was[1].tobytes()
    for index in (put, loaded):
        index.remove(1)
        index.put(3, "m", vector(4))
    assert (
        loaded.search(None, vector(4), 5)[0].tolist() == put.search(None, vector(4), 5)[0].tolist()
    )


@pytest.mark.gate("REC-11")
def test_readers_beside_a_writer_see_whole_vectors_only() -> None:
    index = VectorIndex()
    faults: list[str] = []
    done = threading.Event()
    query = vector(1)

    def read() -> None:
        while not done.is_set():
            rids, cosines = index.search("m", query, 20)
            for rid, found in zip(rids.tolist(), cosines.tolist(), strict=True):
                if abs(found - cosine(vector(rid), query)) > 1e-5:
                    faults.append(f"{rid}: {found}")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for rid in range(1, 400):
        index.put(rid, "m", vector(rid))
        if rid > 50:
            index.remove(rid - 50)
    done.set()
    for reader in readers:
        reader.join()
    assert faults == []
