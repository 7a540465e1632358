"""A full disk: growth is refused, reading and forgetting go on, and room heals everything."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.errors import DiskFull
from sidecar.limits import RESERVE_BYTES
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store.space import Reserve
from tests.crash.namespaces import (
    assert_columns_follow,
    directory_of,
    faults,
    image_of,
    kept,
    memories,
    opened,
    unfinished_runs,
)
from tests.crash.small_disk import SmallDisk, small_disk
from tests.crash.test_interrupted_run import imaged

COUNT = 200
PUTS_MAX = 2_000
LITTLE_BYTES = 98_304  # the index of a WAL, and little more
LARGE = "memory " * 3_000


@pytest.fixture(params=["mounted", "counted"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of 48 MiB."""
    with small_disk(request.param, tmp_path) as made:
        yield made


async def put_until_refused(namespace: Namespace, prefix: str) -> tuple[list[str], DiskFull]:
    """The ids that were answered before the first refusal."""
    answered: list[str] = []
    for at in range(PUTS_MAX):
        memory = MemoryInput(id=f"{prefix}{at}", content=LARGE)
        try:
            await namespace.put(memory=memory, if_exists="error")
        except DiskFull as refused:
            return answered, refused
        answered.append(f"{prefix}{at}")
    pytest.fail("a full disk took everything")


def reserve_bytes(disk: SmallDisk) -> int:
    return (disk.state_dir / "reserve").stat().st_size


@pytest.mark.gate("CRASH-15")
async def test_on_a_full_disk_growth_is_refused_and_forgetting_goes_on(disk: SmallDisk) -> None:
    directory = directory_of(disk.state_dir)
    async with opened(disk.state_dir) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        assert reserve_bytes(disk) == RESERVE_BYTES
        disk.fill()
        answered, refused = await put_until_refused(namespace, "full")
        assert (refused.code, refused.symbol, refused.retryable) == (-32010, "disk_full", True)
        assert "free space" in refused.data["remedy"]
        assert await namespace.get(id=f"full{len(answered)}", include_embedding=False) is None
        await reads_work(namespace)
        # More than once: what a run takes of the reserve is put back after it.
        for first in (0, 20, 40):
            ids = [f"m{at}" for at in range(first, first + 20)]
            report = await namespace.forget(ids=ids, reason="called")
            assert report.forgotten == 20
        spilled = await namespace.cold_spill(dry_run=False, target=50)
        assert spilled.counts["spill"] > 0
        more, _ = await put_until_refused(namespace, "again")
        await reads_work(namespace)
        assert_columns_follow(namespace)
        disk.free()
        await namespace.put(memory=MemoryInput(id="room", content=LARGE), if_exists="error")
        await namespace.forget(ids=["room"], reason="called")
        assert reserve_bytes(disk) == RESERVE_BYTES
    assert set(kept(directory)) == {
        *(f"m{at}" for at in range(COUNT)), *answered, *more, "room",
    }  # fmt: skip
    assert unfinished_runs(directory) == 0
    assert faults(directory, but=["unknown segments"]) == {}


async def reads_work(namespace: Namespace) -> None:
    """Point reads, lists, recall and dry runs need no room, and nothing is latched."""
    memory = await namespace.get(id="m150", include_embedding=True)
    assert memory is not None
    page = await namespace.list(tier=None, status=None, memory_type=None, cursor=None, limit=500)
    assert len(page.memories) > 0
    found = await namespace.recall(
        query="number 150", embedding=None, embedding_model=None, top_k=5, depth="deep",
        memory_types=None, include_archived=False, min_strength=None, touch="none",
    )  # fmt: skip
    assert found.results
    await namespace.cold_spill(dry_run=True, target=0)
    assert (await namespace.status()).read_only is None


@pytest.mark.gate("CRASH-15")
async def test_touches_that_wait_do_not_keep_a_full_disk_from_forgetting(disk: SmallDisk) -> None:
    async with opened(disk.state_dir) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        disk.fill()
        await put_until_refused(namespace, "full")
        await namespace.recall(
            query="number", embedding=None, embedding_model=None, top_k=50, depth="hot",
            memory_types=None, include_archived=False, min_strength=None, touch="all",
        )  # fmt: skip
        report = await namespace.forget(ids=["m1", "m2"], reason="called")
        assert report.forgotten == 2
        disk.free()


async def cut_at_its_list(folder: Path, disk: SmallDisk) -> None:
    """The state of a daemon that was killed when it had committed to spill 150 memories."""
    whole, image = folder / "whole", folder / "image"
    async with opened(whole) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        with imaged("list committed", whole, image):
            await namespace.cold_spill(dry_run=False, target=50)
    image_of(image, disk.state_dir)


@pytest.mark.gate("CRASH-16")
async def test_a_full_disk_at_the_start_keeps_nobody_from_reading(
    disk: SmallDisk, tmp_path: Path
) -> None:
    await cut_at_its_list(tmp_path, disk)
    directory = directory_of(disk.state_dir)
    disk.fill(left=LITTLE_BYTES)  # before there is a reserve
    async with opened(disk.state_dir) as namespace:
        await reads_work(namespace)
        with pytest.raises(DiskFull):
            await namespace.forget(ids=["m1"], reason="called")
        assert len(kept(directory)) == COUNT
        disk.free()
        await namespace.forget(ids=["m1"], reason="called")
        assert (await namespace.status()).counts.cold > 100  # the run of before was finished first
    assert unfinished_runs(directory) == 0
    assert len(kept(directory)) == COUNT
    assert faults(directory, but=["unknown segments"]) == {}


@pytest.mark.gate("CRASH-16")
async def test_with_the_reserve_an_interrupted_run_is_finished_on_a_full_disk(
    disk: SmallDisk, tmp_path: Path
) -> None:
    await cut_at_its_list(tmp_path, disk)
    directory = directory_of(disk.state_dir)
    Reserve(disk.state_dir / "reserve").fill()
    disk.fill()
    async with opened(disk.state_dir) as namespace:
        assert (await namespace.status()).counts.hot == 50
        await reads_work(namespace)
        assert reserve_bytes(disk) >= RESERVE_BYTES // 2
        disk.free()
    assert unfinished_runs(directory) == 0
    assert faults(directory, but=["unknown segments"]) == {}
