"""The life of a daemon: listen, recover, serve, drain, end."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import structlog

from sidecar import __version__
from sidecar.clock import Clock
from sidecar.config import Config
from sidecar.daemon.reload import Reloader
from sidecar.daemon.schedule import effective_schedule
from sidecar.daemon.socket import BoundSocket
from sidecar.limits import DRAIN_SECONDS
from sidecar.rpc.calls import Calls
from sidecar.rpc.context import Context
from sidecar.rpc.dispatch import Dispatcher
from sidecar.rpc.envelope import Envelope
from sidecar.rpc.event_stream import EventStreams
from sidecar.rpc.http import HttpServer
from sidecar.rpc.methods import METHODS
from sidecar.rpc.ports import RegistryPort

IDLE_POLL_SECONDS_MAX: Final = 1.0

_log: Final = structlog.get_logger("sidecar.daemon")

EventSink = Callable[..., None]


class ConfiguredRegistry(RegistryPort, Protocol):
    """A registry whose namespaces follow the config file."""

    @property
    def busy(self) -> bool:
        """Whether a run is under way or something is still to be written."""
        ...

    async def reconfigure(self, config: Config) -> None:
        """Take over what a changed config file orders."""
        ...


class RegistryFactory(Protocol):
    """Makes the registry, inside the running loop."""

    def __call__(
        self, *, state_dir: Path, clock: Clock, config: Config, on_event: EventSink
    ) -> ConfiguredRegistry: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is ready before the loop runs."""

    bound: BoundSocket
    config: Config
    load_config: Callable[[], Config]
    registry_factory: RegistryFactory
    allow_injected_clock: bool
    idle_exit_seconds: float | None
    admin: BoundSocket | None = None


class Daemon:
    """One run of the daemon on a bound socket."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._stop = asyncio.Event()
        self._ready = asyncio.Event()
        self._exit_code = 0
        self._background: set[asyncio.Task[None]] = set()
        clock = Clock(injectable=around.allow_injected_clock)
        self._registry = around.registry_factory(
            state_dir=around.config.daemon.state_dir,
            clock=clock,
            config=around.config,
            on_event=_log_event,
        )
        self._reloader = Reloader(around.config, around.load_config, self._registry.reconfigure)
        self._calls = Calls(Context(self._registry, clock, self._stop.set))
        streams = EventStreams(self._registry)
        main = Dispatcher(METHODS, self._calls, lambda: self._reloader.config.gc.allow_rpc)
        self._http = HttpServer(Envelope(main), streams, self._ready)
        admin = Dispatcher(METHODS, self._calls, is_admin=True)
        self._admin = HttpServer(Envelope(admin), streams, self._ready)

    async def run(self) -> int:
        """Serve until told to stop; the exit code. Raises what recovery raises."""
        self._handle_signals()
        try:
            await self._http.start(self._around.bound.socket)
            if self._around.admin is not None:
                await self._admin.start(self._around.admin.socket)
            else:
                _log.warning(
                    "no admin socket: its path would be too long",
                    remedy="use a shorter path of the socket, or allow_rpc under [gc]",
                )
            _log.info("listening", version=__version__, pid=os.getpid())
            if await self._recover():
                self._ready.set()
                _log.info("ready", schedule=effective_schedule(self._around.config))
                self._spawn(self._reloader.watch())
                if self._around.idle_exit_seconds is not None:
                    self._spawn(self._stop_when_idle(self._around.idle_exit_seconds))
                await self._stop.wait()
        finally:
            await self._drain()
        _log.info("stopped")
        return self._exit_code

    async def _recover(self) -> bool:
        """Finish what was left half done; False where a stop came first."""
        recovering = asyncio.create_task(self._registry.recover())
        stopping = asyncio.create_task(self._stop.wait())
        await asyncio.wait((recovering, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not recovering.done():
            recovering.cancel()
            await asyncio.wait((recovering,))
            return False
        recovering.result()
        return True

    async def _drain(self) -> None:
        _log.info("stopping", callsInFlight=len(self._calls))
        self._calls.refuse()
        self._ready.set()  # what waits for readiness is told that the daemon stops
        for task in self._background:
            task.cancel()
        await self._http.stop_accepting()
        await self._admin.stop_accepting()
        self._close_sockets()
        # Runs are not waited for: closing stops them between two transactions.
        await self._calls.finished(DRAIN_SECONDS, but_runs=True)
        try:
            await self._registry.close_all()
        except Exception as error:
            # What is on disk is whole at any moment; the next start finishes what was cut off.
            _log.error("closing the namespaces failed", exc_info=error)
            self._exit_code = 1
        if not await self._calls.finished(DRAIN_SECONDS):
            _log.warning("calls were cut off", callsInFlight=len(self._calls))
        await self._http.close()
        await self._admin.close()

    def _close_sockets(self) -> None:
        self._around.bound.close()
        if self._around.admin is not None:
            self._around.admin.close()

    async def _stop_when_idle(self, idle_seconds_max: float) -> None:
        worked_at = time.monotonic()
        while not self._stop.is_set():
            await asyncio.sleep(min(IDLE_POLL_SECONDS_MAX, idle_seconds_max / 4))
            if len(self._calls) or self._registry.busy:
                worked_at = time.monotonic()
            idle_seconds = min(
                self._http.idle_seconds(),
                self._admin.idle_seconds(),
                time.monotonic() - worked_at,
            )
            if idle_seconds >= idle_seconds_max:
                _log.info("nobody is connected", idleSeconds=idle_seconds_max)
                self._stop.set()

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop_signal, number)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)

    def _on_stop_signal(self, number: int) -> None:
        if self._stop.is_set():
            _log.warning("stopping at once", signal=signal.Signals(number).name)
            self._close_sockets()
            os._exit(1)
        _log.info("signal", signal=signal.Signals(number).name)
        self._stop.set()

    def _on_hangup(self) -> None:
        self._spawn(self._reload())

    async def _reload(self) -> None:
        if not await self._reloader.reload():
            _log.info("config unchanged")

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._background.add(task)
        task.add_done_callback(self._on_background_end)

    def _on_background_end(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a background task failed", exc_info=error)


def _log_event(namespace: str, kind: str, payload: Any = None) -> None:
    """Events hold ids, kinds and numbers, never content."""
    _log.info("event", namespace=namespace, kind=kind, payload=payload)
