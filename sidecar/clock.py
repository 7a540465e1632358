"""The daemon's one clock: wall time in integer milliseconds, or a time set by a caller.

Everything that is stored or compared takes its time here, so a test, a demo or a simulation
that sets the clock moves the whole daemon.
"""

import time
from collections.abc import Callable

from sidecar.limits import MILLISECONDS_PER_DAY


class Clock:
    """Wall-clock milliseconds since the Unix epoch; can be held at an injected time."""

    def __init__(self, *, injectable: bool = False) -> None:
        self.injectable = injectable
        self._held_ms: int | None = None
        self._listeners: list[Callable[[], None]] = []
        self._wall_start_ms = time.time_ns() // 1_000_000
        self._boot_start_ms = _boottime_ms()

    def now_ms(self) -> int:
        """The time now, in milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000 if self._held_ms is None else self._held_ms

    def hold(self, now_ms: int) -> None:
        """Hold the clock at `now_ms` until the next call. Only when `injectable`."""
        assert self.injectable, "the clock may be set only with --allow-injected-clock"
        self._held_ms = now_ms
        for listener in self._listeners:
            listener()

    def when_held(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each `hold`, in the thread that held the clock."""
        self._listeners.append(listener)

    @property
    def held(self) -> bool:
        """Whether a caller holds the clock."""
        return self._held_ms is not None

    def jumped(self) -> bool:
        """Whether wall time moved more than a day against CLOCK_BOOTTIME since start.

        Never true for an injectable clock: there a jump is what the caller asked for.
        """
        if self.injectable:
            return False
        wall_ms = time.time_ns() // 1_000_000 - self._wall_start_ms
        boot_ms = _boottime_ms() - self._boot_start_ms
        return abs(wall_ms - boot_ms) > MILLISECONDS_PER_DAY

    def accept_jump(self) -> None:
        """Take the present wall time as right (an operator resumed automatic runs)."""
        self._wall_start_ms = time.time_ns() // 1_000_000
        self._boot_start_ms = _boottime_ms()


def _boottime_ms() -> int:
    clock_id = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock_id) // 1_000_000
