"""Planning a sweep: from the columns in RAM to the list of decisions, nothing written."""

import statistics
from typing import Final

import numpy as np

from benchmarks.clocks import Stopwatch
from benchmarks.context import Context
from benchmarks.data import AGE_DAYS, DAY_MS
from benchmarks.figures import Figure, grouped
from sidecar.plan.cascade import plan_cascade
from sidecar.plan.plan import CascadeSettings, Policy, Snapshot
from sidecar.plan.policies import POLICY_DEFAULT, policy_named

ROUNDS: Final = 5
SHARE_FORGOTTEN: Final = 0.1
SHARE_OF_LINKED: Final = 0.02
BYTES_EACH: Final = 2_400


def measure(context: Context) -> list[Figure]:
    """A cascade over 100 000 and 1 000 000 memories: a tenth forgotten, nine tenths spilled."""
    figures: list[Figure] = []
    for count, aim in ((context.memories, 0.05), (10 * context.memories, 0.5)):
        context.tell(f"planning over {count} memories")
        snapshot = snapshot_of(count, context.seed, context.corpus.now)
        policy = policy_named(POLICY_DEFAULT, "benchmark")
        settings = CascadeSettings(
            threshold_count=count // 10,
            threshold_total=round(count * (1 - SHARE_FORGOTTEN)),
            low_watermark=1.0,
        )
        times = [_plan(snapshot, settings, context.corpus.now, policy) for _ in range(ROUNDS)]
        figures.append(
            Figure(
                "plan",
                f"plan a sweep of {grouped(count)} memories",
                min(watch.wall for watch in times),
                "s",
                at_most=aim,
                cpu_seconds=statistics.median(watch.cpu for watch in times),
                note=f"best of {ROUNDS}; every memory is decided on",
                full_size=not context.quick,
            )
        )
    return figures


def _plan(snapshot: Snapshot, settings: CascadeSettings, now: int, policy: Policy) -> Stopwatch:
    with Stopwatch() as watch:
        plan = plan_cascade(snapshot, settings, now=now, policy=policy)
    wanted = round(len(snapshot) * SHARE_FORGOTTEN)
    assert plan.before.total - plan.after.total == wanted, "the plan is not the one that was meant"
    return watch


def snapshot_of(count: int, seed: int, now: int) -> Snapshot:
    """Hot memories of mixed age, importance and use; some linked in chains of two."""
    rng = np.random.default_rng(seed)

    def whole(low: int, high: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return rng.integers(low, high, count, dtype=np.int64)

    created_at = now - whole(AGE_DAYS[0] * DAY_MS, AGE_DAYS[1] * DAY_MS)
    recalled = rng.random(count) < 0.3
    last_recalled_at = np.where(recalled, created_at + (now - created_at) // 2, 0)
    rid = np.arange(1, count + 1, dtype=np.int64)
    linked = rng.random(count) < SHARE_OF_LINKED
    linked[-1] = False
    successor_rid = np.where(linked, np.roll(rid, -1), 0)
    nothing = np.zeros(count, np.int64)
    return Snapshot(
        rid=rid,
        ids=[f"memory-{number:07d}" for number in range(count)],
        tier=np.zeros(count, np.uint8),
        status=linked.astype(np.uint8),
        memory_type=(rid % 3).astype(np.uint8),
        importance=rng.random(count),
        fade_factor=np.ones(count),
        faded_at=nothing,
        created_at=created_at,
        last_recalled_at=last_recalled_at,
        recall_count=np.where(recalled, whole(1, 9), 0),
        success_count=nothing,
        failure_count=nothing,
        pinned=rng.random(count) < 0.01,
        evergreen=rng.random(count) < 0.01,
        held_until=nothing,
        restored_at=nothing,
        expires_at=nothing,
        successor_rid=successor_rid,
        change_counter=np.ones(count, np.int64),
        bytes=np.full(count, BYTES_EACH, np.int64),
        cold_bytes=np.full(count, BYTES_EACH // 2, np.int64),
        media_group=np.full(count, -1, np.int64),
        media_bytes=np.empty(0, np.int64),
    )
