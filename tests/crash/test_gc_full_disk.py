"""Destroying on a full disk: it goes on by the reserve, gives room, and says what it left out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collecting import destroy
from tests.crash.namespaces import (
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    memories,
    opened,
    unfinished_runs,
)
from tests.crash.small_disk import SmallDisk, small_disk
from tests.crash.test_full_disk import put_until_refused

COUNT = 200


@pytest.fixture(params=["mounted", "counted"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of 48 MiB."""
    with small_disk(request.param, tmp_path) as made:
        yield made


@pytest.mark.gate("GC-23")
async def test_a_full_disk_does_not_keep_an_operator_from_destroying(disk: SmallDisk) -> None:
    directory = directory_of(disk.state_dir)
    async with opened(disk.state_dir) as namespace:
        given = memories(COUNT)
        await namespace.put_many(memories=given, if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=100)
        await namespace.forget(ids=[f"m{at}" for at in range(30)], reason="called")
        disk.fill()
        answered, _ = await put_until_refused(namespace, "full")
        report = await destroy(namespace, older_than_days=0.0)
        assert (report.destroyed, report.left_count) == (30, 0)
        report = await destroy(namespace, "m150", "m50")
        assert report.destroyed == 2
        assert report.verification is not None
        # Without room the log cannot be moved into the database and cut: that is said.
        assert {one.where for one in report.verification.left} <= {"hot.db", "hot.db-wal"}
        assert_columns_follow(namespace)
        disk.free()
        report = await destroy(namespace, "m151")
        assert (report.destroyed, report.notes) == (1, [])
        found = await namespace.verify_destroyed(
            ids=["m0", "m50", "m150", "m151"],
            texts=[str(given[at].content) for at in (0, 50, 150, 151)],
        )
        assert found.clean, found.left
    left = {f"m{at}" for at in range(30, COUNT)} - {"m50", "m150", "m151"}
    assert set(kept(directory)) == left | set(answered)
    assert unfinished_runs(directory) == 0
    assert faults(directory, but=["unknown segments"]) == {}
