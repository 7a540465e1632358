"""What is archived counts against the brake of a day, as what is forgotten does."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.namespaces import DAY, NOW, World, a_world, counted, fill, memory, settle, sweep
from tests.setting_aside import forget_useless, harmful


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


@pytest.mark.gate("LIFE-27")
async def test_runs_that_archive_share_the_brake_of_a_day_with_all_others(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, [harmful(f"m{n:04}", importance=0.05) for n in range(200)])
    first = await forget_useless(namespace)
    assert (first.archived, first.by_skipped) == (40, {"braked": 160})
    assert first.brake is not None
    assert (first.brake.allowed, first.brake.engaged) == (40, True)
    second = await forget_useless(namespace)
    assert (second.run_id, second.archived, second.by_skipped) == (None, 0, {"braked": 160})
    assert second.brake is not None
    assert (second.brake.forgotten_in_window, second.brake.allowed) == (40, 0)
    await namespace.set_thresholds({"forgetThresholdTotal": 10})
    swept = await sweep(namespace)
    assert swept.brake is not None
    assert (swept.counts["forget"], swept.brake.forgotten_in_window) == (0, 40)
    cycled = await namespace.run_cycle(dry_run=False, plan_id=None, now=None, decisions_limit=0)
    assert (cycled.pruned, counted(namespace)) == (0, (200, 0, 0))
    world.pass_time(DAY)
    assert (await sweep(namespace)).counts["forget"] == 40
    assert (await forget_useless(namespace)).archived == 0


@pytest.mark.gate("LIFE-27")
async def test_the_brake_counts_each_memory_once_and_no_word_of_a_host(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, [harmful(f"m{n:04}", importance=0.05) for n in range(100)])
    for number in range(30):
        await namespace.invalidate(id=f"m{number:04}", reason="forgotten")
    done = await forget_useless(namespace)
    assert done.brake is not None
    assert (done.brake.forgotten_in_window, done.archived) == (0, 20)
    archived = [one.id for one in done.candidates if one.executed]
    await namespace.forget(ids=archived[:5], reason="called")
    planned = await sweep(namespace, dry_run=True)
    assert planned.brake is not None
    assert planned.brake.forgotten_in_window == 20
    await namespace.restore(ids=archived[:8], run_id=None, reason=None)
    planned = await sweep(namespace, dry_run=True)
    assert planned.brake is not None
    assert planned.brake.forgotten_in_window == 12


@pytest.mark.gate("LIFE-27")
async def test_what_the_host_writes_anew_is_back_and_counts_no_more(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, [harmful(f"m{n:04}", importance=0.05) for n in range(100)])
    done = await forget_useless(namespace)
    archived = [one.id for one in done.candidates if one.executed]
    assert len(archived) == 20
    for memory_id in archived[:5]:
        await namespace.put(memory=memory(memory_id, content="said anew"), if_exists="replace")
    planned = await sweep(namespace, dry_run=True)
    assert planned.brake is not None
    assert planned.brake.forgotten_in_window == 15


@pytest.mark.gate("LIFE-27")
async def test_an_automatic_sweep_that_the_brake_stops_waits_for_the_first_archived(
    world: World,
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=150)
    await fill(namespace, [harmful(f"m{n:04}", importance=0.05) for n in range(200)])
    assert (await forget_useless(namespace)).archived == 40
    world.pass_time(DAY // 2)
    await namespace.resume()
    await settle(namespace)
    assert counted(namespace)[2] == 0
    (paused,) = (await namespace.thresholds_report()).paused
    assert (paused.reason, paused.until) == ("braked", NOW + DAY)
