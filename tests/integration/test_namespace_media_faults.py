"""Files that cannot follow their memories, or not at once: what waits, and what stays."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.apply import media as moving
from sidecar.media_reports import MediaReport
from sidecar.status import status_of
from sidecar.store import media_files
from sidecar.store.media_files import MediaFiles
from sidecar.validation import check
from tests.namespaces import (
    DAY,
    World,
    a_world,
    check_columns,
    memory,
    put,
    restore,
    sweep,
    tiers,
)
from tests.owned_files import came_back, forget, media_of, states, trash, write


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path / "state") as started:
        yield started


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


@pytest.mark.gate("MEDIA-08")
async def test_a_file_moves_after_the_commit_and_its_intent_is_cleared_after_the_fsync(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    write(namespace, "photos/a.jpg")
    await put(namespace, memory("a", media_ref="photos/a.jpg"))
    seen: list[str] = []
    rename, fsync, note = media_files.rename, os.fsync, moving.MediaMover._note

    def renamed(*arguments: Any) -> None:
        seen.append(f"renamed: {tiers(namespace)['a']}, {states(namespace)['a']}")
        rename(*arguments)

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_relative_to(media_of(namespace)):
            seen.append(path.relative_to(media_of(namespace)).as_posix())

    def noted(*arguments: Any) -> None:
        seen.append(f"noted: {states(namespace)['a']}")
        note(*arguments)

    monkeypatch.setattr(media_files, "rename", renamed)
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(moving.MediaMover, "_note", noted)
    run_id = (await forget(namespace, "a")).run_id
    first, *folders, last = seen
    assert (first, last) == ("renamed: forgotten, leaving", "noted: leaving")
    assert sorted(folders) == [".trash", f".trash/{run_id}", "photos"]
    seen.clear()
    await restore(namespace, "a")
    first, *folders, last = seen
    assert (first, last) == ("renamed: hot, returning", "noted: returning")
    assert sorted(folders) == [".", f".trash/{run_id}", "photos"]


@pytest.mark.gate("MEDIA-08")
async def test_a_failed_fsync_clears_no_intent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    write(namespace, "a.jpg")
    await put(namespace, memory("a", media_ref="a.jpg"))

    def failing(files: MediaFiles) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(MediaFiles, "sync", failing)
    assert (await forget(namespace, "a")).media == MediaReport(skipped=1)
    assert states(namespace) == {"a": "leaving"}
    monkeypatch.undo()
    await world.restart()
    namespace = await world.registry.open("default", False)
    assert states(namespace) == {"a": "trashed"}
    assert came_back(await restore(namespace, "a")) == {"a": "returned"}


@pytest.mark.gate("MEDIA-09")
async def test_nothing_but_a_way_back_takes_a_file_out_of_the_trash(world: World) -> None:
    namespace = await world.open(automatic=False)
    write(namespace, "a.jpg")
    await put(namespace, memory("a", media_ref="a.jpg"), memory("b"), memory("c"))
    await forget(namespace, "a")
    lying = trash(namespace)
    await namespace.cold_spill(dry_run=False, target=0)
    await forget(namespace, "b", "c")
    await restore(namespace, "b")
    await namespace.hold(id="a", until=world.clock.now_ms() + DAY)
    world.pass_time(400 * DAY)
    await world.restart()
    namespace = await world.registry.open("default", False)
    await sweep(namespace)
    assert trash(namespace) == lying
    assert len(lying) == 1
