"""The writer thread under faults: RAM follows the database, and nobody waits for ever."""

import errno
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from sidecar.errors import DiskFull, ReadOnly, ShuttingDown
from sidecar.estimate import NeutralEstimator
from sidecar.limits import WRITE_QUEUE_JOBS_MAX
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import adopt
from sidecar.store.store import Store
from sidecar.store.vector_index import VectorIndex
from tests.crash.faulty_disk import FailsOnce, under_sqlite
from tests.crash.namespaces import (
    DIMENSIONS,
    NOW,
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    memories,
    opened,
)

COUNT = 30
WAIT_SECONDS = 30.0
Write = Callable[[Namespace], Awaitable[object]]
WRITES: dict[str, Write] = {
    "put": lambda namespace: namespace.put(memory=memories(1, "new")[0], if_exists="error"),
    "putMany": lambda namespace: namespace.put_many(
        memories=memories(5, "new"), if_exists="error", partial=False
    ),
    "replace": lambda namespace: namespace.put(memory=memories(1)[0], if_exists="replace"),
    "thaw by update": lambda namespace: namespace.update(
        id="m0", patch=MemoryInput(content="other words"), if_revision=None
    ),
    "pin": lambda namespace: namespace.pin(id="m1", pinned=True),
    "touch": lambda namespace: namespace.touch(ids=["m1", "m29"]),
    "supersede": lambda namespace: namespace.supersede(id="m2", by="m29"),
    "thresholds": lambda namespace: namespace.set_thresholds({"forgetThresholdCount": 7}),
}


def open_store(directory: Path) -> Store:
    """A store without its namespace."""
    directory.mkdir(parents=True, exist_ok=True)
    return Store(directory, NeutralEstimator(), lambda: None, NOW)


@pytest.mark.gate("CRASH-22")
@pytest.mark.parametrize("write", WRITES)
async def test_a_commit_that_fails_leaves_the_columns_as_the_database_is(
    tmp_path: Path, write: str
) -> None:
    disk = FailsOnce("write", apsw.FullError, "hot.db-wal")
    directory = directory_of(tmp_path)
    with under_sqlite(disk):
        async with opened(tmp_path) as namespace:
            await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
            await namespace.cold_spill(dry_run=False, target=10)
            await load_vectors(namespace)
            before, settings = kept(directory), await namespace.thresholds_report()
            disk.armed = True
            with pytest.raises(DiskFull):
                await WRITES[write](namespace)
            assert disk.failed == 1
            assert kept(directory) == before
            assert await namespace.thresholds_report() == settings
            assert_columns_follow(namespace)
            assert_vectors_follow(namespace)
            await WRITES[write](namespace)
            assert_columns_follow(namespace)
            assert_vectors_follow(namespace)
    assert faults(directory) == {}


async def load_vectors(namespace: Namespace) -> None:
    """A recall by vector makes the index that has to follow from then on."""
    await namespace.recall(
        query=None, embedding=[0.5] * DIMENSIONS, embedding_model=None, top_k=3, depth="hot",
        memory_types=None, include_archived=False, min_strength=None, touch="none",
    )  # fmt: skip


def assert_vectors_follow(namespace: Namespace) -> None:
    """The vectors in RAM are what a fresh load makes of the database."""
    fresh = VectorIndex()
    with namespace.store.readers.borrow() as connection:
        fresh.load(connection)
    ours = namespace.store.columns.vectors
    assert ours is not None
    question = np.full(DIMENSIONS, 0.5, "<f4").tobytes()
    found, expected = (one.search(None, question, 100) for one in (ours, fresh))
    assert found[0].tolist() == expected[0].tolist()
    assert np.allclose(found[1], expected[1])


@pytest.mark.gate("CRASH-22")
async def test_a_commit_that_was_durable_but_reported_failed_shows_in_the_columns(
    tmp_path: Path,
) -> None:
    """As when another layer fails after SQLite has written everything."""
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(3), if_exists="error", partial=False)
        writer = namespace.store.writer
        connection = writer.connection

        class CommitFails:
            def __getattr__(self, name: str) -> Any:
                return getattr(connection, name)

            def execute(self, statements: str, bindings: Any = None) -> Any:
                result = connection.execute(statements, bindings)
                if statements == "COMMIT":
                    raise apsw.FullError
                return result

        writer.connection = CommitFails()  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(DiskFull):
            await namespace.put(memory=memories(1, "new")[0], if_exists="error")
        writer.connection = connection
        assert (await namespace.status()).counts.hot == 4
        assert_columns_follow(namespace)


@pytest.mark.gate("CRASH-22")
def test_a_fault_of_ours_after_a_commit_ends_no_thread_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    store = open_store(tmp_path)
    answered = store.writer.submit(lambda tx: tx.after_commit.append(lambda _: 1 // 0) or 7)
    assert answered.result(WAIT_SECONDS) == 7
    assert [one.exc_type for one in told] == [ZeroDivisionError]
    assert store.writer.call(lambda _: 8) == 8
    store.close()


@pytest.mark.gate("CRASH-22")
def test_closing_answers_every_job_that_waits_also_behind_a_full_queue(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    going, release = threading.Event(), threading.Event()

    def hold(_: Any) -> None:
        going.set()
        release.wait(WAIT_SECONDS)

    futures: list[Future[Any]] = [store.writer.submit(hold)]
    assert going.wait(WAIT_SECONDS)
    futures += [store.writer.submit(lambda _: None) for _ in range(WRITE_QUEUE_JOBS_MAX)]

    def submit() -> None:
        try:
            futures.append(store.writer.submit(lambda _: None, wait=True))
        except ShuttingDown:
            return

    threads = [threading.Thread(target=submit) for _ in range(4)]
    threads.append(threading.Thread(target=store.close))
    for thread in threads:
        thread.start()
    release.set()
    for thread in threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
    answers = [future.exception(WAIT_SECONDS) for future in futures]
    assert {type(one) for one in answers} <= {type(None), ShuttingDown}
    with pytest.raises(ShuttingDown):
        store.writer.submit(lambda _: None)


@pytest.mark.gate("CRASH-22")
@pytest.mark.parametrize(
    ("number", "latched"), [(errno.ENOSPC, False), (errno.EDQUOT, False), (errno.EIO, True)]
)
def test_a_counter_that_cannot_be_written_stops_writes_unless_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, latched: bool
) -> None:
    store = open_store(tmp_path)

    def fail(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pwrite", fail)
    store.writer.call(lambda _: None)
    monkeypatch.undo()
    assert (store.writer.latched is not None) == latched
    if latched:
        with pytest.raises(ReadOnly):
            store.writer.call(lambda _: None)
    store.close()


@pytest.mark.gate("CRASH-22")
def test_a_start_that_fails_lets_go_of_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(tmp_path).close()
    threads = threading.active_count()

    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(adopt, "adopt", fail)
    with pytest.raises(OSError, match="Input/output error"):
        open_store(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(Store, "refresh_media", fail)
    with pytest.raises(OSError, match="Input/output error"):
        open_store(tmp_path)
    monkeypatch.undo()
    assert threading.active_count() == threads
    open_store(tmp_path).close()


@pytest.mark.gate("CRASH-22")
def test_the_place_of_a_new_namespace_is_made_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    open_store(tmp_path / "one").close()
    assert {str(tmp_path), str(tmp_path / "one")} <= set(synced)
