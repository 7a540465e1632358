"""Active forgetting and its undo, killed before each step: the next start finishes them whole."""

import shutil
from pathlib import Path

import pytest

from sidecar.model import STATUSES
from sidecar.namespace import Namespace
from sidecar.store.sqlite.connection import keep_wal, open_reader, open_writer
from tests.crash.namespaces import (
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    opened,
    unfinished_runs,
)
from tests.crash.steps import (
    ACKNOWLEDGED,
    PIECES,
    forget_useless,
    put_of_no_use,
    undo_archiving,
)
from tests.crash.steps import (
    ARCHIVED_PER_TRANSACTION as CHUNK,
)
from tests.crash.test_every_step import STEPS_TO_OPEN, killed_before_each_step
from tests.crash.test_interrupted_run import imaged
from tests.namespaces import state_hash

Beliefs = dict[str, tuple[str, str, bool]]
HARMFUL = 16
STEPS_MIN = 30
INTERRUPTED_MIN = 8


def beliefs(directory: Path) -> Beliefs:
    """Tier, status, and whether a run archived it, of every memory."""
    connection = open_reader(directory / "hot.db")
    keep_wal(connection)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'memories'").fetchall():
            return {}
        query = "SELECT id, tier, status, archived_run IS NOT NULL FROM memories"
        return {
            one: (str(tier), STATUSES[status], bool(by_run))
            for one, tier, status, by_run in connection.execute(query)
        }
    finally:
        connection.close()


def archived(found: Beliefs) -> int:
    """How many are archived by a run."""
    return sum(status == "archived" and by_run for _, status, by_run in found.values())


async def assert_reports_are_whole(namespace: Namespace) -> int:
    """Every finished run of active forgetting tells all of it; how many there are."""
    runs = (await namespace.runs(limit=9, cursor=None)).runs
    (told,) = [one for one in runs if one.kind == "lifecycle"] or [None]
    for run in runs:
        assert run.state in ("finished", "undone")
        if run.kind in ("lifecycle", "undo"):
            assert (run.decisions, run.moved, run.skipped) == (HARMFUL, HARMFUL, 0)
    if told is None:
        return 0
    report = (await namespace.run(run_id=told.run_id)).report
    assert report is not None
    assert (report["archived"], report["skipped"], report["failed"]) == (HARMFUL, 0, 0)
    assert report["runId"] == told.run_id
    assert [one["executed"] for one in report["candidates"]] == [True] * HARMFUL
    page = await namespace.list_events(since=0, limit=999, kinds=["lifecycle.forget_completed"])
    (completed,) = page.events
    assert (completed.run_id, completed.payload["archived"]) == (told.run_id, HARMFUL)
    return 1


@pytest.mark.gate("LIFE-60")
async def test_killed_before_any_step_active_forgetting_and_its_undo_are_finished_whole(
    tmp_path: Path,
) -> None:
    states: list[Beliefs] = [{}]
    async with opened(tmp_path / "reference") as namespace:
        for piece in PIECES["lifecycle"]:
            await piece(namespace)
            states.append(beliefs(directory_of(tmp_path / "reference")))
    assert [archived(one) for one in states] == [0, 0, 0, HARMFUL, 0]
    assert states[4] == states[2]
    images = killed_before_each_step(
        tmp_path, "tests.crash.steps", "lifecycle", first=STEPS_TO_OPEN
    )
    assert len(images) >= STEPS_MIN
    interrupted = reports = half = 0
    for image in images:
        answered = (image / ACKNOWLEDGED).stat().st_size
        directory = directory_of(image)
        interrupted += unfinished_runs(directory) > 0
        half += 0 < archived(beliefs(directory)) < HARMFUL
        async with opened(image) as namespace:
            found = beliefs(directory)
            assert found in states[answered : answered + 2], f"step {image.name}"
            assert_columns_follow(namespace)
            state_hash(namespace)
            reports += await assert_reports_are_whole(namespace)
            assert len(kept(directory)) in (0, 24)
        assert unfinished_runs(directory) == 0
        assert faults(directory, but=["unknown segments"]) == {}, f"step {image.name}"
        shutil.rmtree(image)
    assert interrupted >= INTERRUPTED_MIN
    assert half >= INTERRUPTED_MIN // 2
    assert reports >= INTERRUPTED_MIN


@pytest.mark.gate("LIFE-61")
@pytest.mark.parametrize("undone", [False, True])
async def test_what_changed_before_a_cut_run_goes_on_is_left_and_told(
    tmp_path: Path, undone: bool
) -> None:
    state_dir, image = tmp_path / "whole", tmp_path / "image"
    async with opened(state_dir) as namespace:
        await put_of_no_use(namespace)
        if undone:
            await forget_useless(namespace)
        with imaged("some rows moved", state_dir, image):
            await (undo_archiving if undone else forget_useless)(namespace)
    directory = directory_of(image)
    done = archived(beliefs(directory))
    assert done == (HARMFUL - CHUNK if undone else CHUNK)
    touched = waiting_in(directory, archived_ones=undone)
    connection = open_writer(directory / "hot.db")
    query = "UPDATE memories SET change_counter = change_counter + 1 WHERE id = ?"
    connection.execute(query, (touched,))
    connection.close()
    async with opened(image) as namespace:
        run = (await namespace.runs(limit=1, cursor=None)).runs[0]
        page = await namespace.decisions(run_id=run.run_id, plan_id=None, cursor=None, limit=99)
        outcomes = {one.id: one.outcome for one in page.decisions}
        assert outcomes.pop(touched) == "changed"
        assert set(outcomes.values()) == {"moved"}
        report = (await namespace.run(run_id=run.run_id)).report
        assert report is not None
        if undone:
            assert report["counts"] == {"restored": HARMFUL - 1, "changed": 1}
        else:
            assert (report["archived"], report["bySkipped"]) == (HARMFUL - 1, {"changed": 1})
        assert archived(beliefs(directory)) == (1 if undone else HARMFUL - 1)
        assert_columns_follow(namespace)


def waiting_in(directory: Path, *, archived_ones: bool) -> str:
    """A harmful memory that the cut run has not come to."""
    harmful = {f"m{at}" for at in range(24) if at % 3}
    return max(
        one
        for one, (_, status, _) in beliefs(directory).items()
        if one in harmful and (status == "archived") == archived_ones
    )
