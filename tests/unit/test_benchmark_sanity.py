"""Before a figure is believed: many memories in any order, one decision a record, one plan."""

import random
from collections import Counter

import pytest

from protocol.vector_store import DAY, NOW, StoredMemory, StoreSettings
from tests.plan_stores import forgotten, spilled, sweep

MEMORIES = 5_000
PRESSED = StoreSettings(
    threshold_count=2_000, threshold_total=4_700, low_watermark=0.9, brake_share=1.0
)


def synthetic(rng: random.Random) -> list[StoredMemory]:
    """Memories of every class and type, a third of them in chains, some protected, some odd."""
    made: list[StoredMemory] = []
    for number in range(MEMORIES):
        newer = f"m{number + 1:04}" if number % 3 and number + 1 < MEMORIES else None
        status = "superseded" if newer else rng.choice(["active"] * 8 + ["archived", "invalidated"])
        age = rng.randrange(400 * DAY)
        made.append(
            StoredMemory(
                id=f"m{number:04}",
                tier=rng.choice(["hot", "hot", "hot", "hot", "cold"]),
                status=status,  # type: ignore[arg-type]
                memory_type=rng.choice(["semantic", "episodic", "procedural"]),
                importance=rng.choice([round(rng.random(), 2), 0.1, 0.1, "NaN"]),
                created_at=NOW - age,
                last_recalled_at=NOW - rng.randrange(age + 1) if rng.random() < 0.3 else None,
                recall_count=rng.randrange(4),
                pinned=rng.random() < 0.02,
                superseded_by=newer,
            )
        )
    return made


@pytest.mark.gate("BENCH-01")
def test_five_thousand_memories_in_any_order_give_one_decision_a_record_and_one_plan(
    rng: random.Random,
) -> None:
    store = synthetic(rng)
    numbers = {memory.id: place for place, memory in enumerate(store, 1)}
    plan = sweep(store, settings=PRESSED, row_numbers=numbers)
    assert len(spilled(plan)) > 500
    assert len(forgotten(plan)) > 500
    assert max(Counter(plan.ids).values()) == 1
    assert len(spilled(plan)) + len(forgotten(plan)) == len(plan)
    assert len(plan) + plan.kept == MEMORIES
    for _ in range(3):
        shuffled = rng.sample(store, MEMORIES)
        again = sweep(shuffled, settings=PRESSED, row_numbers=numbers)
        assert (again.ids, again.action.tolist()) == (plan.ids, plan.action.tolist())
        assert (again.before, again.after, again.protected) == (
            plan.before,
            plan.after,
            plan.protected,
        )
