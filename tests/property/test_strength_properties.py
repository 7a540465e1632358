"""Strength for any memory: never weaker for the better, finite for every input."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.vector_store import DAY, NOW, StoredMemory, snapshot_of
from sidecar.model import MEMORY_TYPES
from sidecar.plan.scoring import sweep_score
from sidecar.strength import strength_of, strength_parts
from tests.plain_cascade import score
from tests.plan_stores import EXPONENTS, policy_named

SHARES = st.floats(0, 1)
COUNTS = st.integers(0, 50) | st.integers(0, 2**53 - 1)
ANY_INTEGER = st.integers(-(2**63), 2**63 - 1)

SCORED = st.builds(
    StoredMemory,
    id=st.just("m"),
    status=st.sampled_from(["active", "superseded", "archived", "invalidated"]),
    memory_type=st.sampled_from(MEMORY_TYPES),
    importance=SHARES,
    fade_factor=SHARES,
    created_at=st.integers(NOW - 3_000 * DAY, NOW + DAY),
    last_recalled_at=st.none() | st.integers(NOW - 3_000 * DAY, NOW + DAY),
    recall_count=COUNTS,
    success_count=COUNTS,
    failure_count=COUNTS,
)


def strength(memory: StoredMemory, **changed: Any) -> float:
    """The strength of a memory with some fields changed."""
    memory = msgspec.structs.replace(memory, **changed)
    parts = strength_parts(snapshot_of([memory]), NOW)
    assert parts.scored[0]
    return float(parts.strength[0])


def at_least(weaker: float) -> float:
    """The bound to compare with: rounding may cost a last digit."""
    return weaker * (1 - 1e-12)


@pytest.mark.gate("STR-11")
@given(SCORED, SHARES)
def test_more_importance_is_never_weaker(memory: StoredMemory, other: float) -> None:
    low, high = sorted((float(memory.importance), other))
    assert strength(memory, importance=high) >= at_least(strength(memory, importance=low))


@pytest.mark.gate("STR-11")
@given(SCORED, COUNTS)
def test_more_recalls_are_never_weaker(memory: StoredMemory, other: int) -> None:
    low, high = sorted((memory.recall_count, other))
    assert strength(memory, recall_count=high) >= at_least(strength(memory, recall_count=low))


@pytest.mark.gate("STR-11")
@given(SCORED, st.integers(NOW - 3_000 * DAY, NOW + DAY))
def test_less_age_is_never_weaker(memory: StoredMemory, other: int) -> None:
    for name in ("created_at", "last_recalled_at"):
        old, young = sorted((getattr(memory, name) or memory.created_at, other))
        assert strength(memory, **{name: young}) >= at_least(strength(memory, **{name: old}))


@pytest.mark.gate("STR-11")
@given(SCORED)
def test_one_more_success_is_never_weaker(memory: StoredMemory) -> None:
    more = strength(memory, success_count=memory.success_count + 1)
    assert more >= at_least(strength(memory))


@pytest.mark.gate("STR-11")
@given(SCORED, SHARES)
def test_less_fading_is_never_weaker(memory: StoredMemory, other: float) -> None:
    low, high = sorted((float(memory.fade_factor), other))
    assert strength(memory, fade_factor=high) >= at_least(strength(memory, fade_factor=low))


@pytest.mark.gate("STR-12")
@given(
    st.builds(
        StoredMemory,
        id=st.just("m"),
        status=st.sampled_from(["active", "superseded", "archived", "invalidated"]),
        memory_type=st.sampled_from(MEMORY_TYPES),
        importance=st.floats(),
        fade_factor=st.floats(),
        created_at=ANY_INTEGER,
        last_recalled_at=st.none() | ANY_INTEGER,
        recall_count=ANY_INTEGER,
        success_count=ANY_INTEGER,
        failure_count=ANY_INTEGER,
    )
)
def test_every_number_is_finite_for_every_input(memory: StoredMemory) -> None:
    snapshot = snapshot_of([memory])
    parts = strength_parts(snapshot, NOW)
    for column in (parts.value, parts.retention, parts.recall_recency, parts.strength):
        assert np.isfinite(column).all()
    for name in EXPONENTS:
        assert np.isfinite(sweep_score(parts, snapshot.status, policy_named(name, "none"))).all()


@pytest.mark.gate("STR-13")
@given(SCORED)
def test_array_scalar_and_plain_reading_agree(memory: StoredMemory) -> None:
    array = strength(memory)
    alone = strength_of(
        importance=float(memory.importance),
        fade_factor=float(memory.fade_factor),
        created_at=memory.created_at,
        last_recalled_at=memory.last_recalled_at or 0,
        recall_count=memory.recall_count,
        success_count=memory.success_count,
        failure_count=memory.failure_count,
        memory_type=MEMORY_TYPES.index(memory.memory_type),
        superseded=memory.status == "superseded",
        now=NOW,
    )
    plain = score(memory, memory.status, NOW, EXPONENTS["classic"])
    assert alone is not None
    assert plain is not None
    assert math.isclose(alone, array, rel_tol=1e-12)
    assert math.isclose(plain.strength, array, rel_tol=1e-9)
