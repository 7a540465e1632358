"""The columns in RAM follow the database through every kind of change."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.estimate import NeutralEstimator
from sidecar.model import COLD, HOT, MemoryInput
from sidecar.plan.plan import Counts
from sidecar.store.columns import CAPACITY_FIRST, Columns
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.validation import check
from tests.namespaces import columns_of

NOW = 1_780_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "n", NeutralEstimator(), lambda: None, NOW)
    yield made
    made.close()


def put(store: Store, *memories: MemoryInput) -> None:
    """Put memories in one transaction."""
    checked = [check(memory, NOW) for memory in memories]
    store.writer.call(lambda tx: [store.records.put(tx, one, NOW, "error", "$") for one in checked])


def named(number: int, **fields: Any) -> MemoryInput:
    """The memory of this number."""
    return MemoryInput(id=f"m{number}", content=f"fact {number}", **fields)


def check_load(store: Store) -> None:
    """A fresh load says what the kept columns say."""
    fresh = Columns()
    with store.readers.borrow() as connection:
        fresh.load(connection)
    assert columns_of(fresh) == columns_of(store.columns)


@pytest.mark.gate("STORE-31")
def test_an_empty_store_has_empty_columns(store: Store) -> None:
    assert store.columns.counts() == Counts(0, 0, 0, 0)
    snapshot = store.columns.snapshot()
    assert len(snapshot) == 0
    found, valid_from, live = store.columns.rows_at(np.array([0, 1, 5_000], np.int64))
    assert (len(found), len(valid_from), live.tolist()) == (0, 0, [False] * 3)


@pytest.mark.gate("STORE-31")
def test_columns_grow_beyond_their_first_size(store: Store) -> None:
    put(store, *(named(number) for number in range(2 * CAPACITY_FIRST + 1)))
    assert store.columns.counts().hot == 2 * CAPACITY_FIRST + 1
    check_load(store)


@pytest.mark.gate("STORE-31")
def test_a_snapshot_is_a_copy(store: Store) -> None:
    put(store, named(1), named(2))
    snapshot = store.columns.snapshot()
    store.writer.call(lambda tx: store.records.touch(tx, 1, 3, NOW, NOW))
    put(store, named(3))
    assert snapshot.recall_count.tolist() == [0, 0]
    assert list(snapshot.ids) == ["m1", "m2"]
    assert store.columns.snapshot().recall_count.tolist() == [3, 0, 0]


@pytest.mark.gate("STORE-31")
def test_rows_are_found_by_their_number_and_gone_ones_are_not(store: Store) -> None:
    put(store, *(named(number, valid_from=NOW + number) for number in range(1, 6)))
    with store.columns.lock:
        store.columns.remove(2, NOW)
        store.columns.remove(5, NOW)
        store.columns.remove(5, NOW)
    found, valid_from, live = store.columns.rows_at(np.array([5, 1, 2, 4, 99], np.int64))
    assert live.tolist() == [False, True, False, True, False]
    assert (list(found.ids), found.rid.tolist()) == (["m1", "m4"], [1, 4])
    assert valid_from.tolist() == [NOW + 1, NOW + 4]
    assert store.columns.counts().hot == 3


@pytest.mark.gate("STORE-31")
def test_shared_files_are_counted_once_through_any_order_of_changes(
    store: Store, rng: random.Random
) -> None:
    put(store, *(named(number, media_ref=f"f{number % 3}") for number in range(9)))
    columns = store.columns
    without = columns.live_bytes
    sizes = {"f0": 1_000, "f1": 20_000, "f2": 300_000}
    with columns.lock:
        for ref, size in sizes.items():
            columns.media_size(ref, size)
    assert columns.live_bytes == without + 321_000
    order = list(range(1, 10))
    rng.shuffle(order)
    left = set(range(9))
    for rid in order:
        before = columns.live_bytes
        own = int(columns.snapshot().bytes[columns.snapshot().rid == rid][0])
        with columns.lock:
            columns.remove(rid, NOW)
        left.discard(rid - 1)
        ref = f"f{(rid - 1) % 3}"
        last = not any(number % 3 == (rid - 1) % 3 for number in left)
        assert before - columns.live_bytes == own + (sizes[ref] if last else 0)
    assert columns.live_bytes == 0


@pytest.mark.gate("STORE-31")
def test_moves_between_tiers_change_the_counters(store: Store) -> None:
    put(store, named(1), named(2))
    columns = store.columns
    with columns.lock:
        columns.moved(1, COLD, 77, 2)
    assert (columns.hot, columns.cold) == (1, 1)
    snapshot = columns.snapshot()
    assert (int(snapshot.bytes[0]), int(snapshot.change_counter[0])) == (77, 2)
    with columns.lock:
        columns.moved(1, HOT, 99, 3)
        columns.moved(2, HOT, 1, 2)
    assert columns.counts() == Counts(2, 0, 0, 100)


@pytest.mark.gate("STORE-31")
def test_links_wait_for_the_memory_they_name(store: Store) -> None:
    put(store, named(1, superseded_by="m2"))
    assert store.columns.snapshot().successor_rid.tolist() == [-1]
    put(store, named(2))
    assert store.columns.snapshot().successor_rid.tolist() == [2, 0]
    check_load(store)


@pytest.mark.gate("STORE-31")
def test_a_job_that_fails_changes_no_column(store: Store) -> None:
    put(store, named(1))
    before = columns_of(store.columns)

    def fail(tx: Transaction) -> None:
        store.records.put(tx, check(named(2), NOW), NOW, "error", "$")
        store.records.touch(tx, 1, 1, NOW, NOW)
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        store.writer.call(fail)
    assert columns_of(store.columns) == before
    check_load(store)
