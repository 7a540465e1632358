"""When a stage begins and where it stops: thresholds, watermark, brake, shortfall, disk."""

import numpy as np
import pytest

from protocol.vector_store import StoredMemory
from sidecar.plan.plan import REASONS, CascadeSettings
from sidecar.plan.stages import brake_of, low_watermark
from tests.plan_stores import applied, forgotten, spilled, sweep, weak

TEN = [weak(f"m{n}", days=100 + n) for n in range(10)]
HUNDRED = [weak(f"m{n:03}", days=100 + n) for n in range(100)]


@pytest.mark.gate("CASC-01")
@pytest.mark.parametrize(("threshold", "moved"), [(11, 0), (10, 0), (9, 1), (8, 2), (0, 10)])
def test_hot_memories_are_spilled_only_above_the_threshold(threshold: int, moved: int) -> None:
    plan = sweep(TEN, threshold_count=threshold)
    assert len(spilled(plan)) == moved
    assert plan.stages[0].crossed == (("count",) if moved else ())
    assert forgotten(plan) == []


@pytest.mark.gate("CASC-01")
@pytest.mark.parametrize(("threshold", "moved"), [(11, 0), (10, 0), (9, 1), (8, 2), (0, 10)])
def test_memories_are_forgotten_only_above_the_total(threshold: int, moved: int) -> None:
    plan = sweep(TEN, threshold_total=threshold)
    assert len(forgotten(plan)) == moved
    assert plan.stages[1].crossed == (("total",) if moved else ())
    assert spilled(plan) == []


@pytest.mark.gate("CASC-01")
@pytest.mark.parametrize(("threshold", "moved"), [(10_001, 0), (10_000, 0), (9_999, 1), (8_999, 2)])
def test_memories_are_forgotten_only_above_the_disk_threshold(threshold: int, moved: int) -> None:
    plan = sweep(TEN, threshold_disk_bytes=threshold)
    assert len(forgotten(plan)) == moved
    assert plan.stages[1].crossed == (("disk",) if moved else ())


@pytest.mark.gate("CASC-01")
def test_the_default_thresholds_are_those_of_the_specification() -> None:
    settings = CascadeSettings()
    assert (settings.threshold_count, settings.threshold_total) == (10_000, 100_000)
    assert settings.threshold_disk_bytes == 2 * 10**9
    assert (settings.low_watermark, settings.weak_strength, settings.brake_share) == (
        0.9,
        0.05,
        0.2,
    )
    assert (settings.idle_days_min, settings.newborn_days, settings.restore_grace_days) == (
        7,
        1,
        30,
    )


@pytest.mark.gate("CASC-02")
@pytest.mark.parametrize(
    ("threshold", "share", "target"),
    [
        (10_000, 0.9, 9_000),
        (100, 0.29, 29),  # 28.999999999999996 in binary
        (10, 0.7, 7),
        (11, 0.9, 9),
        (3, 0.9, 2),
        (2, 0.9, 1),
        (1, 0.9, 1),
        (0, 0.9, 0),
        (5, 1.0, 5),
        (5, 0.0, 0),
        (2_000_000_000, 0.9, 1_800_000_000),
    ],
)
def test_the_watermark_is_rounded_down_and_one_may_stay(
    threshold: int, share: float, target: int
) -> None:
    assert low_watermark(threshold, share) == target


@pytest.mark.gate("CASC-02")
def test_each_stage_stops_at_its_low_watermark() -> None:
    assert len(spilled(sweep(TEN, threshold_count=8, low_watermark=0.5))) == 6
    assert len(forgotten(sweep(TEN, threshold_total=8, low_watermark=0.5))) == 6
    assert len(forgotten(sweep(TEN, threshold_disk_bytes=8_000, low_watermark=0.5))) == 6


@pytest.mark.gate("CASC-03")
def test_ten_thousand_and_one_memories_cross_the_first_threshold_alone() -> None:
    store = [StoredMemory(f"m{n:06}", importance=1.0) for n in range(10_001)]
    plan = sweep(store, low_watermark=0.9)
    assert (len(spilled(plan)), len(forgotten(plan))) == (1_001, 0)
    assert len(sweep(store[:-1], low_watermark=0.9)) == 0


@pytest.mark.gate("CASC-04")
def test_a_stage_that_is_not_run_moves_nothing_and_still_says_what_is_crossed() -> None:
    plan = sweep(TEN, threshold_count=5, threshold_total=5, run_stage_two=False)
    assert (len(spilled(plan)), len(forgotten(plan))) == (5, 0)
    assert plan.stages[1].crossed == ("total",)
    assert plan.stages[1].shortfall_memories == 0
    plan = sweep(TEN, threshold_count=5, threshold_total=5, run_stage_one=False)
    assert (len(spilled(plan)), len(forgotten(plan))) == (0, 5)
    assert plan.stages[0].crossed == ("count",)


@pytest.mark.gate("CASC-05")
@pytest.mark.parametrize(
    ("live", "before", "share", "allowed"),
    [
        (99, 0, 0.2, None),
        (100, 0, 0.2, 20),
        (99, 1, 0.2, 19),
        (80, 20, 0.2, 0),
        (104, 0, 0.2, 20),
        (105, 0, 0.2, 21),
        (105, 3, 0.2, 18),
        (100, 0, 0.01, 10),
        (95, 5, 0.01, 5),
        (100, 50, 0.01, 0),
        (100, 0, 0.0, 10),
        (100, 0, 1.0, 100),
        (1_000, 0, 0.29, 290),
    ],
)
def test_the_brake_counts_the_whole_day(
    live: int, before: int, share: float, allowed: int | None
) -> None:
    assert brake_of(CascadeSettings(brake_share=share), live, before).allowed == allowed


@pytest.mark.gate("CASC-05")
@pytest.mark.parametrize(
    ("keep", "moved", "braked"), [(80, 20, False), (79, 20, True), (81, 19, False)]
)
def test_a_run_stops_at_the_brake_and_says_so(keep: int, moved: int, braked: bool) -> None:
    plan = sweep(HUNDRED, threshold_total=keep)
    assert len(forgotten(plan)) == moved
    assert plan.stages[1].braked == braked
    assert plan.brake is not None
    assert (plan.brake.allowed, plan.brake.engaged) == (20, braked)
    assert plan.stages[1].shortfall_memories == 0


@pytest.mark.gate("CASC-05")
def test_ten_runs_in_a_day_forget_no_more_than_one() -> None:
    store, window = HUNDRED, 0
    for _ in range(10):
        plan = sweep(store, threshold_total=10, forgotten_in_window=window)
        window += len(forgotten(plan))
        store = applied(store, plan)
    assert window == 20


@pytest.mark.gate("CASC-05")
def test_candidates_that_run_out_below_the_brake_are_no_brake() -> None:
    store = [*HUNDRED[:15], *(StoredMemory(f"s{n}", importance=1.0) for n in range(85))]
    plan = sweep(store, threshold_total=50)
    assert len(forgotten(plan)) == 15
    assert not plan.stages[1].braked
    assert plan.stages[1].shortfall_memories == 35


@pytest.mark.gate("CASC-06")
def test_a_run_never_starts_on_stronger_memories_to_make_the_number() -> None:
    store = [weak("weak"), *(StoredMemory(f"s{n}", importance=1.0) for n in range(9))]
    plan = sweep(store, threshold_total=5, low_watermark=0.8)
    assert forgotten(plan) == ["weak"]
    assert plan.stages[1].shortfall_memories == 5
    disk = sweep(store, threshold_disk_bytes=5_000)
    assert forgotten(disk) == ["weak"]
    assert disk.stages[1].shortfall_bytes == 4_000


@pytest.mark.gate("CASC-06")
def test_pinned_memories_leave_a_shortfall_of_stage_one() -> None:
    store = [StoredMemory(f"p{n}", pinned=True) for n in range(5)] + [weak("a"), weak("b")]
    plan = sweep(store, threshold_count=3)
    assert spilled(plan) == ["a", "b"]
    assert plan.stages[0].shortfall_memories == 2
    assert plan.protected == {"pinned": 5}


@pytest.mark.gate("CASC-07")
def test_strict_goes_on_up_the_score_order() -> None:
    store = [weak("weak"), *(StoredMemory(f"s{n}", importance=n / 10) for n in (9, 8, 7))]
    assert forgotten(sweep(store, threshold_total=2, mode="strict")) == ["weak", "s7"]
    used = [weak("just-used", days=1), weak("idle", days=7)]
    assert forgotten(sweep(used, threshold_total=0, mode="strict")) == ["idle", "just-used"]


@pytest.mark.gate("CASC-07")
def test_strict_obeys_the_brake_and_the_archived_only_setting() -> None:
    assert len(forgotten(sweep(HUNDRED, threshold_total=0, mode="strict"))) == 20
    assert forgotten(sweep(TEN, threshold_total=0, mode="strict", forget_active=False)) == []


@pytest.mark.gate("CASC-08")
def test_disk_is_measured_after_the_planned_spills() -> None:
    # 10 000 bytes; six spills save 600 bytes each.
    at = sweep(TEN, threshold_count=4, threshold_disk_bytes=6_400)
    assert (len(spilled(at)), forgotten(at)) == (6, [])
    over = sweep(TEN, threshold_count=4, threshold_disk_bytes=6_399)
    assert (len(spilled(over)), forgotten(over)) == (5, ["m9"])
    assert over.after.live_bytes == 10_000 - 5 * 600 - 1_000


@pytest.mark.gate("CASC-08")
def test_a_shared_file_is_counted_once_and_freed_with_its_last_owner() -> None:
    store = [
        weak("first", days=300, media_ref="f", media_bytes=50_000),
        weak("plain", days=200),
        weak("second", days=100, media_ref="f", media_bytes=50_000),
        weak("other", days=90),
    ]
    plan = sweep(store, threshold_disk_bytes=20_000)
    assert forgotten(plan) == ["first", "plain", "second"]
    assert plan.before.live_bytes == 54_000
    assert plan.after.live_bytes == 1_000
    assert plan.bytes_freed.tolist() == [1_000, 1_000, 51_000]


@pytest.mark.gate("CASC-08")
def test_a_file_with_an_owner_that_stays_is_not_freed() -> None:
    store = [
        weak("goes", days=300, media_ref="f", media_bytes=50_000),
        weak("stays", pinned=True, media_ref="f", media_bytes=50_000),
    ]
    plan = sweep(store, threshold_disk_bytes=20_000)
    assert forgotten(plan) == ["goes"]
    assert plan.stages[1].shortfall_bytes == 52_000 - 1_000 - 20_000
    assert plan.after.live_bytes == 51_000


@pytest.mark.gate("CASC-08")
def test_many_small_memories_go_until_the_bytes_are_reached() -> None:
    big = [weak(f"big{n}", days=10 + n, bytes=1_000_000) for n in range(3)]
    small = [weak(f"s{n:03}", days=100 + n, bytes=10) for n in range(90)]
    plan = sweep([*big, *small], threshold_disk_bytes=2_900_000, weak_strength=0.2)
    assert forgotten(plan)[-1] == "big2"
    assert len(forgotten(plan)) == 91


@pytest.mark.gate("PLAN-01")
def test_a_plan_is_a_value_with_one_decision_a_memory() -> None:
    plan = sweep(TEN, threshold_count=4, threshold_total=7)
    assert len(set(plan.ids)) == len(plan) == 6
    assert (spilled(plan), forgotten(plan)) == (["m6", "m5", "m4"], ["m9", "m8", "m7"])
    assert plan.kept == 4
    assert (plan.before.hot, plan.before.cold, plan.before.total) == (10, 0, 10)
    assert (plan.after.hot, plan.after.cold, plan.after.forgotten) == (4, 3, 3)
    assert plan.before.live_bytes - plan.after.live_bytes == int(plan.bytes_freed.sum())
    assert [stage.selected for stage in plan.stages] == [3, 3]
    assert plan.change_counter.tolist() == [1] * 6


@pytest.mark.gate("PLAN-02")
def test_each_decision_says_why() -> None:
    store = [
        weak("old", status="superseded", superseded_by="new"),
        weak("archived", status="archived"),
        weak("wrong", status="invalidated"),
        weak("expired", expires_at=1_700_000_000_000),
        weak("first", days=300),
        weak("second", days=200),
        StoredMemory("new", importance=1.0),
    ]
    plan = sweep(store, threshold_total=2, threshold_disk_bytes=0, low_watermark=1.0)
    why = {id: REASONS[code] for id, code in zip(plan.ids, plan.reason, strict=True)}
    assert why == {
        "old": "superseded",
        "archived": "archived",
        "wrong": "archived",
        "expired": "expired",
        "first": "total_over_threshold",
        "second": "disk_over_threshold",
    }
    plan = sweep(store, threshold_count=0)
    why = {id: REASONS[code] for id, code in zip(plan.ids, plan.reason, strict=True)}
    assert why["first"] == why["new"] == "hot_over_threshold"
    assert why["old"] == "superseded"


@pytest.mark.gate("PLAN-03")
def test_an_empty_store_and_an_unpressed_one_have_empty_plans() -> None:
    for store in ([], TEN):
        plan = sweep(store)
        assert (len(plan), plan.kept, plan.protected) == (0, len(store), {})
        assert [stage.crossed for stage in plan.stages] == [(), ()]
    assert len(sweep([], threshold_count=0, threshold_total=0, threshold_disk_bytes=0)) == 0


@pytest.mark.gate("PLAN-04")
def test_unscored_memories_are_counted_listed_and_shown_without_numbers() -> None:
    store = [weak(f"bad{n:03}", importance="NaN") for n in range(150)]
    plan = sweep([*store, weak("good")], threshold_total=0, threshold_count=0)
    assert plan.unscored == 150
    assert plan.unscored_ids == tuple(f"bad{n:03}" for n in range(100))
    assert plan.protected == {"unscored": 150}
    assert forgotten(plan) == ["good"]
    assert len(spilled(plan)) == 150
    bad = plan.action == 0
    for column in (plan.score, plan.strength, plan.value, plan.retention, plan.recency):
        assert np.isnan(column[bad]).all()
        assert np.isfinite(column[~bad]).all()
