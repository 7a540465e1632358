"""The proposals of a namespace: submitting, listing and deciding them."""

from collections.abc import Sequence

from sidecar import proposals as deciding
from sidecar.limits import PROPOSALS_PER_TRANSACTION_COUNT_MAX
from sidecar.model import Memory
from sidecar.namespace_review import NamespaceReview
from sidecar.proposal_reports import (
    Proposal,
    ProposalFailure,
    ProposalPage,
    ProposalsGcReport,
    ProposalsGcRequest,
    ProposalStatus,
)
from sidecar.replies import Keep, keeper
from sidecar.run_pages import cursor_of, offset_of_cursor
from sidecar.store import proposals
from sidecar.store.sqlite.writer import Transaction
from sidecar.validation import CheckedMemory


class NamespaceProposals(NamespaceReview):
    """What `Namespace` is made of besides writing, its settings, and reviews."""

    async def submit_proposal(
        self, *, memory: CheckedMemory, confidence: float, supersedes: str | None
    ) -> Proposal:
        """Keep a text until it is decided. Raises ProposalsFull, and where its id is not free."""
        now = self.clock.now_ms()
        keep = keeper(self.clock)

        def job(tx: Transaction) -> Proposal:
            made = deciding.submit(
                tx, memory, confidence=confidence, supersedes=supersedes, now=now
            )
            keep(tx, made)
            return made

        return await self._in_thread(lambda: self.store.writer.call(job))

    async def list_proposals(
        self, *, status: ProposalStatus | None, limit: int, cursor: str | None
    ) -> ProposalPage:
        """A page of proposals, the oldest first. Raises InvalidParams for another's cursor."""
        beyond = offset_of_cursor(cursor)
        code = None if status is None else proposals.STATUSES.index(status)

        def work() -> ProposalPage:
            with self.store.readers.view() as connection:
                found = proposals.page(connection, code, beyond, limit + 1)
                page = [deciding.shown(connection, one) for one in found[:limit]]
                waiting = proposals.count_pending(connection)
            more = len(found) > limit
            return ProposalPage(
                proposals=page,
                pending=waiting,
                cursor=cursor_of(found[limit - 1].number) if more else None,
            )

        return await self._in_thread(work)

    async def accept_proposal(self, *, id: str) -> Memory:
        """Make a proposal a memory. Raises what `proposals.accept` does."""
        now = self.clock.now_ms()
        keep = keeper(self.clock)

        def job(tx: Transaction) -> Memory:
            row = deciding.accept(tx, self.store.records, id, now)
            memory = self._shown(tx.connection, row, False)
            keep(tx, memory)
            return memory

        memory = await self._in_thread(lambda: self.store.writer.call(job))
        await self.files_follow()
        return memory

    async def reject_proposal(self, *, id: str, reason: str | None) -> Proposal:
        """Turn a proposal down. Raises ProposalNotFound, ProposalDecided."""
        now = self.clock.now_ms()
        keep = keeper(self.clock)

        def job(tx: Transaction) -> Proposal:
            rejected = deciding.reject(tx, id, reason, now)
            keep(tx, rejected)
            return rejected

        return await self._in_thread(lambda: self.store.writer.call(job))

    async def collect_proposals(
        self, *, request: ProposalsGcRequest, dry_run: bool
    ) -> ProposalsGcReport:
        """Decide by age and by confidence, or say what would be decided."""
        if dry_run:
            return await self._in_thread(self._would_collect, request)
        keep = keeper(self.clock)
        report = await self._in_thread(self._collect, request, keep)
        await self.files_follow()
        return report

    def _would_collect(self, request: ProposalsGcRequest) -> ProposalsGcReport:
        now = self.clock.now_ms()
        with self.store.readers.view() as connection:
            ripe = deciding.ripe(connection, request, now)
            failures = [deciding.failure(connection, one) for one in ripe.confident]
            dropped = proposals.count_decided(connection, request.before(now))
        failed = [one for one in failures if one is not None]
        stay = {one.id for one in failed}
        return ProposalsGcReport(
            expired=ripe.expired,
            auto_accepted=[one for one in ripe.confident if one not in stay],
            failed=failed,
            dropped=dropped,
            dry_run=True,
        )

    def _collect(self, request: ProposalsGcRequest, keep: Keep) -> ProposalsGcReport:
        """In transactions of a few, each looking again: others may decide meanwhile."""
        now, call = self.clock.now_ms(), self.store.writer.call
        dropped = call(lambda tx: proposals.drop_decided(tx, request.before(now), now))
        with self.store.readers.view() as connection:
            ripe = deciding.ripe(connection, request, now)
        report = ProposalsGcReport(
            expired=[], auto_accepted=[], failed=[], dropped=dropped, dry_run=False
        )
        for batch in _batches(ripe.expired):
            report.expired += call(lambda tx, batch=batch: self._expire(tx, batch, now))
        for batch in _batches(ripe.confident):
            accepted, failed = call(lambda tx, batch=batch: self._accept(tx, batch, now))
            report.auto_accepted += accepted
            report.failed += failed
        call(lambda tx: keep(tx, report))
        return report

    def _expire(self, tx: Transaction, ids: Sequence[str], now: int) -> list[str]:
        still = [one for one in ids if deciding.is_pending(tx.connection, one)]
        for one in still:
            deciding.reject(tx, one, deciding.EXPIRED, now)
        return still

    def _accept(
        self, tx: Transaction, ids: Sequence[str], now: int
    ) -> tuple[list[str], list[ProposalFailure]]:
        accepted: list[str] = []
        failed: list[ProposalFailure] = []
        for one in ids:
            failure = deciding.failure(tx.connection, one)
            if failure is not None:
                failed.append(failure)
            elif deciding.is_pending(tx.connection, one):
                deciding.accept(tx, self.store.records, one, now, automatic=True)
                accepted.append(one)
        return accepted, failed


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    size = PROPOSALS_PER_TRANSACTION_COUNT_MAX
    return [ids[start : start + size] for start in range(0, len(ids), size)]
