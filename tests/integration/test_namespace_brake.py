"""The brake: what all runs of a day together may forget."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.apply import moves
from sidecar.apply.moves import RunStopped
from sidecar.limits import BRAKE_MEMORIES_MIN, BRAKE_STORE_MEMORIES_MIN
from sidecar.model import MemoryInput
from tests.collecting import destroy
from tests.namespaces import (
    DAY,
    HOUR,
    NOW,
    World,
    a_world,
    counted,
    decided,
    event_kinds,
    fill,
    ids_in,
    many,
    memory,
    put,
    restore,
    settle,
    sweep,
    tiers,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


@pytest.mark.gate("RUN-10")
async def test_ten_runs_in_a_day_forget_no_more_than_one_may(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, many(200))
    for number in range(10):
        report = await sweep(namespace, mode="strict" if number % 2 else "normal")
        assert report.brake is not None
        assert report.brake.engaged
        assert report.counts["forget"] == (0 if number else 40)
        assert counted(namespace)[2] == 40
        world.pass_time(2 * HOUR)
    world.pass_time(4 * HOUR - 1)
    assert (await sweep(namespace)).counts["forget"] == 0
    world.pass_time(1)
    report = await sweep(namespace)
    assert report.counts["forget"] == 32, "a fifth of what is there a day later"


@pytest.mark.gate("RUN-10")
async def test_called_and_automatic_runs_share_one_brake(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, many(200))
    assert (await sweep(namespace, brake_share=0.1)).counts["forget"] == 20
    await namespace.resume()
    for _ in range(5):
        await settle(namespace)
        await put(namespace, memory(f"more-{world.clock.now_ms()}"))
        world.pass_time(HOUR)
        await sweep(namespace)
    await settle(namespace)
    # A fifth of all: those of the beginning, and the five that came in between.
    assert counted(namespace)[2] == 41
    assert set(ids_in(namespace, "forgotten")) == {f"m{n:05}" for n in range(41)}


@pytest.mark.gate("RUN-10")
async def test_a_brake_stops_automatic_forgetting_until_its_day_is_over(world: World) -> None:
    namespace = await world.open(forgetThresholdTotal=10)
    await fill(namespace, many(200))
    await settle(namespace)
    assert counted(namespace)[2] == 40
    assert event_kinds(namespace, "forgetting.") == [
        "forgetting.sweep_completed",
        "forgetting.braked",
        "forgetting.paused",
    ]
    report = await namespace.thresholds_report()
    assert [(one.reason, one.until) for one in report.paused] == [("braked", NOW + DAY)]
    world.pass_time(DAY - 1)
    await put(namespace, memory("more"))
    await settle(namespace)
    assert counted(namespace)[2] == 40
    world.pass_time(1)
    await settle(namespace)
    assert counted(namespace)[2] == 72
    assert (await namespace.thresholds_report()).paused[0].until == NOW + 2 * DAY


@pytest.mark.gate("RUN-10")
async def test_resuming_tries_again_at_once_and_the_brake_still_holds(world: World) -> None:
    namespace = await world.open(forgetThresholdTotal=10)
    await fill(namespace, many(200))
    await settle(namespace)
    for _ in range(3):
        await namespace.resume()
        await settle(namespace)
    assert counted(namespace)[2] == 40


@pytest.mark.gate("RUN-14")
async def test_what_was_destroyed_counts_for_the_rest_of_its_day(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, many(200))
    first = await sweep(namespace)
    assert first.counts["forget"] == 40
    await destroy(namespace, *decided(first)[:30])
    assert counted(namespace) == (160, 0, 10)
    second = await sweep(namespace)
    assert second.brake is not None
    assert (second.brake.forgotten_in_window, second.brake.allowed) == (40, 0)
    assert second.counts["forget"] == 0
    world.pass_time(DAY)
    assert (await sweep(namespace)).counts["forget"] == 32


@pytest.mark.gate("RUN-14")
@pytest.mark.parametrize("way", ["restored", "undone", "written"])
async def test_what_is_back_counts_no_more(world: World, way: str) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, many(200))
    first = await sweep(namespace)
    if way == "undone":
        await namespace.undo(run_id=str(first.run_id))
    elif way == "restored":
        await restore(namespace, *decided(first)[:10])
    else:
        again = [memory(one, days=1) for one in decided(first)[:10]]
        await namespace.put_many(memories=again, if_exists="replace", partial=False)
    second = await sweep(namespace)
    counted_on = 0 if way == "undone" else 30
    assert second.brake is not None
    assert second.brake.forgotten_in_window == counted_on
    assert second.counts["forget"] == 40 - counted_on


@pytest.mark.gate("RUN-14")
async def test_what_the_host_forgets_does_not_end_the_pause_of_the_brake_sooner(
    world: World,
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, many(200))
    await namespace.forget(ids=[f"m{n:05}" for n in range(100, 150)], reason="asked")
    world.pass_time(2 * HOUR)
    await namespace.resume()
    await settle(namespace)
    assert counted(namespace)[2] == 50 + 30
    (pause,) = (await namespace.thresholds_report()).paused
    assert (pause.reason, pause.until) == ("braked", NOW + 2 * HOUR + DAY)


@pytest.mark.gate("RUN-14")
@pytest.mark.parametrize("days", [0, 3])
async def test_a_run_that_was_cut_short_counts_whole_for_a_day_from_its_end(
    world: World, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, many(2_000))
    record = moves.Mover._record

    def stopping(self: Any, *arguments: Any) -> None:
        record(self, *arguments)
        namespace.runner.stopping.set()

    with monkeypatch.context() as patch:
        patch.setattr(moves.Mover, "_record", stopping)
        with pytest.raises(RunStopped):
            await sweep(namespace)
    assert 0 < counted(namespace)[2] < 400
    await world.registry.close_all()
    await world.start(NOW + days * DAY)
    namespace = await world.registry.open("default", False)
    assert counted(namespace)[2] == 400
    report = await sweep(namespace)
    assert report.brake is not None
    assert (report.brake.forgotten_in_window, report.counts["forget"]) == (400, 0)
    world.pass_time(DAY)
    assert (await sweep(namespace)).counts["forget"] == 320


@pytest.mark.gate("RUN-11")
async def test_a_call_may_name_its_own_share_and_a_plan_keeps_the_one_it_was_made_with(
    world: World,
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10, brakeShare=0.1)
    await fill(namespace, many(200))
    wide = await sweep(namespace, dry_run=True, brake_share=0.5)
    assert wide.brake is not None
    assert (wide.brake.share, wide.brake.allowed, wide.counts["forget"]) == (0.5, 100, 100)
    assert (await sweep(namespace)).counts["forget"] == 20
    report = await sweep(namespace, plan_id=wide.plan_id)
    assert counted(namespace)[2] == 100
    assert report.counts["forget"] == 80
    assert {one.why for one in report.skipped} == {"changed"}


@pytest.mark.gate("RUN-11")
async def test_applying_an_old_plan_cannot_pass_the_brake(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, many(200))
    plan = await sweep(namespace, dry_run=True)
    assert plan.counts["forget"] == 40
    # Other memories are made weaker than those planned, and go first.
    for number in range(150, 180):
        patch = MemoryInput(importance=0.0, created_at=NOW - 600 * DAY)
        await namespace.update(id=f"m{number:05}", patch=patch, if_revision=None)
    meanwhile = await sweep(namespace)
    assert len(set(decided(meanwhile)) - set(decided(plan))) == 30
    applied = await sweep(namespace, plan_id=plan.plan_id)
    assert counted(namespace)[2] == 40
    assert applied.counts["forget"] == 0
    assert {one.why for one in applied.skipped} == {"braked", "changed"}


@pytest.mark.gate("RUN-11")
async def test_one_plan_of_many_transactions_stops_at_the_brake(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, many(2_000))
    plan = await sweep(namespace, dry_run=True, brake_share=0.5)
    weaker = [memory(f"m{n:05}", days=900, importance=0.0) for n in range(1_400, 2_000)]
    await namespace.put_many(memories=weaker, if_exists="replace", partial=False)
    meanwhile = await sweep(namespace, brake_share=0.3)
    assert not set(decided(meanwhile)) & set(decided(plan))
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert (report.counts["forget"], report.skipped_count) == (400, 600)
    assert {one.why for one in report.skipped} == {"braked"}
    assert counted(namespace)[2] == 1_000


@pytest.mark.gate("RUN-12")
async def test_the_brake_lets_ten_go_and_is_off_in_a_small_store(world: World) -> None:
    small = await world.open("small", automatic=False, forgetThresholdTotal=5)
    await fill(small, many(BRAKE_STORE_MEMORIES_MIN - 1))
    report = await sweep(small)
    assert report.brake is not None
    assert report.brake.allowed is None
    assert counted(small) == (4, 0, 95)

    tight = await world.open("tight", automatic=False, forgetThresholdTotal=5, brakeShare=0.001)
    await fill(tight, many(BRAKE_STORE_MEMORIES_MIN))
    for _ in range(5):
        await sweep(tight)
    assert counted(tight)[2] == BRAKE_MEMORIES_MIN


@pytest.mark.gate("RUN-12")
async def test_what_the_host_forgets_itself_is_no_part_of_the_brake(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await fill(namespace, many(200))
    await namespace.forget(ids=[f"m{n:05}" for n in range(100, 150)], reason="asked")
    report = await sweep(namespace)
    assert report.counts["forget"] == 30, "a fifth of the 150 that are left"


@pytest.mark.gate("RUN-13")
async def test_fifteen_thousand_new_memories_spill_at_once_and_none_is_forgotten(
    world: World, seed: int
) -> None:
    print(f"seed {seed}")
    namespace = await world.open(forgetThresholdTotal=12_000)
    new = [
        memory(f"n{number:05}", days=0, importance=(number * 7 + seed) % 100 / 100)
        for number in range(15_000)
    ]
    await fill(namespace, new)
    await settle(namespace)
    hot, cold, forgotten = counted(namespace)
    assert (hot + cold, forgotten) == (15_000, 0)
    assert hot <= 10_000
    assert "forgetting.pressure" in event_kinds(namespace)
    assert set(tiers(namespace).values()) == {"hot", "cold"}
