"""The clock that cannot be held: what a wrong one may not bring about."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar import clock
from sidecar.limits import CLOCK_BACK_TOLERANCE_MS
from sidecar.namespace import Namespace
from sidecar.store import events
from tests.namespaces import (
    DAY,
    World,
    a_world,
    counted,
    event_kinds,
    fill,
    memory,
    settle,
    sweep,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, injectable=False) as made:
        yield made


async def reasons(namespace: Namespace) -> list[str]:
    """Why automatic runs stand still."""
    return [pause.reason for pause in (await namespace.thresholds_report()).paused]


@pytest.mark.gate("AUTO-20")
@pytest.mark.parametrize(
    ("ahead", "paused"),
    [(CLOCK_BACK_TOLERANCE_MS // 2, []), (2 * CLOCK_BACK_TOLERANCE_MS, ["clock"])],
)
async def test_a_start_before_the_last_event_pauses_automatic_runs(
    world: World, ahead: int, paused: list[str]
) -> None:
    namespace = await world.open()
    now = world.clock.now_ms()
    later = now + ahead
    await fill(namespace, [memory(f"m{n:02}", created_at=now - 90 * DAY) for n in range(30)])
    namespace.store.writer.call(
        lambda tx: events.append(tx.connection, later, "forgetting.resumed", None, {})
    )
    await world.registry.close_all()
    world.config = {"forgetThresholdCount": 20}
    await world.start()
    again = await world.registry.open("default", False)
    await settle(again)
    assert await reasons(again) == paused
    assert counted(again) == ((30, 0, 0) if paused else (18, 12, 0))
    if paused:
        assert any("clock" in alarm for alarm in (await again.status()).alarms)
        assert (await sweep(again)).counts["spill"] == 12, "an explicit call does not wait"


@pytest.mark.gate("AUTO-20")
async def test_automatic_runs_go_on_after_an_operator_accepts_the_clock(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=20)
    later = world.clock.now_ms() + 3 * DAY
    namespace.store.writer.call(
        lambda tx: events.append(tx.connection, later, "forgetting.resumed", None, {})
    )
    await world.registry.close_all()
    await world.start()
    again = await world.registry.open("default", False)
    await fill(again, [memory(f"m{n:02}") for n in range(30)])
    await settle(again)
    assert counted(again) == (30, 0, 0)
    assert "forgetting.paused" in event_kinds(again)
    await again.resume()
    await settle(again)
    assert counted(again) == (18, 12, 0)


@pytest.mark.gate("AUTO-20")
async def test_a_clock_that_jumps_stops_automatic_runs_until_resumed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(forgetThresholdCount=20)
    boot = clock._boottime_ms
    for forward in (2 * DAY, -2 * DAY):
        # The time since boot does not jump: to it, the wall clock has moved the other way.
        monkeypatch.setattr(clock, "_boottime_ms", lambda forward=forward: boot() - forward)
        assert world.clock.jumped()
        hot = counted(namespace)[0]
        await fill(namespace, [memory(f"{forward}-{n:02}") for n in range(30)])
        await settle(namespace)
        assert counted(namespace)[0] == hot + 30
        assert await reasons(namespace) == ["clock"]
        await namespace.resume()
        assert not world.clock.jumped()
        await settle(namespace)
        assert counted(namespace)[0] == 18
        monkeypatch.setattr(clock, "_boottime_ms", boot)
        world.clock.accept_jump()


@pytest.mark.gate("AUTO-20")
async def test_a_clock_that_may_be_held_may_jump(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(forgetThresholdCount=20)
        await fill(namespace, [memory(f"m{n:02}") for n in range(30)])
        for days in (400, -800, 401):
            world.pass_time(days * DAY)
            assert not world.clock.jumped()
            await settle(namespace)
        await world.registry.close_all()
        await world.start(world.clock.now_ms() - 500 * DAY)
        again = await world.registry.open("default", False)
        assert (await again.thresholds_report()).paused == []
        assert counted(again) == (18, 12, 0)
