"""memory.*: what a host reads and writes of its memories."""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta

from sidecar.errors import (
    Corrupt,
    DiskFull,
    InvalidParams,
    MemoryDestroyed,
    MemoryExists,
    MemoryNotFound,
    PolicyUnknown,
    ReadOnly,
    RevisionConflict,
    SupersessionConflict,
)
from sidecar.explain_reports import Explanation
from sidecar.limits import (
    EMBEDDING_MODEL_BYTES_MAX,
    GET_MANY_IDS_MAX,
    INTEGER_MAX,
    LIST_LIMIT_DEFAULT,
    LIST_LIMIT_MAX,
    PUT_MANY_MEMORIES_MAX,
    RECALL_QUERY_BYTES_MAX,
    RECALL_TOP_DEFAULT,
    RECALL_TOP_MAX,
)
from sidecar.model import Embedding, Memory, MemoryInput, MemoryType, Status, Tier
from sidecar.reports import (
    MemoryList,
    PutManyReport,
    RecallReport,
    TouchReport,
)
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.methods.put_many import MEMORIES_PATH, convert_partially
from sidecar.rpc.params import Id, Params, Time, convert_many
from sidecar.rpc.ports import Depth, IfExists, Touch

methods: Final = Methods()

WRITE_ERRORS: Final = (ReadOnly, DiskFull)

# The members are checked one by one, so that a partial call can name the bad ones.
MemoryObject = Annotated[
    dict[str, Any], Meta(extra_json_schema={"$ref": "#/components/schemas/MemoryInput"})
]
Ids = Annotated[list[Id], Meta(max_length=GET_MANY_IDS_MAX)]
Share = Annotated[float, Meta(ge=0, le=1)]


class PutParams(MemoryInput, kw_only=True):
    """The memory's fields, its namespace, and what to do when its id exists."""

    namespace: str = "default"
    if_exists: IfExists = "error"
    revive: bool = False


class PutManyParams(Params, kw_only=True):
    """The memories to store, and what to do with the ids that exist."""

    memories: Annotated[list[MemoryObject], Meta(max_length=PUT_MANY_MEMORIES_MAX)]
    if_exists: IfExists = "error"
    partial: bool = False
    revive: bool = False


class GetParams(Params, kw_only=True):
    """The id to read."""

    id: Id
    include_embedding: bool = False


class GetManyParams(Params, kw_only=True):
    """The ids to read."""

    ids: Ids
    include_embedding: bool = False


class ListMemoriesParams(Params, kw_only=True):
    """What to list, and where the page starts."""

    tier: Tier | None = None
    status: Status | None = None
    memory_type: MemoryType | None = None
    cursor: str | None = None
    limit: Annotated[int, Meta(ge=1, le=LIST_LIMIT_MAX)] = LIST_LIMIT_DEFAULT


class UpdateParams(Params, kw_only=True):
    """The fields to change. `ifRevision`: only if the memory still has it."""

    id: Id
    patch: MemoryInput
    if_revision: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | None = None


class RecallParams(Params, kw_only=True):
    """What to look for, where, how much of it, and which results count as used."""

    query: Annotated[str, Meta(max_length=RECALL_QUERY_BYTES_MAX)] | None = None
    embedding: Embedding | None = None
    embedding_model: (
        Annotated[str, Meta(min_length=1, max_length=EMBEDDING_MODEL_BYTES_MAX)] | None
    ) = None
    top_k: Annotated[int, Meta(ge=1, le=RECALL_TOP_MAX)] = RECALL_TOP_DEFAULT
    depth: Depth = "auto"
    memory_types: list[MemoryType] | None = None
    include_archived: bool = False
    min_strength: Share | None = None
    touch: Touch = "top"


class TouchParams(Params, kw_only=True):
    """The ids that were used."""

    ids: Ids


class SupersedeParams(Params, kw_only=True):
    """The memory that is outdated, and the one that takes its place."""

    id: Id
    by: Id


class PinParams(Params, kw_only=True):
    """The memory, and whether it is pinned from now on."""

    id: Id
    pinned: bool = True


class HoldParams(Params, kw_only=True):
    """The memory, and until when it is held; null ends the hold."""

    id: Id
    until: Time | None


class ExplainParams(Params, kw_only=True):
    """The memory, and one policy, the cycle or active forgetting, instead of all."""

    id: Id
    policy: str | None = None


@methods.add(
    "memory.put",
    params=PutParams,
    result=Memory,
    writes=True,
    errors=(MemoryExists, MemoryDestroyed, SupersessionConflict, *WRITE_ERRORS),
)
async def put(context: Context, params: PutParams) -> Memory:
    """Store one memory."""
    memory = MemoryInput(**{name: getattr(params, name) for name in MemoryInput.__struct_fields__})
    namespace = await context.writable_with(params.namespace, [memory], lambda _: "$")
    return await namespace.put(memory=memory, if_exists=params.if_exists, revive=params.revive)


@methods.add(
    "memory.putMany",
    params=PutManyParams,
    result=PutManyReport,
    writes=True,
    errors=(MemoryExists, MemoryDestroyed, SupersessionConflict, *WRITE_ERRORS),
)
async def put_many(context: Context, params: PutManyParams) -> PutManyReport:
    """Store many memories at once: all or none of them, or with `partial` the good ones."""
    if params.partial:
        namespace = await context.writable(params.namespace)
        members = convert_partially(params.memories)
        return await namespace.put_many(
            memories=members, if_exists=params.if_exists, partial=True, revive=params.revive
        )
    memories = convert_many(params.memories, MemoryInput, MEMORIES_PATH)
    namespace = await context.writable_with(
        params.namespace, memories, lambda position: f"{MEMORIES_PATH}[{position}]"
    )
    return await namespace.put_many(
        memories=memories, if_exists=params.if_exists, partial=False, revive=params.revive
    )


@methods.add(
    "memory.get",
    params=GetParams,
    result=Memory | None,
    errors=(Corrupt,),
)
async def get(context: Context, params: GetParams) -> Memory | None:
    """One memory, or null where it is unknown or forgotten. Reading is not using."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return None
    return await namespace.get(id=params.id, include_embedding=params.include_embedding)


@methods.add(
    "memory.getMany",
    params=GetManyParams,
    result=list[Memory | None],
    errors=(Corrupt,),
)
async def get_many(context: Context, params: GetManyParams) -> list[Memory | None]:
    """Many memories in the order of their ids, null where `memory.get` would say null."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return [None] * len(params.ids)
    return await namespace.get_many(ids=params.ids, include_embedding=params.include_embedding)


@methods.add(
    "memory.list",
    params=ListMemoriesParams,
    result=MemoryList,
    errors=(Corrupt,),
)
async def list_(context: Context, params: ListMemoriesParams) -> MemoryList:
    """A page of memories; tier `forgotten` lists what may be restored."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return MemoryList(memories=[], cursor=None)
    return await namespace.list(
        tier=params.tier,
        status=params.status,
        memory_type=params.memory_type,
        cursor=params.cursor,
        limit=params.limit,
    )


@methods.add(
    "memory.update",
    params=UpdateParams,
    result=Memory,
    writes=True,
    errors=(MemoryNotFound, RevisionConflict, SupersessionConflict, *WRITE_ERRORS),
)
async def update(context: Context, params: UpdateParams) -> Memory:
    """Change the fields named in `patch`, only at revision `ifRevision` where given."""
    if params.patch.id is not UNSET:
        raise InvalidParams(
            "$.patch.id cannot be changed",
            field="$.patch.id",
            bound="a patch without id",
            remedy="put a new memory and supersede this one by it",
        )
    namespace = await context.with_memory(params.namespace)
    return await namespace.update(id=params.id, patch=params.patch, if_revision=params.if_revision)


@methods.add(
    "memory.recall",
    params=RecallParams,
    result=RecallReport,
    errors=(Corrupt,),
)
async def recall(context: Context, params: RecallParams) -> RecallReport:
    """Find memories by text, by vector, or by both; the first ones count as used."""
    if params.query is None and params.embedding is None:
        raise InvalidParams(
            "A recall needs $.query or $.embedding",
            field="$.query",
            bound="query, embedding, or both",
            remedy="say what is looked for, or read all by memory.list",
        )
    namespace = await context.existing(params.namespace)
    if namespace is None:
        depth = "deep" if params.depth == "deep" else "hot"
        return RecallReport(results=[], depth=depth, cold_scanned=0)
    return await namespace.recall(
        query=params.query,
        embedding=params.embedding,
        embedding_model=params.embedding_model,
        top_k=params.top_k,
        depth=params.depth,
        memory_types=params.memory_types,
        include_archived=params.include_archived,
        min_strength=params.min_strength,
        touch=params.touch,
    )


@methods.add(
    "memory.touch",
    params=TouchParams,
    result=TouchReport,
    writes=True,
    errors=WRITE_ERRORS,
)
async def touch(context: Context, params: TouchParams) -> TouchReport:
    """Say that memories were used just now: durable, unlike the touches of a recall."""
    namespace = await context.writable(params.namespace)
    return await namespace.touch(ids=params.ids)


@methods.add(
    "memory.supersede",
    params=SupersedeParams,
    result=Memory,
    writes=True,
    errors=(MemoryNotFound, SupersessionConflict, *WRITE_ERRORS),
)
async def supersede(context: Context, params: SupersedeParams) -> Memory:
    """Say that memory `by` took the place of memory `id`."""
    namespace = await context.with_memory(params.namespace)
    return await namespace.supersede(id=params.id, by=params.by)


@methods.add(
    "memory.pin",
    params=PinParams,
    result=Memory,
    writes=True,
    errors=(MemoryNotFound, *WRITE_ERRORS),
)
async def pin(context: Context, params: PinParams) -> Memory:
    """Protect a memory from forgetting and spilling, or stop doing so."""
    namespace = await context.with_memory(params.namespace)
    return await namespace.pin(id=params.id, pinned=params.pinned)


@methods.add(
    "memory.hold",
    params=HoldParams,
    result=Memory,
    writes=True,
    errors=(MemoryNotFound, *WRITE_ERRORS),
)
async def hold(context: Context, params: HoldParams) -> Memory:
    """Protect a memory from forgetting until a time; null ends the hold."""
    namespace = await context.with_memory(params.namespace)
    return await namespace.hold(id=params.id, until=params.until)


@methods.add(
    "memory.explain",
    params=ExplainParams,
    result=Explanation,
    errors=(MemoryNotFound, PolicyUnknown),
)
async def explain(context: Context, params: ExplainParams) -> Explanation:
    """Per policy, why a memory is or is not a candidate for forgetting."""
    namespace = await context.with_memory(params.namespace)
    return await namespace.explain(id=params.id, policy=params.policy)
