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
