"""Use and looking: what counts as use, when it is written, and what brings memories back to hot."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar import namespace_reads
from sidecar.limits import THAWS_PER_RECALL_MAX, TOUCH_FLUSH_SECONDS, TOUCHED_BY_TOP
from sidecar.namespace import Namespace
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    check_columns,
    counted,
    event_kinds,
    eventually,
    files_below,
    get,
    ids_in,
    listed,
    memory,
    put,
    query,
    recall,
    recalled,
    settle,
    state_hash,
    sweep,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def uses(namespace: Namespace) -> dict[str, tuple[int, int | None]]:
    """(recalls, last recall) of every memory that was ever recalled, as stored."""
    found = query(namespace, "SELECT id, recall_count, last_recalled_at FROM memories")
    return {one: (count, at) for one, count, at in found if count or at}


async def six(world: World, **thresholds: int) -> Namespace:
    """A namespace with six memories that one question finds, in a known order."""
    namespace = await world.open(automatic=False, **thresholds)
    await put(namespace, *(memory(f"m{n}", content="tea " * (6 - n) + "pot") for n in range(6)))
    return namespace


@pytest.mark.gate("RECALL-20")
@pytest.mark.parametrize(
    ("touch", "counted_uses"), [("top", TOUCHED_BY_TOP), ("all", 6), ("none", 0)]
)
async def test_a_recall_counts_as_use_as_its_caller_says(
    world: World, touch: str, counted_uses: int
) -> None:
    namespace = await six(world)
    found = await recalled(namespace, "tea", touch=touch)
    assert len(found) == 6
    assert uses(namespace) == {}, "a recall waits for no write"
    namespace.fold_touches()
    assert uses(namespace) == dict.fromkeys(found[:counted_uses], (1, NOW))
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("RECALL-20")
async def test_several_recalls_of_one_memory_add_up(world: World) -> None:
    namespace = await six(world)
    for _ in range(3):
        await recall(namespace, "tea", top_k=1, touch="top")
        world.pass_time(7)
    namespace.fold_touches()
    ((memory_id, (count, at)),) = uses(namespace).items()
    assert (count, at) == (3, NOW + 14)
    assert event_kinds(namespace, "memory.touched") == ["memory.touched"]
    shown = await get(namespace, memory_id)
    assert shown is not None
    assert (shown.revision, shown.updated_at) == (1, NOW), "use is no change of belief"


@pytest.mark.gate("RECALL-21")
async def test_uses_are_written_within_seconds_and_without_another_call(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TOUCH_FLUSH_SECONDS <= 5
    monkeypatch.setattr(namespace_reads, "TOUCH_FLUSH_SECONDS", 0.05)
    namespace = await six(world)
    for times in (1, 2):
        await recall(namespace, "tea", touch="top")
        await eventually(lambda times=times: _most(namespace) == times, "the uses are written")


def _most(namespace: Namespace) -> int:
    return max((count for count, _ in uses(namespace).values()), default=0)


@pytest.mark.gate("RECALL-21")
async def test_uses_are_written_before_a_run_and_at_the_end(world: World) -> None:
    namespace = await six(world, forgetThresholdCount=5)
    found = await recalled(namespace, "tea", touch="top", top_k=1)
    await sweep(namespace)
    assert uses(namespace) == {found[0]: (1, NOW)}
    found = await recalled(namespace, "tea", touch="top", top_k=1, depth="hot")
    await world.restart()
    namespace = await world.registry.open("default", False)
    assert _most(namespace) == 2


@pytest.mark.gate("RECALL-21")
async def test_a_touch_by_name_is_durable_at_once_and_thaws_nothing(world: World) -> None:
    namespace = await six(world)
    await namespace.cold_spill(dry_run=False, target=3)
    (cold, *_), (hot, *_) = ids_in(namespace, "cold"), ids_in(namespace, "hot")
    await namespace.forget(ids=["m5"], reason="asked")
    report = await namespace.touch(ids=[cold, hot, "m5", "nobody", cold])
    assert (report.touched, report.unknown) == (2, ["m5", "nobody"])
    assert uses(namespace) == dict.fromkeys([cold, hot], (1, NOW))
    assert cold in ids_in(namespace, "cold")
    check_columns(namespace)


@pytest.mark.gate("RECALL-22")
async def test_at_most_three_are_thawed_by_one_recall(world: World) -> None:
    namespace = await six(world)
    await namespace.cold_spill(dry_run=False, target=0)
    found = await recalled(namespace, "tea", touch="all")
    await settle(namespace)
    assert sorted(ids_in(namespace, "hot")) == sorted(found[:THAWS_PER_RECALL_MAX])
    assert event_kinds(namespace, "memory.thawed") == ["memory.thawed"] * 3
    check_columns(namespace)


@pytest.mark.gate("RECALL-22")
async def test_looking_thaws_nothing(world: World) -> None:
    namespace = await six(world)
    await namespace.cold_spill(dry_run=False, target=0)
    await recall(namespace, "tea", touch="none")
    await namespace.get_many(ids=["m1", "m2"], include_embedding=True)
    await settle(namespace)
    assert ids_in(namespace, "hot") == []


@pytest.mark.gate("RECALL-22")
async def test_thawing_never_passes_the_hot_threshold(world: World) -> None:
    namespace = await six(world, forgetThresholdCount=2)
    await namespace.cold_spill(dry_run=False, target=0)
    await asyncio.gather(
        *(recall(namespace, word, touch="all", depth="deep") for word in ["tea", "pot"] * 8)
    )
    await settle(namespace)
    assert counted(namespace) == (2, 4, 0)
    await recall(namespace, "pot", touch="all", depth="deep")
    await settle(namespace)
    assert counted(namespace) == (2, 4, 0)
    assert event_kinds(namespace, "memory.thawed") == ["memory.thawed"] * 2


@pytest.mark.gate("RECALL-23")
async def test_looking_is_not_using(world: World) -> None:
    namespace = await six(world)
    await namespace.cold_spill(dry_run=False, target=3)
    await namespace.forget(ids=["m5"], reason="asked")
    before = files_below(world.state_dir)
    for memory_id in ("m0", "m1", "m4"):
        await get(namespace, memory_id, embedding=True)
        await namespace.explain(id=memory_id, policy=None)
    for tier in (None, "hot", "cold", "forgotten"):
        await listed(namespace, tier)
    await recall(namespace, "tea", touch="none", depth="deep")
    await sweep(namespace, dry_run=True, mode="strict")
    await namespace.status()
    await namespace.thresholds_report()
    page = await namespace.runs(limit=10, cursor=None)
    for run in page.runs:
        await namespace.run(run_id=run.run_id)
        await namespace.decisions(run_id=run.run_id, plan_id=None, cursor=None, limit=10)
    assert files_below(world.state_dir) == before
    assert not namespace.touches.pending


@pytest.mark.gate("RECALL-23")
async def test_a_sweep_changes_no_time_and_no_counter(world: World) -> None:
    namespace = await six(world)
    await namespace.touch(ids=["m0"])
    names = "id, created_at, updated_at, last_recalled_at, recall_count, use_count, importance"
    before = query(namespace, f"SELECT {names}, fade_factor, revision FROM memories")
    world.pass_time(3 * DAY)
    await namespace.cold_spill(dry_run=False, target=1)
    await namespace.set_thresholds({"forgetThresholdTotal": 2})
    await sweep(namespace)
    assert counted(namespace)[2] > 0
    assert query(namespace, f"SELECT {names}, fade_factor, revision FROM memories") == before


@pytest.mark.gate("RECALL-24")
async def test_what_is_used_stays_when_others_go(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await put(namespace, *(memory(f"m{n:02}", days=60, content=f"fact {n}") for n in range(11)))
    assert await recalled(namespace, "fact 3", touch="top", top_k=1) == ["m03"]
    report = await sweep(namespace)
    assert report.counts["forget"] == 2
    assert "m03" not in ids_in(namespace, "forgotten")
