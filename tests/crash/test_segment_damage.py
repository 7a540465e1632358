"""A damaged, missing or foreign segment: it harms what lies in it, and nothing else."""

import shutil
from pathlib import Path

import pytest

from sidecar.errors import Corrupt
from sidecar.namespace import Namespace
from sidecar.reports import RecallReport
from sidecar.store import doctor
from sidecar.store.payload import Payload, content_hash
from sidecar.store.segment_format import encode_line
from sidecar.store.segments import FrameBuilder, SegmentWriter, new_segment_name
from sidecar.store.sqlite.connection import open_writer
from tests.crash.namespaces import (
    NOW,
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    memories,
    opened,
)
from tests.crash.test_rot import UNKNOWN, files_of, flip

SICK, WELL = "sick", "well"
COUNT = 12


async def two_segments(state_dir: Path) -> tuple[Path, Path]:
    """A namespace with two cold segments of twelve memories; the file of the sick and the well."""
    cold = directory_of(state_dir) / "cold"
    files: list[Path] = []
    async with opened(state_dir) as namespace:
        for prefix in (SICK, WELL):
            await namespace.put_many(
                memories=memories(COUNT, prefix), if_exists="error", partial=False
            )
            await namespace.cold_spill(dry_run=False, target=0)
            (made,) = set(cold.iterdir()) - set(files)
            files.append(made)
    return files[0], files[1]


def truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def cut_at_the_seal(path: Path) -> None:
    """Other tools read what is left as a whole file."""
    from sidecar.store.segment_format import SEAL_BYTES

    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - SEAL_BYTES)


def flip_text(path: Path) -> None:
    flip(path, 100)


DAMAGES = {
    "truncated": truncate,
    "cut at the seal": cut_at_the_seal,
    "flipped": flip_text,
    "missing": Path.unlink,
}


async def recalled(namespace: Namespace) -> RecallReport:
    """Everything that a deep recall finds of both segments."""
    return await namespace.recall(
        query="number", embedding=None, embedding_model=None, top_k=100, depth="deep",
        memory_types=None, include_archived=False, min_strength=None, touch="none",
    )  # fmt: skip


@pytest.mark.gate("CRASH-11")
@pytest.mark.parametrize("damage", DAMAGES)
async def test_damage_is_named_and_the_other_memories_are_answered(
    tmp_path: Path, damage: str
) -> None:
    sick, _ = await two_segments(tmp_path)
    DAMAGES[damage](sick)
    async with opened(tmp_path) as namespace:
        for at in range(COUNT):
            memory = await namespace.get(id=f"{WELL}{at}", include_embedding=True)
            assert memory is not None
            with pytest.raises(Corrupt) as told:
                await namespace.get(id=f"{SICK}{at}", include_embedding=True)
            assert (told.value.code, told.value.data["id"]) == (-32011, f"{SICK}{at}")
            assert str(tmp_path) not in told.value.message
        page = await namespace.list(
            tier=None, status=None, memory_type=None, cursor=None, limit=100
        )
        assert {one.id for one in page.memories} == {f"{WELL}{at}" for at in range(COUNT)}
        found = {one.memory.id for one in (await recalled(namespace)).results}
        assert found == {f"{WELL}{at}" for at in range(COUNT)}
        status = await namespace.status()
        assert status.corrupt == COUNT
        assert (status.counts.cold, status.read_only) == (2 * COUNT, None)
        assert any("segments are damaged or missing" in alarm for alarm in status.alarms)
    told_by_doctor = faults(directory_of(tmp_path))
    assert set(told_by_doctor) == {"segments", "memories"}
    assert sick.name in told_by_doctor["segments"]
    assert f"{COUNT} do not match" in told_by_doctor["memories"]


@pytest.mark.gate("CRASH-11")
@pytest.mark.parametrize("damage", ["truncated", "flipped"])
async def test_what_is_damaged_is_never_moved_or_dropped(tmp_path: Path, damage: str) -> None:
    sick, _ = await two_segments(tmp_path)
    whole = kept(directory_of(tmp_path))
    spare = tmp_path / "backup"
    shutil.copy(sick, spare)
    DAMAGES[damage](sick)
    damaged = sick.read_bytes()
    everything = sorted(whole)
    async with opened(tmp_path) as namespace:
        report = await namespace.forget(ids=everything, reason="called")
        assert report.forgotten == COUNT
        run = await namespace.decisions(run_id=report.run_id, plan_id=None, cursor=None, limit=100)
        outcomes = {one.id: one.outcome for one in run.decisions}
        assert {outcomes[key] for key in everything if key.startswith(SICK)} == {"corrupt"}
        await namespace.restore(ids=everything, run_id=None, reason=None)
        with pytest.raises(Corrupt):
            await namespace.update(
                id=f"{SICK}1", patch=memories(1)[0].__class__(content="new"), if_revision=None
            )
        await namespace.cold_spill(dry_run=False, target=0)
        assert_columns_follow(namespace)
    async with opened(tmp_path):
        assert sick.read_bytes() == damaged
    # Put back from a backup, the file is as good as before.
    shutil.copy(spare, sick)
    async with opened(tmp_path) as namespace:
        found = kept(directory_of(tmp_path))
        assert {key: one.content for key, one in found.items()} == {
            key: one.content for key, one in whole.items()
        }
        assert (await namespace.status()).corrupt == 0
    assert faults(directory_of(tmp_path)) == {}


@pytest.mark.gate("CRASH-11")
async def test_a_bit_that_rots_in_a_hot_text_is_named_and_stays_where_it_is(tmp_path: Path) -> None:
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
    connection = open_writer(directory / "hot.db")
    # SQLite itself notices nothing of this, nor of a bit that flips on the disk.
    connection.execute("UPDATE texts SET content = content || 'x' WHERE rid = 3")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    async with opened(tmp_path) as namespace:
        with pytest.raises(Corrupt) as told:
            await namespace.get(id="m2", include_embedding=False)
        assert (told.value.code, told.value.data["id"]) == (-32011, "m2")
        assert len((await recalled(namespace)).results) == COUNT - 1
        report = await namespace.cold_spill(dry_run=False, target=0)
        assert [(one.id, one.why) for one in report.skipped] == [("m2", "corrupt")]
        status = await namespace.status()
        assert (status.corrupt, status.counts.hot, status.counts.cold) == (1, 1, COUNT - 1)
        assert any("found damaged" in alarm for alarm in status.alarms)
    assert set(faults(directory)) == {"memories"}


@pytest.mark.gate("CRASH-12")
async def test_an_unknown_segment_is_kept_and_told_and_reclaimed_when_all_is_elsewhere(
    tmp_path: Path,
) -> None:
    _, well = await two_segments(tmp_path)
    copy = well.with_name(new_segment_name())
    shutil.copy(well, copy)
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        status = await namespace.status()
        assert status.unknown_segments == [copy.name]
        assert any("doctor --reclaim" in alarm for alarm in status.alarms)
        assert status.counts.cold == 2 * COUNT
    assert copy.exists()
    assert set(faults(directory)) == {UNKNOWN}
    doctor.reclaim(directory)
    assert not copy.exists()
    assert faults(directory) == {}


@pytest.mark.gate("CRASH-12")
async def test_an_unknown_segment_stays_while_the_other_copy_cannot_be_read(
    tmp_path: Path,
) -> None:
    _, well = await two_segments(tmp_path)
    copy = well.with_name(new_segment_name())
    shutil.copy(well, copy)
    flip(well, 100)
    directory = directory_of(tmp_path)
    doctor.reclaim(directory)
    assert copy.exists()
    async with opened(tmp_path) as namespace:
        # The start takes the memories from the copy that can be read.
        memory = await namespace.get(id=f"{WELL}1", include_embedding=False)
        assert memory is not None
        assert (await namespace.status()).unknown_segments == []
        assert_columns_follow(namespace)
    assert copy.exists()
    assert well.exists()


@pytest.mark.gate("CRASH-12")
async def test_a_damaged_unknown_segment_is_told_and_left_alone(tmp_path: Path) -> None:
    _, well = await two_segments(tmp_path)
    copy = well.with_name(new_segment_name())
    shutil.copy(well, copy)
    truncate(copy)
    async with opened(tmp_path) as namespace:
        status = await namespace.status()
        assert status.unknown_segments == [copy.name]
        assert len(kept(directory_of(tmp_path))) == 2 * COUNT
    doctor.reclaim(directory_of(tmp_path))
    assert copy.exists()


@pytest.mark.gate("CRASH-12")
async def test_lines_that_make_no_row_keep_the_namespace_from_nothing(tmp_path: Path) -> None:
    await two_segments(tmp_path)
    foreign = directory_of(tmp_path) / "cold" / new_segment_name()
    builder = FrameBuilder()
    whole = kept(directory_of(tmp_path))
    for key, scalars in {
        "bare": {},
        "odd": {"status": "active", "text_bytes": "many", "change_counter": None},
    }.items():
        payload = Payload(key, f"this is {key}", "{}", "{}", NOW, None, None)
        builder.add(encode_line(payload, scalars, content_hash(payload)), None)
    with SegmentWriter(foreign) as writer:
        writer.write(builder.pack())
        writer.seal()
    async with opened(tmp_path) as namespace:
        assert kept(directory_of(tmp_path)) == whole
        assert (await namespace.status()).unknown_segments == [foreign.name]
    assert foreign.exists()


@pytest.mark.gate("CRASH-13")
async def test_a_start_removes_unfinished_files_and_nothing_else(tmp_path: Path) -> None:
    sick, well = await two_segments(tmp_path)
    directory = directory_of(tmp_path)
    for tier in ("cold", "forgotten"):
        (directory / tier / ".tmp-run-1-00ff").write_bytes(b"half a segment")
        (directory / tier / "notes.txt").write_text("an operator's own file")
    before = files_of(directory)
    async with opened(tmp_path):
        pass
    gone = set(before) - set(files_of(directory))
    assert gone == {"cold/.tmp-run-1-00ff", "forgotten/.tmp-run-1-00ff"}
    assert (sick.exists(), well.exists()) == (True, True)
