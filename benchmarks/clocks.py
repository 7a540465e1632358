"""Wall time, CPU time and resident memory, of this process and of others."""

import os
import resource
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
SAMPLE_SECONDS: Final = 0.1
QUIET_SECONDS: Final = 1.0
SETTLE_SECONDS_MAX: Final = 120.0


class Stopwatch:
    """Wall and CPU seconds of a `with` block: of this process, and of children that ended."""

    wall = 0.0
    cpu = 0.0

    def __enter__(self) -> Self:
        self._wall, self._cpu = time.perf_counter(), own_cpu_seconds()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.wall += time.perf_counter() - self._wall
        self.cpu += own_cpu_seconds() - self._cpu


def own_cpu_seconds() -> float:
    """User and system time of this process and of its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and of its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    """What a process holds in RAM, pages that it shares with others counted whole."""
    statm = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8")
    return int(statm.split()[1]) * PAGE_BYTES


def proportional_bytes(pid: int) -> int:
    """What a process and its children hold in RAM together: shared pages count once."""
    total = 0
    for one in (pid, *children(pid)):
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = dict(line.split(":", 1) for line in rollup.splitlines()[1:])
        total += int(fields["Pss"].split()[0]) * 1024
    return total


def children(pid: int) -> list[int]:
    """The child processes of all threads of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += map(int, (task / "children").read_text(encoding="utf-8").split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


class MemoryWatch:
    """The most RAM that a process and its children hold during a `with` block."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.before = self.peak = proportional_bytes(pid)

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, proportional_bytes(self._pid))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def extra_megabytes(self) -> float:
        """How far it rose above what it was before."""
        return (self.peak - self.before) / 1e6


def settle(pid: int, seconds_max: float = SETTLE_SECONDS_MAX) -> float:
    """Wait until a process has had nothing to do for a while; how long that took, in seconds."""
    started = time.perf_counter()
    used, quiet_since = cpu_seconds(pid), started
    while time.perf_counter() - quiet_since < QUIET_SECONDS:
        if time.perf_counter() - started > seconds_max:
            break
        time.sleep(SAMPLE_SECONDS)
        if (now := cpu_seconds(pid)) > used:
            used, quiet_since = now, time.perf_counter()
    return quiet_since - started


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` per cent lie (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * share // 100))
    return ordered[int(rank) - 1]
