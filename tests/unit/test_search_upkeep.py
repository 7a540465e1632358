"""The text index after many deletes: small again, and it finds what it found."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.estimate import NeutralEstimator
from sidecar.model import MemoryInput
from sidecar.store import hot_payloads, search_upkeep
from sidecar.store.search_upkeep import DELETED_KEY
from sidecar.store.store import Store
from sidecar.validation import check

NOW = 1_790_000_000_000
MEMORIES = 1_500
EACH = 15
BATCH = 500  # few, so that FTS5 has no reason of its own to merge
LEFT = MEMORIES // EACH


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "namespace", NeutralEstimator(), lambda: None, NOW)
    yield opened
    opened.close()


def fill(store: Store) -> None:
    """Memories whose texts share one word and have one of their own."""
    for start in range(0, MEMORIES, BATCH):
        checked = [
            check(MemoryInput(id=f"m{n}", content=f"ship number{n} came in at night"), NOW)
            for n in range(start, start + BATCH)
        ]

        def put(tx, checked=checked):  # type: ignore[no-untyped-def]
            for one in checked:
                store.records.put(tx, one, NOW, "error", "$")

        store.writer.call(put)


def rows_found(store: Store, word: str) -> int:
    with store.readers.borrow() as connection:
        query = "SELECT count(*) FROM search WHERE search MATCH ?"
        return connection.execute(query, (word,)).fetchall()[0][0]


def index_bytes(store: Store) -> int:
    with store.readers.borrow() as connection:
        query = "SELECT sum(length(block)) FROM search_data"
        return connection.execute(query).fetchall()[0][0]


def test_deletes_do_not_rewrite_the_index_and_merging_makes_it_small_again(store: Store) -> None:
    fill(store)
    before = index_bytes(store)
    gone = [rid for rid in range(1, MEMORIES + 1) if rid % EACH]  # part of every page stays
    store.writer.call(lambda tx: hot_payloads.delete(tx, gone))
    assert index_bytes(store) >= before
    assert store.meta(DELETED_KEY) == len(gone)
    assert rows_found(store, "ship") == LEFT

    search_upkeep.merge(store.writer, threading.Event())

    assert index_bytes(store) < before / 4
    assert store.meta(DELETED_KEY) is None
    assert rows_found(store, "ship") == LEFT
    assert rows_found(store, f"number{MEMORIES - 1}") == 1
    assert rows_found(store, "number0") == 0


def test_a_stopped_merge_leaves_the_index_whole_and_is_done_another_time(store: Store) -> None:
    fill(store)
    store.writer.call(lambda tx: hot_payloads.delete(tx, list(range(1, 1_201))))
    stopping = threading.Event()
    stopping.set()

    search_upkeep.merge(store.writer, stopping)

    assert store.meta(DELETED_KEY) == 1_200
    assert rows_found(store, "ship") == 300


@pytest.mark.parametrize(
    ("deleted", "hot", "worth"),
    [
        (0, 0, False),
        (999, 0, False),
        (1_000, 0, True),
        (2_500, 10_000, False),
        (2_501, 10_000, True),
    ],
)
def test_only_many_deleted_rows_are_worth_a_merge(deleted: int, hot: int, worth: bool) -> None:
    assert search_upkeep.worth_merging(deleted, hot) is worth
