"""Moves between tiers: everything comes back as it was, in whatever order it went."""

import base64
import itertools
import random
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.model import Memory
from sidecar.namespace import Namespace
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    counted,
    decided,
    event_kinds,
    fill,
    get,
    ids_in,
    many,
    memory,
    payloads,
    put,
    query,
    recall,
    recalled,
    restore,
    settle,
    state_hash,
    sweep,
    tiers,
    vector,
)

EXACT = struct.pack("<6f", 0.1, -0.0, 1e-45, 3.4e38, -1.17e-38, 1 / 3)
STRANGE = [
    memory("커피-v1780000000001", content="커피를 좋아한다. 설탕은 넣지 않는다 ☕️🇰🇷"),
    memory(
        "👩‍👩‍👧-v1780000000002", content="family 👩‍👩‍👧 lives in São Paulo\r\n\tand  Zürich\u2028"
    ),
    memory("é", content="composed"),
    memory("e\u0301", content="decomposed: another id, another memory"),
    memory("'; DROP TABLE memories; --", content='quotes " and \\ back\\slashes and \x01 \x7f'),
    memory("../../etc/passwd", content="\ufeffbyte order mark, ends in spaces   "),
    memory("a" * 256, content="long id"),
    memory(
        "vector",
        embedding=base64.b64encode(EXACT).decode(),
        embedding_model="모델-1",
        metadata={"b": [1.5, -0.0, None, True, {"깊이": "🙂"}], "a": 2**53 - 1, "": ""},
        memory_type="procedural",
        success_count=3,
        failure_count=1,
        recall_count=7,
        last_recalled_at=NOW - 40 * DAY,
        usefulness_score=-1.25,
        last_useful_at=NOW - 50 * DAY,
        valid_from=NOW - 300 * DAY,
    ),
    memory("plain-vector", embedding=[0.25, -1.5, 1e30]),
    memory("big", content="많이 " * 50_000, metadata={"filler": "x" * 60_000}),
]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def strange_store(world: World) -> Namespace:
    """A store of memories that are hard to keep exactly, one with fields of its own."""
    namespace = await world.open(automatic=False)
    await put(namespace, *STRANGE)
    foreign = {"id": "extra", "content": "from elsewhere", "createdAt": NOW - 90 * DAY}
    foreign |= {"주인": "나", "nested": {"deep": [1, 2.5, "셋"]}, "tags": []}
    await namespace.import_many(
        memories=[foreign], if_exists="error", skip_bad=False, source="test"
    )
    return namespace


async def everything(namespace: Namespace) -> dict[str, Memory]:
    """Every live memory as it is answered, with its vector."""
    ids = list(tiers(namespace))
    found = await namespace.get_many(ids=ids, include_embedding=True)
    return {one.id: one for one in found if one is not None}


def beliefs(memories: dict[str, Memory], *without: str) -> dict[str, dict[str, Any]]:
    """What is known of each memory, apart from where it lies."""
    left_out = {"tier", "bytes", *without}
    return {
        memory_id: {
            name: value
            for name, value in msgspec.structs.asdict(one).items()
            if name not in left_out
        }
        for memory_id, one in memories.items()
    }


@pytest.mark.gate("APPLY-01")
async def test_what_is_spilled_and_thawed_comes_back_byte_for_byte(world: World) -> None:
    namespace = await strange_store(world)
    exact, known, state = payloads(namespace), await everything(namespace), state_hash(namespace)
    assert exact["vector"][-1] == EXACT
    await namespace.cold_spill(dry_run=False, target=0)
    assert set(tiers(namespace).values()) == {"cold"}
    assert payloads(namespace) == exact
    assert beliefs(await everything(namespace)) == beliefs(known)
    assert state_hash(namespace) == state

    await world.restart()
    namespace = await world.registry.open("default", False)
    assert beliefs(await everything(namespace)) == beliefs(known)
    (run,) = (await namespace.runs(limit=10, cursor=None)).runs
    await namespace.undo(run_id=run.run_id)
    assert set(tiers(namespace).values()) == {"hot"}
    assert payloads(namespace) == exact
    assert beliefs(await everything(namespace)) == beliefs(known)
    assert state_hash(namespace) == state


@pytest.mark.gate("APPLY-01")
async def test_a_recall_thaws_byte_for_byte(world: World) -> None:
    namespace = await strange_store(world)
    exact, known = payloads(namespace), await everything(namespace)
    await namespace.cold_spill(dry_run=False, target=0)
    assert await recalled(namespace, "커피", touch="top") == ["커피-v1780000000001"]
    await settle(namespace)
    assert tiers(namespace)["커피-v1780000000001"] == "hot"
    namespace.fold_touches()
    assert payloads(namespace) == exact
    changed = ("recall_count", "last_recalled_at", "strength")
    assert beliefs(await everything(namespace), *changed) == beliefs(known, *changed)


@pytest.mark.gate("APPLY-02")
@pytest.mark.parametrize("first_tier", ["hot", "cold"])
async def test_what_is_forgotten_and_restored_comes_back_byte_for_byte(
    world: World, first_tier: str
) -> None:
    namespace = await strange_store(world)
    exact, known = payloads(namespace), await everything(namespace)
    if first_tier == "cold":
        await namespace.cold_spill(dry_run=False, target=0)
    report = await namespace.forget(ids=list(known), reason="asked")
    assert report.forgotten == len(known)
    assert await everything(namespace) == {}
    assert payloads(namespace) == exact
    world.pass_time(DAY)
    await world.restart()
    namespace = await world.registry.open("default", False)
    await restore(namespace, *known)
    assert set(tiers(namespace).values()) == {"hot"}
    assert payloads(namespace) == exact
    found = await everything(namespace)
    assert {one.restored_at for one in found.values()} == {NOW + DAY}
    assert {one.forgotten_at for one in found.values()} == {None}
    assert beliefs(found, "restored_at", "strength") == beliefs(known, "restored_at", "strength")
    state_hash(namespace)


@pytest.mark.gate("APPLY-03")
async def test_a_chain_goes_oldest_first_and_keeps_its_head(world: World) -> None:
    namespace = await world.open(automatic=False)
    chain = [f"fact-v{NOW + number}" for number in range(5)]
    order = random.Random(3)
    members = [memory(one, days=100, importance=1.0) for one in chain]
    members[-1] = memory(chain[-1], days=300, importance=0.0)
    await put(namespace, *order.sample(members, len(members)), *many(10, importance=0.01))
    for older, newer in itertools.pairwise(chain):
        await namespace.supersede(id=older, by=newer)

    spilled = await namespace.cold_spill(dry_run=True, target=0)
    assert decided(spilled)[:4] == chain[:4]
    assert decided(spilled).index(chain[4]) == 4  # then the weakest of the others: the head
    for keep, gone in ((13, chain[:2]), (11, chain[:4])):
        await namespace.set_thresholds({"forgetThresholdTotal": keep, "lowWatermark": 1.0})
        await sweep(namespace)
        assert [one for one in chain if tiers(namespace)[one] == "forgotten"] == gone
    await namespace.set_thresholds({"forgetThresholdTotal": 1})
    report = await sweep(namespace, mode="strict")
    assert report.protected == {"head": 1}
    assert [one for one, tier in tiers(namespace).items() if tier == "hot"] == [chain[4]]
    assert (await sweep(namespace, mode="strict")).counts["forget"] == 0


@pytest.mark.gate("APPLY-04")
async def test_a_forgotten_memory_leaves_no_trace_in_any_index(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=90)
    memories = many(120)
    for number, one in enumerate(memories):
        one.content = f"the customer ordered item {number}"
        one.embedding = vector(rng)
    await fill(namespace, memories)
    await recall(namespace, "customer", embedding=vector(rng))  # loads the vectors
    report = await sweep(namespace)
    assert report.counts["forget"] == 24  # the brake: a fifth of 120
    gone = set(ids_in(namespace, "forgotten"))
    for table in ("texts", "vectors", "search"):
        key = "rowid" if table == "search" else "rid"
        left = query(namespace, f"SELECT {key} FROM {table} ORDER BY 1")
        live = query(namespace, "SELECT rid FROM memories WHERE tier = 0 ORDER BY 1")
        assert left == live, table
    for depth in ("hot", "auto", "deep"):
        words = await recalled(namespace, "customer ordered", depth=depth, top_k=96)
        near = await recalled(namespace, embedding=vector(rng), depth=depth, top_k=96)
        assert len(words) == len(near) == 96, "a full page after many deletes"
        assert not gone & {*words, *near}
    assert (await get(namespace, next(iter(gone)))) is None


@pytest.mark.gate("APPLY-05")
async def test_a_damaged_memory_stays_and_stops_no_run(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdCount=20, lowWatermark=0.5)
    await put(namespace, *many(21))
    damage = "UPDATE texts SET content = 'rotten' WHERE rid IN (SELECT rid FROM memories"
    namespace.store.writer.call(
        lambda tx: tx.connection.execute(f"{damage} WHERE id IN ('m00000', 'm00003'))").fetchall()
    )
    report = await sweep(namespace)
    assert {one.id: one.why for one in report.skipped} == {"m00000": "corrupt", "m00003": "corrupt"}
    assert report.counts == {"spill": 9, "forget": 0, "skipped": 2}
    assert ids_in(namespace, "cold") == [f"m{n:05}" for n in (1, 2, 4, 5, 6, 7, 8, 9, 10)]
    assert counted(namespace) == (12, 9, 0)
    assert (await namespace.status()).corrupt == 2
    page = await namespace.list(tier=None, status=None, memory_type=None, cursor=None, limit=100)
    assert len(page.memories) == 19, "the others are still listed"
    assert "m00000" not in await recalled(namespace, "says", top_k=50)


@pytest.mark.gate("APPLY-05")
async def test_a_damaged_memory_does_not_make_automatic_sweeps_go_round(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=20, automatic=False)
    await put(namespace, *many(3), *many(18, "p", pinned=True))
    namespace.store.writer.call(
        lambda tx: tx.connection.execute("UPDATE texts SET content = 'rotten'").fetchall()
    )
    await namespace.resume()
    await settle(namespace)
    kinds = event_kinds(namespace, "forgetting.sweep_completed")
    assert counted(namespace) == (21, 0, 0)
    assert len(kinds) == 1
    await put(namespace, memory("more"))
    await settle(namespace)
    assert len(event_kinds(namespace, "forgetting.sweep_completed")) == 1


@pytest.mark.gate("APPLY-06")
async def test_what_protects_at_apply_protects_although_the_plan_said_otherwise(
    world: World,
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=5, lowWatermark=0.2)
    await put(namespace, *(memory(f"v{number}", importance=1.0) for number in range(3)))
    await put(namespace, *many(4))
    await namespace.supersede(id="v0", by="v1")
    plan = await sweep(namespace, dry_run=True)
    assert decided(plan)[0] == "v0"
    # v1 goes by the host's own wish: v0 is the only version left, its own record unchanged.
    await namespace.forget(ids=["v1"], reason="asked")
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert [(one.id, one.why) for one in report.skipped] == [("v0", "head")]
    assert tiers(namespace)["v0"] == "hot"


@pytest.mark.gate("APPLY-07")
async def test_every_move_is_an_event_of_its_run(world: World) -> None:
    namespace = await world.open(
        automatic=False, forgetThresholdCount=10, forgetThresholdTotal=18, lowWatermark=1.0
    )
    await put(namespace, *many(20))
    report = await sweep(namespace)
    undone = await namespace.undo(run_id=str(report.run_id))
    rows = query(
        namespace,
        "SELECT run_id, kind, count(*) FROM events WHERE run_id IS NOT NULL"
        " GROUP BY run_id, kind ORDER BY min(seq)",
    )
    assert rows == [
        (report.run_id, "memory.spilled", 8),
        (report.run_id, "memory.forgotten", 2),
        (report.run_id, "forgetting.sweep_completed", 1),
        (undone.run_id, "memory.restored", 2),
        (undone.run_id, "memory.thawed", 8),
        (undone.run_id, "forgetting.run_undone", 1),
    ]
    words = query(namespace, "SELECT payload FROM events")
    assert not any("what m0" in payload for (payload,) in words), "no content in the log"
    state_hash(namespace)


@pytest.mark.gate("APPLY-08")
async def test_no_memory_is_lost_or_doubled_over_many_runs(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(
        automatic=False, forgetThresholdCount=100, forgetThresholdTotal=250, brakeShare=1.0
    )
    ids: list[str] = []
    exact: dict[str, tuple[Any, ...]] = {}
    for turn in range(6):
        new = [memory(f"t{turn}-{n}", days=rng.randint(2, 400)) for n in range(100)]
        await fill(namespace, new)
        ids += [str(one.id) for one in new]
        exact |= {key: value for key, value in payloads(namespace).items() if key not in exact}
        await sweep(namespace)
        some = rng.sample(ids, 10)
        await restore(namespace, *some)
        await namespace.touch(ids=rng.sample(ids, 20))
        world.pass_time(rng.randint(1, 40) * DAY)
    assert sorted(tiers(namespace)) == sorted(ids)
    assert payloads(namespace) == exact
    await world.restart()
    namespace = await world.registry.open("default", False)
    assert payloads(namespace) == exact
    state_hash(namespace)
