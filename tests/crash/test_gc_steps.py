"""A destruction that is killed before each of its steps: whole or not at all, and then finished."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sidecar.store.sqlite.connection import open_reader
from tests.collecting import files_with
from tests.crash.gc_steps import DOOMED, WORDS, destroy, prepare
from tests.crash.namespaces import (
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    opened,
    unfinished_runs,
)
from tests.crash.test_every_step import temporaries

LANES = 2
STEPS_MIN = 12


@pytest.mark.gate("GC-12")
async def test_killed_before_any_step_a_destruction_is_finished_or_not_begun(
    tmp_path: Path,
) -> None:
    template = tmp_path / "template"
    await prepare(template)
    before = kept(directory_of(template))
    shutil.copytree(template, tmp_path / "reference")
    async with opened(tmp_path / "reference") as namespace:
        await destroy(namespace)
    after = kept(directory_of(tmp_path / "reference"))
    assert after == {name: one for name, one in before.items() if name not in DOOMED}
    images = killed_before_each_step(template, tmp_path / "images")
    assert len(images) >= STEPS_MIN
    finished = 0
    for image in images:
        directory = directory_of(image)
        interrupted = unfinished_runs(directory) > 0
        async with opened(image) as namespace:
            found = kept(directory)
            assert found in (before, after), f"step {image.name}"
            assert_columns_follow(namespace)
            begun = stones(directory)
            assert found == (after if interrupted or begun else before), f"step {image.name}"
            assert begun == (len(DOOMED) if found == after else 0)
            finished += interrupted
        assert unfinished_runs(directory) == 0
        assert temporaries(directory) == []
        assert faults(directory, but=["unknown segments"]) == {}, f"step {image.name}"
        if found == after:
            left = [text for at in (1, 10, 39) for text in files_with(directory, f"{WORDS}{at} ")]
            assert left == [], f"step {image.name}"
            assert list((directory / "media").rglob("*own.png")) == []
        shared = list((directory / "media").rglob("*shared.png"))
        assert [each.read_bytes() for each in shared] == [b"shared"]
        shutil.rmtree(image)
    assert finished >= STEPS_MIN // 2


def stones(directory: Path) -> int:
    """How many tombstones stand."""
    connection = open_reader(directory / "hot.db")
    try:
        return connection.execute("SELECT count(*) FROM tombstones").fetchall()[0][0]
    finally:
        connection.close()


def killed_before_each_step(template: Path, folder: Path) -> list[Path]:
    """State directories of processes that died, each one step later than the one before."""
    folder.mkdir()

    def lane(first: int) -> None:
        subprocess.run(
            [
                *(sys.executable, "-m", "tests.crash.gc_steps"),
                *(template, folder, str(first), str(LANES)),
            ],
            check=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
        )

    with ThreadPoolExecutor(LANES) as lanes:
        list(lanes.map(lane, range(1, LANES + 1)))
    return sorted(folder.iterdir(), key=lambda each: int(each.name))
