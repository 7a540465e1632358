"""Killed before each step that makes anything durable, visible or gone."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.namespaces import (
    Kept,
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    opened,
    unfinished_runs,
)
from tests.crash.steps import ACKNOWLEDGED, WORK

LANES = 2
STEPS_MIN = 80
State = dict[str, Kept]


@pytest.mark.gate("CRASH-02")
async def test_killed_before_any_step_each_call_is_done_or_not_begun(tmp_path: Path) -> None:
    states = await states_without_a_kill(tmp_path / "reference")
    images = killed_before_each_step(tmp_path)
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


async def states_without_a_kill(state_dir: Path) -> list[State]:
    """What stands on disk before any piece of the work, and after each."""
    states: list[State] = [{}]
    async with opened(state_dir) as namespace:
        for piece in WORK:
            await piece(namespace)
            states.append(kept(directory_of(state_dir)))
    return states


def killed_before_each_step(
    folder: Path, module: str = "tests.crash.steps", *, first: int = 1, apart: int = 1
) -> list[Path]:
    """The state directories of processes that died, each so many steps later than the one before.

    `module` does the work; `first` is the first step, and `apart` how many there are between.
    """

    def lane(start: int) -> None:
        subprocess.run(
            [sys.executable, "-m", module, folder, str(start), str(LANES * apart)],
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
