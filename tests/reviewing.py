"""Calls of a review with the wire's defaults, and making what a review lists."""

from typing import Any

from sidecar.cycle_reports import ForgettingReport
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.review_reports import (
    ReviewCleared,
    ReviewCounts,
    ReviewItem,
    ReviewPage,
    ReviewRequest,
)
from tests.namespaces import memory

NOTHING = ReviewCounts(regret=0, guarded=0, broken_chain=0, unscored=0)


async def review(namespace: Namespace, **given: Any) -> ReviewPage:
    """review.flagged, all on one page."""
    return await namespace.review(request=ReviewRequest(**given), limit=1_000, cursor=None)


async def items(namespace: Namespace, **given: Any) -> list[ReviewItem]:
    """The items of that page."""
    return (await review(namespace, **given)).items


async def counts(namespace: Namespace) -> ReviewCounts:
    """What the status says that there is to look at."""
    return (await namespace.status()).review


async def cleared(
    namespace: Namespace, *, ids: list[str] | None = None, **given: Any
) -> ReviewCleared:
    """review.clear."""
    return await namespace.clear_review(request=ReviewRequest(**given), ids=ids)


async def regretted(namespace: Namespace, memory_id: str, times: int = 1) -> None:
    """Miss a memory so many times."""
    for _ in range(times):
        await namespace.feedback(id=memory_id, signal="regret")


async def cycle(namespace: Namespace, **given: Any) -> ForgettingReport:
    """forgetting.runCycle."""
    call: dict[str, Any] = {
        "dry_run": False, "plan_id": None, "now": None, "decisions_limit": 1_000,
    }  # fmt: skip
    return await namespace.run_cycle(**(call | given))


def pair(name: str, first: str, second: str, axis: int = 0) -> list[MemoryInput]:
    """Two memories as near as can be, which neither fade nor go by their age."""
    direction = [float(place == axis) for place in range(4)]
    given: dict[str, Any] = {"importance": 0.9, "days": 14, "embedding": direction}
    return [
        memory(f"{name}-{number}", content=content, embedding_model="test", **given)
        for number, content in enumerate((first, second), 1)
    ]


def patch(content: str | None = None, **fields: Any) -> MemoryInput:
    """A patch of memory.update."""
    return MemoryInput(**({} if content is None else {"content": content}), **fields)
