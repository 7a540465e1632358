"""runs.*: the ledger of sweeps, spills, restores and undos."""

from typing import Annotated, Final

from msgspec import Meta

from sidecar.errors import (
    DiskFull,
    InvalidParams,
    PlanUnknown,
    ReadOnly,
    RunNotUndoable,
    RunQueueFull,
    RunUnknown,
)
from sidecar.limits import LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, REPORT_DECISIONS_MAX
from sidecar.reports import DecisionPage, RestoreReport, RunDetail, RunPage
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.params import Params

methods: Final = Methods()

RUNS_LIMIT_DEFAULT: Final = 20
LOOK_AT_RUNS: Final = "look at the runs by runs.list"

Name = Annotated[str, Meta(min_length=1, max_length=256)]


class ListRunsParams(Params, kw_only=True):
    """Where the page starts and how long it is."""

    limit: Annotated[int, Meta(ge=1, le=LIST_LIMIT_MAX)] = RUNS_LIMIT_DEFAULT
    cursor: str | None = None


class RunParams(Params, kw_only=True):
    """The run."""

    run_id: Name


class DecisionsParams(Params, kw_only=True):
    """Exactly one of runId and planId, and where the page starts."""

    run_id: Name | None = None
    plan_id: Name | None = None
    cursor: str | None = None
    limit: Annotated[int, Meta(ge=1, le=REPORT_DECISIONS_MAX)] = LIST_LIMIT_DEFAULT


@methods.add(
    "runs.list",
    params=ListRunsParams,
    result=RunPage,
)
async def list_(context: Context, params: ListRunsParams) -> RunPage:
    """The runs of a namespace, newest first."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return RunPage(runs=[], cursor=None)
    return await namespace.runs(limit=params.limit, cursor=params.cursor)


@methods.add(
    "runs.get",
    params=RunParams,
    result=RunDetail,
    errors=(RunUnknown,),
)
async def get(context: Context, params: RunParams) -> RunDetail:
    """One run with the report it ended with."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        raise RunUnknown(field="$.runId", remedy=LOOK_AT_RUNS)
    return await namespace.run(run_id=params.run_id)


@methods.add(
    "runs.decisions",
    params=DecisionsParams,
    result=DecisionPage,
    errors=(RunUnknown, PlanUnknown),
)
async def decisions(context: Context, params: DecisionsParams) -> DecisionPage:
    """The decisions of a run or of a plan, a page at a time."""
    if (params.run_id is None) == (params.plan_id is None):
        raise InvalidParams(
            "Decisions are those of $.runId or of $.planId",
            field="$",
            bound="exactly one of runId, planId",
            remedy="name the run, or the plan of a dry run",
        )
    namespace = await context.existing(params.namespace)
    if namespace is None and params.plan_id is not None:
        raise PlanUnknown(field="$.planId", remedy="plan again with dryRun: true")
    if namespace is None:
        raise RunUnknown(field="$.runId", remedy=LOOK_AT_RUNS)
    return await namespace.decisions(
        run_id=params.run_id, plan_id=params.plan_id, cursor=params.cursor, limit=params.limit
    )


@methods.add(
    "runs.undo",
    params=RunParams,
    result=RestoreReport,
    writes=True,
    is_run=True,
    errors=(RunUnknown, RunNotUndoable, RunQueueFull, ReadOnly, DiskFull),
)
async def undo(context: Context, params: RunParams) -> RestoreReport:
    """Bring everything a run moved back to where it was; automatic runs then pause."""
    namespace = await context.writable(params.namespace)
    return await namespace.undo(run_id=params.run_id)
