"""Estimates of importance in a namespace: taken anew where another estimator took them."""

import time

from sidecar.apply.estimates import refresh_estimates
from sidecar.idempotency import Key
from sidecar.namespace_cycles import NamespaceCycles
from sidecar.reports import EstimateReport


class NamespaceEstimates(NamespaceCycles):
    """What `Namespace` is made of besides sweeps, cycles, lifecycle, reading and writing."""

    async def refresh_estimates(self, *, dry_run: bool) -> EstimateReport:
        """Estimate anew what another estimator judged, or only count it. See estimate.refresh."""
        if dry_run:
            return await self._in_thread(self._refresh_estimates, None, True)
        return await self._in_slot(
            ("estimates",),
            lambda key: self._refresh_estimates(key, False),
            lambda report: report,
        )

    def _refresh_estimates(self, key: Key | None, dry_run: bool) -> EstimateReport:
        started = time.monotonic()
        found = refresh_estimates(self.store, self.estimator, self.clock, dry_run=dry_run)
        report = EstimateReport(
            namespace=self.name,
            dry_run=dry_run,
            estimator_version=self.estimator.version,
            refreshed=found.refreshed,
            raised=found.raised,
            lowered=found.lowered,
            damaged=found.damaged,
            duration_ms=(time.monotonic() - started) * 1000,
        )
        self._keep(key, report)
        return report
