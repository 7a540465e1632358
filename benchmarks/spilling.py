"""A spill of nine tenths of a store in a real daemon: time, RAM, and what others feel of it."""

import statistics
import time
from collections.abc import Sequence
from typing import Any, Final

from benchmarks.beside import Latencies, calls_beside
from benchmarks.clocks import MemoryWatch, cpu_seconds, percentile, settle
from benchmarks.context import Context
from benchmarks.daemons import Caller, Daemon, daemon
from benchmarks.data import DIMENSIONS
from benchmarks.figures import Figure, grouped

RECALLS: Final = 60
DEEP_RECALLS: Final = 7
TOP_K: Final = 10
QUIET_SECONDS: Final = 3.0


def measure(context: Context) -> list[Figure]:
    """Recall of 100 000, the spill to 10 000 with gets and puts beside it, recall after it."""
    state_dir = context.store("spill", DIMENSIONS)
    with daemon(state_dir) as running:
        caller = Caller(running.socket)
        figures = _measure(context, running, caller)
        caller.close()
    context.done(state_dir)
    return figures


def _measure(context: Context, running: Daemon, caller: Caller) -> list[Figure]:
    count, target = context.memories, context.memories // 10
    caller.call("thresholds.set", thresholds={"forgetEnabled": True})
    questions = context.corpus.questions(RECALLS, DIMENSIONS)
    context.tell(f"recalling from {count} hot memories")
    before = recall_times(caller, questions, "hot")
    context.tell("calls without a run beside them")
    alone: Latencies = {}
    with calls_beside(context, running, alone):
        time.sleep(QUIET_SECONDS)
    context.tell(f"spilling {count - target} memories, with calls beside it")
    beside: Latencies = {}
    with calls_beside(context, running, beside):
        time.sleep(QUIET_SECONDS / 10)
        used = cpu_seconds(running.pid)
        with MemoryWatch(running.pid) as ram:
            started = time.perf_counter()
            report = caller.call("coldSpill", target=target)
            spill_seconds = time.perf_counter() - started
        used = cpu_seconds(running.pid) - used
    moved = report["counts"]["spill"]
    assert moved >= count - target, report["counts"]
    settled = settle(running.pid)
    context.tell(f"recalling from {target} hot memories, then from {moved} cold ones")
    after = recall_times(caller, questions, "hot")
    deep = recall_times(caller, questions[:DEEP_RECALLS], "deep")
    figures = [
        *_spill_figures(context, moved, spill_seconds, used, settled, ram),
        *_latency_figures(context, alone, beside),
        *_recall_figures(context, before, after, deep, moved),
    ]
    return figures


def _spill_figures(
    context: Context, moved: int, seconds: float, used: float, settled: float, ram: MemoryWatch
) -> list[Figure]:
    whole = not context.quick
    return [
        Figure(
            "spill",
            f"spill {grouped(moved)} with vectors",
            seconds,
            "s",
            at_most=10.0,
            cpu_seconds=used,
            note="CPU of the daemon and its encoder, the calls beside it included",
            full_size=whole,
        ),
        Figure("spill", "until all background work is done, after it", settled, "s"),
        Figure(
            "spill",
            "extra RAM meanwhile",
            ram.extra_megabytes,
            "MB",
            at_most=150.0,
            note=f"daemon and encoder; {ram.before / 1e6:.0f} MB before",
            full_size=whole,
        ),
    ]


def _latency_figures(context: Context, alone: Latencies, beside: Latencies) -> list[Figure]:
    def figure(kind: str, aim: float) -> Figure:
        times = beside[kind]
        return Figure(
            "spill",
            f"{kind} during the spill, p99",
            percentile(times, 99),
            "ms",
            at_most=aim,
            note=f"{len(times)} calls, p50 {percentile(times, 50):.1f}, max {max(times):.0f}; "
            f"without the spill p99 {percentile(alone[kind], 99):.1f}",
            full_size=not context.quick,
        )

    return [figure("get", 25.0), figure("put", 60.0)]


def _recall_figures(
    context: Context, before: Latencies, after: Latencies, deep: Latencies, cold: int
) -> list[Figure]:
    whole = not context.quick
    figures: list[Figure] = []
    for kind in before:
        was, now = statistics.median(before[kind]), statistics.median(after[kind])
        hot = f"hot recall by {kind}, p50"
        figures += [
            Figure("recall", f"{hot}, before", was, "ms", full_size=whole),
            Figure("recall", f"{hot}, after", now, "ms", at_most=12.0, full_size=whole),
            Figure(
                "recall", f"{kind}: times faster", was / now, "×", at_least=5.0, full_size=whole
            ),
        ]
    for kind, times in deep.items():
        figures.append(
            Figure(
                "recall",
                f"deep recall by {kind} over {grouped(cold)} cold, p50",
                statistics.median(times),
                "ms",
                at_most=200.0,
                full_size=whole,
            )
        )
    return figures


def recall_times(caller: Caller, questions: Sequence[tuple[str, str]], depth: str) -> Latencies:
    """Milliseconds of each recall by text, by vector and by both. Nothing counts as used."""
    found: Latencies = {}
    for kind in ("text", "vector", "both"):
        found[kind] = []
        for text, vector in questions:
            asked: dict[str, Any] = {"topK": TOP_K, "depth": depth, "touch": "none"}
            if kind != "vector":
                asked["query"] = text
            if kind != "text":
                asked["embedding"] = vector
            started = time.perf_counter()
            caller.call("memory.recall", **asked)
            found[kind].append((time.perf_counter() - started) * 1000)
    return found
