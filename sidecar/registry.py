"""All namespaces of one state directory: opened when asked for, closed when idle."""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from sidecar import removal
from sidecar.clock import Clock
from sidecar.config import NAMESPACE_NAME, Config
from sidecar.errors import (
    ForgetdError,
    GcBusy,
    GcChanged,
    InvalidParams,
    NamespaceConflict,
    NamespaceNotFound,
    NamespacesExhausted,
    PermissionDenied,
    ShuttingDown,
)
from sidecar.estimate import Estimator, TextEstimator
from sidecar.gc_reports import GcReport, whole_report
from sidecar.gc_tokens import PlannedDestruction
from sidecar.lifecycle_config import LifecycleOptions
from sidecar.limits import (
    GC_STANDING_ORDER_EVERY_SECONDS,
    GIGABYTE_BYTES,
    MILLISECONDS_PER_HOUR,
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
        self._estimator = estimator or TextEstimator()
        self._reserve = Reserve(state_dir / RESERVE_NAME)
        self._threads = Threads()
        self._open: dict[str, Namespace] = {}
        self._used_at: dict[str, float] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._obeyed_at: dict[str, float] = {}
        self._opening = 0
        self._cycle_looked_at: dict[str, int] = {}
        self._timer: asyncio.Task[None] | None = None
        self._closing = False
        clock.when_held(self.wake)

    async def recover(self) -> None:
        """Open each namespace that was not closed cleanly; opening finishes what was begun.

        A namespace that cannot be opened is logged, and refuses its own calls only.
        """
        await asyncio.to_thread(removal.finish_removals, self._root)
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

    def lifecycle_options(self, name: str) -> LifecycleOptions:
        """What the config file orders of active forgetting in a namespace."""
        return self._config.lifecycle_for(name)

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

    @property
    def busy(self) -> bool:
        """Whether a namespace is being opened or has work under way: a run, a read, a write."""
        return self._opening > 0 or any(one.busy for one in self._open.values())

    async def reconfigure(self, config: Config) -> None:
        """Take over thresholds of a changed config file in every open namespace."""
        self._config = config
        for name, namespace in list(self._open.items()):
            await namespace.reconfigure(
                config.thresholds_for(name), config.cycle_for(name), config.lifecycle_for(name)
            )

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

    async def delete(self, name: str, plan: PlannedDestruction) -> GcReport:
        """Delete a namespace with all that is in it, as it was planned.

        Raises NamespaceNotFound, GcBusy, GcChanged; the namespace then stays as it was.
        """
        started = time.monotonic()
        await self.open(name, create=False)
        async with self._locks.setdefault(name, asyncio.Lock()):
            namespace = self._open.get(name)
            if namespace is None or namespace.slots.busy or namespace.in_flight:
                raise GcBusy(remedy="wait until they have ended (runs.list), then plan again")
            memories = namespace.store.columns.counts()
            if await asyncio.to_thread(namespace.collector.state) != plan.state:
                raise GcChanged(
                    field="$.token",
                    bound="the memories that were there when it was planned, unchanged",
                    remedy="plan again with gc.plan {all: true}, and look at what it says",
                )
            del self._open[name]
            await namespace.close()
            aside = await asyncio.to_thread(removal.set_aside, self._root, name)
        self._tell(name, "namespace.deleted")
        size = await asyncio.to_thread(removal.remove, aside)
        return whole_report(name, memories.total + memories.forgotten, size, started)

    async def _open_locked(self, name: str, create: bool) -> Namespace:
        async with self._locks.setdefault(name, asyncio.Lock()):
            if name in self._open:
                return self._open[name]
            directory = self._root / name
            if directory.is_symlink():
                raise PermissionDenied(
                    "The namespace's directory is a symbolic link",
                    field="$.namespace",
                    bound="a directory of the daemon's own",
                    remedy="put the directory itself in the link's place",
                )
            if not directory.is_dir():
                self._refuse_same_letters(name)
                if not create:
                    raise NamespaceNotFound(
                        field="$.namespace",
                        remedy="write into it or call namespaces.open to make it",
                    )
            self._opening += 1
            try:
                await self._make_room()
                if not directory.is_dir():  # others may have been made meanwhile
                    self._refuse_same_letters(name)
                directory.mkdir(mode=0o700, exist_ok=True)
                namespace = await Namespace.open(
                    name,
                    directory,
                    self._clock,
                    self._estimator,
                    self._config.thresholds_for(name),
                    self._config.cycle_for(name),
                    self._config.lifecycle_for(name),
                    self._reserve,
                    self._threads,
                )
                self._open[name] = namespace
            finally:
                self._opening -= 1
            self._tell(name, "namespace.opened")
            return namespace

    async def _make_room(self) -> None:
        """Close the longest unused namespaces where too many are open, or being opened."""
        while len(self._open) + self._opening > NAMESPACES_OPEN_MAX:
            by_use = sorted(self._open, key=lambda one: self._used_at.get(one, 0.0))
            idle = next((name for name in by_use if not self._open[name].busy), None)
            if idle is None:
                raise NamespacesExhausted(
                    bound=f"at most {NAMESPACES_OPEN_MAX} open namespaces",
                    remedy="wait until one is idle, or use fewer namespaces",
                )
            await self._close(idle)

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
                try:
                    await self._look_after(name)
                except Exception as error:  # the others have their turn all the same
                    log.error("namespace cannot be looked after", namespace=name, exc_info=error)

    async def _look_after(self, name: str) -> None:
        namespace = self._open.get(name)
        if namespace is None and self._cycle_may_be_due(name):
            await self._try_open(name)
            namespace = self._open.get(name)
        if namespace is None:
            if (
                self._needs_opening(name, RUN_UNFINISHED)
                or self._needs_sweeping(name)
                or self._needs_collecting(name)
            ):
                await self._try_open(name)
            namespace = self._open.get(name)
            if namespace is not None:
                await self._obey_standing_order(name, namespace)
            return
        if namespace.automatic is not None:
            namespace.automatic.notify()
        await asyncio.to_thread(namespace.store.remove_unneeded_segments)
        await asyncio.to_thread(namespace.runner.media.settle)
        await namespace.fold_events()
        await namespace.cycle_if_due()
        self._cycle_looked_at[name] = self._clock.now_ms()
        await self._obey_standing_order(name, namespace)
        idle = time.monotonic() - self._used_at.get(name, 0.0) > NAMESPACE_IDLE_SECONDS
        if idle and not namespace.busy:
            await self._close(name)

    def _cycle_may_be_due(self, name: str) -> bool:
        """Whether a closed namespace is to be opened for its cycle: once an interval."""
        options = self._config.cycle_for(name)
        looked_at = self._cycle_looked_at.get(name, 0)
        waited_ms = self._clock.now_ms() - looked_at
        return options.enabled and waited_ms >= options.interval_hours * MILLISECONDS_PER_HOUR

    async def _try_open(self, name: str) -> None:
        try:
            await self._open_locked(name, create=False)
            self._used_at[name] = time.monotonic()
        except Exception as error:
            told = {"reason": error.message} if isinstance(error, ForgetdError) else {}
            log.error("namespace cannot be opened", namespace=name, exc_info=not told, **told)

    def _needs_opening(self, name: str, flags: int) -> bool:
        stored = read_counts(self._root / name / "commits")
        return stored is not None and bool(stored.flags & flags)

    def _needs_sweeping(self, name: str) -> bool:
        """Whether its counters are over the settings it had, or over what the file orders now."""
        stored = read_counts(self._root / name / "commits")
        if stored is None or stored.flags & THRESHOLD_CROSSED:
            return stored is not None
        ordered = self._config.thresholds_for(name)
        counted = {
            "forgetThresholdCount": stored.hot,
            "forgetThresholdTotal": stored.hot + stored.cold,
            "forgetThresholdDiskGB": stored.live_bytes / GIGABYTE_BYTES,
        }
        over = any(
            option in ordered and count > ordered[option] for option, count in counted.items()
        )
        return over and bool(ordered.get("forgetEnabled", True))

    def _needs_collecting(self, name: str) -> bool:
        """Whether the standing order has not looked at a namespace that holds forgotten ones."""
        if not self._config.gc.standing_order_days or not self._order_is_due(name):
            return False
        stored = read_counts(self._root / name / "commits")
        return stored is not None and stored.forgotten > 0

    def _order_is_due(self, name: str) -> bool:
        obeyed_at = self._obeyed_at.get(name)
        waited = None if obeyed_at is None else time.monotonic() - obeyed_at
        return waited is None or waited >= GC_STANDING_ORDER_EVERY_SECONDS

    async def _obey_standing_order(self, name: str, namespace: Namespace) -> None:
        """Once a day, what the operator wrote into the config file."""
        days = self._config.gc.standing_order_days
        if not days or not self._order_is_due(name):
            return
        self._obeyed_at[name] = time.monotonic()
        await namespace.obey_standing_order(older_than_days=days)

    def _has_log(self, name: str) -> bool:
        log_file = self._root / name / "hot.db-wal"
        return log_file.exists() and log_file.stat().st_size > 0

    def _names(self) -> list[str]:
        return sorted(
            entry.name
            for entry in self._root.iterdir()
            if NAMESPACE_NAME.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink()
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
    if not NAMESPACE_NAME.fullmatch(name):
        raise InvalidParams(
            "$.namespace must be a short plain name",
            field="$.namespace",
            bound=f"1 to {NAMESPACE_NAME_BYTES_MAX} of A-Z a-z 0-9 . _ -, "
            "beginning with a letter or digit",
            remedy='use a name such as "default" or "agent-1"',
        )
    return name
