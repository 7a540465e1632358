"""What keeps a memory from being forgotten, whatever the pressure, and for how long."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.namespace import Namespace
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    counted,
    decided,
    ids_in,
    many,
    memory,
    put,
    restore,
    settle,
    sweep,
)

KINDS = ["pinned", "held", "evergreen", "head", "newborn", "restored", "unscored"]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def one_of_each(world: World, *, automatic: bool = False) -> Namespace:
    """A store far over its total: one memory under each protection, the weakest of all."""
    namespace = await world.open(automatic=automatic, forgetEnabled=False)
    await put(
        namespace,
        memory("pinned", importance=0.0, pinned=True),
        memory("held", importance=0.0, held_until=NOW + 20 * DAY),
        memory("evergreen", importance=0.0, evergreen=True),
        memory("older", importance=0.0, pinned=True),
        memory("head", importance=0.0, supersedes="older"),
        memory("newborn", importance=0.0, days=0.5),
        memory("restored", importance=0.0),
        *many(20),
    )
    odd = {"id": "unscored", "content": "x", "importance": -1, "createdAt": NOW - 300 * DAY}
    await namespace.import_many(memories=[odd], if_exists="error", skip_bad=False, source=None)
    await namespace.forget(ids=["restored"], reason="asked")
    await restore(namespace, "restored")
    await namespace.set_thresholds(
        {"forgetThresholdTotal": 1, "forgetEnabled": True, "loweringDelayMinutes": 0}
    )
    return namespace


@pytest.mark.gate("APPLY-09")
@pytest.mark.parametrize("mode", ["normal", "strict"])
async def test_no_pressure_forgets_what_is_protected(world: World, mode: str) -> None:
    namespace = await one_of_each(world)
    await namespace.apply_open_options(thresholds={"forgetEnabled": False}, created=False)
    plan = await sweep(namespace, dry_run=True, mode=mode)
    assert not set(decided(plan)) & {*KINDS, "older"}
    # In normal mode a newborn is not even asked: it has not been idle for a week.
    asked = [kind for kind in KINDS if mode == "strict" or kind != "newborn"]
    assert plan.protected == {kind: 2 if kind == "pinned" else 1 for kind in asked}
    await sweep(namespace, plan_id=plan.plan_id)
    await namespace.cold_spill(dry_run=False, target=0)
    again = await sweep(namespace, mode=mode)
    assert again.counts["forget"] == 0
    assert {*KINDS, "older"} == {*ids_in(namespace, "hot"), *ids_in(namespace, "cold")}
    assert ids_in(namespace, "hot") == ["pinned", "older"]
    assert again.shortfall is not None


@pytest.mark.gate("APPLY-09")
async def test_automatic_sweeps_keep_the_protected_too(world: World) -> None:
    namespace = await one_of_each(world, automatic=True)
    await settle(namespace)
    assert counted(namespace) == (8, 0, 20)
    assert {*KINDS, "older"} == set(ids_in(namespace, "hot"))


@pytest.mark.gate("APPLY-09")
async def test_protections_that_end_by_themselves_end_to_the_millisecond(world: World) -> None:
    namespace = await one_of_each(world)
    await namespace.apply_open_options(thresholds={"forgetEnabled": False}, created=False)
    await sweep(namespace)
    # The newborn is idle enough only a week after its birth.
    ends = {"newborn": NOW + round(6.5 * DAY), "held": NOW + 20 * DAY, "restored": NOW + 30 * DAY}
    for name, end in ends.items():
        world.clock.hold(end - 1)
        assert (await sweep(namespace)).counts["forget"] == 0, name
        world.clock.hold(end)
        assert decided(await sweep(namespace)) == [name]


@pytest.mark.gate("APPLY-09")
async def test_a_newborn_is_counted_from_its_creation_not_from_its_arrival(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=1)
    await put(namespace, memory("brought-in", days=300), memory("made-now", days=0))
    assert decided(await sweep(namespace, mode="strict")) == ["brought-in"]


@pytest.mark.gate("APPLY-09")
async def test_a_protection_that_is_lifted_protects_no_more(world: World) -> None:
    namespace = await one_of_each(world)
    await namespace.apply_open_options(thresholds={"forgetEnabled": False}, created=False)
    await sweep(namespace)
    await namespace.pin(id="pinned", pinned=False)
    await namespace.hold(id="held", until=None)
    assert sorted(decided(await sweep(namespace))) == ["held", "pinned"]
    await namespace.pin(id="older", pinned=False)
    assert decided(await sweep(namespace)) == ["older"]
    assert decided(await sweep(namespace)) == [], "the head has just lost its last older version"
    world.pass_time(2 * DAY)
    assert decided(await sweep(namespace)) == ["head"]
