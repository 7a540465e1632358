"""What a person should look at in one namespace, and taking it off once it was. Blocks.

Nothing here moves, changes or deletes a memory. An item that was cleared stays away until
something new happens: another regret, another wording or belief.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from sidecar.limits import (
    FUTURE_TOLERANCE_MS,
    MILLISECONDS_PER_DAY,
    REVIEW_REGRETS_COUNT_DEFAULT,
    TIME_MIN_MS,
)
from sidecar.plan.plan import Int64
from sidecar.plan.review import Attention
from sidecar.review_reports import (
    REVIEW_WINDOW_MS_DEFAULT,
    ReviewCounts,
    ReviewItem,
    ReviewReason,
    ReviewRequest,
)
from sidecar.store import regrets, reviews, rows
from sidecar.store.regrets import Regrets
from sidecar.store.reviews import Clearing
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection

REASONS: Final[tuple[ReviewReason, ...]] = ("regret", "guarded", "brokenChain", "unscored")


@dataclass(frozen=True, slots=True)
class Flag:
    """An item, the marks by which clearing knows it again, and its place among all items."""

    item: ReviewItem
    mark: int
    other_mark: int = 0
    place: list[Any] = field(default_factory=list[Any], compare=False)

    @property
    def clearing(self) -> Clearing:
        """What clearing it writes."""
        item = self.item
        # What a broken chain leads to may have been destroyed: nothing may name it anew.
        other_id = item.other_id if item.reason == "guarded" else None
        return Clearing(item.reason, item.memory_id, other_id or "", self.mark, self.other_mark)


class Looking:
    """One look at a namespace: in one view of its database, with what a snapshot says of it."""

    def __init__(
        self, connection: Connection, attention: Attention, request: ReviewRequest, now: int
    ) -> None:
        self._connection = connection
        self._attention = attention
        self._request = request
        self._now = now
        self._after = now - request.window_ms

    def counts(self) -> ReviewCounts:
        """How many items there are of each reason, whichever memory or reason is asked for."""
        if (self._request.threshold, self._request.window_ms) == (
            REVIEW_REGRETS_COUNT_DEFAULT,
            REVIEW_WINDOW_MS_DEFAULT,
        ):
            regretted = reviews.count_regretted(self._connection, self._after)
        else:
            regretted = sum(1 for _ in self._regretted(None))
        return ReviewCounts(
            regret=regretted,
            guarded=reviews.count_pairs(self._connection, self._after),
            broken_chain=len(self._uncleared("brokenChain", self._attention.broken)),
            unscored=len(self._uncleared("unscored", self._attention.unscored)),
        )

    def flags(self, beyond: list[Any] | None = None) -> Iterator[Flag]:
        """The items that are asked for in their order, from beyond the place of one on."""
        looks = (self._regrets, self._pairs, self._broken, self._unscored)
        first, *start = [0] if beyond is None else beyond
        for number, (reason, look) in enumerate(zip(REASONS, looks, strict=True)):
            if number < first or self._request.reason not in (None, reason):
                continue
            for flag in look(start if number == first else []):
                flag.place.insert(0, number)
                yield flag

    # --- regrets ---------------------------------------------------------------------------

    def _regretted(self, ids: frozenset[str] | None) -> Iterator[tuple[Regrets, list[int]]]:
        """Who was missed too often and was not looked at since, with the times in the window."""
        cleared = reviews.cleared_marks(self._connection, "regret")
        for one in regrets.since(self._connection, self._after, ids):
            times = one.within(self._after)
            if len(times) >= self._request.threshold and cleared.get(one.memory_id) != one.total:
                yield one, times

    def _regrets(self, start: list[Any]) -> Iterator[Flag]:
        threshold = self._request.threshold
        for one, times in self._regretted(self._request.ids):
            if start and one.memory_id <= start[0]:
                continue
            item = self._item(
                "regret",
                one.memory_id,
                since=times[threshold - 1],
                regrets=len(times),
                expires_at=times[-threshold] + self._request.window_ms,
            )
            yield Flag(item, one.total, place=[one.memory_id])

    # --- pairs -----------------------------------------------------------------------------

    def _pairs(self, start: list[Any]) -> Iterator[Flag]:
        beyond = (start[0], start[1]) if start else ("", "")
        ids = self._request.ids
        for pair in reviews.pairs(self._connection, self._after, beyond):
            if ids is not None and ids.isdisjoint((pair.memory_id, pair.other_id)):
                continue
            item = self._item(
                "guarded",
                pair.memory_id,
                other_id=pair.other_id,
                why=pair.difference,
                since=pair.flagged_at,
                expires_at=pair.seen_at + self._request.window_ms,
            )
            place = [pair.memory_id, pair.other_id]
            yield Flag(item, pair.revision, pair.other_revision, place)

    # --- what the snapshot says ------------------------------------------------------------

    def _broken(self, start: list[Any]) -> Iterator[Flag]:
        for at, row in self._rows("brokenChain", self._attention.broken, start):
            item = self._item(
                "brokenChain",
                row.id,
                other_id=row.superseded_by,
                why=self._attention.break_kind(at),
                since=row.updated_at if row.status_at is None else row.status_at,
            )
            yield Flag(item, row.revision, place=[row.rid])

    def _unscored(self, start: list[Any]) -> Iterator[Flag]:
        for at, row in self._rows("unscored", self._attention.unscored, start):
            why = ", ".join(self._attention.impossible(at))
            item = self._item("unscored", row.id, why=why, since=row.updated_at)
            yield Flag(item, row.revision, place=[row.rid])

    def _rows(
        self, reason: ReviewReason, rids: Int64, start: list[Any]
    ) -> Iterator[tuple[int, Row]]:
        """The rows that are asked for, each with its place in `rids`."""
        wanted = self._uncleared(reason, rids)
        wanted = wanted[wanted > start[0]] if start else wanted
        if self._request.ids is not None:
            named = (rows.by_id(self._connection, one) for one in self._request.ids)
            wanted = wanted[np.isin(wanted, [row.rid for row in named if row is not None])]
        places: list[int] = np.flatnonzero(np.isin(rids, wanted)).tolist()
        for at in places:
            row = rows.by_rid(self._connection, int(rids[at]))
            if row is not None:  # else it was destroyed after the snapshot
                yield at, row

    def _uncleared(self, reason: ReviewReason, rids: Int64) -> Int64:
        return rids[~np.isin(rids, reviews.cleared_rows(self._connection, reason))]

    def _item(
        self,
        reason: ReviewReason,
        memory_id: str,
        *,
        since: int,
        other_id: str | None = None,
        why: str | None = None,
        regrets: int | None = None,
        expires_at: int | None = None,
    ) -> ReviewItem:
        believable = TIME_MIN_MS <= since <= self._now + FUTURE_TOLERANCE_MS
        age_ms = max(0, self._now - since)
        return ReviewItem(
            reason=reason,
            memory_id=memory_id,
            other_id=other_id,
            why=why,
            regrets=regrets,
            flagged_at=since if believable else None,
            age_days=round(age_ms / MILLISECONDS_PER_DAY, 3) if believable else None,
            expires_at=expires_at,
        )
