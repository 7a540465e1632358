"""Why a memory goes: superseded, a duplicate, a procedure that fails; and what stops it."""

from typing import Any

import numpy as np
import pytest

from protocol.vector_store import DAY, NOW, StoredMemory
from sidecar.plan.cycle_plan import KEPT, PRUNED
from sidecar.strength import wilson_lower
from tests.cycle_stores import AT_ONCE, Decision, aged, cycle, decision_on, decisions, fresh

KEEP = Decision("keep", None, None)
FADE = Decision("fade", "time_decay", None)


def older(id: str, by: str, **fields: Any) -> StoredMemory:
    """A strong memory that another one supersedes."""
    given: dict[str, Any] = {"importance": 1.0, "created_at": NOW - 2 * DAY, **fields}
    return StoredMemory(id=id, status="superseded", superseded_by=by, **given)


def tried(successes: int, failures: int, **fields: Any) -> StoredMemory:
    """A procedure with outcomes, strong by itself."""
    given: dict[str, Any] = {"importance": 1.0, "created_at": NOW - 10 * DAY, **fields}
    return StoredMemory(
        "p",
        memory_type="procedural",
        success_count=successes,
        failure_count=failures,
        **given,
    )


@pytest.mark.gate("CYC-01")
def test_an_existing_successor_forces_a_prune_whatever_the_score() -> None:
    strong = older("old", "new", recall_count=9, last_recalled_at=NOW)
    assert decision_on(strong, fresh("new", 1.0)) == Decision("prune", "superseded", None)
    cold = fresh("new", 1.0, tier="cold")
    assert decision_on(strong, cold) == Decision("prune", "superseded", None)
    archived = fresh("new", 1.0, status="archived")
    assert decision_on(strong, archived) == Decision("prune", "superseded", None)


@pytest.mark.gate("CYC-01")
def test_a_chain_of_ten_thousand_goes_but_for_its_head() -> None:
    count = 10_000
    chain = [older(f"v{n:05}", f"v{n + 1:05}") for n in range(count - 1)]
    plan = cycle([*chain, aged("v09999", 300, importance=0.2)], brake_share=1.0)
    assert plan.counts() == {"keep": 1, "fade": 0, "prune": count - 1}
    assert plan.ids[int(plan.rows_of(KEPT)[0])] == "v09999"


@pytest.mark.gate("CYC-02")
@pytest.mark.parametrize(
    "name,store",
    [
        ("missing", [older("a", "nobody")]),
        ("itself", [older("a", "a")]),
        ("loop", [older("a", "b"), older("b", "c"), older("c", "a")]),
        ("into a loop", [older("a", "b"), older("b", "c"), older("c", "b")]),
    ],
)
def test_a_chain_that_leads_nowhere_forces_nothing_and_is_named(
    name: str, store: list[StoredMemory]
) -> None:
    plan = cycle(store)
    assert set(decisions(plan).values()) == {KEEP}, name
    assert plan.broken_chain_ids == tuple(memory.id for memory in store)
    assert plan.broken_chains == len(store)


@pytest.mark.gate("CYC-02")
def test_members_of_a_broken_chain_age_like_any_other() -> None:
    weak = older("a", "nobody", importance=0.5, created_at=NOW - 30 * DAY)
    assert decision_on(weak) == FADE


@pytest.mark.gate("CYC-02")
@pytest.mark.parametrize("tier,status", [("forgotten", "active"), ("hot", "invalidated")])
def test_a_newer_version_that_does_not_stand_forces_nothing(tier: Any, status: Any) -> None:
    newer = fresh("new", 1.0, tier=tier, status=status)
    plan = cycle([older("old", "new"), newer])
    assert decisions(plan)["old"] == KEEP
    assert plan.broken_chains == 0


@pytest.mark.gate("CYC-02")
def test_many_broken_chains_are_counted_and_the_first_named() -> None:
    plan = cycle([older(f"m{n:03}", "nobody") for n in range(150)])
    assert plan.broken_chains == 150
    assert plan.broken_chain_ids == tuple(f"m{n:03}" for n in range(100))


@pytest.mark.gate("CYC-03")
def test_a_weak_head_stays_while_an_older_version_is_here() -> None:
    head = aged("head", 300, importance=0.3)
    plan = cycle([older("old", "head"), head])
    assert decisions(plan) == {
        "old": Decision("prune", "superseded", None),
        "head": Decision("keep", "time_decay", "head"),
    }
    assert decision_on(head) == Decision("prune", "time_decay", None)


@pytest.mark.gate("CYC-03")
def test_a_head_that_is_a_duplicate_stays_until_its_older_versions_are_gone() -> None:
    store = [older("old", "head"), aged("head", 10), aged("twin", 10)]
    assert decisions(cycle(store, survivors={"head": "twin"})) == {
        "old": Decision("prune", "superseded", None),
        "head": Decision("keep", "likely_duplicate", "head"),
        "twin": KEEP,
    }


@pytest.mark.gate("CYC-04")
def test_the_first_reason_that_applies_is_told() -> None:
    bad = {"success_count": 0, "failure_count": 20, "memory_type": "procedural"}
    new, twin = fresh("new", 1.0), fresh("twin", 1.0)
    all_of = older("m", "new", importance=0.01, created_at=NOW - 300 * DAY, **bad)
    assert decision_on(all_of, new, twin, survivors={"m": "new"}).reason == "superseded"
    three = aged("m", 300, importance=0.01, **bad)
    assert decision_on(three, twin, survivors={"m": "twin"}).reason == "likely_duplicate"
    assert decision_on(three).reason == "low_performance"
    assert decision_on(aged("m", 300, importance=0.01)).reason == "time_decay"


@pytest.mark.gate("CYC-05")
@pytest.mark.parametrize("size", [2, 3, 5, 50])
def test_a_cluster_keeps_its_survivor_alone(size: int) -> None:
    store = [aged(f"m{n:02}", 2, importance=0.9) for n in range(size)]
    plan = cycle(store, survivors={memory.id: "m01" for memory in store}, brake_share=1.0)
    found = decisions(plan)
    assert found.pop("m01") == KEEP
    assert set(found.values()) == {Decision("prune", "likely_duplicate", None)}
    assert set(plan.survivor_rid[plan.rows_of(PRUNED)].tolist()) == {2}


@pytest.mark.gate("CYC-05")
def test_without_duplicates_or_a_search_for_them_nothing_is_one() -> None:
    assert cycle([aged("a", 2)], survivors={"a": "a"}).counts()["prune"] == 0


@pytest.mark.gate("CYC-06")
def test_a_survivor_that_is_weak_fades_and_does_not_go() -> None:
    weak = {"importance": 0.2, "created_at": NOW - 60 * DAY}
    store = [StoredMemory("a", **weak), StoredMemory("b", **weak)]
    assert decision_on(*store) == Decision("prune", "time_decay", None)
    assert decision_on(*store, survivors={"b": "a"}) == FADE
    lately = {**weak, "faded_at": NOW - 1}
    store = [StoredMemory("a", **lately), StoredMemory("b", **weak)]
    waits = Decision("keep", "time_decay", "fade_interval")
    assert decision_on(*store, survivors={"b": "a"}) == waits
    at_floor = StoredMemory("a", **{**weak, "importance": 0.01})
    floor = Decision("keep", "time_decay", "at_floor")
    assert decision_on(at_floor, store[1], survivors={"b": "a"}) == floor


@pytest.mark.gate("CYC-06")
def test_nothing_collapses_into_what_goes_itself_or_is_believed_less() -> None:
    a, b, c = (aged(id, 2, importance=0.9) for id in "abc")
    assert decision_on(a, b, c, survivors={"a": "b", "b": "c"}) == KEEP
    archived = aged("b", 2, status="archived")
    assert decision_on(a, archived, survivors={"a": "b"}) == KEEP
    outdated = older("b", "c")
    assert decision_on(a, outdated, c, survivors={"a": "b"}) == KEEP
    gone = Decision("prune", "likely_duplicate", None)
    assert decision_on(archived, a, survivors={"b": "a"}) == gone


@pytest.mark.gate("CYC-07")
def test_a_guarded_component_is_kept_and_told_and_still_ages() -> None:
    guarded = Decision("keep", "likely_duplicate", "guarded")
    assert decision_on(aged("m", 2), flagged=["m"]) == guarded
    assert decision_on(aged("m", 30), flagged=["m"]) == FADE
    assert decision_on(aged("m", 60), flagged=["m"]) == Decision("prune", "time_decay", None)
    assert decision_on(aged("m", 60, pinned=True), flagged=["m"]) == guarded
    unscored = Decision("keep", None, "unscored")
    assert decision_on(aged("m", 2, importance="NaN"), flagged=["m"]) == unscored
    assert cycle([aged("m", 30)], flagged=["m"]).flagged.tolist() == [True]


LOW_PRUNE = Decision("prune", "low_performance", None)
LOW_FADE = Decision("fade", "low_performance", None)


@pytest.mark.gate("CYC-16")
def test_a_procedure_that_fails_goes_once_it_was_tried_often_enough() -> None:
    assert decision_on(tried(0, 9)) == LOW_FADE
    assert decision_on(tried(0, 10)) == LOW_PRUNE
    assert decision_on(tried(1, 8)) == LOW_FADE
    assert decision_on(tried(1, 9)) == LOW_PRUNE
    assert decision_on(tried(3, 7)) == KEEP
    assert decision_on(tried(0, 2), procedural_low_perf_min_outcomes=2) == LOW_PRUNE


@pytest.mark.gate("CYC-16")
def test_the_bound_of_the_success_rate_is_strict() -> None:
    lower = float(wilson_lower(np.array([3.0]), np.array([7.0]))[0])
    assert lower == pytest.approx(0.1077912674, abs=1e-10)

    def decided(threshold: float) -> Decision:
        return decision_on(tried(3, 7), procedural_low_perf_wilson_threshold=threshold)

    assert decided(lower) == KEEP
    assert decided(float(np.nextafter(lower, 1))) == LOW_PRUNE


@pytest.mark.gate("CYC-17")
def test_new_and_untried_procedures_stay() -> None:
    assert decision_on(tried(0, 0)) == KEEP
    kept = Decision("keep", "low_performance", "newborn")
    assert decision_on(tried(0, 20, created_at=NOW - 1)) == kept
    assert decision_on(tried(0, 2, created_at=NOW - 1)) == kept


@pytest.mark.gate("CYC-17")
@pytest.mark.parametrize("kind", ["semantic", "episodic"])
def test_outcomes_of_other_types_say_nothing(kind: Any) -> None:
    memory = aged("m", 3, memory_type=kind, importance=0.9, failure_count=50)
    assert decision_on(memory) == KEEP


@pytest.mark.gate("CYC-17")
def test_low_performance_goes_before_age() -> None:
    weak = {"importance": 0.1, "created_at": NOW - 300 * DAY}
    assert decision_on(tried(0, 3, **weak)) == LOW_FADE
    assert decision_on(tried(0, 30, **weak)) == LOW_PRUNE
    lately = {"last_recalled_at": NOW - DAY}
    waits = Decision("keep", "low_performance", "fade_interval")
    assert decision_on(tried(0, 3, **lately)) == waits
    assert decision_on(tried(0, 30, **lately)) == LOW_PRUNE


PROTECTED = {
    "pinned": {"pinned": True},
    "held": {"held_until": NOW + 1},
    "evergreen": {"evergreen": True},
    "restored": {"restored_at": NOW - DAY},
}


@pytest.mark.gate("CYC-08")
@pytest.mark.parametrize("kind", PROTECTED)
def test_protection_stops_every_reason_and_says_so(kind: str) -> None:
    fields: dict[str, Any] = PROTECTED[kind]
    new = fresh("new", 1.0)

    def kept(reason: str | None) -> Decision:
        return Decision("keep", reason, kind if reason else None)

    assert decision_on(older("m", "new", **fields), new) == kept("superseded")
    twin = aged("m", 2, importance=0.9, **fields)
    assert decision_on(twin, new, survivors={"m": "new"}) == kept("likely_duplicate")
    assert decision_on(tried(0, 20, **fields)) == kept("low_performance")
    for days in (30, 60):
        assert decision_on(aged("m", days, **fields)) == kept("time_decay")
    assert decision_on(aged("m", 1, **fields)) == kept(None)


@pytest.mark.gate("CYC-08")
def test_newborn_alone_does_not_stop_what_is_superseded_or_a_duplicate() -> None:
    new = fresh("new", 1.0)
    just_made = {"created_at": NOW}
    gone = Decision("prune", "superseded", None)
    assert decision_on(older("m", "new", **just_made), new) == gone
    gone = Decision("prune", "likely_duplicate", None)
    assert decision_on(fresh("m", 0.9), new, survivors={"m": "new"}) == gone
    kept = Decision("keep", "superseded", "pinned")
    assert decision_on(older("m", "new", pinned=True, **just_made), new) == kept
    kept = Decision("keep", "superseded", "restored")
    assert decision_on(older("m", "new", restored_at=NOW - 1, **just_made), new) == kept
    weak = fresh("m", 0.01)
    assert decision_on(weak) == Decision("keep", "time_decay", "newborn")


@pytest.mark.gate("CYC-08")
@pytest.mark.parametrize(
    "fields", [{"importance": "NaN"}, {"importance": -1.0}, {"created_at": NOW + 2 * DAY}]
)
def test_what_is_unscored_is_kept_and_said_so(fields: dict[str, Any]) -> None:
    plan = cycle([StoredMemory("m", **fields), aged("b", 2)])
    assert decisions(plan)["m"] == Decision("keep", None, "unscored")
    assert np.isnan(plan.score[plan.ids.index("m")])
    broken = older("m", "b", importance="NaN")
    assert decision_on(broken, aged("b", 2)) == Decision("keep", "superseded", "unscored")


@pytest.mark.gate("CYC-09")
def test_the_brake_lets_the_clearest_reasons_and_the_weakest_go_first() -> None:
    head = fresh("head", 1.0)
    chain = [older("o1", "o2"), older("o2", "o3"), older("o3", "head")]
    twins = [aged(f"t{n}", 3, importance=0.5 + n / 100) for n in range(4)]
    decayed = [aged(f"d{n}", 100, importance=0.01 * (n + 1)) for n in range(5)]
    rest = [fresh(f"r{n:03}", 1.0) for n in range(87)]
    store = [head, *decayed, *twins, *chain, *rest]
    survivors = {twin.id: "r000" for twin in twins}
    for share, gone in (
        (0.1, ["o1", "o2", "o3", "t0", "t1", "t2", "t3", "d0", "d1", "d2"]),
        (0.11, ["o1", "o2", "o3", "t0", "t1", "t2", "t3", "d0", "d1", "d2", "d3"]),
    ):
        plan = cycle(store, survivors=survivors, brake_share=share)
        found = decisions(plan)
        assert {id for id, one in found.items() if one.action == "prune"} == set(gone)
        assert found["d4"] == Decision("keep", "time_decay", "braked")
        assert (plan.brake.allowed, plan.brake.engaged) == (len(gone), True)
    plan = cycle(store, survivors=survivors, brake_share=0.2, forgotten_in_window=15)
    assert {id for id, one in decisions(plan).items() if one.action == "prune"} == {
        *("o1", "o2", "o3"),
        *("t0", "t1", "t2", "t3"),
        "d0",
    }
    plan = cycle(store, survivors=survivors, forgotten_in_window=22)
    assert {id for id, one in decisions(plan).items() if one.action == "prune"} == {"o1", "o2"}
    assert decisions(plan)["o3"] == Decision("keep", "superseded", "braked")
    assert not cycle(store, survivors=survivors, brake_share=1.0).brake.engaged


@pytest.mark.gate("CYC-18")
def test_counts_are_those_of_the_decisions_by_type_reason_and_what_stopped_them() -> None:
    store = [
        *(aged(f"keep {n}", 8, importance=1.0) for n in range(3)),
        *(aged(f"fade {n}", 12, importance=0.3, memory_type="episodic") for n in range(2)),
        aged("prune", 60, importance=0.3),
        aged("pinned", 60, importance=0.3, pinned=True),
        aged("lately", 60, importance=0.3, last_recalled_at=NOW - DAY, faded_at=NOW - DAY),
    ]
    plan = cycle(store, semantic_fade_threshold=0.4)
    assert plan.counts() == {"keep": 5, "fade": 2, "prune": 1}
    assert plan.counts_by_type() == {
        "semantic": {"keep": 5, "fade": 0, "prune": 1},
        "episodic": {"keep": 0, "fade": 2, "prune": 0},
        "procedural": {"keep": 0, "fade": 0, "prune": 0},
    }
    assert plan.counts_by_reason() == {"time_decay": {"keep": 2, "fade": 2, "prune": 1}}
    assert plan.counts_by_skipped() == {"pinned": 1, "fade_interval": 1}
    assert decisions(plan)["keep 0"] == KEEP


@pytest.mark.gate("CYC-18")
def test_all_decisions_share_one_instant() -> None:
    store = [aged(f"m{n}", n) for n in range(120)]
    one, later = cycle(store), cycle(store, now=NOW + DAY)
    assert (one.now, later.now) == (NOW, NOW + DAY)
    assert one.score[1:].tolist() == later.score[:-1].tolist()


@pytest.mark.gate("CYC-19")
def test_a_person_is_shown_the_weakest_and_the_nearest_to_a_bound() -> None:
    shares = [0.9, 0.16, 0.14, 0.1495, 0.051, 0.02, 0.01]
    store = [fresh(f"m {share}", share) for share in shares]
    store.append(fresh("unknown", 0.1, recall_count=-1))
    plan = cycle(store, **AT_ONCE)
    assert [plan.ids[at] for at in plan.nearest(3)] == ["m 0.1495", "m 0.051", "m 0.14"]
    assert [plan.ids[at] for at in plan.weakest(PRUNED, 5)] == ["m 0.01", "m 0.02"]
    assert [plan.ids[at] for at in plan.weakest(KEPT, 1)] == ["m 0.16"]
    assert len(plan.nearest(100)) == len(shares)


@pytest.mark.gate("CYC-19")
def test_an_empty_store_has_an_empty_plan() -> None:
    plan = cycle([])
    assert len(plan) == 0
    assert plan.counts() == {"keep": 0, "fade": 0, "prune": 0}
    assert plan.counts_by_reason() == plan.counts_by_skipped() == {}
    assert plan.nearest(3).tolist() == plan.weakest(KEPT, 3).tolist() == []


@pytest.mark.gate("CYC-28")
@pytest.mark.parametrize(
    "successes,failures,lower",
    [(0, 1, 0.0), (1, 0, 0.20654931), (5, 5, 0.23659309), (1, 9, 0.01787621), (50, 50, 0.40383153)],
)
def test_the_lower_bound_of_a_success_rate(successes: int, failures: int, lower: float) -> None:
    given = np.array([successes], dtype=np.float64), np.array([failures], dtype=np.float64)
    assert wilson_lower(*given)[0] == pytest.approx(lower, abs=1e-8)
