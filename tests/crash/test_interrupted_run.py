"""A run cut short at each of its seams: it is finished at the next start, decision by decision.

The image of the files at a seam is what a kill there leaves.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.apply import journal, moves, runner
from sidecar.apply.runner import Runner
from sidecar.errors import ShuttingDown
from sidecar.namespace import Namespace
from sidecar.reports import SweepReport
from sidecar.store import doctor
from sidecar.store.sqlite.connection import keep_wal, open_reader, open_writer
from sidecar.store.store import Store
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

COUNT = 120
HOT_AFTER = 20
MOVED = COUNT - HOT_AFTER
CHUNK = 30
# Two chunks of the list are committed, the run is not.
LIST_HALF_WRITTEN = "list half written"
# The call at which the files are copied: whose, which, before or after it, and the how manieth.
CUTS = {LIST_HALF_WRITTEN: (journal, "list_chunks", "before", 3)}
SEAMS = {
    "list committed": (Runner, "carry_out", "before", 1),
    "segment published": (moves, "publish", "after", 1),
    # In the transaction of the second chunk: one is committed.
    "some rows moved": (journal, "record", "before", 2),
    "all rows moved": (Runner, "_make_room", "before", 1),
    "intent committed": (Store, "remove_unneeded_segments", "before", 1),
    "not yet finished": (Runner, "finish", "before", 1),
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several transactions for a run of a hundred memories."""
    monkeypatch.setattr(journal, "MOVES_PER_TRANSACTION_MAX", CHUNK)
    monkeypatch.setattr(runner, "LISTED_CHUNKS_PER_TRANSACTION", 1)


@contextmanager
def imaged(seam: str, state_dir: Path, target: Path) -> Iterator[None]:
    """Copy the files when the code first comes to the seam."""
    owner, name, when, wanted = (SEAMS | CUTS)[seam]
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def at_seam(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        chosen = calls == wanted
        if chosen and when == "before":
            image_of(state_dir, target)
        result = original(*arguments, **named)
        if chosen and when == "after":
            image_of(state_dir, target)
        return result

    setattr(owner, name, at_seam)
    try:
        yield
    finally:
        setattr(owner, name, original)
    assert target.exists(), f"the run never came to the seam: {seam}"


async def cut_spill(seam: str, folder: Path) -> Path:
    """The image of a spill of all but twenty memories that was cut at a seam."""
    state_dir, image = folder / "whole", folder / "image"
    async with opened(state_dir) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        with imaged(seam, state_dir, image):
            await namespace.cold_spill(dry_run=False, target=HOT_AFTER)
    return image


async def outcomes(namespace: Namespace) -> dict[str, str | None]:
    """What became of each decision of the only run."""
    (run,) = (await namespace.runs(limit=10, cursor=None)).runs
    assert run.state == "finished"
    page = await namespace.decisions(run_id=run.run_id, plan_id=None, cursor=None, limit=1000)
    assert run.moved == sum(one.outcome == "moved" for one in page.decisions)
    assert run.moved + run.skipped == run.decisions
    return {one.id: one.outcome for one in page.decisions}


@pytest.mark.gate("CRASH-05")
@pytest.mark.parametrize("seam", SEAMS)
async def test_a_run_cut_at_a_seam_is_finished_at_the_next_start(tmp_path: Path, seam: str) -> None:
    image = await cut_spill(seam, tmp_path)
    directory = directory_of(image)
    expected = kept(directory_of(tmp_path / "whole"))
    assert unfinished_runs(directory) == 1
    assert {key: one.content for key, one in kept(directory).items()} == {
        key: one.content for key, one in expected.items()
    }
    async with opened(image) as namespace:
        found = await outcomes(namespace)
        assert kept(directory) == expected
        assert_columns_follow(namespace)
    assert len(found) == MOVED
    assert set(found.values()) == {"moved"}
    assert faults(directory, but=["unknown segments"]) == {}
    # The one thing a cut may leave is a file whose memories are all elsewhere: it is told, and
    # goes when an operator says so.
    doctor.reclaim(directory)
    assert faults(directory) == {}
    assert kept(directory) == expected


@pytest.mark.gate("CRASH-05")
async def test_a_run_cut_while_its_list_is_written_never_was(tmp_path: Path) -> None:
    image = await cut_spill(LIST_HALF_WRITTEN, tmp_path)
    directory = directory_of(image)
    before = kept(directory)
    assert chunks_listed(directory) == 2
    async with opened(image) as namespace:
        assert chunks_listed(directory) == 0
        assert (await namespace.runs(limit=10, cursor=None)).runs == []
        assert kept(directory) == before
        assert (await namespace.cold_spill(dry_run=False, target=HOT_AFTER)).counts[
            "spill"
        ] == MOVED
        assert kept(directory) == kept(directory_of(tmp_path / "whole"))
    assert chunks_listed(directory) == MOVED // CHUNK + 1
    assert faults(directory) == {}


def chunks_listed(directory: Path) -> int:
    """How many chunks of lists there are."""
    connection = open_reader(directory / "hot.db")
    keep_wal(connection)
    try:
        return connection.execute("SELECT count(*) FROM run_chunks").fetchall()[0][0]
    finally:
        connection.close()


@pytest.mark.gate("CRASH-06")
@pytest.mark.parametrize("seam", ["list committed", "segment published", "some rows moved"])
async def test_each_decision_is_checked_again_before_the_run_is_finished(
    tmp_path: Path, seam: str
) -> None:
    image = await cut_spill(seam, tmp_path)
    directory = directory_of(image)
    whole = kept(directory_of(tmp_path / "whole"))
    now = kept(directory)
    pinned, changed, rotten = [
        key for key, one in whole.items() if one.tier == "cold" and now[key].tier == "hot"
    ][:3]
    connection = open_writer(directory / "hot.db")
    for statement, key in (
        ("UPDATE memories SET pinned = 1 WHERE id = ?", pinned),
        ("UPDATE memories SET change_counter = change_counter + 1 WHERE id = ?", changed),
        (
            "UPDATE texts SET content = 'rot' WHERE rid = (SELECT rid FROM memories WHERE id = ?)",
            rotten,
        ),
    ):
        connection.execute(statement, (key,))
    connection.close()
    async with opened(image) as namespace:
        found = await outcomes(namespace)
        assert found[pinned] == "pinned"
        assert found[changed] == "changed"
        assert found[rotten] == "corrupt"
        assert sum(outcome == "moved" for outcome in found.values()) == MOVED - 3
        for key in (pinned, changed):
            memory = await namespace.get(id=key, include_embedding=False)
            assert memory is not None
            assert memory.tier == "hot"


@pytest.mark.gate("CRASH-07")
async def test_a_run_that_is_stopped_between_transactions_leaves_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        original = moves.publish

        def publish_then_stop(*paths: Path) -> None:
            original(*paths)
            namespace.runner.stopping.set()

        monkeypatch.setattr(moves, "publish", publish_then_stop)
        with pytest.raises(ShuttingDown):
            await namespace.cold_spill(dry_run=False, target=HOT_AFTER)
        monkeypatch.undo()
    directory = directory_of(tmp_path)
    assert unfinished_runs(directory) == 1
    async with opened(tmp_path) as namespace:
        assert set((await outcomes(namespace)).values()) == {"moved"}
        assert (await namespace.status()).unknown_segments == []
    assert faults(directory) == {}
    assert list(directory.rglob(".tmp-*")) == []


@pytest.mark.gate("CRASH-05")
async def test_a_run_killed_again_and_again_is_finished_and_its_leavings_can_be_reclaimed(
    tmp_path: Path,
) -> None:
    image = await cut_spill("segment published", tmp_path)
    for attempt in range(3):
        following = tmp_path / f"again{attempt}"
        with imaged("segment published", image, following):
            async with opened(image):
                pass
        image = following
    directory = directory_of(image)
    async with opened(image) as namespace:
        assert set((await outcomes(namespace)).values()) == {"moved"}
        assert len((await namespace.status()).unknown_segments) == 4
    doctor.reclaim(directory)
    assert faults(directory) == {}
    assert len(list((directory / "cold").iterdir())) == 1


@pytest.mark.gate("CRASH-06")
async def test_a_run_finished_after_a_kill_forgets_no_more_than_the_brake_allowed(
    tmp_path: Path,
) -> None:
    state_dir, image = tmp_path / "whole", tmp_path / "image"
    async with opened(state_dir) as namespace:
        await namespace.put_many(memories=memories(200), if_exists="error", partial=False)
        await namespace.set_thresholds({"forgetThresholdTotal": 110, "forgetActive": True})
        with imaged("some rows moved", state_dir, image):
            whole = await sweep(namespace)
    assert whole.brake is not None
    assert whole.counts["forget"] == whole.brake.allowed == 40
    async with opened(image) as namespace:
        assert (await namespace.status()).counts.forgotten == 40
        # Nor does another sweep on the same day.
        assert (await sweep(namespace)).counts["forget"] == 0
        assert (await namespace.status()).counts.forgotten == 40
    assert kept(directory_of(image)) == kept(directory_of(state_dir))


async def sweep(namespace: Namespace) -> SweepReport:
    return await namespace.sweep(
        dry_run=False, plan_id=None, mode="normal", policy=None, brake_share=None, now=None,
        decisions_limit=0,
    )  # fmt: skip


@pytest.mark.gate("CRASH-06")
async def test_a_list_that_rotted_keeps_nobody_from_reading_or_writing(tmp_path: Path) -> None:
    image = await cut_spill("list committed", tmp_path)
    directory = directory_of(image)
    connection = open_writer(directory / "hot.db")
    connection.execute("UPDATE run_chunks SET decisions = x'0102'")
    connection.close()
    async with opened(image) as namespace:
        assert await namespace.get(id="m1", include_embedding=True) is not None
        await namespace.put(memory=memories(1, "new")[0], if_exists="error")
        assert (await namespace.status()).counts.hot == COUNT + 1
