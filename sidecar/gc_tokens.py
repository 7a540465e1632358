"""Plans of destruction that wait for their one use: in memory, for a quarter of an hour."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sidecar.errors import GcTokenExpired, GcTokenUnknown, GcTokenUsed, GcWrongNamespace
from sidecar.gc_reports import DestroyReason
from sidecar.limits import GC_PLANS_KEPT_MAX, GC_TOKEN_LIFETIME_MS, MILLISECONDS_PER_MINUTE

if TYPE_CHECKING:  # the daemon imports this before it has told SQLite where to work
    from sidecar.apply.destroy import Doomed

TOKEN_BYTES = 24
AGAIN = "plan again with gc.plan, and look at what it says"


@dataclass(slots=True)
class PlannedDestruction:
    """Exactly which memories, as they were when this was planned (`made_at`, in ms).

    `whole`: the namespace itself goes; `state` tells whether it has changed since.
    """

    namespace: str
    doomed: "Doomed"
    reason: DestroyReason
    made_at: int
    whole: bool = False
    state: tuple[int, ...] = ()
    used: bool = False


class GcTokens:
    """The plans of a daemon, by token. Lives on the event loop."""

    def __init__(self) -> None:
        self._plans: OrderedDict[str, PlannedDestruction] = OrderedDict()

    def add(self, plan: PlannedDestruction) -> str:
        """Keep a plan and answer its token; the oldest plan makes room."""
        token = f"gc-{secrets.token_urlsafe(TOKEN_BYTES)}"
        self._plans[token] = plan
        while len(self._plans) > GC_PLANS_KEPT_MAX:
            self._plans.popitem(last=False)
        return token

    def take(self, token: str, namespace: str, now: int) -> PlannedDestruction:
        """The plan of a token, which is used up by this.

        Raises GcTokenUnknown, GcWrongNamespace, GcTokenUsed, GcTokenExpired; a token that is
        refused stays what it was.
        """
        plan = self._plans.get(token)
        if plan is None:
            raise GcTokenUnknown(
                field="$.token", bound=f"one of the last {GC_PLANS_KEPT_MAX} plans", remedy=AGAIN
            )
        if plan.namespace != namespace:
            raise GcWrongNamespace(
                field="$.namespace",
                bound="the namespace that the plan was made for",
                remedy="name the namespace that you planned for, or plan for this one",
            )
        if plan.used:
            raise GcTokenUsed(field="$.token", bound="one use", remedy=AGAIN)
        if not 0 <= now - plan.made_at <= GC_TOKEN_LIFETIME_MS:
            minutes = GC_TOKEN_LIFETIME_MS // MILLISECONDS_PER_MINUTE
            raise GcTokenExpired(field="$.token", bound=f"at most {minutes} minutes", remedy=AGAIN)
        plan.used = True
        return plan

    def give_back(self, plan: PlannedDestruction) -> None:
        """Let a plan be used after all: nothing was begun."""
        plan.used = False
