"""Active forgetting in a namespace, and what is known of memories that are not believed."""

from collections import Counter

from sidecar.lifecycle_config import LifecycleRequest
from sidecar.lifecycle_reports import (
    ArchivedMemory,
    ArchivedPage,
    ForgetSummary,
    ReasonCounts,
    ReasonText,
)
from sidecar.limits import REASONS_COUNT_MAX
from sidecar.model import MEMORY_TYPES, STATUSES, TIERS, Status
from sidecar.namespace_estimates import NamespaceEstimates
from sidecar.reasons import InvalidationReason, is_reason
from sidecar.run_pages import archived_of_cursor, cursor_of
from sidecar.store import beliefs
from sidecar.store.rows import Row


class NamespaceLifecycle(NamespaceEstimates):
    """What `Namespace` is made of besides sweeps, cycles, reading and writing."""

    async def forget_useless(
        self, *, dry_run: bool, plan_id: str | None, request: LifecycleRequest
    ) -> ForgetSummary:
        """Plan active forgetting, apply a plan, or do both at once. See lifecycle.forget."""
        if dry_run and plan_id is not None:
            return await self._in_thread(self.archiver.show, plan_id, request)
        if dry_run:
            return await self._in_thread(self.archiver.dry_run, request)
        if plan_id is not None:
            return await self._in_slot(
                ("lifecycle plan", plan_id),
                lambda key: self.archiver.run_plan(plan_id, request, key),
                lambda report: report,
            )
        return await self._in_slot(
            ("lifecycle", request),
            lambda key: self.archiver.run(request, key),
            lambda report: report,
        )

    async def invalidations_by_reason(self) -> ReasonCounts:
        """How many memories are not believed, by reason and by status."""
        return await self._in_thread(self._reason_counts)

    def _reason_counts(self) -> ReasonCounts:
        with self.store.readers.borrow() as connection:
            found = list(beliefs.reason_counts(connection))
        reasons: Counter[str] = Counter(dict.fromkeys(InvalidationReason, 0))
        statuses: Counter[Status] = Counter(dict.fromkeys(STATUSES[1:], 0))
        texts: Counter[str] = Counter()
        for status, text, count in found:
            reasons[InvalidationReason.from_db(text).value] += count
            statuses[STATUSES[status]] += count
            if text is not None and not is_reason(text):
                texts[text] += count
        often = sorted(texts.items(), key=lambda one: (-one[1], one[0]))
        return ReasonCounts(
            namespace=self.name,
            total=sum(statuses.values()),
            reasons={reason.value: reasons[reason] for reason in InvalidationReason},
            statuses=dict(statuses),
            texts=[ReasonText(text=text, count=n) for text, n in often[:REASONS_COUNT_MAX]],
            texts_truncated=len(often) > REASONS_COUNT_MAX,
        )

    async def archived(self, *, cursor: str | None, limit: int) -> ArchivedPage:
        """Memories archived by forgetting, newest first, a page at a time."""
        before = archived_of_cursor(cursor)

        def work() -> ArchivedPage:
            with self.store.readers.borrow() as connection:
                found = beliefs.archived_by_forgetting(connection, limit + 1, before)
            last = found[limit - 1] if len(found) > limit else None
            following = None if last is None else cursor_of([last.status_at or 0, last.rid])
            return ArchivedPage(
                memories=[_archived(row) for row in found[:limit]], cursor=following
            )

        return await self._in_thread(work)


def _archived(row: Row) -> ArchivedMemory:
    return ArchivedMemory(
        id=row.id,
        memory_type=MEMORY_TYPES[row.memory_type],
        tier=TIERS[row.tier],
        archived_at=row.status_at or 0,
        reason=row.status_reason or "",
        run_id=row.archived_run,
        use_count=row.use_count,
        usefulness_score=row.usefulness_score,
        last_useful_at=row.last_useful_at,
        created_at=row.created_at,
    )
