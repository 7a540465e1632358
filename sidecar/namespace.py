"""One namespace as the handlers see it: reading, writing, and the way to its runs.

Every method is a coroutine. Point reads of hot memories happen on the event loop (tens of
microseconds); whatever scans, decodes or waits runs in a thread.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import structlog

from sidecar import imports
from sidecar.automatic import Automatic
from sidecar.clock import Clock
from sidecar.cycle_config import CycleOptions
from sidecar.errors import ForgetdError
from sidecar.estimate import Estimator
from sidecar.exact_imports import import_exactly
from sidecar.idempotency import current_key
from sidecar.imports import import_foreign
from sidecar.lifecycle_config import LifecycleOptions
from sidecar.limits import CLOCK_BACK_TOLERANCE_MS
from sidecar.model import (
    FORGOTTEN,
    ImportFormat,
    Memory,
    MemoryInput,
    Signal,
)
from sidecar.namespace_proposals import NamespaceProposals
from sidecar.reasons import InvalidationReason, ReasonName
from sidecar.replies import keep_reply, keeper
from sidecar.reports import (
    ImportReport,
    OpenReport,
    PutManyReport,
    ThresholdsReport,
    TouchReport,
)
from sidecar.settings_book import PAUSE_CLIENT, PAUSE_CLOCK, SettingsBook
from sidecar.store import events, rows
from sidecar.store.beliefs import invalidate_by_id
from sidecar.store.records import IfExists
from sidecar.store.rows import Row
from sidecar.store.signals import record_signal
from sidecar.store.space import Reserve, with_reserve
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.threads import Threads
from sidecar.thresholds import Value
from sidecar.validation import Refused, check

T = TypeVar("T")
log = structlog.get_logger("forgetd.namespace")


class Namespace(NamespaceProposals):
    """An open namespace. Made by `Namespace.open`, ended by `close`."""

    @classmethod
    async def open(
        cls,
        name: str,
        directory: Path,
        clock: Clock,
        estimator: Estimator,
        config: Mapping[str, Value],
        cycle: CycleOptions,
        lifecycle: LifecycleOptions,
        reserve: Reserve,
        threads: Threads,
    ) -> "Namespace":
        """Open, or create where the directory is absent, and finish interrupted runs.

        Raises NamespaceLocked, SchemaTooNew, Corrupt.
        """
        loop = asyncio.get_running_loop()
        namespace = cls(name, clock, estimator, threads)
        namespace.cycle_options = cycle
        namespace.lifecycle_options = lifecycle
        await loop.run_in_executor(threads.runs, namespace._load, directory, config, reserve)
        namespace._start()
        return namespace

    def __init__(self, name: str, clock: Clock, estimator: Estimator, threads: Threads) -> None:
        super().__init__(name, clock, estimator, threads)

    def _load(self, directory: Path, config: Mapping[str, Value], reserve: Reserve) -> None:
        now = self.clock.now_ms()
        # Even reading takes a little room: the index of the WAL.
        self.store = with_reserve(
            reserve, lambda: Store(directory, self.estimator, self._after_commit, now)
        )
        try:
            with self.store.readers.borrow() as connection:
                self.book = SettingsBook(connection, config)
                last_event = events.last_at(connection)
            self.store.writer.crossed = self.book.will_be_swept
            self.build_runs(reserve)
            self.build_collector()
            self.build_reads()
            if self.store.writer.latched is None:
                self._catch_up(now, last_event)
            reserve.fill()
        except BaseException:
            self.store.close()
            raise

    def _catch_up(self, now: int, last_event: int | None) -> None:
        """Finish interrupted runs, and notice what changed while the namespace was closed."""
        try:
            self.runner.finish_interrupted()
            self.runner.media.settle()
            if self.book.changed_unnoticed:
                self.store.writer.call(lambda tx: self.book.notice_bounds(tx, now))
            behind = last_event is not None and now < last_event - CLOCK_BACK_TOLERANCE_MS
            if behind and not self.clock.injectable:
                self.store.writer.call(lambda tx: self.book.pause(tx, PAUSE_CLOCK, None, now))
        except Exception as error:
            # A full disk, say: what is there can be read, and the next run finishes this first.
            told = {"reason": error.message} if isinstance(error, ForgetdError) else {}
            log.error("start-up work waits", namespace=self.name, exc_info=not told, **told)

    def _start(self) -> None:
        self.automatic = Automatic(
            self.store,
            self.clock,
            self.book,
            self.sweep_automatically,
            lambda: self.runner.window().oldest,
            self._report_failure,
        )
        self.automatic.notify()

    def _after_commit(self) -> None:
        self.feed.publish()
        if self.automatic is not None:
            self.automatic.notify()

    def _report_failure(self, error: BaseException) -> None:
        log.error("automatic sweep failed", namespace=self.name, exc_info=error)

    # --- writing ---------------------------------------------------------------------------

    async def put(
        self, *, memory: MemoryInput, if_exists: IfExists, revive: bool = False
    ) -> Memory:
        """Store one memory. Raises MemoryExists, MemoryDestroyed, InvalidParams."""
        now = self.clock.now_ms()
        checked = check(memory, now)
        records = self.store.records
        return await self._answer(
            lambda tx: records.put(tx, checked, now, if_exists, "$", revive=revive)[0]
        )

    async def put_many(
        self,
        *,
        memories: Sequence[MemoryInput | Refused],
        if_exists: IfExists,
        partial: bool,
        revive: bool = False,
    ) -> PutManyReport:
        """Store many memories in one transaction; with `partial` the bad ones are left out."""
        now = self.clock.now_ms()
        keep = keeper(self.clock)

        def work() -> PutManyReport:
            items = imports.checked_members(memories, now, partial=partial)

            def job(tx: Transaction) -> PutManyReport:
                imports.put_members(
                    self.store.records, tx, items, now, if_exists, partial=partial, revive=revive
                )
                report = imports.put_report(items)
                keep(tx, report)
                return report

            return self.store.writer.call(job)

        report = await self._in_thread(work)
        await self.files_follow()
        return report

    async def import_many(
        self,
        *,
        memories: Sequence[dict[str, Any]],
        if_exists: IfExists,
        skip_bad: bool,
        source: str | None,
        format: ImportFormat = "foreign",
        revive: bool = False,
    ) -> ImportReport:
        """Store another system's records, unknown fields in `extra`, or those of an export."""
        now = self.clock.now_ms()
        take = import_foreign if format == "foreign" else import_exactly
        keep = keeper(self.clock)
        report = await self._in_thread(
            lambda: take(
                self.store,
                memories,
                now=now,
                if_exists=if_exists,
                skip_bad=skip_bad,
                source=source,
                revive=revive,
                keep=keep,
            )
        )
        await self.files_follow()
        return report

    async def update(self, *, id: str, patch: MemoryInput, if_revision: int | None) -> Memory:
        """Change named fields of a live memory."""
        now = self.clock.now_ms()
        checked = check(patch, now, "$.patch")
        records = self.store.records
        return await self._answer(lambda tx: records.update(tx, id, checked, if_revision, now))

    async def touch(self, *, ids: Sequence[str]) -> TouchReport:
        """Count a use of each memory, durably."""
        now = self.clock.now_ms()
        unique = list(dict.fromkeys(ids))
        keep = keeper(self.clock)

        def work(tx: Transaction) -> TouchReport:
            unknown: list[str] = []
            for memory_id in unique:
                row = rows.by_id(tx.connection, memory_id)
                if row is None or not self.store.records.touch(tx, row.rid, 1, now, now):
                    unknown.append(memory_id)
            report = TouchReport(touched=len(unique) - len(unknown), unknown=unknown)
            keep(tx, report)
            return report

        return await self._write(work)

    async def supersede(self, *, id: str, by: str) -> Memory:
        """Say that memory `by` takes the place of memory `id`."""
        now = self.clock.now_ms()
        return await self._answer(lambda tx: self.store.records.supersede(tx, id, by, now))

    async def invalidate(self, *, id: str, reason: ReasonName) -> Memory:
        """Stop believing a memory. What a reason makes of it is in `InvalidationReason`."""
        now = self.clock.now_ms()
        why = InvalidationReason(reason)
        return await self._answer(lambda tx: invalidate_by_id(tx, id, why, now))

    async def feedback(self, *, id: str, signal: Signal) -> Memory:
        """Count, durably, what the host says of a memory's use."""
        now = self.clock.now_ms()
        return await self._answer(lambda tx: record_signal(tx, id, signal, now))

    async def pin(self, *, id: str, pinned: bool) -> Memory:
        """Protect a memory from spilling and forgetting, or stop doing so."""
        return await self._set_flag(id, "pinned", int(pinned))

    async def hold(self, *, id: str, until: int | None) -> Memory:
        """Protect a memory from forgetting until a time."""
        return await self._set_flag(id, "held_until", until)

    async def _set_flag(self, memory_id: str, name: str, value: int | None) -> Memory:
        now = self.clock.now_ms()
        records = self.store.records
        return await self._answer(lambda tx: records.set_flag(tx, memory_id, name, value, now))

    # --- settings --------------------------------------------------------------------------

    async def thresholds_report(self) -> ThresholdsReport:
        """The settings in force and what holds automatic runs back."""
        return self._thresholds_now()

    async def set_thresholds(self, values: Mapping[str, Value | None]) -> ThresholdsReport:
        """Set options of this namespace; what the config file orders stays in force."""

        def change(tx: Transaction, now: int) -> ThresholdsReport:
            self.book.set(tx, values, now)
            return self._thresholds_now()

        return await self._change_book(change)

    async def resume(self) -> ThresholdsReport:
        """Lift every pause of automatic runs."""
        self.clock.accept_jump()

        def change(tx: Transaction, now: int) -> ThresholdsReport:
            self.book.resume(tx, None, now)
            return self._thresholds_now()

        return await self._change_book(change)

    async def reconfigure(
        self, config: Mapping[str, Value], cycle: CycleOptions, lifecycle: LifecycleOptions
    ) -> None:
        """Take over what the config file orders now."""
        self.cycle_options, self.lifecycle_options = cycle, lifecycle
        await self._change_book(lambda tx, now: self.book.reconfigure(tx, config, now))

    async def apply_open_options(
        self, *, thresholds: Mapping[str, Value | None], created: bool
    ) -> OpenReport:
        """A client's constructor options: taken when the namespace is new, else compared."""
        unwanted = not created and thresholds.get("forgetEnabled") is False
        pausing = (
            unwanted and self.book.values.forget_enabled and PAUSE_CLIENT not in self.book.paused
        )

        def report() -> OpenReport:
            return OpenReport(
                namespace=self.name,
                created=created,
                thresholds=dict(self.book.wire_values()),
                thresholds_differ=dict(self.book.differing(thresholds)),
            )

        def change(tx: Transaction, now: int) -> OpenReport:
            if created and thresholds:
                self.book.open_with(tx, thresholds, now)
            if pausing:
                self.book.pause(tx, PAUSE_CLIENT, None, now)
            return report()

        changing = (created and thresholds) or pausing or current_key() is not None
        return await self._change_book(change) if changing else report()

    def _thresholds_now(self) -> ThresholdsReport:
        return self.book.report(self.name, self.store.columns.counts(), self.clock.now_ms())

    async def _change_book(self, change: Callable[[Transaction, int], T]) -> T:
        now = self.clock.now_ms()
        keep = keeper(self.clock)

        def work(tx: Transaction) -> T:
            answer = change(tx, now)
            keep(tx, answer)
            return answer

        try:
            answer = await self._write(work)
        except ForgetdError:
            with self.store.readers.borrow() as connection:
                self.book.reload(connection)
            raise
        if self.automatic is not None:
            self.automatic.wake()
        return answer

    # --- the rest --------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether closing now would cut something off."""
        at_work = self.slots.busy or bool(self._tasks) or self.in_flight > 0
        return at_work or self.touches.pending or self.feed.followed

    async def close(self) -> None:
        """Stop runs between transactions, write what is pending, close the store."""
        self.runner.stopping.set()
        if self.automatic is not None:
            await self.automatic.close()
        await self.slots.drain()
        await self.end_reads()
        await self.fold_at_close()
        await self._in_thread(self.store.close)

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        self.in_flight += 1
        try:
            answer = await asyncio.wrap_future(self.store.writer.submit(work))
            await self.files_follow()
            return answer
        finally:
            self.in_flight -= 1

    async def _answer(self, work: Callable[[Transaction], Row]) -> Memory:
        """Write one memory and answer it: as it is then, or as its key will answer it again."""
        key = current_key()
        if key is None:
            row = await self._write(work)
            with self.store.readers.borrow() as connection:
                return self._fresh(connection, row)

        def keeping(tx: Transaction) -> Memory:
            memory = self._fresh(tx.connection, work(tx))
            keep_reply(tx, key, self.clock.now_ms(), memory)
            return memory

        return await self._write(keeping)

    def _fresh(self, connection: Connection, row: Row) -> Memory:
        """The memory as it is now, after a write; a forgotten one without what it said."""
        current = rows.by_rid(connection, row.rid) or row
        if current.tier == FORGOTTEN:
            return self._forgotten(connection, current)
        return self._shown(connection, current, False)
