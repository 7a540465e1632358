"""review.*: what a person should look at. Nothing here moves or deletes a memory."""

from typing import Annotated, Final

from msgspec import Meta

from sidecar.errors import DiskFull, InvalidParams, MemoryNotFound, ReadOnly
from sidecar.limits import (
    LIST_LIMIT_DEFAULT,
    LIST_LIMIT_MAX,
    MILLISECONDS_PER_DAY,
    REGRETS_KEPT_COUNT_MAX,
    REVIEW_CLEAR_IDS_MAX,
    REVIEW_REGRETS_COUNT_DEFAULT,
    REVIEW_WINDOW_DAYS_DEFAULT,
    REVIEW_WINDOW_DAYS_MAX,
)
from sidecar.review_reports import (
    ReviewCleared,
    ReviewCounts,
    ReviewDetail,
    ReviewPage,
    ReviewReason,
    ReviewRequest,
)
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.params import Cursor, Id, Params

methods: Final = Methods()

Threshold = Annotated[int, Meta(ge=1, le=REGRETS_KEPT_COUNT_MAX)]
WindowDays = Annotated[float, Meta(gt=0, le=REVIEW_WINDOW_DAYS_MAX)]


class ReviewParams(Params, kw_only=True):
    """How many regrets within how many days are enough to be looked at."""

    threshold: Threshold = REVIEW_REGRETS_COUNT_DEFAULT
    window_days: WindowDays = REVIEW_WINDOW_DAYS_DEFAULT

    def request(self, reason: ReviewReason | None = None) -> ReviewRequest:
        """The items that are meant."""
        return ReviewRequest(
            threshold=self.threshold,
            window_ms=round(self.window_days * MILLISECONDS_PER_DAY),
            reason=reason,
        )


class FlaggedParams(ReviewParams, kw_only=True):
    """Which items, where the page starts and how long it is."""

    reason: ReviewReason | None = None
    limit: Annotated[int, Meta(ge=1, le=LIST_LIMIT_MAX)] = LIST_LIMIT_DEFAULT
    cursor: Cursor | None = None


class OpenReviewParams(ReviewParams, kw_only=True):
    """The memory to look at."""

    id: Id


class ClearParams(ReviewParams, kw_only=True):
    """The items: those that name one of `ids`, those of a reason, or both at once."""

    ids: Annotated[list[Id], Meta(min_length=1, max_length=REVIEW_CLEAR_IDS_MAX)] | None = None
    reason: ReviewReason | None = None


@methods.add(
    "review.flagged",
    params=FlaggedParams,
    result=ReviewPage,
)
async def flagged(context: Context, params: FlaggedParams) -> ReviewPage:
    """What to look at: regrets, pairs kept apart, broken chains, unscored memories."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        nothing = ReviewCounts(regret=0, guarded=0, broken_chain=0, unscored=0)
        return ReviewPage(namespace=params.namespace, items=[], counts=nothing, cursor=None)
    return await namespace.review(
        request=params.request(params.reason), limit=params.limit, cursor=params.cursor
    )


@methods.add(
    "review.open",
    params=OpenReviewParams,
    result=ReviewDetail,
    errors=(MemoryNotFound,),
)
async def open_(context: Context, params: OpenReviewParams) -> ReviewDetail:
    """The items that name one memory, with the memories that these are about, whole."""
    namespace = await context.with_memory(params.namespace)
    return await namespace.open_review(id=params.id, request=params.request())


@methods.add(
    "review.clear",
    params=ClearParams,
    result=ReviewCleared,
    writes=True,
    errors=(ReadOnly, DiskFull),
)
async def clear(context: Context, params: ClearParams) -> ReviewCleared:
    """Take items off the review until something new happens to them; memories stay."""
    if params.ids is None and params.reason is None:
        raise InvalidParams(
            "Items to clear are named by $.ids or by $.reason",
            field="$",
            bound="ids, reason, or both",
            remedy="name memories by ids, or all items of a reason: review.flagged lists both",
        )
    namespace = await context.writable(params.namespace)
    return await namespace.clear_review(request=params.request(params.reason), ids=params.ids)
