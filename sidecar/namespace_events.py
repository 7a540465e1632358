"""The events of a namespace: reading them, following them, folding the old ones."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import structlog

from sidecar.clock import Clock
from sidecar.errors import InvalidParams, ShuttingDown
from sidecar.estimate import Estimator
from sidecar.event_feed import Announcement, EventFeed
from sidecar.limits import (
    EVENT_FOLD_AT_CLOSE_SECONDS,
    EVENTS_PER_FOLD_MAX,
    IDEMPOTENCY_KEYS_PER_DROP_MAX,
    MILLISECONDS_PER_DAY,
)
from sidecar.namespace_reads import NamespaceReads
from sidecar.reports import EventPage
from sidecar.settings_book import PAUSE_CLOCK
from sidecar.store import event_kinds, event_log, replies
from sidecar.suggest import quoted, remedy_for
from sidecar.threads import Threads

log = structlog.get_logger("forgetd.namespace")

_KINDS = tuple(one.kind for one in event_kinds.KINDS)


class NamespaceEvents(NamespaceReads):
    """What `Namespace` is made of besides writing and its settings."""

    def __init__(self, name: str, clock: Clock, estimator: Estimator, threads: Threads) -> None:
        super().__init__(name, clock, estimator, threads)
        self.feed = EventFeed()

    async def list_events(
        self, *, since: int, limit: int, kinds: Sequence[str] | None
    ) -> EventPage:
        """Durable events after number `since`, in order. Raises InvalidParams."""
        for position, kind in enumerate(kinds or ()):
            if kind not in _KINDS:
                raise InvalidParams(
                    f"There is no kind of event named {quoted(kind)}",
                    field=f"$.kinds[{position}]",
                    bound="kinds of docs/operations.md",
                    remedy=remedy_for(kind, _KINDS),
                )

        def work() -> EventPage:
            with self.store.readers.view() as connection:
                return event_log.page(connection, since, limit, kinds)

        return await self._in_thread(work)

    def follow_events(self, wake: asyncio.Event) -> AbstractContextManager[None]:
        """For a `with` block, `wake` is set after each commit, and the namespace stays open."""
        return self.feed.follow(wake)

    def announce(self, at: int, kind: str, payload: Mapping[str, Any]) -> None:
        """Tell those who follow, at `at` (ms), what no log keeps."""
        self.feed.announce(at, kind, payload)

    @property
    def announced(self) -> int:
        """The number of the newest announcement: what is told and in no log."""
        return self.feed.announced

    def announced_after(self, number: int) -> Sequence[Announcement]:
        """What was announced after a number, in order."""
        return self.feed.announced_after(number)

    async def fold_events(self) -> None:
        """Fold what is older than the retention, in small transactions between other writes.

        Idempotency keys that are too old go likewise.
        """
        await self._in_thread(self._fold, self.runner.stopping.is_set)

    async def fold_at_close(self) -> None:
        """The same, for a moment only: what is left waits for the next time."""
        give_up_at = time.monotonic() + EVENT_FOLD_AT_CLOSE_SECONDS
        await self._in_thread(self._fold, lambda: time.monotonic() > give_up_at)

    def _fold(self, enough: Callable[[], bool]) -> None:
        try:
            retention_ms = round(self.book.values.event_retention_days * MILLISECONDS_PER_DAY)
            before = self.clock.now_ms() - retention_ms
            while not enough() and self._may_fold(before):
                self.store.writer.call(lambda tx: event_log.fold(tx, before, EVENTS_PER_FOLD_MAX))
            while not enough() and self._may_drop_keys():
                now = self.clock.now_ms()
                self.store.writer.call(
                    lambda tx, now=now: replies.drop_old(tx, now, IDEMPOTENCY_KEYS_PER_DROP_MAX)
                )
        except ShuttingDown:
            return  # what is left waits for the next time
        except Exception as error:
            # The log is longer than it need be, and still right.
            log.error("events were not folded", namespace=self.name, exc_info=error)

    def _may_fold(self, before: int) -> bool:
        if not self._may_tidy():
            return False
        with self.store.readers.borrow() as connection:
            return event_log.anything_before(connection, before)

    def _may_drop_keys(self) -> bool:
        if not self._may_tidy():
            return False
        with self.store.readers.borrow() as connection:
            return replies.anything_old(connection, self.clock.now_ms())

    def _may_tidy(self) -> bool:
        """Whether there may be writing, and the clock can be believed."""
        if self.store.writer.latched is not None or self.clock.jumped():
            return False
        return PAUSE_CLOCK not in self.book.paused
