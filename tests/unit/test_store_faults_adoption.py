"""What is adopted from sealed segments that a database does not know, and in which state."""

import shutil
from pathlib import Path

import pytest

from sidecar.model import MemoryInput
from sidecar.store import doctor, rows
from sidecar.store.rows import Row
from tests.crash.namespaces import (
    DAY_MS,
    NOW,
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    memories,
    opened,
)
from tests.crash.test_rot import UNKNOWN

LATER = NOW + 10 * DAY_MS


def lose_the_database(directory: Path) -> None:
    """Only segments are left."""
    for name in ("hot.db", "hot.db-wal", "hot.db-shm", "commits"):
        (directory / name).unlink(missing_ok=True)


async def rows_after_loss(state_dir: Path) -> dict[str, Row]:
    """Every row that a start makes of the segments alone, ten days later."""
    lose_the_database(directory_of(state_dir))
    async with opened(state_dir, LATER) as namespace:
        assert_columns_follow(namespace)
        with namespace.store.readers.borrow() as connection:
            found = {row.id: row for row in rows.select(connection, "", ())}
    assert faults(directory_of(state_dir), but=[UNKNOWN]) == {}
    return found


async def stored_row(state_dir: Path, key: str) -> Row:
    async with opened(state_dir) as namespace:
        with namespace.store.readers.borrow() as connection:
            row = rows.by_id(connection, key)
    assert row is not None
    return row


@pytest.mark.gate("CRASH-10")
async def test_an_adopted_memory_is_what_it_was_when_it_moved(tmp_path: Path) -> None:
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(3), if_exists="error", partial=False)
        await namespace.pin(id="m1", pinned=True)
        await namespace.touch(ids=["m2"])
        await namespace.hold(id="m0", until=LATER + DAY_MS)
        await namespace.supersede(id="m2", by="m0")
        await namespace.pin(id="m1", pinned=False)
        await namespace.cold_spill(dry_run=False, target=0)
    before = {key: await stored_row(tmp_path, key) for key in ("m0", "m1", "m2")}
    found = await rows_after_loss(tmp_path)
    assert set(found) == set(before)
    own = {"rid", "bytes", "moved_run", "moved_reason"}
    for key, row in before.items():
        for name in set(rows.COLUMNS) - own:
            assert getattr(found[key], name) == getattr(row, name), name


@pytest.mark.gate("CRASH-10")
async def test_a_forgotten_memory_is_adopted_as_forgotten_and_can_be_restored(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(4), if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=2)
        await namespace.forget(ids=["m0", "m3"], reason="called")
    whole = kept(directory_of(tmp_path))
    left = {key: (await stored_row(tmp_path, key)).tier_left for key in ("m0", "m3")}
    found = await rows_after_loss(tmp_path)
    for key, tier in left.items():
        # When it was forgotten is not known any more: its age counts from now.
        assert (found[key].tier, found[key].forgotten_at) == (2, LATER)
        assert found[key].tier_left == tier
    async with opened(tmp_path, LATER) as namespace:
        report = await namespace.restore(ids=["m0", "m3"], run_id=None, reason=None)
        assert {one.result for one in report.results} == {"restored"}
    for key in left:
        assert kept(directory_of(tmp_path))[key].content == whole[key].content


@pytest.mark.gate("CRASH-10")
async def test_a_memory_that_came_back_to_cold_is_adopted_as_live_and_in_its_grace(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(4), if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=0)
        report = await namespace.forget(ids=["m1"], reason="called")
        assert report.run_id is not None
        await namespace.undo(run_id=report.run_id)
    assert (await stored_row(tmp_path, "m1")).tier == 1
    found = (await rows_after_loss(tmp_path))["m1"]
    assert (found.tier, found.forgotten_at, found.restored_at) == (1, None, LATER)


@pytest.mark.gate("CRASH-10")
@pytest.mark.parametrize("older_first", [True, False])
async def test_of_two_versions_the_one_that_changed_more_often_counts(
    tmp_path: Path, older_first: bool
) -> None:
    directory = directory_of(tmp_path)
    older = tmp_path / "older.zst"
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(2), if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=0)
        (first,) = (directory / "cold").iterdir()
        shutil.copy(first, older)
        for key in ("m0", "m1"):
            patch = MemoryInput(content=f"{key} in newer words")
            await namespace.update(id=key, patch=patch, if_revision=None)
        await namespace.cold_spill(dry_run=False, target=0)
        (second,) = (directory / "cold").iterdir()
    # Names are read in their order; the older text gets the first or the last one.
    name = "seg-000000000000-" if older_first else "seg-ffffffffffff-"
    shutil.copy(older, directory / "cold" / f"{name}{'0' * 16}.jsonl.zst")
    found = await rows_after_loss(tmp_path)
    assert {row.segment for row in found.values()} == {second.name}
    assert kept(directory)["m1"].content == "m1 in newer words"


@pytest.mark.gate("CRASH-10")
async def test_adoption_happens_once(tmp_path: Path) -> None:
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(5), if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=0)
    await rows_after_loss(tmp_path)
    whole = kept(directory)
    async with opened(tmp_path, LATER) as namespace:
        assert not any("taken back" in alarm for alarm in (await namespace.status()).alarms)
        assert (await namespace.status()).counts.cold == 5
    assert kept(directory) == whole
    assert doctor.reclaim(directory).findings[0].detail == "0 segments were removed"


@pytest.mark.gate("CRASH-10")
async def test_what_was_changed_or_moved_rightly_is_not_taken_back_from_an_old_copy(
    tmp_path: Path,
) -> None:
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(6), if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=0)
        (segment,) = (directory / "cold").iterdir()
        copy = tmp_path / "copy"
        shutil.copy(segment, copy)
        await namespace.update(id="m0", patch=MemoryInput(content="newer words"), if_revision=None)
        await namespace.forget(ids=["m1"], reason="called")
        await namespace.restore(ids=["m2"], run_id=None, reason=None)
        await namespace.touch(ids=["m3"])
    whole = kept(directory)
    shutil.copy(copy, directory / "cold" / f"seg-000000000000-{'0' * 16}.jsonl.zst")
    async with opened(tmp_path) as namespace:
        assert kept(directory) == whole
        assert len((await namespace.status()).unknown_segments) == 1
        assert_columns_follow(namespace)
    assert set(faults(directory)) == {UNKNOWN}
