"""The daemon's own store in this process, on a clock that the stream holds.

Other policies are only formulas. What they keep is put into a namespace too, so that all are
asked by the same `memory.recall`.
"""

import base64
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from benchmarks.quality.dialogue import Dialogue, Float64, Rows
from benchmarks.quality.stream import MARKED_IMPORTANCE, Budget, Outcome, leaving
from benchmarks.stores import sweep_arguments
from sidecar.clock import Clock
from sidecar.config import load_config
from sidecar.limits import REPORT_DECISIONS_MAX
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.registry import Registry

TOP: Final = 10
# The calls of the stream are to go as far as the budget says, at once.
BOUNDS: Final[dict[str, Any]] = {
    "forgetThresholdCount": 10_000_000,
    "forgetThresholdTotal": 10_000_000,
    "lowWatermark": 1.0,
    "brakeShare": 1.0,
}


@dataclass(slots=True)
class Daemon:
    """A registry and the clock that it goes by. Namespaces are numbered."""

    registry: Registry
    clock: Clock
    opened: int = 0

    async def namespace(self, at: int) -> Namespace:
        """A new empty namespace; the clock is held at `at` (ms). Nothing moves by itself in it."""
        self.clock.hold(at)
        self.opened += 1
        namespace = await self.registry.open(f"n{self.opened}", create=True)
        if namespace.automatic is not None:
            await namespace.automatic.close()
        await namespace.set_thresholds(BOUNDS)
        return namespace


@asynccontextmanager
async def a_daemon(state_dir: Path) -> AsyncIterator[Daemon]:
    """A daemon's inside over an empty state directory."""
    clock = Clock(injectable=True)
    registry = Registry(state_dir, clock, load_config(environ={"HOME": str(state_dir)}))
    try:
        yield Daemon(registry, clock)
    finally:
        await registry.close_all()


# --- putting and asking ------------------------------------------------------------------


async def put(
    namespace: Namespace, dialogue: Dialogue, rows: Iterable[int], *, marked: bool = False
) -> None:
    """Put these turns in one call. With `marked` the important ones carry an importance."""
    memories = [
        MemoryInput(
            id=memory_id(row),
            content=turn.text,
            created_at=turn.at,
            importance=MARKED_IMPORTANCE if marked and turn.important else None,
            embedding=None if dialogue.vectors is None else packed(dialogue.vectors[row]),
        )
        for row, turn in ((row, dialogue.turns[row]) for row in rows)
    ]
    await namespace.put_many(memories=memories, if_exists="error", partial=False)


async def recall_share(
    namespace: Namespace, dialogue: Dialogue, depth: Literal["auto", "deep"] = "auto"
) -> float:
    """recall@10: of each question's evidence the share among the first ten, in the mean."""
    vectors = dialogue.question_vectors
    shares: list[float] = []
    for place, question in enumerate(dialogue.questions):
        report = await namespace.recall(
            query=question.text,
            embedding=None if vectors is None else packed(vectors[place]),
            embedding_model=None,
            top_k=TOP,
            depth=depth,
            memory_types=None,
            include_archived=False,
            min_strength=None,
            touch="none",
        )
        found = {row_of(result.memory.id) for result in report.results}
        shares.append(len(found.intersection(question.evidence)) / len(question.evidence))
    return float(np.mean(shares))


async def importance_of(namespace: Namespace, dialogue: Dialogue) -> Float64:
    """The importance that the daemon gave to each turn when it was put."""
    ids = [memory_id(row) for row in range(len(dialogue.turns))]
    found = await namespace.get_many(ids=ids, include_embedding=False)
    return np.array([np.nan if one is None else one.importance_base for one in found])


def memory_id(row: int) -> str:
    """Ids in the order of the turns: equal scores go by id."""
    return f"t{row:06d}"


def row_of(id: str) -> int:
    """The turn of a memory."""
    return int(id[1:])


def packed(vector: Any) -> str:
    """A vector as the wire takes it."""
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


# --- streaming ---------------------------------------------------------------------------


async def stream(
    daemon: Daemon, dialogue: Dialogue, policy: str, budget: Budget, *, marked: bool = False
) -> tuple[Namespace, Outcome]:
    """Stream the dialogue through one namespace, swept by `forgetSweep` under a policy.

    What a later turn replaces is superseded, if it is still there: hosts know that.
    """
    namespace = await daemon.namespace(dialogue.turns[0].at)
    sizes, limit = budget.sizes(dialogue), budget.limit(dialogue)
    if budget.protocol == "count":
        await namespace.set_thresholds({"forgetThresholdTotal": limit})
    here: set[int] = set()
    found = needed = 0
    for rows, sweep_at in dialogue.parts():
        daemon.clock.hold(dialogue.turns[rows.start].at)
        await put(namespace, dialogue, rows, marked=marked)
        for row in rows:
            turn = dialogue.turns[row]
            here.add(row)
            wanted = dialogue.wanted[row]
            again = [memory_id(one) for one in wanted if one in here]
            needed += len(wanted)
            found += len(again)
            daemon.clock.hold(turn.at)
            if again:
                await namespace.touch(ids=again)
            if turn.replaces is not None and turn.replaces in here:
                await namespace.supersede(id=memory_id(turn.replaces), by=memory_id(row))
        daemon.clock.hold(sweep_at)
        if budget.protocol == "characters":
            limit_now = await _turns_that_fit(namespace, policy, sizes, limit, here)
            await namespace.set_thresholds({"forgetThresholdTotal": limit_now})
        here -= set((await _forgotten(namespace, policy, dry_run=False)).tolist())
    kept = np.array(sorted(here), dtype=np.int64)
    assert int(sizes[kept].sum()) <= limit, "the sweeps left more than the budget"
    return namespace, Outcome(kept, found, needed)


async def _turns_that_fit(
    namespace: Namespace, policy: str, sizes: Rows, limit: int, here: set[int]
) -> int:
    """How many memories are left when those that go first have made room.

    The order is that of a dry run which would forget all. What is protected is not in it: the
    newborn, and the heads of chains.
    """
    await namespace.set_thresholds({"forgetThresholdTotal": 0})
    order = await _forgotten(namespace, policy, dry_run=True)
    held = int(sizes[sorted(here)].sum()) - int(sizes[order].sum())
    return len(here) - leaving(order, sizes, max(limit - held, 0))


async def _forgotten(namespace: Namespace, policy: str, *, dry_run: bool) -> Rows:
    arguments = sweep_arguments(
        mode="strict", policy=policy, dry_run=dry_run, decisions_limit=REPORT_DECISIONS_MAX
    )
    report = await namespace.sweep(**arguments)
    gone: Sequence[int] = [row_of(one.id) for one in report.decisions if one.action == "forget"]
    return np.array(gone, dtype=np.int64)
