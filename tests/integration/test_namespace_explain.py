"""What get shows of a memory is what explain and the sweep reckon with, broken chains too."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import MemoryNotFound
from tests.namespaces import World, a_world, eventually, get, memory, put, query, sweep


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
