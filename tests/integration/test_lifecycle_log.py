"""What was archived is in the log, and outlasts whatever a store goes through."""

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from sidecar.apply.rebuild import rebuild
from sidecar.errors import ForgettingDisabled, IdempotencyConflict
from sidecar.namespace import Namespace
from sidecar.store import doctor
from tests.collecting import destroy
from tests.exports import lines_of, pages_of, take_back
from tests.keyed import Wire
from tests.namespaces import (
    DAY,
    Options,
    World,
    a_world,
    check_columns,
    event_kinds,
    memory,
    payloads,
    put,
    query,
    restore,
    state_hash,
)
from tests.setting_aside import answers, forget_useless, harmful, runs_of, statuses, useful

ALL = ("cold-1", "cold-2", "hot-1", "hot-2")
ALLOWED: Options = {"lifecycle": {"forget_enabled": True}}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, options=dict(ALLOWED)) as made:
        yield made


async def archived_store(world: World) -> tuple[Namespace, str]:
    """A run archived two memories in cold and two in hot, and left one."""
    namespace = await world.open(automatic=False)
    await put(namespace, harmful("cold-1"), harmful("cold-2"))
    await namespace.cold_spill(dry_run=False, target=0)
    await put(namespace, harmful("hot-1"), harmful("hot-2"), useful("kept"))
    return namespace, str((await forget_useless(namespace)).run_id)


def wire_of(world: World) -> Wire:
    """Calls as a client sends them."""
    return Wire(world.registry, world.clock)


async def reopened(world: World) -> Namespace:
    """The namespace after a restart."""
    await world.restart()
    return await world.registry.open("default", False)


@pytest.mark.gate("LIFE-40")
async def test_the_log_replays_to_the_state_of_the_rows_whatever_became_of_the_archived(
    world: World,
) -> None:
    namespace, run_id = await archived_store(world)
    hashes = [state_hash(namespace)]
    await restore(namespace, "hot-1")
    hashes.append(state_hash(namespace))
    await namespace.undo(run_id=run_id)
    hashes.append(state_hash(namespace))
    world.pass_time(31 * DAY)
    again = await forget_useless(namespace)
    assert again.archived == 4
    await destroy(namespace, "cold-1", "hot-1")
    hashes.append(state_hash(namespace))
    world.pass_time(400 * DAY)
    await put(namespace, memory("young", days=0))
    await namespace.fold_events()
    assert event_kinds(namespace, "memory.invalidated") == []
    hashes.append(state_hash(namespace))
    namespace = await reopened(world)
    assert state_hash(namespace) == hashes[-1]
    assert len(set(hashes)) == len(hashes)
    assert answers(await namespace.undo(run_id=str(again.run_id))) == {
        "cold-2": "restored",
        "hot-2": "restored",
    }
    state_hash(namespace)
    check_columns(namespace)


@pytest.mark.gate("LIFE-41")
@pytest.mark.parametrize("lost", ["", "DELETE FROM memories", "DELETE FROM memories WHERE rid % 2"])
async def test_a_rebuilt_store_still_knows_which_run_archived_what(world: World, lost: str) -> None:
    namespace, run_id = await archived_store(world)
    await namespace.invalidate(id="hot-2", reason="obsolete")
    before, exact = state_hash(namespace), payloads(namespace)
    await world.registry.close_all()
    if lost:
        connection = apsw.Connection(str(world.directory() / "hot.db"))
        connection.execute(lost)
        connection.close()
    result = rebuild(world.directory(), in_place=True)
    assert (result.refused, result.after) == ([], before)
    await world.start()
    namespace = await world.registry.open("default", False)
    assert (state_hash(namespace), payloads(namespace)) == (before, exact)
    assert dict(query(namespace, "SELECT id, archived_run FROM memories")) == {
        "cold-1": run_id,
        "cold-2": run_id,
        "hot-1": run_id,
        "hot-2": None,
        "kept": None,
    }
    report = await namespace.undo(run_id=run_id)
    assert answers(report) == {
        "cold-1": "restored",
        "cold-2": "restored",
        "hot-1": "restored",
        "hot-2": "changed",
    }
    await world.registry.close_all()
    assert [one for one in doctor.examine(world.directory()).findings if not one.ok] == []
    await world.start()


@pytest.mark.gate("LIFE-42")
async def test_archived_memories_are_exported_and_imported_as_they_are(world: World) -> None:
    namespace, run_id = await archived_store(world)
    pages = await pages_of(namespace)
    target = await world.open("target", automatic=False)
    report = await take_back(target, lines_of(pages))
    assert (report.created, report.failed) == (5, 0)
    assert state_hash(target) == state_hash(namespace) == pages[-1].state_hash
    assert await statuses(target, *ALL) == [("archived", "forgotten")] * 4
    # No run of this namespace did it, so none of it can be undone; the way back stays open.
    assert query(target, "SELECT DISTINCT archived_run FROM memories") == [(None,)]
    assert answers(await restore(target, reason="forgotten")) == dict.fromkeys(ALL, "restored")
    assert answers(await namespace.undo(run_id=run_id)) == dict.fromkeys(ALL, "restored")


@pytest.mark.gate("LIFE-43")
async def test_a_keyed_run_is_answered_again_after_a_restart_and_not_run_again(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, harmful("bad"), harmful("worse", usefulness_score=-2.0))
    call = {"dryRun": False, "idempotencyKey": "once"}
    first = await wire_of(world).raw("lifecycle.forget", **call)
    await restore(namespace, "bad", "worse")
    world.pass_time(1000)
    await put(namespace, harmful("later"))
    namespace = await reopened(world)
    assert await wire_of(world).raw("lifecycle.forget", **call) == first
    assert len(await runs_of(namespace, "lifecycle")) == 1
    assert await statuses(namespace, "bad", "worse", "later") == [("active", None)] * 3
    with pytest.raises(IdempotencyConflict):
        await wire_of(world).raw("lifecycle.forget", **call, minAgeDays=1)


@pytest.mark.gate("LIFE-43")
async def test_a_keyed_run_that_found_nothing_is_answered_again_and_a_refused_one_is_tried_again(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    call = {"dryRun": False, "idempotencyKey": "k"}
    world.options.clear()
    await world.restart()
    with pytest.raises(ForgettingDisabled):
        await wire_of(world).call("lifecycle.forget", **call)
    world.options |= ALLOWED
    namespace = await reopened(world)
    first = await wire_of(world).raw("lifecycle.forget", **call)
    await put(namespace, harmful("bad"))
    assert await wire_of(world).raw("lifecycle.forget", **call) == first
    assert await statuses(namespace, "bad") == [("active", None)]
