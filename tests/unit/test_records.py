"""The writing verbs of a namespace: one transaction, its events, nothing left of a failure."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import ForgetdError, InvalidParams, MemoryExists, SupersessionConflict
from sidecar.estimate import Estimator, NeutralEstimator
from sidecar.imports import checked_members, put_members
from sidecar.model import MemoryInput
from sidecar.store import events, rows
from sidecar.store.columns import Columns
from sidecar.store.rows import Row
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.validation import check
from tests.namespaces import columns_of

NOW = 1_780_000_000_000


class Lengths:
    """An estimator that can be told from the neutral one: longer texts are worth more."""

    version = "lengths-1"

    def estimate(self, content: str) -> float:
        return min(1.0, len(content) / 100)


def opened(folder: Path, estimator: Estimator) -> Store:
    """A store in a folder of its own."""
    return Store(folder / "n", estimator, lambda: None, NOW)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = opened(tmp_path, NeutralEstimator())
    yield made
    made.close()


def put(store: Store, memory_id: str, if_exists: Any = "error", **fields: Any) -> Row:
    """Put one memory."""
    given: dict[str, Any] = {"content": f"what {memory_id} says"}
    memory = check(MemoryInput(id=memory_id, **(given | fields)), NOW)
    return store.writer.call(lambda tx: store.records.put(tx, memory, NOW, if_exists, "$")[0])


def update(store: Store, memory_id: str, now: int = NOW, **fields: Any) -> Row:
    """Change one memory."""
    patch = check(MemoryInput(**fields), NOW, "$.patch")
    return store.writer.call(lambda tx: store.records.update(tx, memory_id, patch, None, now))


def told(store: Store) -> list[tuple[str, str | None, dict[str, Any]]]:
    """(kind, id, payload) of every event but the first."""
    with store.readers.borrow() as connection:
        found = connection.execute("SELECT kind, memory_id, payload FROM events ORDER BY seq")
        return [(kind, memory_id, json.loads(text)) for kind, memory_id, text in found][1:]


def check_store(store: Store) -> str:
    """Columns and log agree with the rows; answers the state hash."""
    fresh = Columns()
    with store.readers.view() as connection:
        fresh.load(connection)
        state = events.state_hash(connection)
        assert events.replayed_hash(connection) == state
    assert columns_of(fresh) == columns_of(store.columns)
    return state


@pytest.mark.gate("RECORD-20")
def test_an_event_tells_what_changed_and_no_content(store: Store) -> None:
    put(store, "m", metadata={"secret": "word"}, embedding=[1.5])
    update(store, "m", now=NOW + 1, importance=0.7)
    store.writer.call(lambda tx: store.records.touch(tx, 1, 2, NOW + 2, NOW + 3))
    store.writer.call(lambda tx: store.records.set_flag(tx, "m", "pinned", 1, NOW + 4))
    kinds = [(kind, memory_id) for kind, memory_id, _ in told(store)]
    assert kinds == [
        ("memory.created", "m"),
        ("memory.updated", "m"),
        ("memory.touched", "m"),
        ("memory.updated", "m"),
    ]
    changes = [payload for _, _, payload in told(store)[1:]]
    assert changes == [
        {"importance": 0.7, "updated_at": NOW + 1, "revision": 2, "change_counter": 2},
        {"recall_count": 2, "last_recalled_at": NOW + 2, "change_counter": 3},
        {"pinned": 1, "change_counter": 4},
    ]
    assert not any(word in json.dumps(told(store)) for word in ("says", "secret", "word"))
    check_store(store)


@pytest.mark.gate("RECORD-20")
def test_a_put_that_fails_leaves_no_byte(store: Store) -> None:
    put(store, "a", supersedes=[])
    put(store, "b")
    before, log = check_store(store), told(store)
    faults: list[tuple[str, dict[str, Any], type[ForgetdError]]] = [
        ("a", {}, MemoryExists),
        ("c", {"supersedes": ["a", "nobody"]}, InvalidParams),
        ("c", {"supersedes": ["a"], "superseded_by": "a"}, SupersessionConflict),
        ("c", {"supersedes": ["c"]}, SupersessionConflict),
    ]
    for memory_id, fields, error in faults:
        with pytest.raises(error):
            put(store, memory_id, embedding=[1.0], media_ref="x", **fields)
    assert (check_store(store), told(store)) == (before, log)
    with store.readers.borrow() as connection:
        for table in ("vectors", "media"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]


@pytest.mark.gate("RECORD-11")
def test_a_member_that_fails_in_a_partial_call_leaves_no_byte(store: Store) -> None:
    members = checked_members(
        [
            MemoryInput(id="a", content="a"),
            MemoryInput(id="b", content="b", supersedes=["a", "nobody"], embedding=[1.0]),
            MemoryInput(id="c", content="c", embedding=[1.0, 2.0]),
        ],
        NOW,
        partial=True,
    )
    store.writer.call(
        lambda tx: put_members(store.records, tx, members, NOW, "error", partial=True)
    )
    assert [member.result for member in members] == ["created", None, "created"]
    with store.readers.borrow() as connection:
        found = rows.select(connection, "ORDER BY id", ())
    assert [(row.id, row.superseded_by, row.revision) for row in found] == [
        ("a", None, 1),
        ("c", None, 1),
    ]
    check_store(store)


@pytest.mark.gate("RECORD-05")
def test_an_estimate_is_frozen_until_the_content_changes(tmp_path: Path) -> None:
    store = opened(tmp_path, Lengths())
    put(store, "m", content="x" * 20)
    put(store, "host", content="x" * 20, importance=0.9)
    store.close()
    store = opened(tmp_path, NeutralEstimator())
    try:
        same = update(store, "m", metadata={"a": 1})
        assert (same.estimate, same.estimator, same.value) == (0.2, "lengths-1", 0.2)
        other = update(store, "m", content="other")
        assert (other.estimate, other.estimator) == (0.5, "neutral-1")
        host = update(store, "host", importance=None)
        assert (host.importance, host.value) == (None, 0.2)
        check_store(store)
    finally:
        store.close()


@pytest.mark.gate("RECORD-04")
def test_one_call_that_changes_much_is_one_revision(store: Store) -> None:
    put(store, "m")
    put(store, "older")
    row = update(
        store,
        "m",
        content="other",
        importance=0.1,
        metadata={"a": 1},
        supersedes="older",
        pinned=True,
    )
    assert (row.revision, row.change_counter) == (2, 2)
    assert [kind for kind, _, _ in told(store)[2:]] == ["memory.updated", "memory.superseded"]
    check_store(store)


@pytest.mark.gate("RECORD-06")
def test_a_link_to_a_memory_that_comes_later_is_kept(store: Store) -> None:
    put(store, "older", superseded_by="newer")
    assert store.columns.snapshot().successor_rid.tolist() == [-1]
    put(store, "newer")
    assert store.columns.snapshot().successor_rid.tolist() == [2, 0]
    with pytest.raises(SupersessionConflict):
        update(store, "newer", superseded_by="older")
    check_store(store)


@pytest.mark.gate("RECORD-06")
def test_a_loop_through_a_memory_that_is_not_there_yet_is_refused(store: Store) -> None:
    put(store, "a", superseded_by="b")
    put(store, "c", superseded_by="a")
    with pytest.raises(SupersessionConflict):
        put(store, "b", superseded_by="c")
    put(store, "b")
    check_store(store)


@pytest.mark.gate("RECORD-02")
def test_replacing_with_the_same_is_no_change(store: Store) -> None:
    put(store, "m", importance=0.3, metadata={"a": 1})
    before = check_store(store)
    row = put(store, "m", "replace", importance=0.3, metadata={"a": 1})
    assert (row.revision, row.change_counter) == (1, 1)
    assert check_store(store) == before


@pytest.mark.gate("RECORD-20")
def test_jobs_of_one_commit_fail_alone(store: Store) -> None:
    """Writes that wait together share a commit; a failing one takes none of them along."""

    def slow(tx: Transaction) -> None:
        store.records.put(tx, check(MemoryInput(id="first", content="x"), NOW), NOW, "error", "$")

    def job(memory_id: str) -> Any:
        memory = check(MemoryInput(id=memory_id, content="x"), NOW)
        return lambda tx: store.records.put(tx, memory, NOW, "error", "$")

    futures = [store.writer.submit(slow)]
    futures += [store.writer.submit(job(name)) for name in ("a", "b", "a", "c", "b")]
    failed = [future.exception() for future in futures]
    assert [type(one).__name__ for one in failed] == [
        "NoneType",
        "NoneType",
        "NoneType",
        "MemoryExists",
        "NoneType",
        "MemoryExists",
    ]
    assert store.columns.counts().hot == 4
    check_store(store)
