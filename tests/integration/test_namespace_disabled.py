"""Forgetting switched off stops what is under way and what was interrupted."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.apply import journal
from sidecar.apply.ending import SweepBegun
from sidecar.errors import PermissionDenied
from tests.namespaces import DAY, NOW, World, a_world, counted, fill, memory, settle


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def folder_of_namespaces(below: Path) -> Path:
    return next(below.rglob("hot.db")).parent.parent


@pytest.mark.gate("RUN-30")
async def test_an_interrupted_sweep_moves_nothing_once_forgetting_is_switched_off(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, [memory(f"m{n:02}", created_at=NOW - 90 * DAY) for n in range(30)])
    await namespace.set_thresholds({"forgetThresholdCount": 20, "forgetEnabled": True})
    dry = await namespace.sweep(
        dry_run=True,
        plan_id=None,
        mode="normal",
        policy=None,
        brake_share=None,
        now=None,
        decisions_limit=100,
    )
    assert dry.counts["spill"] == 12
    plan = namespace.sweeper.shelf.find(dry.plan_id or "", world.clock.now_ms()).plan
    header = namespace.runner.begin(
        "sweep",
        "call",
        journal.decisions_of(plan),
        namespace.book.cascade(),
        SweepBegun(planned=dry, decisions_limit=100),
        plan=plan,
    )
    await world.registry.close_all()

    world.config = {"forgetEnabled": False}
    await world.start()
    again = await world.registry.open("default", False)
    await settle(again)
    assert counted(again) == (30, 0, 0)
    page = await again.decisions(run_id=header.run_id, plan_id=None, cursor=None, limit=100)
    assert {one.outcome for one in page.decisions} == {"disabled"}
    assert (await again.run(run_id=header.run_id)).run.state == "finished"


@pytest.mark.gate("RUN-31")
async def test_a_wait_that_is_over_is_no_longer_told(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=100)
    await namespace.set_thresholds({"forgetThresholdTotal": 50})
    told = (await namespace.thresholds_report()).stage_two_not_before
    assert told is not None
    world.clock.hold(told - 1)
    assert (await namespace.thresholds_report()).stage_two_not_before == told
    world.clock.hold(told)
    assert (await namespace.thresholds_report()).stage_two_not_before is None


@pytest.mark.gate("RUN-32")
async def test_a_link_in_a_namespaces_place_is_refused(world: World, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    await world.open("default")
    (folder_of_namespaces(tmp_path) / "linked").symlink_to(elsewhere)
    with pytest.raises(PermissionDenied, match="symbolic link"):
        await world.registry.open("linked", True)
    assert os.listdir(elsewhere) == []
