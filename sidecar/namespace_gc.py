"""Destroying memories of a namespace for good: by an operator's call, or by a written order."""

from collections.abc import Sequence

import structlog

from sidecar.collecting import Collector
from sidecar.gc_choice import Chosen
from sidecar.gc_reports import GcReport, GcRequest, GcVerification
from sidecar.gc_tokens import PlannedDestruction
from sidecar.namespace_events import NamespaceEvents
from sidecar.store.raw_search import Texts

log = structlog.get_logger("forgetd.namespace")


class NamespaceGc(NamespaceEvents):
    """What `Namespace` is made of besides writing and its settings."""

    def build_collector(self) -> None:
        """After the runs are built: what destroys."""
        self.collector = Collector(
            self.name,
            self.store,
            self.clock,
            self.book,
            self.runner,
            (self.sweeper.shelf, self.cycler.shelf, self.archiver.shelf),
            self.fold_touches,
        )

    async def plan_destruction(
        self, *, request: GcRequest | None
    ) -> tuple[Chosen, PlannedDestruction]:
        """What a request is about, or all of the namespace where it is None. Writes nothing.

        Raises MemoryNotFound, RunUnknown, InvalidParams.
        """
        if request is None:
            return await self._in_thread(self.collector.plan_all)
        return await self._in_thread(self.collector.plan, request)

    async def destroy(self, *, plan: PlannedDestruction) -> GcReport:
        """Carry out a plan. Raises RunQueueFull, DiskFull, ReadOnly."""
        return await self.slots.run(("gc", id(plan)), lambda: self.collector.collect(plan))

    async def verify_destroyed(self, *, ids: Sequence[str], texts: Sequence[str]) -> GcVerification:
        """Whether anything is left of these ids and texts, in any table or file."""
        wanted = Texts()
        for text in texts:
            wanted.offer(text.encode())
        return await self._in_thread(self.collector.verify, frozenset(ids), wanted)

    async def obey_standing_order(self, *, older_than_days: float) -> GcReport | None:
        """Destroy what was forgotten so long ago, as the config file orders; None: nothing is.

        Waits while forgetting is switched off, while automatic runs are paused, and while the
        clock cannot be believed.
        """
        held_back = not self.book.values.forget_enabled or bool(self.book.paused)
        if held_back or self.clock.jumped() or self.store.writer.latched is not None:
            return None
        request = GcRequest(older_than_days=older_than_days, standing_order=True)
        chosen, plan = await self.plan_destruction(request=request)
        if not chosen.rows:
            return None
        log.info(
            "standing order", namespace=self.name, memories=len(chosen.rows), days=older_than_days
        )
        return await self.slots.run(
            ("gc", id(plan)), lambda: self.collector.collect(plan, "standing_order")
        )
