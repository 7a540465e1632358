"""Calls about proposals with the wire's defaults."""

from typing import Any

from sidecar.limits import PROPOSAL_AUTO_ACCEPT_SHARE_MAX, PROPOSAL_EXPIRY_DAYS_DEFAULT
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.proposal_reports import Proposal, ProposalsGcReport, ProposalsGcRequest
from sidecar.validation import check
from tests.namespaces import NOW


async def propose(
    namespace: Namespace,
    proposal_id: str = "p",
    *,
    confidence: float = 0.5,
    supersedes: str | None = None,
    **fields: Any,
) -> Proposal:
    """proposals.submit."""
    given = {"content": f"what {proposal_id} proposes"} | fields
    return await namespace.submit_proposal(
        memory=check(MemoryInput(id=proposal_id, **given), NOW),
        confidence=confidence,
        supersedes=supersedes,
    )


async def proposals(namespace: Namespace, **given: Any) -> dict[str, Proposal]:
    """proposals.list, all on one page, by id."""
    call = {"status": None, "limit": 1_000, "cursor": None} | given
    page = await namespace.list_proposals(**call)
    return {one.id: one for one in page.proposals}


async def collect(
    namespace: Namespace,
    *,
    days: float = PROPOSAL_EXPIRY_DAYS_DEFAULT,
    confidence: float = PROPOSAL_AUTO_ACCEPT_SHARE_MAX,
    dry_run: bool = False,
) -> ProposalsGcReport:
    """proposals.gc; a real one unless `dry_run`."""
    request = ProposalsGcRequest(expiry_days=days, auto_accept_confidence=confidence)
    return await namespace.collect_proposals(request=request, dry_run=dry_run)
