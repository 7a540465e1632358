"""The cascade once more, as plainly as it can be said: one memory after the other, no arrays.

Slow, and written from the specification. The planner must agree with it on every small store.
"""

import math
from dataclasses import dataclass, field

from protocol.vector_store import DAY, StoredMemory, StoreSettings

Z = 1.959963984540054
YEAR_2000 = 946_684_800_000
KINDS = ("pinned", "held", "evergreen", "head", "newborn", "restored", "unscored")


@dataclass
class Scored:
    """One memory's numbers."""

    value: float
    retention: float
    recency: float
    strength: float
    sweep: float


@dataclass
class PlainPlan:
    """What goes where, and what stopped it."""

    spill: list[str] = field(default_factory=list)
    forget: list[str] = field(default_factory=list)
    protected: dict[str, int] = field(default_factory=dict)
    braked: bool = False
    short: bool = False


def score(
    memory: StoredMemory, status: str, now: int, exponents: tuple[float, float, float]
) -> Scored | None:
    """The numbers of one memory as its chain sees its status; None where unscored."""
    importance, fade = float(memory.importance), float(memory.fade_factor)
    counts = (memory.recall_count, memory.success_count, memory.failure_count)
    past = [memory.created_at, *([memory.last_recalled_at] if memory.last_recalled_at else [])]
    if not (0 <= importance <= 1 and 0 <= fade <= 1) or min(counts) < 0:
        return None
    if any(not YEAR_2000 <= time <= now + DAY for time in past):
        return None
    i = 0.0 if status == "superseded" else importance
    days = max(0, now - past[-1]) / DAY
    decay = (0.04 if memory.memory_type == "procedural" else 0.08) * (1 - 0.85 * i)
    retention = fade * math.exp(-decay * days) * min(2, 1 + 0.2 * memory.recall_count)
    tries = memory.success_count + memory.failure_count
    if memory.memory_type == "procedural" and tries:
        p = memory.success_count / tries
        middle = p + Z * Z / (2 * tries)
        spread = Z * math.sqrt(p * (1 - p) / tries + Z * Z / (4 * tries * tries))
        retention *= min(1, 0.5 + (middle + spread) / (1 + Z * Z / tries))
    recency = 1 / (1 + days / 30)
    strength = min(1.0, max(0.01, i * retention))
    alpha, gamma, rho = exponents
    sweep = i**alpha * retention**gamma * recency**rho * (2 if status == "active" else 1)
    return Scored(i, retention, recency, strength, sweep)


class PlainCascade:
    """One store at one instant."""

    def __init__(
        self,
        memories: list[StoredMemory],
        settings: StoreSettings,
        now: int,
        exponents: tuple[float, float, float],
    ) -> None:
        self.by_id = {memory.id: memory for memory in memories}
        self.live = [memory for memory in memories if memory.tier != "forgotten"]
        self.settings, self.now = settings, now
        self.paths = {memory.id: self.path(memory.id) for memory in memories}
        self.status = {m.id: self.believed_status(m) for m in self.live}
        self.scores = {m.id: self.scored(m, exponents) for m in self.live}
        self.older, self.left = self.older_versions()
        self.protections = {m.id: self.protecting(m) for m in self.live}

    def path(self, start: str) -> list[StoredMemory]:
        """The versions newer than a memory, nearest first; none where the path never ends."""
        found: list[StoredMemory] = []
        seen, at = {start}, self.by_id[start].superseded_by
        while at in self.by_id:
            if at in seen:
                return []
            seen.add(at)
            found.append(self.by_id[at])
            at = self.by_id[at].superseded_by
        return found

    def newer(self, memory: StoredMemory) -> list[StoredMemory]:
        return [m for m in self.paths[memory.id] if m.tier != "forgotten"]

    def in_force(self, memory: StoredMemory) -> bool:
        return any(m.status != "invalidated" for m in self.newer(memory))

    def believed_status(self, memory: StoredMemory) -> str:
        alone = memory.status == "superseded" and not self.in_force(memory)
        return "active" if alone else memory.status

    def scored(self, memory: StoredMemory, exponents: tuple[float, float, float]) -> Scored | None:
        marks = (memory.held_until, memory.expires_at)
        if any(mark and mark < YEAR_2000 for mark in marks):
            return None
        return score(memory, self.status[memory.id], self.now, exponents)

    def older_versions(self) -> tuple[set[str], dict[str, int]]:
        """Who has a live older version next to it, and when its last forgotten one left."""
        older: set[str] = set()
        left: dict[str, int] = {}
        for memory in self.by_id.values():
            following = self.newer(memory)
            if not following:
                continue
            if memory.tier != "forgotten":
                older.add(following[0].id)
            else:
                at = memory.forgotten_at or 0
                left[following[0].id] = max(at, left.get(following[0].id, 0))
        return older, left

    def protecting(self, memory: StoredMemory) -> list[str]:
        settings, now = self.settings, self.now
        left = self.left.get(memory.id, 0)
        alone_lately = left > 0 and left >= now - settings.newborn_days * DAY
        restored = memory.restored_at or 0
        holds = (
            memory.pinned,
            (memory.held_until or 0) > now,
            memory.evergreen,
            (memory.id in self.older or alone_lately) and not self.in_force(memory),
            -DAY <= now - memory.created_at < settings.newborn_days * DAY,
            restored > 0 and now - restored < settings.restore_grace_days * DAY,
            self.scores[memory.id] is None,
        )
        return [kind for kind, hold in zip(KINDS, holds, strict=True) if hold]

    def group(self, memory: StoredMemory) -> int:
        status = self.status[memory.id]
        if status == "superseded":
            return 0
        expired = 0 < (memory.expires_at or 0) <= self.now
        return 1 if status != "active" or expired else 2

    def last_use(self, memory: StoredMemory) -> int:
        return memory.last_recalled_at or memory.created_at

    def key(self, memory: StoredMemory, group: int) -> tuple[float | int | str, ...]:
        scored = self.scores[memory.id]
        depth = len(self.newer(memory)) if group == 0 else 0
        sweep = scored.sweep if scored else math.inf
        return (group, -depth, sweep, self.last_use(memory), memory.created_at, memory.id)

    def weak_enough(self, memory: StoredMemory, mode: str) -> bool:
        believed = self.group(memory) == 2
        if believed and not self.settings.forget_active:
            return False
        scored = self.scores[memory.id]
        if mode == "strict":
            return True
        if scored is None or scored.strength >= self.settings.weak_strength:
            return False
        idle = self.now - self.last_use(memory) >= self.settings.idle_days_min * DAY
        return idle or not believed

    def plan(self, mode: str = "normal", forgotten_in_window: int = 0) -> PlainPlan:
        """Both stages."""
        plan = PlainPlan()
        passed: set[str] = set()
        self.spill(plan, passed)
        self.forget(plan, passed, mode, forgotten_in_window)
        plan.spill = [id for id in plan.spill if id not in plan.forget]
        for id in passed:
            kind = self.protections[id][0]
            plan.protected[kind] = plan.protected.get(kind, 0) + 1
        return plan

    def spill(self, plan: PlainPlan, passed: set[str]) -> None:
        hot = [memory for memory in self.live if memory.tier == "hot"]
        limit = self.settings.threshold_count
        if len(hot) <= limit:
            return
        count = len(hot) - watermark(limit, self.settings.low_watermark)
        late = {"newborn", "restored", "unscored"}

        def key(memory: StoredMemory) -> tuple[float | int | str, ...]:
            is_late = late & set(self.protections[memory.id])
            return self.key(memory, 3 if is_late else self.group(memory))

        for memory in sorted(hot, key=key):
            if len(plan.spill) == count:
                break
            if memory.pinned:
                passed.add(memory.id)
            else:
                plan.spill.append(memory.id)

    def forget(self, plan: PlainPlan, passed: set[str], mode: str, in_window: int) -> None:
        settings = self.settings
        total, space = len(self.live), self.live_bytes(plan.spill, [])
        crossed_total = total > settings.threshold_total
        crossed_disk = space > settings.threshold_disk_bytes
        if not crossed_total and not crossed_disk:
            return
        most = math.inf
        if total + in_window >= 100:
            share = math.floor(settings.brake_share * (total + in_window) + 1e-6)
            most = max(0, max(10, share) - in_window)
        down_to = watermark(settings.threshold_total, settings.low_watermark)
        bytes_to = watermark(settings.threshold_disk_bytes, settings.low_watermark)

        def enough() -> bool:
            left = total - len(plan.forget)
            fits = self.live_bytes(plan.spill, plan.forget) <= bytes_to
            return (not crossed_total or left <= down_to) and (not crossed_disk or fits)

        waiting: set[str] = set()
        for memory in sorted(self.live, key=lambda m: self.key(m, self.group(m))):
            if enough():
                break
            if not self.weak_enough(memory, mode):
                continue
            if self.protections[memory.id]:
                waiting.add(memory.id)
            elif len(plan.forget) >= most:
                plan.braked = True
                break
            else:
                plan.forget.append(memory.id)
                passed |= waiting
                waiting = set()
        else:
            plan.short = not enough()
        if plan.short:
            passed |= waiting
        passed |= {m.id for m in self.live if self.scores[m.id] is None}

    def live_bytes(self, spilled: list[str], forgotten: list[str]) -> int:
        left = [memory for memory in self.live if memory.id not in forgotten]
        files = {memory.media_ref: memory.media_bytes for memory in left if memory.media_ref}
        rows = sum(m.cold_bytes if m.id in spilled else m.bytes for m in left)
        return rows + sum(files.values())


def watermark(threshold: int, share: float) -> int:
    """Rounded down, but a store that may hold one keeps one."""
    rounded = math.floor(threshold * share + 1e-6)
    return min(threshold, max(rounded, min(threshold, 1) if share > 0 else 0))
