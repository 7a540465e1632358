"""The benchmarks of scale and of calls beside a run, at a size that takes seconds."""

import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import context, latency, scale
from benchmarks.context import Context
from benchmarks.scale import Series

SIZES = (400, 800)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """A run over 600 memories, on a machine that draws nothing."""
    monkeypatch.setattr(context, "FULL_MEMORIES", 600)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with tempfile.TemporaryDirectory(prefix="fb-") as folder:  # a socket's path must be short
        yield Context(Path(folder), seed=7, quick=False, out=Path(folder) / "out")


@pytest.mark.gate("BENCH-02")
def test_a_path_that_grows_faster_than_the_size_is_named() -> None:
    def series(*values: float) -> Series:
        return Series("path", "s", (10_000, 100_000, 1_000_000), values)

    assert series(1, 10, 100).slopes == pytest.approx([1, 1])
    assert series(3, 3, 3).slopes == [0, 0]
    assert series(1, 10, 1_000).slopes == pytest.approx([1, 2])
    assert not series(1, 100, 1_000).is_worse_than_linear
    assert series(1, 10, 1_000).is_worse_than_linear
    assert math.isnan(series(0, 10, 100).slopes[0])


@pytest.mark.gate("BENCH-03")
def test_every_path_is_measured_at_every_size_in_a_real_daemon(small: Context) -> None:
    found = {one.path: one for one in scale.series_of(small, SIZES)}
    assert all(one.sizes == SIZES for one in found.values())
    for path in ("fill by putMany of 1 000", "open, all hot", "spill nine tenths"):
        assert min(found[path].values) > 0
    for path in ("deep recall by both, p50", "forget a tenth", "open, nine tenths cold"):
        assert min(found[path].values) > 0
    assert min(found["RAM: open, all hot"].values) > 10  # MB: an interpreter holds more
    assert not list(small.scratch.iterdir())


@pytest.mark.gate("BENCH-04")
def test_calls_of_each_kind_are_timed_beside_each_run(
    small: Context, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(latency, "ALONE_SECONDS", 0.3)
    figures = latency.measure(small)
    assert [one.what for one in figures] == [
        f"{kind} beside {doing}, p99"
        for doing in (
            "nothing else",
            "spill",
            "nothing else, after the spill",
            "forget",
            "compaction",
            "duplicate search",
        )
        for kind in ("get", "recall", "put")
    ]
    assert all(one.value > 0 for one in figures)
    assert "no plots: matplotlib is not installed" in capsys.readouterr().err
