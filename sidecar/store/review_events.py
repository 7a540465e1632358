"""What the events of reviews and proposals hold. They name memories, and never what these say."""

from typing import Annotated

from msgspec import Meta, Struct


class PairsNoted(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The pairs that the guard of duplicates kept apart in a cycle."""

    pairs: Annotated[int, Meta(description="Pairs that wait for a look from now on.")]


class ClearedItem(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One item that somebody has looked at."""

    reason: Annotated[str, Meta(description="regret, guarded, brokenChain or unscored.")]
    memory_id: Annotated[str, Meta(description="The memory; a hash where it was destroyed.")]
    other_id: Annotated[str | None, Meta(description="The other one of a pair or of a link.")]


class ReviewItemsCleared(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Items that stay away until something new happens to them."""

    items: list[ClearedItem]


class ProposalSubmitted(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A new proposal, without its text."""

    proposal_id: Annotated[str, Meta(description="The id that its memory would have.")]
    proposed_confidence: Annotated[float, Meta(description="How sure its source is, 0 to 1.")]
    supersedes: Annotated[str | None, Meta(description="The memory that it would replace.")]


class ProposalAccepted(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A proposal that is a memory now."""

    proposal_id: Annotated[str, Meta(description="The id of both.")]
    automatic: Annotated[bool, Meta(description="True: proposals.gc accepted it.")]


class ProposalRejected(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A proposal that will be no memory. The reason is with the proposal."""

    proposal_id: Annotated[str, Meta(description="The proposal.")]


class ProposalsDropped(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Proposals that were decided long ago, or of which there were too many."""

    proposal_ids: Annotated[list[str], Meta(description="What the list has no more.")]
