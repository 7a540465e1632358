"""Active forgetting once more, as plainly as it can be said: one memory after the other.

Slow, and written from the rules. The planner must agree with it on every small store.
"""

import math
from collections.abc import Sequence

from protocol.vector_store import DAY, StoreSettings
from sidecar.plan.lifecycle import LifecycleSettings
from tests.lifecycle_stores import Judged
from tests.plain_cascade import YEAR_2000, PlainCascade


class PlainLifecycle:
    """One store at one instant."""

    def __init__(
        self,
        judged: Sequence[Judged],
        settings: LifecycleSettings,
        store: StoreSettings,
        now: int,
    ) -> None:
        memories = [one.memory for one in judged]
        self.cascade = PlainCascade(memories, store, now, (1.0, 1.0, 0.0))
        self.live = [one for one in judged if one.memory.tier != "forgotten"]
        self.settings, self.now = settings, now

    def plan(self, forgotten: int, archived: int) -> dict[str, str | None]:
        """Every candidate in order, and what keeps it."""
        found = sorted(filter(self.is_candidate, self.live), key=self.key)
        kept = {one.id: self.cascade.protections[one.id] for one in found}
        outcome: dict[str, str | None] = {}
        left = self.allowed(forgotten, archived)
        for one in found:
            if kept[one.id]:
                outcome[one.id] = kept[one.id][0]
            else:
                outcome[one.id] = None if left > 0 else "braked"
                left -= 1
        return outcome

    def allowed(self, forgotten: int, archived: int) -> float:
        whole = len(self.live) + forgotten
        if whole < 100:
            return math.inf
        share = math.floor(self.cascade.settings.brake_share * whole + 1e-6)
        return max(10, share) - forgotten - archived

    def key(self, one: Judged) -> tuple[float, int, int, str]:
        return (one.said.mean, self.stale_since(one), one.memory.created_at, one.id)

    def stale_since(self, one: Judged) -> int:
        return max(one.memory.created_at, one.said.last_useful_at)

    def is_unscored(self, one: Judged) -> bool:
        said = one.said
        if self.cascade.scores[one.id] is None:
            return True
        if math.isnan(said.score) or math.isinf(said.score) or said.uses < 0:
            return True
        return said.last_useful_at != 0 and not (YEAR_2000 <= said.last_useful_at <= self.now + DAY)

    def is_candidate(self, one: Judged) -> bool:
        memory, said, settings = one.memory, one.said, self.settings
        if self.is_unscored(one):
            return False
        if memory.status != "active" or 0 < (memory.expires_at or 0) <= self.now:
            return False
        mean = said.mean
        low = mean <= settings.usefulness_floor
        stale = self.now - self.stale_since(one) > settings.min_age_days * DAY
        popular = said.uses >= settings.protect_use_count and mean > settings.harmful_floor
        return low and stale and not memory.evergreen and not popular
