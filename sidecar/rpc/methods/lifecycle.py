"""lifecycle.*: setting aside what was of no use, and what is known of the memories set aside."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from sidecar.absent import no_archived, no_lifecycle, no_reasons
from sidecar.errors import (
    InvalidParams,
    PermissionDenied,
    PlanExpired,
    PlanNotApplicable,
    PlanUnknown,
    PlanUsed,
)
from sidecar.lifecycle_config import Floor, LifecycleOptions, LifecycleRequest
from sidecar.lifecycle_reports import ArchivedPage, ForgetSummary, ReasonCounts
from sidecar.limits import (
    CANDIDATE_MEMORIES_DEFAULT,
    LIST_LIMIT_DEFAULT,
    LIST_LIMIT_MAX,
    REPORT_DECISIONS_MAX,
)
from sidecar.option_table import Days, PositiveCount
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods, NoParams
from sidecar.rpc.methods.forgetting import RUN_ERRORS, Name
from sidecar.rpc.params import Params, Time

methods: Final = Methods()

_OPTIONS: Final = ("usefulness_floor", "min_age_days", "protect_use_count", "harmful_floor")


class ForgetOptions(Params, kw_only=True):
    """A preview, a plan to apply, or a run of its own. What is null is as the file orders."""

    dry_run: bool = True
    plan_id: Name | None = None
    now: Time | None = None
    usefulness_floor: Floor | None = None
    min_age_days: Days | None = None
    protect_use_count: PositiveCount | None = None
    harmful_floor: Floor | None = None
    candidates_limit: Annotated[int, Meta(ge=0, le=REPORT_DECISIONS_MAX)] = (
        CANDIDATE_MEMORIES_DEFAULT
    )
    force: bool = False


class ListArchivedParams(Params, kw_only=True):
    """Where the page starts and how long it is."""

    limit: Annotated[int, Meta(ge=1, le=LIST_LIMIT_MAX)] = LIST_LIMIT_DEFAULT
    cursor: str | None = None


@methods.add(
    "lifecycle.forget",
    params=ForgetOptions,
    result=ForgetSummary,
    writes=True,
    is_run=True,
    errors=(
        PlanUnknown,
        PlanExpired,
        PlanUsed,
        PlanNotApplicable,
        PermissionDenied,
        *RUN_ERRORS,
    ),
    admin_params=("force",),
)
async def forget(context: Context, params: ForgetOptions) -> ForgetSummary:
    """Archive what was of no use for long; unless `dryRun` is false only the plan of it."""
    _refuse_mixture(params)
    options = _options(context.registry.lifecycle_options(params.namespace), params)
    request = LifecycleRequest(
        options=options,
        now=params.now,
        forced=params.force,
        candidates_limit=params.candidates_limit,
    )
    if params.dry_run:
        namespace = await context.existing(params.namespace)
        if namespace is None:
            now = context.clock.now_ms() if params.now is None else params.now
            return no_lifecycle(params.namespace, options, now=now, plan_id=params.plan_id)
    else:
        namespace = await context.writable(params.namespace)
    return await namespace.forget_useless(
        dry_run=params.dry_run, plan_id=params.plan_id, request=request
    )


@methods.add("lifecycle.invalidationsByReason", params=NoParams, result=ReasonCounts)
async def invalidations_by_reason(context: Context, params: NoParams) -> ReasonCounts:
    """How many memories of every tier are not believed, by reason and by status."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return no_reasons(params.namespace)
    return await namespace.invalidations_by_reason()


@methods.add("lifecycle.listArchived", params=ListArchivedParams, result=ArchivedPage)
async def list_archived(context: Context, params: ListArchivedParams) -> ArchivedPage:
    """The memories that forgetting archived, newest first, from every tier."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return no_archived()
    return await namespace.archived(cursor=params.cursor, limit=params.limit)


def _options(ordered: LifecycleOptions, params: ForgetOptions) -> LifecycleOptions:
    """The options of the file with those of the call over them. Raises InvalidParams."""
    given = {name: getattr(params, name) for name in _OPTIONS if getattr(params, name) is not None}
    options = msgspec.structs.replace(ordered, **given)
    if options.harmful_floor > options.usefulness_floor:
        low, high = options.harmful_floor, options.usefulness_floor
        named = "harmfulFloor" if params.harmful_floor is not None else "usefulnessFloor"
        raise InvalidParams(
            f"harmfulFloor ({low:g}) is above usefulnessFloor ({high:g})",
            field=f"$.{named}",
            bound=f"harmfulFloor at most usefulnessFloor, which are {low:g} and {high:g}",
            remedy="lower harmfulFloor, or raise usefulnessFloor",
        )
    return options


def _refuse_mixture(params: ForgetOptions) -> None:
    """Refuse parameters that contradict each other rather than guess which one counts."""
    if params.now is not None and not params.dry_run:
        raise InvalidParams(
            "$.now is for dry runs",
            field="$.now",
            bound="only with dryRun: true",
            remedy="leave now out, or set dryRun; serve --allow-injected-clock moves all time",
        )
    if params.plan_id is None:
        return
    for name in ("now", *_OPTIONS):
        if getattr(params, name) is not None:
            wire = ForgetOptions.__struct_encode_fields__[
                ForgetOptions.__struct_fields__.index(name)
            ]
            raise InvalidParams(
                f"$.{wire} does not go with $.planId: the plan keeps what it was made with",
                field=f"$.{wire}",
                bound="absent where planId is given",
                remedy="make a new plan with the value you want",
            )
