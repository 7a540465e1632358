"""memory.export and memory.import: whole memories on their way from one store to another."""

from typing import Annotated, Any, Final

from msgspec import Meta

from sidecar.absent import no_export
from sidecar.errors import (
    Corrupt,
    DiskFull,
    MemoryDestroyed,
    MemoryExists,
    ReadOnly,
    SupersessionConflict,
)
from sidecar.limits import (
    EXPORT_LIMIT_DEFAULT,
    EXPORT_LIMIT_MAX,
    PUT_MANY_MEMORIES_MAX,
    REASON_BYTES_MAX,
)
from sidecar.model import TIERS, ImportFormat, Tier
from sidecar.reports import ExportPage, ImportReport
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.params import Params
from sidecar.rpc.ports import IfExists

methods: Final = Methods()


class ExportParams(Params, kw_only=True):
    """The tiers to give away (all where none is named), and where the page starts."""

    tiers: Annotated[list[Tier], Meta(min_length=1, max_length=len(TIERS))] | None = None
    cursor: str | None = None
    limit: Annotated[int, Meta(ge=1, le=EXPORT_LIMIT_MAX)] = EXPORT_LIMIT_DEFAULT


class ImportParams(Params, kw_only=True):
    """Records of another system, or with format `forgetd` the lines of an export.

    `source` names it in the events.
    """

    memories: Annotated[list[dict[str, Any]], Meta(max_length=PUT_MANY_MEMORIES_MAX)]
    format: ImportFormat = "foreign"
    if_exists: IfExists = "skip"
    source: Annotated[str, Meta(min_length=1, max_length=REASON_BYTES_MAX)] | None = None
    skip_bad: bool = False
    revive: bool = False


@methods.add("memory.export", params=ExportParams, result=ExportPage, errors=(Corrupt,))
async def export(context: Context, params: ExportParams) -> ExportPage:
    """A page of whole memories, with all that makes up their state; reading is not using."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return no_export()
    return await namespace.export(
        tiers=params.tiers or TIERS, cursor=params.cursor, limit=params.limit
    )


@methods.add(
    "memory.import",
    params=ImportParams,
    result=ImportReport,
    writes=True,
    errors=(MemoryExists, MemoryDestroyed, SupersessionConflict, ReadOnly, DiskFull),
)
async def import_many(context: Context, params: ImportParams) -> ImportReport:
    """Take over memories of another system, or take back those of an export exactly."""
    namespace = await context.writable(params.namespace)
    return await namespace.import_many(
        memories=params.memories,
        if_exists=params.if_exists,
        skip_bad=params.skip_bad,
        source=params.source,
        format=params.format,
        revive=params.revive,
    )
