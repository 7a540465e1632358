"""The days to come by pure rules: what arrives, what is due, what a run leaves behind."""

from typing import Any

import numpy as np
import pytest

from protocol.vector_store import DAY, NOW, StoredMemory, StoreSettings, snapshot_of
from sidecar.errors import InvalidParams
from sidecar.plan import simulate as simulation
from sidecar.plan.arrivals import arrivals_like, no_memories
from sidecar.plan.cycle_settings import CycleSettings
from sidecar.plan.detector import ENDLESS, FORGETTING, SPILLING, Holds
from sidecar.plan.plan import Snapshot
from sidecar.plan.simulate import Moves, Simulation, Standing, Taking, Timer, arriving, simulate
from tests.plan_stores import POLICY, weak

HOUR = DAY // 24


def standing(*, taken: tuple[Taking, ...] = (), **given: Any) -> Standing:
    """What a namespace stands at; settings by their names."""
    own = {name: given.pop(name) for name in ("holds", "backoff", "timer") if name in given}
    settings = StoreSettings(**given).to_cascade()
    return Standing(NOW, settings, POLICY, takings=taken, **own)


def days_of(
    memories: list[StoredMemory], days: int = 3, arrivals: int = 0, **given: Any
) -> Simulation:
    """The days to come of a small store."""
    snapshot = snapshot_of(memories)
    found = simulate(
        snapshot,
        arrivals_like(snapshot, NOW),
        standing(**given),
        days=days,
        arrivals_per_day=arrivals,
    )
    assert found is not None
    return found


def columns(snapshot: Snapshot) -> dict[str, Any]:
    """Every column as plain values."""
    return {name: np.array(getattr(snapshot, name)).tolist() for name in Snapshot.__slots__}


@pytest.mark.gate("SIM-02")
def test_the_same_start_has_the_same_days_and_stays_as_it_was() -> None:
    store = [weak(f"m{n}", days=90 + n, tier="hot" if n % 2 else "cold") for n in range(60)]
    snapshot = snapshot_of(store)
    before = columns(snapshot)
    start = standing(threshold_total=40, threshold_count=20)
    first, again = (
        simulate(snapshot, arrivals_like(snapshot, NOW), start, days=5, arrivals_per_day=9)
        for _ in range(2)
    )
    assert first is not None
    assert again is not None
    assert (first.days, first.totals) == (again.days, again.totals)
    assert columns(snapshot) == before
    assert first.totals.forgotten > 0


@pytest.mark.gate("SIM-02")
def test_totals_are_those_of_the_days_and_counts_follow_from_the_moves() -> None:
    found = days_of([weak(f"m{n}") for n in range(50)], 6, 11, threshold_total=40)
    totals = Moves()
    counts = found.before
    for number, day in enumerate(found.days, 1):
        assert (day.day, day.at) == (number, NOW + number * DAY)
        assert day.after.total == counts.total + day.moves.arrived - day.moves.forgotten
        assert day.after.forgotten == counts.forgotten + day.moves.forgotten
        counts = day.after
        totals.add(day.moves)
    assert totals == found.totals
    assert totals.arrived == 66


@pytest.mark.gate("SIM-03")
def test_arrivals_are_spread_over_the_day_and_like_the_newest_hot_memories() -> None:
    assert [sum(arriving(n, step) for step in range(1, 25)) for n in (0, 1, 23, 1_000)] == [
        0, 1, 23, 1_000,
    ]  # fmt: skip
    assert max(arriving(100, step) for step in range(1, 25)) == 5
    kinds = [
        StoredMemory("a", importance=0.2, memory_type="episodic", bytes=700, cold_bytes=300),
        StoredMemory("b", importance=0.8, bytes=900, cold_bytes=400),
        StoredMemory("cold", importance=0.5, tier="cold", created_at=NOW),
        StoredMemory("bad", importance="NaN", created_at=NOW),
    ]
    arrivals = arrivals_like(snapshot_of(kinds), NOW)
    assert len(arrivals) == 2
    came = arrivals.snapshot(0, 1_000, at=NOW, rid=5)
    assert came.rid.tolist() == list(range(5, 1_005))
    assert set(zip(came.importance.tolist(), came.bytes.tolist(), strict=True)) == {
        (0.2, 700),
        (0.8, 900),
    }
    assert abs(int((came.importance == 0.2).sum()) - 500) <= 1
    assert set(came.memory_type[came.importance == 0.2].tolist()) == {1}
    assert arrivals.snapshot(7, 3, at=NOW, rid=1).ids == came.ids[7:10]


@pytest.mark.gate("SIM-03")
def test_an_empty_store_has_arrivals_of_the_middle() -> None:
    arrivals = arrivals_like(no_memories(), NOW)
    found = simulate(
        no_memories(), arrivals, standing(threshold_count=10), days=1, arrivals_per_day=24
    )
    assert found is not None
    assert arrivals.importance.tolist() == [0.5]
    assert (found.before.total, found.days[0].after.total) == (0, 24)
    assert found.first_crossed == {"count": (1, NOW + 11 * HOUR)}


@pytest.mark.gate("SIM-04")
def test_a_shared_file_is_freed_with_its_last_owner() -> None:
    owners = [
        weak(f"m{n}", days=100 + n, bytes=100, media_ref="a.png", media_bytes=9_000)
        for n in range(2)
    ]
    found = days_of([*owners, StoredMemory("strong", importance=1.0, bytes=100)], 1)
    assert found.before.live_bytes == 9_300
    pressed = days_of([*owners, weak("z", days=300, bytes=100)], 1, threshold_total=2)
    assert pressed.days[0].after.live_bytes == 9_100
    both = days_of([*owners, StoredMemory("strong", importance=1.0, bytes=100)], 1,
                   threshold_total=1)  # fmt: skip
    assert (both.days[0].moves.forgotten, both.days[0].after.live_bytes) == (2, 100)


@pytest.mark.gate("SIM-04")
def test_what_is_forgotten_still_links_its_chain() -> None:
    chain = [
        weak("old", days=300, pinned=True, status="superseded", superseded_by="middle"),
        weak("middle", days=200, status="superseded", superseded_by="head"),
        weak("head", days=100),
    ]
    found = days_of(chain, 3, threshold_total=0)
    assert found.totals.forgotten == 1
    left = found.store.snapshot()
    assert left.ids == ["old", "head"]
    assert (left.gone_rid.tolist(), left.gone_successor_rid.tolist()) == ([2], [3])


@pytest.mark.gate("SIM-05")
@pytest.mark.parametrize(
    ("holds", "spilled", "forgotten"),
    [
        (Holds(), [31, 0, 0], [41, 0, 0]),
        (Holds(paused_until=ENDLESS), [0, 0, 0], [0, 0, 0]),
        (Holds(paused_until=NOW + DAY + HOUR), [0, 31, 0], [0, 41, 0]),
        (Holds(braked_until=NOW + DAY + HOUR), [72, 0, 0], [0, 41, 0]),
        (Holds(stage_two_not_before=NOW + DAY + HOUR), [72, 0, 0], [0, 41, 0]),
    ],
    ids=["free", "paused", "paused for a day", "braked", "after a lowering"],
)
def test_what_holds_automatic_runs_back_is_waited_for(
    holds: Holds, spilled: list[int], forgotten: list[int]
) -> None:
    store = [weak(f"m{n:02}") for n in range(90)]
    settings = {"threshold_count": 20, "threshold_total": 55}
    found = days_of(store, holds=holds, **settings)
    assert [day.moves.spilled for day in found.days] == spilled
    assert [day.moves.forgotten for day in found.days] == forgotten
    assert [day.braked for day in found.days] == [holds.braked_until > 0, False, False]


@pytest.mark.gate("SIM-05")
def test_a_stage_that_made_no_progress_waits_as_it_does_now_and_for_longer_each_time() -> None:
    store = [StoredMemory(f"s{n}", importance=0.9, pinned=True) for n in range(30)]
    planned: list[int] = []

    class Counting(simulation._Run):  # type: ignore[misc]
        def _sweep(self, due: tuple[int, ...], now: int) -> None:
            planned.append((now - NOW) // HOUR)
            super()._sweep(due, now)

    snapshot = snapshot_of(store)
    wait = {SPILLING: (NOW + 2 * HOUR, HOUR)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "_Run", Counting)
        start = standing(threshold_count=10, backoff=wait)
        simulate(snapshot, arrivals_like(snapshot, NOW), start, days=3, arrivals_per_day=0)
    assert planned == [2, 4, 8, 16, 32, 56]  # 2, 4, 8, 16, then 24 hours at most

    assert FORGETTING not in wait
    found = days_of(store, 1, threshold_total=10)
    assert found.days[0].pressure
    assert found.days[0].crossed == {"total"}


@pytest.mark.gate("SIM-05")
def test_a_cycle_comes_after_its_interval_and_not_while_all_runs_are_paused() -> None:
    timer = Timer(CycleSettings(), interval_ms=DAY, last_at=NOW - DAY + 5 * HOUR)
    free = days_of([weak("m"), weak("n", pinned=True)], timer=timer)
    assert [day.moves.pruned for day in free.days] == [1, 0, 0]
    held = Holds(paused_until=NOW + DAY + HOUR, braked_until=ENDLESS)
    paused = days_of([weak("m"), weak("n", pinned=True)], timer=timer, holds=held)
    assert [day.moves.pruned for day in paused.days] == [0, 1, 0]
    assert not any(day.braked for day in paused.days)


@pytest.mark.gate("SIM-06")
def test_the_brake_counts_what_was_taken_before_until_its_day_is_over() -> None:
    store = [weak(f"m{n:03}") for n in range(200)]
    settings = {"threshold_total": 10, "brake_share": 0.2}
    free = days_of(store, 2, **settings)
    # Of 240 that there were 40 had gone: 8 more, and once a day is over a fifth of what is left.
    held = days_of(store, 2, taken=(Taking(NOW + HOUR, 40),), **settings)
    assert [day.moves.forgotten for day in free.days] == [40, 32]
    assert [day.moves.forgotten for day in held.days] == [8, 38]
    assert held.days[0].braked
    after_window = days_of(store, 2, taken=(Taking(NOW - 30 * HOUR, 30),), **settings)
    assert after_window.days == free.days


@pytest.mark.gate("SIM-06")
def test_what_was_archived_and_then_forgotten_counts_once() -> None:
    store = [weak("gone", days=300, status="archived"), *(weak(f"m{n:03}") for n in range(120))]
    archived = (Taking(NOW - HOUR, 0, archived=(1,)),)
    settings = {"threshold_total": 118, "low_watermark": 1.0, "brake_share": 0.1}
    found = days_of(store, 1, taken=archived, **settings)
    assert found.days[0].moves.forgotten == 3
    assert "gone" not in found.store.snapshot().ids


@pytest.mark.gate("SIM-07")
def test_a_simulation_that_plans_too_much_is_refused_with_how_far_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulation, "SIMULATED_MEMORIES_PLANNED_MAX", 1_000)
    with pytest.raises(InvalidParams) as refused:
        days_of([weak(f"m{n}") for n in range(90)], 30, 240, threshold_count=10)
    assert refused.value.message == "The simulation takes too long: it came to day 1"
    assert refused.value.data["field"] == "$.days"


@pytest.mark.gate("SIM-07")
def test_it_ends_when_it_is_told_to() -> None:
    asked: list[int] = []
    snapshot = snapshot_of([weak("m")])
    found = simulate(
        snapshot,
        arrivals_like(snapshot, NOW),
        standing(),
        days=9,
        arrivals_per_day=1,
        proceed=lambda: asked.append(1) or len(asked) < 30,  # type: ignore[func-returns-value]
    )
    assert (found, len(asked)) == (None, 30)
