"""Why a memory would go or stay, in words and in the planner's own numbers."""

from typing import Any

import pytest

from protocol.vector_store import DAY, NOW, StoredMemory, snapshot_of
from sidecar.plan.explain import MemoryView, explain
from sidecar.plan.plan import CascadeSettings
from sidecar.plan.policies import POLICY_NAMES, policy_named
from tests.plan_stores import POLICY, sweep, weak


def view(memories: list[StoredMemory], index: int = 0, **settings: Any) -> MemoryView:
    """The view of one memory of a small store."""
    return explain(
        snapshot_of(memories), index, CascadeSettings(**settings), now=NOW, policy=POLICY
    )


@pytest.mark.gate("EXPL-01")
@pytest.mark.parametrize(
    ("memory", "why"),
    [
        (weak("m"), "weak: strength 0.01, unused for 100 days"),
        (weak("m", status="archived"), "archived: no longer believed"),
        (weak("m", status="invalidated"), "archived: no longer believed"),
        (weak("m", expires_at=NOW), "expired: no longer believed"),
        (weak("m", pinned=True, held_until=NOW + 1), "weak, but protected: pinned, held"),
        (weak("m", importance="NaN"), "unscored: a value is missing or impossible, so it is kept"),
        (StoredMemory("m", created_at=NOW), "kept: strength 0.5 is not below 0.05"),
        (weak("m", days=6, importance=0.01), "kept: used 6 days ago, less than 7"),
    ],
    ids=str,
)
def test_it_says_why(memory: StoredMemory, why: str) -> None:
    assert view([memory]).why == why


@pytest.mark.gate("EXPL-01")
def test_it_says_why_of_a_chain_and_of_an_archived_only_namespace() -> None:
    chain = [weak("old", status="superseded", superseded_by="new"), weak("new")]
    assert view(chain, 0).why == "superseded: a newer version stands"
    assert view(chain, 1).why == "weak, but protected: head"
    assert view([weak("m")], forget_active=False).why == "kept: active, and forgetActive is off"


@pytest.mark.gate("EXPL-02")
@pytest.mark.parametrize(
    ("memory", "stage"),
    [
        (weak("m"), 2),
        (weak("m", tier="cold"), 2),
        (weak("m", held_until=NOW + 1), 1),
        (StoredMemory("m", created_at=NOW), 1),
        (StoredMemory("m", created_at=NOW, tier="cold"), 0),
        (weak("m", pinned=True), 0),
        (weak("m", importance="NaN"), 1),
        (weak("m", importance="NaN", tier="cold"), 0),
    ],
    ids=str,
)
def test_the_stage_is_the_furthest_that_could_take_it(memory: StoredMemory, stage: int) -> None:
    found = view([memory])
    assert (found.stage, found.candidate) == (stage, stage == 2)


@pytest.mark.gate("EXPL-03")
@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_its_numbers_are_the_planners(policy: str) -> None:
    store = [weak(f"m{n}", days=100 + n, recall_count=n) for n in range(5)]
    plan = sweep(store, threshold_total=0, policy=policy)
    for place, id in enumerate(plan.ids):
        index = [memory.id for memory in store].index(id)
        found = explain(
            snapshot_of(store),
            index,
            CascadeSettings(),
            now=NOW,
            policy=policy_named(policy, "none"),
        )
        assert found.rank == place + 1
        assert found.of == 5
        assert (found.score, found.strength) == (plan.score[place], plan.strength[place])
        assert (found.value, found.retention) == (plan.value[place], plan.retention[place])
        assert (found.recency, found.status_factor) == (plan.recency[place], 2)
        assert found.policy.version == policy_named(policy, "none").version


@pytest.mark.gate("EXPL-03")
def test_an_unscored_memory_has_no_numbers_and_no_rank() -> None:
    store = [weak("bad", importance="NaN"), weak("good"), weak("pinned", days=90, pinned=True)]
    bad = view(store, 0)
    assert (bad.score, bad.strength, bad.value, bad.retention, bad.recency) == (None,) * 5
    assert (bad.rank, bad.of, bad.protections) == (None, 2, ("unscored",))
    assert (view(store, 1).rank, view(store, 2).rank) == (1, 2)


@pytest.mark.gate("EXPL-03")
def test_the_factor_of_status_is_that_of_what_is_believed() -> None:
    store = [
        weak("archived", status="archived"),
        weak("alone", status="superseded", superseded_by="nobody", created_at=NOW - DAY),
    ]
    assert [view(store, index).status_factor for index in (0, 1)] == [1, 2]
    assert view(store, 1).value == 0.1
