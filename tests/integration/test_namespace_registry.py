"""Namespaces: names, walls, how many are open, and how they close."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar import namespace_reads, registry
from sidecar.errors import (
    InvalidParams,
    NamespaceConflict,
    NamespaceNotFound,
    NamespacesExhausted,
    ShuttingDown,
)
from sidecar.limits import NAMESPACE_NAME_BYTES_MAX, NAMESPACES_OPEN_MAX
from sidecar.namespace import Namespace
from tests.namespaces import (
    World,
    a_world,
    counted,
    eventually,
    files_below,
    fill,
    get,
    listed,
    many,
    memory,
    put,
    query,
    recall,
    recalled,
    restore,
    settle,
    state_hash,
    sweep,
)

CANARY = "canary-7f3a"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def open_names(world: World) -> set[str]:
    """The namespaces that are open."""
    return {one.namespace for one in world.registry.names() if one.open}


@pytest.mark.gate("STORE-20")
@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../other",
        "a/b",
        "/etc",
        "a\\b",
        "a b",
        "a\0b",
        "a\n",
        ".hidden",
        "-dash",
        "_under",
        "x" * (NAMESPACE_NAME_BYTES_MAX + 1),
        "이름",
        "é",
        "ａ",
        "a:b",
        "~",
    ],
)
async def test_a_bad_name_is_refused_and_leaves_nothing_behind(world: World, name: str) -> None:
    before = files_below(world.state_dir)
    folders = set(world.state_dir.rglob("*"))
    for create in (True, False):
        with pytest.raises(InvalidParams) as refused:
            await world.registry.open(name, create)
        assert refused.value.data["field"] == "$.namespace"
        assert {"bound", "remedy"} <= set(refused.value.data)
    assert (files_below(world.state_dir), set(world.state_dir.rglob("*"))) == (before, folders)


@pytest.mark.gate("STORE-20")
async def test_good_names_are_directories_of_their_own(world: World) -> None:
    names = ["a", "A.b_c-d", "9", "x" * NAMESPACE_NAME_BYTES_MAX, "a..b"]
    for name in names:
        await put(await world.open(name), memory(f"in {name}"))
    assert [one.namespace for one in world.registry.names()] == sorted(names)
    for name in names:
        assert (world.directory(name).stat().st_mode & 0o777) == 0o700
        assert await listed(await world.registry.open(name, False)) == [f"in {name}"]
        for path in world.directory(name).rglob("*"):
            assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.gate("STORE-20")
async def test_names_that_differ_by_letter_case_only_are_one_too_many(world: World) -> None:
    await world.open("Agent")
    for name in ("agent", "AGENT"):
        for create in (True, False):
            with pytest.raises(NamespaceConflict):
                await world.registry.open(name, create)
    both = await asyncio.gather(
        *(world.registry.open(name, True) for name in ("new", "NEW")), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in both) == ["Namespace", "NamespaceConflict"]


@pytest.mark.gate("STORE-20")
async def test_reading_makes_no_namespace(world: World) -> None:
    before = set(world.state_dir.rglob("*"))
    with pytest.raises(NamespaceNotFound) as refused:
        await world.registry.open("nobody", False)
    assert "namespaces.open" in refused.value.data["remedy"]
    assert set(world.state_dir.rglob("*")) == before
    assert world.registry.names() == []


@pytest.mark.gate("STORE-21")
async def test_nothing_of_one_namespace_is_seen_from_another(world: World) -> None:
    one, other = await world.open("one", automatic=False), await world.open("other")
    await put(one, memory("m", content=f"{CANARY} hot", embedding=[1.0, 0.0]))
    await put(one, memory("cold", content=f"{CANARY} cold"), memory("gone", content=CANARY))
    await one.cold_spill(dry_run=False, target=2)
    forgotten = await one.forget(ids=["gone"], reason=CANARY)
    plan = await sweep(one, dry_run=True)
    await put(other, memory("m", content="its own", embedding=[0.0, 1.0]))

    assert await recalled(other, CANARY, depth="deep") == []
    near = await recall(other, embedding=[1.0, 0.0], depth="deep")
    assert [found.memory.content for found in near.results] == ["its own"]
    assert await listed(other) == ["m"]
    assert await listed(other, "forgotten") == []
    assert await get(other, "cold") is None
    results = (await restore(other, "gone")).results
    assert [result.result for result in results] == ["unknown"]
    with pytest.raises(InvalidParams):  # a reason that nobody here ever gave
        await restore(other, reason=CANARY)
    assert (await other.runs(limit=10, cursor=None)).runs == []
    wrong: list[Any] = [
        other.run(run_id=str(forgotten.run_id)),
        other.undo(run_id=str(forgotten.run_id)),
        sweep(other, plan_id=plan.plan_id),
        other.decisions(run_id=None, plan_id=plan.plan_id, cursor=None, limit=10),
    ]
    for call in wrong:
        with pytest.raises(Exception, match=r"No (run|plan) has this id") as refused:
            await call
        assert CANARY not in str(vars(refused.value))
    shown = await other.status()
    assert (shown.counts.total, shown.last_run) == (1, None)
    await world.registry.close_all()
    for path in world.directory("other").rglob("*"):
        assert path.is_dir() or CANARY.encode() not in path.read_bytes()
    await world.start()


@pytest.mark.gate("STORE-21")
async def test_sweeping_one_namespace_leaves_the_others_byte_for_byte(world: World) -> None:
    one, other = await world.open("one"), await world.open("other", forgetThresholdCount=50)
    for namespace in (one, other):
        await fill(namespace, many(40))
    await settle(other)
    before = files_below(world.directory("other"))
    await one.set_thresholds({"forgetThresholdCount": 10, "forgetThresholdTotal": 20})
    await settle(one)
    await sweep(one)
    assert counted(one) == (9, 9, 22)
    assert files_below(world.directory("other")) == before


@pytest.mark.gate("STORE-22")
async def test_at_most_so_many_are_open_and_the_longest_unused_makes_room(world: World) -> None:
    names = [f"n{number:02}" for number in range(NAMESPACES_OPEN_MAX)]
    await asyncio.gather(*(world.registry.open(name, True) for name in names))
    assert open_names(world) == set(names)
    await put(await world.registry.open("n05", False), memory("m"))
    for name in names:
        if name != "n07":
            await world.registry.open(name, False)
    late = [f"late{number}" for number in range(5)]
    await asyncio.gather(*(world.registry.open(name, True) for name in late))
    still = open_names(world)
    assert len(still) == NAMESPACES_OPEN_MAX
    assert set(late) <= still
    assert "n07" not in still
    assert await listed(await world.registry.open("n05", False)) == ["m"]


@pytest.mark.gate("STORE-22")
async def test_a_busy_namespace_is_not_closed_to_make_room(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "NAMESPACES_OPEN_MAX", 2)
    monkeypatch.setattr(namespace_reads, "TOUCH_FLUSH_SECONDS", 60.0)
    first, _ = await world.open("first"), await world.open("second")
    await put(first, memory("m"))
    await recall(first, "says", touch="top")
    assert first.busy
    await world.open("third")
    assert open_names(world) == {"first", "third"}
    third = await world.registry.open("third", False)
    await put(third, memory("m"))
    await recall(third, "says", touch="top")
    with pytest.raises(NamespacesExhausted) as refused:
        await world.open("fourth")
    assert refused.value.retryable
    assert not world.directory("fourth").exists()


@pytest.mark.gate("STORE-23")
async def test_an_idle_namespace_closes_and_opens_again_when_asked_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.registry.close_all()
    monkeypatch.setattr(registry, "SWEEP_TIMER_SECONDS", 0.01)
    await world.start()
    namespace = await world.open("idle")
    await put(namespace, memory("m"))
    await recall(namespace, "says", touch="top")
    namespace.fold_touches()
    before = state_hash(namespace)
    monkeypatch.setattr(registry, "NAMESPACE_IDLE_SECONDS", 0.0)
    await eventually(lambda: open_names(world) == set(), "the idle namespace is closed")
    (listing,) = world.registry.names()
    assert (listing.hot, listing.cold, listing.forgotten) == (1, 0, 0)
    monkeypatch.setattr(registry, "NAMESPACE_IDLE_SECONDS", 600.0)
    again = await world.registry.open("idle", False)
    assert again is not namespace
    assert state_hash(again) == before


@pytest.mark.gate("STORE-23")
async def test_closing_waits_for_what_is_under_way(world: World) -> None:
    namespace = await world.open()
    writes = [
        asyncio.create_task(namespace.put(memory=memory(f"m{n}"), if_exists="error"))
        for n in range(50)
    ]
    await asyncio.sleep(0)
    await world.registry.close_all()
    done = await asyncio.gather(*writes, return_exceptions=True)
    stored = {one.id for one in done if not isinstance(one, BaseException)}
    assert all(isinstance(one, ShuttingDown) for one in done if isinstance(one, BaseException))
    with pytest.raises(ShuttingDown):
        await world.registry.open("default", True)
    await world.start()
    assert set(await listed(await world.registry.open("default", False))) == stored


@pytest.mark.gate("STORE-24")
async def test_opening_the_same_namespace_at_once_opens_it_once(world: World) -> None:
    opened = await asyncio.gather(*(world.registry.open("one", True) for _ in range(20)))
    assert len({id(one) for one in opened}) == 1
    assert isinstance(opened[0], Namespace)
    assert query(opened[0], "SELECT count(*) FROM events") == [(1,)]


@pytest.mark.gate("STORE-24")
async def test_a_namespace_that_cannot_be_opened_stops_no_other(world: World) -> None:
    for name in ("good", "bad"):
        await put(await world.open(name), memory("m"))
    await world.registry.close_all()
    (world.directory("bad") / "hot.db").write_bytes(b"not a database" * 1_000)
    (world.directory("bad") / "hot.db-wal").write_bytes(b"x")
    await world.start()
    assert await listed(await world.registry.open("good", False)) == ["m"]
    for _ in range(2):
        with pytest.raises(Exception, match=r"(?i)damaged|hash|corrupt|database"):
            await world.registry.open("bad", False)
