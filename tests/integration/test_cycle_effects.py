"""What is there once a cycle was carried out: in recall and lists, in files, and on damage."""

import asyncio
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path

import pytest

from sidecar.apply.rebuild import rebuild
from sidecar.store.check import Scope, check
from tests.cycling import a_bit_of_all, cycle, decided
from tests.namespaces import (
    World,
    a_world,
    check_columns,
    fill,
    get,
    listed,
    many,
    memory,
    payloads,
    put,
    recalled,
    state_hash,
    tiers,
)

PRUNED = {"home-old", "tea-again", "weaker"}
LEFT = ["home", "tea", "weak", "kept"]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


@pytest.mark.gate("CYC-51")
@pytest.mark.parametrize("cold", [False, True])
async def test_what_was_pruned_is_in_no_recall_of_any_depth_and_in_no_list(
    world: World, cold: bool
) -> None:
    namespace = await world.open(automatic=False)
    memories = a_bit_of_all()
    for at, one in enumerate(memories):
        one.embedding, one.embedding_model = [float(at == place) for place in range(7)], "test"
    memories[3].embedding = memories[2].embedding  # of the two that say the same
    await put(namespace, *memories)
    if cold:
        await namespace.cold_spill(dry_run=False, target=0)
    ids = {str(one.id) for one in memories}

    async def found() -> set[str]:
        """All that recalls of each depth find, by the words of each memory and by its vector."""
        seen: set[str] = set()
        for one, depth in product(memories, ("auto", "hot", "deep")):
            by_vector = {"embedding": one.embedding, "embedding_model": "test"}
            seen |= set(await recalled(namespace, one.content, depth=depth))
            seen |= set(await recalled(namespace, **by_vector, depth=depth))
        return seen

    assert await found() == ids - {"home-old"}, "what is superseded is in no recall"
    assert set(await listed(namespace)) == ids
    await cycle(namespace)
    assert await found() == ids - PRUNED
    assert await listed(namespace) == await listed(namespace, "cold" if cold else "hot") == LEFT
    assert set(await listed(namespace, "forgotten")) == PRUNED


@pytest.mark.gate("CYC-52")
async def test_a_file_goes_with_the_last_memory_that_names_it(world: World) -> None:
    namespace = await world.open(automatic=False)
    media = namespace.store.directory / "media"
    for name in ("all-go.png", "one-stays.png"):
        (media / name).write_bytes(name.encode())
    weaker = {"days": 14, "importance": 0.1}
    await put(
        namespace,
        memory("first", media_ref="all-go.png", **weaker),
        memory("second", media_ref="all-go.png", **weaker),
        memory("goes", media_ref="one-stays.png", **weaker),
        memory("stays", days=14, importance=0.9, media_ref="one-stays.png"),
    )
    report = await cycle(namespace)
    assert {one.record_id for one in report.decisions if one.executed} == {
        "first",
        "second",
        "goes",
    }
    assert [path.name for path in media.glob("*.png")] == ["one-stays.png"]
    (trashed,) = (media / ".trash").rglob("*.png")
    assert trashed.read_bytes() == b"all-go.png"
    assert report.media_deleted == 1
    marked = [one.record_id for one in report.decisions if one.media_deleted]
    page = await namespace.list_events(since=0, limit=9, kinds=["memory.pruned"])
    assert len(page.events) == 3
    assert all(event.payload["hadMedia"] for event in page.events)
    told = [event.memory_id for event in page.events if event.payload["mediaDeleted"]]
    assert marked == told
    assert len(told) == 1
    assert told[0] in ("first", "second")
    await namespace.undo(run_id=str(report.run_id))
    assert {path.name: path.read_bytes() for path in media.glob("*.png")} == {
        name: name.encode() for name in ("all-go.png", "one-stays.png")
    }


@pytest.mark.gate("CYC-53")
async def test_a_damaged_segment_costs_its_own_memories_alone_their_prune(world: World) -> None:
    namespace = await world.open(automatic=False, brakeShare=1.0)
    weaker = [memory(f"bad{at}", days=14, importance=0.1) for at in range(5)]
    await put(namespace, *weaker)
    await namespace.cold_spill(dry_run=False, target=0)
    (damaged,) = (namespace.store.directory / "cold").glob("seg-*")
    await put(namespace, *[memory(f"good{at}", days=14, importance=0.1) for at in range(5)])
    await put(namespace, memory("weak", days=14, importance=0.3))
    await namespace.cold_spill(dry_run=False, target=0)
    damaged.chmod(0o600)
    damaged.write_bytes(damaged.read_bytes()[:100])
    report = await cycle(namespace)
    went = {one.record_id: (one.executed, one.skipped) for one in report.decisions}
    assert went == {
        **{f"bad{at}": (False, "corrupt") for at in range(5)},
        **{f"good{at}": (True, None) for at in range(5)},
        "weak": (True, None),
    }
    assert (report.pruned, report.faded, report.kept, report.skipped_records) == (5, 1, 5, 5)
    where = tiers(namespace)
    assert {where[f"bad{at}"] for at in range(5)} == {"cold"}
    assert {where[f"good{at}"] for at in range(5)} == {"forgotten"}
    assert (await namespace.status()).corrupt == 5
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("CYC-54")
async def test_the_log_and_the_archive_give_back_what_a_cycle_left(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *a_bit_of_all(), memory("weak-2", days=14, importance=0.3))
    await namespace.cold_spill(dry_run=False, target=4)
    run = await cycle(namespace)
    assert decided(run)["weak-2"][0] == "fade"
    await fill(namespace, many(3, "later", importance=0.9))
    before, where, kept = state_hash(namespace), tiers(namespace), payloads(namespace)
    await world.registry.close_all()
    directory = world.directory()
    whole = Scope(read_data=True, replay=True, at_work=False)
    found = await asyncio.to_thread(check, directory, whole)
    assert [one.detail for one in found.findings if not one.ok] == []
    result = await asyncio.to_thread(rebuild, directory, in_place=True)
    assert (result.refused, result.after) == ([], before)
    found = await asyncio.to_thread(check, directory, whole)
    assert [one.detail for one in found.findings if not one.ok] == []

    await world.start()
    namespace = await world.registry.open("default", False)
    assert (state_hash(namespace), tiers(namespace)) == (before, where)
    assert payloads(namespace) == kept
    for weak in ("weak", "weak-2"):
        faded = await get(namespace, weak)
        assert faded is not None
        assert (faded.importance, faded.importance_base) == (0.15, 0.3)
    again = await cycle(namespace)
    assert decided(again)["weak"] == ("keep", "time_decay", "fade_interval")
    undone = await namespace.undo(run_id=str(run.run_id))
    assert undone.counts == {"restored": 4, "superseded": 1}
