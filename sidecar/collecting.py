"""Destroying memories of one namespace, and looking whether anything is left of them.

Everything here blocks: it runs in a thread.
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

import numpy as np

from sidecar.apply import destroy, journal
from sidecar.apply.destroy import DESTROYED, OUTCOMES, Destruction, Doomed
from sidecar.apply.runner import Runner
from sidecar.clock import Clock
from sidecar.gc_choice import Chosen, choose, choose_all, planned, state_of
from sidecar.gc_reports import GcFinding, GcLeft, GcReport, GcRequest, GcVerification
from sidecar.gc_tokens import PlannedDestruction
from sidecar.limits import REPORT_NAMED_MAX
from sidecar.plan_shelf import PlanShelf
from sidecar.settings_book import SettingsBook
from sidecar.store import leftovers, rows
from sidecar.store.raw_search import Texts
from sidecar.store.sqlite.source import PayloadDamaged
from sidecar.store.store import Store


class Collector:
    """Plans and carries out the destructions of one namespace."""

    def __init__(
        self,
        name: str,
        store: Store,
        clock: Clock,
        book: SettingsBook,
        runner: Runner,
        shelves: Sequence[PlanShelf[Any]],
        fold: Callable[[], None],
    ) -> None:
        """`fold` writes pending touches, so that none comes after a memory has gone."""
        self._name = name
        self._store = store
        self._clock = clock
        self._book = book
        self._runner = runner
        self._shelves = shelves
        self._fold = fold

    def plan(self, request: GcRequest) -> tuple[Chosen, PlannedDestruction]:
        """What a request is about, as it is now. Nothing is written.

        Raises MemoryNotFound, RunUnknown, InvalidParams.
        """
        now = self._clock.now_ms()
        chosen = choose(self._store, request, now)
        return chosen, planned(chosen, self._name, request, now)

    def plan_all(self) -> tuple[Chosen, PlannedDestruction]:
        """The whole namespace, as it is now."""
        now = self._clock.now_ms()
        chosen = choose_all(self._store, now)
        plan = PlannedDestruction(
            self._name, destroy.doomed_of([]), "erased", now, whole=True, state=self.state()
        )
        return chosen, plan

    def state(self) -> tuple[int, ...]:
        """Numbers that differ when a memory of the namespace has changed."""
        with self._store.readers.borrow() as connection:
            return state_of(connection)

    def collect(self, plan: PlannedDestruction, trigger: str = "call") -> GcReport:
        """Destroy what is still as it was planned, and prove it. Raises as Runner.destroy."""
        started = time.monotonic()
        self._fold()
        ids, texts = self._remember(plan.doomed)
        header = self._runner.begin(
            "gc",
            trigger,
            np.zeros(0, journal.DECISION),
            self._book.cascade(),
            None,
            reason=plan.reason,
            also=lambda tx, run_id: destroy.begin(tx, run_id, plan.doomed),
        )
        result = self._runner.destroy(header)
        gone = {
            int(rid)
            for rid, outcome in zip(result.doomed["rid"], result.outcomes, strict=True)
            if outcome == DESTROYED
        }
        for shelf in self._shelves:
            shelf.drop_naming(gone)
        self._store.findings.corrupt_ids -= {ids[rid] for rid in gone if rid in ids}
        verification = self.verify({ids[rid] for rid in gone if rid in ids}, texts, gone)
        report = self._report(header.run_id, result, ids, verification, started)
        payload = {
            "trigger": trigger,
            "destroyed": report.destroyed,
            "left": report.left_count,
            "bytesReclaimed": report.bytes_reclaimed,
            "clean": verification.clean,
        }
        self._runner.finish(header, report, "gc.completed", payload)
        return report

    def verify(
        self, ids: Collection[str], texts: Texts, rids: Collection[int] = ()
    ) -> GcVerification:
        """Decode everything and search every byte for what should be gone."""
        found = leftovers.look_for(self._store, ids, texts, rids)
        beside = self._store.directory.parent.parent / "backups"
        others = [f"backups/{each.name}" for each in sorted(beside.glob("*"))]
        return GcVerification(
            clean=not found.left,
            left=[GcFinding(where=where, what=what) for where, what in found.left],
            shared=found.shared[:REPORT_NAMED_MAX],
            texts=len(texts.kept),
            texts_of=texts.offered,
            files=found.files,
            bytes=found.bytes,
            not_reached=[*found.not_reached, *others],
        )

    def _remember(self, doomed: Doomed) -> tuple[dict[int, str], Texts]:
        """The ids by row, and what will be searched for when the memories are gone."""
        ids: dict[int, str] = {}
        texts = Texts()
        with self._store.readers.view() as connection:
            for rid in doomed["rid"].tolist():
                row = rows.by_rid(connection, rid)
                if row is None:
                    continue
                ids[rid] = row.id
                if texts.full:
                    texts.offered += 1
                    continue
                try:
                    texts.add(self._store.payload(connection, row))
                except PayloadDamaged:
                    continue
        return ids, texts

    def _report(
        self,
        run_id: str,
        result: Destruction,
        ids: dict[int, str],
        verification: GcVerification,
        started: float,
    ) -> GcReport:
        left = [
            GcLeft(id=ids.get(int(rid)), why=cast(Any, OUTCOMES[outcome]))
            for rid, outcome in zip(result.doomed["rid"], result.outcomes, strict=True)
            if outcome != DESTROYED
        ]
        return GcReport(
            namespace=self._name,
            run_id=run_id,
            whole_namespace=False,
            destroyed=result.destroyed,
            left=left[:REPORT_NAMED_MAX],
            left_count=len(left),
            media_removed=result.media_removed,
            backups_removed=result.backups_removed,
            bytes_reclaimed=result.bytes_reclaimed,
            notes=result.notes,
            verification=verification,
            duration_ms=round((time.monotonic() - started) * 1000, 3),
        )
