"""What gets, puts and recalls take while the daemon spills, forgets, compacts or compares.

100 000 memories with vectors; each kind of call from a process of its own at a steady pace. The
calls that meet nothing stand beside those that do. The duplicates are searched for by a dry run
of the cycle, which compares the semantic memories, a third of all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Final

import numpy as np

from benchmarks.beside import Latencies, calls_beside
from benchmarks.clocks import percentile, settle
from benchmarks.context import Context
from benchmarks.daemons import Caller, Daemon, daemon
from benchmarks.data import DIMENSIONS
from benchmarks.figures import Figure

AIMS_MS: Final = {"get": 25.0, "recall": 25.0, "put": 60.0}
ALONE: Final = "nothing else"
ALONE_SECONDS: Final = 8.0
# Two of five neighbours go: more than SEGMENT_DEAD_SHARE_MAX of the segments they lie in, so
# that these are merged.
COMPACTED_SHARE: Final = 0.3
FORGOTTEN_OF_FIVE: Final = 2
BINS: Final = 36


@dataclass(frozen=True, slots=True)
class Phase:
    """What the daemon was doing, for how long, and what the calls beside it took."""

    doing: str
    seconds: float
    latencies: Latencies


def measure(context: Context) -> list[Figure]:
    """p99 of each call in each phase, with p50 and maximum; drawn where that is possible."""
    state_dir = context.store("latency", DIMENSIONS)
    with daemon(state_dir) as running:
        caller = Caller(running.socket)
        phases = _phases(context, running, caller)
        caller.close()
    context.done(state_dir)
    if pictures := context.pictures():
        _draw(phases, context.out / "latency", pictures)
    return [_figure(phase, kind, context) for phase in phases for kind in AIMS_MS]


def _phases(context: Context, running: Daemon, caller: Caller) -> list[Phase]:
    count = context.memories
    caller.call("thresholds.set", thresholds={"forgetEnabled": True})
    part = range(round(count * COMPACTED_SHARE))
    scattered = [_id(number) for number in part if number % 5 < FORGOTTEN_OF_FIVE]
    some = [_id(number) for number in range(len(part), len(part) + count // 10)]
    steps: dict[str, Callable[[], Any]] = {
        ALONE: lambda: sleep(ALONE_SECONDS),
        "spill": lambda: caller.call("coldSpill", target=count // 10),
        f"{ALONE}, after the spill": lambda: sleep(ALONE_SECONDS),
        "forget": lambda: caller.call("memory.forget", ids=some, reason="measured"),
        "compaction": lambda: caller.call("memory.forget", ids=scattered, reason="measured"),
        "duplicate search": lambda: caller.call("forgetting.runCycle", dryRun=True),
    }
    return [_phase(context, running, doing, step) for doing, step in steps.items()]


def _id(number: int) -> str:
    return f"memory-{number:07d}"


def _phase(context: Context, running: Daemon, doing: str, step: Callable[[], Any]) -> Phase:
    context.tell(f"calls beside: {doing}")
    latencies: Latencies = {}
    with calls_beside(context, running, latencies, tuple(AIMS_MS)):
        started = perf_counter()
        step()
        seconds = perf_counter() - started
    settle(running.pid)
    return Phase(doing, seconds, latencies)


def _figure(phase: Phase, kind: str, context: Context) -> Figure:
    times = phase.latencies[kind]
    return Figure(
        "latency",
        f"{kind} beside {phase.doing}, p99",
        percentile(times, 99),
        "ms",
        at_most=AIMS_MS[kind],
        note=f"{len(times)} calls in {phase.seconds:.1f} s, p50 {percentile(times, 50):.1f}, "
        f"max {max(times):.0f}",
        full_size=not context.quick,
    )


def _draw(phases: Sequence[Phase], path: Path, pictures: Any) -> None:
    """Histograms: a row a phase, a column a call, grey behind them what the call takes alone.

    Alone before the spill or after it: recall also looks at cold memories then.
    """
    alone, pairs = phases[0], list[tuple[Phase, Phase]]()
    for phase in phases:
        if phase.doing.startswith(ALONE):
            alone = phase
        else:
            pairs.append((alone, phase))
    figure, panels = pictures.panels(
        len(AIMS_MS), len(pairs), width=3.6, height=1.7, sharex=True, sharey=True
    )
    every = np.concatenate([times for one in phases for times in one.latencies.values()])
    edges = np.geomspace(every.min(), every.max() * 1.01, BINS + 1)
    for row, (alone, phase) in zip(panels, pairs, strict=True):
        for panel, (kind, aim) in zip(row, AIMS_MS.items(), strict=True):
            for shown, fill, colour in ((alone, True, "#bdc3c7"), (phase, False, "#c0392b")):
                times = shown.latencies[kind]
                share = np.histogram(times, edges)[0] / len(times)
                named = f"{shown.doing}: p99 {percentile(times, 99):.0f} ms"
                panel.stairs(share, edges, fill=fill, color=colour, label=named)
            panel.axvline(aim, color="black", linestyle=":", label=f"aim of the p99: {aim:.0f} ms")
            panel.legend(frameon=False, fontsize=6)
            panel.set(xscale="log")
        row[0].set_ylabel("share of the calls")
    for panel, kind in zip(panels[-1], AIMS_MS, strict=True):
        panel.set_xlabel(f"{kind}, ms")
    pictures.save(figure, path)
