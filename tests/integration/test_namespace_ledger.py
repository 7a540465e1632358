"""The ledger of runs, the queue of runs, and what a report must add up to."""

import asyncio
import base64
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.errors import InvalidParams, PlanUnknown, RunQueueFull, RunUnknown
from sidecar.idempotency import Key
from sidecar.limits import RUN_QUEUE_MAX
from sidecar.namespace import Namespace
from sidecar.reports import Decision, SweepReport
from sidecar.sweeping import SweepOutcome, SweepRequest
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    counted,
    decided,
    eventually,
    fill,
    many,
    memory,
    put,
    restore,
    settle,
    sweep,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def pages(namespace: Namespace, limit: int, **which: Any) -> list[Decision]:
    """Every decision of a run or a plan, page by page."""
    call: dict[str, Any] = {"run_id": None, "plan_id": None} | which
    found: list[Decision] = []
    cursor: str | None = None
    while True:
        page = await namespace.decisions(**call, cursor=cursor, limit=limit)
        found += page.decisions
        cursor = page.cursor
        if cursor is None:
            assert page.total == len(found)
            return found
        assert len(page.decisions) == limit


@pytest.mark.gate("RUN-20")
async def test_runs_are_listed_newest_first_over_pages(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *many(12))
    made: list[str] = []
    for number in range(7):
        report = await namespace.forget(ids=[f"m{number:05}"], reason="asked")
        made.append(str(report.run_id))
        world.pass_time(1)
    seen: list[str] = []
    cursor: str | None = None
    while cursor or not seen:
        page = await namespace.runs(limit=3, cursor=cursor)
        seen += [run.run_id for run in page.runs]
        cursor = page.cursor
    assert seen == made[::-1]
    await world.restart()
    namespace = await world.registry.open("default", False)
    assert [run.run_id for run in (await namespace.runs(limit=20, cursor=None)).runs] == seen
    huge = base64.urlsafe_b64encode(json.dumps([10**30, "run-1"]).encode()).decode()
    for bad in ("x", "bm9wZQ==", "WzEsMl0=", "é", huge):
        with pytest.raises(InvalidParams) as refused:
            await namespace.runs(limit=3, cursor=bad)
        assert refused.value.data["field"] == "$.cursor"


@pytest.mark.gate("RUN-20")
async def test_runs_of_one_instant_are_all_listed(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *many(5))
    made = {
        (await namespace.forget(ids=[f"m{number:05}"], reason="asked")).run_id
        for number in range(5)
    }
    first = await namespace.runs(limit=2, cursor=None)
    second = await namespace.runs(limit=2, cursor=first.cursor)
    third = await namespace.runs(limit=2, cursor=second.cursor)
    assert third.cursor is None
    assert {run.run_id for page in (first, second, third) for run in page.runs} == made


@pytest.mark.gate("RUN-20")
async def test_a_run_keeps_its_report_and_every_decision(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdCount=50, forgetThresholdTotal=110)
    await fill(namespace, many(120))
    plan = await sweep(namespace, dry_run=True, decisions_limit=10)
    assert (len(plan.decisions), plan.decisions_truncated) == (10, True)
    planned = await pages(namespace, 7, plan_id=plan.plan_id)
    assert planned[:10] == plan.decisions
    report = await sweep(namespace, plan_id=plan.plan_id, decisions_limit=10)
    carried_out = await pages(namespace, 25, run_id=report.run_id)
    assert [one.outcome for one in carried_out] == ["moved"] * 75
    assert [msgspec.structs.replace(one, outcome=None) for one in carried_out] == planned
    detail = await namespace.run(run_id=str(report.run_id))
    assert (detail.run.kind, detail.run.state, detail.run.trigger) == ("sweep", "finished", "call")
    assert (detail.run.decisions, detail.run.moved, detail.run.skipped) == (75, 75, 0)
    assert detail.report == msgspec.json.decode(msgspec.json.encode(report))
    restored = await restore(namespace, run_id=str(report.run_id))
    detail = await namespace.run(run_id=str(restored.run_id))
    assert detail.report is not None
    assert detail.report["counts"] == {"restored": 75}


@pytest.mark.gate("RUN-20")
async def test_what_nobody_ran_is_unknown(world: World) -> None:
    namespace = await world.open()
    with pytest.raises(RunUnknown):
        await namespace.run(run_id="run-nobody")
    with pytest.raises(RunUnknown):
        await namespace.decisions(run_id="run-nobody", plan_id=None, cursor=None, limit=5)
    with pytest.raises(PlanUnknown):
        await namespace.decisions(run_id=None, plan_id="plan-nobody", cursor=None, limit=5)
    for bad in ("x", "LTE=", "InRleHQi", "bnVsbA=="):
        with pytest.raises(InvalidParams):
            await namespace.decisions(run_id="run-nobody", plan_id=None, cursor=bad, limit=5)


def check_sums(report: SweepReport, total: int) -> None:
    """Everything in a report that is derived is derived from its decisions."""
    actions = [one.action for one in report.decisions]
    done = [one for one in report.decisions if one.outcome in (None, "moved")]
    assert report.counts["spill"] == sum(one.action == "spill" for one in done)
    assert report.counts["forget"] == sum(one.action == "forget" for one in done)
    assert len({one.id for one in report.decisions}) == len(report.decisions) == len(actions)
    assert report.kept == total - len(done)
    for stage in report.stages:
        name = {1: "spill", 2: "forget"}[stage.stage]
        assert stage.selected == actions.count(name)
    for counts in (report.before, report.after):
        assert counts.total == counts.hot + counts.cold
    assert report.after.forgotten - report.before.forgotten == report.counts["forget"]
    assert report.before.total - report.after.total == report.counts["forget"]


@pytest.mark.gate("RUN-21")
@pytest.mark.parametrize("mode", ["normal", "strict"])
@pytest.mark.parametrize("policy", ["balanced", "classic"])
async def test_the_numbers_of_a_report_come_from_its_decisions(
    world: World, mode: str, policy: str
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdCount=50, forgetThresholdTotal=100)
    await fill(
        namespace, [*many(100), *(memory(f"s{n}", days=3, importance=1.0) for n in range(30))]
    )
    await namespace.pin(id="m00000", pinned=True)
    await namespace.hold(id="m00001", until=NOW + DAY)
    plan = await sweep(namespace, dry_run=True, mode=mode, policy=policy)
    assert (plan.policy, plan.mode) == (policy, mode)
    check_sums(plan, 130)
    assert plan.protected["pinned"] == 1
    await namespace.touch(ids=decided(plan)[:3])
    report = await sweep(namespace, plan_id=plan.plan_id)
    check_sums(report, 130)
    assert report.skipped_count == 3
    assert (report.after.hot, report.after.cold, report.after.forgotten) == counted(namespace)
    for one in report.decisions:
        assert one.parts is not None
        assert one.score is not None
        assert one.strength is not None


@pytest.mark.gate("RUN-22")
async def test_strict_goes_on_up_the_score_and_normal_does_not(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    strong = [memory(f"s{n:02}", days=20, importance=0.5 + n / 100) for n in range(20)]
    await put(namespace, *strong, memory("weak"))
    plan = await sweep(namespace, dry_run=True)
    assert decided(plan) == ["weak"]
    assert plan.shortfall is not None
    assert plan.shortfall.memories == 11
    strict = await sweep(namespace, mode="strict")
    assert decided(strict) == ["weak", *(f"s{n:02}" for n in range(11))]
    assert strict.shortfall is None


@pytest.mark.gate("RUN-22")
async def test_with_forget_active_off_only_what_is_set_aside_goes(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=4, forgetActive=False)
    await put(
        namespace,
        *many(6),
        memory("over", expires_at=NOW - DAY),
        memory("older"),
        memory("newer", days=3, importance=1.0, supersedes="older"),
    )
    for mode in ("normal", "strict"):
        plan = await sweep(namespace, dry_run=True, mode=mode)
        assert decided(plan) == ["older", "over"]
    report = await sweep(namespace)
    assert report.shortfall is not None
    assert [one.reason for one in report.decisions] == ["superseded", "expired"]


class Gate:
    """Holds runs back until it is opened, and counts them."""

    def __init__(self, namespace: Namespace, patch: pytest.MonkeyPatch) -> None:
        self.entered = 0
        self.open = threading.Event()
        run = namespace.sweeper.run

        def held(request: SweepRequest, key: Key | None) -> SweepOutcome:
            self.entered += 1
            assert self.open.wait(30)
            return run(request, key)

        patch.setattr(namespace.sweeper, "run", held)


@pytest.mark.gate("RUN-23")
async def test_an_identical_call_joins_others_queue_and_dry_runs_do_neither(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdCount=10)
    await put(namespace, *many(20))
    gate = Gate(namespace, monkeypatch)
    first = asyncio.create_task(sweep(namespace))
    await eventually(lambda: gate.entered == 1, "the first sweep runs")
    twin = asyncio.create_task(sweep(namespace))
    strict = asyncio.create_task(sweep(namespace, mode="strict"))
    dry = await sweep(namespace, dry_run=True)
    assert dry.counts["spill"] == 11
    assert gate.entered == 1
    gate.open.set()
    one, same, other = await asyncio.gather(first, twin, strict)
    assert one is same
    assert (one.counts["spill"], other.run_id) == (11, None)
    assert gate.entered == 2
    assert len((await namespace.runs(limit=10, cursor=None)).runs) == 1


@pytest.mark.gate("RUN-23")
async def test_a_caller_that_gives_up_stops_no_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdCount=10)
    await put(namespace, *many(20))
    gate = Gate(namespace, monkeypatch)
    call = asyncio.create_task(sweep(namespace))
    await eventually(lambda: gate.entered == 1, "the sweep runs")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    gate.open.set()
    await settle(namespace)
    assert counted(namespace) == (9, 11, 0)


@pytest.mark.gate("RUN-23")
async def test_too_many_waiting_runs_are_refused_and_the_others_are_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdCount=10)
    await put(namespace, *many(20))
    gate = Gate(namespace, monkeypatch)
    waiting = [
        asyncio.create_task(sweep(namespace, decisions_limit=number))
        for number in range(RUN_QUEUE_MAX)
    ]
    await eventually(lambda: gate.entered == 1, "the first sweep runs")
    with pytest.raises(RunQueueFull) as refused:
        await sweep(namespace, decisions_limit=999)
    assert refused.value.retryable
    gate.open.set()
    reports = await asyncio.gather(*waiting)
    assert sum(report.counts["spill"] for report in reports) == 11
    assert not namespace.slots.busy
