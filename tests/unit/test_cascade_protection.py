"""Protection beats pressure: each kind at its boundary, at planning and at the moment of moving."""

from typing import Any

import pytest

from protocol.vector_store import DAY, NOW, StoredMemory
from sidecar.plan.chains import newer_version_stands, older_version_lives
from sidecar.plan.guards import CurrentState, recheck
from sidecar.plan.plan import FORGET, REASON_CODE, RESTORE, SPILL, THAW, CascadeSettings
from tests.plan_stores import applied, forgotten, spilled, sweep, weak

KEPT: list[tuple[str, dict[str, Any]]] = [
    ("pinned", {"pinned": True}),
    ("held", {"held_until": NOW + 1}),
    ("evergreen", {"evergreen": True}),
    ("newborn", {"created_at": NOW - DAY + 1, "importance": 0.0, "status": "archived"}),
    ("newborn", {"created_at": NOW + DAY, "importance": 0.0, "status": "archived"}),
    ("restored", {"restored_at": NOW - 30 * DAY + 1}),
    ("restored", {"restored_at": NOW}),
    ("unscored", {"importance": "NaN"}),
    ("unscored", {"created_at": NOW + DAY + 1}),
    ("unscored", {"created_at": 1_700_000_000}),
    ("unscored", {"held_until": 1_700_000_000}),
    ("unscored", {"expires_at": 1_700_000_000}),
]
NOT_KEPT: list[dict[str, Any]] = [
    {"held_until": NOW},
    {"created_at": NOW - DAY, "importance": 0.0, "status": "archived"},
    {"restored_at": NOW - 30 * DAY},
    {"superseded_by": "nobody"},
]


@pytest.mark.gate("CASC-16")
@pytest.mark.parametrize(("kind", "fields"), KEPT, ids=str)
@pytest.mark.parametrize("mode", ["normal", "strict"])
def test_a_protected_memory_is_never_forgotten(
    kind: str, fields: dict[str, Any], mode: Any
) -> None:
    plan = sweep([weak("m", **fields)], threshold_total=0, threshold_disk_bytes=0, mode=mode)
    assert forgotten(plan) == []
    assert plan.protected == {kind: 1}
    assert plan.stages[1].shortfall_memories == 1


@pytest.mark.gate("CASC-16")
@pytest.mark.parametrize("fields", NOT_KEPT, ids=str)
def test_a_protection_ends_at_its_boundary(fields: dict[str, Any]) -> None:
    assert forgotten(sweep([weak("m", **fields)], threshold_total=0)) == ["m"]


@pytest.mark.gate("CASC-16")
def test_a_memory_under_several_protections_is_counted_once_for_the_first() -> None:
    store = [weak("m", evergreen=True, held_until=NOW + 1, importance="NaN")]
    assert sweep(store, threshold_total=0).protected == {"held": 1}


@pytest.mark.gate("CASC-16")
def test_only_protected_memories_that_would_have_gone_are_counted() -> None:
    store = [
        weak("a", days=300, pinned=True),
        weak("b", days=200),
        weak("c", days=150, pinned=True),
        weak("d"),
        StoredMemory("strong", importance=1.0, pinned=True),
    ]
    assert sweep(store, threshold_total=4).protected == {"pinned": 1}
    assert sweep(store, threshold_total=3).protected == {"pinned": 2}
    assert sweep(store, threshold_total=0).protected == {"pinned": 2}
    assert sweep(store).protected == {}


@pytest.mark.gate("CASC-17")
@pytest.mark.parametrize(
    ("idle_ms", "status", "gone"),
    [
        (7 * DAY, "active", True),
        (7 * DAY - 1, "active", False),
        (1 * DAY, "archived", True),
        (1 * DAY, "invalidated", True),
    ],
)
def test_an_active_memory_must_be_idle_long_enough(idle_ms: int, status: str, gone: bool) -> None:
    memory = weak("m", importance=0.0, status=status, last_recalled_at=NOW - idle_ms)
    assert forgotten(sweep([memory], threshold_total=0)) == (["m"] if gone else [])


@pytest.mark.gate("CASC-17")
def test_only_what_is_below_weak_strength_is_forgotten() -> None:
    # exp(-0.08 * (1 - 0.85 * 0.5) * days) * 0.5 passes 0.05 after 50.06 days.
    store = [
        StoredMemory("weak", created_at=NOW - round(50.1 * DAY)),
        StoredMemory("held", created_at=NOW - 50 * DAY),
    ]
    plan = sweep(store, threshold_total=0)
    assert forgotten(plan) == ["weak"]
    strength = float(plan.strength[0])
    assert forgotten(sweep(store, threshold_total=0, weak_strength=strength)) == []
    assert forgotten(sweep(store, threshold_total=0, weak_strength=strength + 1e-12)) == ["weak"]


@pytest.mark.gate("CASC-17")
def test_an_archived_only_namespace_forgets_nothing_that_is_believed() -> None:
    store = [
        weak("active"),
        weak("archived", status="archived"),
        weak("expired", expires_at=NOW),
        weak("old", status="superseded", superseded_by="active"),
    ]
    plan = sweep(store, threshold_total=0, forget_active=False)
    assert sorted(forgotten(plan)) == ["archived", "expired", "old"]


@pytest.mark.gate("CASC-18")
def test_newborn_restored_and_unscored_are_spilled_last_and_pinned_never() -> None:
    store = [
        StoredMemory("newborn", importance=0.0, created_at=NOW),
        weak("restored", restored_at=NOW),
        weak("unscored", importance="NaN"),
        weak("pinned", pinned=True),
        StoredMemory("strong", importance=1.0, created_at=NOW - 8 * DAY, recall_count=9),
        weak("held", held_until=NOW + 1),
        weak("evergreen", evergreen=True),
    ]
    order = ["evergreen", "held", "strong", "newborn", "restored", "unscored"]
    for keep in range(1, len(store)):
        plan = sweep(store, threshold_count=keep)
        assert spilled(plan) == order[: len(store) - keep]
    assert spilled(sweep(store, threshold_count=0)) == order


@pytest.mark.gate("CASC-18")
def test_a_bulk_import_spills_at_once_and_forgets_none() -> None:
    store = [StoredMemory(f"m{n:05}", importance=0.0, created_at=NOW) for n in range(15_000)]
    plan = sweep(store, threshold_total=12_000, low_watermark=0.9)
    assert len(spilled(plan)) == 6_000
    assert forgotten(plan) == []
    assert plan.protected == {}  # none of them has been unused long enough to be asked


@pytest.mark.gate("CASC-19")
def test_a_head_stays_while_an_older_version_is_here() -> None:
    store = [
        weak("old", status="superseded", superseded_by="mid", pinned=True),
        weak("mid", status="superseded", superseded_by="head"),
        weak("head"),
    ]
    first = sweep(store, threshold_total=0, mode="strict")
    assert (forgotten(first), first.protected) == (["mid"], {"pinned": 1, "head": 1})
    again = sweep(applied(store, first), threshold_total=0, mode="strict", now=NOW + 90 * DAY)
    assert (forgotten(again), again.protected) == ([], {"pinned": 1, "head": 1})


@pytest.mark.gate("CASC-19")
@pytest.mark.parametrize(("later", "gone"), [(0, []), (DAY, []), (DAY + 1, ["head"])])
def test_a_head_stays_for_a_day_after_its_last_older_version_went(
    later: int, gone: list[str]
) -> None:
    store = [weak("old", status="superseded", superseded_by="head"), weak("head")]
    first = sweep(store, threshold_total=0)
    assert forgotten(first) == ["old"]
    again = sweep(applied(store, first), threshold_total=0, now=NOW + later)
    assert forgotten(again) == gone


@pytest.mark.gate("CASC-19")
def test_a_head_that_is_held_wrong_and_the_last_right_one_both_stay() -> None:
    store = [
        weak("old", status="superseded", superseded_by="right"),
        weak("right", status="superseded", superseded_by="wrong"),
        weak("wrong", status="invalidated"),
    ]
    plan = sweep(store, threshold_total=0)
    assert (forgotten(plan), plan.protected) == (["old"], {"head": 2})


@pytest.mark.gate("CASC-19")
@pytest.mark.parametrize("weaker", [0.0, 0.1])
def test_members_of_a_loop_are_neither_older_versions_nor_heads(weaker: float) -> None:
    store = [
        weak("a", importance=weaker, status="superseded", superseded_by="b"),
        weak("b", importance=0.9, status="superseded", superseded_by="a"),
        weak("into", importance=0.9, status="superseded", superseded_by="a"),
        weak("self", importance=0.9, status="superseded", superseded_by="self"),
    ]
    plan = sweep(store, threshold_total=0)
    assert (forgotten(plan), plan.protected) == (["a"], {})


SETTINGS = CascadeSettings()
FREE: dict[str, Any] = {
    "pinned": False,
    "evergreen": False,
    "held_until": 0,
    "created_at": NOW - 100 * DAY,
    "restored_at": 0,
    "newer_version_stands": False,
    "older_version_lives": False,
}


def rechecked(reason: str = "total_over_threshold", action: int = FORGET, **changed: Any) -> Any:
    """What forbids the decision for a memory that nothing protects but what is named."""
    state = CurrentState(**{**FREE, **changed})
    return recheck(state, action, REASON_CODE[reason], SETTINGS, NOW)


@pytest.mark.gate("CASC-20")
@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        (None, {}),
        ("pinned", {"pinned": True}),
        ("evergreen", {"evergreen": True}),
        ("held", {"held_until": NOW + 1}),
        (None, {"held_until": NOW}),
        ("newborn", {"created_at": NOW - DAY + 1}),
        (None, {"created_at": NOW - DAY}),
        ("restored", {"restored_at": NOW - 30 * DAY + 1}),
        (None, {"restored_at": NOW - 30 * DAY}),
        ("unscored", {"created_at": NOW + DAY + 1}),
        ("unscored", {"created_at": 0}),
        ("head", {"older_version_lives": True}),
        (None, {"older_version_lives": True, "newer_version_stands": True}),
    ],
    ids=str,
)
def test_protection_is_checked_again_at_the_moment_of_forgetting(
    kind: str | None, changed: dict[str, Any]
) -> None:
    assert rechecked(**changed) == kind


@pytest.mark.gate("CASC-20")
def test_an_older_version_whose_successor_went_is_kept_as_the_head() -> None:
    assert rechecked("superseded", newer_version_stands=True) is None
    assert rechecked("superseded", newer_version_stands=False) == "head"


@pytest.mark.gate("CASC-20")
def test_only_a_pin_stops_a_spill_and_nothing_stops_a_way_back() -> None:
    everything = {"evergreen": True, "held_until": NOW + 1, "created_at": NOW, "restored_at": NOW}
    assert rechecked(action=SPILL, older_version_lives=True, **everything) is None
    assert rechecked(action=SPILL, pinned=True) == "pinned"
    assert rechecked(action=THAW, pinned=True, **everything) is None
    assert rechecked(action=RESTORE, pinned=True, **everything) is None


@pytest.mark.gate("CASC-20")
def test_chains_are_followed_in_the_store_as_in_the_snapshot() -> None:
    # a -> b (forgotten) -> c; x -> y (forgotten) -> nothing; p <-> q; s -> s
    successor = {"a": "b", "b": "c", "x": "y", "p": "q", "q": "p", "s": "s"}
    live = {"a", "c", "x", "s"}

    def look_up(key: str) -> tuple[str | None, bool]:
        return successor.get(key), key in live

    def predecessors(key: str) -> list[tuple[str, bool]]:
        return [(older, older in live) for older, newer in successor.items() if newer == key]

    stands = {key: newer_version_stands(key, look_up) for key in "abcxypqs"}
    assert {key for key, answer in stands.items() if answer} == {"a", "b"}
    lives = {key: older_version_lives(key, predecessors) for key in "abcxypqs"}
    assert {key for key, answer in lives.items() if answer} == {"b", "c", "y"}
