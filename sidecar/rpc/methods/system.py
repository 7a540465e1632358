"""system.*: the daemon about itself. No answer names a path."""

import os
import time
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from sidecar import PROTOCOL_VERSION, __version__, limits
from sidecar.errors import ClockNotInjectable, MemoryFault, ServerError
from sidecar.limits import CLOCK_MAX_MS, TIME_MIN_MS
from sidecar.reports import NamespaceStatus
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods, NoParams
from sidecar.rpc.params import Params

methods: Final = Methods()


class StatusParams(Params, kw_only=True):
    """Whether every namespace is asked for."""

    all: bool = False


class ClockParams(Params, kw_only=True):
    """The time to hold the clock at."""

    now: Annotated[int, Meta(ge=TIME_MIN_MS, le=CLOCK_MAX_MS)] | None = None


class Unavailable(Struct, rename="camel", kw_only=True):
    """A namespace that cannot be opened now, and why."""

    namespace: str
    symbol: str
    message: str
    remedy: str | None


class SystemStatus(Struct, rename="camel", kw_only=True):
    """The daemon and the namespaces asked for; none where the namespace does not exist."""

    version: str
    protocol_version: int
    pid: int
    uptime_seconds: float
    now: int
    clock_held: bool
    namespaces: list[NamespaceStatus]
    unavailable: list[Unavailable]


class ClockReport(Struct, rename="camel", kw_only=True):
    """The daemon's time in milliseconds, whether a caller holds it, and whether one may."""

    now: int
    held: bool
    injectable: bool


class StopReport(Struct, rename="camel", kw_only=True):
    """The daemon answers the calls it has, and ends."""

    stopping: bool


@methods.add(
    "system.status",
    params=StatusParams,
    result=SystemStatus,
)
async def status(context: Context, params: StatusParams) -> SystemStatus:
    """The daemon, and one namespace or with `all` every one: counts, pauses, alarms."""
    names = [params.namespace]
    if params.all:
        names = [listing.namespace for listing in context.registry.names()]
    found: list[NamespaceStatus] = []
    unavailable: list[Unavailable] = []
    for name in names:
        try:
            namespace = await context.existing(name)
            if namespace is not None:
                found.append(await namespace.status())
        except (ServerError, MemoryFault) as error:
            remedy: str | None = error.data.get("remedy")
            unavailable.append(
                Unavailable(
                    namespace=name, symbol=error.symbol, message=error.message, remedy=remedy
                )
            )
    return SystemStatus(
        version=__version__,
        protocol_version=PROTOCOL_VERSION,
        pid=os.getpid(),
        uptime_seconds=round(time.monotonic() - context.started_at, 3),
        now=context.clock.now_ms(),
        clock_held=context.clock.held,
        namespaces=found,
        unavailable=unavailable,
    )


@methods.add(
    "system.limits",
    params=NoParams,
    result=dict[str, float],
)
async def get_limits(context: Context, params: NoParams) -> dict[str, Any]:
    """Every bound of the daemon by name; the unit is the name's last word."""
    return {
        _camel(name): value
        for name, value in vars(limits).items()
        if name.isupper() and isinstance(value, int | float)
    }


@methods.add(
    "system.clock",
    params=ClockParams,
    result=ClockReport,
    writes=True,
    errors=(ClockNotInjectable,),
)
async def clock(context: Context, params: ClockParams) -> ClockReport:
    """The daemon's time; `now` holds it there, if serve allowed that."""
    if params.now is not None:
        if not context.clock.injectable:
            raise ClockNotInjectable(
                field="$.now",
                remedy="start the daemon with serve --allow-injected-clock, for tests and demos",
            )
        context.clock.hold(params.now)
    return ClockReport(
        now=context.clock.now_ms(),
        held=context.clock.held,
        injectable=context.clock.injectable,
    )


@methods.add(
    "system.stop",
    params=NoParams,
    result=StopReport,
    writes=True,
)
async def stop(context: Context, params: NoParams) -> StopReport:
    """Finish the calls in flight, stop runs between transactions, and end."""
    context.stop()
    return StopReport(stopping=True)


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(word.capitalize() for word in rest)
