"""When a stage of the cascade is due by itself: what is crossed, and what holds it back.

The daemon's detector and its simulation decide by these rules alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sidecar.limits import BACKOFF_FIRST_MS, BACKOFF_MAX_MS, CLOCK_MAX_MS
from sidecar.plan.plan import CascadeSettings, Counts

Crossable = Literal["count", "total", "disk"]

SPILLING: Final = 1
FORGETTING: Final = 2
STAGES: Final = (SPILLING, FORGETTING)
ENDLESS: Final = CLOCK_MAX_MS  # later than any time that can be


@dataclass(slots=True)
class Backoff:
    """When a stage may be tried again after it made no progress."""

    until: int = 0
    wait_ms: int = 0

    def judge(self, progress: bool, now: int) -> None:
        """Start over where progress was made, else wait for longer."""
        if progress:
            self.clear()
        else:
            self.grow(now)

    def grow(self, now: int) -> None:
        """Wait for twice as long as the last time."""
        self.wait_ms = min(BACKOFF_MAX_MS, max(BACKOFF_FIRST_MS, self.wait_ms * 2))
        self.until = now + self.wait_ms

    def clear(self) -> None:
        """Progress was made, or the settings changed."""
        self.until = self.wait_ms = 0


@dataclass(frozen=True, slots=True)
class Holds:
    """Until when automatic runs stand still, ms: all of them, and those that forget.

    0 is not at all, ENDLESS until somebody resumes them.
    """

    paused_until: int = 0
    braked_until: int = 0
    stage_two_not_before: int = 0

    def allow(self, now: int) -> bool:
        """Whether automatic runs may start at all."""
        return self.paused_until <= now

    def allow_forgetting(self, now: int) -> bool:
        """Whether one that may start may forget."""
        return self.braked_until <= now and self.stage_two_not_before <= now


def crossed_thresholds(counts: Counts, settings: CascadeSettings) -> list[Crossable]:
    """The thresholds that the counts are strictly above; constant time."""
    crossed: list[Crossable] = []
    if counts.hot > settings.threshold_count:
        crossed.append("count")
    if counts.total > settings.threshold_total:
        crossed.append("total")
    if counts.live_bytes > settings.threshold_disk_bytes:
        crossed.append("disk")
    return crossed


def due_stages(
    crossed: Sequence[str], backoff: Mapping[int, Backoff], holds: Holds, now: int
) -> tuple[int, ...]:
    """The stages that may and should run at `now` (ms)."""
    if not crossed or not holds.allow(now):
        return ()
    due: list[int] = []
    if "count" in crossed and backoff[SPILLING].until <= now:
        due.append(SPILLING)
    forget = "total" in crossed or "disk" in crossed
    if forget and backoff[FORGETTING].until <= now and holds.allow_forgetting(now):
        due.append(FORGETTING)
    return tuple(due)
