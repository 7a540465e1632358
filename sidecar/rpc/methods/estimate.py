"""estimate.*: the importance that is estimated from the text."""

from typing import Final

from sidecar.absent import no_estimates
from sidecar.reports import EstimateReport
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.methods.forgetting import RUN_ERRORS
from sidecar.rpc.params import Params

methods: Final = Methods()


class RefreshParams(Params, kw_only=True):
    """Whether to look or to do it."""

    dry_run: bool = True


@methods.add(
    "estimate.refresh",
    params=RefreshParams,
    result=EstimateReport,
    writes=True,
    is_run=True,
    errors=RUN_ERRORS,
)
async def refresh(context: Context, params: RefreshParams) -> EstimateReport:
    """Estimate anew what another estimator judged; unless `dryRun` is false only count it."""
    if params.dry_run:
        namespace = await context.existing(params.namespace)
        if namespace is None:
            return no_estimates(params.namespace)
    else:
        namespace = await context.writable(params.namespace)
    return await namespace.refresh_estimates(dry_run=params.dry_run)
