"""The cycles of a namespace: on call, and by the timer where the config file enables them."""

from functools import partial

from sidecar.cycle_reports import ForgettingReport
from sidecar.cycling import CycleRequest
from sidecar.limits import MILLISECONDS_PER_HOUR
from sidecar.namespace_ledger import NamespaceLedger


class NamespaceCycles(NamespaceLedger):
    """What `Namespace` is made of besides sweeps, reading and writing."""

    async def run_cycle(
        self,
        *,
        dry_run: bool,
        plan_id: str | None,
        now: int | None,
        decisions_limit: int,
        trigger: str = "call",
    ) -> ForgettingReport:
        """Plan a cycle, apply a plan, or do both at once. See forgetting.runCycle."""
        request = CycleRequest(trigger=trigger, now=now, decisions_limit=decisions_limit)
        if dry_run and plan_id is not None:
            return await self._in_thread(self.cycler.show, plan_id, request)
        if dry_run:
            return await self._in_thread(self.cycler.dry_run, request)
        if plan_id is not None:
            return await self._in_slot(
                ("cycle plan", plan_id),
                lambda key: self.cycler.run_plan(plan_id, request, key),
                lambda report: report,
            )
        return await self._in_slot(
            ("cycle", request),
            lambda key: self.cycler.run(request, key),
            lambda report: report,
        )

    async def cycle_if_due(self) -> bool:
        """Run the cycle that the timer is for, where it is enabled, allowed and due."""
        if not self.cycle_due():
            return False
        request = CycleRequest(trigger="automatic")
        await self.slots.run(("cycle", request), partial(self.cycler.run, request))
        return True

    def cycle_due(self) -> bool:
        """Whether the timer should run a cycle now."""
        options, now = self.cycle_options, self.clock.now_ms()
        if not options.enabled or self.store.writer.latched is not None or self.clock.jumped():
            return False
        if not self.book.automatic_allowed(now):
            return False
        last = self.cycler.last_run_at()
        return last is None or now - last >= options.interval_hours * MILLISECONDS_PER_HOUR
