"""proposals.*: texts that may become memories, and deciding on them."""

from typing import Annotated, Any, Final

from msgspec import Meta, field

from sidecar.errors import (
    DiskFull,
    MemoryDestroyed,
    MemoryExists,
    MemoryNotFound,
    ProposalChanged,
    ProposalDecided,
    ProposalExists,
    ProposalNotFound,
    ProposalsFull,
    ReadOnly,
)
from sidecar.limits import (
    LIST_LIMIT_DEFAULT,
    LIST_LIMIT_MAX,
    PROPOSAL_AUTO_ACCEPT_SHARE_MAX,
    PROPOSAL_EXPIRY_DAYS_DEFAULT,
    PROPOSAL_EXPIRY_DAYS_MAX,
    REASON_BYTES_MAX,
)
from sidecar.model import Memory, MemoryInput, MemoryType
from sidecar.proposal_reports import (
    Proposal,
    ProposalPage,
    ProposalsGcReport,
    ProposalsGcRequest,
    ProposalStatus,
)
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.params import Cursor, Id, Params
from sidecar.rpc.ports import NamespacePort
from sidecar.validation import check, check_reason

methods: Final = Methods()

LOOK: Final = "look at the proposals by proposals.list, and at the namespace's name"


class SubmitParams(Params, kw_only=True):
    """What is proposed, how sure its source is, and which memory it would take the place of."""

    content: str
    proposed_confidence: Annotated[float, Meta(ge=0, le=1)]
    id: str | None = None
    memory_type: MemoryType = "semantic"
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    supersedes: Id | None = None


class ListProposalsParams(Params, kw_only=True):
    """Which proposals, where the page starts and how long it is."""

    status: ProposalStatus | None = None
    limit: Annotated[int, Meta(ge=1, le=LIST_LIMIT_MAX)] = LIST_LIMIT_DEFAULT
    cursor: Cursor | None = None


class ProposalParams(Params, kw_only=True):
    """The proposal."""

    id: Id


class RejectParams(ProposalParams, kw_only=True):
    """The proposal, and why it is turned down."""

    reason: str | None = None


class ProposalsGcParams(Params, kw_only=True):
    """From which age on proposals are rejected, and from which confidence on accepted."""

    dry_run: bool = True
    proposal_expiry_days: Annotated[float, Meta(ge=0, le=PROPOSAL_EXPIRY_DAYS_MAX)] = (
        PROPOSAL_EXPIRY_DAYS_DEFAULT
    )
    proposal_auto_accept_confidence: Annotated[
        float, Meta(ge=0, le=PROPOSAL_AUTO_ACCEPT_SHARE_MAX)
    ] = PROPOSAL_AUTO_ACCEPT_SHARE_MAX


@methods.add(
    "proposals.submit",
    params=SubmitParams,
    result=Proposal,
    writes=True,
    errors=(
        ProposalExists,
        ProposalsFull,
        MemoryExists,
        MemoryDestroyed,
        MemoryNotFound,
        ReadOnly,
        DiskFull,
    ),
)
async def submit(context: Context, params: SubmitParams) -> Proposal:
    """Keep a text until somebody accepts it as a memory, rejects it, or it is too old."""
    given: dict[str, Any] = {} if params.id is None else {"id": params.id}
    memory = MemoryInput(
        content=params.content,
        memory_type=params.memory_type,
        metadata=params.metadata,
        **given,
    )
    checked = check(memory, context.clock.now_ms())
    namespace = await context.existing(params.namespace)
    if namespace is None and params.supersedes is not None:
        raise MemoryNotFound(field="$.supersedes", remedy="look at the namespace's name")
    namespace = namespace or await context.writable(params.namespace)
    return await namespace.submit_proposal(
        memory=checked,
        confidence=params.proposed_confidence + 0.0,  # no minus zero
        supersedes=params.supersedes,
    )


@methods.add(
    "proposals.list",
    params=ListProposalsParams,
    result=ProposalPage,
)
async def list_(context: Context, params: ListProposalsParams) -> ProposalPage:
    """The proposals of a namespace, the oldest first; what was decided long ago is dropped."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return ProposalPage(proposals=[], pending=0, cursor=None)
    return await namespace.list_proposals(
        status=params.status, limit=params.limit, cursor=params.cursor
    )


@methods.add(
    "proposals.accept",
    params=ProposalParams,
    result=Memory,
    writes=True,
    errors=(
        ProposalNotFound,
        ProposalDecided,
        ProposalChanged,
        MemoryExists,
        MemoryDestroyed,
        ReadOnly,
        DiskFull,
    ),
)
async def accept(context: Context, params: ProposalParams) -> Memory:
    """Make a proposal a memory with its id, in the place of what it supersedes."""
    namespace = await _with_proposal(context, params.namespace)
    return await namespace.accept_proposal(id=params.id)


@methods.add(
    "proposals.reject",
    params=RejectParams,
    result=Proposal,
    writes=True,
    errors=(ProposalNotFound, ProposalDecided, ReadOnly, DiskFull),
)
async def reject(context: Context, params: RejectParams) -> Proposal:
    """Turn a proposal down; it stays in the list with the reason for a while."""
    if params.reason is not None:
        check_reason(params.reason, "$.reason", REASON_BYTES_MAX)
    namespace = await _with_proposal(context, params.namespace)
    return await namespace.reject_proposal(id=params.id, reason=params.reason)


@methods.add(
    "proposals.gc",
    params=ProposalsGcParams,
    result=ProposalsGcReport,
    writes=True,
    errors=(ReadOnly, DiskFull),
)
async def collect(context: Context, params: ProposalsGcParams) -> ProposalsGcReport:
    """Reject what is too old and accept what is sure enough; by default only say which."""
    namespace = await context.existing(params.namespace)
    if namespace is None and params.dry_run:
        return ProposalsGcReport(expired=[], auto_accepted=[], failed=[], dropped=0, dry_run=True)
    namespace = namespace or await context.writable(params.namespace)
    request = ProposalsGcRequest(
        expiry_days=params.proposal_expiry_days,
        auto_accept_confidence=params.proposal_auto_accept_confidence,
    )
    return await namespace.collect_proposals(request=request, dry_run=params.dry_run)


async def _with_proposal(context: Context, name: str) -> NamespacePort:
    """The namespace in which a proposal is looked for. Raises ProposalNotFound without it."""
    namespace = await context.existing(name)
    if namespace is None:
        raise ProposalNotFound(field="$.id", remedy=LOOK)
    return namespace
