"""gc.*: destroying memories for good. Served on the admin socket."""

from typing import Annotated, Final

from msgspec import Meta

from sidecar.errors import (
    Corrupt,
    DiskFull,
    GcBusy,
    GcChanged,
    GcTokenExpired,
    GcTokenUnknown,
    GcTokenUsed,
    GcWrongNamespace,
    InvalidParams,
    MemoryNotFound,
    NamespaceNotFound,
    ReadOnly,
    RunQueueFull,
    RunUnknown,
)
from sidecar.gc_reports import GcPlanReport, GcReport, GcRequest, GcVerification
from sidecar.limits import (
    GC_DAYS_MAX,
    GC_IDS_MAX,
    GC_OLDER_THAN_DAYS_DEFAULT,
    GC_TOKEN_LIFETIME_MS,
    VERIFY_TEXTS_COUNT_MAX,
)
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.params import Id, Params

methods: Final = Methods()

TokenText = Annotated[str, Meta(min_length=1, max_length=256)]


class GcPlanParams(Params, kw_only=True):
    """What to destroy: by age, and by ids or by run; or with `all` the namespace itself."""

    older_than_days: Annotated[float, Meta(ge=0, le=GC_DAYS_MAX)] = GC_OLDER_THAN_DAYS_DEFAULT
    ids: Annotated[list[Id], Meta(min_length=1, max_length=GC_IDS_MAX)] | None = None
    run_id: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    replaced_by: Id | dict[str, Id] | None = None
    all: bool = False


class GcExecuteParams(Params, kw_only=True):
    """The token of the plan."""

    token: TokenText


class GcVerifyParams(Params, kw_only=True):
    """What nothing should be left of."""

    ids: Annotated[list[Id], Meta(max_length=GC_IDS_MAX)] | None = None
    texts: Annotated[list[str], Meta(max_length=VERIFY_TEXTS_COUNT_MAX)] | None = None


@methods.add(
    "gc.plan",
    params=GcPlanParams,
    result=GcPlanReport,
    errors=(NamespaceNotFound, MemoryNotFound, RunUnknown, Corrupt),
    admin=True,
)
async def plan(context: Context, params: GcPlanParams) -> GcPlanReport:
    """Show what would be destroyed for good, and give a token for doing exactly that."""
    _refuse_mixture(params)
    namespace = await context.registry.open(params.namespace, create=False)
    request = None if params.all else _request(params)
    chosen, planned = await namespace.plan_destruction(request=request)
    doable = not chosen.refused if planned.whole else bool(chosen.rows)
    token = context.tokens.add(planned) if doable else None
    expires_at = planned.made_at + GC_TOKEN_LIFETIME_MS if doable else None
    return chosen.report(planned, params.older_than_days, token, expires_at)


@methods.add(
    "gc.execute",
    params=GcExecuteParams,
    result=GcReport,
    writes=True,
    errors=(
        GcTokenUnknown,
        GcTokenExpired,
        GcTokenUsed,
        GcWrongNamespace,
        GcChanged,
        GcBusy,
        NamespaceNotFound,
        RunQueueFull,
        ReadOnly,
        DiskFull,
    ),
    is_run=True,
    admin=True,
)
async def execute(context: Context, params: GcExecuteParams) -> GcReport:
    """Destroy what a plan lists, where it is still as it was planned; no way leads back."""
    planned = context.tokens.take(params.token, params.namespace, context.clock.now_ms())
    try:
        if planned.whole:
            return await context.registry.delete(params.namespace, planned)
        namespace = await context.registry.open(params.namespace, create=False)
        return await namespace.destroy(plan=planned)
    except (RunQueueFull, GcBusy):
        context.tokens.give_back(planned)
        raise


@methods.add(
    "gc.verify",
    params=GcVerifyParams,
    result=GcVerification,
    errors=(NamespaceNotFound, Corrupt),
    is_run=True,
    admin=True,
)
async def verify(context: Context, params: GcVerifyParams) -> GcVerification:
    """Look in every table, and in the bytes of every file, whether anything is left."""
    if not params.ids and not params.texts:
        raise InvalidParams(
            "Nothing to look for",
            field="$.ids",
            bound="at least one of ids and texts",
            remedy="name what was destroyed",
        )
    namespace = await context.registry.open(params.namespace, create=False)
    return await namespace.verify_destroyed(ids=params.ids or (), texts=params.texts or ())


def _request(params: GcPlanParams) -> GcRequest:
    return GcRequest(
        older_than_days=params.older_than_days,
        ids=None if params.ids is None else tuple(dict.fromkeys(params.ids)),
        run_id=params.run_id,
        replaced_by=params.replaced_by,
    )


def _refuse_mixture(params: GcPlanParams) -> None:
    """Refuse parameters that contradict each other rather than guess which one counts."""
    chosen = [
        name
        for name, given in (
            ("ids", params.ids is not None),
            ("runId", params.run_id is not None),
            ("all", params.all),
        )
        if given
    ]
    if len(chosen) > 1:
        raise InvalidParams(
            f"$.{chosen[0]} and $.{chosen[1]} do not go together",
            field=f"$.{chosen[1]}",
            bound="at most one of ids, runId and all",
            remedy="plan them one after the other",
        )
    if params.replaced_by is not None and params.ids is None:
        raise InvalidParams(
            "$.replacedBy needs $.ids",
            field="$.replacedBy",
            bound="only with ids",
            remedy="name the memories that were replaced",
        )
