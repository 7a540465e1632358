"""The cascade on any store: what must hold whatever the memories, the settings and the chains."""

import dataclasses

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.vector_store import NOW, Mode, StoredMemory, StoreSettings, snapshot_of
from sidecar.plan.cascade import plan_cascade
from sidecar.plan.chains import chains_of, newer_version_stands, older_version_lives
from sidecar.plan.explain import explain
from sidecar.plan.guards import CurrentState, protection_names, recheck
from sidecar.plan.plan import FORGET, Plan, Snapshot
from sidecar.plan.scoring import assess
from sidecar.plan.stages import low_watermark
from tests.plain_cascade import PlainCascade
from tests.plan_stores import (
    EXPONENTS,
    POLICY,
    applied,
    forgotten,
    pressed_stores,
    spilled,
    stores,
    sweep,
)

MODES = st.sampled_from(["normal", "strict"])
POLICIES = st.sampled_from(list(EXPONENTS))
WINDOWS = st.sampled_from([0, 0, 5, 30, 200])
Pressed = tuple[list[StoredMemory], StoreSettings]


def outcome(plan: Plan) -> tuple[object, ...]:
    """Everything of a plan that does not depend on the order of the snapshot's rows."""
    arrays = (plan.rid, plan.action, plan.reason, plan.from_tier, plan.change_counter)
    numbers = (plan.score, plan.strength, plan.bytes_freed)
    return (
        plan.ids,
        *(array.tolist() for array in arrays),
        *(array.astype(str).tolist() for array in numbers),
        (plan.before, plan.after, plan.stages, plan.protected, plan.brake),
        (plan.kept, plan.unscored, plan.unscored_ids),
    )


@pytest.mark.gate("CASC-21")
@given(pressed_stores(), MODES, POLICIES, WINDOWS)
def test_the_planner_does_what_a_plain_reading_does(
    pressed: Pressed, mode: Mode, policy: str, window: int
) -> None:
    store, settings = pressed
    plan = sweep(store, settings=settings, mode=mode, policy=policy, forgotten_in_window=window)
    plain = PlainCascade(store, settings, NOW, EXPONENTS[policy]).plan(mode, window)
    assert (spilled(plan), forgotten(plan)) == (plain.spill, plain.forget)
    assert plan.protected == plain.protected
    stage_two = plan.stages[1]
    short = stage_two.shortfall_memories > 0 or stage_two.shortfall_bytes > 0
    assert (stage_two.braked, short) == (plain.braked, plain.short)


@pytest.mark.gate("CASC-22")
@given(pressed_stores(), MODES, POLICIES, st.randoms(use_true_random=False))
def test_the_order_of_the_snapshot_changes_nothing(
    pressed: Pressed, mode: Mode, policy: str, random: st.DataObject
) -> None:
    store, settings = pressed
    numbers = {memory.id: place for place, memory in enumerate(store, 1)}
    shuffled = list(store)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (
        sweep(memories, settings=settings, mode=mode, policy=policy, row_numbers=numbers)
        for memories in (store, shuffled)
    )
    assert outcome(one) == outcome(other)


@pytest.mark.gate("CASC-23")
@given(pressed_stores(), MODES, POLICIES, WINDOWS)
def test_a_protected_memory_is_never_forgotten(
    pressed: Pressed, mode: Mode, policy: str, window: int
) -> None:
    store, settings = pressed
    plan = sweep(store, settings=settings, mode=mode, policy=policy, forgotten_in_window=window)
    plain = PlainCascade(store, settings, NOW, EXPONENTS[policy])
    for id in forgotten(plan):
        assert plain.protections[id] == []
        scored = plain.scores[id]
        assert scored is not None
        assert mode == "strict" or scored.strength < settings.weak_strength
    for id in spilled(plan):
        memory = plain.by_id[id]
        assert memory.tier == "hot"
        assert not memory.pinned


@pytest.mark.gate("CASC-24")
@given(pressed_stores(), MODES, st.integers(1, 4))
def test_no_number_of_runs_in_a_day_passes_the_brake(
    pressed: Pressed, mode: Mode, runs: int
) -> None:
    store, settings = pressed
    live = sum(memory.tier != "forgotten" for memory in store)
    window = 0
    for _ in range(runs):
        plan = sweep(store, settings=settings, mode=mode, forgotten_in_window=window)
        window += len(forgotten(plan))
        store = applied(store, plan)
        settings = msgspec.structs.replace(settings, threshold_total=0)
    if live >= 100:
        assert window <= max(10, settings.brake_share * live + 1e-6)


@pytest.mark.gate("CASC-25")
@given(pressed_stores(), MODES, POLICIES)
def test_classes_go_before_scores(pressed: Pressed, mode: Mode, policy: str) -> None:
    store, settings = pressed
    plain = PlainCascade(store, settings, NOW, EXPONENTS[policy])
    gone = forgotten(sweep(store, settings=settings, mode=mode, policy=policy))
    classes = [plain.group(plain.by_id[id]) for id in gone]
    assert classes == sorted(classes)
    left = [
        memory
        for memory in plain.live
        if memory.id not in gone
        and not plain.protections[memory.id]
        and plain.weak_enough(memory, mode)
    ]
    assert all(plain.group(memory) >= max(classes, default=0) for memory in left)
    for place, id in enumerate(gone):
        assert not {memory.id for memory in plain.newer(plain.by_id[id])} & set(gone[:place])


@pytest.mark.gate("CASC-26")
@given(pressed_stores(), MODES, POLICIES, WINDOWS)
def test_a_sweep_repeated_at_the_same_instant_moves_nothing(
    pressed: Pressed, mode: Mode, policy: str, window: int
) -> None:
    store, settings = pressed
    numbers = {memory.id: place for place, memory in enumerate(store, 1)}
    first = sweep(
        store,
        settings=settings,
        mode=mode,
        policy=policy,
        forgotten_in_window=window,
        row_numbers=numbers,
    )
    again = sweep(
        applied(store, first),
        settings=settings,
        mode=mode,
        policy=policy,
        forgotten_in_window=window + len(forgotten(first)),
        row_numbers=numbers,
    )
    assert again.ids == ()
    assert (again.before.hot, again.before.cold) == (first.after.hot, first.after.cold)
    assert again.before.live_bytes == first.after.live_bytes


@pytest.mark.gate("CASC-27")
@given(pressed_stores(), MODES, POLICIES)
def test_a_stage_stops_at_the_watermark_and_not_before_without_saying_why(
    pressed: Pressed, mode: Mode, policy: str
) -> None:
    store, settings = pressed
    plan = sweep(store, settings=settings, mode=mode, policy=policy)
    one, two = plan.stages
    if one.crossed:
        target = low_watermark(settings.threshold_count, settings.low_watermark)
        assert plan.after.hot <= target + one.shortfall_memories
    if two.crossed == ("total",) and not two.braked:
        target = low_watermark(settings.threshold_total, settings.low_watermark)
        assert plan.after.total == target + two.shortfall_memories
    if "disk" in two.crossed and not two.braked and not two.shortfall_bytes:
        target = low_watermark(settings.threshold_disk_bytes, settings.low_watermark)
        assert plan.after.live_bytes <= target
    assert plan.kept + len(plan) == plan.before.total
    assert not (two.braked and (two.shortfall_memories or two.shortfall_bytes))


@pytest.mark.gate("CASC-28")
@given(pressed_stores())
def test_the_check_at_the_moment_of_moving_agrees_with_the_plan(pressed: Pressed) -> None:
    """On an unchanged store, and with nothing gone lately, both see the same protections."""
    store, settings = pressed
    store = [
        msgspec.structs.replace(memory, forgotten_at=None) if memory.forgotten_at else memory
        for memory in store
    ]
    cascade = settings.to_cascade()
    snapshot = snapshot_of(store)
    view = assess(snapshot, cascade, now=NOW, policy=POLICY)
    by_id = {memory.id: memory for memory in store}
    endless = {memory.id for memory in store if is_endless(by_id, memory.id)}
    for row, id in enumerate(snapshot.ids):
        memory = by_id[id]
        if not view.scored[row] or id in endless:
            continue
        state = CurrentState(
            pinned=memory.pinned,
            evergreen=memory.evergreen,
            held_until=memory.held_until or 0,
            created_at=memory.created_at,
            restored_at=memory.restored_at or 0,
            newer_version_stands=newer_version_stands(id, lambda key: looked_up(by_id, key)),
            older_version_lives=older_version_lives(id, lambda key: older_of(by_id, key)),
        )
        names = protection_names(int(view.protections[row]))
        found = recheck(state, FORGET, int(view.reason[row]), cascade, NOW)
        assert found == (names[0] if names else None)


def is_endless(by_id: dict[str, StoredMemory], start: str) -> bool:
    """Whether the links from a memory run into a loop."""
    seen, at = set[str](), start
    while at in by_id and at not in seen:
        seen.add(at)
        at = by_id[at].superseded_by or ""
    return at in seen


def looked_up(by_id: dict[str, StoredMemory], key: str) -> tuple[str | None, bool]:
    """A memory's successor, and whether it stands itself, as a store would answer."""
    memory = by_id.get(key)
    if memory is None:
        return None, False
    return memory.superseded_by, memory.tier != "forgotten" and memory.status != "invalidated"


def older_of(by_id: dict[str, StoredMemory], key: str) -> list[tuple[str, bool]]:
    """The memories that a memory supersedes, and whether each is live."""
    return [
        (memory.id, memory.tier != "forgotten")
        for memory in by_id.values()
        if memory.superseded_by == key
    ]


@pytest.mark.gate("CASC-29")
@given(stores())
def test_chains_are_those_of_a_plain_reading(store: list[StoredMemory]) -> None:
    plain = PlainCascade(store, StoreSettings(), NOW, EXPONENTS["classic"])
    chains = chains_of(snapshot_of(store))
    for row, memory in enumerate(plain.live):
        assert chains.in_force[row] == plain.in_force(memory)
        assert chains.depth[row] == len(plain.newer(memory))
        assert chains.has_predecessor[row] == (memory.id in plain.older)
        assert chains.predecessor_gone_at[row] == plain.left.get(memory.id, 0)


@pytest.mark.gate("EXPL-04")
@given(stores(), POLICIES, st.sampled_from([0.05, 0.3]))
def test_explain_names_as_candidates_exactly_what_pressure_forgets(
    store: list[StoredMemory], policy: str, weak_strength: float
) -> None:
    settings = StoreSettings(
        threshold_total=0, low_watermark=1.0, weak_strength=weak_strength, brake_share=1.0
    )
    plan = sweep(store, settings=settings, policy=policy)
    snapshot = snapshot_of(store)
    views = [
        explain(snapshot, row, settings.to_cascade(), now=NOW, policy=plan.policy)
        for row in range(len(snapshot))
    ]
    candidates = [(v.rank, id) for v, id in zip(views, snapshot.ids, strict=True) if v.candidate]
    assert [id for _, id in sorted(candidates)] == forgotten(plan)
    ranks = sorted(view.rank for view in views if view.rank is not None)
    assert ranks == list(range(1, len(ranks) + 1))
    assert {view.of for view in views} <= {len(ranks)}


@pytest.mark.gate("PLAN-06")
@given(pressed_stores(), MODES)
def test_planning_changes_nothing_of_the_snapshot(pressed: Pressed, mode: Mode) -> None:
    store, settings = pressed
    snapshot, untouched = snapshot_of(store), snapshot_of(store)
    for _ in range(2):
        plan_cascade(snapshot, settings.to_cascade(), now=NOW, policy=POLICY, mode=mode)
    for column in dataclasses.fields(Snapshot):
        np.testing.assert_array_equal(
            getattr(snapshot, column.name), getattr(untouched, column.name)
        )
