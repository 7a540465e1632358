"""Carries out single calls: how many at once, how long one waits, and how they end at a stop."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import structlog

from sidecar.errors import DeadlineExceeded, ForgetdError, Overloaded, ShuttingDown
from sidecar.idempotency import Key, carry, conflict
from sidecar.limits import CALLS_IN_FLIGHT_MAX
from sidecar.rpc.context import Context
from sidecar.rpc.keys import take_key
from sidecar.rpc.method import Method
from sidecar.rpc.params import by_name, convert

_ENCODER: Final = msgspec.json.Encoder()
_log: Final = structlog.get_logger("sidecar.rpc")


class Calls:
    """All calls in flight. A call outlives its deadline and its caller's connection."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._tasks: dict[asyncio.Task[msgspec.Raw], Method] = {}
        self._keyed: dict[tuple[str, str], tuple[Key, asyncio.Task[msgspec.Raw]]] = {}
        self._refusing = False

    def __len__(self) -> int:
        return len(self._tasks)

    async def run(
        self, method: Method, given: Mapping[str, object] | Sequence[object]
    ) -> msgspec.Raw:
        """The encoded result of one call.

        A call with the idempotency key of one in flight is that one, and waits with it. Raises
        InvalidParams, Overloaded, ShuttingDown, DeadlineExceeded (the call goes on),
        IdempotencyConflict, and whatever the handler raises.
        """
        if self._refusing:
            raise ShuttingDown(remedy="call again when the daemon has started")
        if len(self._tasks) >= CALLS_IN_FLIGHT_MAX:
            raise Overloaded(
                bound=f"{CALLS_IN_FLIGHT_MAX} calls at once",
                remedy="wait for answers, then call again; putMany and getMany take many at once",
            )
        named, key = take_key(method, by_name(given, method.positional))
        params = convert(named, method.params)
        task = self._begin(method, params) if key is None else self._once(method, params, key)
        await asyncio.wait((task,), timeout=method.deadline_seconds)
        if not task.done():
            task.add_done_callback(_log_late_end)
            raise DeadlineExceeded(
                bound=f"{method.deadline_seconds:g} seconds",
                remedy="the call goes on; look what became of it by runs.list or memory.get, or"
                " send it again with the idempotencyKey that it had",
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

    def _begin(
        self, method: Method, params: Any, key: Key | None = None
    ) -> asyncio.Task[msgspec.Raw]:
        task = asyncio.create_task(self._answer(method, params, key), name=method.name)
        self._tasks[task] = method
        task.add_done_callback(self._tasks.pop)
        return task

    def _once(self, method: Method, params: Any, key: Key) -> asyncio.Task[msgspec.Raw]:
        """The call in flight with this key, or a new one."""
        place = (params.namespace, key.value)
        known, task = self._keyed.get(place, (key, None))
        if known != key:
            raise conflict()
        if task is None:
            task = self._begin(method, params, key)
            self._keyed[place] = key, task
            task.add_done_callback(lambda _: self._keyed.pop(place))
        return task

    async def _answer(self, method: Method, params: Any, key: Key | None) -> msgspec.Raw:
        if key is not None:
            namespace = await self.context.existing(params.namespace)
            kept = None if namespace is None else await namespace.reply_of(key)
            if kept is not None:
                return msgspec.Raw(kept)
            carry(key)
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
