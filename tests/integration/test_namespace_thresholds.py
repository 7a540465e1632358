"""Settings: where they come from, what a lower one delays, and what a second client may do."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.config import load_config
from sidecar.thresholds import DEFAULTS
from tests.namespaces import (
    HOUR,
    MINUTE,
    NOW,
    World,
    a_world,
    counted,
    event_kinds,
    fill,
    many,
    memory,
    put,
    query,
    settle,
    sweep,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


@pytest.mark.gate("AUTO-11")
async def test_a_lowered_total_waits_an_hour_before_anything_is_forgotten(world: World) -> None:
    namespace = await world.open()
    await fill(namespace, many(30))
    report = await namespace.set_thresholds({"forgetThresholdTotal": 20})
    assert report.stage_two_not_before == NOW + HOUR
    assert event_kinds(namespace, "forgetting.") == ["forgetting.scheduled"]
    world.pass_time(HOUR - 1)
    await put(namespace, memory("meanwhile"))
    await settle(namespace)
    assert counted(namespace) == (31, 0, 0)
    world.pass_time(1)
    await settle(namespace)
    assert counted(namespace) == (18, 0, 13)


@pytest.mark.gate("AUTO-11")
async def test_a_lowered_disk_budget_waits_as_long_as_the_settings_say(world: World) -> None:
    namespace = await world.open(loweringDelayMinutes=5)
    await fill(namespace, many(150))
    await namespace.set_thresholds({"forgetThresholdDiskGB": 0.000_02})
    world.pass_time(5 * MINUTE - 1)
    await settle(namespace)
    assert counted(namespace)[2] == 0
    world.pass_time(1)
    await settle(namespace)
    assert counted(namespace)[2] == 30  # the brake: a fifth of 150


@pytest.mark.gate("AUTO-11")
async def test_spilling_and_explicit_calls_do_not_wait(world: World) -> None:
    namespace = await world.open()
    await fill(namespace, many(30))
    await namespace.set_thresholds({"forgetThresholdTotal": 20, "forgetThresholdCount": 25})
    await settle(namespace)
    assert counted(namespace) == (22, 8, 0)
    await sweep(namespace)
    assert counted(namespace)[2] == 12


@pytest.mark.gate("AUTO-11")
async def test_raising_delays_nothing_and_resuming_ends_the_delay(world: World) -> None:
    namespace = await world.open(forgetThresholdTotal=10, forgetEnabled=False)
    await fill(namespace, many(30))
    report = await namespace.set_thresholds({"forgetThresholdTotal": 25})
    assert report.stage_two_not_before is None
    await namespace.set_thresholds({"forgetThresholdTotal": 20, "forgetEnabled": True})
    await settle(namespace)
    assert counted(namespace) == (30, 0, 0)
    await namespace.resume()
    await settle(namespace)
    assert counted(namespace) == (18, 0, 12)


@pytest.mark.gate("AUTO-11")
async def test_a_budget_lowered_in_the_config_file_waits_also_after_a_restart(
    world: World,
) -> None:
    namespace = await world.open()
    await fill(namespace, many(30))
    await world.registry.close_all()
    world.config = {"forgetThresholdTotal": 20}
    await world.start(NOW + HOUR)
    again = await world.registry.open("default", False)
    await settle(again)
    assert counted(again) == (30, 0, 0)
    assert (await again.thresholds_report()).stage_two_not_before == NOW + 2 * HOUR
    await world.restart()
    again = await world.registry.open("default", False)
    assert (await again.thresholds_report()).stage_two_not_before == NOW + 2 * HOUR
    world.pass_time(HOUR)
    await settle(again)
    assert counted(again) == (18, 0, 12)


@pytest.mark.gate("AUTO-12")
async def test_the_config_file_wins_over_what_is_set_and_says_so(tmp_path: Path) -> None:
    ordered = {"forgetThresholdCount": 50, "weakStrength": 0.1}
    async with a_world(tmp_path, config=dict(ordered)) as world:
        namespace = await world.open(forgetThresholdCount=30, lowWatermark=0.5)
        report = await namespace.set_thresholds(
            {"forgetThresholdCount": 40, "minIdleDays": 3, "weakStrength": 0.2}
        )
        shown = {name: (one.value, one.origin) for name, one in report.thresholds.items()}
        assert shown["forgetThresholdCount"] == (50, "config")
        assert shown["weakStrength"] == (0.1, "config")
        assert shown["minIdleDays"] == (3, "set")
        assert shown["lowWatermark"] == (0.5, "open")
        assert shown["brakeShare"] == (0.2, "default")
        assert set(shown) == set(DEFAULTS)

        config = load_config(environ={"HOME": str(tmp_path)})
        await world.registry.reconfigure(config)
        report = await namespace.thresholds_report()
        assert report.thresholds["forgetThresholdCount"].value == 40
        assert report.thresholds["forgetThresholdCount"].origin == "set"
        report = await namespace.set_thresholds({"forgetThresholdCount": None, "minIdleDays": None})
        assert report.thresholds["forgetThresholdCount"].value == 10_000
        assert report.thresholds["minIdleDays"].origin == "default"


@pytest.mark.gate("AUTO-13")
async def test_open_options_count_at_creation_and_are_compared_later(world: World) -> None:
    namespace = await world.registry.open("default", True)
    first = await namespace.apply_open_options(
        thresholds={"forgetThresholdCount": 30, "minIdleDays": None}, created=True
    )
    assert first.created
    assert first.thresholds_differ == {}
    assert first.thresholds == DEFAULTS | {"forgetThresholdCount": 30}
    later = await namespace.apply_open_options(
        thresholds={"forgetThresholdCount": 40, "forgetThresholdTotal": 100_000}, created=False
    )
    assert not later.created
    assert later.thresholds_differ == {"forgetThresholdCount": 30}
    assert later.thresholds == first.thresholds
    await world.restart()
    again = await world.registry.open("default", False)
    assert (await again.thresholds_report()).thresholds["forgetThresholdCount"].value == 30


@pytest.mark.gate("AUTO-14")
async def test_a_second_client_without_forgetting_pauses_automatic_runs_until_set(
    world: World,
) -> None:
    namespace = await world.open(forgetThresholdCount=20)
    report = await namespace.apply_open_options(thresholds={"forgetEnabled": False}, created=False)
    assert report.thresholds_differ == {"forgetEnabled": True}
    await fill(namespace, many(30))
    await settle(namespace)
    assert counted(namespace) == (30, 0, 0)
    assert [pause.reason for pause in (await namespace.thresholds_report()).paused] == [
        "client_disabled"
    ]
    await world.restart()
    namespace = await world.registry.open("default", False)
    await settle(namespace)
    assert counted(namespace) == (30, 0, 0)
    await namespace.set_thresholds({"forgetThresholdCount": 25})
    await settle(namespace)
    assert counted(namespace) == (22, 8, 0)
    await namespace.apply_open_options(thresholds={"forgetEnabled": False}, created=False)
    await put(namespace, *many(4, "n"))
    await settle(namespace)
    assert counted(namespace)[:1] == (26,)
    assert (await sweep(namespace)).counts["spill"] == 4


@pytest.mark.gate("AUTO-15")
async def test_the_settings_and_pauses_of_a_namespace_outlive_a_restart(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=20, forgetThresholdTotal=400)
    await namespace.set_thresholds({"forgetThresholdTotal": 300, "forgetEnabled": False})
    before = await namespace.thresholds_report()
    await world.restart()
    again = await world.registry.open("default", False)
    assert await again.thresholds_report() == before
    assert query(again, "SELECT count(*) FROM events WHERE kind = 'thresholds.changed'") == [(2,)]
