"""Deciding on the proposals of one namespace, each step within a transaction of the writer."""

from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET
from ulid import ULID

from sidecar.errors import (
    MemoryDestroyed,
    MemoryExists,
    MemoryNotFound,
    ProposalChanged,
    ProposalDecided,
    ProposalExists,
    ProposalNotFound,
    ProposalsFull,
)
from sidecar.limits import PROPOSALS_PENDING_COUNT_MAX
from sidecar.model import MEMORY_TYPES, MemoryInput
from sidecar.proposal_reports import (
    Proposal,
    ProposalFailure,
    ProposalObstacle,
    ProposalsGcRequest,
)
from sidecar.store import proposals, rows, tombstones
from sidecar.store.proposals import PENDING, STATUSES, StoredProposal
from sidecar.store.records import Records
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.validation import CheckedMemory, check

EXPIRED: Final = "expired"
LOOK: Final = "look at the proposals by proposals.list"


def submit(
    tx: Transaction,
    memory: CheckedMemory,
    *,
    confidence: float,
    supersedes: str | None,
    now: int,
) -> Proposal:
    """Keep a text until it is decided. Raises ProposalsFull, and where the id is not free."""
    connection = tx.connection
    if proposals.count_pending(connection) >= PROPOSALS_PENDING_COUNT_MAX:
        raise ProposalsFull(
            bound=f"at most {PROPOSALS_PENDING_COUNT_MAX} pending proposals in a namespace",
            remedy="accept or reject some, or let proposals.gc decide by age",
        )
    proposal_id = memory.id or str(ULID.from_timestamp(now / 1000))
    if proposals.by_id(connection, proposal_id) is not None:
        raise ProposalExists(field="$.id", remedy="use another id, or leave it out")
    if rows.by_id(connection, proposal_id) is not None:
        raise MemoryExists(field="$.id", remedy="name it in supersedes, and use another id")
    tombstones.refuse(connection, proposal_id, "$")
    older = None if supersedes is None else rows.by_id(connection, supersedes)
    if supersedes is not None and older is None:
        raise MemoryNotFound(field="$.supersedes", remedy="list the ids with memory.list")
    stored = StoredProposal(
        number=0,
        id=proposal_id,
        status=PENDING,
        memory_type=memory.scalars.get("memory_type", 0),
        content=memory.content,
        metadata=memory.metadata or "{}",
        confidence=confidence,
        created_at=now,
        decided_at=None,
        decided_reason=None,
        supersedes=supersedes,
        supersedes_revision=None if older is None else older.revision,
    )
    return shown(connection, proposals.submit(tx, stored))


def accept(
    tx: Transaction, records: Records, proposal_id: str, now: int, *, automatic: bool = False
) -> Row:
    """Make a proposal a memory. Raises ProposalNotFound, ProposalDecided, ProposalChanged.

    Raises MemoryExists and MemoryDestroyed where its id is not free any more.
    """
    proposal = _pending(tx.connection, proposal_id)
    _refuse(tx.connection, proposal)
    memory = MemoryInput(
        id=proposal.id,
        content=proposal.content or "",
        memory_type=MEMORY_TYPES[proposal.memory_type],
        metadata=msgspec.json.decode(proposal.metadata),
        supersedes=UNSET if proposal.supersedes is None else proposal.supersedes,
    )
    row, _ = records.put(tx, check(memory, now), now, "error", "$")
    proposals.accept(tx, proposal, now, automatic=automatic)
    return row


def reject(tx: Transaction, proposal_id: str, reason: str | None, now: int) -> Proposal:
    """Turn a proposal down. Raises ProposalNotFound, ProposalDecided."""
    proposals.reject(tx, _pending(tx.connection, proposal_id), reason, now)
    decided = proposals.by_id(tx.connection, proposal_id)
    assert decided is not None, "it was there, and nobody else writes"
    return shown(tx.connection, decided)


def shown(connection: Connection, proposal: StoredProposal) -> Proposal:
    """A proposal as it is answered."""
    obstacle = proposals.obstacle(connection, proposal) if proposal.status == PENDING else None
    metadata: dict[str, Any] = msgspec.json.decode(proposal.metadata)
    return Proposal(
        id=proposal.id,
        memory_type=MEMORY_TYPES[proposal.memory_type],
        content=proposal.content,
        metadata=metadata,
        proposed_confidence=proposal.confidence,
        created_at=proposal.created_at,
        status=STATUSES[proposal.status],
        decided_at=proposal.decided_at,
        decided_reason=proposal.decided_reason,
        supersedes=proposal.supersedes,
        obstacle=cast("ProposalObstacle | None", obstacle),
    )


@dataclass(frozen=True, slots=True)
class Ripe:
    """What a gc would decide: ids to reject for their age, and ids to accept."""

    expired: list[str]
    confident: list[str]


def ripe(connection: Connection, request: ProposalsGcRequest, now: int) -> Ripe:
    """What is to be decided now. Too old goes before sure enough."""
    before = request.before(now)
    found = Ripe([], [])
    for proposal in proposals.pending(connection):
        if proposal.created_at <= before:
            found.expired.append(proposal.id)
        elif proposal.confidence >= request.auto_accept_confidence:
            found.confident.append(proposal.id)
    return found


def failure(connection: Connection, proposal_id: str) -> ProposalFailure | None:
    """Why a pending proposal would not be accepted; None where it would, or is decided."""
    proposal = proposals.by_id(connection, proposal_id)
    if proposal is None or proposal.status != PENDING:
        return None
    why = proposals.obstacle(connection, proposal)
    return None if why is None else ProposalFailure(id=proposal_id, why=cast(Any, why))


def is_pending(connection: Connection, proposal_id: str) -> bool:
    """Whether a proposal still waits."""
    proposal = proposals.by_id(connection, proposal_id)
    return proposal is not None and proposal.status == PENDING


def _pending(connection: Connection, proposal_id: str) -> StoredProposal:
    proposal = proposals.by_id(connection, proposal_id)
    if proposal is None:
        raise ProposalNotFound(field="$.id", remedy=LOOK)
    if proposal.status != PENDING:
        raise ProposalDecided(
            f"The proposal was {STATUSES[proposal.status]} already",
            field="$.id",
            bound="a pending proposal",
            remedy=LOOK,
        )
    return proposal


def _refuse(connection: Connection, proposal: StoredProposal) -> None:
    """Raise the error of what stands in the way of a proposal."""
    match proposals.obstacle(connection, proposal):
        case "memory_exists":
            raise MemoryExists(field="$.id", remedy="reject the proposal; submit it under another")
        case "memory_destroyed":
            tombstones.refuse(connection, proposal.id, "$")
            raise MemoryDestroyed(field="$.id", remedy="reject it")
        case "changed":
            older = rows.by_id(connection, proposal.supersedes or "")
            now = "it is not there" if older is None else f"it has revision {older.revision}"
            raise ProposalChanged(
                field="$.id",
                memoryId=proposal.supersedes,
                bound=f"revision {proposal.supersedes_revision} of what it supersedes; {now}",
                remedy="read the memory again, and submit a new proposal or reject this one",
            )
        case _:
            return
