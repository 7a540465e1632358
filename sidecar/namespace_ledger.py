"""The ledger of a namespace: its runs, their reports, and the decisions of runs and plans."""

import msgspec

from sidecar.apply import journal
from sidecar.errors import RunUnknown
from sidecar.namespace_runs import NamespaceRuns
from sidecar.reports import DecisionPage, RunDetail, RunPage
from sidecar.run_pages import cursor_of, decision_page, offset_of_cursor, run_of_cursor


class NamespaceLedger(NamespaceRuns):
    """What `Namespace` answers of the runs that it carried out, and of plans that wait."""

    async def runs(self, *, limit: int, cursor: str | None) -> RunPage:
        """The ledger, newest first."""
        before = run_of_cursor(cursor)
        with self.store.readers.borrow() as connection:
            found = journal.summaries(connection, limit + 1, before)
        page = found[:limit]
        more = len(found) > limit
        following = cursor_of([page[-1].started_at, page[-1].run_id]) if more else None
        return RunPage(runs=page, cursor=following)

    async def run(self, *, run_id: str) -> RunDetail:
        """One run and its report. Raises RunUnknown."""
        with self.store.readers.borrow() as connection:
            summary = journal.summary(connection, run_id)
            found = connection.execute(
                "SELECT report FROM runs WHERE run_id = ?", (run_id,)
            ).fetchall()
        if summary is None:
            raise RunUnknown(field="$.runId", remedy="look the id up with runs.list")
        report = None if summary.state == "running" else found[0][0]
        return RunDetail(
            run=summary, report=None if report is None else msgspec.json.decode(report)
        )

    async def decisions(
        self, *, run_id: str | None, plan_id: str | None, cursor: str | None, limit: int
    ) -> DecisionPage:
        """A page of the decisions of a run or of a kept plan, in plan order."""
        start = offset_of_cursor(cursor)
        if plan_id is not None and plan_id in self.cycler.shelf:
            cycle = self.cycler.shelf.find(plan_id, self.clock.now_ms())
            return decision_page(self.cycler.page(cycle, start, limit), start, len(cycle.plan))
        if plan_id is not None and plan_id in self.archiver.shelf:
            useless = self.archiver.shelf.find(plan_id, self.clock.now_ms())
            page = self.archiver.page(useless, start, limit)
            return decision_page(page, start, len(useless.plan))
        if plan_id is not None:
            shelved = self.sweeper.shelf.find(plan_id, self.clock.now_ms())
            page = self.sweeper.decisions_of_plan(shelved, start, limit)
            return decision_page(page, start, len(shelved.plan))
        return await self._in_thread(self._run_decisions, run_id or "", start, limit)

    def _run_decisions(self, run_id: str, start: int, limit: int) -> DecisionPage:
        with self.store.readers.view() as connection:
            run = journal.summary(connection, run_id)
            if run is None:
                raise RunUnknown(field="$.runId", remedy="look the id up with runs.list")
            decisions, outcomes = journal.all_decisions(connection, run_id)
            part = slice(start, start + limit)
            ids = journal.ids_of(connection, decisions["rid"][part])
        page = journal.to_wire(decisions[part], ids, outcomes[part], cycle=run.kind == "cycle")
        return decision_page(page, start, len(decisions))
