"""Power lost at any moment: what was answered is there, at the durability that is shipped."""

import random
import shutil
from pathlib import Path

import pytest

from sidecar.store.sqlite import checkpointer
from sidecar.store.sqlite.connection import Durability
from tests.crash.namespaces import Kept, directory_of, faults, kept, opened, unfinished_runs
from tests.crash.power import Recorder, leave
from tests.crash.steps import WORK

CUTS = 60
State = dict[str, Kept]


async def recorded(state_dir: Path) -> tuple[Recorder, list[State]]:
    """The log of all the work, and what stood on disk after each answer."""
    recorder = Recorder(directory_of(state_dir))
    states: list[State] = [{}]
    with recorder.watching():
        async with opened(state_dir) as namespace:
            for piece in WORK:
                await piece(namespace)
                recorder.answered()
                states.append(kept(directory_of(state_dir)))
    return recorder, states


def cuts_of(recorder: Recorder, rng: random.Random) -> list[int]:
    """Right after every answer, and at random."""
    answers = [at + 1 for at, entry in enumerate(recorder.log) if entry[0] == "answered"]
    return answers + [rng.randrange(len(recorder.log)) for _ in range(CUTS - len(answers))]


@pytest.mark.gate("CRASH-03")
@pytest.mark.parametrize("reaches_disk", [0.0, 0.5])
async def test_power_loss_takes_nothing_that_was_answered(
    tmp_path: Path, rng: random.Random, monkeypatch: pytest.MonkeyPatch, reaches_disk: float
) -> None:
    # So short that the WAL is used again from its beginning, over old frames.
    monkeypatch.setattr(checkpointer, "WAL_PAGES_MAX", 8)
    assert Durability.synchronous == "FULL"
    recorder, states = await recorded(tmp_path / "real")
    for cut in cuts_of(recorder, rng):
        state_dir = tmp_path / "after"
        directory = directory_of(state_dir)
        answered = leave(recorder, cut, directory, rng, reaches_disk=reaches_disk)
        async with opened(state_dir) as namespace:
            assert namespace.store.findings.read_only is None, f"cut at {cut}"
            assert kept(directory) in states[answered : answered + 2], f"cut at {cut}"
        assert unfinished_runs(directory) == 0
        assert faults(directory, but=["unknown segments"]) == {}, f"cut at {cut}"
        shutil.rmtree(state_dir)


@pytest.mark.gate("CRASH-04")
async def test_the_same_power_loss_is_seen_to_lose_where_commits_are_not_synced(
    tmp_path: Path, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Durability, "synchronous", "NORMAL")
    recorder, states = await recorded(tmp_path / "real")
    lost = noticed = 0
    for cut in cuts_of(recorder, rng):
        state_dir = tmp_path / "after"
        directory = directory_of(state_dir)
        answered = leave(recorder, cut, directory, rng, reaches_disk=0.0)
        async with opened(state_dir) as namespace:
            read_only = namespace.store.findings.read_only is not None
        if (directory / "hot.db").exists() and (
            read_only or kept(directory) not in states[answered : answered + 2]
        ):
            lost += 1
            noticed += read_only
        shutil.rmtree(state_dir)
    assert lost > CUTS // 4
    assert noticed > 0  # by the commit counter, where that had reached the disk
