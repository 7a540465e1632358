"""Many memories in one call: all or nothing, the good ones, and another system's records."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import InvalidParams, MemoryExists
from sidecar.namespace import Namespace
from sidecar.reports import ImportReport
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    check_columns,
    counted,
    decided,
    event_kinds,
    files_below,
    fill,
    get,
    listed,
    many,
    memory,
    put,
    query,
    recalled,
    restore,
    settle,
    state_hash,
    sweep,
    tiers,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def bring_in(
    namespace: Namespace, *records: dict[str, Any], if_exists: Any = "skip", skip_bad: bool = False
) -> ImportReport:
    """memory.import of these records."""
    return await namespace.import_many(
        memories=records, if_exists=if_exists, skip_bad=skip_bad, source="a test"
    )


@pytest.mark.gate("RECORD-11")
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_one_bad_member_and_nothing_is_stored(world: World, place: int) -> None:
    namespace = await world.open()
    await put(namespace, memory("there"))
    before, kinds = state_hash(namespace), event_kinds(namespace)
    for bad, field, error in (
        (memory("bad", content=" "), "content", InvalidParams),
        (memory("there"), "id", MemoryExists),
        (memory("bad", supersedes=["nobody"]), "supersedes", InvalidParams),
    ):
        members = [memory("a"), memory("b")]
        members.insert(place, bad)
        with pytest.raises(error) as refused:
            await namespace.put_many(memories=members, if_exists="error", partial=False)
        assert refused.value.data["field"] == f"$.memories[{place}].{field}"
    assert await listed(namespace) == ["there"]
    assert (state_hash(namespace), event_kinds(namespace)) == (before, kinds)
    assert counted(namespace) == (1, 0, 0)


@pytest.mark.gate("RECORD-11")
async def test_in_a_partial_call_the_bad_members_are_named_and_the_others_stored(
    world: World,
) -> None:
    namespace = await world.open()
    await put(namespace, memory("there"))
    report = await namespace.put_many(
        memories=[
            memory("a"),
            memory("bad", content=""),
            memory("there"),
            memory("loop", supersedes="loop"),
            memory("lost", supersedes=["a", "nobody"]),
            memory("b", supersedes="a"),
        ],
        if_exists="error",
        partial=True,
    )
    results = [(one.id, one.result, one.error and one.error["data"]) for one in report.results]
    assert [(one, result) for one, result, _ in results] == [
        ("a", "created"),
        ("bad", "failed"),
        ("there", "failed"),
        ("loop", "failed"),
        ("lost", "failed"),
        ("b", "created"),
    ]
    assert (report.created, report.failed, report.skipped, report.replaced) == (2, 4, 0, 0)
    fields = [data["field"] for _, _, data in results if data]
    assert fields[0] == "$.memories[1].content"
    assert fields[1] == "$.memories[2].id"
    assert await listed(namespace) == ["there", "a", "b"]
    shown = await get(namespace, "a")
    assert shown is not None
    assert shown.superseded_by == "b", "nothing of the failed one is left"
    assert counted(namespace) == (3, 0, 0)
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("RECORD-11")
async def test_one_call_may_hold_an_id_twice_and_a_chain(world: World) -> None:
    namespace = await world.open()
    report = await namespace.put_many(
        memories=[
            memory("m", content="first"),
            memory("m", content="second"),
            memory("old"),
            memory("new", supersedes="old"),
        ],
        if_exists="replace",
        partial=False,
    )
    assert [one.result for one in report.results] == ["created", "replaced", "created", "created"]
    shown = await get(namespace, "m")
    assert shown is not None
    assert shown.content == "second"
    assert await recalled(namespace, "first second") == ["m"]
    assert counted(namespace) == (3, 0, 0)
    assert await recalled(namespace, "says") == ["new"]


@pytest.mark.gate("RECORD-12")
async def test_what_an_import_does_not_know_is_kept_and_comes_back(world: World) -> None:
    namespace = await world.open()
    record = {
        "id": "entity:커피-v1780000000000",
        "content": "likes coffee",
        "importance": 0.4,
        "entityType": "person",
        "observations": ["한국어", {"deep": [1, 2.5, None]}],
        "tier": "cold",
        "revision": 7,
        "strength": 0.9,
    }
    report = await bring_in(namespace, record)
    assert (report.created, report.errors) == (1, [])
    expected = {name: record[name] for name in record if name not in ("id", "content")}
    del expected["importance"]
    for _ in range(2):
        shown = await get(namespace, str(record["id"]))
        assert shown is not None
        assert shown.extra == expected
        assert (shown.tier == "hot", shown.revision, shown.importance) == (True, 1, 0.4)
        await namespace.forget(ids=[str(record["id"])], reason="asked")
        await restore(namespace, str(record["id"]))
    state_hash(namespace)


@pytest.mark.gate("RECORD-12")
async def test_the_same_import_twice_changes_nothing(world: World) -> None:
    namespace = await world.open()
    records = [{"id": f"r{n}", "content": f"record {n}", "tag": n} for n in range(50)]
    await bring_in(namespace, *records)
    rows, state = query(namespace, "SELECT * FROM memories"), state_hash(namespace)
    memory_events = event_kinds(namespace, "memory.")
    world.pass_time(DAY)
    report = await bring_in(namespace, *records)
    assert (report.created, report.skipped, report.failed) == (0, 50, 0)
    again = await bring_in(namespace, *records, if_exists="replace")
    assert again.replaced == 50
    assert query(namespace, "SELECT * FROM memories") == rows
    assert (state_hash(namespace), event_kinds(namespace, "memory.")) == (state, memory_events)


@pytest.mark.gate("RECORD-12")
async def test_an_import_skips_bad_records_only_when_told_to(world: World) -> None:
    namespace = await world.open()
    records: list[dict[str, Any]] = [
        {"id": "a", "content": "fine"},
        {"id": "b"},
        {"id": "c", "content": 7},
        {"id": "d", "content": "fine", "recallCount": -1},
        {"id": 5, "content": "fine"},
        {"id": "e", "content": "fine", "embedding": [1, "x"]},
        {"content": "no id"},
    ]
    with pytest.raises(InvalidParams) as refused:
        await bring_in(namespace, *records[2:])
    assert refused.value.data["field"] == "$.memories[0].content"
    assert await listed(namespace) == []
    report = await bring_in(namespace, *records, skip_bad=True)
    assert (report.created, report.failed) == (2, 5)
    assert [(one.index, one.field) for one in report.errors] == [
        (1, "$.memories[1].content"),
        (2, "$.memories[2].content"),
        (3, "$.memories[3].recallCount"),
        (4, "$.memories[4].id"),
        (5, "$.memories[5].embedding[1]"),
    ]
    assert len(await listed(namespace)) == 2


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "seconds": {"createdAt": 1_700_000_000},
    "future": {"createdAt": NOW + 400 * DAY},
    "negative": {"createdAt": -5},
    "recalled": {"lastRecalledAt": 1_700_000_000},
    "important": {"importance": 7},
    "unimportant": {"importance": -1},
    "held": {"heldUntil": 1_900_000_000},
    "expires": {"expiresAt": 1_900_000_000},
}


@pytest.mark.gate("APPLY-10")
async def test_impossible_values_are_imported_counted_listed_and_never_forgotten(
    world: World,
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=2, lowWatermark=0.5)
    base = {"content": "says", "importance": 0.1, "createdAt": NOW - 300 * DAY}
    records = [base | fields | {"id": name} for name, fields in IMPOSSIBLE.items()]
    report = await bring_in(namespace, *records)
    assert report.created == len(records)
    await fill(namespace, many(30))
    status = await namespace.status()
    assert status.unscored == len(IMPOSSIBLE)
    for mode in ("normal", "strict"):
        report_of_sweep = await sweep(namespace, mode=mode)
        assert report_of_sweep.unscored == len(IMPOSSIBLE)
        assert report_of_sweep.unscored_ids == list(IMPOSSIBLE)
        assert report_of_sweep.protected["unscored"] == len(IMPOSSIBLE)
        assert not set(decided(report_of_sweep)) & set(IMPOSSIBLE)
    assert counted(namespace) == (len(IMPOSSIBLE), 0, 30)
    for name in IMPOSSIBLE:
        explanation = await namespace.explain(id=name, policy="balanced")
        assert explanation.policies[0].candidate is False
        assert "unscored" in explanation.policies[0].protections
    assert {"seconds", "expires"} <= set(await recalled(namespace, "says"))
    await world.restart()
    namespace = await world.registry.open("default", False)
    assert (await namespace.status()).unscored == len(IMPOSSIBLE)


@pytest.mark.gate("APPLY-10")
async def test_unscored_memories_spill_last(world: World) -> None:
    namespace = await world.open(automatic=False)
    await bring_in(namespace, {"id": "odd", "content": "x", "createdAt": 5})
    await put(namespace, *many(5))
    await namespace.cold_spill(dry_run=False, target=1)
    assert tiers(namespace)["odd"] == "hot"
    await namespace.cold_spill(dry_run=False, target=0)
    assert tiers(namespace)["odd"] == "cold"


@pytest.mark.gate("RECORD-12")
async def test_an_import_of_very_many_is_swept_like_any_other_write(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=100)
    before = files_below(world.state_dir)
    await bring_in(namespace, *({"id": f"r{n}", "content": "x"} for n in range(250)))
    await settle(namespace)
    assert counted(namespace) == (90, 160, 0)
    assert files_below(world.state_dir) != before
