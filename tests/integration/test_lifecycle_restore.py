"""The way back from the archive: by id, by run, by reason, and how long it is left alone then."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.errors import RunNotUndoable
from sidecar.model import FORGOTTEN
from sidecar.namespace import Namespace
from tests.collecting import destroy
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    check_columns,
    decided,
    get,
    memory,
    payloads,
    put,
    query,
    recalled,
    restore,
    state_hash,
    sweep,
    tiers,
)
from tests.setting_aside import (
    answers,
    became,
    forget_useless,
    harmful,
    runs_of,
    statuses,
    useful,
)

ACTIVE = ("active", None)
ARCHIVED = ("archived", "forgotten")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def archived_store(world: World, **thresholds: float) -> tuple[Namespace, str]:
    """A run archived "cold-1", "cold-2", "hot-1" and "hot-2", and left "kept"."""
    namespace = await world.open(automatic=False, **thresholds)
    await put(namespace, harmful("cold-1"), harmful("cold-2"))
    await namespace.cold_spill(dry_run=False, target=0)
    await put(namespace, harmful("hot-1"), harmful("hot-2"), useful("kept"))
    done = await forget_useless(namespace)
    assert done.archived == 4
    return namespace, str(done.run_id)


ALL = ("cold-1", "cold-2", "hot-1", "hot-2")


@pytest.mark.gate("LIFE-30")
@pytest.mark.parametrize("way", ["ids", "run", "reason", "old name"])
async def test_what_was_archived_is_believed_again_where_it_lies(world: World, way: str) -> None:
    namespace, run_id = await archived_store(world)
    exact, before = payloads(namespace), tiers(namespace)
    world.pass_time(5)
    if way == "ids":
        report = await restore(namespace, *ALL)
    elif way == "run":
        report = await restore(namespace, run_id=run_id)
    else:
        reason = {"reason": "forgotten", "old name": "Forgotten/Archived"}[way]
        report = await restore(namespace, reason=reason)
    assert answers(report) == dict.fromkeys(ALL, "restored")
    assert report.counts == {"restored": 4}
    assert [one.tier for one in report.results] == [before[one.id] for one in report.results]
    assert await statuses(namespace, *ALL) == [ACTIVE] * 4
    assert (tiers(namespace), payloads(namespace)) == (before, exact)
    for memory_id in ALL:
        shown = await get(namespace, memory_id)
        assert shown is not None
        assert (shown.restored_at, shown.status_at) == (NOW + 5, NOW + 5)
    assert set(ALL) <= set(await recalled(namespace, "says", depth="deep"))
    assert not report.paused
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("LIFE-36")
async def test_a_reason_is_found_in_every_tier_whatever_its_letter_case(world: World) -> None:
    namespace, _ = await archived_store(world)
    await namespace.forget(ids=["hot-1", "cold-1"], reason="called")
    report = await restore(namespace, reason="FORGOTTEN")
    assert answers(report) == dict.fromkeys(ALL, "restored")
    again = await restore(namespace, reason="Forgotten")
    assert again.counts == {}


@pytest.mark.gate("LIFE-30")
async def test_each_id_is_answered_by_what_is_believed_of_it_now(world: World) -> None:
    namespace = await world.open(automatic=False)
    given = ["plain", "older", "wrong", "mine", "gone", "dead"]
    await put(namespace, *map(harmful, given), useful("newer"))
    await put(namespace, harmful("passing", expires_at=NOW + DAY))
    assert (await forget_useless(namespace)).archived == 7
    await namespace.supersede(id="older", by="newer")
    await namespace.invalidate(id="wrong", reason="incorrect")
    await namespace.invalidate(id="mine", reason="obsolete")
    await namespace.forget(ids=["gone"], reason="called")
    await destroy(namespace, "dead")
    world.pass_time(2 * DAY)
    asked = ["plain", "passing", "older", "wrong", "mine", "gone", "dead", "newer", "nobody"]
    report = await restore(namespace, *asked)
    assert answers(report) == {
        "plain": "restored",
        "passing": "expired",
        "older": "superseded",
        "wrong": "already_here",
        "mine": "already_here",
        "gone": "restored",
        "dead": "destroyed",
        "newer": "already_here",
        "nobody": "unknown",
    }
    assert await statuses(namespace, "plain", "older", "wrong", "mine", "gone") == [
        ACTIVE,
        ("superseded", "superseded"),
        ("invalidated", "incorrect"),
        ("archived", "obsolete"),
        ACTIVE,
    ]
    assert sorted(await recalled(namespace, "says")) == ["gone", "newer", "plain"]
    again = await restore(namespace, *asked[:3])
    assert set(answers(again).values()) == {"already_here"}
    assert again.run_id is None
    state_hash(namespace)


@pytest.mark.gate("LIFE-31")
@pytest.mark.parametrize("reason", ["incorrect", "conflicted"])
@pytest.mark.parametrize("way", ["ids", "run", "reason", "undo"])
async def test_a_claim_that_is_held_wrong_is_reopened_by_nothing(
    world: World, reason: str, way: str
) -> None:
    namespace, run_id = await archived_store(world)
    for memory_id in ("cold-1", "hot-1"):
        await namespace.invalidate(id=memory_id, reason=reason)
    if way == "undo":
        report = await namespace.undo(run_id=run_id)
    else:
        given = {"run": {"run_id": run_id}, "reason": {"reason": "forgotten"}}.get(way, {})
        report = await restore(namespace, *(ALL if way == "ids" else ()), **given)
    said = {"ids": "already_here", "run": "changed", "undo": "changed", "reason": None}
    assert answers(report).get("cold-1") == said[way]
    assert {answers(report)[one] for one in ("cold-2", "hot-2")} == {"restored"}
    assert await statuses(namespace, *ALL) == [
        ("invalidated", reason),
        ACTIVE,
        ("invalidated", reason),
        ACTIVE,
    ]
    await namespace.forget(ids=["cold-1"], reason="called")
    assert answers(await restore(namespace, "cold-1")) == {"cold-1": "invalidated"}
    assert await statuses(namespace, "cold-1") == [("invalidated", reason)]


@pytest.mark.gate("LIFE-32")
async def test_within_its_grace_nothing_takes_a_restored_memory_back(world: World) -> None:
    namespace, _ = await archived_store(
        world, forgetThresholdTotal=3, lowWatermark=0.5, weakStrength=1.0, minIdleDays=0
    )
    await restore(namespace, reason="forgotten")
    world.pass_time(30 * DAY - 1)
    for mode in ("normal", "strict"):
        swept = await sweep(namespace, mode=mode)
        assert not set(ALL) & set(decided(swept, "forget"))
        assert swept.protected["restored"] == 4
    namespace.cycle_options = type(namespace.cycle_options)(
        semantic_prune_threshold=1.0, semantic_fade_threshold=1.0, fade_interval_days=0.0
    )
    cycled = await namespace.run_cycle(dry_run=False, plan_id=None, now=None, decisions_limit=9)
    assert {one.skipped for one in cycled.decisions if one.record_id in ALL} == {"restored"}
    assert became(await forget_useless(namespace)) == dict.fromkeys(ALL, "restored")
    await namespace.cold_spill(dry_run=False, target=0)
    assert {one: tier for one, tier in tiers(namespace).items() if one in ALL} == dict.fromkeys(
        ALL, "cold"
    )
    world.pass_time(1)
    assert became(await forget_useless(namespace, dry_run=True)) == dict.fromkeys(ALL)
    cycled = await namespace.run_cycle(dry_run=True, plan_id=None, now=None, decisions_limit=9)
    assert {one.action for one in cycled.decisions if one.record_id in ALL} == {"prune"}
    assert set(decided(await sweep(namespace, mode="strict"), "forget")) <= {*ALL, "kept"}
    assert "forgotten" in tiers(namespace).values()


@pytest.mark.gate("LIFE-33")
async def test_an_undo_brings_all_back_and_pauses_and_is_done_once(world: World) -> None:
    namespace, run_id = await archived_store(world)
    before = tiers(namespace)
    undone = await namespace.undo(run_id=run_id)
    assert answers(undone) == dict.fromkeys(ALL, "restored")
    assert undone.paused
    assert (await statuses(namespace, *ALL), tiers(namespace)) == ([ACTIVE] * 4, before)
    (undo,), (run,) = await runs_of(namespace, "undo"), await runs_of(namespace, "lifecycle")
    assert (undo.undoes, run.state, run.undone_by) == (run_id, "undone", undo.run_id)
    page = await namespace.decisions(run_id=undo.run_id, plan_id=None, cursor=None, limit=9)
    assert {(one.action, one.reason, one.outcome) for one in page.decisions} == {
        ("revive", "undone", "moved")
    }
    for again in (run_id, undo.run_id):
        with pytest.raises(RunNotUndoable):
            await namespace.undo(run_id=again)
    assert became(await forget_useless(namespace)) == dict.fromkeys(ALL, "restored")
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("LIFE-34")
async def test_an_undo_says_of_each_what_it_has_become_since(world: World) -> None:
    namespace = await world.open(automatic=False)
    names = ["plain", "used", "touched", "blamed", "by hand", "wrong", "older", "back", "new"]
    await put(namespace, *[harmful(one) for one in (*names, "swept", "dead", "again")])
    await put(namespace, useful("newer"))
    run_id = str((await forget_useless(namespace)).run_id)
    await namespace.feedback(id="used", signal="useful")
    await namespace.touch(ids=["touched"])
    await namespace.feedback(id="blamed", signal="harmful")
    await namespace.invalidate(id="by hand", reason="duplicate")
    await namespace.invalidate(id="wrong", reason="incorrect")
    await namespace.supersede(id="older", by="newer")
    await restore(namespace, "back", "again")
    await namespace.put(memory=memory("new", content="said anew"), if_exists="replace")
    await namespace.invalidate(id="again", reason="forgotten")
    await namespace.forget(ids=["swept"], reason="called")
    await destroy(namespace, "dead")
    undone = await namespace.undo(run_id=run_id)
    assert answers(undone) == {
        "plain": "restored",
        "used": "restored",
        "touched": "restored",
        "blamed": "restored",
        "by hand": "changed",
        "wrong": "changed",
        "older": "superseded",
        "back": "already_here",
        "new": "already_here",
        "swept": "changed",
        "again": "changed",
    }
    assert undone.counts == {
        "restored": 4,
        "changed": 4,
        "superseded": 1,
        "already_here": 2,
        "destroyed": 1,
    }
    assert await statuses(namespace, "by hand", "wrong", "older", "again", "new") == [
        ("archived", "duplicate"),
        ("invalidated", "incorrect"),
        ("superseded", "superseded"),
        ARCHIVED,
        ACTIVE,
    ]
    assert tiers(namespace)["swept"] == "forgotten"
    state_hash(namespace)


@pytest.mark.gate("LIFE-34")
async def test_what_a_sweep_forgot_comes_back_by_undoing_the_sweep(world: World) -> None:
    namespace, run_id = await archived_store(world, forgetThresholdTotal=2, weakStrength=0.9)
    swept = await sweep(namespace)
    assert set(decided(swept, "forget")) <= set(ALL)
    gone = decided(swept, "forget")
    assert gone
    undone = await namespace.undo(run_id=run_id)
    assert {answers(undone)[one] for one in gone} == {"changed"}
    assert {answers(undone)[one] for one in ALL if one not in gone} <= {"restored"}
    back = await namespace.undo(run_id=str(swept.run_id))
    assert answers(back) == dict.fromkeys(gone, "restored")
    assert await statuses(namespace, *ALL) == [ACTIVE] * 4


@pytest.mark.gate("LIFE-35")
async def test_a_sweep_a_cycle_and_active_forgetting_are_undone_one_after_the_other(
    world: World,
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=8, lowWatermark=1.0)
    await put(
        namespace,
        *[memory(f"weak-{n}", importance=0.01) for n in range(3)],
        *[memory(f"fades-{n}", days=14, importance=0.3) for n in range(2)],
        *[harmful(one) for one in ALL],
    )
    await namespace.cold_spill(dry_run=False, target=4)
    before, exact = tiers(namespace), payloads(namespace)
    aside = await forget_useless(namespace)
    cycled = await namespace.run_cycle(dry_run=False, plan_id=None, now=None, decisions_limit=9)
    assert (aside.archived, cycled.faded, cycled.pruned) == (4, 6, 3)
    await namespace.set_thresholds({"forgetThresholdTotal": 3, "weakStrength": 1.0})
    swept = await sweep(namespace)
    assert swept.counts["forget"] > 0
    for run_id in (swept.run_id, cycled.run_id, aside.run_id):
        await namespace.undo(run_id=str(run_id))
        check_columns(namespace)
        state_hash(namespace)
    assert (tiers(namespace), payloads(namespace)) == (before, exact)
    assert query(namespace, "SELECT DISTINCT status, fade_factor FROM memories") == [(0, 1.0)]
    assert query(namespace, "SELECT count(*) FROM memories WHERE tier = ?", FORGOTTEN) == [(0,)]
