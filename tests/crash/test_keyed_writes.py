"""Writes with idempotency keys, killed: sent again they are finished or answered, never doubled."""

import random
import shutil
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.apply import journal
from sidecar.errors import DiskFull
from tests.crash.keyed_steps import CALLS, send_all
from tests.crash.namespaces import (
    NOW,
    directory_of,
    faults,
    kept,
    registry_on,
    unfinished_runs,
)
from tests.crash.test_every_step import STEPS_MIN, killed_before_each_step
from tests.crash.test_interrupted_run import SEAMS, imaged
from tests.keyed import Wire

# All steps would take a minute; each seed takes other ones.
STEPS_APART = 4
# What a report may say of the measuring of an interrupted run.
MEASURED = ("durationMs", "bytesReclaimed", "spaceNote", "after", "before", "runId", "now")
OLD = NOW - 200 * 86_400_000


def comparable(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what differs from one run to another."""
    return {name: value for name, value in report.items() if name not in MEASURED}


async def counts_of(wire: Wire) -> tuple[Any, ...]:
    """What would be more if anything were done twice."""
    listed = [
        one
        for tier in ("hot", "cold", "forgotten")
        for one in (await wire.call("memory.list", tier=tier))["memories"]
    ]
    useful = sum(one["useCount"] for one in listed)
    runs = (await wire.call("runs.list"))["runs"]
    return len(listed), useful, sorted((run["kind"], run["state"], run["moved"]) for run in runs)


@pytest.mark.gate("IDEM-10")
async def test_killed_before_any_step_each_call_sent_again_is_done_once(
    tmp_path: Path, rng: random.Random
) -> None:
    async with registry_on(tmp_path / "reference") as registry:
        wire = Wire(registry)
        expected = [msgspec.json.decode(one) for one in await send_all(wire, lambda _: None)]
        state = await counts_of(wire)
    first = rng.randint(1, STEPS_APART)
    images = killed_before_each_step(
        tmp_path, "tests.crash.keyed_steps", first=first, apart=STEPS_APART
    )
    assert len(images) >= STEPS_MIN // STEPS_APART
    cut = 0
    for image in images:
        directory = directory_of(image)
        if (directory / "hot.db").exists():
            cut += unfinished_runs(directory) > 0
        answered = image / "replies"
        told = answered.read_bytes().splitlines() if answered.exists() else []
        async with registry_on(image) as registry:
            wire = Wire(registry)
            found = await send_all(wire, lambda _: None)
            assert found[: len(told)] == told, f"step {image.name}"
            assert await counts_of(wire) == state, f"step {image.name}"
            for (method, _), reply, wanted in zip(CALLS, found, expected, strict=True):
                got = msgspec.json.decode(reply)
                assert got.keys() == wanted.keys(), f"step {image.name}: {method}"
                if "runId" in got and method != "coldSpill":
                    assert comparable(got) == comparable(wanted), f"step {image.name}: {method}"
        assert faults(directory, but=["unknown segments"]) == {}
        shutil.rmtree(image)
    assert cut >= 3


RUNS: dict[str, dict[str, Any]] = {
    "coldSpill": {"target": 2, "decisionsLimit": 3},
    "memory.forget": {"ids": ["m1", "m2", "nobody", "gone"]},
    "memory.restore": {"ids": ["gone", "m1", "nobody"]},
    "runs.undo": {},
}


async def prepared(wire: Wire) -> str:
    """A namespace with six hot memories and one that a run has forgotten; the run's id."""
    for at in range(6):
        await wire.call("memory.put", id=f"m{at}", content=f"memory {at}", createdAt=OLD)
    await wire.call("memory.put", id="gone", content="memory", createdAt=OLD)
    return (await wire.call("memory.forget", ids=["gone"]))["runId"]


def call_of(wire: Wire, method: str, run_id: str) -> Awaitable[Any]:
    """The keyed call of a run."""
    params = dict(RUNS[method])
    params.pop("decisionsLimit", None)
    if method == "runs.undo":
        params["runId"] = run_id
    return wire.call(method, idempotencyKey="k", **params)


@pytest.mark.gate("IDEM-11")
@pytest.mark.parametrize("method", RUNS)
@pytest.mark.parametrize("seam", ["list committed", "all rows moved", "not yet finished"])
async def test_a_run_cut_at_a_seam_answers_its_key_with_the_whole_report(
    tmp_path: Path, seam: str, method: str
) -> None:
    assert seam in SEAMS
    state_dir, image = tmp_path / "whole", tmp_path / "image"
    async with registry_on(state_dir) as registry:
        wire = Wire(registry)
        run_id = await prepared(wire)
        with imaged(seam, state_dir, image):
            whole = await call_of(wire, method, run_id)
    assert unfinished_runs(directory_of(image)) == 1
    async with registry_on(image) as registry:
        wire = Wire(registry)
        ledger = await wire.call("runs.list")
        again = await call_of(wire, method, run_id)
        assert again["runId"] == whole["runId"]
        assert comparable(again) == comparable(whole)
        assert again["durationMs"] >= 0 if "durationMs" in whole else True
        assert await wire.call("runs.list") == ledger
        detail = await wire.call("runs.get", runId=whole["runId"])
        assert detail["report"] == again
    assert kept(directory_of(image)) == kept(directory_of(state_dir))


@pytest.mark.gate("IDEM-11")
async def test_the_report_of_a_cut_sweep_is_that_of_a_whole_one(tmp_path: Path) -> None:
    state_dir, image = tmp_path / "whole", tmp_path / "image"
    sweep = {"decisionsLimit": 3, "mode": "strict", "idempotencyKey": "k"}
    async with registry_on(state_dir) as registry:
        wire = Wire(registry)
        await wire.call("namespaces.open", thresholds={"forgetEnabled": False})
        await prepared(wire)
        await wire.call(
            "thresholds.set", thresholds={"forgetThresholdCount": 4, "forgetThresholdTotal": 5}
        )
        namespace = await registry.open("default", False)
        assert namespace.automatic is not None
        await namespace.automatic.close()
        await wire.call("thresholds.set", thresholds={"forgetEnabled": True})
        with imaged("all rows moved", state_dir, image):
            whole = await wire.call("forgetSweep", **sweep)
        assert whole["counts"]["spill"] > 0
        assert whole["counts"]["forget"] > 0
        assert all(stage["moved"] == stage["selected"] for stage in whole["stages"])
    async with registry_on(image) as registry:
        wire = Wire(registry)
        again = await wire.call("forgetSweep", **sweep)
    assert comparable(again) == comparable(whole)
    for name in ("hot", "cold", "forgotten", "total"):
        assert again["after"][name] == whole["after"][name]
    assert again["before"] == whole["before"]


@pytest.mark.gate("IDEM-11")
async def test_a_run_that_could_not_end_is_ended_by_the_call_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise DiskFull

    async with registry_on(tmp_path) as registry:
        wire = Wire(registry)
        run_id = await prepared(wire)
        with monkeypatch.context() as patch:
            patch.setattr(journal, "finish", full)
            with pytest.raises(DiskFull):
                await call_of(wire, "memory.forget", run_id)
        assert unfinished_runs(directory_of(tmp_path)) == 1
        report = await call_of(wire, "memory.forget", run_id)
        assert report["forgotten"] == 2
        assert unfinished_runs(directory_of(tmp_path)) == 0
        assert len((await wire.call("runs.list"))["runs"]) == 2
