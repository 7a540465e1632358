"""Simulating from what a namespace stands at: the report of its days to come. Blocks."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sidecar.errors import InvalidParams, ShuttingDown
from sidecar.limits import (
    MILLISECONDS_PER_DAY,
    SIMULATED_MEMORIES_MAX,
    SIMULATED_RATE_DAYS,
)
from sidecar.plan.arrivals import arrivals_like, no_memories
from sidecar.plan.detector import ENDLESS, Holds
from sidecar.plan.plan import Counts, Snapshot
from sidecar.plan.policies import POLICY_DEFAULT, policy_named
from sidecar.plan.simulate import Moves, Simulation, Standing, simulate
from sidecar.reports import Pause
from sidecar.simulation_reports import (
    FirstCrossing,
    SimulatedCounts,
    SimulatedDay,
    SimulatedMoves,
    SimulationReport,
    SimulationRequest,
)
from sidecar.thresholds import DEFAULTS, Value, settings, thresholds_from


@dataclass(frozen=True, slots=True)
class Start:
    """A namespace at the instant from which it is simulated."""

    namespace: str
    snapshot: Snapshot
    standing: Standing
    thresholds: Mapping[str, Value]
    paused: tuple[Pause, ...] = ()


def simulation_of_nothing(
    namespace: str, request: SimulationRequest, *, now: int, estimator: str
) -> SimulationReport:
    """The days to come of a namespace that does not exist yet, with the defaults."""
    enabled = thresholds_from(request.thresholds).forget_enabled
    standing = Standing(
        now=now,
        settings=settings(request.thresholds),
        policy=policy_named(request.policy or POLICY_DEFAULT, estimator),
        holds=Holds() if enabled else Holds(paused_until=ENDLESS),
    )
    start = Start(namespace, no_memories(), standing, in_force({}, request))
    return report_of(start, request, lambda: True)


def in_force(given: Mapping[str, Value], request: SimulationRequest) -> dict[str, Value]:
    """Every option by wire name, as it is simulated."""
    wanted = {
        name: DEFAULTS[name] if value is None else value
        for name, value in request.thresholds.items()
    }
    return {**DEFAULTS, **given, **wanted}


def report_of(
    start: Start, request: SimulationRequest, proceed: Callable[[], bool]
) -> SimulationReport:
    """The days to come from a start on; `proceed` is asked often, False ends it.

    Raises InvalidParams, and ShuttingDown where it was ended.
    """
    started, standing = time.monotonic(), start.standing
    per_day = request.arrivals_per_day
    if per_day is None:
        per_day = _measured_rate(start.snapshot, standing.now)
    _refuse_too_many(len(start.snapshot), request.days, per_day)
    arrivals = arrivals_like(start.snapshot, standing.now)
    result = simulate(
        start.snapshot,
        arrivals,
        standing,
        days=request.days,
        arrivals_per_day=per_day,
        proceed=proceed,
    )
    if result is None:
        raise ShuttingDown
    return SimulationReport(
        namespace=start.namespace,
        now=standing.now,
        days=request.days,
        arrivals_per_day=per_day,
        arrivals_measured=request.arrivals_per_day is None,
        arrival_kinds=len(arrivals),
        policy=standing.policy.name,
        policy_version=standing.policy.version,
        thresholds=dict(start.thresholds),
        cycle_enabled=standing.timer is not None,
        paused=list(start.paused),
        before=_counts(result.before),
        first_crossed=[
            FirstCrossing(threshold=name, day=day, at=at)
            for name, (day, at) in result.first_crossed.items()
        ],
        totals=_moves(result.totals),
        per_day=_days(result),
        duration_ms=round((time.monotonic() - started) * 1000, 3),
    )


def _measured_rate(snapshot: Snapshot, now: int) -> int:
    """How many memories a day were made in the last SIMULATED_RATE_DAYS and are here, rounded up.

    Of a younger namespace, since its first memory, but at least one day.
    """
    made = snapshot.created_at[snapshot.created_at <= now]
    if len(made) == 0:
        return 0
    days = (now - int(made.min())) / MILLISECONDS_PER_DAY
    days = min(SIMULATED_RATE_DAYS, max(1.0, days))
    recent = int(np.count_nonzero(made > now - days * MILLISECONDS_PER_DAY - 1))
    return math.ceil(recent / days)


def _refuse_too_many(live: int, days: int, per_day: int) -> None:
    if live + days * per_day > SIMULATED_MEMORIES_MAX:
        room = max(0, SIMULATED_MEMORIES_MAX - live)
        raise InvalidParams(
            f"{days} days of {per_day} arrivals are too many memories to simulate",
            field="$.arrivalsPerDay",
            bound=f"at most {SIMULATED_MEMORIES_MAX} memories, the {live} that are here included",
            remedy=f"simulate fewer days, or at most {room // days} arrivals a day",
        )


def _days(result: Simulation) -> list[SimulatedDay]:
    return [
        SimulatedDay(
            day=one.day,
            at=one.at,
            moved=_moves(one.moves),
            after=_counts(one.after),
            crossed=[name for name in ("count", "total", "disk") if name in one.crossed],
            braked=one.braked,
            pressure=one.pressure,
        )
        for one in result.days
    ]


def _moves(moves: Moves) -> SimulatedMoves:
    return SimulatedMoves(
        arrived=moves.arrived,
        spilled=moves.spilled,
        forgotten=moves.forgotten,
        faded=moves.faded,
        pruned=moves.pruned,
    )


def _counts(counts: Counts) -> SimulatedCounts:
    return SimulatedCounts(
        hot=counts.hot,
        cold=counts.cold,
        forgotten=counts.forgotten,
        total=counts.total,
        live_bytes=counts.live_bytes,
    )
