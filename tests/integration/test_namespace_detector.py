"""The detector: automatic sweeps at each threshold, by themselves, and never in a circle."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar import automatic, registry
from sidecar.errors import ShuttingDown
from sidecar.limits import BACKOFF_FIRST_MS, BACKOFF_MAX_MS, GIGABYTE_BYTES
from sidecar.namespace import Namespace
from sidecar.sweeping import SweepOutcome, SweepRequest
from tests.namespaces import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    World,
    a_world,
    counted,
    event_kinds,
    eventually,
    fill,
    get,
    ids_in,
    many,
    memory,
    put,
    query,
    settle,
    state_hash,
    stop_automatic_runs,
    sweep,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def runs_of(namespace: Namespace) -> list[tuple[str, str, int]]:
    """(kind, trigger, moved) of every run, the oldest first."""
    page = await namespace.runs(limit=100, cursor=None)
    return [(run.kind, run.trigger, run.moved) for run in reversed(page.runs)]


@pytest.mark.gate("AUTO-01")
async def test_one_memory_over_the_hot_threshold_spills_down_to_the_watermark(
    world: World,
) -> None:
    namespace = await world.open(forgetThresholdCount=20)
    for member in many(20):
        await put(namespace, member)
        await settle(namespace)
        assert await runs_of(namespace) == []
    await put(namespace, memory("last", days=190))
    await settle(namespace)
    assert counted(namespace) == (18, 3, 0)
    assert ids_in(namespace, "cold") == ["m00000", "m00001", "m00002"]
    assert await runs_of(namespace) == [("sweep", "automatic", 3)]


@pytest.mark.gate("AUTO-02")
async def test_one_memory_over_the_total_threshold_forgets_down_to_the_watermark(
    world: World,
) -> None:
    namespace = await world.open(forgetThresholdTotal=20)
    for member in many(20):
        await put(namespace, member)
        await settle(namespace)
        assert await runs_of(namespace) == []
    await put(namespace, memory("last", days=190))
    await settle(namespace)
    assert counted(namespace) == (18, 0, 3)
    assert ids_in(namespace, "forgotten") == ["m00000", "m00001", "m00002"]
    assert await runs_of(namespace) == [("sweep", "automatic", 3)]


@pytest.mark.gate("AUTO-02")
async def test_cold_memories_count_for_the_total(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=5, forgetThresholdTotal=20)
    await fill(namespace, many(20))
    await settle(namespace)
    assert counted(namespace) == (4, 16, 0)
    await put(namespace, memory("last", days=190))
    await settle(namespace)
    assert sum(counted(namespace)[:2]) == 18
    assert counted(namespace)[2] == 3


@pytest.mark.gate("AUTO-03")
async def test_one_byte_over_the_disk_threshold_forgets_down_to_the_watermark(
    world: World,
) -> None:
    namespace = await world.open(loweringDelayMinutes=0)
    await fill(namespace, many(30, metadata={"filler": "x" * 5_000}))
    used = namespace.store.columns.live_bytes
    for threshold in (used + 1, used):
        await namespace.set_thresholds({"forgetThresholdDiskGB": threshold / GIGABYTE_BYTES})
        await settle(namespace)
        assert await runs_of(namespace) == []
    await namespace.set_thresholds({"forgetThresholdDiskGB": (used - 1) / GIGABYTE_BYTES})
    await settle(namespace)
    hot, cold, forgotten = counted(namespace)
    assert cold == 0
    assert 3 <= forgotten <= 4  # a tenth of thirty memories of one size, down to below 90 %
    assert hot == 30 - forgotten
    assert 0.86 * used < namespace.store.columns.live_bytes <= 0.9 * (used - 1)
    assert await runs_of(namespace) == [("sweep", "automatic", forgotten)]


@pytest.mark.gate("AUTO-03")
async def test_a_write_that_passes_the_disk_threshold_is_noticed(world: World) -> None:
    namespace = await world.open(loweringDelayMinutes=0)
    await fill(namespace, many(30, metadata={"filler": "x" * 5_000}))
    used = namespace.store.columns.live_bytes
    await namespace.set_thresholds({"forgetThresholdDiskGB": (used + 5_000) / GIGABYTE_BYTES})
    await put(namespace, memory("small"))
    await settle(namespace)
    assert await runs_of(namespace) == []
    await put(namespace, memory("large", days=190, metadata={"filler": "x" * 5_000}))
    await settle(namespace)
    assert [(kind, trigger) for kind, trigger, _ in await runs_of(namespace)] == [
        ("sweep", "automatic")
    ]
    assert "m00000" in ids_in(namespace, "forgotten")


@pytest.mark.gate("AUTO-04")
async def test_a_burst_of_writes_is_answered_by_one_sweep(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic, "SWEEP_DEBOUNCE_SECONDS", 1.0)
    namespace = await world.open(forgetThresholdCount=20)
    await asyncio.gather(*(put(namespace, one) for one in many(40)))
    assert await runs_of(namespace) == []
    await settle(namespace)
    assert await runs_of(namespace) == [("sweep", "automatic", 22)]


@pytest.mark.gate("AUTO-05")
async def test_the_timer_opens_an_idle_namespace_only_where_its_counters_say_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    crossed = await world.open("crossed")
    await fill(crossed, many(30))
    await (await world.open("quiet")).put(memory=memory("m"), if_exists="error")
    await crossed.set_thresholds({"forgetThresholdTotal": 20})  # stage 2 waits for an hour
    await settle(crossed)
    assert await runs_of(crossed) == []
    await world.registry.close_all()

    monkeypatch.setattr(registry, "SWEEP_TIMER_SECONDS", 0.01)
    await world.start(NOW + HOUR + MINUTE)
    assert [one.open for one in world.registry.names()] == [False, False]
    await eventually(
        lambda: next(iter(world.registry.names())).forgotten > 0, "the timer has swept"
    )
    assert {one.namespace: one.open for one in world.registry.names()} == {
        "crossed": True,
        "quiet": False,
    }
    opened = await world.registry.open("crossed", False)
    await settle(opened)
    assert counted(opened) == (18, 0, 12)
    assert [trigger for _, trigger, _ in await runs_of(opened)] == ["automatic"]


@pytest.mark.gate("AUTO-05")
async def test_the_timer_opens_an_idle_namespace_for_which_the_config_file_was_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(await world.open("full"), many(30))
    await put(await world.open("quiet"), memory("m"))
    await world.registry.close_all()
    monkeypatch.setattr(registry, "SWEEP_TIMER_SECONDS", 0.01)
    world.config = {"forgetThresholdCount": 20}
    await world.start()
    await eventually(lambda: world.registry.names()[0].cold == 12, "the timer has swept")
    assert [one.open for one in world.registry.names()] == [True, False]


@pytest.mark.gate("AUTO-05")
async def test_the_timer_opens_no_namespace_that_it_may_not_sweep(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = await world.open("off", forgetEnabled=False, forgetThresholdCount=20)
    undone = await world.open("undone", forgetThresholdCount=20)
    for namespace in (off, undone):
        await fill(namespace, many(30))
    await settle(undone)
    (run,) = (await undone.runs(limit=5, cursor=None)).runs
    await undone.undo(run_id=run.run_id)
    waiting = await world.open("z-waiting")
    await fill(waiting, many(30))
    await waiting.set_thresholds({"forgetThresholdTotal": 20})
    await world.registry.close_all()
    monkeypatch.setattr(registry, "SWEEP_TIMER_SECONDS", 0.01)
    await world.start(NOW + 2 * HOUR)
    await eventually(lambda: world.registry.names()[-1].open, "the last of them is opened")
    assert [one.namespace for one in world.registry.names() if one.open] == ["z-waiting"]


@pytest.mark.gate("AUTO-06")
async def test_while_forgetting_is_off_nothing_moves_whatever_is_crossed(world: World) -> None:
    memories = many(150, metadata={"filler": "x" * 500})
    off = await world.open(
        "off",
        forgetEnabled=False,
        forgetThresholdCount=10,
        forgetThresholdTotal=20,
        forgetThresholdDiskGB=0.000_01,
    )
    free = await world.open("free")
    for namespace in (off, free):
        await fill(namespace, memories)
        await namespace.touch(ids=["m00003", "m00004"])
        await settle(namespace)
    assert (await off.thresholds_report()).crossed == ["count", "total", "disk"]
    assert counted(off) == (150, 0, 0)
    assert event_kinds(off, "forgetting.") == []
    assert set(event_kinds(off, "memory.")) == {"memory.created", "memory.touched"}
    assert await runs_of(off) == []
    assert state_hash(off) == state_hash(free)


@pytest.mark.gate("AUTO-07")
async def test_a_sweep_that_cannot_reach_its_watermark_backs_off_and_says_so(
    world: World,
) -> None:
    namespace = await world.open(forgetThresholdTotal=20)
    strong = [memory(f"s{number}", days=10, importance=0.9) for number in range(21)]
    await fill(namespace, strong)
    waited = BACKOFF_FIRST_MS
    for times in range(1, 5):
        await settle(namespace)
        assert event_kinds(namespace, "forgetting.") == ["forgetting.pressure"] * times
        await put(namespace, memory(f"more{times}", days=10, importance=0.9))
        world.pass_time(waited - 1)
        await settle(namespace)
        assert event_kinds(namespace, "forgetting.") == ["forgetting.pressure"] * times
        world.pass_time(1)
        waited = min(BACKOFF_MAX_MS, 2 * waited)
    status = await namespace.status()
    assert any("nothing more is weak enough" in alarm for alarm in status.alarms)
    assert counted(namespace)[2] == 0


@pytest.mark.gate("AUTO-07")
async def test_a_sweep_in_spite_of_backoff_starts_when_the_settings_change(world: World) -> None:
    namespace = await world.open(forgetThresholdTotal=20)
    await fill(namespace, [memory(f"s{n}", days=10, importance=0.9) for n in range(21)])
    await settle(namespace)
    assert (await namespace.status()).alarms
    await namespace.set_thresholds({"weakStrength": 1.0})
    await settle(namespace)
    assert counted(namespace) == (18, 0, 3)
    assert (await namespace.status()).alarms == []


@pytest.mark.gate("AUTO-07")
async def test_pinned_memories_over_the_hot_threshold_cause_no_circle(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=20)
    await fill(namespace, [*many(25, pinned=True), *many(3, "free")])
    await settle(namespace)
    assert counted(namespace) == (25, 3, 0)
    assert len(await runs_of(namespace)) == 1
    await put(namespace, memory("pinned-too", pinned=True))
    await settle(namespace)
    assert len(await runs_of(namespace)) == 1


@pytest.mark.gate("AUTO-41")
async def test_pinned_memories_over_the_hot_threshold_hold_no_forgetting_back(
    world: World,
) -> None:
    namespace = await world.open(forgetThresholdCount=20, forgetThresholdTotal=50)
    await fill(namespace, [*many(25, "pinned", pinned=True), *many(35, "free")])
    await settle(namespace)
    assert counted(namespace) == (25, 20, 15)
    assert "forgetting.pressure" not in event_kinds(namespace)
    assert (await namespace.status()).alarms == []
    (run,) = (await namespace.runs(limit=5, cursor=None)).runs
    report = (await namespace.run(run_id=run.run_id)).report
    assert report is not None
    assert report["shortfall"] == {"memories": 7, "bytes": 0}, "of stage 1, and told"
    await fill(namespace, many(6, "more"))
    await settle(namespace)
    assert sum(counted(namespace)[:2]) == 45
    assert "forgetting.pressure" not in event_kinds(namespace)


@pytest.mark.gate("AUTO-41")
async def test_pressure_tells_what_forgetting_lacks_and_not_what_spilling_does(
    world: World,
) -> None:
    namespace = await world.open(forgetThresholdCount=20, forgetThresholdTotal=50)
    strong = [memory(f"s{number}", days=10, importance=0.9) for number in range(15)]
    await fill(namespace, [*many(40, pinned=True), *strong])
    await settle(namespace)
    assert counted(namespace) == (40, 15, 0)
    told = query(namespace, "SELECT payload FROM events WHERE kind = 'forgetting.pressure'")
    assert [json.loads(payload)["memories"] for (payload,) in told] == [10]


@pytest.mark.gate("AUTO-08")
async def test_a_sweep_that_fails_is_tried_again_later_and_alarms(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(forgetThresholdCount=20)
    tried: list[SweepRequest] = []

    def fail(request: SweepRequest) -> SweepOutcome:
        tried.append(request)
        raise OSError("a disk like no other")

    with monkeypatch.context() as patch:
        patch.setattr(namespace.sweeper, "run", fail)
        await fill(namespace, many(21))
        await settle(namespace)
        await put(namespace, memory("more"))
        await settle(namespace)
        assert len(tried) == 1
        assert any("failed" in alarm for alarm in (await namespace.status()).alarms)
    world.pass_time(BACKOFF_FIRST_MS)
    await settle(namespace)
    assert counted(namespace) == (18, 4, 0)
    assert (await namespace.status()).alarms == []


@pytest.mark.gate("AUTO-09")
async def test_closing_stops_an_automatic_sweep_and_the_next_start_finishes_it(
    world: World,
) -> None:
    namespace = await world.open(forgetThresholdCount=1_000)
    await stop_automatic_runs(namespace)
    await fill(namespace, many(3_000))
    await namespace.resume()
    await eventually(lambda: namespace.runner.running is not None, "the sweep runs")
    await world.registry.close_all()
    await world.start()
    again = await world.registry.open("default", False)
    await settle(again)
    assert counted(again) == (900, 2_100, 0)
    assert query(again, "SELECT count(*) FROM runs WHERE state = 'running'") == [(0,)]
    shown = await get(again, "m00000")
    assert shown is not None
    assert shown.tier == "cold"
    state_hash(again)


@pytest.mark.gate("AUTO-09")
async def test_a_called_sweep_that_is_stopped_says_so_and_goes_on_at_the_next_start(
    world: World,
) -> None:
    namespace = await world.open(forgetThresholdCount=1_000)
    await stop_automatic_runs(namespace)
    await fill(namespace, many(3_000))
    call = asyncio.create_task(sweep(namespace))
    await eventually(lambda: namespace.runner.running is not None, "the sweep runs")
    await world.registry.close_all()
    with pytest.raises(ShuttingDown) as refused:
        await call
    assert refused.value.retryable
    await world.start()
    again = await world.registry.open("default", False)
    assert counted(again) == (900, 2_100, 0)
    assert query(again, "SELECT state, moved FROM runs") == [("finished", 2_100)]


@pytest.mark.gate("AUTO-10")
async def test_a_memory_is_never_pushed_out_by_its_own_arrival(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=20, forgetThresholdTotal=40)
    for number in range(60):
        new = memory(f"n{number:02}", days=0, importance=0.0)
        await put(namespace, new, memory(f"old{number:02}", importance=0.2))
    await settle(namespace)
    gone = ids_in(namespace, "forgotten")
    assert gone
    assert not [one for one in gone if one.startswith("n")]
    world.pass_time(2 * DAY)
    await settle(namespace)
    assert not [one for one in ids_in(namespace, "forgotten") if one.startswith("n")]
