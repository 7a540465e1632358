"""Time and RAM of every large path against the size of a namespace: 10 000, 100 000, 1 000 000.

Texts are half as long as in the other benchmarks, so that a million are filled in minutes;
vectors have all their numbers. One size after the other, in a real daemon: open, plan, recall,
spill nine tenths, recall from them, forget a tenth, open again.
"""

import asyncio
import itertools
import math
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.clocks import MemoryWatch, proportional_bytes, settle
from benchmarks.context import Context
from benchmarks.daemons import Caller, Daemon, daemon
from benchmarks.data import CONTENT_WORDS, DIMENSIONS, Corpus
from benchmarks.figures import Figure, grouped, shown
from benchmarks.spilling import recall_times
from benchmarks.stores import NAMESPACE, QUIET, fill

SIZES: Final = (10_000, 100_000, 1_000_000)
QUICK_SHARE: Final = 10
QUESTIONS: Final = 15
PLANS: Final = 3
# Above it in the last step of sizes, a path is named as worse than linear; below it is noise.
SLOPE_LINEAR_MAX: Final = 1.1
SETTLE_SECONDS_MAX: Final = 600.0
_OUT_OF_REACH: Final = {name: value for name, value in QUIET.items() if name != "forgetEnabled"}
Measured = dict[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Series:
    """One path: its value at each size, both ascending."""

    path: str
    unit: str
    sizes: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def slopes(self) -> list[float]:
        """log of the growth of the value over log of the growth of the size, step by step.

        1 is linear, 0 is the same at any size; NaN where there was nothing to grow.
        """
        points = list(zip(self.sizes, self.values, strict=True))
        return [
            math.log(after / before) / math.log(larger / size)
            if min(before, after) > 0
            else math.nan
            for (size, before), (larger, after) in itertools.pairwise(points)
        ]

    @property
    def is_worse_than_linear(self) -> bool:
        """Whether it grew faster than the size in the last step."""
        return self.slopes[-1] > SLOPE_LINEAR_MAX


def measure(context: Context) -> list[Figure]:
    """A figure a path at the largest size, with those of the smaller ones and the slopes."""
    sizes = [size // QUICK_SHARE if context.quick else size for size in SIZES]
    series = series_of(context, sizes)
    if pictures := context.pictures():
        _draw(series, context.out / "scale", pictures)
    return [_figure(one, context) for one in series]


def series_of(context: Context, sizes: Sequence[int]) -> list[Series]:
    """Every path measured at each of these sizes."""
    found = [_measured(context, size) for size in sizes]
    return [
        Series(path, unit, tuple(sizes), tuple(one[path, unit] for one in found))
        for path, unit in found[0]
    ]


def _figure(series: Series, context: Context) -> Figure:
    smaller = ", ".join(
        f"{shown(value)} at {grouped(size)}"
        for size, value in zip(series.sizes[:-1], series.values[:-1], strict=True)
    )
    slopes = ", then ".join(f"{slope:.2f}" for slope in series.slopes)
    worse = "; worse than linear" if series.is_worse_than_linear else ""
    return Figure(
        "scale",
        f"{series.path}, {grouped(series.sizes[-1])}",
        series.values[-1],
        series.unit,
        note=f"{smaller}; slope {slopes}{worse}",
        full_size=not context.quick,
    )


def _measured(context: Context, count: int) -> Measured:
    """Value by (path, unit) of one namespace, from its filling to its second opening."""
    folder = context.scratch / f"scale-{count}"
    state_dir = folder / "state"
    state_dir.mkdir(mode=0o700, parents=True)
    folder.chmod(0o700)
    corpus = replace(context.corpus, content_words=CONTENT_WORDS // 2)
    found: Measured = {}
    context.tell(f"filling {count} memories, vectors of {DIMENSIONS}")
    started = time.perf_counter()
    asyncio.run(fill(state_dir, corpus, count, DIMENSIONS))
    found["fill by putMany of 1 000", "s"] = time.perf_counter() - started
    with _opened(state_dir, found, "open, all hot") as running:
        _plan(context, running, count, found)
        _recall(context, running, corpus, found)
        _spill(context, running, count, found)
        _recall_cold(context, running, corpus, found)
        _forget(context, running, count, found)
    with _opened(state_dir, found, "open, nine tenths cold"):
        pass
    shutil.rmtree(folder)
    return found


@contextmanager
def _opened(state_dir: Path, found: Measured, what: str) -> Iterator[Daemon]:
    """A daemon that has the namespace open; how long opening took and the RAM after it."""
    with daemon(state_dir) as running:
        with _calling(running) as caller:
            found[what, "s"] = _seconds(caller, "namespaces.open", namespace=NAMESPACE)
        found[f"RAM: {what}", "MB"] = proportional_bytes(running.pid) / 1e6
        yield running


def _calling(running: Daemon) -> closing[Caller]:
    """A connection for one step: the daemon closes one that is silent through a long pause."""
    return closing(Caller(running.socket))


def _plan(context: Context, running: Daemon, count: int, found: Measured) -> None:
    """A dry run, as a host asks for it: columns copied, planned, reported."""
    context.tell(f"planning over {count} memories")
    bounds = {
        "lowWatermark": 1.0,
        "forgetThresholdCount": count // 10,
        "forgetThresholdTotal": count - count // 10,
    }
    with _calling(running) as caller:
        caller.call("thresholds.set", thresholds=bounds)
        times = [_seconds(caller, "forgetSweep", dryRun=True) for _ in range(PLANS)]
    found["plan a sweep, nine tenths to move", "s"] = min(times)


def _recall(context: Context, running: Daemon, corpus: Corpus, found: Measured) -> None:
    """The first recall by vector, which loads all vectors; then recalls from all."""
    context.tell("recalling from hot memories")
    questions = corpus.questions(QUESTIONS, DIMENSIONS)
    with _calling(running) as caller:
        _, vector = questions[0]
        found["first recall by vector", "s"] = _seconds(caller, "memory.recall", embedding=vector)
        found["RAM: after the first recall by vector", "MB"] = proportional_bytes(running.pid) / 1e6
        for kind, times in recall_times(caller, questions, "hot").items():
            found[f"hot recall by {kind}, p50", "ms"] = statistics.median(times)


def _spill(context: Context, running: Daemon, count: int, found: Measured) -> None:
    context.tell(f"spilling nine tenths of {count}")
    with _calling(running) as caller, MemoryWatch(running.pid) as ram:
        caller.call("thresholds.set", thresholds=_OUT_OF_REACH | {"forgetEnabled": True})
        found["spill nine tenths", "s"] = _seconds(caller, "coldSpill", target=count // 10)
    found["RAM: spill, extra", "MB"] = ram.extra_megabytes
    with MemoryWatch(running.pid) as ram:
        found["index the cold, after it", "s"] = settle(running.pid, SETTLE_SECONDS_MAX)
    found["RAM: index, extra", "MB"] = ram.extra_megabytes


def _recall_cold(context: Context, running: Daemon, corpus: Corpus, found: Measured) -> None:
    context.tell("recalling from cold memories")
    questions = corpus.questions(QUESTIONS, DIMENSIONS)
    with _calling(running) as caller:
        recall_times(caller, questions[:1], "deep")  # the first one reads the index in
        for kind, times in recall_times(caller, questions, "deep").items():
            found[f"deep recall by {kind}, p50", "ms"] = statistics.median(times)


def _forget(context: Context, running: Daemon, count: int, found: Measured) -> None:
    context.tell(f"forgetting a tenth of {count}")
    kept = count - count // 10
    with _calling(running) as caller, MemoryWatch(running.pid) as ram:
        caller.call("thresholds.set", thresholds={"forgetThresholdTotal": kept})
        started = time.perf_counter()
        report = caller.call("forgetSweep")
        found["forget a tenth", "s"] = time.perf_counter() - started
    assert report["after"]["total"] == kept, report["counts"]
    found["RAM: forget, extra", "MB"] = ram.extra_megabytes


def _seconds(caller: Caller, method: str, **params: Any) -> float:
    started = time.perf_counter()
    caller.call(method, **params)
    return time.perf_counter() - started


def _draw(series: Sequence[Series], path: Path, pictures: Any) -> None:
    """Time and RAM against size, both axes logarithmic, beside what linear growth would be."""
    figure, panels = pictures.panels(2, width=6.4, height=4.6)
    units = (("s", "ms"), "seconds"), (("MB",), "MB")
    for panel, (of_panel, label) in zip(panels[0], units, strict=True):
        for number, one in enumerate(one for one in series if one.unit in of_panel):
            share = 1000 if one.unit == "ms" else 1
            values = [value / share for value in one.values]
            named = f"{one.path.removeprefix('RAM: ')}  ({one.slopes[-1]:.2f})"
            look = {"color": f"C{number % 10}", "linestyle": ("-", "--")[number // 10]}
            panel.plot(one.sizes, values, marker="o", markersize=3, label=named, **look)
        low = min(panel.get_ylim()[0], 1e-3) if label == "seconds" else 1
        sizes = series[0].sizes
        linear = [low * size / sizes[0] for size in sizes]
        panel.plot(sizes, linear, color="black", linestyle=":", label="linear (1)")
        panel.set(xscale="log", yscale="log", xlabel="memories", ylabel=label)
        panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=7)
    pictures.save(figure, path)
