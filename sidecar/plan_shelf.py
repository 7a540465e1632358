"""Plans that wait to be applied: in RAM, few, for a quarter of an hour, each for one use."""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from ulid import ULID

from sidecar.errors import PlanExpired, PlanNotApplicable, PlanUnknown, PlanUsed
from sidecar.limits import MILLISECONDS_PER_MINUTE, PLAN_LIFETIME_MS, PLANS_KEPT_MAX
from sidecar.plan.plan import CascadeSettings, Int64, Policy


class Bound(Protocol):
    """A plan, which is bound to the version of its policy."""

    @property
    def policy(self) -> Policy:
        """What the plan was made by."""
        ...

    @property
    def rid(self) -> Int64:
        """The rows that the plan is about."""
        ...


P = TypeVar("P", bound=Bound)


@dataclass(slots=True)
class ShelvedPlan(Generic[P]):
    """A plan with the settings it was made under. `applicable` is false for a foreign `now`."""

    plan_id: str
    plan: P
    settings: CascadeSettings
    made_at: int
    applicable: bool
    used: bool = False


class PlanShelf(Generic[P]):
    """The plans of one kind of one namespace, by id."""

    def __init__(self, call: str) -> None:
        """`call` is what makes a new plan, for remedies."""
        self._again = f"make a new plan with {call}"
        self._plans: OrderedDict[str, ShelvedPlan[P]] = OrderedDict()

    def __contains__(self, plan_id: str) -> bool:
        return plan_id in self._plans

    def add(
        self, plan: P, settings: CascadeSettings, made_at: int, *, applicable: bool
    ) -> ShelvedPlan[P]:
        """Keep a plan; the oldest one makes room."""
        shelved = ShelvedPlan(f"plan-{ULID()}", plan, settings, made_at, applicable)
        self._plans[shelved.plan_id] = shelved
        while len(self._plans) > PLANS_KEPT_MAX:
            self._plans.popitem(last=False)
        return shelved

    def drop_naming(self, rids: Collection[int]) -> None:
        """Forget every plan about one of these rows: they are gone for good."""
        gone = np.fromiter(rids, np.int64, len(rids))
        for plan_id, shelved in list(self._plans.items()):
            if np.isin(shelved.plan.rid, gone).any():
                del self._plans[plan_id]

    def find(self, plan_id: str, now: int) -> ShelvedPlan[P]:
        """A plan to read. Raises PlanUnknown, PlanExpired."""
        shelved = self._plans.get(plan_id)
        if shelved is None:
            raise PlanUnknown(
                field="$.planId", bound=f"the last {PLANS_KEPT_MAX} plans", remedy=self._again
            )
        if now - shelved.made_at > PLAN_LIFETIME_MS:
            minutes = PLAN_LIFETIME_MS // MILLISECONDS_PER_MINUTE
            raise PlanExpired(
                field="$.planId", bound=f"at most {minutes} minutes", remedy=self._again
            )
        return shelved

    def take(self, plan_id: str, now: int, policy_version: str) -> ShelvedPlan[P]:
        """A plan to apply; it can be taken once. Raises PlanUsed and PlanNotApplicable too."""
        shelved = self.find(plan_id, now)
        if shelved.used:
            raise PlanUsed(field="$.planId", bound="one use", remedy=self._again)
        if not shelved.applicable:
            raise PlanNotApplicable(
                field="$.planId",
                bound="a plan made without `now`",
                remedy="plan again without `now`",
            )
        if shelved.plan.policy.version != policy_version:
            raise PlanNotApplicable(
                "The policy has changed since the plan was made",
                field="$.planId",
                bound=f"policy version {policy_version}",
                remedy=self._again,
            )
        shelved.used = True
        return shelved
