"""Forgetting a tenth of a store durably, and giving the space back to the file system."""

import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.clocks import Stopwatch
from benchmarks.context import Context
from benchmarks.data import DIMENSIONS
from benchmarks.figures import Figure, grouped
from benchmarks.stores import database_bytes, opened, segment_bytes, sweep_arguments
from sidecar.apply import runner


def measure(context: Context) -> list[Figure]:
    """10 000 of 100 000, of text alone and with vectors."""
    figures: list[Figure] = []
    for kind, dimensions, aim in (("text", 0, 1.0), ("vectors", DIMENSIONS, 3.0)):
        state_dir = context.store(f"forget-{kind}", dimensions)
        context.tell(f"forgetting {context.memories // 10} of {context.memories} ({kind})")
        figures += asyncio.run(_forget(context, state_dir, kind, aim))
        context.done(state_dir)
    return figures


async def _forget(context: Context, state_dir: Path, kind: str, aim: float) -> list[Figure]:
    count, forgotten = context.memories, context.memories // 10
    with Stopwatch() as opening:
        manager = opened(state_dir)
        namespace = await manager.__aenter__()
    await namespace.set_thresholds(
        {"forgetEnabled": True, "lowWatermark": 1.0, "forgetThresholdTotal": count - forgotten}
    )
    before = database_bytes(state_dir)
    space = Stopwatch()
    give_back = runner.give_back

    def timed(*arguments: Any) -> Any:
        with space:
            return give_back(*arguments)

    with patch.object(runner, "give_back", timed), Stopwatch() as whole:
        report = await namespace.sweep(**sweep_arguments())
    assert report.counts["forget"] == forgotten, report.counts
    assert report.space_note is None, report.space_note
    await manager.__aexit__(None, None, None)
    after, archived = database_bytes(state_dir), segment_bytes(state_dir)

    def figure(what: str, value: float, unit: str, **rest: Any) -> Figure:
        return Figure("forget", what, value, unit, full_size=not context.quick, **rest)

    named = f"{grouped(forgotten)} of {grouped(count)}, {kind}"
    return [
        figure(f"open the namespace, {kind}", opening.wall, "s", cpu_seconds=opening.cpu),
        figure(
            f"forget {named}, durably",
            whole.wall - space.wall,
            "s",
            at_most=1.0,
            cpu_seconds=whole.cpu - space.cpu,
        ),
        figure(
            f"give the space back, {kind}",
            space.wall,
            "s",
            at_most=aim,
            cpu_seconds=space.cpu,
        ),
        figure(
            f"hot.db after, {kind}",
            after / before * 100,
            "% of before",
            at_most=99.0,
            note=f"{before / 1e6:.0f} → {after / 1e6:.0f} MB, archive {archived / 1e6:.1f} MB",
        ),
    ]
