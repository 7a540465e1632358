"""Buckets and fading: the bounds of each type, what a fade leaves, and how often it comes."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from protocol.vector_store import DAY, NOW, StoredMemory, StoreSettings, snapshot_of
from sidecar.plan.cycle import plan_cycle
from sidecar.plan.cycle_plan import FADED, PRUNED
from sidecar.plan.cycle_settings import CycleSettings
from sidecar.strength import DECAY_PER_DAY, DECAY_SHIELD
from tests.cycle_stores import AT_ONCE, Decision, after, aged, cycle, decision_on, decisions, fresh

KINDS = ("semantic", "episodic", "procedural")
FADE_FROM = {"semantic": 0.15, "episodic": 0.20, "procedural": 0.15}
PRUNE_FROM = 0.05
KEEP = Decision("keep", None, None)
FADE = Decision("fade", "time_decay", None)
PRUNE = Decision("prune", "time_decay", None)


@pytest.mark.gate("CYC-10")
@pytest.mark.parametrize("kind", KINDS)
def test_each_bound_is_strict(kind: Any) -> None:
    def decided(importance: float) -> Decision:
        return decision_on(fresh("m", importance, memory_type=kind), **AT_ONCE)

    fade = FADE_FROM[kind]
    assert decided(math.nextafter(fade, 1)) == KEEP
    assert decided(fade) == KEEP
    assert decided(math.nextafter(fade, 0)) == FADE
    assert decided(math.nextafter(PRUNE_FROM, 1)) == FADE
    assert decided(PRUNE_FROM) == FADE
    assert decided(math.nextafter(PRUNE_FROM, 0)) == PRUNE


@pytest.mark.gate("CYC-10")
@pytest.mark.parametrize("kind", KINDS)
def test_each_type_has_its_own_bounds(kind: Any) -> None:
    changed: dict[str, Any] = {f"{kind}_prune_threshold": 0.4, f"{kind}_fade_threshold": 0.6}
    store = [fresh(f"{type} {i}", i, memory_type=type) for type in KINDS for i in (0.3, 0.5)]
    plan = cycle(store, **AT_ONCE, **changed)
    assert {id: one.action for id, one in decisions(plan).items() if one != KEEP} == {
        f"{kind} 0.3": "prune",
        f"{kind} 0.5": "fade",
    }
    assert plan.counts_by_type()[kind] == {"keep": 0, "fade": 1, "prune": 1}


@pytest.mark.gate("CYC-10")
def test_the_numbers_of_age_are_those_of_strength() -> None:
    for importance, days in ((0.5, 50.1), (0.8, 108.3), (1.0, 249.6)):
        above = decision_on(aged("m", days - 0.1, importance=importance))
        below = decision_on(aged("m", days + 0.1, importance=importance))
        assert (above, below) == (FADE, PRUNE)


def one_fade(importance: float, left: float = 1.0, **changed: Any) -> tuple[float, float]:
    """The importance shown before and after the one fade of a plan."""
    memory = fresh("m", importance, fade_factor=left)
    plan = cycle([memory], semantic_fade_threshold=1.0, semantic_prune_threshold=0.0, **changed)
    assert plan.counts()["fade"] == 1
    assert plan.new_importance[0] == importance * plan.new_fade_factor[0]
    return float(plan.old_importance[0]), float(plan.new_importance[0])


@pytest.mark.gate("CYC-11")
def test_a_fade_multiplies_the_shown_importance_by_the_factor_down_to_the_floor() -> None:
    assert one_fade(0.4, **AT_ONCE) == (0.4, 0.2)
    assert one_fade(0.4, 0.5, **AT_ONCE) == (0.2, 0.1)
    assert one_fade(0.4, 0.5, **AT_ONCE, fade_floor=0.15) == (0.2, 0.15)
    old, new = one_fade(0.013, **AT_ONCE)
    assert (old, new) == (0.013, pytest.approx(0.01, rel=1e-15))
    assert new >= 0.01


@pytest.mark.gate("CYC-11")
def test_a_fade_leaves_the_base_so_that_decay_stays_as_it_was() -> None:
    memory = aged("m", 30, importance=0.5)
    snapshot = snapshot_of([memory])
    plan = cycle([memory])
    later = after(snapshot, plan)
    assert later.importance.tolist() == [0.5]
    assert (later.fade_factor.tolist(), later.faded_at.tolist()) == ([0.5], [NOW])
    again = plan_cycle(later, CycleSettings(), StoreSettings().to_cascade(), now=NOW)
    assert again.score[0] == pytest.approx(plan.score[0] / 2, rel=1e-15)


@pytest.mark.gate("CYC-12")
@pytest.mark.parametrize("importance,factor", [(0.0, 1.0), (0.01, 1.0), (0.5, 0.02), (0.5, 0.0)])
def test_at_or_below_the_floor_nothing_fades_or_rises(importance: float, factor: float) -> None:
    memory = fresh("m", importance, fade_factor=factor)
    settings = {"semantic_prune_threshold": 0.0, **AT_ONCE}
    plan = cycle([memory], **settings)
    assert decisions(plan)["m"] == Decision("keep", "time_decay", "at_floor")
    assert plan.new_importance.tolist() == plan.old_importance.tolist() == [importance * factor]
    assert plan.new_fade_factor.tolist() == [factor]


@pytest.mark.gate("CYC-12")
def test_a_hundred_fades_end_at_the_floor_and_never_at_nothing() -> None:
    snapshot = snapshot_of([fresh("m", 1.0)])
    settings = CycleSettings(
        semantic_prune_threshold=0.0, semantic_fade_threshold=1.0, fade_interval_days=0.0
    )
    snapshot.created_at[:] = NOW - DAY
    seen: list[float] = []
    for _ in range(100):
        plan = plan_cycle(snapshot, settings, StoreSettings().to_cascade(), now=NOW)
        seen.append(float(plan.new_importance[0]))
        snapshot = after(snapshot, plan)
    assert seen[:7] == [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, pytest.approx(0.01)]
    assert seen[6:] == [seen[6]] * 94
    assert seen[6] >= 0.01


@pytest.mark.gate("CYC-13")
@pytest.mark.parametrize("field", ["created_at", "last_recalled_at", "faded_at"])
def test_what_was_made_used_or_faded_in_the_interval_waits_to_the_millisecond(field: Any) -> None:
    def decided(importance: float, age_ms: int) -> Decision:
        times = {"created_at": NOW - 8 * DAY, field: NOW - age_ms}
        changed = {"semantic_fade_threshold": 1.0, "semantic_prune_threshold": 0.05}
        return decision_on(StoredMemory("m", importance=importance, **times), **changed)

    old_enough = 7 * DAY
    waits = Decision("keep", "time_decay", "fade_interval")
    assert decided(0.8, old_enough - 1) == waits
    assert decided(0.8, old_enough) == FADE
    assert decided(0.01, old_enough - 1) == waits
    assert decided(0.01, old_enough) == PRUNE


@pytest.mark.gate("CYC-13")
def test_a_fade_in_the_future_counts_as_one_just_now() -> None:
    memory = aged("m", 300, importance=0.1, faded_at=NOW + 400 * DAY)
    assert decision_on(memory).skipped == "fade_interval"


@pytest.mark.gate("CYC-14")
def test_with_an_interval_of_nothing_nothing_waits_and_the_band_is_taken_literally() -> None:
    """Each cycle fades what is in the band and prunes what is below it, on the same day too."""
    snapshot = snapshot_of([aged("m", 28, importance=0.5, faded_at=NOW - 1)])
    settings = CycleSettings(fade_interval_days=0.0)
    seen: list[str] = []
    for _ in range(4):
        plan = plan_cycle(snapshot, settings, StoreSettings().to_cascade(), now=NOW)
        seen += [one.action for one in decisions(plan).values()]
        snapshot = after(snapshot, plan)
    assert seen == ["fade", "fade", "prune"]


def simulated(kind: Any, importance: float, days: int) -> tuple[list[int], int | None]:
    """The days of the fades and of the prune, by a cycle every day."""
    snapshot = snapshot_of([fresh("m", importance, memory_type=kind)])
    cascade, fades = StoreSettings().to_cascade(), list[int]()
    for day in range(days + 1):
        plan = plan_cycle(snapshot, CycleSettings(), cascade, now=NOW + day * DAY)
        if plan.action[0] == PRUNED:
            return fades, day
        if plan.action[0] == FADED:
            fades.append(day)
        snapshot = after(snapshot, plan)
    return fades, None


def in_closed_form(kind: str, importance: float) -> tuple[list[int], int]:
    """The same days by arithmetic.

    The first fade comes on the first day, from the seventh on, that is below the fade
    threshold. Each week after it the strength has fallen by half and by a week's decay; the
    memory goes with the first of these weeks that is below the prune threshold.
    """
    decay = DECAY_PER_DAY[KINDS.index(kind)] * (1 - DECAY_SHIELD * importance)
    first = max(7, math.floor(math.log(importance / FADE_FROM[kind]) / decay) + 1)
    left = importance * math.exp(-decay * first) / PRUNE_FROM
    weeks = max(0, math.floor(math.log(left) / (math.log(2) + 7 * decay)) + 1)
    return [first + 7 * week for week in range(weeks)], first + 7 * weeks


@pytest.mark.gate("CYC-15")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("importance", [0.06, 0.1, 0.3, 0.5, 0.8, 1.0])
def test_four_hundred_days_of_daily_cycles_are_those_of_the_closed_form(
    kind: str, importance: float
) -> None:
    fades, end = in_closed_form(kind, importance)
    within = end if end <= 400 else None
    assert simulated(kind, importance, 400) == ([day for day in fades if day <= 400], within)


@pytest.mark.gate("CYC-15")
def test_what_is_used_every_week_outlives_all_cycles() -> None:
    snapshot = snapshot_of([fresh("m", 0.5)])
    cascade = StoreSettings().to_cascade()
    for day in range(401):
        now = NOW + day * DAY
        if day % 7 == 0:
            snapshot = replace(snapshot, last_recalled_at=np.array([now]))
        plan = plan_cycle(snapshot, CycleSettings(), cascade, now=now)
        assert plan.counts() == {"keep": 1, "fade": 0, "prune": 0}
