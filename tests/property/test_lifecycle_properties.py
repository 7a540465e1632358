"""Active forgetting on any store: what holds whatever the memories, signals and settings."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.vector_store import DAY, NOW, StoredMemory, StoreSettings, snapshot_of
from sidecar.plan.lifecycle import (
    LIFECYCLE_POLICY,
    LifecyclePlan,
    LifecycleSettings,
    plan_lifecycle,
)
from sidecar.plan.plan import Snapshot
from sidecar.plan.scoring import BELIEVED, assess
from tests.lifecycle_stores import Judged, Said, archived, candidates, lifecycle, said_of, useless
from tests.plain_lifecycle import PlainLifecycle
from tests.plan_stores import AGES, large_stores, stores

WINDOWS = st.tuples(st.sampled_from([0, 0, 5, 30, 200]), st.sampled_from([0, 0, 3, 25]))
ODD = [float("nan"), float("inf"), float("-inf")]
SAID = st.builds(
    Said,
    uses=st.integers(-1, 12),
    score=st.sampled_from([-0.1, -0.5, -1.0, -5.0, 0.0, *ODD]) | st.floats(-20, 5),
    last_useful_at=st.just(0)
    | AGES.map(lambda age: NOW - age)
    | st.sampled_from([1, NOW + 9 * DAY]),
)


@dataclasses.dataclass
class Case:
    """A store, what was said of each memory, and settings."""

    judged: list[Judged]
    settings: dict[str, Any]

    def plan(self, **changed: Any) -> LifecyclePlan:
        return lifecycle(self.judged, **{**self.settings, **changed})

    @property
    def own(self) -> LifecycleSettings:
        names = LifecycleSettings.__dataclass_fields__
        return LifecycleSettings(**{n: v for n, v in self.settings.items() if n in names})

    @property
    def rest(self) -> StoreSettings:
        names = LifecycleSettings.__dataclass_fields__
        return StoreSettings(**{n: v for n, v in self.settings.items() if n not in names})


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any store, with few numbers that mean nothing, so that there are candidates."""
    store: list[StoredMemory] = draw(stores() | large_stores())
    kinds = draw(st.lists(SAID, min_size=1, max_size=6))
    random = draw(st.randoms(use_true_random=False))
    judged = [Judged(memory, random.choice(kinds)) for memory in store]
    settings = {
        "usefulness_floor": draw(st.sampled_from([-0.1, 0.0, 1000.0, -1.0])),
        "min_age_days": draw(st.sampled_from([90.0, 0.0, 7.0, 0.5])),
        "protect_use_count": draw(st.sampled_from([10, 1, 3])),
        "harmful_floor": draw(st.sampled_from([-0.5, -1.0, -1000.0])),
        "newborn_days": draw(st.sampled_from([1.0, 0.0])),
        "brake_share": draw(st.sampled_from([0.2, 0.01, 1.0])),
    }
    return Case(judged, settings)


def columns_of(plan: LifecyclePlan) -> dict[str, tuple[str, ...]]:
    """Everything of each candidate, by id."""
    arrays = [
        getattr(plan, field.name)
        for field in dataclasses.fields(plan)
        if isinstance(getattr(plan, field.name), np.ndarray)
    ]
    return {id: tuple(str(array[at]) for array in arrays) for at, id in enumerate(plan.ids)}


@pytest.mark.gate("LIFE-11")
@given(cases(), WINDOWS)
def test_the_planner_does_what_a_plain_reading_does(case: Case, window: tuple[int, int]) -> None:
    forgotten, archived_before = window
    plan = case.plan(forgotten_in_window=forgotten, archived_in_window=archived_before)
    plain = PlainLifecycle(case.judged, case.own, case.rest, NOW)
    assert list(candidates(plan).items()) == list(plain.plan(forgotten, archived_before).items())
    assert plan.scanned == len(plain.live)
    assert plan.unscored == sum(map(plain.is_unscored, plain.live))


@pytest.mark.gate("LIFE-11")
@given(cases(), WINDOWS, st.randoms(use_true_random=False))
def test_the_order_of_the_snapshot_changes_nothing(
    case: Case, window: tuple[int, int], random: Any
) -> None:
    numbers = {one.id: place for place, one in enumerate(case.judged, 1)}
    given_: dict[str, Any] = {
        "row_numbers": numbers,
        "forgotten_in_window": window[0],
        "archived_in_window": window[1],
    }
    one = case.plan(**given_)
    random.shuffle(case.judged)
    other = case.plan(**given_)
    assert (one.ids, columns_of(one), one.brake) == (other.ids, columns_of(other), other.brake)


@pytest.mark.gate("LIFE-12")
@given(cases(), WINDOWS)
def test_nothing_protected_unscored_or_unbelieved_is_set_aside(
    case: Case, window: tuple[int, int]
) -> None:
    plan = case.plan(forgotten_in_window=window[0], archived_in_window=window[1])
    snapshot = snapshot_of([one.memory for one in case.judged])
    view = assess(snapshot, case.rest.to_cascade(), now=NOW, policy=LIFECYCLE_POLICY)
    row = {id: place for place, id in enumerate(snapshot.ids)}
    for id in candidates(plan):
        assert view.scored[row[id]]
        assert view.group[row[id]] == BELIEVED
        assert not snapshot.evergreen[row[id]]
    for id in archived(plan):
        assert view.protections[row[id]] == 0
    assert plan.brake.allowed is None or len(archived(plan)) <= plan.brake.allowed
    assert np.isfinite(plan.mean).all()
    assert sum(plan.spared_counts().values()) == len(plan) - len(archived(plan))


@pytest.mark.gate("LIFE-12")
@given(cases())
def test_planning_changes_nothing_and_the_same_input_gives_the_same_plan(case: Case) -> None:
    snapshot, untouched = (snapshot_of([one.memory for one in case.judged]) for _ in range(2))
    said = {one.id: one.said for one in case.judged}
    told, as_told = said_of(snapshot, said), said_of(untouched, said)
    one, other = (
        plan_lifecycle(snapshot, told, case.own, case.rest.to_cascade(), now=NOW) for _ in range(2)
    )
    assert (one.ids, columns_of(one)) == (other.ids, columns_of(other))
    for column in dataclasses.fields(Snapshot):
        np.testing.assert_array_equal(
            getattr(snapshot, column.name), getattr(untouched, column.name)
        )
    for column in dataclasses.fields(told):
        np.testing.assert_array_equal(getattr(told, column.name), getattr(as_told, column.name))


@pytest.mark.gate("LIFE-13")
@given(
    score=st.floats(-20, 20),
    better=st.floats(0, 20),
    uses=st.integers(0, 20),
    days=st.integers(0, 400),
    younger=st.integers(0, 400),
)
def test_more_usefulness_and_less_age_never_make_a_candidate(
    score: float, better: float, uses: int, days: int, younger: int
) -> None:
    younger, days = sorted((younger, days))

    def goes(score: float, days: int) -> bool:
        return archived(lifecycle([useless(uses=uses, score=score, days=days)])) != []

    assert goes(score + better, days) <= goes(score, days)
    assert goes(score, younger) <= goes(score, days)


@pytest.mark.gate("LIFE-13")
@given(uses=st.integers(10, 10**6), mean=st.floats(-0.49, 0))
def test_what_is_popular_and_not_harmful_is_never_a_candidate(uses: int, mean: float) -> None:
    assert not candidates(lifecycle([useless(uses=uses, score=uses * mean, days=4_000)]))
