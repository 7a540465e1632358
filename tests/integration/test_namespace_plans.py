"""Plans: the preview is the truth, a plan is used once, and what changed since is left alone."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar import namespace_reads
from sidecar.errors import (
    ForgettingDisabled,
    InvalidParams,
    PlanExpired,
    PlanNotApplicable,
    PlanUnknown,
    PlanUsed,
    PolicyUnknown,
)
from sidecar.limits import PLAN_LIFETIME_MS, PLANS_KEPT_MAX
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.plan import policies
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    counted,
    decided,
    event_kinds,
    files_below,
    fill,
    ids_in,
    many,
    memory,
    payloads,
    put,
    recall,
    restore,
    settle,
    sweep,
    tiers,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def crowded(world: World, **thresholds: Any) -> Namespace:
    """120 weak memories over both thresholds: 75 would be spilled or forgotten."""
    chosen: dict[str, Any] = {"forgetThresholdCount": 50, "forgetThresholdTotal": 110}
    namespace = await world.open(automatic=False, **(chosen | thresholds))
    await fill(namespace, many(120))
    return namespace


@pytest.mark.gate("RUN-01")
@pytest.mark.parametrize("policy", [None, "classic"])
async def test_applying_a_plan_moves_exactly_the_listed_ids(
    world: World, policy: str | None
) -> None:
    namespace = await crowded(world)
    plan = await sweep(namespace, dry_run=True, policy=policy)
    assert (plan.run_id, plan.dry_run) == (None, True)
    assert plan.counts == {"spill": 54, "forget": 21, "skipped": 0}
    before = tiers(namespace)
    world.pass_time(5 * 60_000)
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert not report.dry_run
    assert report.run_id is not None
    assert decided(report) == decided(plan)
    assert report.skipped == []
    target = {"spill": "cold", "forget": "forgotten"}
    moved = {one.id: target[one.action] for one in plan.decisions}
    assert tiers(namespace) == before | moved
    assert (report.counts, report.kept) == (plan.counts, plan.kept)
    for name in ("hot", "cold", "forgotten", "total"):
        assert getattr(report.after, name) == getattr(plan.after, name), name
    assert [one.outcome for one in report.decisions] == ["moved"] * 75
    assert [one.outcome for one in plan.decisions] == [None] * 75


@pytest.mark.gate("RUN-01")
async def test_a_plan_that_is_shown_again_is_the_same(world: World) -> None:
    namespace = await crowded(world)
    plan = await sweep(namespace, dry_run=True)
    await put(namespace, memory("new"))
    again = await sweep(namespace, dry_run=True, plan_id=plan.plan_id)
    assert (again.plan_id, again.decisions) == (plan.plan_id, plan.decisions)
    assert (again.counts, again.kept, again.now) == (plan.counts, plan.kept, plan.now)
    assert (again.before.hot, again.after.hot) == (plan.before.hot, plan.after.hot)


Change = Callable[[Namespace, str], Awaitable[object]]
CHANGES: dict[str, Change] = {
    "touched": lambda namespace, one: namespace.touch(ids=[one]),
    "pinned": lambda namespace, one: namespace.pin(id=one, pinned=True),
    "held": lambda namespace, one: namespace.hold(id=one, until=NOW + DAY),
    "updated": lambda namespace, one: namespace.update(
        id=one, patch=MemoryInput(content="changed"), if_revision=None
    ),
    "replaced": lambda namespace, one: namespace.put(
        memory=memory(one, content="replaced"), if_exists="replace"
    ),
    "superseded": lambda namespace, one: namespace.supersede(id=one, by="m00119"),
    "forgotten": lambda namespace, one: namespace.forget(ids=[one], reason="asked"),
}


@pytest.mark.gate("RUN-02")
async def test_what_changed_since_the_plan_is_skipped_by_name(world: World) -> None:
    namespace = await crowded(world)
    plan = await sweep(namespace, dry_run=True)
    listed = decided(plan)
    changed = dict(zip(listed[::7], CHANGES, strict=False))
    assert len(changed) == len(CHANGES)
    for one, name in changed.items():
        await CHANGES[name](namespace, one)
    before = tiers(namespace)
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert {one.id: one.why for one in report.skipped} == dict.fromkeys(changed, "changed")
    assert report.skipped_count == report.counts["skipped"] == len(changed)
    assert sum(report.counts[name] for name in ("spill", "forget")) == 75 - len(changed)
    after = tiers(namespace)
    assert {one for one in after if after[one] != before[one]} == set(listed) - set(changed)


@pytest.mark.gate("RUN-02")
async def test_a_memory_restored_since_the_plan_is_skipped(world: World) -> None:
    namespace = await crowded(world)
    await namespace.cold_spill(dry_run=False, target=0)
    plan = await sweep(namespace, dry_run=True)
    first = decided(plan)[0]
    await namespace.forget(ids=[first], reason="asked")
    await restore(namespace, first)
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert [(one.id, one.why) for one in report.skipped] == [(first, "changed")]
    assert tiers(namespace)[first] == "hot"


@pytest.mark.gate("RUN-02")
async def test_recalls_before_a_plan_count_in_it_and_recalls_after_it_stop_it(
    world: World,
) -> None:
    namespace = await crowded(world)
    planned = decided(await sweep(namespace, dry_run=True))
    early, late = planned[-1], planned[-2]
    found = await recall(namespace, f"what {early} says", top_k=1, touch="top")
    assert [one.memory.id for one in found.results] == [early]
    assert namespace.touches.pending

    plan = await sweep(namespace, dry_run=True)
    assert early not in decided(plan, "forget")
    await recall(namespace, f"what {late} says", top_k=1, touch="top")
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert [(one.id, one.why) for one in report.skipped] == [(late, "changed")]
    assert not namespace.touches.pending


@pytest.mark.gate("RUN-03")
async def test_a_plan_is_used_once(world: World) -> None:
    namespace = await crowded(world)
    plan = await sweep(namespace, dry_run=True)
    await sweep(namespace, plan_id=plan.plan_id)
    with pytest.raises(PlanUsed) as refused:
        await sweep(namespace, plan_id=plan.plan_id)
    assert refused.value.data["field"] == "$.planId"
    assert "remedy" in refused.value.data


@pytest.mark.gate("RUN-03")
async def test_a_plan_lives_for_a_quarter_of_an_hour(world: World) -> None:
    namespace = await crowded(world)
    last, late = [await sweep(namespace, dry_run=True) for _ in range(2)]
    world.pass_time(PLAN_LIFETIME_MS)
    assert (await sweep(namespace, plan_id=last.plan_id)).run_id
    world.pass_time(1)
    for dry_run in (False, True):
        with pytest.raises(PlanExpired):
            await sweep(namespace, plan_id=late.plan_id, dry_run=dry_run)
    with pytest.raises(PlanExpired):
        await namespace.decisions(run_id=None, plan_id=late.plan_id, cursor=None, limit=10)


@pytest.mark.gate("RUN-03")
async def test_plans_end_with_the_daemon_and_only_the_last_few_are_kept(world: World) -> None:
    namespace = await crowded(world)
    plans = [await sweep(namespace, dry_run=True) for _ in range(PLANS_KEPT_MAX + 1)]
    with pytest.raises(PlanUnknown):
        await sweep(namespace, plan_id=plans[0].plan_id)
    with pytest.raises(PlanUnknown):
        await sweep(namespace, plan_id="plan-nobody")
    await sweep(namespace, dry_run=True, plan_id=plans[1].plan_id)
    await world.restart()
    namespace = await world.registry.open("default", False)
    with pytest.raises(PlanUnknown):
        await sweep(namespace, plan_id=plans[-1].plan_id)
    assert counted(namespace) == (120, 0, 0)


@pytest.mark.gate("RUN-03")
async def test_a_plan_of_another_time_or_another_policy_can_only_be_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await crowded(world)
    foreseen = await sweep(namespace, dry_run=True, now=NOW + 90 * DAY)
    assert foreseen.now == NOW + 90 * DAY
    with pytest.raises(PlanNotApplicable):
        await sweep(namespace, plan_id=foreseen.plan_id)
    assert (await sweep(namespace, dry_run=True, plan_id=foreseen.plan_id)).decisions

    plan = await sweep(namespace, dry_run=True)
    monkeypatch.setattr(policies, "FORMULA_VERSION", "2")
    with pytest.raises(PlanNotApplicable) as refused:
        await sweep(namespace, plan_id=plan.plan_id)
    assert "policy" in refused.value.message.lower()
    assert counted(namespace) == (120, 0, 0)


@pytest.mark.gate("RUN-04")
async def test_a_dry_run_leaves_every_file_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespace_reads, "TOUCH_FLUSH_SECONDS", 60.0)
    namespace = await crowded(world)
    await sweep(namespace)
    await namespace.set_thresholds({"forgetThresholdCount": 20})
    await settle(namespace)
    await recall(namespace, "what m00099 says", touch="all")
    await settle(namespace)
    assert namespace.touches.pending
    before = files_below(world.state_dir)
    for given in ({}, {"mode": "strict"}, {"policy": "classic"}, {"now": NOW + 50 * DAY}):
        report = await sweep(namespace, dry_run=True, **given)
        await sweep(namespace, dry_run=True, plan_id=report.plan_id)
        await namespace.decisions(run_id=None, plan_id=report.plan_id, cursor=None, limit=10)
    await namespace.cold_spill(dry_run=True, target=1)
    assert namespace.touches.pending
    assert files_below(world.state_dir) == before


@pytest.mark.gate("RUN-05")
@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("$.mode", {"mode": "strict"}),
        ("$.policy", {"policy": "balanced"}),
        ("$.brakeShare", {"brake_share": 0.5}),
        ("$.now", {"now": NOW}),
    ],
)
async def test_what_contradicts_a_plan_is_refused(
    world: World, field: str, given: dict[str, Any]
) -> None:
    namespace = await crowded(world)
    plan = await sweep(namespace, dry_run=True)
    for dry_run in (True, False):
        with pytest.raises(InvalidParams) as refused:
            await sweep(namespace, plan_id=plan.plan_id, dry_run=dry_run, **given)
        assert refused.value.data["field"] == field
        assert {"bound", "remedy"} <= set(refused.value.data)
    assert (await sweep(namespace, plan_id=plan.plan_id)).run_id, "the plan is still unused"


@pytest.mark.gate("RUN-05")
async def test_a_time_of_ones_own_is_for_dry_runs(world: World) -> None:
    namespace = await crowded(world)
    with pytest.raises(InvalidParams) as refused:
        await sweep(namespace, now=NOW)
    assert refused.value.data["field"] == "$.now"
    with pytest.raises(PolicyUnknown):
        await sweep(namespace, policy="nobody's")
    assert counted(namespace) == (120, 0, 0)


@pytest.mark.gate("RUN-06")
@pytest.mark.parametrize("mode", ["normal", "strict"])
async def test_of_ten_sweeps_at_one_time_only_the_first_moves(world: World, mode: str) -> None:
    namespace = await crowded(world)
    first = await sweep(namespace, mode=mode)
    assert first.counts == {"spill": 54, "forget": 21, "skipped": 0}
    there, exact = tiers(namespace), payloads(namespace)
    for _ in range(9):
        again = await sweep(namespace, mode=mode)
        assert (again.run_id, again.counts) == (None, {"spill": 0, "forget": 0, "skipped": 0})
        assert again.decisions == []
    assert (tiers(namespace), payloads(namespace)) == (there, exact)
    assert len(event_kinds(namespace, "forgetting.sweep_completed")) == 1


@pytest.mark.gate("RUN-06")
async def test_where_candidates_run_out_repeating_takes_no_more(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=20)
    await put(namespace, *many(12), *(memory(f"s{n}", days=20, importance=1.0) for n in range(30)))
    first = await sweep(namespace)
    assert first.counts["forget"] == 12
    assert first.shortfall is not None
    assert (first.shortfall.memories, first.after.total) == (12, 30)
    for _ in range(9):
        again = await sweep(namespace)
        assert (again.counts["forget"], again.shortfall) == (0, first.shortfall)


@pytest.mark.gate("RUN-07")
async def test_while_forgetting_is_off_plans_are_made_and_the_host_is_obeyed(
    world: World,
) -> None:
    namespace = await crowded(world, forgetEnabled=False)
    plan = await sweep(namespace, dry_run=True)
    assert plan.counts == {"spill": 54, "forget": 21, "skipped": 0}
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: sweep(namespace),
        lambda: sweep(namespace, plan_id=plan.plan_id),
        lambda: sweep(namespace, mode="strict"),
        lambda: namespace.cold_spill(dry_run=False, target=1),
    ]
    for call in calls:
        with pytest.raises(ForgettingDisabled):
            await call()
    assert counted(namespace) == (120, 0, 0)
    assert (await namespace.forget(ids=["m00001"], reason="asked")).forgotten == 1
    assert ids_in(namespace, "forgotten") == ["m00001"]
    await restore(namespace, "m00001")
    assert counted(namespace) == (120, 0, 0)
    await namespace.set_thresholds({"forgetEnabled": True})
    world_plan = await sweep(namespace, plan_id=plan.plan_id)
    assert [one.id for one in world_plan.skipped] == ["m00001"]


@pytest.mark.gate("RUN-08")
async def test_a_cold_spill_goes_down_to_its_target_and_forgets_nothing(world: World) -> None:
    namespace = await crowded(world)
    plan = await namespace.cold_spill(dry_run=True, target=30)
    assert plan.counts == {"spill": 90, "forget": 0, "skipped": 0}
    assert [stage.stage for stage in plan.stages] == [1]
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert decided(report, "spill") == decided(plan)
    assert counted(namespace) == (30, 90, 0)
    assert (await namespace.cold_spill(dry_run=False, target=None)).run_id is None
    await namespace.pin(id="m00119", pinned=True)
    assert (await namespace.cold_spill(dry_run=False, target=0)).counts["spill"] == 29
    assert ids_in(namespace, "hot") == ["m00119"]
