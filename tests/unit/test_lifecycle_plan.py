"""Which memories were of too little use for too long: each bound, and what keeps them here."""

import math
from typing import Any

import pytest

from protocol.vector_store import DAY, NOW, StoredMemory, snapshot_of
from sidecar.limits import FUTURE_TOLERANCE_MS, TIME_MIN_MS
from sidecar.plan.lifecycle import LifecycleSettings
from tests.lifecycle_stores import (
    Judged,
    Said,
    archived,
    candidates,
    is_candidate,
    lifecycle,
    useless,
)

MINUS = -math.inf


def below(value: float) -> float:
    """The next number below."""
    return math.nextafter(value, MINUS)


def above(value: float) -> float:
    """The next number above."""
    return math.nextafter(value, math.inf)


@pytest.mark.gate("LIFE-01")
def test_the_defaults_are_those_that_are_promised() -> None:
    assert LifecycleSettings() == LifecycleSettings(
        usefulness_floor=-0.1, min_age_days=90.0, protect_use_count=10, harmful_floor=-0.5
    )


@pytest.mark.gate("LIFE-01")
@pytest.mark.parametrize(
    "change",
    [
        {"score": 0.0},
        {"days": 89},
        {"last_useful_at": NOW - 89 * DAY},
        {"uses": 10, "score": -2.0},
        {"evergreen": True},
    ],
)
def test_two_of_the_three_conditions_are_not_enough(change: dict[str, Any]) -> None:
    assert is_candidate(useless())
    assert not is_candidate(useless(**change))


@pytest.mark.gate("LIFE-02")
@pytest.mark.parametrize("floor", [-0.1, 0.0, -2.5, 0.3])
def test_low_is_at_most_the_floor_a_use(floor: float) -> None:
    numbers: dict[str, Any] = {"usefulness_floor": floor, "harmful_floor": -1000.0}
    for score, low in ((below(floor), True), (floor, True), (above(floor), False)):
        assert is_candidate(useless(uses=1, score=score), **numbers) == low
        assert is_candidate(useless(uses=4, score=4 * score), **numbers) == low


@pytest.mark.gate("LIFE-02")
def test_without_a_use_the_whole_usefulness_counts() -> None:
    for score, low in ((below(-0.1), True), (-0.1, True), (above(-0.1), False), (0.0, False)):
        assert is_candidate(useless(uses=0, score=score)) == low
    assert not is_candidate(useless(uses=0, score=0.0)), "silence is no blame"
    assert is_candidate(useless(uses=0, score=0.0), usefulness_floor=0.0)


@pytest.mark.gate("LIFE-03")
@pytest.mark.parametrize("days", [90.0, 0.5, 1.0])
def test_stale_is_strictly_older_to_the_millisecond(days: float) -> None:
    age = round(days * DAY)
    for ago, stale in ((age - 1, False), (age, False), (age + 1, True)):
        one = useless(created_at=NOW - ago)
        assert is_candidate(one, min_age_days=days, newborn_days=0.0) == stale


@pytest.mark.gate("LIFE-03")
@pytest.mark.parametrize(("made", "useful"), [(200, 90), (90, 200), (90, 90)])
def test_the_newer_of_creation_and_last_use_to_someone_counts(made: int, useful: int) -> None:
    def one(ago_ms: int) -> Judged:
        return useless(
            created_at=NOW - made * DAY + (0 if made > 90 else ago_ms),
            last_useful_at=NOW - useful * DAY + (0 if useful > 90 else ago_ms),
        )

    assert not is_candidate(one(0))
    assert is_candidate(one(-1))
    plan = lifecycle([one(-1)])
    assert plan.stale_since.tolist() == [NOW - 90 * DAY - 1]


@pytest.mark.gate("LIFE-04")
def test_popular_is_used_so_often_or_more() -> None:
    for uses, popular in ((9, False), (10, True), (11, True)):
        assert is_candidate(useless(uses=uses, score=-0.2 * uses)) != popular
    for uses, popular in ((1, False), (2, True)):
        one = useless(uses=uses, score=-0.2 * uses)
        assert is_candidate(one, protect_use_count=2) != popular


@pytest.mark.gate("LIFE-04")
def test_popularity_yields_at_the_harmful_floor_and_below() -> None:
    for mean, harmful in ((above(-0.5), False), (-0.5, True), (below(-0.5), True)):
        assert is_candidate(useless(uses=16, score=16 * mean)) == harmful
    assert is_candidate(useless(uses=10_000, score=-5_000.0))
    assert not is_candidate(useless(uses=10_000, score=-5_000.0), harmful_floor=-0.6)


@pytest.mark.gate("LIFE-04")
def test_evergreen_never_yields() -> None:
    assert not is_candidate(useless(evergreen=True, uses=100, score=-100.0))


@pytest.mark.gate("LIFE-05")
@pytest.mark.parametrize(
    "change",
    [
        {"score": math.nan},
        {"score": -math.inf},
        {"score": math.inf},
        {"uses": -1},
        {"last_useful_at": NOW + FUTURE_TOLERANCE_MS + 1},
        {"last_useful_at": TIME_MIN_MS - 1},
        {"last_useful_at": -1},
        {"created_at": TIME_MIN_MS - 1},
        {"created_at": -(10**15)},
        {"created_at": NOW + FUTURE_TOLERANCE_MS + 1},
        {"importance": "NaN"},
        {"importance": -1.0},
        {"held_until": 5},
    ],
)
def test_what_cannot_be_is_kept_and_counted(change: dict[str, Any]) -> None:
    plan = lifecycle([useless("odd", **change), useless("other")], usefulness_floor=1000.0)
    assert candidates(plan) == {"other": None}
    assert (plan.scanned, plan.unscored) == (2, 1)


@pytest.mark.gate("LIFE-05")
def test_times_just_possible_are_taken_as_they_are() -> None:
    soon = useless(last_useful_at=NOW + FUTURE_TOLERANCE_MS)
    assert not is_candidate(soon), "of use a moment ago"
    assert is_candidate(useless(created_at=TIME_MIN_MS, last_useful_at=TIME_MIN_MS))
    assert lifecycle([soon]).unscored == 0


@pytest.mark.gate("LIFE-06")
@pytest.mark.parametrize("status", ["superseded", "archived", "invalidated"])
def test_what_is_not_believed_is_no_candidate(status: Any) -> None:
    assert not is_candidate(useless(status=status))
    newer = Judged(StoredMemory("newer"), Said())
    assert not is_candidate(useless(status=status, superseded_by="newer"), newer)


@pytest.mark.gate("LIFE-06")
def test_what_has_expired_is_no_candidate() -> None:
    for at, here in ((NOW, False), (NOW - DAY, False), (NOW + 1, True)):
        assert is_candidate(useless(expires_at=at)) == here


@pytest.mark.gate("LIFE-06")
def test_what_is_forgotten_is_not_even_scanned() -> None:
    plan = lifecycle([useless("gone", tier="forgotten", forgotten_at=NOW), useless("cold")])
    assert (candidates(plan), plan.scanned) == ({"cold": None}, 1)


@pytest.mark.gate("LIFE-07")
def test_the_least_useful_goes_first_then_the_longest_of_no_use_then_the_oldest() -> None:
    mean = {"uses": 2, "score": -2.0}
    stale = {"last_useful_at": NOW - 95 * DAY, **mean}
    judged = [
        useless("c-id", days=120, **mean),
        useless("late", days=99, **mean),
        useless("worst", days=91, uses=1, score=-3.0),
        useless("b-id", days=120, **mean),
        useless("made later", days=130, **stale),
        useless("made first", days=140, **stale),
        useless("least bad", days=400, uses=10, score=-5.0),
    ]
    assert archived(lifecycle(judged)) == [
        "worst",
        "b-id",
        "c-id",
        "late",
        "made first",
        "made later",
        "least bad",
    ]


@pytest.mark.gate("LIFE-08")
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("pinned", {"pinned": True}),
        ("held", {"held_until": NOW + 1}),
        ("newborn", {"created_at": NOW - DAY + 1}),
        ("restored", {"restored_at": NOW - 30 * DAY + 1}),
    ],
)
def test_each_protection_keeps_a_candidate_and_names_itself(
    kind: str, change: dict[str, Any]
) -> None:
    plan = lifecycle([useless("kept", **change), useless("other")], min_age_days=0.0)
    assert candidates(plan) == {"kept": kind, "other": None}
    assert plan.spared_counts() == {kind: 1}


@pytest.mark.gate("LIFE-08")
@pytest.mark.parametrize(
    "change",
    [
        {"held_until": NOW},
        {"created_at": NOW - DAY},
        {"restored_at": NOW - 30 * DAY},
    ],
)
def test_a_protection_ends_to_the_millisecond(change: dict[str, Any]) -> None:
    assert archived(lifecycle([useless(**change)], min_age_days=0.0)) == ["m"]


@pytest.mark.gate("LIFE-08")
def test_a_chains_head_stays_while_an_older_version_is_here() -> None:
    older = Judged(StoredMemory("older", status="superseded", superseded_by="m"), Said())
    assert candidates(lifecycle([useless(), older])) == {"m": "head"}
    gone = Judged(
        StoredMemory(
            "older",
            status="superseded",
            superseded_by="m",
            tier="forgotten",
            forgotten_at=NOW - 2 * DAY,
        ),
        Said(),
    )
    assert candidates(lifecycle([useless(), gone])) == {"m": None}


@pytest.mark.gate("LIFE-09")
@pytest.mark.parametrize(
    ("size", "forgotten", "archived_before", "goes"),
    [
        (99, 0, 0, 99),
        (99, 0, 50, 99),
        (100, 0, 0, 20),
        (1_000, 0, 0, 200),
        (80, 20, 0, 0),
        (90, 10, 0, 10),
        (100, 0, 20, 0),
        (100, 0, 15, 5),
        (95, 5, 5, 10),
        (100, 0, 25, 0),
    ],
)
def test_the_brake_counts_what_was_forgotten_and_what_was_archived_in_the_day(
    size: int, forgotten: int, archived_before: int, goes: int
) -> None:
    judged = [useless(f"m{n:04}", score=-1.0 - n) for n in range(size)]
    window = {"forgotten_in_window": forgotten + archived_before}
    plan = lifecycle(judged, archived_in_window=archived_before, **window)
    assert archived(plan) == [f"m{n:04}" for n in reversed(range(size))][:goes]
    assert plan.spared_counts() == ({"braked": size - goes} if goes < size else {})
    assert plan.brake.engaged == (goes < size)
    assert plan.brake.forgotten_in_window == forgotten + archived_before


@pytest.mark.gate("LIFE-09")
def test_what_a_protection_keeps_takes_no_part_of_what_the_brake_allows() -> None:
    judged = [useless(f"m{n:03}", score=-1.0 - n, pinned=n >= 90) for n in range(100)]
    plan = lifecycle(judged)
    assert archived(plan) == [f"m{n:03}" for n in range(89, 69, -1)]
    assert plan.spared_counts() == {"pinned": 10, "braked": 70}


@pytest.mark.gate("LIFE-10")
def test_an_empty_store_has_an_empty_plan() -> None:
    plan = lifecycle([])
    assert (len(plan), plan.scanned, plan.unscored, plan.spared_counts()) == (0, 0, 0, {})
    assert not plan.brake.engaged


@pytest.mark.gate("LIFE-10")
def test_a_plan_says_of_each_candidate_what_was_known() -> None:
    judged = [
        useless("cold", tier="cold", uses=3, score=-4.5, memory_type="procedural"),
        useless("hot", uses=0, score=-0.25, last_useful_at=NOW - 95 * DAY),
    ]
    plan = lifecycle(judged)
    assert plan.ids == ["cold", "hot"]
    assert plan.mean.tolist() == [-1.5, -0.25]
    assert plan.use_count.tolist() == [3, 0]
    assert plan.from_tier.tolist() == [1, 0]
    assert plan.stale_since.tolist() == [NOW - 100 * DAY, NOW - 95 * DAY]
    assert plan.rid.tolist() == snapshot_of([one.memory for one in judged]).rid.tolist()
