"""Files follow their memories: to the trash with the last owner, and back."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.apply import media as moving
from sidecar.media_reports import MediaReport
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.reports import ForgetReport, RestoreReport
from sidecar.status import status_of
from sidecar.store import media_trash
from sidecar.store.media_files import MediaFiles
from sidecar.store.media_trash import MOVED_STATES
from sidecar.validation import check
from tests.namespaces import (
    World,
    a_world,
    check_columns,
    files_below,
    get,
    many,
    memory,
    put,
    query,
    restore,
    state_hash,
    sweep,
    tiers,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path / "state") as started:
        yield started


def media_of(namespace: Namespace) -> Path:
    return namespace.store.directory / "media"


def write(namespace: Namespace, ref: str, content: bytes = b"picture") -> Path:
    """Place a file as a host does."""
    path = media_of(namespace) / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


async def forget(namespace: Namespace, *ids: str) -> ForgetReport:
    return await namespace.forget(ids=list(ids), reason="asked")


def trash(namespace: Namespace) -> dict[str, bytes]:
    """What lies in the trash, by run and name."""
    folder = media_of(namespace) / ".trash"
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def states(namespace: Namespace) -> dict[str, str]:
    return dict(query(namespace, "SELECT memory_id, state FROM media_trash ORDER BY trash_id"))


def came_back(report: RestoreReport) -> dict[str, Any]:
    return {one.id: one.media for one in report.results}


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


def replace_by_link(media: Path) -> None:
    media.rename(media.parent / "aside")
    media.symlink_to(media.parent / "aside")


def take_away(media: Path) -> None:
    media.rename(media.parent / "aside")


def take_trash_away(media: Path) -> None:
    media.rename(media.parent / "aside")
    media.mkdir()


@pytest.mark.gate("MEDIA-05")
@pytest.mark.parametrize("vanish", [take_away, take_trash_away, replace_by_link])
@pytest.mark.parametrize("restarted", [False, True])
async def test_files_wait_for_a_media_folder_that_is_gone_and_memories_do_not(
    world: World, vanish: Callable[[Path], None], restarted: bool
) -> None:
    namespace = await world.open(automatic=False)
    path = write(namespace, "a.jpg")
    write(namespace, "b.jpg", b"other")
    await put(namespace, memory("a", media_ref="a.jpg"), memory("b", media_ref="b.jpg"))
    await forget(namespace, "b")
    media = media_of(namespace)
    vanish(media)
    report = await forget(namespace, "a")
    assert (report.forgotten, report.media) == (1, MediaReport(skipped=1))
    assert came_back(await restore(namespace, "b")) == {"b": "waiting"}
    assert tiers(namespace) == {"a": "forgotten", "b": "hot"}
    if restarted:
        await world.restart()
        namespace = await world.registry.open("default", False)
    (alarm,) = [one for one in status_of(namespace).alarms if "media" in one]
    assert "wait to follow their memories: 2" in alarm
    assert states(namespace) == {"a": "leaving", "b": "returning"}
    if media.is_symlink():
        media.unlink()
    elif media.exists():
        media.rmdir()
    (media.parent / "aside").rename(media)
    await put(namespace, memory("c"))
    await restore(namespace, "c")
    await forget(namespace, "c")
    assert states(namespace) == {"a": "trashed", "b": "returned"}
    assert not path.exists()
    assert (media / "b.jpg").read_bytes() == b"other"
    assert [one for one in status_of(namespace).alarms if "media" in one] == []


@pytest.mark.gate("MEDIA-05")
async def test_a_file_that_cannot_be_moved_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    for one in ("a", "b", "c"):
        write(namespace, f"{one}.jpg")
        await put(namespace, memory(one, media_ref=f"{one}.jpg"))
    take = MediaFiles.take

    def failing(files: MediaFiles, ref: str, trashed_as: str) -> Any:
        if ref == "b.jpg":
            raise OSError(5, "Input/output error")
        return take(files, ref, trashed_as)

    monkeypatch.setattr(MediaFiles, "take", failing)
    report = await forget(namespace, "a", "b", "c")
    assert report.media == MediaReport(moved=2, skipped=1, bytes=14)
    assert any("Input/output error" in one for one in status_of(namespace).alarms)
    monkeypatch.undo()
    await world.restart()
    namespace = await world.registry.open("default", False)
    assert set(states(namespace).values()) == {"trashed"}


@pytest.mark.gate("MEDIA-06")
async def test_files_that_are_not_the_memorys_own_stay_and_the_memory_goes(world: World) -> None:
    namespace = await world.open(automatic=False)
    outside = world.state_dir / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"not ours")
    media = media_of(namespace)
    (media / "link").symlink_to(outside / "secret")
    (media / "folder").symlink_to(outside)
    (media / "hard").hardlink_to(outside / "secret")
    (media / "real").mkdir()
    write(namespace, "plain")
    refs = ["link", "folder/secret", "hard", "real", "plain"]
    await put(namespace, *(memory(f"m{n}", media_ref=ref) for n, ref in enumerate(refs)))
    report = await forget(namespace, *(f"m{n}" for n in range(len(refs))))
    assert report.forgotten == 5
    assert report.media == MediaReport(moved=1, skipped=4, bytes=7)
    assert (outside / "secret").read_bytes() == b"not ours"
    assert sorted(path.name for path in media.iterdir()) == [
        ".trash",
        "folder",
        "hard",
        "link",
        "real",
    ]


@pytest.mark.gate("MEDIA-07")
@pytest.mark.parametrize("moved_first", [False, True])
async def test_a_memory_that_comes_back_while_its_file_is_on_its_way_keeps_it(
    world: World, monkeypatch: pytest.MonkeyPatch, moved_first: bool
) -> None:
    """The write lands just before the file is moved, or before the move is noted."""
    namespace = await world.open(automatic=False)
    path = write(namespace, "a.jpg")
    await put(namespace, memory("a", media_ref="a.jpg"))
    again = memory("b", media_ref="a.jpg")
    step = moving.MediaMover._step
    sync = MediaFiles.sync

    def insert() -> None:
        monkeypatch.undo()
        records = namespace.store.records
        checked = check(again, namespace.clock.now_ms())
        namespace.store.writer.call(
            lambda tx: records.put(tx, checked, namespace.clock.now_ms(), "error", "$")
        )

    def before_moving(mover: moving.MediaMover, batch: Any) -> None:
        insert()
        step(mover, batch)

    def before_noting(files: MediaFiles) -> None:
        insert()
        sync(files)

    if moved_first:
        monkeypatch.setattr(MediaFiles, "sync", before_noting)
    else:
        monkeypatch.setattr(moving.MediaMover, "_step", before_moving)
    await forget(namespace, "a")
    assert path.read_bytes() == b"picture"
    assert trash(namespace) == {}
    assert states(namespace) == {"a": "returned" if moved_first else "kept"}
    check_columns(namespace)
