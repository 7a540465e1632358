"""What get shows is what explain and the sweep reckon with; explain foretells a cycle too."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar import explaining
from sidecar.errors import MemoryNotFound, PolicyUnknown
from tests.namespaces import DAY, NOW, World, a_world, eventually, get, memory, put, query, sweep


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


@pytest.mark.gate("EXPL-05")
async def test_one_strength_is_shown_explained_and_planned_with(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=1, weakStrength=1.0)
    days, importance = 30, 0.9
    names = ("alone", "old", "new", "left", "gone", "dangling")
    await put(namespace, *(memory(one, days, importance=importance) for one in names))
    await put(namespace, memory("older", days, importance=importance, superseded_by="dangling"))
    await namespace.supersede(id="old", by="new")
    await namespace.supersede(id="left", by="gone")
    await namespace.forget(ids=["gone"], reason="asked")
    await put(namespace, memory("waits", days, importance=importance, superseded_by="nobody"))

    plan = await sweep(namespace, dry_run=True, mode="strict")
    planned = {one.id: one.strength for one in plan.decisions}
    strengths: dict[str, float | None] = {}
    for one in ("alone", "old", "new", "left", "dangling", "older", "waits"):
        shown = await get(namespace, one)
        assert shown is not None
        strengths[one] = shown.strength
        explanation = await namespace.explain(id=one, policy=None)
        assert {each.strength for each in explanation.policies} == {shown.strength}
        assert planned.get(one, shown.strength) == shown.strength
    assert len(planned) > 4
    full = strengths["alone"]
    assert full is not None
    assert full > 0.4
    replaced = {"old": 0.01, "older": 0.01}
    assert strengths == dict.fromkeys(strengths, full) | replaced


@pytest.mark.gate("EXPL-10")
async def test_a_memory_forgotten_while_it_is_explained_is_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("going"), memory("staying"))
    loop, snapshot = asyncio.get_running_loop(), namespace.store.columns.snapshot

    def after_forgetting() -> Any:
        forget = namespace.forget(ids=["going"], reason="asked")
        asyncio.run_coroutine_threadsafe(forget, loop).result()
        return snapshot()

    monkeypatch.setattr(namespace.store.columns, "snapshot", after_forgetting)
    with pytest.raises(MemoryNotFound, match="is forgotten"):
        await namespace.explain(id="going", policy=None)
    assert (await namespace.explain(id="staying", policy=None)).id == "staying"


@pytest.mark.gate("EXPL-10")
async def test_a_memory_that_was_committed_this_instant_can_be_explained(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    writer: Any = namespace.store.writer
    progress = namespace.store.columns.progress
    publish, follow, awaited = writer._publish, progress.follow, threading.Event()

    def publish_when_awaited(*arguments: Any) -> None:
        awaited.wait()
        publish(*arguments)

    def noted(commits: int) -> tuple[int, int]:
        awaited.set()
        return follow(commits)

    monkeypatch.setattr(writer, "_publish", publish_when_awaited)
    monkeypatch.setattr(progress, "follow", noted)
    written = asyncio.create_task(put(namespace, memory("new")))
    await eventually(lambda: bool(query(namespace, "SELECT 1 FROM memories")), "committed")
    try:
        explained = await namespace.explain(id="new", policy=None)
    finally:
        awaited.set()
    assert explained.id == "new"
    await written


@pytest.mark.gate("EXPL-15")
async def test_what_a_cycle_would_do_is_what_it_does(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(
        namespace,
        memory("weak", 300),
        memory("fading", 30),
        memory("new", 10, importance=0.9),
        memory("twice", 10, importance=0.6, content="Mina drinks green tea"),
        memory("again", 10, importance=0.5, content="mina drinks green tea."),
    )
    explained = {
        one: (await namespace.explain(id=one, policy=None))
        for one in ("weak", "fading", "new", "twice", "again")
    }
    report = await namespace.run_cycle(dry_run=True, plan_id=None, now=None, decisions_limit=100)
    for decision in report.decisions:
        cycle = explained[decision.record_id].cycle
        assert cycle is not None
        assert (cycle.action, cycle.reason, cycle.skipped, cycle.score) == (
            decision.action,
            decision.reason,
            decision.skipped,
            decision.score,
        )
        assert cycle.new_importance == decision.new_importance
        assert cycle.duplicates_searched
    assert {one.action for one in report.decisions} == {"keep", "fade", "prune"}
    assert explained["again"].cycle is not None
    assert explained["again"].cycle.survivor == "twice"


@pytest.mark.gate("EXPL-15")
async def test_the_crossing_nearest_to_the_strength_comes_first(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m", 0, importance=0.2, expires_at=NOW + DAY))
    found = (await namespace.explain(id="m", policy=None)).crossings
    assert [one.threshold for one in found] == ["fade", "weak", "prune", "expiry"]
    assert found[0].crossed_at is not None
    world.clock.hold(found[0].crossed_at)
    shown = await get(namespace, "m")
    assert shown is not None
    assert shown.strength == pytest.approx(0.15, abs=1e-9)


@pytest.mark.gate("EXPL-15")
async def test_the_cycle_can_be_asked_for_alone_and_a_policy_leaves_it_out(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"))
    alone = await namespace.explain(id="m", policy="cycle")
    assert alone.policies == []
    assert alone.cycle is not None
    named = await namespace.explain(id="m", policy="classic")
    assert ([one.policy for one in named.policies], named.cycle) == (["classic"], None)
    with pytest.raises(PolicyUnknown) as refused:
        await namespace.explain(id="m", policy="other")
    assert refused.value.data["bound"] == "one of: classic, balanced, cycle, lifecycle"


@pytest.mark.gate("EXPL-15")
async def test_among_too_many_memories_duplicates_are_not_looked_for_and_the_reply_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("a", content="tea"), memory("b", content="Tea"))
    monkeypatch.setattr(explaining, "EXPLAIN_DUPLICATES_MEMORIES_MAX", 1)
    cycle = (await namespace.explain(id="a", policy=None)).cycle
    assert cycle is not None
    assert (cycle.duplicates_searched, cycle.survivor) == (False, None)
