"""Active forgetting carried out on a real store: preview, plan, run, and what it leaves alone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import (
    ForgettingDisabled,
    PlanExpired,
    PlanNotApplicable,
    PlanUnknown,
    PlanUsed,
)
from sidecar.limits import PLAN_LIFETIME_MS
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from tests.hostile import held_bytes
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    check_columns,
    counted,
    event_kinds,
    files_below,
    fill,
    get,
    listed,
    memory,
    put,
    query,
    recalled,
    state_hash,
    sweep,
    tiers,
)
from tests.setting_aside import became, forget_useless, harmful, runs_of, statuses, useful

FORGOTTEN = ("archived", "forgotten")
ROUNDS = 100
SETTLED_AFTER_ROUNDS = 20
HELD_BYTES_MAX = 1_000_000


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def a_bit_of_all() -> list[MemoryInput]:
    """Two that go, one that is kept, and one for each condition that is not met."""
    return [
        harmful("worse", usefulness_score=-3.0),
        harmful("bad"),
        harmful("pinned", pinned=True),
        harmful("young", days=89),
        harmful("of use lately", last_useful_at=NOW - 10 * DAY),
        harmful("popular", use_count=20, usefulness_score=-4.0),
        harmful("evergreen", evergreen=True),
        useful("useful"),
        memory("never used", importance=1.0),
    ]


async def small(world: World) -> Namespace:
    """A store of a bit of all, of which "bad" lies in cold."""
    namespace = await world.open(automatic=False)
    first, second, *rest = a_bit_of_all()
    await put(namespace, second)
    await namespace.cold_spill(dry_run=False, target=0)
    await put(namespace, first, *rest)
    return namespace


@pytest.mark.gate("LIFE-20")
async def test_a_run_archives_what_its_dry_run_said_in_the_tier_where_it_lies(world: World) -> None:
    namespace = await small(world)
    before = tiers(namespace)
    planned = await forget_useless(namespace, dry_run=True)
    assert became(planned) == {"worse": None, "bad": None, "pinned": "pinned"}
    assert (planned.candidate_count, planned.archived, planned.skipped) == (3, 2, 1)
    done = await forget_useless(namespace, plan_id=planned.plan_id)
    assert became(done) == {"worse": "archived", "bad": "archived", "pinned": "pinned"}
    assert (done.candidate_count, done.archived, done.skipped, done.failed) == (3, 2, 1, 0)
    assert (done.scanned, done.by_skipped, done.dry_run) == (9, {"pinned": 1}, False)
    assert await statuses(namespace, "worse", "bad") == [FORGOTTEN, FORGOTTEN]
    assert tiers(namespace) == before
    assert before["bad"] == "cold"
    again = await forget_useless(namespace)
    assert (again.run_id, again.archived, became(again)) == (None, 0, {"pinned": "pinned"})
    assert len(await runs_of(namespace, "lifecycle")) == 1
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("LIFE-20")
async def test_archived_memories_leave_recall_and_stay_in_everything_else(world: World) -> None:
    namespace = await small(world)
    ids, counts = sorted(await listed(namespace)), counted(namespace)
    assert {"worse", "bad"} <= set(await recalled(namespace, "says", depth="deep"))
    await forget_useless(namespace)
    found = await recalled(namespace, "says", depth="deep")
    assert not {"worse", "bad"} & set(found)
    assert {"worse", "bad"} <= set(
        await recalled(namespace, "says", depth="deep", include_archived=True)
    )
    assert (sorted(await listed(namespace)), counted(namespace)) == (ids, counts)
    for memory_id in ("worse", "bad"):
        shown = await get(namespace, memory_id)
        assert shown is not None
        assert (shown.content, shown.status_at) == (f"what {memory_id} says", NOW)
        assert shown.forgotten_at is None


@pytest.mark.gate("LIFE-20")
async def test_the_pages_of_a_plan_and_of_its_run_have_every_decision(world: World) -> None:
    namespace = await small(world)
    planned = await forget_useless(namespace, dry_run=True, candidates_limit=1)
    assert (list(became(planned)), planned.candidates_truncated) == (["worse"], True)
    asked: dict[str, Any] = {"run_id": None, "plan_id": planned.plan_id, "cursor": None}
    first = await namespace.decisions(**asked, limit=2)
    asked["cursor"] = first.cursor
    rest = await namespace.decisions(**asked, limit=2)
    told = [
        (one.id, one.action, one.reason, one.from_tier, one.score, one.outcome)
        for one in (*first.decisions, *rest.decisions)
    ]
    assert told == [
        ("worse", "archive", "forgotten", "hot", -3.0, None),
        ("bad", "archive", "forgotten", "cold", -1.0, None),
        ("pinned", "keep", "forgotten", "hot", -1.0, "pinned"),
    ]
    assert (first.total, rest.cursor) == (3, None)
    done = await forget_useless(namespace, plan_id=planned.plan_id, candidates_limit=0)
    assert (done.candidates, done.archived) == ([], 2)
    page = await namespace.decisions(run_id=done.run_id, plan_id=None, cursor=None, limit=9)
    assert [(one.id, one.action, one.outcome) for one in page.decisions] == [
        ("worse", "archive", "moved"),
        ("bad", "archive", "moved"),
    ]


@pytest.mark.gate("LIFE-21")
async def test_events_say_who_was_archived_by_which_run_and_what_it_came_to(world: World) -> None:
    namespace = await small(world)
    done = await forget_useless(namespace)
    page = await namespace.list_events(
        since=0, limit=99, kinds=["memory.invalidated", "lifecycle.forget_completed"]
    )
    each, (completed,) = page.events[:-1], page.events[-1:]
    assert {one.memory_id for one in each} == {"worse", "bad"}
    for one in each:
        assert (one.kind, one.run_id) == ("memory.invalidated", done.run_id)
        assert (one.payload["status"], one.payload["statusReason"]) == FORGOTTEN
        assert "content" not in one.payload
    assert (completed.kind, completed.run_id) == ("lifecycle.forget_completed", done.run_id)
    assert completed.payload == {
        "trigger": "call",
        "forced": False,
        "archived": 2,
        "skipped": 1,
        "failed": 0,
    }


@pytest.mark.gate("LIFE-22")
async def test_a_dry_run_writes_no_byte_and_a_hundred_hold_no_memory(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, [harmful(f"m{n:04}") for n in range(300)])
    before, held = files_below(world.directory()), 0
    for number in range(ROUNDS):
        planned = await forget_useless(namespace, dry_run=True, candidates_limit=300)
        assert planned.dry_run
        shown = await forget_useless(namespace, dry_run=True, plan_id=planned.plan_id)
        assert (shown.plan_id, shown.candidate_count) == (planned.plan_id, 300)
        if number == SETTLED_AFTER_ROUNDS:
            held = held_bytes()
    assert held_bytes() - held < HELD_BYTES_MAX
    assert files_below(world.directory()) == before
    assert event_kinds(namespace, "lifecycle.") == []
    assert await runs_of(namespace, "lifecycle") == []


@pytest.mark.gate("LIFE-22")
async def test_touches_that_wait_count_in_a_plan_and_still_wait_after_it(world: World) -> None:
    namespace = await small(world)
    assert await recalled(namespace, "what worse says", depth="hot", touch="top") != []
    before = files_below(world.directory())
    planned = await forget_useless(namespace, dry_run=True)
    assert files_below(world.directory()) == before
    done = await forget_useless(namespace, plan_id=planned.plan_id)
    assert became(done) == {"worse": "archived", "bad": "archived", "pinned": "pinned"}


@pytest.mark.gate("LIFE-23")
async def test_a_plan_is_used_once_soon_and_by_the_namespace_that_made_it(world: World) -> None:
    namespace, other = await small(world), await world.open("other", automatic=False)
    await put(other, harmful("theirs"))
    planned = await forget_useless(namespace, dry_run=True)
    for kind in (True, False):
        with pytest.raises(PlanUnknown):
            await forget_useless(other, dry_run=kind, plan_id=planned.plan_id)
    swept = await sweep(namespace, dry_run=True)
    with pytest.raises(PlanUnknown):
        await forget_useless(namespace, plan_id=swept.plan_id)
    with pytest.raises(PlanUnknown):
        await sweep(namespace, plan_id=planned.plan_id)
    assert (await forget_useless(namespace, plan_id=planned.plan_id)).archived == 2
    with pytest.raises(PlanUsed):
        await forget_useless(namespace, plan_id=planned.plan_id)
    late = await forget_useless(namespace, dry_run=True)
    world.pass_time(PLAN_LIFETIME_MS + 1)
    with pytest.raises(PlanExpired):
        await forget_useless(namespace, plan_id=late.plan_id)
    assert await statuses(other, "theirs") == [("active", None)]


@pytest.mark.gate("LIFE-23")
async def test_a_plan_for_another_time_can_be_read_and_not_applied(world: World) -> None:
    namespace = await small(world)
    later = await forget_useless(namespace, dry_run=True, now=NOW + 2 * DAY)
    assert became(later) == {"worse": None, "bad": None, "pinned": "pinned", "young": None}
    assert later.now == NOW + 2 * DAY
    shown = await forget_useless(namespace, dry_run=True, plan_id=later.plan_id)
    assert became(shown) == became(later)
    with pytest.raises(PlanNotApplicable):
        await forget_useless(namespace, plan_id=later.plan_id)
    assert await statuses(namespace, "worse") == [("active", None)]


CHANGES: dict[str, Any] = {
    "touched": lambda one: one.touch(ids=["bad"]),
    "used": lambda one: one.feedback(id="bad", signal="useful"),
    "shown": lambda one: one.feedback(id="bad", signal="shown"),
    "blamed": lambda one: one.feedback(id="bad", signal="harmful"),
    "pinned": lambda one: one.pin(id="bad", pinned=True),
    "held": lambda one: one.hold(id="bad", until=NOW + DAY),
    "reworded": lambda one: one.update(
        id="bad", patch=MemoryInput(content="other words"), if_revision=None
    ),
    "replaced": lambda one: one.put(
        memory=MemoryInput(id="bad", content="new"), if_exists="replace"
    ),
    "superseded": lambda one: one.supersede(id="bad", by="useful"),
    "invalidated": lambda one: one.invalidate(id="bad", reason="incorrect"),
    "forgotten": lambda one: one.forget(ids=["bad"], reason="called"),
}


@pytest.mark.gate("LIFE-24")
@pytest.mark.parametrize("change", CHANGES)
async def test_what_changed_since_the_plan_is_left_and_named(world: World, change: str) -> None:
    namespace = await small(world)
    planned = await forget_useless(namespace, dry_run=True)
    await CHANGES[change](namespace)
    done = await forget_useless(namespace, plan_id=planned.plan_id)
    assert became(done) == {"worse": "archived", "bad": "changed", "pinned": "pinned"}
    assert (done.archived, done.skipped, done.failed) == (1, 2, 0)
    assert done.by_skipped == {"pinned": 1, "changed": 1}
    (found,) = query(namespace, "SELECT status_reason FROM memories WHERE id = 'bad'")
    assert found != ("forgotten",)
    page = await namespace.decisions(run_id=done.run_id, plan_id=None, cursor=None, limit=9)
    assert {one.id: one.outcome for one in page.decisions} == {"worse": "moved", "bad": "changed"}


@pytest.mark.gate("LIFE-24")
async def test_a_memory_that_became_its_chains_head_is_left(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, harmful("old"), memory("older", superseded_by="old", importance=1.0))
    assert became(await forget_useless(namespace, dry_run=True)) == {"old": "head"}
    await namespace.update(id="older", patch=MemoryInput(superseded_by=None), if_revision=None)
    planned = await forget_useless(namespace, dry_run=True)
    assert became(planned) == {"old": None}
    await namespace.supersede(id="older", by="old")
    done = await forget_useless(namespace, plan_id=planned.plan_id)
    assert became(done) == {"old": "head"}
    assert (done.archived, done.skipped, done.by_skipped) == (0, 1, {"head": 1})


@pytest.mark.gate("LIFE-25")
async def test_without_the_operators_word_there_is_no_real_run_but_a_plan(world: World) -> None:
    namespace = await small(world)
    planned = await forget_useless(namespace, dry_run=True, forget_enabled=False)
    assert (planned.archived, planned.forget_enabled, planned.forced) == (2, False, False)
    for plan_id in (None, planned.plan_id):
        with pytest.raises(ForgettingDisabled) as refused:
            await forget_useless(namespace, plan_id=plan_id, forget_enabled=False)
        assert "forget_enabled = true under [lifecycle]" in refused.value.data["bound"]
        assert "--force" in refused.value.data["remedy"]
    assert await statuses(namespace, "worse", "bad") == [("active", None)] * 2
    forced = await forget_useless(
        namespace, plan_id=planned.plan_id, forget_enabled=False, forced=True
    )
    assert (forced.archived, forced.forget_enabled, forced.forced) == (2, False, True)
    (run,) = await runs_of(namespace, "lifecycle")
    report = (await namespace.run(run_id=run.run_id)).report
    assert report is not None
    assert report["forced"]
    (told,) = query(namespace, "SELECT payload FROM events WHERE kind LIKE 'lifecycle.%'")
    assert '"forced":true' in told[0]


@pytest.mark.gate("LIFE-25")
async def test_force_changes_nothing_where_it_is_not_needed(world: World) -> None:
    namespace = await small(world)
    done = await forget_useless(namespace, forced=True)
    assert (done.archived, done.forget_enabled, done.forced) == (2, True, False)


@pytest.mark.gate("LIFE-25")
@pytest.mark.parametrize("forced", [True, False])
async def test_while_forgetting_is_off_no_force_archives(world: World, forced: bool) -> None:
    namespace = await small(world)
    await namespace.set_thresholds({"forgetEnabled": False})
    planned = await forget_useless(namespace, dry_run=True)
    assert planned.archived == 2
    for plan_id in (None, planned.plan_id):
        with pytest.raises(ForgettingDisabled) as refused:
            await forget_useless(namespace, plan_id=plan_id, forced=forced)
        assert refused.value.data["bound"] == "forgetEnabled: true"
    assert await statuses(namespace, "worse", "bad") == [("active", None)] * 2


@pytest.mark.gate("LIFE-26")
async def test_what_is_archived_is_of_its_own_class_to_a_sweep(world: World) -> None:
    namespace = await world.open(
        automatic=False, forgetThresholdTotal=4, lowWatermark=1.0, weakStrength=0.9
    )
    strong = [useful(f"s{n}", importance=0.5) for n in range(4)]
    await put(namespace, harmful("bad", importance=1.0), *strong)
    await forget_useless(namespace)
    (decision,) = (await sweep(namespace)).decisions
    assert (decision.id, decision.action, decision.reason) == ("bad", "forget", "archived")


@pytest.mark.gate("LIFE-28")
async def test_a_run_of_its_own_plans_with_the_options_of_the_call(world: World) -> None:
    namespace = await small(world)
    done = await forget_useless(
        namespace, usefulness_floor=-3.0, harmful_floor=-3.0, min_age_days=1, protect_use_count=1
    )
    assert became(done) == {"worse": "archived"}
    told = (done.usefulness_floor, done.min_age_days, done.protect_use_count, done.harmful_floor)
    assert told == (-3.0, 1, 1, -3.0)
    wide = await forget_useless(namespace, dry_run=True, min_age_days=0, protect_use_count=100)
    assert set(became(wide)) == {"bad", "pinned", "young", "of use lately", "popular"}


@pytest.mark.gate("LIFE-28")
async def test_the_newborn_and_the_impossible_stay_whatever_the_options(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, harmful("new", days=0.5))
    await namespace.import_many(
        memories=[{"id": "odd", "content": "of 1970", "createdAt": 5, "usefulnessScore": -9}],
        if_exists="skip",
        skip_bad=False,
        source=None,
    )
    done = await forget_useless(namespace, min_age_days=0)
    assert became(done) == {"new": "newborn"}
    assert (done.scanned, done.unscored, done.run_id) == (2, 1, None)


@pytest.mark.gate("LIFE-28")
async def test_an_empty_namespace_has_nothing_to_set_aside(world: World) -> None:
    namespace = await world.open(automatic=False)
    for dry_run in (True, False):
        report = await forget_useless(namespace, dry_run=dry_run)
        assert (report.scanned, report.candidate_count, report.run_id) == (0, 0, None)
    assert await runs_of(namespace, "lifecycle") == []
