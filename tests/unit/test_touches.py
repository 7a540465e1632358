"""Recalls that wait to be written: what a dry run sees of them, and what is written later."""

import threading
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from sidecar import touches
from sidecar.estimate import NeutralEstimator
from sidecar.model import FORGOTTEN, MemoryInput
from sidecar.plan.plan import Snapshot
from sidecar.store import rows
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.touches import TouchBuffer, writes
from sidecar.validation import check

NOW = 1_780_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "n", NeutralEstimator(), lambda: None, NOW)
    for name in "abcd":
        memory = check(MemoryInput(id=name, content=f"what {name} says"), NOW)
        made.writer.call(lambda tx, m=memory: made.records.put(tx, m, NOW, "error", "$"))
    yield made
    made.close()


def write_all(store: Store, buffer: TouchBuffer) -> None:
    """Write what waits, as a run does before it looks."""
    for batch in buffer.take():
        store.writer.call(writes(store.records, batch, NOW))


def same(first: Snapshot, second: Snapshot) -> bool:
    """Whether two snapshots say the same."""
    return all(
        np.array_equal(np.asarray(getattr(first, one.name)), np.asarray(getattr(second, one.name)))
        for one in fields(Snapshot)
    )


@pytest.mark.gate("RECALL-25")
@pytest.mark.parametrize("dry_runs", [0, 1, 3])
def test_a_dry_run_sees_exactly_what_will_be_written(store: Store, dry_runs: int) -> None:
    buffer = TouchBuffer()
    seen = store.columns.snapshot()
    for round_number in range(max(1, dry_runs)):
        buffer.add([1, 3], NOW + round_number)
        buffer.add([3, 4], NOW + 10 * round_number)
        seen = buffer.folded(store.columns.snapshot())
        assert same(buffer.folded(store.columns.snapshot()), seen), "looking twice changes nothing"
    write_all(store, buffer)
    assert same(store.columns.snapshot(), seen)
    assert not buffer.pending


@pytest.mark.gate("RECALL-25")
def test_what_comes_after_a_dry_run_is_a_change_of_its_own(store: Store) -> None:
    buffer = TouchBuffer()
    buffer.add([1], NOW)
    planned = buffer.folded(store.columns.snapshot())
    buffer.add([1, 2], NOW + 5)
    write_all(store, buffer)
    now = store.columns.snapshot()
    assert (now.change_counter - planned.change_counter).tolist() == [1, 1, 0, 0]
    assert now.recall_count.tolist() == [2, 1, 0, 0]
    assert now.last_recalled_at.tolist() == [NOW + 5, NOW + 5, 0, 0]


@pytest.mark.gate("RECALL-25")
def test_without_touches_a_snapshot_is_itself(store: Store) -> None:
    snapshot = store.columns.snapshot()
    assert TouchBuffer().folded(snapshot) is snapshot


@pytest.mark.gate("RECALL-25")
def test_batches_that_could_not_be_written_come_first_again(store: Store) -> None:
    buffer = TouchBuffer()
    buffer.add([1], NOW)
    buffer.folded(store.columns.snapshot())
    buffer.add([2], NOW)
    taken = buffer.take()
    assert (len(taken), buffer.pending) == (2, False)
    buffer.add([1], NOW + 9)
    buffer.give_back(taken)
    seen = buffer.folded(store.columns.snapshot())
    assert seen.recall_count.tolist() == [2, 1, 0, 0]
    assert [sorted(batch) for batch in buffer.take()] == [[1], [2], [1]]


@pytest.mark.gate("RECALL-25")
def test_the_buffer_has_an_end_and_known_memories_still_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(touches, "TOUCHES_PENDING_MAX", 2)
    buffer = TouchBuffer()
    buffer.add([1, 2, 3, 1], NOW)
    buffer.add([2], NOW + 1)
    assert buffer.take() == [{1: (2, NOW), 2: (2, NOW + 1)}]


@pytest.mark.gate("RECALL-25")
def test_touches_of_what_is_gone_or_forgotten_are_dropped(store: Store) -> None:
    def forget(tx: Transaction) -> None:
        row = rows.by_id(tx.connection, "b")
        assert row is not None
        row.tier = FORGOTTEN
        rows.update(tx.connection, row)

    store.writer.call(forget)
    buffer = TouchBuffer()
    buffer.add([2, 99], NOW)
    write_all(store, buffer)
    with store.readers.borrow() as connection:
        found = connection.execute("SELECT sum(recall_count) FROM memories").fetchall()
    assert found == [(0,)]


@pytest.mark.gate("RECALL-25")
def test_no_touch_of_many_threads_is_lost() -> None:
    buffer = TouchBuffer()
    taken: list[touches.Batch] = []
    threads = [
        threading.Thread(target=lambda: [buffer.add([1, 2], NOW) for _ in range(2_000)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken += buffer.take()
    taken += buffer.take()
    for rid in (1, 2):
        assert sum(batch[rid][0] for batch in taken if rid in batch) == 8_000
