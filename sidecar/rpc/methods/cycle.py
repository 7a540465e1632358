"""forgetting.runCycle."""

from typing import Annotated, Final

from msgspec import Meta

from sidecar.absent import no_cycle
from sidecar.cycle_reports import ForgettingReport
from sidecar.errors import (
    InvalidParams,
    PlanExpired,
    PlanNotApplicable,
    PlanUnknown,
    PlanUsed,
)
from sidecar.limits import CYCLE_DECISIONS_DEFAULT, REPORT_DECISIONS_MAX
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.methods.forgetting import RUN_ERRORS, Name
from sidecar.rpc.params import Params, Time

methods: Final = Methods()


class CycleParams(Params, kw_only=True):
    """A preview, a plan to apply, or a cycle of its own."""

    dry_run: bool = False
    plan_id: Name | None = None
    now: Time | None = None
    decisions_limit: Annotated[int, Meta(ge=0, le=REPORT_DECISIONS_MAX)] = CYCLE_DECISIONS_DEFAULT


@methods.add(
    "forgetting.runCycle",
    params=CycleParams,
    result=ForgettingReport,
    writes=True,
    is_run=True,
    positional=("dryRun",),
    errors=(PlanUnknown, PlanExpired, PlanUsed, PlanNotApplicable, *RUN_ERRORS),
)
async def run_cycle(context: Context, params: CycleParams) -> ForgettingReport:
    """Decide on every memory: keep, fade or prune; with `dryRun` only the plan of it."""
    if params.now is not None and not params.dry_run:
        raise InvalidParams(
            "$.now is for dry runs",
            field="$.now",
            bound="only with dryRun: true",
            remedy="leave now out, or set dryRun; serve --allow-injected-clock moves all time",
        )
    if params.now is not None and params.plan_id is not None:
        raise InvalidParams(
            "$.now does not go with $.planId: the plan keeps what it was made with",
            field="$.now",
            bound="absent where planId is given",
            remedy="make a new plan with the value you want",
        )
    if params.dry_run:
        namespace = await context.existing(params.namespace)
        if namespace is None:
            now = context.clock.now_ms() if params.now is None else params.now
            return no_cycle(params.namespace, now=now, plan_id=params.plan_id)
    else:
        namespace = await context.writable(params.namespace)
    return await namespace.run_cycle(
        dry_run=params.dry_run,
        plan_id=params.plan_id,
        now=params.now,
        decisions_limit=params.decisions_limit,
    )
