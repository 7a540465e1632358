"""Files follow their memories: to the trash with the last owner, and back."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from sidecar.media_reports import MediaReport
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import media_trash
from sidecar.store.media_trash import MOVED_STATES
from tests.namespaces import (
    World,
    a_world,
    check_columns,
    files_below,
    get,
    many,
    memory,
    put,
    restore,
    state_hash,
    sweep,
    tiers,
)
from tests.owned_files import came_back, forget, media_of, states, trash, write


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path / "state") as started:
        yield started


@pytest.mark.gate("MEDIA-01")
async def test_a_file_goes_to_the_trash_of_the_run_that_forgot_its_memory(world: World) -> None:
    namespace = await world.open(automatic=False)
    path = write(namespace, "photos/a.jpg")
    await put(namespace, memory("a", media_ref="photos/a.jpg"), memory("bare"))
    report = await forget(namespace, "a", "bare")
    assert report.media == MediaReport(moved=1, skipped=0, missing=0, bytes=7)
    assert not path.exists()
    assert path.parent.is_dir()
    ((name, content),) = trash(namespace).items()
    assert content == b"picture"
    assert name.startswith(f"{report.run_id}/")
    assert name.endswith("-a.jpg")
    check_columns(namespace)


@pytest.mark.gate("MEDIA-01")
async def test_a_shared_file_goes_with_the_last_of_its_owners(world: World) -> None:
    namespace = await world.open(automatic=False)
    path = write(namespace, "a.jpg")
    await put(namespace, *(memory(one, media_ref="a.jpg") for one in ("a", "b", "c", "d")))
    await namespace.cold_spill(dry_run=False, target=2)
    assert sorted(tiers(namespace).values()) == ["cold", "cold", "hot", "hot"]
    for ids in (["a"], ["d"]):
        assert (await forget(namespace, *ids)).media == MediaReport()
        assert path.exists()
    assert (await forget(namespace, "c", "b")).media.moved == 1
    assert not path.exists()
    assert states(namespace) in ({"b": "trashed"}, {"c": "trashed"})


@pytest.mark.gate("MEDIA-01")
async def test_a_file_does_not_go_where_its_memory_stays(world: World) -> None:
    namespace = await world.open(automatic=False)
    path = write(namespace, "a.jpg")
    await put(namespace, memory("a", media_ref="a.jpg"))
    await namespace.pin(id="a", pinned=True)
    assert (await forget(namespace, "a")).forgotten == 0
    await namespace.cold_spill(dry_run=False, target=0)
    await namespace.update(id="a", patch=MemoryInput(media_ref=None), if_revision=None)
    assert path.exists()
    assert states(namespace) == {}


@pytest.mark.gate("MEDIA-01")
async def test_a_file_that_is_not_there_counts_as_missing_and_not_as_moved(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("a", media_ref="no/such.jpg"), memory("b", media_ref="x" * 400))
    report = await forget(namespace, "a", "b")
    assert report.forgotten == 2
    assert report.media == MediaReport(moved=0, skipped=0, missing=2, bytes=0)
    assert trash(namespace) == {}
    assert came_back(await restore(namespace, "a")) == {"a": "missing"}
    assert tiers(namespace)["a"] == "hot"


@pytest.mark.gate("MEDIA-02")
async def test_a_sweep_takes_files_along_and_says_how_many_per_memory_too(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=20)
    memories = many(40)
    for number, one in enumerate(memories):
        if number % 2 == 0:
            one.media_ref = f"{number}.bin"
            write(namespace, f"{number}.bin", b"x" * 1_000)
    await put(namespace, *memories)
    before = namespace.runner.tier_counts()
    planned = await sweep(namespace, dry_run=True)
    assert planned.media is None
    assert trash(namespace) == {}
    report = await sweep(namespace, plan_id=planned.plan_id)
    gone = {one.id for one in report.decisions if one.outcome == "moved"}
    owned = {one.id for one in memories if one.media_ref} & gone
    assert report.media == MediaReport(moved=len(owned), bytes=1_000 * len(owned))
    assert len(trash(namespace)) == len(owned) == 11
    await world.restart()
    namespace = await world.registry.open("default", False)
    assert report.run_id is not None
    with namespace.store.readers.borrow() as connection:
        entries = media_trash.of_run(connection, report.run_id)
    assert {one for one, entry in entries.items() if entry.state in MOVED_STATES} == owned
    after = namespace.runner.tier_counts()
    assert before.live_bytes - after.live_bytes >= 1_000 * len(owned)
    assert after.overhead_bytes >= 1_000 * len(owned), "the trash is overhead"
    with namespace.store.readers.borrow() as connection:
        assert media_trash.media_bytes(connection) == 20_000, "and gives nothing back"


@pytest.mark.gate("MEDIA-02")
async def test_a_dry_run_changes_no_file(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=2)
    for number in range(5):
        write(namespace, f"{number}.bin")
    await put(namespace, *(memory(f"m{n}", media_ref=f"{n}.bin") for n in range(5)))
    before = files_below(world.state_dir)
    assert (await sweep(namespace, dry_run=True)).counts["forget"] == 4
    assert files_below(world.state_dir) == before


async def by_id(namespace: Namespace, run_id: str) -> None:
    await restore(namespace, "a")


async def by_run(namespace: Namespace, run_id: str) -> None:
    await restore(namespace, run_id=run_id)


async def by_reason(namespace: Namespace, run_id: str) -> None:
    await restore(namespace, reason="asked")


async def by_undo(namespace: Namespace, run_id: str) -> None:
    await namespace.undo(run_id=run_id)


async def by_put(namespace: Namespace, run_id: str) -> None:
    again = memory("a", media_ref="photos/a.jpg")
    await namespace.put(memory=again, if_exists="replace")


async def by_put_many(namespace: Namespace, run_id: str) -> None:
    again = memory("a", media_ref="photos/a.jpg")
    await namespace.put_many(memories=[again], if_exists="replace", partial=False)


@pytest.mark.gate("MEDIA-03")
@pytest.mark.parametrize("way", [by_id, by_run, by_reason, by_undo, by_put, by_put_many])
@pytest.mark.parametrize("spilled", [False, True])
async def test_the_file_comes_back_with_its_memory(
    world: World, way: Callable[[Namespace, str], Awaitable[None]], spilled: bool
) -> None:
    namespace = await world.open(automatic=False)
    path = write(namespace, "photos/a.jpg")
    await put(namespace, memory("a", media_ref="photos/a.jpg"))
    live_bytes = namespace.store.columns.live_bytes
    if spilled:
        await namespace.cold_spill(dry_run=False, target=0)
    run_id = (await forget(namespace, "a")).run_id
    assert run_id is not None
    path.parent.rmdir()
    await way(namespace, run_id)
    assert path.read_bytes() == b"picture"
    assert trash(namespace) == {}
    assert states(namespace) == {"a": "returned"}
    if not spilled:
        assert abs(namespace.store.columns.live_bytes - live_bytes) < 100
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("MEDIA-03")
async def test_an_owner_that_went_before_the_last_one_brings_the_file_back(world: World) -> None:
    namespace = await world.open(automatic=False)
    path = write(namespace, "a.jpg")
    await put(namespace, memory("a", media_ref="a.jpg"), memory("b", media_ref="a.jpg"))
    await forget(namespace, "a")
    world.pass_time(1_000)
    await forget(namespace, "b")
    assert came_back(await restore(namespace, "a")) == {"a": "returned"}
    assert path.exists()
    assert came_back(await restore(namespace, "b")) == {"b": "here"}
    assert (await forget(namespace, "a")).media == MediaReport()
    assert (await forget(namespace, "b")).media.moved == 1


@pytest.mark.gate("MEDIA-03")
async def test_each_memory_gets_its_own_file_of_those_that_had_one_name(world: World) -> None:
    namespace = await world.open(automatic=False)
    for one in ("a", "b", "c"):
        path = write(namespace, "latest.jpg", one.encode())
        await put(namespace, memory(one, media_ref="latest.jpg"))
        await forget(namespace, one)
        world.pass_time(1_000)
    assert sorted(trash(namespace).values()) == [b"a", b"b", b"c"]
    await restore(namespace, "b")
    assert path.read_bytes() == b"b"
    await forget(namespace, "b")
    await restore(namespace, "a")
    assert path.read_bytes() == b"a"


@pytest.mark.gate("MEDIA-03")
async def test_a_memory_that_names_another_file_now_leaves_the_old_one_in_the_trash(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    path = write(namespace, "a.jpg")
    await put(namespace, memory("a", media_ref="a.jpg"))
    await forget(namespace, "a")
    await namespace.put(memory=memory("a", media_ref="b.jpg"), if_exists="replace")
    await put(namespace, memory("new", media_ref="a.jpg"))
    assert not path.exists()
    assert list(trash(namespace).values()) == [b"picture"]


@pytest.mark.gate("MEDIA-04")
async def test_a_file_that_was_made_since_is_neither_replaced_nor_taken(world: World) -> None:
    namespace = await world.open(automatic=False)
    path = write(namespace, "a.jpg", b"old")
    await put(namespace, memory("a", media_ref="a.jpg"))
    await forget(namespace, "a")
    write(namespace, "a.jpg", b"new")
    await world.restart()
    namespace = await world.registry.open("default", False)
    assert path.read_bytes() == b"new"
    assert came_back(await restore(namespace, "a")) == {"a": "blocked"}
    assert path.read_bytes() == b"new"
    assert list(trash(namespace).values()) == [b"old"]
    assert (await get(namespace, "a")) is not None


@pytest.mark.gate("MEDIA-04")
async def test_a_file_lost_from_the_trash_keeps_no_memory_from_coming_back(world: World) -> None:
    namespace = await world.open(automatic=False)
    write(namespace, "a.jpg")
    await put(namespace, memory("a", media_ref="a.jpg"))
    await forget(namespace, "a")
    shutil.rmtree(media_of(namespace) / ".trash")
    (media_of(namespace) / ".trash").mkdir()
    assert came_back(await restore(namespace, "a")) == {"a": "missing"}
    assert tiers(namespace) == {"a": "hot"}
    assert states(namespace) == {"a": "lost"}
