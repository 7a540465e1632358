"""The cycle once more, as plainly as it can be said: one memory after the other, no arrays.

Slow, and written from the rules. The planner must agree with it on every small store.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from protocol.vector_store import DAY, StoredMemory, StoreSettings
from sidecar.plan.cycle_settings import CycleSettings
from tests.cycle_stores import Decision
from tests.plain_cascade import PlainCascade, Z

RANK = ("superseded", "likely_duplicate", "low_performance", "time_decay", None)


@dataclass
class Outcome:
    """One decision and the importance it leaves."""

    decision: Decision
    importance: float


class PlainCycle:
    """One store at one instant."""

    def __init__(
        self,
        memories: list[StoredMemory],
        settings: CycleSettings,
        store: StoreSettings,
        now: int,
        survivors: Mapping[str, str],
        flagged: Sequence[str],
    ) -> None:
        self.cascade = PlainCascade(memories, store, now, (1.0, 1.0, 1.0))
        self.settings, self.now, self.flagged = settings, now, flagged
        self.named = {id: by for id, by in survivors.items() if id != by}
        self.stands_for = {id: by for id, by in self.named.items() if self.stands(id, by)}

    def stands(self, id: str, by: str) -> bool:
        """A survivor stays itself, and is believed no less than who goes for it."""
        group = self.cascade.group
        if by in self.named:
            return False
        return group(self.cascade.by_id[by]) >= group(self.cascade.by_id[id])

    def plan(self, forgotten_in_window: int) -> dict[str, Outcome]:
        """The decision on every live memory."""
        found = {m.id: self.outcome(m) for m in self.cascade.live}
        going = [id for id, one in found.items() if one.decision.action == "prune"]
        whole = len(found) + forgotten_in_window
        if whole >= 100:
            share = math.floor(self.cascade.settings.brake_share * whole + 1e-6)
            most = max(0, max(10, share) - forgotten_in_window)
            for id in sorted(going, key=lambda id: self.key(id, found[id].decision))[most:]:
                reason = found[id].decision.reason
                found[id].decision = Decision("keep", reason, "braked")
        return found

    def key(self, id: str, decision: Decision) -> tuple[float | int | str, ...]:
        memory, scored = self.cascade.by_id[id], self.cascade.scores[id]
        assert scored is not None
        superseded = decision.reason == "superseded"
        depth = len(self.cascade.newer(memory)) if superseded else 0
        strength = scored.value * scored.retention
        used = self.cascade.last_use(memory)
        return (RANK.index(decision.reason), -depth, strength, used, memory.created_at, id)

    def outcome(self, memory: StoredMemory) -> Outcome:
        action, reason = self.wanted(memory)
        forced = reason in ("superseded", "likely_duplicate")
        if memory.id in self.stands_for.values() and action == "prune" and not forced:
            action = "fade"
        skipped = self.stopped(memory, action, reason)
        if skipped:
            action = "keep"
        if (
            memory.id in self.flagged
            and action == "keep"
            and skipped != "unscored"
            and RANK.index(reason) > RANK.index("likely_duplicate")
        ):
            reason, skipped = "likely_duplicate", "guarded"
        old = self.shown(memory)
        return Outcome(
            Decision(action, reason, skipped), self.faded(old) if action == "fade" else old
        )

    def wanted(self, memory: StoredMemory) -> tuple[str, str | None]:
        if self.cascade.status[memory.id] == "superseded":
            return "prune", "superseded"
        if memory.id in self.stands_for:
            return "prune", "likely_duplicate"
        scored = self.cascade.scores[memory.id]
        if scored is None:
            return "keep", None
        if self.performs_low(memory):
            tries = memory.success_count + memory.failure_count
            enough = tries >= self.settings.procedural_low_perf_min_outcomes
            return ("prune" if enough else "fade"), "low_performance"
        for action in ("prune", "fade"):
            if scored.strength < getattr(self.settings, f"{memory.memory_type}_{action}_threshold"):
                return action, "time_decay"
        return "keep", None

    def performs_low(self, memory: StoredMemory) -> bool:
        tries = memory.success_count + memory.failure_count
        if memory.memory_type != "procedural" or tries == 0:
            return False
        p = memory.success_count / tries
        spread = Z * math.sqrt(p * (1 - p) / tries + Z * Z / (4 * tries * tries))
        lower = (p + Z * Z / (2 * tries) - spread) / (1 + Z * Z / tries)
        return lower < self.settings.procedural_low_perf_wilson_threshold

    def stopped(self, memory: StoredMemory, action: str, reason: str | None) -> str | None:
        if self.cascade.scores[memory.id] is None:
            return "unscored"
        if action == "keep":
            return None
        kinds = list(self.cascade.protections[memory.id])
        if reason in ("superseded", "likely_duplicate") and "newborn" in kinds:
            kinds.remove("newborn")
        if kinds:
            return kinds[0]
        if action == "fade" or reason == "time_decay":
            last = max(self.cascade.last_use(memory), memory.faded_at or 0)
            wait = self.settings.fade_interval_days * DAY
            if wait > 0 and self.now - last < wait:
                return "fade_interval"
        old = self.shown(memory)
        if action == "fade" and not (old > self.settings.fade_floor and self.faded(old) < old):
            return "at_floor"
        return None

    def shown(self, memory: StoredMemory) -> float:
        return float(memory.importance) * float(memory.fade_factor)

    def faded(self, old: float) -> float:
        return max(self.settings.fade_floor, old * self.settings.fade_factor)
