"""Strength: the points of the specification, every factor at its bounds, the golden vectors."""

import json
import math
from typing import Any

import numpy as np
import pytest

from protocol.generate_vectors import VECTORS, strength_lines
from protocol.vector_store import DAY, NOW, StoredMemory, snapshot_of
from sidecar.limits import TIME_MIN_MS
from sidecar.model import MEMORY_TYPES
from sidecar.strength import strength_of, strength_parts
from tests.plain_cascade import score

LINES = [json.loads(line) for line in (VECTORS / "strength.jsonl").read_text("utf-8").splitlines()]


def strength(**fields: Any) -> float | None:
    """The strength of one memory from the array, checked against the scalar; None: unscored."""
    memory = StoredMemory("m", **fields)
    parts = strength_parts(snapshot_of([memory]), NOW)
    found = float(parts.strength[0]) if parts.scored[0] else None
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
    assert alone == (None if found is None else pytest.approx(found, rel=1e-12))
    return found


def aged(days: float) -> dict[str, int]:
    """Created this many days ago."""
    return {"created_at": NOW - round(days * DAY)}


@pytest.mark.gate("STR-01")
@pytest.mark.parametrize(("importance", "days"), [(0.5, 50.1), (0.8, 108.3), (1.0, 249.6)])
def test_a_semantic_memory_passes_weak_at_the_points_named(importance: float, days: float) -> None:
    before = strength(importance=importance, **aged(days - 0.1))
    after = strength(importance=importance, **aged(days + 0.1))
    assert before is not None
    assert after is not None
    assert before > 0.05 > after


@pytest.mark.gate("STR-02")
def test_the_vectors_are_what_the_daemon_computes() -> None:
    assert len(LINES) >= 200
    assert_alike(LINES, list(strength_lines()))


@pytest.mark.gate("STR-02")
@pytest.mark.parametrize("line", LINES, ids=lambda line: line["name"])
def test_the_vectors_are_what_a_plain_reading_computes(line: dict[str, Any]) -> None:
    fields = {**line["memory"], "id": "m"}
    memory = StoredMemory(
        "m",
        memory_type=fields["memoryType"],
        importance=fields["importance"],
        fade_factor=fields["fadeFactor"],
        created_at=fields["createdAt"],
        last_recalled_at=fields["lastRecalledAt"],
        recall_count=fields["recallCount"],
        success_count=fields["successCount"],
        failure_count=fields["failureCount"],
    )
    expected = line["expected"]
    by_policy = {
        name: score(memory, fields["status"], line["now"], exponents)
        for name, exponents in (("classic", (1, 1, 1)), ("balanced", (1, 0.01, 0)))
    }
    classic = by_policy["classic"]
    assert expected["unscored"] == (classic is None)
    if classic is None:
        assert expected["strength"] is None
        return
    found = {
        "unscored": False,
        "strength": classic.strength,
        "value": classic.value,
        "retention": classic.retention,
        "recallRecency": classic.recency,
        "sweepScore": {name: scored.sweep for name, scored in by_policy.items() if scored},
    }
    assert_alike(found, expected)


def assert_alike(found: Any, expected: Any) -> None:
    """Equal, numbers to 1e-12 of their size."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_alike(found[key], value)
    elif isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            assert_alike(one, other)
    elif isinstance(expected, float) and isinstance(found, float):
        assert math.isclose(found, expected, rel_tol=1e-12)
    else:
        assert found == expected


@pytest.mark.gate("STR-03")
@pytest.mark.parametrize(
    "fields",
    [
        {"importance": "NaN"},
        {"importance": "Infinity"},
        {"importance": -1e-12},
        {"importance": 1.000001},
        {"fade_factor": "NaN"},
        {"fade_factor": -0.1},
        {"fade_factor": 1.1},
        {"created_at": TIME_MIN_MS - 1},
        {"created_at": 1_760_000_000},
        {"created_at": NOW + DAY + 1},
        {"created_at": 2**63 - 1},
        {"created_at": -(2**63)},
        {"last_recalled_at": TIME_MIN_MS - 1},
        {"last_recalled_at": NOW + DAY + 1},
        {"last_recalled_at": -1},
        {"recall_count": -1},
        {"success_count": -1, "memory_type": "procedural"},
        {"failure_count": -1, "memory_type": "procedural"},
    ],
    ids=str,
)
def test_an_impossible_value_makes_a_memory_unscored(fields: dict[str, Any]) -> None:
    assert strength(**fields) is None


@pytest.mark.gate("STR-03")
@pytest.mark.parametrize(
    "fields",
    [
        {"importance": 0.0},
        {"importance": 1.0},
        {"fade_factor": 0.0},
        {"created_at": TIME_MIN_MS},
        {"created_at": NOW + DAY},
        {"last_recalled_at": TIME_MIN_MS},
        {"last_recalled_at": NOW + DAY},
    ],
    ids=str,
)
def test_a_value_at_its_bound_is_scored(fields: dict[str, Any]) -> None:
    assert strength(**fields) is not None


@pytest.mark.gate("STR-03")
def test_an_unknown_type_or_status_makes_a_memory_unscored() -> None:
    snapshot = snapshot_of([StoredMemory("a"), StoredMemory("b"), StoredMemory("c")])
    snapshot.memory_type[0] = 200
    snapshot.status[1] = 200
    assert strength_parts(snapshot, NOW).scored.tolist() == [False, False, True]


@pytest.mark.gate("STR-03")
def test_one_impossible_memory_changes_no_other() -> None:
    good = StoredMemory("good", memory_type="procedural", success_count=1, failure_count=6)
    bad = StoredMemory("bad", importance="NaN", memory_type="procedural", failure_count=-3)
    alone = strength_parts(snapshot_of([good]), NOW).strength[0]
    assert strength_parts(snapshot_of([bad, good, bad]), NOW).strength[1] == alone


@pytest.mark.gate("STR-04")
def test_a_use_in_the_near_future_counts_as_now() -> None:
    assert strength(importance=0.6, last_recalled_at=NOW + DAY) == pytest.approx(0.6)
    assert strength(importance=0.6, **aged(-1)) == pytest.approx(0.6)


@pytest.mark.gate("STR-04")
def test_age_counts_from_the_last_recall_and_else_from_creation() -> None:
    assert strength(**aged(90)) == strength(last_recalled_at=NOW - 90 * DAY, **aged(200))


@pytest.mark.gate("STR-05")
def test_superseded_counts_as_worth_nothing_and_keeps_its_importance() -> None:
    snapshot = snapshot_of([StoredMemory("m", status="superseded", importance=0.9, **aged(1))])
    parts = strength_parts(snapshot, NOW)
    assert (parts.value[0], parts.strength[0]) == (0.0, 0.01)
    assert parts.retention[0] == pytest.approx(math.exp(-0.08))
    assert snapshot.importance[0] == 0.9


@pytest.mark.gate("STR-06")
def test_recalls_strengthen_up_to_twice() -> None:
    once = strength(importance=0.2, **aged(1))
    assert once is not None
    for recalls, gain in ((1, 1.2), (4, 1.8), (5, 2.0), (6, 2.0), (10**6, 2.0)):
        assert strength(importance=0.2, recall_count=recalls, **aged(1)) == pytest.approx(
            once * gain
        )


@pytest.mark.gate("STR-06")
def test_strength_stays_between_a_hundredth_and_one() -> None:
    assert strength(importance=1.0, recall_count=5, **aged(0)) == 1.0
    assert strength(importance=0.0, **aged(0)) == 0.01
    assert strength(importance=0.5, **aged(9_000)) == 0.01


@pytest.mark.gate("STR-07")
def test_outcomes_weaken_only_a_procedure_that_often_failed() -> None:
    untried = strength(importance=0.9, memory_type="procedural")
    tried = {
        (good, bad): strength(
            importance=0.9, memory_type="procedural", success_count=good, failure_count=bad
        )
        for good, bad in ((1, 0), (0, 1), (0, 3), (0, 4), (1, 9), (5, 5), (0, 10**6))
    }
    assert tried[1, 0] == tried[0, 1] == tried[0, 3] == tried[5, 5] == untried
    assert untried is not None
    assert tried[0, 4] == pytest.approx(untried * (0.5 + 3.8414588 / 7.8414588))
    assert tried[1, 9] == pytest.approx(untried * 0.9041500)
    assert tried[0, 10**6] == pytest.approx(untried * 0.5, rel=1e-4)
    semantic = strength(importance=0.9)
    assert strength(importance=0.9, failure_count=100) == semantic


@pytest.mark.gate("STR-08")
def test_fading_scales_strength_and_does_not_age_the_past() -> None:
    whole = strength(importance=0.8, **aged(20))
    assert whole is not None
    assert strength(importance=0.8, fade_factor=0.5, **aged(20)) == pytest.approx(whole / 2)


@pytest.mark.gate("STR-09")
def test_a_procedure_decays_half_as_fast() -> None:
    procedural = strength(importance=0.5, memory_type="procedural", **aged(60))
    assert procedural == pytest.approx(strength(importance=0.5, **aged(30)))
    episodic = strength(importance=0.5, memory_type="episodic", **aged(30))
    assert episodic == strength(importance=0.5, **aged(30))


@pytest.mark.gate("STR-10")
def test_strength_is_computed_and_never_written_back() -> None:
    snapshot = snapshot_of([StoredMemory("m", importance=0.7, fade_factor=0.5, **aged(30))])
    kept = {name: getattr(snapshot, name).copy() for name in ("importance", "fade_factor")}
    first = strength_parts(snapshot, NOW).strength.copy()
    assert np.array_equal(first, strength_parts(snapshot, NOW).strength)
    assert all(np.array_equal(getattr(snapshot, name), column) for name, column in kept.items())
