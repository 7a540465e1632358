"""The cycle on any store: what must hold whatever the memories, the settings, the duplicates."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.vector_store import DAY, NOW, StoredMemory, StoreSettings, snapshot_of
from sidecar.plan.chains import chains_of
from sidecar.plan.cycle import plan_cycle
from sidecar.plan.cycle_plan import CYCLE_ACTIONS, FADED, KEPT, NONE, PRUNED, CyclePlan
from sidecar.plan.cycle_settings import CycleSettings
from sidecar.plan.guards import PROTECTION_BIT
from sidecar.plan.plan import REASON_CODE, CascadeSettings, Snapshot
from sidecar.plan.scoring import assess
from tests.cycle_stores import Found, after, cycle, decisions, resolution
from tests.plain_cycle import PlainCycle
from tests.plan_stores import POLICY, large_stores, stores

WINDOWS = st.sampled_from([0, 0, 5, 30, 200])


@dataclasses.dataclass
class Case:
    """A store, what was found of it, and settings."""

    store: list[StoredMemory]
    survivors: dict[str, str]
    flagged: list[str]
    settings: dict[str, Any]

    def plan(self, **changed: Any) -> CyclePlan:
        return cycle(
            self.store,
            survivors=self.survivors,
            flagged=self.flagged,
            **{**self.settings, **changed},
        )

    def found(self, snapshot: Snapshot) -> Found:
        return resolution(snapshot, self.survivors, self.flagged)

    @property
    def cascade(self) -> CascadeSettings:
        return CascadeSettings(newborn_days=self.settings["newborn_days"])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any store; survivors and flags in it may be anything that a resolver could get wrong."""
    store = draw(stores() | large_stores())
    live = [memory.id for memory in store if memory.tier != "forgotten"]
    random = draw(st.randoms(use_true_random=False))
    survivors = {id: random.choice(live) for id in live if random.random() < 0.3}
    flagged = [id for id in live if random.random() < 0.2]
    settings = {
        "fade_interval_days": draw(st.sampled_from([7.0, 0.0, 30.0])),
        "fade_factor": draw(st.sampled_from([0.5, 0.9, 0.01])),
        "fade_floor": draw(st.sampled_from([0.01, 0.2])),
        "semantic_prune_threshold": draw(st.sampled_from([0.05, 0.0, 0.15])),
        "episodic_fade_threshold": draw(st.sampled_from([0.2, 0.05, 1.0])),
        "procedural_low_perf_min_outcomes": draw(st.sampled_from([10, 1, 3])),
        "procedural_low_perf_wilson_threshold": draw(st.sampled_from([0.1, 0.5, 0.0])),
        "newborn_days": draw(st.sampled_from([1.0, 0.0])),
        "brake_share": draw(st.sampled_from([0.2, 0.01, 1.0])),
    }
    return Case(store, survivors, flagged, settings)


def plain_of(case: Case) -> PlainCycle:
    own = {n: v for n, v in case.settings.items() if n in CycleSettings.__dataclass_fields__}
    rest = {n: v for n, v in case.settings.items() if n not in own}
    return PlainCycle(
        case.store,
        CycleSettings(**own),
        StoreSettings(**rest),
        NOW,
        case.survivors,
        case.flagged,
    )


def by_id(plan: CyclePlan) -> dict[str, tuple[object, ...]]:
    """Everything of each decision that does not depend on the order of the rows."""
    columns = [
        getattr(plan, field.name)
        for field in dataclasses.fields(plan)
        if isinstance(getattr(plan, field.name), np.ndarray)
    ]
    return {id: tuple(str(column[at]) for column in columns) for at, id in enumerate(plan.ids)}


@pytest.mark.gate("CYC-20")
@given(cases(), WINDOWS)
def test_the_planner_does_what_a_plain_reading_does(case: Case, window: int) -> None:
    plan = case.plan(forgotten_in_window=window)
    plain = plain_of(case).plan(window)
    assert decisions(plan) == {id: one.decision for id, one in plain.items()}
    for at, id in enumerate(plan.ids):
        expected = plain[id].importance
        assert plan.new_importance[at] == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.gate("CYC-21")
@given(cases(), WINDOWS, st.randoms(use_true_random=False))
def test_the_order_of_the_snapshot_changes_nothing(case: Case, window: int, random: Any) -> None:
    numbers = {memory.id: place for place, memory in enumerate(case.store, 1)}
    one = case.plan(forgotten_in_window=window, row_numbers=numbers)
    random.shuffle(case.store)
    other = case.plan(forgotten_in_window=window, row_numbers=numbers)
    assert one.ids == other.ids
    assert by_id(one) == by_id(other)
    assert (one.before, one.after, one.brake) == (other.before, other.after, other.brake)
    assert one.broken_chain_ids == other.broken_chain_ids


@pytest.mark.gate("CYC-22")
@given(cases())
def test_every_live_memory_has_one_decision_and_every_number_is_sound(case: Case) -> None:
    plan = case.plan()
    live = {memory.id for memory in case.store if memory.tier != "forgotten"}
    assert set(plan.ids) == live
    assert len(plan.ids) == len(live) == sum(plan.counts().values()) == len(plan)
    scored = ~np.isnan(plan.score)
    acted = plan.action != KEPT
    assert scored[acted].all()
    assert np.all((plan.score[scored] >= 0.01) & (plan.score[scored] <= 1.0))
    assert np.isfinite(plan.new_importance[acted]).all()
    faded = plan.action == FADED
    assert np.all(plan.new_importance[faded] < plan.old_importance[faded])
    assert np.all(plan.new_importance[faded] >= plan.settings.fade_floor)
    assert np.all((plan.new_fade_factor[faded] > 0) & (plan.new_fade_factor[faded] < 1))
    assert np.all(plan.reason[acted] != NONE)
    assert np.all(plan.skipped[acted] == NONE)
    silent = (plan.action == KEPT) & (plan.reason == NONE)
    assert np.all((plan.skipped[silent] == NONE) | ~scored[silent])
    told = (plan.action == KEPT) & (plan.reason != NONE)
    assert np.all(plan.skipped[told] != NONE)


@pytest.mark.gate("CYC-23")
@given(cases())
def test_what_is_protected_neither_fades_nor_goes(case: Case) -> None:
    plan = case.plan()
    snapshot = snapshot_of(case.store)
    view = assess(snapshot, case.cascade, now=NOW, policy=POLICY)
    bits = dict(zip(snapshot.ids, view.protections.tolist(), strict=True))
    forced = {REASON_CODE["superseded"], REASON_CODE["likely_duplicate"]}
    for at in np.flatnonzero(plan.action != KEPT).tolist():
        allowed = PROTECTION_BIT["newborn"] if int(plan.reason[at]) in forced else 0
        assert bits[plan.ids[at]] & ~allowed == 0


@pytest.mark.gate("CYC-24")
@given(cases())
def test_whoever_stands_for_what_is_pruned_stays(case: Case) -> None:
    plan = case.plan()
    snapshot = snapshot_of(case.store)
    chains = chains_of(snapshot)
    row = {id: place for place, id in enumerate(snapshot.ids)}
    pruned = {plan.ids[at] for at in plan.rows_of(PRUNED).tolist()}
    by_number = dict(zip(plan.rid.tolist(), plan.ids, strict=True))
    for at in plan.rows_of(PRUNED).tolist():
        if plan.reason_name(at) == "likely_duplicate":
            assert by_number[int(plan.survivor_rid[at])] not in pruned
        if plan.reason_name(at) == "superseded":
            newer = plain_of(case).cascade.newer(plain_of(case).cascade.by_id[plan.ids[at]])
            believed = [memory.id for memory in newer if memory.status != "invalidated"]
            assert believed[-1] not in pruned
            assert not chains.endless[row[plan.ids[at]]]


@pytest.mark.gate("CYC-25")
@given(cases())
def test_a_second_cycle_at_the_same_instant_fades_nothing(case: Case) -> None:
    snapshot = snapshot_of(case.store)
    settings = CycleSettings()
    first = plan_cycle(snapshot, settings, case.cascade, now=NOW, resolution=case.found(snapshot))
    again = plan_cycle(after(snapshot, first), settings, case.cascade, now=NOW)
    faded, refaded = ({p.ids[at] for at in p.rows_of(FADED).tolist()} for p in (first, again))
    assert faded.isdisjoint(refaded)


@pytest.mark.gate("CYC-26")
@given(
    low=st.floats(0, 1),
    high=st.floats(0, 1),
    days=st.integers(0, 400),
    younger=st.integers(0, 400),
    kind=st.sampled_from(["semantic", "episodic", "procedural"]),
)
def test_more_importance_and_less_age_are_never_treated_worse(
    low: float, high: float, days: int, younger: int, kind: Any
) -> None:
    low, high = sorted((low, high))
    younger, days = sorted((younger, days))

    def severity(importance: float, age: int) -> int:
        memory = StoredMemory(
            "m", memory_type=kind, importance=importance, created_at=NOW - age * DAY
        )
        return CYCLE_ACTIONS.index(decisions(cycle([memory]))["m"].action)

    assert severity(high, days) <= severity(low, days)
    assert severity(low, younger) <= severity(low, days)


@pytest.mark.gate("CYC-27")
@given(cases(), WINDOWS)
def test_planning_changes_nothing_and_counts_follow_from_the_decisions(
    case: Case, window: int
) -> None:
    snapshot, untouched = snapshot_of(case.store), snapshot_of(case.store)
    found = case.found(snapshot)
    one, other = (
        plan_cycle(
            snapshot,
            CycleSettings(),
            case.cascade,
            now=NOW,
            resolution=found,
            forgotten_in_window=window,
        )
        for _ in range(2)
    )
    assert by_id(one) == by_id(other)
    for column in dataclasses.fields(Snapshot):
        np.testing.assert_array_equal(
            getattr(snapshot, column.name), getattr(untouched, column.name)
        )
    listed = list(decisions(one).values())
    for action, count in one.counts().items():
        assert count == sum(one.action == action for one in listed)
        assert count == sum(counts[action] for counts in one.counts_by_type().values())
    for reason, counts in one.counts_by_reason().items():
        assert sum(counts.values()) == sum(one.reason == reason for one in listed)
    skipped = one.counts_by_skipped()
    assert sum(skipped.values()) == sum(one.skipped is not None for one in listed)
    pruned = one.counts()["prune"]
    assert one.after.total == one.before.total - pruned
    assert one.after.forgotten == one.before.forgotten + pruned
    assert one.after.live_bytes == one.before.live_bytes - int(one.bytes_freed.sum())
    assert one.brake.allowed is None or pruned <= one.brake.allowed
