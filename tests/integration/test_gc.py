"""Hard collection by age, by run and by ids: what is chosen, what is refused, what is left."""

from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import InvalidParams, MemoryNotFound, RunNotUndoable, RunUnknown
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from tests.collecting import destroy, plan
from tests.namespaces import (
    DAY,
    a_world,
    check_columns,
    counted,
    event_kinds,
    files_below,
    fill,
    get,
    many,
    memory,
    payloads,
    put,
    query,
    restore,
    state_hash,
    tiers,
)


async def chosen(namespace: Namespace, *ids: str, **given: Any) -> list[str]:
    """The ids that a plan would destroy, in order."""
    return sorted(row.id for row in (await plan(namespace, *ids, **given))[0].rows)


async def refused(namespace: Namespace, *ids: str, **given: Any) -> dict[str, str]:
    """The ids that a plan refuses, and why."""
    return {one.id: one.why for one in (await plan(namespace, *ids, **given))[0].refused}


@pytest.mark.gate("GC-01")
async def test_age_counts_from_becoming_forgotten_to_the_millisecond(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await put(namespace, memory("old", 900), memory("live", 900))
        await namespace.forget(ids=["old"], reason="called")
        assert await chosen(namespace) == []
        assert await chosen(namespace, older_than_days=0.0) == ["old"]
        world.pass_time(14 * DAY - 1)
        assert await chosen(namespace) == []
        world.pass_time(1)
        assert await chosen(namespace) == ["old"]
        assert await chosen(namespace, older_than_days=14.001) == []
        assert await chosen(namespace, older_than_days=36_500.0) == []
        # Restored and forgotten once more: the time counts anew.
        await restore(namespace, "old")
        await namespace.forget(ids=["old"], reason="called")
        assert await chosen(namespace) == []
        # A clock that was set back a year makes nothing older.
        world.pass_time(-365 * DAY)
        assert await chosen(namespace, older_than_days=0.0) == []


@pytest.mark.gate("GC-02")
async def test_a_collection_takes_what_is_old_enough_and_nothing_else(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await fill(namespace, many(700))
        first = [f"m{at:05}" for at in range(0, 600, 2)]
        await namespace.forget(ids=first, reason="called")
        world.pass_time(20 * DAY)
        await namespace.forget(ids=["m00001", "m00003"], reason="called")
        others = {name: kept for name, kept in payloads(namespace).items() if name not in first}
        size = namespace.store.bytes_on_disk()
        report = await destroy(namespace)
        assert (report.destroyed, report.left_count, report.notes) == (300, 0, [])
        assert report.verification is not None
        assert report.verification.clean, report.verification.left
        assert payloads(namespace) == others
        assert counted(namespace) == (398, 0, 2)
        assert namespace.store.bytes_on_disk() < size
        assert report.bytes_reclaimed > 0
        check_columns(namespace)
        before = state_hash(namespace)
        run = await namespace.run(run_id=report.run_id or "")
        assert (run.run.kind, run.run.decisions, run.run.moved) == ("gc", 300, 300)
        with pytest.raises(RunNotUndoable):
            await namespace.undo(run_id=report.run_id or "")
        assert event_kinds(namespace, "gc.") == ["gc.completed"]
        assert query(namespace, "SELECT * FROM destruction_chunks") == []
        await world.restart()
        assert state_hash(await world.open(automatic=False)) == before


@pytest.mark.gate("GC-03")
async def test_what_changed_since_the_plan_is_left_and_named(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        names = ["touched", "reworded", "pinned", "held", "restored", "fed", "spilled", "same"]
        await put(namespace, *(memory(name) for name in names))
        await namespace.forget(ids=["restored"], reason="called")
        _, planned = await plan(namespace, *names, older_than_days=0.0)
        await namespace.touch(ids=["touched"])
        await namespace.update(
            id="reworded", patch=MemoryInput(content="other words"), if_revision=None
        )
        await namespace.pin(id="pinned", pinned=True)
        await namespace.hold(id="held", until=world.clock.now_ms() + DAY)
        await restore(namespace, "restored")
        await namespace.feedback(id="fed", signal="useful")
        await namespace.pin(id="same", pinned=True)
        await namespace.pin(id="same", pinned=False)
        report = await namespace.destroy(plan=planned)
        left = {one.id: one.why for one in report.left}
        assert left == {
            "reworded": "changed",
            "pinned": "changed",
            "held": "held",
            "restored": "changed",
            "fed": "changed",
        }
        assert (report.destroyed, report.left_count) == (3, 5)
        assert set(tiers(namespace)) == set(left)
        for name in left:
            assert await get(namespace, name) is not None
        state_hash(namespace)


@pytest.mark.gate("GC-04")
async def test_held_memories_are_refused_by_name(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await put(namespace, memory("a"), memory("b"))
        until = world.clock.now_ms() + 30 * DAY
        await namespace.hold(id="a", until=until)
        await namespace.forget(ids=["b"], reason="called")
        await namespace.hold(id="b", until=until)
        everything = await namespace.plan_destruction(request=None)
        assert {one.id for one in everything[0].refused} == {"a", "b"}
        assert await refused(namespace, "a", "b", older_than_days=0.0) == {"a": "held", "b": "held"}
        world.pass_time(29 * DAY)
        assert await refused(namespace) == {"b": "held"}
        world.pass_time(DAY)
        assert await chosen(namespace, "a", "b", older_than_days=0.0) == ["a", "b"]


@pytest.mark.gate("GC-05")
async def test_ids_are_taken_as_old_as_asked_from_any_tier_only_at_once(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await put(namespace, memory("live"), memory("young"), memory("old"))
        await namespace.forget(ids=["old"], reason="called")
        world.pass_time(14 * DAY)
        await namespace.forget(ids=["young"], reason="called")
        asked = ("live", "young", "old")
        assert await chosen(namespace, *asked) == ["old"]
        assert await refused(namespace, *asked) == {"live": "not_forgotten", "young": "too_young"}
        assert await chosen(namespace, *asked, older_than_days=0.0) == sorted(asked)


@pytest.mark.gate("GC-06")
async def test_ids_that_are_not_here_are_refused_as_a_whole(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        other = await world.open("other", automatic=False)
        await put(namespace, memory("a"))
        await put(other, memory("b"))
        with pytest.raises(MemoryNotFound) as error:
            await plan(namespace, "a", "b", older_than_days=0.0)
        assert error.value.data["field"] == "$.ids[1]"
        await destroy(namespace, "a")
        with pytest.raises(MemoryNotFound, match="destroyed already"):
            await plan(namespace, "a", older_than_days=0.0)
        with pytest.raises(RunUnknown):
            await plan(namespace, run_id="run-of-nobody")
        assert await get(other, "b") is not None


@pytest.mark.gate("GC-07")
async def test_a_run_is_collected_without_what_came_back_from_it(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await put(namespace, *(memory(name) for name in "abcd"))
        mine = await namespace.forget(ids=["a", "b", "c"], reason="mine")
        await namespace.forget(ids=["d"], reason="other")
        await restore(namespace, "b")
        report = await destroy(namespace, run_id=mine.run_id, older_than_days=0.0)
        assert report.destroyed == 2
        assert set(tiers(namespace)) == {"b", "d"}
        undone = await namespace.undo(run_id=mine.run_id or "")
        assert undone.counts == {"already_here": 1, "destroyed": 2}
        assert query(namespace, "SELECT DISTINCT reason FROM tombstones") == [("run",)]


@pytest.mark.gate("GC-08")
async def test_what_a_host_replaced_goes_only_if_the_replacement_is_stored(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await put(namespace, *(memory(name) for name in ("a", "b", "c", "whole", "gone")))
        await namespace.forget(ids=["gone"], reason="called")
        given: dict[str, Any] = {"older_than_days": 0.0}
        missing = dict.fromkeys(("a", "b"), "replacement_missing")
        for replacement in ("never", "gone", "a"):
            asked = {**given, "replaced_by": replacement}
            assert await refused(namespace, "a", "b", **asked) == missing
        by: dict[str, Any] = {"a": "whole", "b": "never"}
        assert await chosen(namespace, "a", "b", "c", **given, replaced_by=by) == ["a"]
        with pytest.raises(InvalidParams, match="replacedBy"):
            await plan(namespace, "a", **given, replaced_by={"c": "whole"})
        report = await destroy(namespace, "a", "b", replaced_by="whole")
        assert report.destroyed == 2
        assert query(namespace, "SELECT DISTINCT reason FROM tombstones") == [("replaced",)]


@pytest.mark.gate("GC-09")
async def test_a_hundred_plans_leave_nothing_on_disk(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await fill(namespace, many(50))
        await namespace.forget(ids=["m00001"], reason="called")
        before = files_below(tmp_path)
        for _ in range(100):
            await plan(namespace, older_than_days=0.0)
            await namespace.plan_destruction(request=None)
        assert files_below(tmp_path) == before


@pytest.mark.gate("GC-10")
async def test_others_of_a_rewritten_file_keep_every_byte(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await fill(namespace, many(1_200))
        await namespace.cold_spill(dry_run=False, target=0)
        before = payloads(namespace)
        doomed = [f"m{at:05}" for at in range(0, 1_200, 100)]
        report = await destroy(namespace, *doomed)
        assert report.destroyed == 12
        after = payloads(namespace)
        assert after == {name: kept for name, kept in before.items() if name not in doomed}
        live = query(namespace, "SELECT sum(live), sum(records) FROM segments")
        assert live == [(1_188, 1_188)]
        check_columns(namespace)
        assert await restore(namespace, *doomed) is not None


@pytest.mark.gate("GC-11")
async def test_the_ledger_of_others_is_as_it_was(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await put(namespace, *(memory(name) for name in "abc"))
        told = await namespace.forget(ids=["a", "b"], reason="moved house")
        await destroy(namespace, "a")
        run = await namespace.run(run_id=told.run_id or "")
        assert run.report is not None
        ids = [one["id"] for one in run.report["results"]]
        assert ids[1] == "b"
        assert len(ids[0]) == 64
        # The words are those of b too, and bring it back.
        assert (await restore(namespace, reason="moved house")).counts == {"restored": 1}
        await destroy(namespace, "b")
        words = query(namespace, "SELECT count(*) FROM runs WHERE settings LIKE '%moved house%'")
        assert words == [(0,)]


@pytest.mark.gate("GC-22")
async def test_in_a_file_that_cannot_be_read_nothing_is_destroyed_that_others_lie_with(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await fill(namespace, many(20))
        await namespace.cold_spill(dry_run=False, target=10)
        (segment,) = (world.directory() / "cold").glob("seg-*")
        cold = [name for name, tier in tiers(namespace).items() if tier == "cold"]
        await world.registry.close_all()
        damaged = bytearray(segment.read_bytes())
        damaged[20] ^= 1
        segment.write_bytes(damaged)
        await world.start()
        namespace = await world.open(automatic=False)
        report = await destroy(namespace, cold[0], "m00019")
        assert report.destroyed == 1
        assert [(one.id, one.why) for one in report.left] == [(cold[0], "unreadable")]
        assert report.verification is not None
        assert report.verification.not_reached == [f"cold/{segment.name}"]
        assert segment.read_bytes() == damaged
        # With nobody else in it the file may go, readable or not.
        report = await destroy(namespace, *cold)
        assert (report.destroyed, report.left_count) == (10, 0)
        assert not segment.exists()
        state_hash(namespace)
        check_columns(namespace)


@pytest.mark.gate("GC-22")
async def test_memories_of_a_missing_file_can_be_destroyed(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await fill(namespace, many(20))
        await namespace.cold_spill(dry_run=False, target=10)
        (segment,) = (world.directory() / "cold").glob("seg-*")
        cold = [name for name, tier in tiers(namespace).items() if tier == "cold"]
        await world.registry.close_all()
        segment.unlink()
        await world.start()
        namespace = await world.open(automatic=False)
        report = await destroy(namespace, cold[0])
        assert (report.destroyed, report.left_count) == (1, 0)
        assert set(cold[1:]) <= set(tiers(namespace))
        state_hash(namespace)


@pytest.mark.gate("GC-24")
async def test_a_file_in_the_trash_stays_while_another_forgotten_memory_names_it(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        media = namespace.store.directory / "media"
        (media / "both.png").write_bytes(b"both")
        await put(namespace, memory("a", media_ref="both.png"), memory("b", media_ref="both.png"))
        await namespace.forget(ids=["a", "b"], reason="called")
        await destroy(namespace, "b", older_than_days=0.0)
        (left,) = media.rglob("*both.png")
        assert left.read_bytes() == b"both"
        await restore(namespace, "a")
        assert (media / "both.png").read_bytes() == b"both"
        await namespace.forget(ids=["a"], reason="called")
        await destroy(namespace, "a", older_than_days=0.0)
        assert list(media.rglob("*both.png")) == []
