"""What a simulation of the days to come answers."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from sidecar.reports import Pause

Value = bool | int | float


class SimulationRequest(Struct, frozen=True):
    """What a caller wants to know. `thresholds` (parsed, by wire name) count as set just now."""

    days: int
    arrivals_per_day: int | None
    policy: str | None
    thresholds: Mapping[str, Value | None]


class SimulatedCounts(Struct, rename="camel", kw_only=True):
    """Memories by tier and live bytes at one instant of a simulation."""

    hot: int
    cold: int
    forgotten: int
    total: int
    live_bytes: int


class SimulatedMoves(Struct, rename="camel", kw_only=True):
    """How many memories arrived, and what became of memories.

    Sweeps spill and forget, cycles fade and prune; what is pruned is forgotten too.
    """

    arrived: int
    spilled: int
    forgotten: int
    faded: int
    pruned: int


class SimulatedDay(Struct, rename="camel", kw_only=True):
    """One day: what happened until `at` (ms), and what is there then.

    `crossed` names the thresholds that were crossed: count, total, disk. `braked`: the brake
    stopped a run, or automatic forgetting waited for it. `pressure`: nothing more was weak enough.
    """

    day: int
    at: int
    moved: SimulatedMoves
    after: SimulatedCounts
    crossed: list[str]
    braked: bool
    pressure: bool


class FirstCrossing(Struct, rename="camel", kw_only=True):
    """When a threshold is crossed first; day 0 is now."""

    threshold: Literal["count", "total", "disk"]
    day: int
    at: int


class SimulationReport(Struct, rename="camel", kw_only=True):
    """The answer of simulate.

    `arrivalsMeasured`: the call named no rate, and it is that of the memories that are here.
    `arrivalKinds` is how many of the newest memories the arrivals are like. `paused` is what
    holds automatic runs back when the simulation begins.
    """

    namespace: str
    now: int
    days: int
    arrivals_per_day: int
    arrivals_measured: bool
    arrival_kinds: int
    policy: str
    policy_version: str
    thresholds: dict[str, Any]
    cycle_enabled: bool
    paused: list[Pause]
    before: SimulatedCounts
    first_crossed: list[FirstCrossing]
    totals: SimulatedMoves
    per_day: list[SimulatedDay]
    duration_ms: float
