"""What is asked and answered about proposals: texts that may become memories."""

from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct

from sidecar.limits import MILLISECONDS_PER_DAY
from sidecar.model import MemoryType

ProposalStatus = Literal["pending", "accepted", "rejected"]
ProposalObstacle = Literal["changed", "memory_exists", "memory_destroyed"]


@dataclass(frozen=True, slots=True)
class ProposalsGcRequest:
    """What is to be decided without a person: by age in days, and by confidence."""

    expiry_days: float
    auto_accept_confidence: float

    def before(self, now: int) -> int:
        """What came or was decided at this time (ms) or earlier is old enough."""
        return now - round(self.expiry_days * MILLISECONDS_PER_DAY)


class Proposal(Struct, rename="camel", kw_only=True):
    """One proposal. Accepted, it is the memory of the same id, and has no text of its own.

    `obstacle` says why a pending one could not be accepted now: the memory that it supersedes has
    `changed` since, or a memory with its id exists or was destroyed. `decidedReason` is `expired`
    where proposals.gc rejected it for its age, `destroyed` where what it supersedes was destroyed,
    `auto` where proposals.gc accepted it, else what the caller said.
    """

    id: str
    memory_type: MemoryType
    content: str | None
    metadata: dict[str, Any]
    proposed_confidence: float
    created_at: int
    status: ProposalStatus
    decided_at: int | None
    decided_reason: str | None
    supersedes: str | None
    obstacle: ProposalObstacle | None


class ProposalPage(Struct, rename="camel", kw_only=True):
    """One page of proposals, the oldest first; `cursor` is null on the last page."""

    proposals: list[Proposal]
    pending: int
    cursor: str | None


class ProposalFailure(Struct, rename="camel", kw_only=True):
    """A proposal that was sure enough and could not be accepted by itself."""

    id: str
    why: ProposalObstacle


class ProposalsGcReport(Struct, rename="camel", kw_only=True):
    """The answer of proposals.gc: what was done, or would be.

    `expired` were rejected for their age, whatever their confidence; `failed` stay pending.
    `dropped` counts proposals decided as long ago, of which the list keeps nothing any more.
    """

    expired: list[str]
    auto_accepted: list[str]
    failed: list[ProposalFailure]
    dropped: int
    dry_run: bool
