"""Carries out single calls: how many at once, how long one waits, and how they end at a stop."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import structlog

from sidecar.errors import DeadlineExceeded, ForgetdError, Overloaded, ShuttingDown
from sidecar.limits import CALLS_IN_FLIGHT_MAX
from sidecar.rpc.context import Context
from sidecar.rpc.method import Method
from sidecar.rpc.params import by_name, convert

_ENCODER: Final = msgspec.json.Encoder()
_log: Final = structlog.get_logger("sidecar.rpc")


class Calls:
    """All calls in flight. A call outlives its deadline and its caller's connection."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._tasks: dict[asyncio.Task[msgspec.Raw], Method] = {}
        self._refusing = False

    def __len__(self) -> int:
        return len(self._tasks)

    async def run(
        self, method: Method, given: Mapping[str, object] | Sequence[object]
    ) -> msgspec.Raw:
        """The encoded result of one call.

        Raises InvalidParams, Overloaded, ShuttingDown, DeadlineExceeded (the call goes on), and
        whatever the handler raises.
        """
        if self._refusing:
            raise ShuttingDown(remedy="call again when the daemon has started")
        if len(self._tasks) >= CALLS_IN_FLIGHT_MAX:
            raise Overloaded(
                bound=f"{CALLS_IN_FLIGHT_MAX} calls at once",
                remedy="wait for answers, then call again; putMany and getMany take many at once",
            )
        params = convert(by_name(given, method.positional), method.params)
        task = asyncio.create_task(self._answer(method, params), name=method.name)
        self._tasks[task] = method
        task.add_done_callback(self._tasks.pop)
        await asyncio.wait((task,), timeout=method.deadline_seconds)
        if not task.done():
            task.add_done_callback(_log_late_end)
            raise DeadlineExceeded(
                bound=f"{method.deadline_seconds:g} seconds",
                remedy="the call goes on; look what became of it by runs.list or memory.get",
            )
        if task.cancelled():
            # Not the caller's wish, who would wait for an answer for ever.
            raise RuntimeError(f"{method.name} was cancelled from within")
        return task.result()

    def refuse(self) -> None:
        """From now on every new call is answered with ShuttingDown."""
        self._refusing = True

    async def finished(self, timeout_seconds: float, *, but_runs: bool = False) -> bool:
        """Wait for the calls in flight, or for those that are no runs; False: some go on."""
        waited = [t for t, method in self._tasks.items() if not (but_runs and method.is_run)]
        if not waited:
            return True
        _, pending = await asyncio.wait(waited, timeout=timeout_seconds)
        return not pending

    async def _answer(self, method: Method, params: Any) -> msgspec.Raw:
        return msgspec.Raw(_ENCODER.encode(await method.handler(self.context, params)))


def _log_late_end(task: asyncio.Task[msgspec.Raw]) -> None:
    if task.cancelled():
        return
    error = task.exception()
    if error is None:
        _log.info("a call ended after its deadline", method=task.get_name())
    elif isinstance(error, ForgetdError):
        _log.warning(
            "a call failed after its deadline", method=task.get_name(), symbol=error.symbol
        )
    else:
        _log.error("a call failed after its deadline", method=task.get_name(), exc_info=error)
