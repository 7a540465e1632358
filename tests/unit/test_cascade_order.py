"""Who goes first: classes, scores, policies, ties, chains, and the golden vectors."""

import json
from typing import Any

import msgspec
import numpy as np
import pytest

from protocol.generate_vectors import VECTORS, order_expected, order_lines
from protocol.vector_cases import OrderCase, order_cases
from protocol.vector_store import DAY, NOW, StoredMemory, snapshot_of
from sidecar.errors import PolicyUnknown
from sidecar.plan.cascade import plan_spill
from sidecar.plan.order import first_in_order
from sidecar.plan.plan import REASONS, CascadeSettings
from sidecar.plan.policies import POLICY_NAMES, policy_named
from tests.plain_cascade import PlainCascade
from tests.plan_stores import EXPONENTS, POLICY, forgotten, spilled, sweep, weak

CASES = list(order_cases())


@pytest.mark.gate("CASC-09")
def test_the_order_vectors_are_what_the_daemon_does() -> None:
    lines = (VECTORS / "order.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == list(order_lines())


@pytest.mark.gate("CASC-09")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_order_vectors_are_what_a_plain_reading_does(case: OrderCase) -> None:
    plain = PlainCascade(case.memories, case.settings, case.now, EXPONENTS[case.policy])
    plan = plain.plan(case.mode, case.forgotten_in_window)
    expected = order_expected(case)
    assert (plan.spill, plan.forget) == (expected["spill"], expected["forget"])
    assert (plan.protected, plan.braked) == (expected["protected"], expected["braked"])
    assert plan.short == any(expected["shortfall"].values())


@pytest.mark.gate("CASC-10")
def test_no_active_memory_goes_while_one_of_an_earlier_class_is_left() -> None:
    store = [
        weak("active", importance=0.0, days=400),
        weak("archived", importance=0.4, days=60, status="archived"),
        weak("older", importance=1.0, days=60, status="superseded", superseded_by="newer"),
        StoredMemory("newer", importance=1.0),
    ]
    for keep, gone in (
        (3, ["older"]),
        (2, ["older", "archived"]),
        (1, ["older", "archived", "active"]),
    ):
        assert forgotten(sweep(store, threshold_total=keep)) == gone
        assert spilled(sweep(store, threshold_count=keep)) == gone


@pytest.mark.gate("CASC-10")
@pytest.mark.parametrize(("expires", "gone"), [(NOW - 1, "m"), (NOW, "m"), (NOW + 1, "weaker")])
def test_an_expired_memory_is_set_aside_from_the_instant_of_its_expiry(
    expires: int, gone: str
) -> None:
    store = [weak("weaker", days=300), weak("m", days=90, expires_at=expires)]
    assert forgotten(sweep(store, threshold_total=1)) == [gone]


@pytest.mark.gate("CASC-11")
def test_equal_scores_go_by_last_use_then_creation_then_id() -> None:
    used = NOW - 50 * DAY
    store = [
        weak("z", days=80, importance=0.0, last_recalled_at=used),
        weak("a", days=80, importance=0.0, last_recalled_at=used),
        weak("Z", days=80, importance=0.0, last_recalled_at=used),
        weak("made-earlier", days=90, importance=0.0, last_recalled_at=used),
        weak("used-earlier", days=60, importance=0.0),
        weak("각", days=80, importance=0.0, last_recalled_at=used),
        weak("😀", days=80, importance=0.0, last_recalled_at=used),
        weak("\uffee", days=80, importance=0.0, last_recalled_at=used),
    ]
    order = ["used-earlier", "made-earlier", "Z", "a", "z", "각", "\uffee", "😀"]
    for keep in range(len(store)):
        gone = order[: len(store) - keep]
        assert forgotten(sweep(store, threshold_total=keep)) == gone
        assert spilled(sweep(store, threshold_count=keep)) == gone


@pytest.mark.gate("CASC-11")
def test_only_what_is_needed_is_laid_out_and_it_is_the_beginning_of_the_order() -> None:
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, size, 500) for size in (3, 5, 9)]
    ids = [f"{n:x}" for n in rng.permutation(500)]
    rows = rng.permutation(500)[:400]
    expected = sorted(rows.tolist(), key=lambda row: (*(c[row] for c in columns), ids[row]))
    for count in (0, 1, 2, 50, 399, 400, 1_000):
        assert first_in_order(rows, count, columns, ids).tolist() == expected[:count]


@pytest.mark.gate("CASC-12")
def test_the_deepest_version_goes_first_and_the_head_is_kept() -> None:
    chain = [
        weak("c3", days=40),
        weak("c1", days=60, status="superseded", superseded_by="c2"),
        weak("c0", days=30, status="superseded", superseded_by="c1"),
        weak("c2", days=50, status="superseded", superseded_by="c3"),
    ]
    for keep, gone in ((3, ["c0"]), (2, ["c0", "c1"]), (1, ["c0", "c1", "c2"])):
        assert forgotten(sweep(chain, threshold_total=keep)) == gone
    plan = sweep(chain, threshold_total=0)
    assert forgotten(plan) == ["c0", "c1", "c2"]
    assert plan.protected == {"head": 1}
    assert spilled(sweep(chain, threshold_count=0)) == ["c0", "c1", "c2", "c3"]


@pytest.mark.gate("CASC-12")
def test_a_chain_of_ten_thousand_versions_is_followed_to_its_head() -> None:
    size = 10_000
    chain = [
        weak(f"v{n:05}", status="superseded", superseded_by=f"v{n + 1:05}") for n in range(size)
    ]
    plan = sweep([*chain, weak(f"v{size:05}")], threshold_total=0, brake_share=1.0)
    assert forgotten(plan) == [memory.id for memory in chain]
    assert plan.protected == {"head": 1}


@pytest.mark.gate("CASC-12")
@pytest.mark.parametrize(
    "newer",
    [
        None,
        "nobody",
        "itself",
        "wrong",
        "gone",
        "loop-a",
    ],
)
def test_a_memory_of_which_no_newer_version_stands_is_judged_by_itself(newer: str | None) -> None:
    store = [
        weak("itself", importance=0.9, status="superseded", superseded_by=newer),
        weak("wrong", status="invalidated", importance=0.9),
        weak("gone", tier="forgotten", forgotten_at=NOW - 9 * DAY),
        weak("loop-a", importance=0.9, status="superseded", superseded_by="loop-b"),
        weak("loop-b", importance=0.9, status="superseded", superseded_by="loop-a"),
    ]
    assert forgotten(sweep(store, threshold_total=0)) == []
    worthless = [msgspec.structs.replace(memory, importance=0.0) for memory in store]
    gone = forgotten(sweep(worthless, threshold_total=0))
    assert "itself" in gone
    reasons = sweep(worthless, threshold_total=0)
    assert REASONS[reasons.reason[gone.index("itself")]] == "total_over_threshold"


@pytest.mark.gate("CASC-12")
def test_a_wrong_version_in_between_does_not_break_a_chain() -> None:
    store = [
        weak("old", importance=0.9, status="superseded", superseded_by="wrong"),
        weak("wrong", importance=0.9, status="invalidated", superseded_by="right"),
        weak("right", importance=0.9),
    ]
    assert forgotten(sweep(store, threshold_total=0)) == ["old"]


@pytest.mark.gate("CASC-13")
@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_scores_order_a_class(policy: str) -> None:
    store = [
        StoredMemory("worth-more", importance=0.4, created_at=NOW - 60 * DAY),
        StoredMemory("worth-less", importance=0.3, created_at=NOW - 50 * DAY),
        StoredMemory("recalled", importance=0.2, created_at=NOW - 70 * DAY, recall_count=9),
    ]
    order = {
        "classic": ["recalled", "worth-more", "worth-less"],
        "balanced": ["recalled", "worth-less", "worth-more"],
    }
    assert spilled(sweep(store, threshold_count=0, policy=policy)) == order[policy]


@pytest.mark.gate("CASC-13")
def test_classic_is_strength_times_recency_times_two_where_active() -> None:
    nine_days_ago = NOW - 9 * DAY
    store = [
        StoredMemory("archived", created_at=nine_days_ago, status="archived"),
        StoredMemory("active", created_at=nine_days_ago),
    ]
    plan = sweep(store, threshold_count=0, policy="classic")
    assert spilled(plan) == ["archived", "active"]
    assert plan.recency.tolist() == pytest.approx([1 / (1 + 9 / 30)] * 2)
    assert plan.score.tolist() == pytest.approx(plan.strength * plan.recency * [1, 2])


@pytest.mark.gate("CASC-14")
def test_recency_that_is_negative_for_what_is_old_would_order_backwards() -> None:
    """The source's formula read literally, beside what is done: see the locked design."""
    days = 60
    store = [
        StoredMemory(f"m{n}", importance=n / 10, created_at=NOW - days * DAY) for n in (2, 5, 9)
    ]
    plan = sweep(store, threshold_count=0, policy="classic")
    assert spilled(plan) == ["m2", "m5", "m9"]  # the weakest first

    def literal(strength: float, active: bool) -> float:
        return strength * -days * (2 if active else 1)

    scores = {
        id: literal(strength, active=True)
        for id, strength in zip(plan.ids, plan.strength.tolist(), strict=True)
    }
    assert sorted(scores, key=scores.__getitem__) == ["m9", "m5", "m2"]  # the strongest first
    # And an active memory would go before an archived one like it.
    assert literal(0.5, active=True) < literal(0.5, active=False)


@pytest.mark.gate("PLAN-05")
def test_a_policy_is_named_with_its_formula_exponents_and_estimator() -> None:
    versions = {
        policy_named(name, estimator).version for name in POLICY_NAMES for estimator in "ab"
    }
    assert len(versions) == 4
    balanced = policy_named("balanced", "neutral-1")
    assert (balanced.alpha, balanced.gamma, balanced.rho) == (1.0, 0.01, 0.0)
    assert "0.01" in balanced.version
    assert "neutral-1" in balanced.version
    classic = policy_named("classic", "neutral-1")
    assert (classic.alpha, classic.gamma, classic.rho) == (1.0, 1.0, 1.0)


@pytest.mark.gate("PLAN-05")
@pytest.mark.parametrize("name", ["", "Balanced", "lru"])
def test_an_unknown_policy_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(PolicyUnknown) as caught:
        policy_named(name, "neutral-1")
    data = caught.value.data
    assert data["field"] == "$.policy"
    assert all(known in data["bound"] and known in data["remedy"] for known in POLICY_NAMES)


def spill_to(target: int, memories: list[StoredMemory], **settings: Any) -> Any:
    return plan_spill(
        snapshot_of(memories), CascadeSettings(**settings), target, now=NOW, policy=POLICY
    )


@pytest.mark.gate("CASC-15")
@pytest.mark.parametrize(("target", "moved"), [(0, 4), (3, 2), (4, 1), (5, 0), (9, 0)])
def test_an_explicit_spill_goes_down_to_its_target_whatever_the_thresholds(
    target: int, moved: int
) -> None:
    store = [*(weak(f"m{n}", days=100 + n) for n in range(4)), weak("pinned", pinned=True)]
    plan = spill_to(target, store)
    assert spilled(plan) == ["m3", "m2", "m1", "m0"][:moved]
    assert (plan.kind, plan.brake, [stage.stage for stage in plan.stages]) == ("spill", None, [1])
    assert {REASONS[code] for code in plan.reason} <= {"called"}
    assert plan.stages[0].shortfall_memories == (1 if target == 0 else 0)
    assert plan.after.hot == 5 - moved
