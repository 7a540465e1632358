"""A simulation and a real run of the same days on the same store agree."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar import automatic, simulating
from sidecar.cycle_config import CycleOptions
from sidecar.errors import InvalidParams, PolicyUnknown, ShuttingDown
from sidecar.limits import SIMULATED_STEP_MS
from sidecar.model import MEMORY_TYPES, MemoryInput
from sidecar.namespace import Namespace
from sidecar.plan.arrivals import Arrivals, arrival_id, arrivals_like
from sidecar.plan.simulate import STEPS_PER_DAY, arriving
from sidecar.settings_book import PAUSE_BRAKED
from sidecar.simulation_reports import SimulatedMoves, SimulationReport, SimulationRequest
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    counted,
    event_kinds,
    files_below,
    fill,
    many,
    memory,
    query,
    settle,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def simulated(namespace: Namespace, days: int, per_day: int) -> SimulationReport:
    """The answer of simulate."""
    request = SimulationRequest(days, per_day, None, {})
    return await namespace.simulate(request=request)


def arrived(arrivals: Arrivals, first: int, count: int, since: int) -> list[MemoryInput]:
    """The memories that a simulation lets arrive, as a host would put them."""
    return [
        MemoryInput(
            id=f"{arrival_id(number)}-{since}",
            content=f"what {arrival_id(number)} of {since} says",
            importance=float(arrivals.importance[kind]),
            memory_type=MEMORY_TYPES[arrivals.memory_type[kind]],
        )
        for number, kind in enumerate(arrivals.kinds(first, count).tolist(), first)
    ]


async def live_through(world: World, namespace: Namespace, report: SimulationReport) -> None:
    """Let the days of a simulation pass, and look at the end of each whether it was right."""
    arrivals = arrivals_like(namespace.store.columns.snapshot(), report.now)
    first = 0
    for day in report.per_day:
        before = moved(namespace)
        for step in range(1, STEPS_PER_DAY + 1):
            world.clock.hold(day.at - (STEPS_PER_DAY - step) * SIMULATED_STEP_MS)
            await settle(namespace)
            count = arriving(report.arrivals_per_day, step)
            await fill(namespace, arrived(arrivals, first, count, report.now))
            first += count
            await settle(namespace)
            await namespace.cycle_if_due()
            await settle(namespace)
        assert counted(namespace) == (day.after.hot, day.after.cold, day.after.forgotten), day.day
        done = {name: count - before[name] for name, count in moved(namespace).items()}
        assert done == told_of(day.moved), day.day


def moved(namespace: Namespace) -> dict[str, int]:
    """What runs have done so far, by their own reports."""
    done = dict.fromkeys(("spilled", "forgotten", "faded", "pruned"), 0)
    for kind, report in query(namespace, "SELECT kind, report FROM runs"):
        told = json.loads(report)
        if kind == "sweep":
            done["spilled"] += told["counts"]["spill"]
            done["forgotten"] += told["counts"]["forget"]
        elif kind == "cycle":
            done["faded"] += told["faded"]
            done["pruned"] += told["pruned"]
    return done


def told_of(moves: SimulatedMoves) -> dict[str, int]:
    """The same of a simulation."""
    return {
        "spilled": moves.spilled,
        "forgotten": moves.forgotten,
        "faded": moves.faded,
        "pruned": moves.pruned,
    }


def mixed(count: int) -> list[MemoryInput]:
    """Memories of every kind that a plan treats in its own way, old and new."""
    memories = [
        memory(
            f"m{number:04}",
            days=number % 40,
            importance=0.06 + number % 7 * 0.05,
            memory_type=MEMORY_TYPES[number % 3],
            pinned=number % 29 == 0,
            evergreen=number % 31 == 0,
            held_until=NOW + number % 9 * DAY if number % 5 == 0 else None,
            expires_at=NOW + number % 6 * DAY if number % 11 == 0 else None,
            failure_count=number % 4 * 9,
        )
        for number in range(count)
    ]
    for number in range(0, count - 1, 13):
        memories[number].superseded_by = f"m{number + 1:04}"
    return memories


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait for more writes: the clock of these tests stands still meanwhile."""
    monkeypatch.setattr(automatic, "SWEEP_DEBOUNCE_SECONDS", 0.0)


@pytest.mark.gate("SIM-01")
@pytest.mark.parametrize(
    ("per_day", "thresholds"),
    [
        (50, {"forgetThresholdCount": 120, "forgetThresholdTotal": 260}),
        (7, {"forgetThresholdCount": 90, "forgetThresholdTotal": 150, "brakeShare": 0.05}),
        (30, {"forgetThresholdCount": 40, "lowWatermark": 1.0}),
        (0, {"forgetThresholdTotal": 60, "forgetActive": False}),
    ],
    ids=["both", "braked", "spill", "archived-only"],
)
async def test_a_real_run_of_the_same_days_moves_the_same_memories(
    world: World, per_day: int, thresholds: dict[str, Any]
) -> None:
    namespace = await world.open(**thresholds)
    await fill(namespace, mixed(200))
    await settle(namespace)
    report = await simulated(namespace, 12, per_day)
    assert report.totals.arrived == 12 * per_day
    assert report.totals.spilled + report.totals.forgotten > 0
    assert any(day.braked for day in report.per_day) == ("brakeShare" in thresholds)
    await live_through(world, namespace, report)


@pytest.mark.gate("SIM-01")
async def test_cycles_of_the_timer_are_part_of_both(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=100, forgetThresholdTotal=250)
    namespace.cycle_options = CycleOptions(enabled=True, interval_hours=20.0)
    await fill(namespace, mixed(200))
    await settle(namespace)
    report = await simulated(namespace, 12, 30)
    assert report.totals.faded > 0
    assert report.totals.pruned > 0
    assert report.cycle_enabled
    await live_through(world, namespace, report)


@pytest.mark.gate("SIM-01")
async def test_it_goes_on_from_what_holds_automatic_runs_back_now(world: World) -> None:
    namespace = await world.open(
        forgetThresholdCount=100, forgetThresholdTotal=200, brakeShare=0.04
    )
    await fill(namespace, mixed(260))
    await settle(namespace)
    first = await simulated(namespace, 2, 20)
    await live_through(world, namespace, first)
    world.pass_time(7 * SIMULATED_STEP_MS)
    await settle(namespace)
    assert PAUSE_BRAKED in namespace.book.paused
    again = await simulated(namespace, 6, 20)
    assert any(day.braked for day in again.per_day)
    await live_through(world, namespace, again)


@pytest.mark.gate("SIM-01")
async def test_a_stage_that_makes_no_progress_is_waited_for_as_long(world: World) -> None:
    namespace = await world.open(forgetThresholdTotal=100)
    await fill(namespace, [memory(f"s{n}", days=1, importance=0.1) for n in range(150)])
    await settle(namespace)
    report = await simulated(namespace, 14, 2)
    assert report.per_day[0].pressure
    assert report.totals.forgotten > 0
    await live_through(world, namespace, report)


@pytest.mark.gate("SIM-08")
async def test_under_the_disk_threshold_it_agrees_within_a_twentieth(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=150, forgetThresholdDiskGB=0.000_08)
    filler = {"filler": "so that a memory takes as much as a sentence or two " * 3}
    await namespace.set_thresholds({"forgetEnabled": False})
    await fill(namespace, [memory(f"m{n:03}", 60 - n / 5, metadata=filler) for n in range(200)])
    report = await asked(namespace, days=8, arrivals_per_day=0, thresholds={"forgetEnabled": True})
    await namespace.set_thresholds({"forgetEnabled": True})
    assert {one.threshold for one in report.first_crossed} == {"count", "disk"}
    assert report.totals.forgotten > 0
    for day in report.per_day:
        world.clock.hold(day.at)
        await settle(namespace)
    live = namespace.store.columns.counts()
    assert live.live_bytes == pytest.approx(report.per_day[-1].after.live_bytes, rel=0.05)
    assert live.total == pytest.approx(report.per_day[-1].after.total, rel=0.05)


@pytest.mark.gate("SIM-09")
async def test_it_writes_nothing_and_leaves_no_plan(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdCount=20, forgetThresholdTotal=40)
    await fill(namespace, mixed(60))
    before, events = files_below(world.directory()), event_kinds(namespace)
    first = await simulated(namespace, 5, 10)
    again = await simulated(namespace, 5, 10)
    assert files_below(world.directory()) == before
    assert event_kinds(namespace) == events
    again.duration_ms = first.duration_ms
    assert again == first
    assert counted(namespace) == (60, 0, 0)


@pytest.mark.gate("SIM-10")
async def test_what_would_be_set_counts_as_set_just_now(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=1_000)
    await fill(namespace, many(80))
    paused = await asked(namespace, days=1)
    assert [one.reason for one in paused.paused] == ["client_disabled"]
    assert paused.totals.forgotten == 0
    lower = await asked(namespace, days=1, thresholds={"forgetThresholdTotal": 50})
    assert (lower.paused, lower.totals.forgotten) == ([], 35)
    assert lower.thresholds["forgetThresholdTotal"] == 50
    delayed = {"forgetThresholdTotal": 50, "loweringDelayMinutes": 2 * 24 * 60.0}
    waits = await asked(namespace, days=3, thresholds=delayed)
    assert [day.moved.forgotten for day in waits.per_day] == [0, 35, 0]
    off = await asked(
        namespace, days=1, thresholds={"forgetThresholdTotal": 50, "forgetEnabled": False}
    )
    assert off.totals.forgotten == 0
    assert (await namespace.thresholds_report()).thresholds["forgetThresholdTotal"].value == 1_000


@pytest.mark.gate("SIM-10")
async def test_without_a_rate_it_is_that_of_the_memories_that_are_here(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, [memory(f"m{n:02}", n / 4) for n in range(80)])
    report = await asked(namespace, days=2)
    assert report.arrivals_measured
    assert (report.arrivals_per_day, report.totals.arrived) == (5, 10)
    named = await asked(namespace, days=2, arrivals_per_day=7)
    assert (named.arrivals_measured, named.totals.arrived) == (False, 14)


@pytest.mark.gate("SIM-11")
async def test_more_than_can_be_simulated_is_refused_with_what_can(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(10))
    monkeypatch.setattr(simulating, "SIMULATED_MEMORIES_MAX", 1_000)
    assert (await simulated(namespace, 10, 99)).totals.arrived == 990
    with pytest.raises(InvalidParams) as refused:
        await simulated(namespace, 10, 100)
    assert refused.value.data["field"] == "$.arrivalsPerDay"
    assert refused.value.data["remedy"].endswith("at most 99 arrivals a day")
    with pytest.raises(PolicyUnknown):
        await asked(namespace, days=1, policy="other")


@pytest.mark.gate("SIM-11")
async def test_closing_ends_a_simulation(world: World) -> None:
    namespace = await world.open(automatic=False)
    namespace.runner.stopping.set()
    with pytest.raises(ShuttingDown):
        await simulated(namespace, 1, 0)


async def asked(namespace: Namespace, days: int, **given: Any) -> SimulationReport:
    """The answer of simulate, with the wire's defaults."""
    call: dict[str, Any] = {"arrivals_per_day": None, "policy": None, "thresholds": {}}
    return await namespace.simulate(request=SimulationRequest(days, **(call | given)))
