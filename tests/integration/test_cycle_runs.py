"""Cycles of keeping, fading and pruning, carried out on a real store."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar import cycling
from sidecar.apply import journal, moves
from sidecar.apply.moves import RunStopped
from sidecar.apply.runner import Runner
from sidecar.errors import (
    ForgettingDisabled,
    PlanNotApplicable,
    PlanUsed,
)
from sidecar.model import MemoryInput
from sidecar.plan.plan import FADE
from sidecar.store import events
from sidecar.store.sqlite.writer import Transaction
from tests.cycling import OTHER, SAME, a_bit_of_all, cycle, decided, fact
from tests.namespaces import (
    DAY,
    World,
    a_world,
    check_columns,
    counted,
    event_kinds,
    files_below,
    get,
    listed,
    many,
    memory,
    put,
    query,
    recalled,
    restore,
    state_hash,
    sweep,
    tiers,
)

# What a decision's details were before the survivor's counter joined them.
OLDER_DETAIL = ["survivor", "factor_before", "factor_after", "memory_type"]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


@pytest.mark.gate("CYC-32")
async def test_a_cycle_does_what_its_dry_run_said_and_nothing_twice(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *a_bit_of_all())
    await namespace.cold_spill(dry_run=False, target=3)
    planned = await cycle(namespace, dry_run=True)
    assert decided(planned) == {
        "home-old": ("prune", "superseded", None),
        "tea-again": ("prune", "likely_duplicate", None),
        "weaker": ("prune", "time_decay", None),
        "weak": ("fade", "time_decay", None),
        "home": ("keep", None, None),
        "tea": ("keep", None, None),
        "kept": ("keep", None, None),
    }
    done = await cycle(namespace, plan_id=planned.plan_id)
    assert decided(done) == decided(planned)
    assert {one.record_id for one in done.decisions if one.executed} == {
        one.record_id for one in planned.decisions if one.action != "keep"
    }
    assert (done.scanned, done.kept, done.faded, done.pruned) == (7, 3, 1, 3)
    assert done.by_type["semantic"] == {"keep": 3, "fade": 1, "prune": 3}
    for gone in ("home-old", "tea-again", "weaker"):
        assert await get(namespace, gone) is None
    assert await recalled(namespace, "Busan tea row", depth="deep") == ["tea", "weak"]
    faded = await get(namespace, "weak")
    assert faded is not None
    assert (faded.importance, faded.importance_base) == (0.15, 0.3)
    again = await cycle(namespace)
    assert (again.run_id, again.faded, again.pruned) == (None, 0, 0)
    assert decided(again)["weak"] == ("keep", "time_decay", "fade_interval")
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("CYC-33")
async def test_a_dry_run_writes_nothing_and_is_told_to_followers_only(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *a_bit_of_all())
    before, heard = files_below(world.directory()), namespace.announced
    report = await cycle(namespace, dry_run=True)
    (told,) = namespace.announced_after(heard)
    assert (told.kind, told.payload["planId"]) == (cycling.PREVIEWED, report.plan_id)
    assert files_below(world.directory()) == before
    assert event_kinds(namespace, "forgetting.cycle") == []


@pytest.mark.gate("CYC-34")
async def test_all_fades_come_before_all_prunes_ten_a_transaction(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[tuple[bool, int]] = []
    record = moves.Mover._record

    def noted(self: Any, tx: Any, chunk: Any, outcomes: Any) -> None:
        sizes.append((bool(chunk.decisions["action"][0] == FADE), len(outcomes)))
        record(self, tx, chunk, outcomes)

    monkeypatch.setattr(moves.Mover, "_record", noted)
    namespace = await world.open(automatic=False, brakeShare=1.0)
    weak = [memory(f"f{at}", days=14, importance=0.3) for at in range(30)]
    weaker = [memory(f"p{at}", days=14, importance=0.1) for at in range(25)]
    await put(namespace, *[one for pair in zip(weak, weaker, strict=False) for one in pair])
    report = await cycle(namespace)
    assert (report.faded, report.pruned) == (25, 25)
    assert sizes == [(True, 25), (False, 10), (False, 10), (False, 5)]
    kinds = event_kinds(namespace, "memory.")
    assert kinds[-50:] == ["memory.faded"] * 25 + ["memory.pruned"] * 25
    (completed,) = query(
        namespace, "SELECT payload FROM events WHERE kind = 'forgetting.cycle_completed'"
    )
    assert '"pruned":25' in completed[0]


@pytest.mark.gate("CYC-35")
async def test_events_say_of_each_fade_and_prune_what_was_done(world: World) -> None:
    namespace = await world.open(automatic=False)
    media = namespace.store.directory / "media"
    (media / "own.png").write_bytes(b"own")
    given = {"days": 14, "importance": 0.1}
    await put(
        namespace,
        memory("weak", days=14, importance=0.3),
        memory("own", media_ref="own.png", **given),
        memory("lost", media_ref="gone.png", **given),
    )
    report = await cycle(namespace)
    page = await namespace.list_events(
        since=0, limit=99, kinds=["memory.faded", "memory.pruned", "forgetting.cycle_completed"]
    )
    told = {event.memory_id: event.payload for event in page.events}
    faded = {"memoryType", "reason", "oldImportance", "newImportance"}
    assert {name: told["weak"][name] for name in faded} == {
        "memoryType": "semantic",
        "reason": "time_decay",
        "oldImportance": 0.3,
        "newImportance": 0.15,
    }
    for memory_id, ref, deleted in (("own", "own.png", True), ("lost", "gone.png", False)):
        pruned = told[memory_id]
        assert (pruned["reason"], pruned["hadMedia"]) == ("time_decay", True)
        assert (pruned["mediaRef"], pruned["mediaDeleted"]) == (ref, deleted)
    assert told[None]["runId"] == report.run_id
    assert (report.media_deleted, [path.name[-7:] for path in media.rglob("*.png")]) == (
        1,
        ["own.png"],
    )
    marked = {one.record_id: one.media_deleted for one in report.decisions}
    assert marked == {"own": True, "lost": False, "weak": False}


@pytest.mark.gate("CYC-36")
async def test_what_changed_since_the_plan_is_skipped_and_named(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *a_bit_of_all())
    planned = await cycle(namespace, dry_run=True)
    await namespace.pin(id="weaker", pinned=True)
    await namespace.touch(ids=["weak"])
    done = await cycle(namespace, plan_id=planned.plan_id)
    assert (done.faded, done.pruned, done.kept, done.skipped_records) == (0, 2, 5, 2)
    skipped = {one.record_id: one.skipped for one in done.decisions if one.skipped}
    assert skipped == {"weaker": "changed", "weak": "changed"}
    assert done.by_reason["time_decay"] == {"keep": 2, "fade": 0, "prune": 0}
    with pytest.raises(PlanUsed):
        await cycle(namespace, plan_id=planned.plan_id)
    foreign = await cycle(namespace, dry_run=True, now=world.clock.now_ms() + DAY)
    with pytest.raises(PlanNotApplicable):
        await cycle(namespace, plan_id=foreign.plan_id)


@pytest.mark.gate("CYC-37")
@pytest.mark.parametrize("later_ms", [1000, 0, -1000])
@pytest.mark.parametrize("change", ["forgotten", "edited"])
async def test_a_duplicate_stays_where_its_survivor_is_not_what_it_was(
    world: World, change: str, later_ms: int
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *a_bit_of_all())
    planned = await cycle(namespace, dry_run=True)
    world.pass_time(later_ms)
    if change == "forgotten":
        await namespace.forget(ids=["tea"], reason="called")
    else:
        patch = MemoryInput(content="Mina drinks no tea at all")
        await namespace.update(id="tea", patch=patch, if_revision=None)
    done = await cycle(namespace, plan_id=planned.plan_id)
    assert decided(done)["tea-again"] == ("prune", "likely_duplicate", "changed")
    assert await get(namespace, "tea-again") is not None


@pytest.mark.gate("CYC-37")
async def test_a_duplicate_goes_although_its_survivor_fades_in_the_same_run(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(
        namespace,
        fact("again", "Mina drinks green tea.", SAME, importance=0.25),
        fact("tea", "Mina drinks green tea", SAME, importance=0.3),
    )
    done = await cycle(namespace)
    assert {one.record_id for one in done.decisions if one.executed} == {"again", "tea"}
    assert (done.faded, done.pruned) == (1, 1)


@pytest.mark.gate("CYC-37")
async def test_a_cycle_that_an_older_version_began_is_finished_without_its_duplicates(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *a_bit_of_all())

    def stopped(*_: Any) -> None:
        raise RunStopped

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "carry_out", stopped)
        with pytest.raises(RunStopped):
            await cycle(namespace)

    def as_it_was(tx: Transaction) -> None:
        found = tx.connection.execute("SELECT chunk, details FROM run_chunks").fetchall()
        for chunk, details in found:
            older = np.frombuffer(details, journal.DETAIL)[OLDER_DETAIL].astype(
                [(name, journal.DETAIL[name]) for name in OLDER_DETAIL]
            )
            assert older.dtype.itemsize == 25
            tx.connection.execute(
                "UPDATE run_chunks SET details = ? WHERE chunk = ?", (older.tobytes(), chunk)
            )

    await asyncio.to_thread(namespace.store.writer.call, as_it_was)
    await world.restart()
    namespace = await world.registry.open("default", False)
    (run,) = (await namespace.runs(limit=5, cursor=None)).runs
    asked: dict[str, Any] = {"run_id": run.run_id, "plan_id": None, "cursor": None, "limit": 9}
    told = {one.id: one.outcome for one in (await namespace.decisions(**asked)).decisions}
    assert told == {
        "home-old": "moved",
        "tea-again": "changed",
        "weaker": "moved",
        "weak": "moved",
    }
    faded = await get(namespace, "weak")
    assert faded is not None
    assert faded.importance == 0.15


@pytest.mark.gate("CYC-38")
async def test_an_undo_takes_fades_and_prunes_back_but_not_what_was_changed_since(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *a_bit_of_all(), memory("weak-2", days=14, importance=0.3))
    await namespace.cold_spill(dry_run=False, target=4)
    before = tiers(namespace)
    run = await cycle(namespace)
    await namespace.update(id="weak-2", patch=MemoryInput(importance=0.7), if_revision=None)
    undone = await namespace.undo(run_id=str(run.run_id))
    assert undone.counts == {"restored": 3, "superseded": 1, "changed": 1}
    assert tiers(namespace) == before | {"weak-2": tiers(namespace)["weak-2"]}
    weak, other = await get(namespace, "weak"), await get(namespace, "weak-2")
    assert weak is not None
    assert other is not None
    assert (weak.importance, weak.fade_factor, other.importance) == (0.3, 1.0, 0.7)
    assert event_kinds(namespace, "memory.unfaded") == ["memory.unfaded"]
    # What came back has its grace, and what was faded is not faded again at once.
    again = await cycle(namespace)
    assert (again.faded, again.pruned) == (0, 0)
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("CYC-39")
async def test_no_cycle_runs_while_forgetting_is_off_but_a_plan_is_made(world: World) -> None:
    namespace = await world.open(automatic=False, forgetEnabled=False)
    await put(namespace, *a_bit_of_all())
    assert (await cycle(namespace, dry_run=True)).pruned == 3
    with pytest.raises(ForgettingDisabled):
        await cycle(namespace)
    assert counted(namespace) == (7, 0, 0)


@pytest.mark.gate("CYC-40")
async def test_cycles_and_sweeps_share_one_brake(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10)
    await put(namespace, *many(200, importance=0.05))
    first = await sweep(namespace)
    assert first.counts["forget"] == 40
    second = await cycle(namespace)
    assert (second.pruned, second.by_skipped["braked"]) == (0, 160)
    assert second.brake is not None
    assert second.brake.engaged
    world.pass_time(DAY + 1)
    assert (await cycle(namespace)).pruned == 32


@pytest.mark.gate("CYC-42")
async def test_the_pages_of_a_plan_and_of_a_run_have_every_decision(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *a_bit_of_all())
    planned = await cycle(namespace, dry_run=True, decisions_limit=2)
    assert (len(planned.decisions), planned.decisions_truncated) == (2, True)
    asked: dict[str, Any] = {"run_id": None, "plan_id": planned.plan_id, "cursor": None}
    page = await namespace.decisions(**asked, limit=5)
    assert (page.total, [one.action for one in page.decisions]) == (
        7,
        ["prune", "prune", "prune", "fade", "keep"],
    )
    run = await cycle(namespace, plan_id=planned.plan_id)
    asked = {"run_id": run.run_id, "plan_id": None, "cursor": None}
    done = await namespace.decisions(**asked, limit=9)
    told = [(one.id, one.action, one.reason, one.outcome) for one in done.decisions]
    assert told == [
        ("home-old", "prune", "superseded", "moved"),
        ("tea-again", "prune", "likely_duplicate", "moved"),
        ("weaker", "prune", "time_decay", "moved"),
        ("weak", "fade", "time_decay", "moved"),
    ]


@pytest.mark.gate("CYC-43")
async def test_duplicates_meet_across_tiers_and_without_vectors(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(
        namespace,
        fact("cold-1", "Mina drinks green tea", SAME),
        fact("cold-2", "The office opens at nine"),
        fact("cold-3", "Tofu is a grey cat", OTHER),
    )
    await namespace.cold_spill(dry_run=False, target=0)
    await put(
        namespace,
        fact("hot-1", "Mina drinks the green tea", SAME, importance=0.8),
        fact("hot-2", "the office opens at nine!", importance=0.8),
        fact("hot-3", "Tofu is a black cat", OTHER, importance=0.8),
    )
    report = await cycle(namespace, dry_run=True)
    assert {name: told for name, told in decided(report).items() if told[1]} == {
        "hot-1": ("prune", "likely_duplicate", None),
        "hot-2": ("prune", "likely_duplicate", None),
        "cold-3": ("keep", "likely_duplicate", "guarded"),
        "hot-3": ("keep", "likely_duplicate", "guarded"),
    }
    assert report.duplicates_flagged == 2
    for segment in (namespace.store.directory / "cold").glob("seg-*"):
        segment.chmod(0o600)
        segment.write_bytes(segment.read_bytes()[:100])
    damaged = await cycle(namespace, dry_run=True)
    assert (damaged.scanned, damaged.pruned) == (6, 0)  # nothing is known of what cannot be read


@pytest.mark.gate("CYC-44")
async def test_the_log_replays_to_the_same_state_after_cycles_folding_and_a_restart(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *a_bit_of_all())
    run = await cycle(namespace)
    await restore(namespace, "weaker")
    before = state_hash(namespace)
    world.pass_time(400 * DAY)
    await put(namespace, memory("young", days=0))
    await namespace.fold_events()
    await world.restart()
    namespace = await world.registry.open("default", False)
    await namespace.forget(ids=["young"], reason="called")
    with namespace.store.readers.view() as connection:
        assert events.state_hash(connection) == events.replayed_hash(connection) != before
    assert (await namespace.run(run_id=str(run.run_id))).report is not None
    assert await listed(namespace) == ["home", "tea", "weaker", "weak", "kept"]
