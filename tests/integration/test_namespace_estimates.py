"""Estimates of importance in a namespace: frozen, told, taken along, and taken anew on call."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.apply.rebuild import rebuild
from sidecar.estimate import ESTIMATOR_VERSION, NeutralEstimator, estimate
from sidecar.limits import MOVES_PER_TRANSACTION_MAX
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import rows
from tests.exports import lines_of, pages_of, take_back
from tests.namespaces import (
    World,
    a_world,
    check_columns,
    event_kinds,
    fill,
    get,
    listed,
    many,
    memory,
    put,
    query,
    restore,
    state_hash,
    sweep,
)

ALLERGY = "Mina is allergic to peanuts."
CHAT = "Sounds great, thanks!"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def unsaid(memory_id: str, content: str, **fields: Any) -> MemoryInput:
    """A memory for which the host sends no importance."""
    return memory(memory_id, content=content, importance=None, **fields)


def estimates(namespace: Namespace) -> dict[str, tuple[float, str, float | None]]:
    """Estimate, estimator and the host's importance by id."""
    found = query(namespace, "SELECT id, estimate, estimator, importance FROM memories")
    return {memory_id: (value, who, host) for memory_id, value, who, host in found}


async def judged_before(world: World, **thresholds: Any) -> Namespace:
    """A namespace of the time before texts were read: four memories, one of them cold."""
    await world.restart(NeutralEstimator())
    namespace = await world.open(automatic=False, **thresholds)
    await put(
        namespace,
        unsaid("cold", ALLERGY, days=300),
        unsaid("chat", CHAT),
        unsaid("nuts", ALLERGY),
        memory("host", content=ALLERGY, importance=0.9),
    )
    await namespace.cold_spill(dry_run=False, target=3)
    await world.restart()
    return await world.open(automatic=False)


@pytest.mark.gate("EST-10")
async def test_what_comes_without_importance_is_estimated_and_frozen(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, unsaid("nuts", ALLERGY), memory("host", content=ALLERGY, importance=0.3))
    shown = await get(namespace, "nuts")
    assert shown is not None
    assert (shown.importance, shown.importance_source) == (estimate(ALLERGY), "estimated")
    await fill(namespace, many(300, importance=None))
    assert estimates(namespace)["nuts"] == (estimate(ALLERGY), ESTIMATOR_VERSION, None)
    host = await get(namespace, "host")
    assert host is not None
    assert (host.importance, host.importance_source) == (0.3, "host")


@pytest.mark.gate("EST-10")
async def test_an_estimate_follows_the_content_and_a_replacement(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, unsaid("m", CHAT), unsaid("n", CHAT))
    patch = MemoryInput(content=ALLERGY)
    await namespace.put(memory=unsaid("m", ALLERGY), if_exists="replace")
    await namespace.update(id="n", patch=patch, if_revision=None)
    assert {value for value, _, _ in estimates(namespace).values()} == {estimate(ALLERGY)}
    state_hash(namespace)
    check_columns(namespace)


@pytest.mark.gate("EST-11")
async def test_explain_says_what_made_the_estimate(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, unsaid("nuts", ALLERGY))
    told = await namespace.explain(id="nuts", policy="balanced")
    assert (told.estimate, told.estimator_version) == (estimate(ALLERGY), ESTIMATOR_VERSION)
    parts = told.estimate_parts
    assert parts is not None
    assert told.estimate == pytest.approx(0.1 + parts.value + parts.standing, abs=1e-4)
    assert (parts.words, parts.length) == ({"content": 2, "function": 2, "health": 1}, 5)
    assert parts.sentences == {"plain": 1}
    assert ESTIMATOR_VERSION in told.policies[0].policy_version


@pytest.mark.gate("EST-11")
async def test_explain_has_no_parts_of_what_another_estimator_judged(world: World) -> None:
    namespace = await judged_before(world)
    told = await namespace.explain(id="nuts", policy="balanced")
    assert (told.estimate, told.estimator_version, told.estimate_parts) == (0.5, "neutral-1", None)
    assert (await sweep(namespace, dry_run=True)).policy_version.endswith(ESTIMATOR_VERSION)


@pytest.mark.gate("EST-12")
async def test_stored_estimates_stay_until_they_are_refreshed(world: World) -> None:
    namespace = await judged_before(world)
    before, counters = estimates(namespace), query(namespace, "SELECT change_counter FROM memories")
    assert {(value, who) for value, who, _ in before.values()} == {(0.5, "neutral-1")}
    told = await namespace.refresh_estimates(dry_run=True)
    assert (told.refreshed, told.raised, told.lowered, told.damaged) == (4, 0, 3, 0)
    assert estimates(namespace) == before
    assert query(namespace, "SELECT change_counter FROM memories") == counters


@pytest.mark.gate("EST-12")
async def test_refreshing_estimates_anew_in_every_tier_and_leaves_what_the_host_said(
    world: World,
) -> None:
    namespace = await judged_before(world)
    assert await listed(namespace, "cold") == ["cold"]
    revisions = query(namespace, "SELECT id, revision FROM memories ORDER BY id")
    told = await namespace.refresh_estimates(dry_run=False)
    assert (told.refreshed, told.estimator_version) == (4, ESTIMATOR_VERSION)
    assert estimates(namespace) == {
        "cold": (estimate(ALLERGY), ESTIMATOR_VERSION, None),
        "chat": (estimate(CHAT), ESTIMATOR_VERSION, None),
        "nuts": (estimate(ALLERGY), ESTIMATOR_VERSION, None),
        "host": (estimate(ALLERGY), ESTIMATOR_VERSION, 0.9),
    }
    assert await listed(namespace, "cold") == ["cold"]
    assert query(namespace, "SELECT id, revision FROM memories ORDER BY id") == revisions
    assert event_kinds(namespace, "memory.estimated") == ["memory.estimated"] * 4
    state_hash(namespace)
    check_columns(namespace)
    again = await namespace.refresh_estimates(dry_run=False)
    assert again.refreshed == 0
    assert len(event_kinds(namespace, "memory.estimated")) == 4


@pytest.mark.gate("EST-12")
async def test_many_are_refreshed_in_small_transactions(world: World) -> None:
    await world.restart(NeutralEstimator())
    namespace = await world.open(automatic=False)
    await fill(namespace, many(2 * MOVES_PER_TRANSACTION_MAX + 1, importance=None))
    await world.restart()
    namespace = await world.open(automatic=False)
    commits = namespace.store.columns.progress.commits
    told = await namespace.refresh_estimates(dry_run=False)
    assert told.refreshed == 2 * MOVES_PER_TRANSACTION_MAX + 1
    assert namespace.store.columns.progress.commits == commits + 3


@pytest.mark.gate("EST-12")
async def test_a_plan_leaves_out_what_was_estimated_anew_since(world: World) -> None:
    namespace = await judged_before(world, forgetThresholdTotal=1)
    await namespace.set_thresholds({"forgetEnabled": True, "weakStrength": 1.0})
    plan = await sweep(namespace, dry_run=True, mode="strict")
    assert plan.decisions
    await namespace.refresh_estimates(dry_run=False)
    done = await sweep(namespace, plan_id=plan.plan_id)
    assert {one.why for one in done.skipped} == {"changed"}
    assert done.skipped_count == len(plan.decisions)


@pytest.mark.gate("EST-12")
async def test_what_was_forgotten_keeps_its_estimate_and_is_refreshed_once_it_is_back(
    world: World,
) -> None:
    namespace = await judged_before(world)
    await namespace.forget(ids=["nuts"], reason="asked")
    await namespace.refresh_estimates(dry_run=False)
    assert estimates(namespace)["nuts"][1] == "neutral-1"
    await restore(namespace, "nuts")
    assert (await namespace.refresh_estimates(dry_run=False)).refreshed == 1
    state_hash(namespace)


@pytest.mark.gate("EST-12")
async def test_a_damaged_memory_is_counted_and_stays_as_it_is(world: World) -> None:
    namespace = await judged_before(world)

    def damage(tx: Any) -> None:
        row = rows.by_id(tx.connection, "chat")
        assert row is not None
        tx.connection.execute("UPDATE texts SET content = 'other' WHERE rid = ?", (row.rid,))

    namespace.store.writer.call(damage)
    told = await namespace.refresh_estimates(dry_run=False)
    assert (told.refreshed, told.damaged) == (3, 1)
    assert estimates(namespace)["chat"][1] == "neutral-1"
    assert (await namespace.refresh_estimates(dry_run=True)).damaged == 1


@pytest.mark.gate("EST-13")
async def test_estimate_and_estimator_go_through_an_export(world: World) -> None:
    namespace = await judged_before(world)
    await put(namespace, unsaid("new", ALLERGY))
    other = await world.open("other", automatic=False)
    await take_back(other, lines_of(await pages_of(namespace)))
    assert estimates(other) == estimates(namespace)
    assert state_hash(other) == state_hash(namespace)
    assert {who for _, who, _ in estimates(other).values()} == {"neutral-1", ESTIMATOR_VERSION}


@pytest.mark.gate("EST-13")
async def test_a_rebuilt_namespace_has_the_refreshed_estimates(world: World) -> None:
    namespace = await judged_before(world)
    await namespace.refresh_estimates(dry_run=False)
    expected, hash_before = estimates(namespace), state_hash(namespace)
    await world.registry.close_all()
    rebuild(world.directory(), in_place=True)
    await world.start()
    rebuilt = await world.open(automatic=False)
    assert (estimates(rebuilt), state_hash(rebuilt)) == (expected, hash_before)
