"""A disk that fails once: no write is answered any more until a restart, and none is lost."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from sidecar.errors import ReadOnly
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store.sqlite import checkpointer
from tests.crash.faulty_disk import FailsOnce, under_sqlite
from tests.crash.namespaces import (
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    memories,
    opened,
    unfinished_runs,
)

COUNT = 20


async def put(namespace: Namespace, key: str) -> None:
    await namespace.put(memory=MemoryInput(id=key, content=f"this is {key}"), if_exists="error")


WRITES: dict[str, Callable[[Namespace], Awaitable[object]]] = {
    "put": lambda namespace: put(namespace, "in doubt"),
    "update": lambda namespace: namespace.update(
        id="m1", patch=MemoryInput(content="in doubt"), if_revision=None
    ),
    "spill": lambda namespace: namespace.cold_spill(dry_run=False, target=5),
    "forget": lambda namespace: namespace.forget(ids=["m1", "m2"], reason="called"),
}


@pytest.mark.gate("CRASH-14")
@pytest.mark.parametrize(
    ("write", "name"),
    # A checkpoint, as at the end of a run, is what syncs the database itself.
    [*((write, "hot.db-wal") for write in WRITES), ("spill", "hot.db"), ("forget", "hot.db")],
)
async def test_after_one_failed_fsync_nothing_is_answered_until_a_restart(
    tmp_path: Path, write: str, name: str
) -> None:
    directory = directory_of(tmp_path)
    disk = FailsOnce("sync", apsw.IOError, name)
    with under_sqlite(disk):
        async with opened(tmp_path) as namespace:
            await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
            before = kept(directory)
            disk.armed = True
            with pytest.raises(ReadOnly):
                await WRITES[write](namespace)
            assert disk.failed == 1
            for later in ("one", "two"):
                with pytest.raises(ReadOnly) as refused:
                    await put(namespace, later)
                assert "restart" in refused.value.data["remedy"]
            memory = await namespace.get(id="m3", include_embedding=False)
            assert memory is not None
            status = await namespace.status()
            assert status.read_only is not None
            assert_columns_follow(namespace)
    async with opened(tmp_path) as namespace:
        assert (await namespace.status()).read_only is None
        found = kept(directory)
        assert {"one", "two"}.isdisjoint(found)
        for key, memory in before.items():
            if key != "m1":
                assert found[key].content == memory.content
                assert found[key].embedding == memory.embedding
        await put(namespace, "after")
    assert unfinished_runs(directory) == 0
    assert faults(directory, but=["unknown segments"]) == {}


@pytest.mark.gate("CRASH-14")
async def test_a_checkpoint_that_fails_beside_the_writes_stops_them_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointer, "WAL_PAGES_MAX", 1)
    disk = FailsOnce("sync", apsw.IOError, "hot.db")
    answered: list[str] = []
    with under_sqlite(disk):
        async with opened(tmp_path) as namespace:
            disk.armed = True
            for at in range(1_000):
                try:
                    await put(namespace, f"k{at}")
                except ReadOnly:
                    break
                answered.append(f"k{at}")
            else:
                pytest.fail("writes went on beside a disk that fails")
    async with opened(tmp_path):
        assert set(answered) <= set(kept(directory_of(tmp_path)))
