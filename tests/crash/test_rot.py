"""Bytes that rot, and databases from yesterday: nothing acknowledged goes at a start."""

import shutil
from pathlib import Path

import pytest

from sidecar.errors import ReadOnly
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import doctor
from tests.crash.namespaces import (
    Kept,
    assert_columns_follow,
    directory_of,
    faults,
    image_of,
    kept,
    memories,
    opened,
)
from tests.crash.test_interrupted_run import imaged

UNKNOWN = "unknown segments"
FRAME_HEAD_BYTES = 24
FILES = ("hot.db", "hot.db-wal", "commits")


def flip(path: Path, offset: int) -> None:
    """One bit of a file rots."""
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))


def contents(directory: Path) -> dict[str, str]:
    return {key: one.content for key, one in kept(directory).items()}


def files_of(directory: Path) -> dict[str, bytes]:
    """Everything that stands in the namespace's directory; a log without entries is nothing."""
    found = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }
    if found.get("hot.db-wal") == b"":
        del found["hot.db-wal"]
    return found


async def put(namespace: Namespace, count: int, prefix: str) -> None:
    await namespace.put_many(memories=memories(count, prefix), if_exists="error", partial=False)


async def spill(namespace: Namespace, target: int = 0) -> None:
    await namespace.cold_spill(dry_run=False, target=target)


async def rotten_after_a_spill(folder: Path) -> tuple[Path, dict[str, Kept]]:
    """A kill after a spill, and a WAL that rotted before the spilled memories were put.

    The first ten are in the database; the next thirty, and the move of all, are lost to it.
    """
    state_dir, image = folder / "whole", folder / "image"
    async with opened(state_dir) as namespace:
        await put(namespace, 10, "early")
    async with opened(state_dir) as namespace:
        await namespace.touch(ids=["early0"])
        wal = directory_of(state_dir) / "hot.db-wal"
        first_lost = wal.stat().st_size
        await put(namespace, 30, "late")
        with imaged("all rows moved", state_dir, image):
            await spill(namespace)
    flip(directory_of(image) / "hot.db-wal", first_lost + FRAME_HEAD_BYTES + 100)
    return image, kept(directory_of(state_dir))


@pytest.mark.gate("CRASH-08")
async def test_a_rotten_wal_makes_the_namespace_read_only_and_changes_no_byte(
    tmp_path: Path,
) -> None:
    image, whole = await rotten_after_a_spill(tmp_path)
    directory = directory_of(image)
    before = files_of(directory)
    async with opened(image) as namespace:
        status = await namespace.status()
        assert status.read_only is not None
        assert any("doctor" in alarm for alarm in status.alarms)
        with pytest.raises(ReadOnly) as refused:
            await namespace.put(memory=MemoryInput(content="more"), if_exists="error")
        assert refused.value.code == -32010
        assert "forgetd doctor" in refused.value.data["remedy"]
        early = await namespace.get(id="early3", include_embedding=False)
        assert early is not None
        assert early.content == whole["early3"].content
        assert await namespace.get(id="late3", include_embedding=False) is None
    assert files_of(directory) == before
    told = faults(directory)
    assert set(told) == {"commits", UNKNOWN}
    assert files_of(directory) == before


@pytest.mark.gate("CRASH-08")
async def test_after_the_operator_accepts_a_loss_segments_give_back_what_they_hold(
    tmp_path: Path,
) -> None:
    image, whole = await rotten_after_a_spill(tmp_path)
    directory = directory_of(image)
    doctor.accept(directory)
    async with opened(image) as namespace:
        status = await namespace.status()
        assert status.read_only is None
        assert any("30 memories were taken back" in alarm for alarm in status.alarms)
        assert_columns_follow(namespace)
        found = kept(directory)
        assert {key: one.content for key, one in found.items()} == contents_of(whole)
        assert {key: one.embedding for key, one in found.items()} == {
            key: one.embedding for key, one in whole.items()
        }
        assert {found[key].tier for key in found if key.startswith("late")} == {"cold"}
        await spill(namespace)
        await namespace.forget(ids=[f"late{at}" for at in range(20)], reason="called")
    assert faults(directory) == {}
    assert contents(directory) == contents_of(whole)


def contents_of(state: dict[str, Kept]) -> dict[str, str]:
    return {key: one.content for key, one in state.items()}


async def yesterday(folder: Path, *, with_counter: bool) -> tuple[Path, dict[str, Kept]]:
    """Today's segments under yesterday's database; and what stood there before.

    Since yesterday all segments were merged away, some memories got new words, and some are new.
    """
    state_dir = folder / "state"
    directory = directory_of(state_dir)
    async with opened(state_dir) as namespace:
        await put(namespace, 20, "old")
        await spill(namespace)
    shutil.copytree(directory, folder / "yesterday")
    async with opened(state_dir) as namespace:
        for at in range(4):
            patch = MemoryInput(content=f"old{at} in other words")
            await namespace.update(id=f"old{at}", patch=patch, if_revision=None)
        await put(namespace, 20, "new")
        await namespace.forget(ids=[f"old{at}" for at in range(10, 18)], reason="called")
        await spill(namespace)
    today = kept(directory)
    names = {path.name for path in (folder / "yesterday" / "cold").iterdir()}
    assert not names & {path.name for path in (directory / "cold").iterdir()}
    for name in FILES if with_counter else FILES[:2]:
        (directory / name).unlink(missing_ok=True)
        if (folder / "yesterday" / name).exists():
            shutil.copy(folder / "yesterday" / name, directory / name)
    return state_dir, today


@pytest.mark.gate("CRASH-09")
async def test_a_database_from_yesterday_is_noticed_and_deletes_nothing(tmp_path: Path) -> None:
    state_dir, _ = await yesterday(tmp_path, with_counter=False)
    directory = directory_of(state_dir)
    before = files_of(directory)
    async with opened(state_dir) as namespace:
        assert (await namespace.status()).read_only is not None
    assert files_of(directory) == before
    assert "commits" in faults(directory)


@pytest.mark.gate("CRASH-09")
@pytest.mark.parametrize("with_counter", [True, False])
async def test_under_a_database_from_yesterday_newer_segments_give_back_what_they_hold(
    tmp_path: Path, with_counter: bool
) -> None:
    state_dir, today = await yesterday(tmp_path, with_counter=with_counter)
    directory = directory_of(state_dir)
    if not with_counter:
        doctor.accept(directory)
    async with opened(state_dir) as namespace:
        assert (await namespace.status()).read_only is None
        assert contents(directory) == contents_of(today)
        assert_columns_follow(namespace)
        tiers = {key: one.tier for key, one in kept(directory).items()}
        assert tiers == {key: one.tier for key, one in today.items()}
        forgotten = await namespace.list(
            tier="forgotten", status=None, memory_type=None, cursor=None, limit=100
        )
        assert len(forgotten.memories) == 8
    assert faults(directory) == {}
    assert contents(directory) == contents_of(today)


@pytest.mark.gate("CRASH-09")
async def test_a_newer_version_that_only_a_segment_holds_outlives_every_later_run(
    tmp_path: Path,
) -> None:
    state_dir = tmp_path / "state"
    directory = directory_of(state_dir)
    async with opened(state_dir) as namespace:
        await put(namespace, 10, "old")
    shutil.copy(directory / "hot.db", tmp_path / "yesterday.db")
    async with opened(state_dir) as namespace:
        patch = MemoryInput(content="the words of today")
        await namespace.update(id="old0", patch=patch, if_revision=None)
        await put(namespace, 3, "new")
        await spill(namespace)
    (segment,) = (directory / "cold").iterdir()
    shutil.copy(tmp_path / "yesterday.db", directory / "hot.db")
    doctor.accept(directory)
    async with opened(state_dir) as namespace:
        assert contents(directory)["new1"].startswith("new number 1")
        # What the database says is what counts, as the operator has accepted it.
        assert not contents(directory)["old0"].startswith("the words")
        await spill(namespace)
        everything = list(contents(directory))
        await namespace.forget(ids=everything, reason="called")
        await namespace.restore(ids=everything, run_id=None, reason=None)
        await spill(namespace)
    async with opened(state_dir):
        assert segment.exists()
    assert faults(directory, but=[UNKNOWN]) == {}


@pytest.mark.gate("CRASH-10")
async def test_a_database_that_is_gone_is_told_and_made_again_from_the_segments(
    tmp_path: Path,
) -> None:
    state_dir = tmp_path / "state"
    directory = directory_of(state_dir)
    async with opened(state_dir) as namespace:
        await put(namespace, 12, "m")
        await spill(namespace)
        await namespace.forget(ids=["m1", "m2"], reason="called")
    whole = kept(directory)
    (directory / "hot.db").unlink()
    async with opened(state_dir) as namespace:
        assert (await namespace.status()).read_only is not None
    doctor.accept(directory)
    async with opened(state_dir):
        assert kept(directory) == whole
    assert faults(directory) == {}


@pytest.mark.gate("CRASH-08")
async def test_a_kill_without_rot_is_not_taken_for_one(tmp_path: Path) -> None:
    async with opened(tmp_path / "whole") as namespace:
        await put(namespace, 5, "m")
        image = image_of(tmp_path / "whole", tmp_path / "image")
    async with opened(image) as namespace:
        assert (await namespace.status()).read_only is None
        assert contents(directory_of(image)) == contents(directory_of(tmp_path / "whole"))
