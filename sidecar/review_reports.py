"""What a review is asked and answers: items to look at, one opened, and what was cleared."""

from dataclasses import dataclass
from typing import Final, Literal

from msgspec import Struct

from sidecar.limits import (
    MILLISECONDS_PER_DAY,
    REVIEW_REGRETS_COUNT_DEFAULT,
    REVIEW_WINDOW_DAYS_DEFAULT,
)
from sidecar.model import Memory

ReviewReason = Literal["regret", "guarded", "brokenChain", "unscored"]
REVIEW_WINDOW_MS_DEFAULT: Final = REVIEW_WINDOW_DAYS_DEFAULT * MILLISECONDS_PER_DAY


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """Which items are meant: all, those of a reason, those that name one of some ids.

    `threshold` is a number of regrets, the window is in ms.
    """

    threshold: int = REVIEW_REGRETS_COUNT_DEFAULT
    window_ms: int = REVIEW_WINDOW_MS_DEFAULT
    reason: ReviewReason | None = None
    ids: frozenset[str] | None = None


class ReviewItem(Struct, rename="camel", kw_only=True):
    """One thing to look at.

    `regret`: a memory that was missed; `regrets` says how often within the window. `guarded`: two
    memories so near that a cycle would have pruned one, had they not differed; `why` says in what
    (number, date, unit, negation, name, words). `brokenChain`: a memory replaced by one that is
    not there (`why` is successor_missing) or by itself in the end (endless). `unscored`: a memory
    with a value that cannot be; `why` names its field.

    `flaggedAt` (ms) is since when it is so, as far as that is known, and `ageDays` how long. At
    `expiresAt` (ms) the item leaves by itself: for regrets when too few are left in the window, for
    a pair when no cycle has found it for as long as the window; null: it stays until it is mended.
    """

    reason: ReviewReason
    memory_id: str
    other_id: str | None
    why: str | None
    regrets: int | None
    flagged_at: int | None
    age_days: float | None
    expires_at: int | None


class ReviewCounts(Struct, rename="camel", kw_only=True):
    """How many items there are to look at, by reason."""

    regret: int
    guarded: int
    broken_chain: int
    unscored: int


class ReviewPage(Struct, rename="camel", kw_only=True):
    """One page of items: regrets, pairs, broken chains, unscored ones; null on the last page.

    `counts` are those of the whole namespace with the same threshold and window.
    """

    namespace: str
    items: list[ReviewItem]
    counts: ReviewCounts
    cursor: str | None


class ReviewDetail(Struct, rename="camel", kw_only=True):
    """One memory with every item that names it, and the memories that these name.

    The memory itself comes first. A forgotten one is shown too; one that cannot be read is left
    out. An item that was cleared, or never was, is not among the items.
    """

    items: list[ReviewItem]
    memories: list[Memory]


class ReviewCleared(Struct, rename="camel", kw_only=True):
    """The answer of review.clear: how many items were taken off.

    `notFlagged` are ids of the call that no item named. `left` counts the items that one call was
    too small for.
    """

    cleared: int
    not_flagged: list[str]
    left: int
