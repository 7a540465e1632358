"""All namespaces of one state directory: opened when asked for, closed when idle."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from sidecar.clock import Clock
from sidecar.config import Config
from sidecar.errors import (
    ForgetdError,
    InvalidParams,
    NamespaceConflict,
    NamespaceNotFound,
    NamespacesExhausted,
    ShuttingDown,
)
from sidecar.estimate import Estimator, NeutralEstimator
from sidecar.limits import (
    NAMESPACE_IDLE_SECONDS,
    NAMESPACE_NAME_BYTES_MAX,
    NAMESPACES_OPEN_MAX,
    SWEEP_TIMER_SECONDS,
)
from sidecar.namespace import Namespace
from sidecar.reports import NamespaceListing
from sidecar.store.commits import RUN_UNFINISHED, THRESHOLD_CROSSED, read_counts
from sidecar.store.space import Reserve
from sidecar.threads import Threads

_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAMESPACE_NAME_BYTES_MAX - 1}}}")
FOLDER: Final = "namespaces"
RESERVE_NAME: Final = "reserve"

# Hears (namespace, kind, payload) of what happens, for the log.
EventSink = Callable[[str, str, Mapping[str, Any] | None], None]

log = structlog.get_logger("forgetd.registry")


class Registry:
    """Finds, opens and closes namespaces. Lives on the event loop."""

    def __init__(
        self,
        state_dir: Path,
        clock: Clock,
        config: Config,
        on_event: EventSink | None = None,
        estimator: Estimator | None = None,
    ) -> None:
        """`on_event` hears what the registry does, for the log."""
        self._root = state_dir / FOLDER
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._clock = clock
        self._config = config
        self._on_event = on_event
        self._estimator = estimator or NeutralEstimator()
        self._reserve = Reserve(state_dir / RESERVE_NAME)
        self._threads = Threads()
        self._open: dict[str, Namespace] = {}
        self._used_at: dict[str, float] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._timer: asyncio.Task[None] | None = None
        self._closing = False
        clock.when_held(self.wake)

    async def recover(self) -> None:
        """Open each namespace that was not closed cleanly; opening finishes what was begun.

        A namespace that cannot be opened is logged, and refuses its own calls only.
        """
        self._reserve.fill()
        for name in self._names():
            if self._needs_opening(name, RUN_UNFINISHED) or self._has_log(name):
                await self._try_open(name)
        self._timer = asyncio.create_task(self._tick())

    async def open(self, name: str, create: bool) -> Namespace:
        """The namespace, made if it is absent and `create`.

        Raises InvalidParams, NamespaceNotFound, NamespaceConflict, NamespacesExhausted.
        """
        check_name(name)
        if self._closing:
            raise ShuttingDown
        known = self._open.get(name)
        if known is None:
            known = await self._open_locked(name, create)
        self._used_at[name] = time.monotonic()
        return known

    def names(self) -> list[NamespaceListing]:
        """Every namespace there is, with its memories by tier as last counted."""
        listings: list[NamespaceListing] = []
        for name in self._names():
            opened = self._open.get(name)
            counts = opened.store.columns.counts() if opened else None
            stored = None if counts else read_counts(self._root / name / "commits")
            shown = counts or stored
            listings.append(
                NamespaceListing(
                    namespace=name,
                    open=opened is not None,
                    hot=shown.hot if shown else 0,
                    cold=shown.cold if shown else 0,
                    forgotten=shown.forgotten if shown else 0,
                )
            )
        return listings

    async def reconfigure(self, config: Config) -> None:
        """Take over thresholds of a changed config file in every open namespace."""
        self._config = config
        for name, namespace in list(self._open.items()):
            await namespace.reconfigure(config.thresholds_for(name))

    def wake(self) -> None:
        """Let every open namespace look at its thresholds now (the clock was set)."""
        for namespace in self._open.values():
            if namespace.automatic is not None:
                namespace.automatic.notify()

    async def close_all(self) -> None:
        """Stop runs between transactions, finish writes, checkpoint, close everything."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        for lock in list(self._locks.values()):
            async with lock:
                pass
        for name in list(self._open):
            await self._open.pop(name).close()
        self._threads.close()

    async def _open_locked(self, name: str, create: bool) -> Namespace:
        async with self._locks.setdefault(name, asyncio.Lock()):
            if name in self._open:
                return self._open[name]
            directory = self._root / name
            if not directory.is_dir():
                self._refuse_same_letters(name)
                if not create:
                    raise NamespaceNotFound(
                        field="$.namespace",
                        remedy="write into it or call namespaces.open to make it",
                    )
            await self._make_room()
            directory.mkdir(mode=0o700, exist_ok=True)
            namespace = await Namespace.open(
                name,
                directory,
                self._clock,
                self._estimator,
                self._config.thresholds_for(name),
                self._reserve,
                self._threads,
            )
            self._open[name] = namespace
            self._tell(name, "namespace.opened")
            return namespace

    async def _make_room(self) -> None:
        """Close the longest unused namespace where too many are open."""
        if len(self._open) < NAMESPACES_OPEN_MAX:
            return
        for name in sorted(self._open, key=lambda one: self._used_at.get(one, 0.0)):
            if not self._open[name].busy:
                await self._close(name)
                return
        raise NamespacesExhausted(
            bound=f"at most {NAMESPACES_OPEN_MAX} open namespaces",
            remedy="wait until one is idle, or use fewer namespaces",
        )

    async def _close(self, name: str) -> None:
        async with self._locks.setdefault(name, asyncio.Lock()):
            namespace = self._open.pop(name, None)
            if namespace is not None:
                await namespace.close()
                self._tell(name, "namespace.closed")

    async def _tick(self) -> None:
        """Idle namespaces are swept too: those whose stored counters say so are opened."""
        while True:
            await asyncio.sleep(SWEEP_TIMER_SECONDS)
            self._reserve.fill()
            for name in self._names():
                namespace = self._open.get(name)
                if namespace is None:
                    if self._needs_opening(name, RUN_UNFINISHED | THRESHOLD_CROSSED):
                        await self._try_open(name)
                    continue
                if namespace.automatic is not None:
                    namespace.automatic.notify()
                idle = time.monotonic() - self._used_at.get(name, 0.0) > NAMESPACE_IDLE_SECONDS
                if idle and not namespace.busy:
                    await self._close(name)

    async def _try_open(self, name: str) -> None:
        try:
            await self._open_locked(name, create=False)
            self._used_at[name] = time.monotonic()
        except ForgetdError as error:
            log.error("namespace cannot be opened", namespace=name, reason=error.message)

    def _needs_opening(self, name: str, flags: int) -> bool:
        stored = read_counts(self._root / name / "commits")
        return stored is not None and bool(stored.flags & flags)

    def _has_log(self, name: str) -> bool:
        log_file = self._root / name / "hot.db-wal"
        return log_file.exists() and log_file.stat().st_size > 0

    def _names(self) -> list[str]:
        return sorted(
            entry.name
            for entry in self._root.iterdir()
            if _NAME.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink()
        )

    def _refuse_same_letters(self, name: str) -> None:
        for other in self._names():
            if other.casefold() == name.casefold():
                raise NamespaceConflict(
                    field="$.namespace",
                    bound="names that differ by more than letter case",
                    remedy="write the name as it was first written, or choose another",
                )

    def _tell(self, name: str, kind: str) -> None:
        if self._on_event is not None:
            self._on_event(name, kind, None)


def check_name(name: str) -> str:
    """A namespace's name. Raises InvalidParams."""
    if not _NAME.fullmatch(name):
        raise InvalidParams(
            "$.namespace must be a short plain name",
            field="$.namespace",
            bound=f"1 to {NAMESPACE_NAME_BYTES_MAX} of A-Z a-z 0-9 . _ -, "
            "beginning with a letter or digit",
            remedy='use a name such as "default" or "agent-1"',
        )
    return name
