"""Restoring: every way back, what it says of each id, and the grace that follows."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.errors import MemoryExists, RunNotUndoable, RunUnknown
from sidecar.model import FORGOTTEN, INVALIDATED, MemoryInput
from sidecar.namespace import Namespace
from sidecar.reports import RestoreReport
from sidecar.store import rows
from sidecar.store.sqlite.writer import Transaction
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    counted,
    decided,
    fill,
    get,
    ids_in,
    many,
    memory,
    payloads,
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


def answers(report: RestoreReport) -> dict[str, tuple[str, str | None]]:
    """What a report says of each id: the result, and the tier it lies in now."""
    return {one.id: (one.result, one.tier) for one in report.results}


async def forgotten_store(world: World, count: int = 40) -> tuple[Namespace, str]:
    """A store of which one run forgot the older half: every other one hot, the rest cold."""
    namespace = await world.open(
        automatic=False, forgetThresholdTotal=count // 2, lowWatermark=1.0, brakeShare=1.0
    )
    memories = many(count)
    await fill(namespace, memories[1::2])
    await namespace.cold_spill(dry_run=False, target=0)
    await fill(namespace, memories[::2])
    report = await sweep(namespace)
    assert report.counts["forget"] == count // 2
    return namespace, str(report.run_id)


@pytest.mark.gate("RESTORE-01")
async def test_by_id_a_memory_comes_back_to_hot_and_is_found_again(world: World) -> None:
    namespace, _ = await forgotten_store(world)
    assert await get(namespace, "m00001") is None
    assert await recalled(namespace, "m00001 says", depth="deep", top_k=100) != []
    assert "m00001" not in await recalled(namespace, "m00001 says", depth="deep", top_k=100)
    report = await restore(namespace, "m00001", "m00002", "m00001")
    assert answers(report) == {"m00001": ("restored", "hot"), "m00002": ("restored", "hot")}
    assert report.counts == {"restored": 2}
    shown = await get(namespace, "m00001")
    assert shown is not None
    assert (shown.restored_at, shown.forgotten_at, shown.recall_count) == (NOW, None, 0)
    assert (await recalled(namespace, "m00001 says"))[0] == "m00001"
    again = await restore(namespace, "m00001")
    assert answers(again) == {"m00001": ("already_here", "hot")}
    assert again.run_id is None


@pytest.mark.gate("RESTORE-02")
@pytest.mark.parametrize("way", ["run", "reason"])
async def test_by_run_or_by_reason_each_goes_back_to_the_tier_it_left(
    world: World, way: str
) -> None:
    namespace, run_id = await forgotten_store(world)
    exact = payloads(namespace)
    if way == "run":
        report = await restore(namespace, run_id=run_id)
    else:
        assert (await restore(namespace, reason="disk_over_threshold")).results == []
        report = await restore(namespace, reason="total_over_threshold")
    assert report.counts == {"restored": 20}
    there = tiers(namespace)
    assert {one: there[one] for one in sorted(there)} == {
        f"m{n:05}": "hot" if n % 2 == 0 else "cold" for n in range(40)
    }
    assert payloads(namespace) == exact
    assert counted(namespace) == (20, 20, 0)
    assert not report.paused, "a restore is no undo: automatic runs go on"
    state_hash(namespace)


@pytest.mark.gate("RESTORE-02")
async def test_a_hosts_own_reason_brings_back_what_it_forgot(world: World) -> None:
    namespace = await world.open()
    await put(namespace, *many(6))
    await namespace.forget(ids=["m00001", "m00002"], reason="user asked 지워줘")
    await namespace.forget(ids=["m00003"], reason="other")
    report = await restore(namespace, reason="user asked 지워줘")
    assert sorted(answers(report)) == ["m00001", "m00002"]
    assert sorted(answers(await restore(namespace, reason="called"))) == ["m00003"]


@pytest.mark.gate("RESTORE-03")
async def test_every_result_says_what_is_believed_of_the_memory(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(
        namespace,
        memory("plain"),
        memory("older"),
        memory("newer", supersedes="older"),
        memory("over", expires_at=NOW + DAY),
        memory("wrong"),
        memory("here"),
    )

    def invalidate(tx: Transaction) -> None:
        row = rows.by_id(tx.connection, "wrong")
        assert row is not None
        row.status = INVALIDATED
        rows.update(tx.connection, row)
        tx.after_commit.append(lambda columns: columns.put(row, 0))

    namespace.store.writer.call(invalidate)
    ids = ["plain", "older", "over", "wrong"]
    await namespace.forget(ids=ids, reason="asked")
    world.pass_time(2 * DAY)
    report = await restore(namespace, *ids, "here", "nobody")
    assert answers(report) == {
        "plain": ("restored", "hot"),
        "older": ("superseded", "hot"),
        "over": ("expired", "hot"),
        "wrong": ("invalidated", "hot"),
        "here": ("already_here", "hot"),
        "nobody": ("unknown", None),
    }
    statuses = dict(query(namespace, "SELECT id, status FROM memories"))
    assert (statuses["older"], statuses["wrong"]) == (1, 3), "no claim is believed again"
    found = await recalled(namespace, "says", top_k=50)
    assert sorted(found) == ["here", "newer", "plain"]


@pytest.mark.gate("RESTORE-03")
async def test_a_memory_whose_segment_is_damaged_is_a_conflict_and_the_others_come(
    world: World,
) -> None:
    namespace = await world.open()
    await put(namespace, *many(6))
    await namespace.forget(ids=["m00001"], reason="a")
    (segment,) = query(namespace, "SELECT name FROM segments")
    await namespace.forget(ids=["m00002"], reason="b")
    path = namespace.store.files.path(FORGOTTEN, segment[0])
    raw = bytearray(path.read_bytes())
    raw[20] ^= 0xFF
    path.chmod(0o600)
    path.write_bytes(raw)
    namespace.store.files.drop(FORGOTTEN, segment[0])
    report = await restore(namespace, "m00001", "m00002")
    assert answers(report) == {"m00001": ("conflict", "forgotten"), "m00002": ("restored", "hot")}
    assert (await namespace.status()).corrupt == 1


@pytest.mark.gate("RESTORE-04")
async def test_what_was_restored_is_left_alone_for_its_grace(world: World) -> None:
    namespace, run_id = await forgotten_store(world)
    await restore(namespace, run_id=run_id)
    back = {f"m{n:05}" for n in range(20)}
    await namespace.set_thresholds({"forgetThresholdTotal": 2, "forgetThresholdCount": 5})
    for mode in ("normal", "strict"):
        report = await sweep(namespace, mode=mode)
        assert not back & set(decided(report, "forget"))
        assert report.protected["restored"] == 20
        assert report.shortfall is not None
    assert back == {one for one, tier in tiers(namespace).items() if tier != "forgotten"}
    world.pass_time(30 * DAY - 1)
    assert (await sweep(namespace)).counts["forget"] == 0
    world.pass_time(1)
    assert set(decided(await sweep(namespace), "forget")) <= back
    assert counted(namespace)[2] == 38


@pytest.mark.gate("RESTORE-04")
async def test_what_was_restored_is_spilled_last(world: World) -> None:
    namespace, _ = await forgotten_store(world)
    await restore(namespace, "m00000")
    report = await namespace.cold_spill(dry_run=False, target=1)
    assert "m00000" not in decided(report)
    assert ids_in(namespace, "hot") == ["m00000"]


@pytest.mark.gate("RESTORE-05")
async def test_an_undo_brings_all_back_to_where_it_was_and_pauses(world: World) -> None:
    namespace = await world.open(
        automatic=False,
        forgetThresholdCount=20,
        forgetThresholdTotal=60,
        lowWatermark=1.0,
        brakeShare=1.0,
    )
    await fill(namespace, many(40))
    await namespace.cold_spill(dry_run=False, target=10)
    await fill(namespace, many(60, "n"))
    before, exact, counts = tiers(namespace), payloads(namespace), counted(namespace)
    report = await sweep(namespace)
    assert report.counts["spill"] > 0
    assert report.counts["forget"] == 40
    undone = await namespace.undo(run_id=str(report.run_id))
    assert undone.counts == {"restored": len(report.decisions)}
    assert undone.paused
    assert (tiers(namespace), payloads(namespace), counted(namespace)) == (before, exact, counts)
    (undo, undone_run) = (await namespace.runs(limit=2, cursor=None)).runs
    assert (undo.kind, undo.undoes) == ("undo", report.run_id)
    assert (undone_run.state, undone_run.undone_by) == ("undone", undo.run_id)
    state_hash(namespace)


@pytest.mark.gate("RESTORE-05")
async def test_after_an_undo_nothing_is_swept_by_itself_until_resumed(world: World) -> None:
    namespace = await world.open(forgetThresholdCount=20)
    await fill(namespace, many(30))
    await settle(namespace)
    (run,) = (await namespace.runs(limit=5, cursor=None)).runs
    await namespace.undo(run_id=run.run_id)
    await put(namespace, memory("more"))
    await settle(namespace)
    assert counted(namespace) == (31, 0, 0)
    await world.restart()
    namespace = await world.registry.open("default", False)
    world.pass_time(40 * DAY)
    await put(namespace, memory("even-more"))
    await settle(namespace)
    assert counted(namespace) == (32, 0, 0)
    assert [one.reason for one in (await namespace.thresholds_report()).paused] == ["undo"]
    assert any("undone" in alarm for alarm in (await namespace.status()).alarms)
    await namespace.resume()
    await settle(namespace)
    assert counted(namespace) == (18, 14, 0)


@pytest.mark.gate("RESTORE-06")
async def test_a_run_is_undone_once_and_an_undo_never(world: World) -> None:
    namespace, run_id = await forgotten_store(world)
    undone = await namespace.undo(run_id=run_id)
    with pytest.raises(RunNotUndoable):
        await namespace.undo(run_id=run_id)
    with pytest.raises(RunNotUndoable):
        await namespace.undo(run_id=str(undone.run_id))
    for unknown in ("run-nobody", "", "x" * 256):
        with pytest.raises(RunUnknown) as refused:
            await namespace.undo(run_id=unknown)
        assert refused.value.data["field"] == "$.runId"
        with pytest.raises(RunUnknown):
            await restore(namespace, run_id=unknown)
    assert counted(namespace) == (20, 20, 0)


@pytest.mark.gate("RESTORE-06")
async def test_an_undo_leaves_what_moved_since_where_it_is(world: World) -> None:
    namespace, run_id = await forgotten_store(world)
    await restore(namespace, "m00000")
    await restore(namespace, "m00001")
    await namespace.forget(ids=["m00001"], reason="asked")
    await namespace.put(memory=memory("m00002", content="written anew"), if_exists="replace")
    undone = await namespace.undo(run_id=run_id)
    assert undone.counts == {"restored": 17, "already_here": 2, "changed": 1}
    assert answers(undone)["m00001"] == ("changed", "forgotten")
    shown = await get(namespace, "m00002")
    assert shown is not None
    assert shown.content == "written anew"


@pytest.mark.gate("RESTORE-06")
async def test_the_runs_of_a_host_and_of_a_spill_can_be_undone_too(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *many(20))
    spilled = await namespace.cold_spill(dry_run=False, target=5)
    gone = await namespace.forget(ids=["m00001", "m00019"], reason="asked")
    await namespace.undo(run_id=str(gone.run_id))
    assert tiers(namespace)["m00001"] == "cold"
    assert tiers(namespace)["m00019"] == "hot"
    report = await namespace.undo(run_id=str(spilled.run_id))
    assert report.counts == {"restored": 14, "already_here": 1}
    assert set(tiers(namespace).values()) == {"hot", "cold"}
    assert ids_in(namespace, "cold") == ["m00001"], "where the first undo brought it back to"


@pytest.mark.gate("RESTORE-07")
async def test_a_forgotten_id_still_exists_and_a_replacement_brings_it_back(
    world: World,
) -> None:
    namespace, _ = await forgotten_store(world)
    with pytest.raises(MemoryExists):
        await put(namespace, memory("m00001"))
    skipped = await namespace.put(memory=memory("m00001", content="new"), if_exists="skip")
    assert (skipped.tier, skipped.content) == ("forgotten", "")
    replaced = await namespace.put(
        memory=MemoryInput(id="m00001", content="new words"), if_exists="replace"
    )
    assert (replaced.tier, replaced.content, replaced.restored_at) == ("hot", "new words", NOW)
    assert counted(namespace) == (11, 10, 19)
    assert (await recalled(namespace, "new words"))[0] == "m00001"
    state_hash(namespace)
