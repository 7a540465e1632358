"""What get shows of a memory is what explain and the sweep reckon with, broken chains too."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.namespaces import World, a_world, get, memory, put, sweep


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
