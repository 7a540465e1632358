"""What a cycle would do with one memory, in words, and when its strength passes a bound."""

from typing import Any

import pytest

from protocol.vector_store import DAY, NOW, StoredMemory, StoreSettings, snapshot_of
from sidecar.plan.crossings import Crossing, cycle_crossings, sweep_crossings
from sidecar.plan.cycle_plan import CYCLE_POLICY
from sidecar.plan.explain_cycle import CycleView, explain_cycle
from sidecar.plan.scoring import assess
from tests.cycle_stores import AT_ONCE, aged, cycle, fresh


def view(*memories: StoredMemory, **given: Any) -> CycleView:
    """The first of some memories as a cycle sees it."""
    return explain_cycle(cycle(memories, **given), 1)


@pytest.mark.gate("EXPL-13")
@pytest.mark.parametrize(
    ("memory", "action", "why"),
    [
        (fresh("m", 0.5), "keep", "kept: strength 0.5 is not below 0.15"),
        (aged("m", 300, importance=0.4), "prune", "time_decay: strength 0.01 is below 0.05"),
        (aged("m", 20, importance=0.3), "fade", "time_decay: strength 0.09108 is below 0.15"),
        (
            aged("m", 300, importance=0.4, pinned=True),
            "keep",
            "strength 0.01 is below 0.05; protected: pinned",
        ),
        (
            aged("m", 6, importance=0.04),
            "keep",
            "strength 0.02516 is below 0.05; kept: used or faded less than 7 days ago",
        ),
        (
            aged("m", 10, importance="NaN"),
            "keep",
            "unscored: a value is missing or impossible, so it is kept",
        ),
        (
            aged("m", 10, importance=0.9, memory_type="procedural", failure_count=40),
            "prune",
            "low_performance: a procedure that mostly failed",
        ),
    ],
    ids=str,
)
def test_it_says_what_a_cycle_would_do_and_why(memory: StoredMemory, action: str, why: str) -> None:
    found = view(memory)
    assert (found.action, found.why) == (action, why)
    assert (found.reason is None) == (action == "keep" and found.skipped in (None, "unscored"))


@pytest.mark.gate("EXPL-13")
def test_it_names_the_newer_version_the_survivor_the_floor_and_the_guard() -> None:
    old = aged("old", 10, importance=0.9, status="superseded", superseded_by="new")
    assert view(old, fresh("new", 0.5)).why == "superseded: a newer version stands"
    twins = (fresh("a", 0.5), fresh("b", 0.6))
    found = view(*twins, survivors={"a": "b", "b": "b"})
    assert (found.action, found.survivor) == ("prune", "b")
    assert found.why == "likely_duplicate: another memory says the same: b"
    guarded = view(*twins, flagged=["a", "b"])
    assert guarded.skipped == "guarded"
    assert guarded.why.endswith("differs in what it says from one that is near")
    floored = view(aged("m", 60, importance=0.01), semantic_prune_threshold=0.0, **AT_ONCE)
    assert floored.why == "strength 0.01 is below 0.15; kept: its importance is at the floor"


@pytest.mark.gate("EXPL-13")
def test_its_thresholds_are_those_of_the_type_and_an_unscored_memory_has_no_numbers() -> None:
    episode = view(aged("m", 3, importance=0.9, memory_type="episodic"))
    assert (episode.prune_threshold, episode.fade_threshold) == (0.05, 0.20)
    assert episode.survivor is None
    assert episode.score == pytest.approx(0.850, abs=0.001)
    unscored = view(aged("m", 3, importance="NaN"))
    assert (unscored.score, unscored.old_importance, unscored.new_importance) == (None,) * 3
    faded = view(aged("m", 20, importance=0.3))
    assert (faded.old_importance, faded.new_importance) == (0.3, 0.15)


def weak_crossing(memory: StoredMemory, *others: StoredMemory, **settings: Any) -> Crossing:
    """When pressure may forget the first of some memories for being weak."""
    cascade = StoreSettings(**settings).to_cascade()
    snapshot = snapshot_of([memory, *others])
    return sweep_crossings(assess(snapshot, cascade, now=NOW, policy=CYCLE_POLICY), 0)[0]


@pytest.mark.gate("EXPL-14")
@pytest.mark.parametrize(("importance", "days"), [(0.5, 50.1), (0.8, 108.3), (1.0, 249.6)])
def test_a_memory_passes_weak_at_the_points_named(importance: float, days: float) -> None:
    found = weak_crossing(fresh("m", importance))
    assert found.crossed_at is not None
    assert (found.crossed_at - NOW) / DAY == pytest.approx(days, abs=0.05)
    assert (found.acts_at, found.why) == (found.crossed_at, "once its strength is below 0.05")


@pytest.mark.gate("EXPL-14")
@pytest.mark.parametrize(
    ("fields", "acts_at", "why"),
    [
        ({"pinned": True}, None, "not while it is pinned"),
        ({"evergreen": True}, None, "not while it is evergreen"),
        (
            {"importance": "NaN"},
            None,
            "not while it is unscored: a value is missing or impossible",
        ),
        ({"held_until": NOW + 30 * DAY}, NOW + 30 * DAY, "once its hold is over"),
        (
            {"restored_at": NOW - DAY},
            NOW + 29 * DAY,
            "once its grace after being restored is over",
        ),
        ({"created_at": NOW}, NOW + 7 * DAY, "once it was not used for 7 days"),
    ],
    ids=str,
)
def test_it_says_what_a_weak_memory_still_waits_for(
    fields: dict[str, Any], acts_at: int | None, why: str
) -> None:
    memory = StoredMemory("m", **{"importance": 0.01, "created_at": NOW - 90 * DAY, **fields})
    found = weak_crossing(memory)
    assert (found.acts_at, found.why) == (acts_at, why)


@pytest.mark.gate("EXPL-14")
def test_what_has_no_end_is_never_and_a_bound_at_the_floor_is_never_crossed() -> None:
    head = aged("new", 90, importance=0.01)
    older = aged("old", 90, status="superseded", superseded_by="new")
    assert weak_crossing(head, older).why == "not while an older version is here"
    never = weak_crossing(head, weak_strength=0.01)
    assert (never.crossed_at, never.acts_at) == (None, None)
    assert never.why == "never: no strength falls below 0.01"
    believed = weak_crossing(head, forget_active=False)
    assert believed.why == "not while it is believed: forgetActive is off"
    assert believed.crossed_at == head.created_at


@pytest.mark.gate("EXPL-14")
def test_an_expiry_is_a_crossing_of_its_own_that_waits_for_no_idle_days() -> None:
    memory = fresh("m", 0.01, expires_at=NOW + 3 * DAY)
    snapshot = snapshot_of([memory])
    seen = assess(snapshot, StoreSettings().to_cascade(), now=NOW, policy=CYCLE_POLICY)
    weak, expiry = sweep_crossings(seen, 0)
    assert (weak.acts_at, expiry.acts_at) == (NOW + 7 * DAY, NOW + 3 * DAY)
    assert (expiry.bound, expiry.crossed_at, expiry.why) == (
        None,
        NOW + 3 * DAY,
        "once its time is over",
    )


@pytest.mark.gate("EXPL-14")
def test_a_cycle_that_goes_by_something_else_than_strength_says_so() -> None:
    store = [aged("old", 90, status="superseded", superseded_by="new"), fresh("new", 0.5)]
    snapshot = snapshot_of(store)
    seen = assess(snapshot, StoreSettings().to_cascade(), now=NOW, policy=CYCLE_POLICY)
    for crossing in cycle_crossings(seen, 0, cycle(store)):
        assert crossing.acts_at is None
        assert crossing.why == "not for its strength: what counts is superseded"
    twins = [aged("a", 300), fresh("b", 0.5)]
    plan = cycle(twins, survivors={"b": "a", "a": "a"})
    seen = assess(snapshot_of(twins), StoreSettings().to_cascade(), now=NOW, policy=CYCLE_POLICY)
    fade, prune = cycle_crossings(seen, 0, plan)
    assert prune.why == "not while it stands for a memory that says the same"
    assert fade.acts_at is not None
