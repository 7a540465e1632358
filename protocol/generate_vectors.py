"""Writes the golden vectors: `python -m protocol.generate_vectors`, or `--check` to compare.

The cases are fixed: no random seed, no clock. See protocol/vectors/README.md for the fields.
"""

import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from protocol.vector_cases import OrderCase, order_cases
from protocol.vector_store import DAY, NOW, StoredMemory, snapshot_of
from protocol.vector_texts import estimate_texts
from sidecar.estimate import estimate_parts
from sidecar.plan.cascade import plan_cascade
from sidecar.plan.plan import FORGET
from sidecar.plan.policies import POLICY_NAMES, policy_named
from sidecar.plan.scoring import sweep_score
from sidecar.strength import strength_parts

VECTORS = Path(__file__).resolve().parent / "vectors"
Line = dict[str, Any]


def strength_lines() -> Iterator[Line]:
    """Every case of strength.jsonl."""
    for name, memory in strength_cases():
        snapshot = snapshot_of([memory])
        parts = strength_parts(snapshot, NOW)
        scores = {
            policy: sweep_score(parts, snapshot.status, policy_named(policy, "none"))
            for policy in POLICY_NAMES
        }
        scored = bool(parts.scored[0])
        yield {
            "name": name,
            "memory": _strength_fields(memory),
            "now": NOW,
            "expected": {
                "unscored": not scored,
                "strength": float(parts.strength[0]) if scored else None,
                "value": float(parts.value[0]) if scored else None,
                "retention": float(parts.retention[0]) if scored else None,
                "recallRecency": float(parts.recall_recency[0]) if scored else None,
                "sweepScore": {
                    policy: float(score[0]) if scored else None for policy, score in scores.items()
                },
            },
        }


def strength_cases() -> Iterator[tuple[str, StoredMemory]]:
    """A grid over type, worth, age and use; then each factor alone; then what is impossible."""
    grid = itertools.product(
        ("semantic", "episodic", "procedural"),
        (0.0, 0.1, 0.5, 0.8, 1.0),
        (0, 1, 30, 365),
        (0, 2, 9),
    )
    for kind, importance, days, recalls in grid:
        yield (
            f"{kind}-{importance}-{days}d-{recalls}r",
            StoredMemory(
                "m",
                memory_type=kind,  # type: ignore[arg-type]
                importance=importance,
                created_at=NOW - days * DAY,
                recall_count=recalls,
            ),
        )
    yield from _factor_cases()
    yield from _edge_cases()


def _factor_cases() -> Iterator[tuple[str, StoredMemory]]:
    for successes, failures in ((0, 1), (1, 0), (0, 4), (1, 3), (5, 5), (0, 100), (10**9, 1)):
        for kind in ("procedural", "semantic"):
            yield (
                f"{kind}-{successes}-of-{successes + failures}",
                StoredMemory(
                    "m",
                    memory_type=kind,  # type: ignore[arg-type]
                    importance=0.9,
                    success_count=successes,
                    failure_count=failures,
                ),
            )
    for fade in (0.0, 0.01, 0.25, 0.5, 1.0):
        yield f"fade-{fade}", StoredMemory("m", importance=0.9, fade_factor=fade)
    for recalls in (1, 4, 5, 6, 2**53 - 1):
        yield f"recalls-{recalls}", StoredMemory("m", recall_count=recalls)
    for status in ("active", "superseded", "archived", "invalidated"):
        for importance in (0.3, 1.0):
            yield (
                f"{status}-{importance}",
                StoredMemory("m", status=status, importance=importance),  # type: ignore[arg-type]
            )
    for importance, days in ((0.5, 50), (0.5, 51), (0.8, 108), (0.8, 109), (1.0, 249), (1.0, 250)):
        yield (
            f"weak-point-{importance}-{days}d",
            StoredMemory("m", importance=importance, created_at=NOW - days * DAY),
        )
    for days in (0, 10, 99):
        yield (
            f"recalled-{days}-days-ago",
            StoredMemory("m", last_recalled_at=NOW - days * DAY, recall_count=1),
        )


def _edge_cases() -> Iterator[tuple[str, StoredMemory]]:
    year_2000 = 946_684_800_000
    for value in ("NaN", "Infinity", "-Infinity", -1e-9, 1.0000001, -1, 2):
        yield f"importance-{value}", StoredMemory("m", importance=value)
        yield f"fade-factor-{value}", StoredMemory("m", fade_factor=value)
    for created in (
        0, 1, -1, 1_760_000_000, year_2000 - 1, year_2000, NOW - 1, NOW, NOW + 1,
        NOW + DAY, NOW + DAY + 1, 2**53 - 1, -(2**53 - 1),
    ):  # fmt: skip
        yield f"created-{created}", StoredMemory("m", created_at=created)
        yield f"recalled-{created}", StoredMemory("m", last_recalled_at=created)
    for name in ("recall_count", "success_count", "failure_count"):
        memory = msgspec.structs.replace(StoredMemory("m"), **{name: -1})
        yield f"{name.replace('_', '-')}-negative", memory
    yield "recalled-before-created", StoredMemory("m", last_recalled_at=NOW - 300 * DAY)


def _strength_fields(memory: StoredMemory) -> Line:
    """The fields that strength reads, all of them, under their wire names."""
    return {
        "importance": memory.importance,
        "fadeFactor": memory.fade_factor,
        "createdAt": memory.created_at,
        "lastRecalledAt": memory.last_recalled_at,
        "recallCount": memory.recall_count,
        "successCount": memory.success_count,
        "failureCount": memory.failure_count,
        "memoryType": memory.memory_type,
        "status": memory.status,
    }


def order_lines() -> Iterator[Line]:
    """Every case of order.jsonl."""
    for case in order_cases():
        yield {**msgspec.to_builtins(case), "expected": order_expected(case)}


def order_expected(case: OrderCase) -> Line:
    """What the planner does with one case."""
    plan = plan_cascade(
        snapshot_of(case.memories),
        case.settings.to_cascade(),
        now=case.now,
        policy=policy_named(case.policy, "none"),
        mode=case.mode,
        forgotten_in_window=case.forgotten_in_window,
    )
    stage_two = plan.stages[1]
    ids = list(zip(plan.ids, plan.action.tolist(), strict=True))
    return {
        "spill": [id for id, action in ids if action != FORGET],
        "forget": [id for id, action in ids if action == FORGET],
        "protected": plan.protected,
        "braked": stage_two.braked,
        "shortfall": {
            "memories": stage_two.shortfall_memories,
            "bytes": stage_two.shortfall_bytes,
        },
    }


def estimate_lines() -> Iterator[Line]:
    """Every case of estimate.jsonl."""
    for name, content in estimate_texts():
        expected = asdict(estimate_parts(content))
        yield {"name": name, "content": content, "expected": expected}


FILES = {
    "strength.jsonl": strength_lines,
    "order.jsonl": order_lines,
    "estimate.jsonl": estimate_lines,
}


def text_of(name: str) -> str:
    """What the vector file of this name should hold."""
    lines = (json.dumps(line, ensure_ascii=False, allow_nan=False) for line in FILES[name]())
    return "".join(f"{line}\n" for line in lines)


def main() -> int:
    """Write the files, or with --check say which of them differ from what would be written."""
    if sys.argv[1:] == ["--check"]:
        stale = [name for name in FILES if (VECTORS / name).read_text("utf-8") != text_of(name)]
        print("\n".join(f"{name} is not current" for name in stale) or "the vectors are current")
        return 1 if stale else 0
    for name in FILES:
        (VECTORS / name).write_text(text_of(name), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
