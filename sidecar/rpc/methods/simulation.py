"""simulate."""

import asyncio
from functools import partial
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from sidecar.errors import PolicyUnknown
from sidecar.estimate import ESTIMATOR_VERSION
from sidecar.limits import (
    SIMULATED_DAYS_DEFAULT,
    SIMULATED_DAYS_MAX,
    SIMULATED_MEMORIES_PER_DAY_MAX,
)
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.params import Params
from sidecar.simulating import simulation_of_nothing
from sidecar.simulation_reports import SimulationReport, SimulationRequest
from sidecar.thresholds import parse_thresholds

methods: Final = Methods()


class SimulateParams(Params, kw_only=True):
    """How many days, how many memories arrive a day, and what would be set."""

    days: Annotated[int, Meta(ge=1, le=SIMULATED_DAYS_MAX)] = SIMULATED_DAYS_DEFAULT
    arrivals_per_day: Annotated[int, Meta(ge=0, le=SIMULATED_MEMORIES_PER_DAY_MAX)] | None = None
    policy: str | None = None
    thresholds: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


@methods.add(
    "simulate",
    params=SimulateParams,
    result=SimulationReport,
    is_run=True,
    errors=(PolicyUnknown,),
)
async def simulate(context: Context, params: SimulateParams) -> SimulationReport:
    """Tell what automatic runs would do in the days to come; nothing changes."""
    request = SimulationRequest(
        days=params.days,
        arrivals_per_day=params.arrivals_per_day,
        policy=params.policy,
        thresholds=parse_thresholds(params.thresholds),
    )
    namespace = await context.existing(params.namespace)
    if namespace is not None:
        return await namespace.simulate(request=request)
    return await asyncio.to_thread(
        partial(
            simulation_of_nothing,
            params.namespace,
            request,
            now=context.clock.now_ms(),
            estimator=ESTIMATOR_VERSION,
        )
    )
