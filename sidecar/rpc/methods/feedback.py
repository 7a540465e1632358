"""memory.feedback and memory.invalidate: what a host has learned about its memories."""

from typing import Final

from sidecar.errors import DiskFull, MemoryNotFound, ReadOnly
from sidecar.model import Memory, Signal
from sidecar.reasons import ReasonName
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.params import Id, Params

methods: Final = Methods()


class FeedbackParams(Params, kw_only=True):
    """The memory, and what it was like."""

    id: Id
    signal: Signal


class InvalidateParams(Params, kw_only=True):
    """The memory, and why it is no longer believed."""

    id: Id
    reason: ReasonName


@methods.add(
    "memory.feedback",
    params=FeedbackParams,
    result=Memory,
    writes=True,
    errors=(MemoryNotFound, ReadOnly, DiskFull),
)
async def feedback(context: Context, params: FeedbackParams) -> Memory:
    """Say how useful a memory was; a regret may be about one that is forgotten."""
    namespace = await context.with_memory(params.namespace)
    return await namespace.feedback(id=params.id, signal=params.signal)


@methods.add(
    "memory.invalidate",
    params=InvalidateParams,
    result=Memory,
    writes=True,
    errors=(MemoryNotFound, ReadOnly, DiskFull),
)
async def invalidate(context: Context, params: InvalidateParams) -> Memory:
    """Stop believing a memory, in any tier: set aside, superseded, or held wrong."""
    namespace = await context.with_memory(params.namespace)
    return await namespace.invalidate(id=params.id, reason=params.reason)
