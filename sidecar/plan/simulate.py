"""The days to come of a namespace: what arrives, and what automatic runs then do.

A day has steps of one hour. In each, time passes, a share of the day's memories arrives, and a
cycle runs where the timer would run one; after each of these the detector starts what is due,
until nothing is. Plans are those of the planner, and carried out in full; what is due, and how
long a run that made no progress is waited for, is decided by the rules of the detector.

Nothing else happens: no memory is recalled, thawed, restored, linked, held or destroyed, no setting
changes, and a cycle looks for no duplicates.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from sidecar.errors import InvalidParams
from sidecar.limits import (
    BRAKE_WINDOW_MS,
    MILLISECONDS_PER_DAY,
    SIMULATED_MEMORIES_PLANNED_MAX,
    SIMULATED_STEP_MS,
)
from sidecar.plan.arrivals import Arrivals
from sidecar.plan.cascade import plan_cascade
from sidecar.plan.cycle import plan_cycle
from sidecar.plan.cycle_settings import CycleSettings
from sidecar.plan.detector import (
    FORGETTING,
    SPILLING,
    STAGES,
    Backoff,
    Crossable,
    Holds,
    crossed_thresholds,
    due_stages,
)
from sidecar.plan.plan import CascadeSettings, Counts, Policy, Snapshot
from sidecar.plan.simulated_store import SimulatedStore

STEPS_PER_DAY: Final = MILLISECONDS_PER_DAY // SIMULATED_STEP_MS


@dataclass(frozen=True, slots=True)
class Timer:
    """The cycles that a timer runs: their settings, their distance, and the last one (ms)."""

    settings: CycleSettings
    interval_ms: float
    last_at: int | None


@dataclass(frozen=True, slots=True)
class Taking:
    """What a run took at `at` (ms) that counts for the brake.

    How many it forgot, and the row numbers of what it archived: these count as long as they are
    live, for once they are forgotten whoever forgets them counts them.
    """

    at: int
    forgotten: int
    archived: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """What a namespace stands at besides its memories, at `now` (ms).

    `backoff` has (until, length) in ms of each stage that is waited for; `takings` what counts for
    the brake; `forgotten` is the count of the forgotten tier. `timer` is None where no cycles run
    by themselves.
    """

    now: int
    settings: CascadeSettings
    policy: Policy
    timer: Timer | None = None
    holds: Holds = field(default_factory=Holds)
    backoff: Mapping[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    takings: tuple[Taking, ...] = ()
    forgotten: int = 0


@dataclass(slots=True)
class Moves:
    """How many memories came, and what became of memories. `forgotten` are those of sweeps."""

    arrived: int = 0
    spilled: int = 0
    forgotten: int = 0
    faded: int = 0
    pruned: int = 0

    def add(self, other: "Moves") -> None:
        """Count what another counted too."""
        self.arrived += other.arrived
        self.spilled += other.spilled
        self.forgotten += other.forgotten
        self.faded += other.faded
        self.pruned += other.pruned


@dataclass(slots=True)
class Day:
    """One day, until `at` (ms): what happened in it, and what is there at its end.

    `crossed` are the thresholds above which the counts came or were. `braked`: the brake stopped
    a run, or one that it had stopped was waited for. `pressure`: a sweep found nothing more that
    is weak enough.
    """

    day: int
    at: int
    after: Counts
    moves: Moves = field(default_factory=Moves)
    crossed: set[Crossable] = field(default_factory=set[Crossable])
    braked: bool = False
    pressure: bool = False


@dataclass(frozen=True, slots=True)
class Simulation:
    """Every day in order. `first_crossed` has (day, when in ms) of the thresholds crossed."""

    before: Counts
    days: tuple[Day, ...]
    first_crossed: Mapping[Crossable, tuple[int, int]]
    totals: Moves
    store: SimulatedStore


def simulate(
    snapshot: Snapshot,
    arrivals: Arrivals,
    standing: Standing,
    *,
    days: int,
    arrivals_per_day: int,
    proceed: Callable[[], bool] = lambda: True,
) -> Simulation | None:
    """Simulate `days` days from a snapshot on. Equal input, equal answer.

    `proceed` is asked at each step; where it says no, the answer is None. Raises InvalidParams
    where this takes longer than it may.
    """
    run = _Run(snapshot, arrivals, standing)
    before = run.store.counts()
    run.note_crossed(0, standing.now)
    done: list[Day] = []
    totals = Moves()
    for number in range(1, days + 1):
        start = standing.now + (number - 1) * MILLISECONDS_PER_DAY
        day = run.day = Day(number, start + MILLISECONDS_PER_DAY, run.store.counts())
        for step in range(1, STEPS_PER_DAY + 1):
            if not proceed():
                return None
            run.step(start + step * SIMULATED_STEP_MS, arriving(arrivals_per_day, step))
        day.after = run.store.counts()
        totals.add(day.moves)
        done.append(day)
    return Simulation(before, tuple(done), run.first_crossed, totals, run.store)


def arriving(arrivals_per_day: int, step: int) -> int:
    """How many memories arrive at a step of a day, counted from 1."""
    until, before = (arrivals_per_day * n // STEPS_PER_DAY for n in (step, step - 1))
    return until - before


class _Run:
    """A simulation under way."""

    def __init__(self, snapshot: Snapshot, arrivals: Arrivals, standing: Standing) -> None:
        self.store = SimulatedStore(snapshot, standing.forgotten)
        self.first_crossed: dict[Crossable, tuple[int, int]] = {}
        self.day = Day(0, standing.now, self.store.counts())
        self._arrivals = arrivals
        self._standing = standing
        self._holds = standing.holds
        self._backoff = {stage: Backoff(*standing.backoff.get(stage, (0, 0))) for stage in STAGES}
        self._takings = list(standing.takings)
        self._cycled_at = standing.timer.last_at if standing.timer else None
        self._rows_planned = 0

    def step(self, now: int, arrivals: int) -> None:
        """Let it become `now` (ms), and so many memories arrive."""
        self.note_crossed(self.day.day, now)
        self._sweep_while_due(now)
        if arrivals:
            self.store.arrive(self._arrivals, arrivals, now)
            self.day.moves.arrived += arrivals
            self.note_crossed(self.day.day, now)
            self._sweep_while_due(now)
        if self._cycle_due(now):
            self._cycle(now)
            self._sweep_while_due(now)

    def note_crossed(self, day: int, now: int) -> None:
        """Remember which thresholds are crossed, and since when."""
        for name in crossed_thresholds(self.store.counts(), self._standing.settings):
            self.day.crossed.add(name)
            self.first_crossed.setdefault(name, (day, now))

    def _sweep_while_due(self, now: int) -> None:
        while True:
            crossed = crossed_thresholds(self.store.counts(), self._standing.settings)
            due = due_stages(crossed, self._backoff, self._holds, now)
            if not due:
                self.day.braked |= bool(crossed) and self._holds.braked_until > now
                return
            self._sweep(due, now)

    def _sweep(self, due: tuple[int, ...], now: int) -> None:
        """One automatic sweep, judged as the daemon judges it."""
        snapshot = self._planned_from()
        forgotten_in_window, archived_in_window = self._window(snapshot, now)
        plan = plan_cascade(
            snapshot,
            self._standing.settings,
            now=now,
            policy=self._standing.policy,
            run_stage_one=SPILLING in due,
            run_stage_two=FORGETTING in due,
            forgotten_in_window=forgotten_in_window,
            archived_in_window=archived_in_window,
            forgotten_total=self.store.counts().forgotten,
        )
        spilled, forgotten = self.store.carry_out(plan)
        self.day.moves.spilled += spilled
        self.day.moves.forgotten += forgotten
        self._take(forgotten, now)
        forgetting = plan.stages[FORGETTING - 1]
        if SPILLING in due:
            self._backoff[SPILLING].judge(spilled > 0, now)
        if FORGETTING not in due:
            return
        if forgetting.braked:
            self.day.braked = True
            oldest = min((one.at for one in self._takings), default=now)
            self._holds = Holds(
                paused_until=self._holds.paused_until,
                braked_until=oldest + BRAKE_WINDOW_MS,
                stage_two_not_before=self._holds.stage_two_not_before,
            )
            return
        short = forgetting.shortfall_memories > 0 or forgetting.shortfall_bytes > 0
        self.day.pressure |= short
        self._backoff[FORGETTING].judge(forgotten > 0 and not short, now)

    def _cycle_due(self, now: int) -> bool:
        timer = self._standing.timer
        if timer is None or not self._holds.allow(now):
            return False
        return self._cycled_at is None or now - self._cycled_at >= timer.interval_ms

    def _cycle(self, now: int) -> None:
        assert self._standing.timer is not None, "a cycle is due only by a timer"
        snapshot = self._planned_from()
        forgotten_in_window, archived_in_window = self._window(snapshot, now)
        plan = plan_cycle(
            snapshot,
            self._standing.timer.settings,
            self._standing.settings,
            now=now,
            forgotten_in_window=forgotten_in_window,
            archived_in_window=archived_in_window,
        )
        faded, pruned = self.store.carry_out_cycle(plan)
        self.day.moves.faded += faded
        self.day.moves.pruned += pruned
        self.day.braked |= plan.brake.engaged
        self._take(pruned, now)
        self._cycled_at = now

    def _take(self, count: int, now: int) -> None:
        """Count for the brake what was forgotten, as long as its day lasts."""
        if count:
            self._takings.append(Taking(now, count))

    def _window(self, snapshot: Snapshot, now: int) -> tuple[int, int]:
        """What counts for the brake at `now`, and how many of it are only archived."""
        self._takings = [one for one in self._takings if one.at > now - BRAKE_WINDOW_MS]
        archived = [rid for one in self._takings for rid in one.archived]
        live = int(np.count_nonzero(np.isin(archived, snapshot.rid))) if archived else 0
        return sum(one.forgotten for one in self._takings) + live, live

    def _planned_from(self) -> Snapshot:
        """The snapshot of a plan; it counts for what may be planned in all."""
        snapshot = self.store.snapshot()
        self._rows_planned += len(snapshot)
        if self._rows_planned > SIMULATED_MEMORIES_PLANNED_MAX:
            raise InvalidParams(
                f"The simulation takes too long: it came to day {self.day.day}",
                field="$.days",
                bound=f"plans over at most {SIMULATED_MEMORIES_PLANNED_MAX} memories together",
                remedy=f"simulate fewer than {max(1, self.day.day)} days",
            )
        return snapshot
