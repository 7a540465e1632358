"""The review of a namespace: what to look at, one item opened, and taking items off."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from sidecar.errors import MemoryNotFound
from sidecar.limits import REVIEW_CLEARED_COUNT_MAX, REVIEW_OPENED_MEMORIES_MAX
from sidecar.namespace_gc import NamespaceGc
from sidecar.plan.review import attention_of
from sidecar.replies import keeper
from sidecar.review_reports import ReviewCleared, ReviewDetail, ReviewPage, ReviewRequest
from sidecar.reviewing import Looking
from sidecar.run_pages import cursor_of, review_place_of_cursor
from sidecar.store import reviews, rows
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction


class NamespaceReview(NamespaceGc):
    """What `Namespace` is made of besides writing, its settings, and destroying."""

    async def review(self, *, request: ReviewRequest, limit: int, cursor: str | None) -> ReviewPage:
        """A page of what is to be looked at. Raises InvalidParams for another's cursor."""
        beyond = review_place_of_cursor(cursor)

        def work() -> ReviewPage:
            with self._looking(request) as (looking, _):
                found = list(islice(looking.flags(beyond), limit + 1))
                counts = looking.counts()
            more = len(found) > limit
            return ReviewPage(
                namespace=self.name,
                items=[flag.item for flag in found[:limit]],
                counts=counts,
                cursor=cursor_of(found[limit - 1].place) if more else None,
            )

        return await self._in_thread(work)

    async def open_review(self, *, id: str, request: ReviewRequest) -> ReviewDetail:
        """The items that name one memory, and the memories in question. Raises MemoryNotFound."""

        def work() -> ReviewDetail:
            with self._looking(replace(request, ids=frozenset({id}))) as (looking, connection):
                items = [flag.item for flag in looking.flags()]
                named = [id, *(one.memory_id for one in items)]
                named += [one.other_id for one in items if one.other_id is not None]
                first, *others = dict.fromkeys(named)
                row = rows.by_id(connection, first)
                if row is None:
                    raise MemoryNotFound(field="$.id", remedy="list the ids with review.flagged")
                beside = [
                    rows.by_id(connection, one) for one in others[:REVIEW_OPENED_MEMORIES_MAX]
                ]
                shown = [
                    self._or_damaged(connection, one) for one in (row, *beside) if one is not None
                ]
            return ReviewDetail(
                items=items, memories=[memory for memory in shown if memory is not None]
            )

        return await self._in_thread(work)

    async def clear_review(
        self, *, request: ReviewRequest, ids: Sequence[str] | None
    ) -> ReviewCleared:
        """Take off the items that name some ids, or all of a reason, until something new happens.

        What changes between the look and the writing is not taken off: its marks differ.
        """
        now = self.clock.now_ms()
        if ids is not None:
            ids = list(dict.fromkeys(ids))
            request = replace(request, ids=frozenset(ids))
        keep = keeper(self.clock)

        def work() -> ReviewCleared:
            with self._looking(request) as (looking, _):
                flags = list(looking.flags())
            named = {name for flag in flags for name in (flag.item.memory_id, flag.item.other_id)}
            not_flagged = [one for one in ids or () if one not in named]
            chosen = flags[:REVIEW_CLEARED_COUNT_MAX]
            report = ReviewCleared(
                cleared=len(chosen), not_flagged=not_flagged, left=len(flags) - len(chosen)
            )

            def job(tx: Transaction) -> ReviewCleared:
                reviews.clear(tx, [flag.clearing for flag in chosen], now)
                keep(tx, report)
                return report

            return self.store.writer.call(job)

        return await self._in_thread(work)

    @contextmanager
    def _looking(self, request: ReviewRequest) -> Generator[tuple[Looking, Connection]]:
        now = self.clock.now_ms()
        attention = attention_of(self.store.columns.snapshot(), now)
        with self.store.readers.view() as connection:
            yield Looking(connection, attention, request, now), connection
