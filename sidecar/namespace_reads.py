"""Reading a namespace: by id, by page, by recall; and counting what a recall used.

Point reads of hot memories happen on the event loop (tens of microseconds); whatever scans,
decodes or waits runs in a thread.
"""

import asyncio
import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any, Literal

import structlog

from sidecar.clock import Clock
from sidecar.errors import Corrupt, InvalidParams, Overloaded, ShuttingDown
from sidecar.estimate import Estimator
from sidecar.explain_reports import Explanation
from sidecar.explaining import explanation_of
from sidecar.exporting import export_page
from sidecar.limits import THAWS_PER_RECALL_MAX, TOUCH_FLUSH_SECONDS, TOUCHED_BY_TOP
from sidecar.model import (
    COLD,
    FORGOTTEN,
    HOT,
    MEMORY_TYPES,
    STATUSES,
    TIERS,
    Memory,
    MemoryType,
    Status,
    Tier,
)
from sidecar.namespace_lifecycle import NamespaceLifecycle
from sidecar.plan.plan import Snapshot
from sidecar.recalling import VIEWS_MAX, Recall, RecallRequest, type_codes
from sidecar.reports import ExportPage, MemoryList, NamespaceStatus, RecallReport
from sidecar.shown import memory_of
from sidecar.simulating import report_of
from sidecar.simulation_reports import SimulationReport, SimulationRequest
from sidecar.simulation_start import start_of
from sidecar.status import status_of
from sidecar.store import links, rows
from sidecar.store.cold_search import read_commits
from sidecar.store.payload import Payload
from sidecar.store.records import live_row
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection
from sidecar.thawing import thaw
from sidecar.threads import Threads
from sidecar.validation import embedding_bytes

log = structlog.get_logger("forgetd.namespace")


class NamespaceReads(NamespaceLifecycle):
    """What `Namespace` is made of besides writing and its settings."""

    def __init__(self, name: str, clock: Clock, estimator: Estimator, threads: Threads) -> None:
        super().__init__(name, clock, estimator, threads)
        self._touch_timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    def build_reads(self) -> None:
        """After the store is open: what answers recalls."""
        self._recall = Recall(self.store)

    async def get(self, *, id: str, include_embedding: bool) -> Memory | None:
        """One live memory, or None."""
        return (await self.get_many(ids=[id], include_embedding=include_embedding))[0]

    async def get_many(self, *, ids: list[str], include_embedding: bool) -> list[Memory | None]:
        """Live memories in the order of their ids, None where there is none."""
        if len(ids) == 1:
            with self.store.readers.borrow() as connection:
                row = rows.by_id(connection, ids[0])
                if row is None or row.tier == FORGOTTEN:
                    return [None]
                if row.tier == HOT:
                    return [self._shown(connection, row, include_embedding)]
        return await self._in_thread(self._get_all, ids, include_embedding)

    def _get_all(self, ids: list[str], include_embedding: bool) -> list[Memory | None]:
        with self.store.readers.view() as connection:
            found = [rows.by_id(connection, memory_id) for memory_id in ids]
            return [
                None
                if row is None or row.tier == FORGOTTEN
                else self._shown(connection, row, include_embedding)
                for row in found
            ]

    async def recall(
        self,
        *,
        query: str | None,
        embedding: Sequence[float] | str | None,
        embedding_model: str | None,
        top_k: int,
        depth: Literal["auto", "hot", "deep"],
        memory_types: Sequence[MemoryType] | None,
        include_archived: bool,
        min_strength: float | None,
        touch: Literal["top", "all", "none"],
    ) -> RecallReport:
        """Find memories; those named by `touch` count as used, and thaw where they are cold."""
        vector = None
        if embedding is not None:
            given = embedding if isinstance(embedding, str) else [float(one) for one in embedding]
            vector = embedding_bytes(given, "$.embedding")
        request = RecallRequest(
            query,
            vector,
            embedding_model,
            top_k,
            depth,
            type_codes(memory_types),
            include_archived,
            min_strength,
        )
        now = self.clock.now_ms()
        report, found = await self._in_thread(self._recall.run, request, now)
        counted = {"top": found[:TOUCHED_BY_TOP], "all": found, "none": []}[touch]
        self._count_as_used(counted, now)
        return report

    async def explain(self, *, id: str, policy: str | None) -> Explanation:
        """Why policies, and a cycle, would or would not take one live memory."""

        def work() -> Explanation:
            row, snapshot = self._scored(id)
            return explanation_of(self, row, snapshot, policy)

        return await self._in_thread(work)

    async def simulate(self, *, request: SimulationRequest) -> SimulationReport:
        """What automatic runs would do in the days to come. Raises InvalidParams, PolicyUnknown."""
        return await self._in_pool(self.threads.simulations, self._simulate, request)

    def _simulate(self, request: SimulationRequest) -> SimulationReport:
        stopping = self.runner.stopping
        return report_of(start_of(self, request), request, lambda: not stopping.is_set())

    async def export(self, *, tiers: Sequence[Tier], cursor: str | None, limit: int) -> ExportPage:
        """A page of whole memories, with all that makes up their state."""
        return await self._in_thread(
            lambda: export_page(self.store, tiers=tiers, cursor=cursor, limit=limit)
        )

    async def status(self) -> NamespaceStatus:
        """Counts, settings, what runs, and what an operator should look at."""
        return await self._in_thread(status_of, self)

    async def end_reads(self) -> None:
        """Wait for background work, and write the touches that wait."""
        for task in list(self._tasks):
            await asyncio.wait([task])
        if self._touch_timer is not None:
            self._touch_timer.cancel()
        if self.store.writer.latched is None:
            await self._in_thread(self.fold_touches)

    def _count_as_used(self, found: Sequence[Row], now: int) -> None:
        if not found:
            return
        self.touches.add([row.rid for row in found], now)
        if self._touch_timer is None:
            loop = asyncio.get_running_loop()
            self._touch_timer = loop.call_later(TOUCH_FLUSH_SECONDS, self._flush)
        cold = [row.rid for row in found if row.tier == COLD][:THAWS_PER_RECALL_MAX]
        if cold:
            self._in_background(thaw, self.store, cold, self.book, now)

    def _flush(self) -> None:
        self._touch_timer = None
        self._in_background(self.fold_touches)

    def _in_background(self, work: Callable[..., object], *arguments: Any) -> None:
        task = asyncio.create_task(self._in_thread(work, *arguments))
        self._tasks.add(task)
        task.add_done_callback(self._background_done)

    def _background_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ShuttingDown):
            log.error("background work failed", namespace=self.name, exc_info=error)

    def _scored(self, memory_id: str) -> tuple[Row, Snapshot]:
        """A live memory and what is planned from, with it; once more where it moved in between.

        Raises MemoryNotFound, which says if it is forgotten, and Overloaded.
        """
        for _ in range(VIEWS_MAX):
            with self.store.readers.view() as connection:
                row = live_row(connection, memory_id)
                self.store.columns.progress.follow(read_commits(connection))
            snapshot = self.touches.folded(self.store.columns.snapshot())
            if row.rid in snapshot.rid:
                return row, snapshot
        raise Overloaded("The memory comes and goes too fast to be looked at", remedy="ask again")

    def _or_damaged(self, connection: Connection, row: Row) -> Memory | None:
        """None for a damaged memory: it must not hide the rest of a page. Status counts it."""
        try:
            return self._shown(connection, row, False)
        except Corrupt:
            self.store.findings.corrupt_ids.add(row.id)
            return None

    def _forgotten(self, connection: Connection, row: Row) -> Memory:
        """A forgotten memory without what it said: content, metadata and extra are empty."""
        unsaid = Payload(row.id, "", "{}", "{}", row.created_at, None, None)
        return self._memory(connection, row, unsaid, False)

    def _shown(self, connection: Connection, row: Row, include_embedding: bool) -> Memory:
        payload = self.store.payload(connection, row)
        return self._memory(connection, row, payload, include_embedding)

    def _memory(
        self, connection: Connection, row: Row, payload: Payload, include_embedding: bool
    ) -> Memory:
        older = links.predecessors(connection, row.id)
        return memory_of(
            row,
            payload,
            older,
            self.clock.now_ms(),
            superseded=links.is_superseded(connection, row),
            include_embedding=include_embedding,
        )

    # Last, because within the class the name hides the built-in type.
    async def list(
        self,
        *,
        tier: Tier | None,
        status: Status | None,
        memory_type: MemoryType | None,
        cursor: str | None,
        limit: int,
    ) -> MemoryList:
        """A page of memories by row; without a tier the live ones."""
        where = ["rid > ?"]
        bindings: list[Any] = [_row_of_cursor(cursor)]
        if tier is None:
            where.append(f"tier IN ({HOT}, {COLD})")
        else:
            where.append("tier = ?")
            bindings.append(TIERS.index(tier))
        if status is not None:
            where.append("status = ?")
            bindings.append(STATUSES.index(status))
        if memory_type is not None:
            where.append("memory_type = ?")
            bindings.append(MEMORY_TYPES.index(memory_type))
        condition = f"WHERE {' AND '.join(where)} ORDER BY rid LIMIT ?"

        def work() -> MemoryList:
            with self.store.readers.view() as connection:
                found = rows.select(connection, condition, (*bindings, limit + 1))
                shown = [self._or_damaged(connection, row) for row in found[:limit]]
            more = len(found) > limit
            return MemoryList(
                memories=[memory for memory in shown if memory is not None],
                cursor=_cursor_of_row(found[limit - 1].rid) if more else None,
            )

        return await self._in_thread(work)


def _row_of_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        return int(base64.urlsafe_b64decode(cursor.encode()).decode())
    except (binascii.Error, ValueError):
        raise InvalidParams(
            "$.cursor is not one that memory.list gave",
            field="$.cursor",
            bound="the cursor of the page before",
            remedy="start again without a cursor",
        ) from None


def _cursor_of_row(rid: int) -> str:
    return base64.urlsafe_b64encode(str(rid).encode()).decode()
