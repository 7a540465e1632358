"""Beginning, carrying out and finishing a run. Everything here blocks: it runs in a thread."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
import numpy as np
from ulid import ULID

from sidecar.apply import compact, journal
from sidecar.apply.journal import MOVED, OUTCOME_CODE, Decisions, RunHeader, RunKind
from sidecar.apply.moves import POLICY_RUNS, Mover
from sidecar.clock import Clock
from sidecar.errors import DiskFull
from sidecar.limits import BRAKE_WINDOW_MS, VACUUM_GAIN_SHARE_MIN
from sidecar.model import FORGOTTEN, HOT
from sidecar.plan.plan import CascadeSettings, Plan
from sidecar.plan.stages import brake_of
from sidecar.reports import TierCounts
from sidecar.store import events, search_upkeep
from sidecar.store.space import Reserve, disk_error, give_back, with_reserve
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run did: its decisions in plan order, their outcomes, and the space given back."""

    run_id: str
    decisions: Decisions
    outcomes: Any
    bytes_reclaimed: int
    space_note: str | None

    @property
    def moved(self) -> int:
        """How many memories moved."""
        return int(np.count_nonzero(self.outcomes == MOVED))


class Runner:
    """Carries out the runs of one namespace, one at a time (the caller sees to that)."""

    def __init__(
        self, store: Store, clock: Clock, reserve: Reserve, enabled: Callable[[], bool]
    ) -> None:
        """`enabled` says whether forgetting is switched on for the namespace."""
        self._enabled = enabled
        self._store = store
        self._clock = clock
        self._reserve = reserve
        self.stopping = threading.Event()
        self.running: str | None = None

    def begin(
        self,
        kind: RunKind,
        trigger: str,
        decisions: Decisions,
        settings: CascadeSettings,
        *,
        plan: Plan | None = None,
        plan_id: str | None = None,
        undoes: str | None = None,
        reason: str | None = None,
        also: Callable[[Transaction, str], None] | None = None,
    ) -> RunHeader:
        """Commit a run with its whole list. `also(tx, run id)` joins the transaction."""
        if self._store.writer.unfinished_run:
            self.finish_interrupted()
        now = self._clock.now_ms()
        header = RunHeader(
            run_id=f"run-{ULID()}",
            kind=kind,
            trigger=trigger,
            planned_at=now if plan is None else plan.now,
            started_at=now,
            settings=asdict(settings) | ({} if reason is None else {"reason": reason}),
            plan_id=plan_id,
            policy=plan.policy.name if plan else None,
            policy_version=plan.policy.version if plan else None,
            undoes=undoes,
        )

        def work(tx: Transaction) -> None:
            journal.begin(tx, header, decisions)
            if also is not None:
                also(tx, header.run_id)

        self._store.writer.unfinished_run = True
        try:
            self.write(work)
        except BaseException:
            self._store.writer.unfinished_run = False
            raise
        return header

    def write(self, work: Callable[[Transaction], object]) -> None:
        """One transaction without which no run goes on: on a full disk it gets the reserve."""
        with_reserve(self._reserve, lambda: self._store.writer.call(work))

    def carry_out(self, header: RunHeader) -> RunResult:
        """Do what the journal still has to do, and give space back.

        Raises RunStopped; and, with the run unfinished for the next start or run, DiskFull,
        ReadOnly (a file could not be written) and EncodeFailed.
        """
        settings = CascadeSettings(
            **{
                name: value
                for name, value in header.settings.items()
                if name in CascadeSettings.__dataclass_fields__
            }
        )
        allowed = None
        if header.kind in POLICY_RUNS:
            live = self._store.columns.counts().total
            allowed = brake_of(settings, live, self.forgotten_in_window()).allowed
        before = self._store.bytes_on_disk()
        self.running = header.run_id
        try:
            Mover(
                self._store,
                self._clock,
                header,
                settings,
                self._reserve,
                self.stopping,
                allowed,
                self._enabled,
            ).carry_out()
            with self._store.readers.view() as connection:
                decisions, outcomes = journal.all_decisions(connection, header.run_id)
                damaged = decisions["rid"][outcomes == OUTCOME_CODE["corrupt"]]
                self._store.findings.corrupt_ids.update(journal.ids_of(connection, damaged))
            note = self._make_room(decisions, outcomes)
        except OSError as error:
            raise disk_error(error) from error
        finally:
            self.running = None
        return RunResult(
            header.run_id, decisions, outcomes, before - self._store.bytes_on_disk(), note
        )

    def finish(self, header: RunHeader, report: bytes, event: str, payload: dict[str, Any]) -> None:
        """Close the run in the ledger, with its report and its event."""

        def work(tx: Transaction) -> None:
            now = self._clock.now_ms()
            journal.finish(tx, header.run_id, now, report)
            events.append(tx.connection, now, event, None, payload, header.run_id)

        self._store.writer.unfinished_run = False
        try:
            self.write(work)
        except BaseException:
            self._store.writer.unfinished_run = True
            raise
        self._reserve.fill()
        self._store.cold_index.wake()

    def finish_interrupted(self) -> list[str]:
        """Finish the runs that a kill cut short; each decision is checked again."""
        with self._store.readers.borrow() as connection:
            run_ids = journal.unfinished(connection)
            headers = [journal.header_of(connection, run_id) for run_id in run_ids]
        self._store.writer.unfinished_run = bool(run_ids)
        for header in headers:
            assert header is not None, "an unfinished run is in the ledger"
            result = self.carry_out(header)
            counts = outcome_counts(result.decisions, result.outcomes)
            payload = {"counts": counts, "interrupted": True}
            event = "forgetting.sweep_completed"
            if header.kind in ("restore", "undo"):
                event = "forgetting.restore_completed"
            self.finish(header, msgspec.json.encode(payload), event, payload)
        return run_ids

    def forgotten_in_window(self) -> int:
        """How many memories runs of a policy forgot in the last 24 hours (and are forgotten)."""
        kinds = ", ".join(f"'{kind}'" for kind in sorted(POLICY_RUNS))
        query = (
            "SELECT count(*) FROM memories m JOIN runs r ON r.run_id = m.moved_run"
            f" WHERE m.forgotten_at > ? AND m.tier = ? AND r.kind IN ({kinds})"
        )
        since = self._clock.now_ms() - BRAKE_WINDOW_MS
        with self._store.readers.borrow() as connection:
            return connection.execute(query, (since, FORGOTTEN)).fetchall()[0][0]

    def oldest_in_window(self) -> int | None:
        """When the oldest memory of the brake's window was forgotten."""
        query = "SELECT min(forgotten_at) FROM memories WHERE forgotten_at > ? AND tier = ?"
        since = self._clock.now_ms() - BRAKE_WINDOW_MS
        with self._store.readers.borrow() as connection:
            return connection.execute(query, (since, FORGOTTEN)).fetchall()[0][0]

    def tier_counts(self) -> TierCounts:
        """The counters and the bytes on disk now."""
        counts = self._store.columns.counts()
        return TierCounts(
            hot=counts.hot,
            cold=counts.cold,
            forgotten=counts.forgotten,
            total=counts.total,
            live_bytes=counts.live_bytes,
            overhead_bytes=max(0, self._store.bytes_on_disk() - counts.live_bytes),
        )

    def _make_room(self, decisions: Decisions, outcomes: Any) -> str | None:
        """Merge segments that are mostly dead, and shrink hot.db where a run emptied it."""
        notes = [compact.merge_dead(self._store, self._clock, self._reserve, self.stopping)]
        left_hot = (
            (outcomes == MOVED) & (decisions["from_tier"] == HOT) & (decisions["to_tier"] != HOT)
        )
        hot = self._store.columns.counts().hot
        hot_before = hot + int(np.count_nonzero(left_hot))
        if search_upkeep.worth_merging(self._store.meta(search_upkeep.DELETED_KEY) or 0, hot):
            with suppress(DiskFull):  # it only saves room and time
                search_upkeep.merge(self._store.writer, self.stopping)
        if hot_before and np.count_nonzero(left_hot) / hot_before >= VACUUM_GAIN_SHARE_MIN:
            notes.append(give_back(self._store.writer, self._store.directory))
        return "; ".join(note for note in notes if note) or None


def outcome_counts(decisions: Decisions, outcomes: Any) -> dict[str, int]:
    """Decisions carried out by action, and skipped ones, derived from the list."""
    counts = {"spill": 0, "forget": 0, "thaw": 0, "restore": 0, "skipped": 0}
    names = tuple(counts)
    for action in range(4):
        moved = (decisions["action"] == action) & (outcomes == MOVED)
        counts[names[action]] = int(np.count_nonzero(moved))
    counts["skipped"] = int(np.count_nonzero(outcomes != MOVED))
    return counts
