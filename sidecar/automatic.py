"""Automatic sweeps: the detector after every write, the debounce, and what holds it back.

The detector compares kept counters with the thresholds: constant time. Each stage of a sweep is
judged by itself: one that moved nothing is tried again only after a growing while. So is stage 2
where it could not come down to its watermark, and it says so by an event.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from sidecar.clock import Clock
from sidecar.errors import ShuttingDown
from sidecar.limits import BRAKE_WINDOW_MS, SWEEP_DEBOUNCE_SECONDS
from sidecar.plan.detector import STAGES, Backoff, due_stages
from sidecar.settings_book import PAUSE_BRAKED, PAUSE_CLOCK, SettingsBook
from sidecar.store import events
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.sweeping import SweepOutcome, SweepRequest


class Automatic:
    """The detector of one namespace. Lives on the event loop; `notify` may come from a thread."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        book: SettingsBook,
        sweep: Callable[[SweepRequest], Awaitable[SweepOutcome]],
        oldest_in_window: Callable[[], int | None],
        report_failure: Callable[[BaseException], None],
    ) -> None:
        """`sweep` runs one sweep; `report_failure` logs what it raises."""
        self._store = store
        self._clock = clock
        self._book = book
        self._sweep = sweep
        self._oldest_in_window = oldest_in_window
        self._report_failure = report_failure
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._closed = False
        self.backoff = {stage: Backoff() for stage in STAGES}
        self._failed = False
        self._short = False

    @property
    def alarm(self) -> str | None:
        """What an operator should know of the last automatic sweep, while it still holds."""
        if self._failed:
            return "an automatic sweep failed: see the log"
        over = self._book.crossed(self._store.columns.counts())
        if self._short and ("total" in over or "disk" in over):
            return "over a threshold, and nothing more is weak enough to be forgotten"
        return None

    def notify(self) -> None:
        """Look at the counters after a write; schedules a sweep where a threshold is crossed."""
        if self._timer is None and self._due():
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._arm)

    def wake(self) -> None:
        """Forget every backoff: the settings changed, or an operator resumed."""
        for backoff in self.backoff.values():
            backoff.clear()
        self._failed = self._short = False
        self.notify()

    async def close(self) -> None:
        """Start nothing any more, and wait for what is under way."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])

    def _due(self) -> tuple[int, ...]:
        """The stages that may and should run now."""
        crossed = self._book.crossed(self._store.columns.counts())
        if not crossed or self._closed or self._store.writer.latched is not None:
            return ()
        return due_stages(crossed, self.backoff, self._book.holds(), self._clock.now_ms())

    def _arm(self) -> None:
        if self._task is not None and not self._task.done():
            self._again = True
        elif self._timer is None and not self._closed:
            self._timer = self._loop.call_later(SWEEP_DEBOUNCE_SECONDS, self._fire)

    def _fire(self) -> None:
        self._timer = None
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        # A run that was stopped goes on at the next start: nothing has failed.
        if error is not None and not isinstance(error, ShuttingDown):
            for backoff in self.backoff.values():
                backoff.grow(self._clock.now_ms())
            self._failed = True
            self._report_failure(error)
        if self._again or self._due():
            self._again = False
            self.notify()

    async def _run(self) -> None:
        if self._clock.jumped():
            await self._write(self._book.pause, PAUSE_CLOCK, None)
            return
        due = self._due()
        if not due:
            return
        request = SweepRequest(trigger="automatic", stage_one=1 in due, stage_two=2 in due)
        outcome = await self._sweep(request)
        self._failed = False
        now = self._clock.now_ms()
        if 1 in due:
            self.backoff[1].judge(outcome.moved_by_stage.get(1, 0) > 0, now)
        if 2 in due:
            await self._judge_forgetting(outcome, now)

    async def _judge_forgetting(self, outcome: SweepOutcome, now: int) -> None:
        moved = outcome.moved_by_stage.get(2, 0)
        if outcome.braked:
            oldest = await asyncio.to_thread(self._oldest_in_window)
            until = (now if oldest is None else oldest) + BRAKE_WINDOW_MS
            payload = {"forgotten": moved, "until": until}
            await self._event("forgetting.braked", payload, outcome.report.run_id)
            await self._write(self._book.pause, PAUSE_BRAKED, until)
            return
        shortfall = outcome.forgetting_shortfall
        self._short = shortfall is not None
        self.backoff[2].judge(moved > 0 and shortfall is None, now)
        if shortfall is not None:
            payload = {
                "memories": shortfall.memories,
                "bytes": shortfall.bytes,
                "retryAt": self.backoff[2].until,
            }
            await self._event("forgetting.pressure", payload, outcome.report.run_id)

    async def _event(self, kind: str, payload: dict[str, Any], run_id: str | None) -> None:
        now = self._clock.now_ms()

        def work(tx: Transaction) -> None:
            events.append(tx.connection, now, kind, None, payload, run_id)

        await asyncio.wrap_future(self._store.writer.submit(work))

    async def _write(self, change: Callable[..., None], *arguments: Any) -> None:
        now = self._clock.now_ms()
        job = self._store.writer.submit(lambda tx: change(tx, *arguments, now))
        await asyncio.wrap_future(job)
