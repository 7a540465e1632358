"""Killed before each step that makes anything durable, visible or gone."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.store.sqlite.connection import keep_wal, open_reader
from tests.crash.namespaces import (
    NOW,
    Kept,
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    opened,
    unfinished_runs,
)
from tests.crash.steps import ACKNOWLEDGED, FILES, PIECES

LANES = 2
STEPS_MIN = 80
STEPS_TO_OPEN = 20  # a new namespace; no memory is in it before
FILES_BETWEEN_MIN = 20
State = dict[str, Kept]


@pytest.mark.gate("CRASH-02")
async def test_killed_before_any_step_each_call_is_done_or_not_begun(tmp_path: Path) -> None:
    states = await states_without_a_kill(tmp_path / "reference", "memories")
    images = killed_before_each_step(tmp_path, "tests.crash.steps", "memories")
    assert len(images) >= STEPS_MIN
    interrupted = 0
    for image in images:
        answered = (image / ACKNOWLEDGED).stat().st_size
        directory = directory_of(image)
        if (directory / "hot.db").exists():
            interrupted += unfinished_runs(directory) > 0
        async with opened(image) as namespace:
            found = kept(directory)
            assert found in states[answered : answered + 2], f"step {image.name}"
            assert_columns_follow(namespace)
        assert unfinished_runs(directory) == 0
        assert faults(directory, but=["unknown segments"]) == {}, f"step {image.name}"
        assert temporaries(directory) == []
        shutil.rmtree(image)
    assert interrupted >= STEPS_MIN // 4


@pytest.mark.gate("CYC-45")
async def test_a_cycle_killed_before_any_step_is_finished_whole(tmp_path: Path) -> None:
    states = await states_without_a_kill(tmp_path / "reference", "cycle")
    assert set(fades_of(states[2]).values()) == {(1.0, None)}
    assert set(fades_of(states[3]).values()) == {(1.0, None), (0.5, NOW)}
    # What was faded and taken back is not faded again at once.
    assert set(fades_of(states[4]).values()) == {(1.0, None), (1.0, NOW)}
    assert without_fades(states[4]) == without_fades(states[2]) != without_fades(states[3])
    images = killed_before_each_step(tmp_path, "tests.crash.steps", "cycle", first=STEPS_TO_OPEN)
    reports = 0
    for image in images:
        answered = (image / ACKNOWLEDGED).stat().st_size
        directory = directory_of(image)
        if answered:
            assert_each_fade_is_whole(kept(directory), states[answered : answered + 2])
        async with opened(image) as namespace:
            found = kept(directory)
            assert found in states[answered : answered + 2], f"step {image.name}"
            assert_columns_follow(namespace)
            for run in (await namespace.runs(limit=9, cursor=None)).runs:
                report = (await namespace.run(run_id=run.run_id)).report
                if run.kind == "cycle":
                    assert report is not None
                    assert report["faded"] + report["pruned"] == run.moved > 0
                    assert sum(one["executed"] for one in report["decisions"]) == run.moved
                    reports += 1
        assert unfinished_runs(directory) == 0
        assert faults(directory, but=["unknown segments"]) == {}, f"step {image.name}"
        shutil.rmtree(image)
    assert reports >= len(images) // 4


@pytest.mark.gate("MEDIA-20")
async def test_killed_before_any_step_each_file_lies_where_its_memories_say(
    tmp_path: Path,
) -> None:
    states = await states_without_a_kill(tmp_path / "reference", "media")
    images = killed_before_each_step(tmp_path, "tests.crash.steps", "media", first=STEPS_TO_OPEN)
    between = 0
    for image in images:
        answered = (image / ACKNOWLEDGED).stat().st_size
        directory = directory_of(image)
        if answered:
            assert_no_file_went_before_its_memory(directory)
            between += intents(directory) > 0
        async with opened(image) as namespace:
            found = kept(directory)
            assert found in states[answered : answered + 2], f"step {image.name}"
            assert_columns_follow(namespace)
        if found:
            assert intents(directory) == 0
            assert_files_follow(directory, found)
        shutil.rmtree(image)
    assert between >= FILES_BETWEEN_MIN


def fades_of(state: State) -> dict[str, tuple[float, int | None]]:
    """By how much each memory is faded, and since when."""
    return {memory_id: (one.fade_factor, one.faded_at) for memory_id, one in state.items()}


def without_fades(state: State) -> State:
    """The state but for its fades."""
    return {
        memory_id: replace(one, fade_factor=1.0, faded_at=None) for memory_id, one in state.items()
    }


def assert_each_fade_is_whole(found: State, around: list[State]) -> None:
    """As a kill left it, a memory is faded as before the call or as after it, and nothing else."""
    legal = [fades_of(state) for state in around]
    for memory_id, fade in fades_of(found).items():
        assert fade in [fades[memory_id] for fades in legal], memory_id


def assert_no_file_went_before_its_memory(directory: Path) -> None:
    """A file in the trash that a live memory names is on its way back."""
    on_their_way = {ref for ref, state in file_states(directory) if state == "returning"}
    for ref in named_by_live(kept(directory)) - on_their_way:
        assert (directory / "media" / ref).read_bytes() == ref.encode()


def assert_files_follow(directory: Path, found: State) -> None:
    """A live memory's file lies at its reference, any other in the trash; each exactly once."""
    media = directory / "media"
    live = named_by_live(found)
    for ref in FILES.values():
        assert (media / ref).exists() == (ref in live), ref
    in_place = [(media / ref).read_bytes() for ref in live]
    trashed = [path.read_bytes() for path in (media / ".trash").rglob("*") if path.is_file()]
    assert sorted(in_place + trashed) == sorted({ref.encode() for ref in FILES.values()})


def named_by_live(found: State) -> set[str]:
    """The files that hot and cold memories name."""
    return {ref for one, ref in FILES.items() if one in found and found[one].tier != "forgotten"}


def file_states(directory: Path) -> list[tuple[str, str]]:
    """The files that are or were on their way, with their state."""
    connection = open_reader(directory / "hot.db")
    keep_wal(connection)
    try:
        return connection.execute("SELECT ref, state FROM media_trash").fetchall()
    finally:
        connection.close()


def intents(directory: Path) -> int:
    """How many files are on their way."""
    return sum(state in ("leaving", "returning") for _, state in file_states(directory))


async def states_without_a_kill(state_dir: Path, pieces: str) -> list[State]:
    """What stands on disk before any piece of the work, and after each."""
    states: list[State] = [{}]
    async with opened(state_dir) as namespace:
        for piece in PIECES[pieces]:
            await piece(namespace)
            states.append(kept(directory_of(state_dir)))
    return states


def killed_before_each_step(
    folder: Path, module: str, *arguments: str, first: int = 1, apart: int = 1
) -> list[Path]:
    """The state directories of processes that died, each so many steps later than the one before.

    `module` does the work, told the arguments; `first` is the first step, and `apart` how many
    there are between.
    """

    def lane(start: int) -> None:
        subprocess.run(
            [sys.executable, "-m", module, folder, str(start), str(LANES * apart), *arguments],
            check=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
        )

    with ThreadPoolExecutor(LANES) as lanes:
        list(lanes.map(lane, range(first, first + LANES * apart, apart)))
    numbered = [each for each in folder.iterdir() if each.name.isdigit()]
    return sorted(numbered, key=lambda each: int(each.name))


def temporaries(directory: Path) -> list[str]:
    """Unfinished files of the archive."""
    return [each.name for each in directory.rglob(".tmp-*")]
