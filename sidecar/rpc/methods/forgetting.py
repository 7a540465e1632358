"""forgetSweep, coldSpill, thresholds.*, memory.forget and memory.restore."""

from typing import Annotated, Any, Final

from msgspec import Meta

from sidecar.absent import no_sweep, no_thresholds
from sidecar.errors import (
    DiskFull,
    ForgettingDisabled,
    InvalidParams,
    PlanExpired,
    PlanNotApplicable,
    PlanUnknown,
    PlanUsed,
    PolicyUnknown,
    ReadOnly,
    RunQueueFull,
    RunUnknown,
)
from sidecar.limits import (
    INTEGER_MAX,
    REASON_BYTES_MAX,
    REPORT_DECISIONS_DEFAULT,
    REPORT_DECISIONS_MAX,
    RESTORE_IDS_MAX,
)
from sidecar.reports import ForgetReport, RestoreReport, SweepReport, ThresholdsReport
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods, NoParams
from sidecar.rpc.params import Id, Params, Time
from sidecar.rpc.ports import Mode
from sidecar.thresholds import PositiveShare, parse_thresholds

methods: Final = Methods()

RUN_ERRORS: Final = (ForgettingDisabled, RunQueueFull, ReadOnly, DiskFull)

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Reason = Annotated[str, Meta(min_length=1, max_length=REASON_BYTES_MAX)]
ManyIds = Annotated[list[Id], Meta(max_length=RESTORE_IDS_MAX)]


class SweepParams(Params, kw_only=True):
    """A preview, a plan to apply, or a sweep of its own."""

    dry_run: bool = False
    plan_id: Name | None = None
    mode: Mode = "normal"
    policy: Name | None = None
    brake_share: PositiveShare | None = None
    now: Time | None = None
    decisions_limit: Annotated[int, Meta(ge=0, le=REPORT_DECISIONS_MAX)] = REPORT_DECISIONS_DEFAULT


class SpillParams(Params, kw_only=True):
    """How many hot memories to leave; absent: the low watermark."""

    dry_run: bool = False
    target: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | None = None


class SetThresholdsParams(Params, kw_only=True):
    """Settings by name; null takes one back."""

    thresholds: dict[str, Any]


class ForgetParams(Params, kw_only=True):
    """The memories to forget, and why."""

    ids: ManyIds
    reason: Reason = "called"


class RestoreParams(Params, kw_only=True):
    """Exactly one of ids, runId and reason."""

    ids: ManyIds | None = None
    run_id: Name | None = None
    reason: Reason | None = None


@methods.add(
    "forgetSweep",
    params=SweepParams,
    result=SweepReport,
    writes=True,
    is_run=True,
    positional=("dryRun",),
    errors=(
        *(PlanUnknown, PlanExpired, PlanUsed, PlanNotApplicable, PolicyUnknown),
        *RUN_ERRORS,
    ),
)
async def forget_sweep(context: Context, params: SweepParams) -> SweepReport:
    """Spill, then forget, down to the low watermarks; with `dryRun` only the plan of it."""
    if params.now is not None and not params.dry_run:
        raise InvalidParams(
            "$.now is for dry runs",
            field="$.now",
            bound="only with dryRun: true",
            remedy="leave now out, or set dryRun; serve --allow-injected-clock moves all time",
        )
    if params.dry_run:
        namespace = await context.existing(params.namespace)
        if namespace is None:
            now = context.clock.now_ms() if params.now is None else params.now
            return no_sweep(
                params.namespace, now=now, plan_id=params.plan_id, policy_name=params.policy
            )
    else:
        namespace = await context.writable(params.namespace)
    return await namespace.sweep(
        dry_run=params.dry_run,
        plan_id=params.plan_id,
        mode=params.mode,
        policy=params.policy,
        brake_share=params.brake_share,
        now=params.now,
        decisions_limit=params.decisions_limit,
    )


@methods.add(
    "coldSpill",
    params=SpillParams,
    result=SweepReport,
    writes=True,
    is_run=True,
    errors=RUN_ERRORS,
)
async def cold_spill(context: Context, params: SpillParams) -> SweepReport:
    """Spill hot memories to cold, down to `target` or the low watermark; forget none."""
    if params.dry_run:
        namespace = await context.existing(params.namespace)
        if namespace is None:
            return no_sweep(params.namespace, now=context.clock.now_ms())
    else:
        namespace = await context.writable(params.namespace)
    return await namespace.cold_spill(dry_run=params.dry_run, target=params.target)


@methods.add(
    "memory.forget",
    params=ForgetParams,
    result=ForgetReport,
    writes=True,
    is_run=True,
    errors=(RunQueueFull, ReadOnly, DiskFull),
)
async def forget(context: Context, params: ForgetParams) -> ForgetReport:
    """Move memories to forgotten on the host's word; `memory.restore` brings them back."""
    namespace = await context.writable(params.namespace)
    return await namespace.forget(ids=params.ids, reason=params.reason)


@methods.add(
    "memory.restore",
    params=RestoreParams,
    result=RestoreReport,
    writes=True,
    is_run=True,
    errors=(RunUnknown, RunQueueFull, ReadOnly, DiskFull),
)
async def restore(context: Context, params: RestoreParams) -> RestoreReport:
    """Bring forgotten memories back: by ids to hot, by run or reason to where they were."""
    given = [params.ids is not None, params.run_id is not None, params.reason is not None]
    if sum(given) != 1:
        raise InvalidParams(
            "A restore is by $.ids, by $.runId or by $.reason",
            field="$",
            bound="exactly one of ids, runId, reason",
            remedy="name one; runs.list shows the runs",
        )
    namespace = await context.writable(params.namespace)
    return await namespace.restore(ids=params.ids, run_id=params.run_id, reason=params.reason)


@methods.add(
    "thresholds.get",
    params=NoParams,
    result=ThresholdsReport,
)
async def get_thresholds(context: Context, params: NoParams) -> ThresholdsReport:
    """The settings in force with their origin, what is crossed, what is paused."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return no_thresholds(params.namespace)
    return await namespace.thresholds_report()


@methods.add(
    "thresholds.set",
    params=SetThresholdsParams,
    result=ThresholdsReport,
    writes=True,
    errors=(ReadOnly, DiskFull),
)
async def set_thresholds(context: Context, params: SetThresholdsParams) -> ThresholdsReport:
    """Change settings of a namespace; null gives a setting its default back."""
    values = parse_thresholds(params.thresholds)
    namespace = await context.writable(params.namespace)
    return await namespace.set_thresholds(values)


@methods.add(
    "thresholds.resume",
    params=NoParams,
    result=ThresholdsReport,
    writes=True,
    errors=(ReadOnly, DiskFull),
)
async def resume(context: Context, params: NoParams) -> ThresholdsReport:
    """Let automatic runs go on after a brake, an undo or a jump of the clock."""
    namespace = await context.writable(params.namespace)
    return await namespace.resume()
