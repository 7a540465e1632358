"""Forgetting within a Python program, without a daemon: one state directory, one thread's calls.

    from sidecar.service import ForgettingService

    with ForgettingService.open("memories") as service:
        report = service.run_cycle(dry_run=True)

A state directory belongs to one process at a time: a daemon that serves it, or a service.
"""

import asyncio
import threading
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sidecar.clock import Clock
from sidecar.config import load_config
from sidecar.cycle_reports import ForgettingReport
from sidecar.limits import CYCLE_DECISIONS_DEFAULT
from sidecar.model import Memory, MemoryInput
from sidecar.namespace import Namespace
from sidecar.registry import Registry
from sidecar.reports import ForgetReport

T = TypeVar("T")


class ForgettingService:
    """The verbs of a store and its cycle, each waiting for its answer. Made by `open`."""

    @classmethod
    @contextmanager
    def open(
        cls, directory: str | Path, namespace: str = "default", clock: Clock | None = None
    ) -> Generator["ForgettingService"]:
        """A service for the length of a `with` block. Raises NamespaceLocked, InvalidParams.

        `[cycle]` and `[thresholds]` are those of the `forgetd.toml` that a daemon would read.
        """
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="forgetd-service", daemon=True)
        thread.start()

        def wait(work: Coroutine[Any, Any, T]) -> T:
            return asyncio.run_coroutine_threadsafe(work, loop).result()

        async def start() -> tuple[Registry, Namespace]:
            registry = Registry(Path(directory), clock or Clock(), load_config())
            try:
                await registry.recover()
                return registry, await registry.open(namespace, create=True)
            except BaseException:
                await registry.close_all()
                raise

        try:
            registry, opened = wait(start())
            try:
                yield cls(loop, opened)
            finally:
                wait(registry.close_all())
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def __init__(self, loop: asyncio.AbstractEventLoop, namespace: Namespace) -> None:
        """Use `open`."""
        self._loop = loop
        self._namespace = namespace

    def put(self, memory: MemoryInput) -> Memory:
        """Store a new memory. Raises MemoryExists, InvalidParams."""
        return self._wait(self._namespace.put(memory=memory, if_exists="error"))

    def get_by_id(self, memory_id: str) -> Memory | None:
        """A live memory, or None."""
        return self._wait(self._namespace.get(id=memory_id, include_embedding=False))

    def replace(self, memory: MemoryInput) -> Memory:
        """Store a memory in the place of the one with its id. Raises InvalidParams."""
        return self._wait(self._namespace.put(memory=memory, if_exists="replace"))

    def delete(self, memory_id: str, reason: str = "called") -> ForgetReport:
        """Forget a memory; `memory.restore` brings it back."""
        return self._wait(self._namespace.forget(ids=[memory_id], reason=reason))

    def run_cycle(
        self, dry_run: bool = False, *, plan_id: str | None = None, now: int | None = None
    ) -> ForgettingReport:
        """Keep, fade or prune every memory, as forgetting.runCycle. Raises ForgettingDisabled."""
        return self._wait(
            self._namespace.run_cycle(
                dry_run=dry_run,
                plan_id=plan_id,
                now=now,
                decisions_limit=CYCLE_DECISIONS_DEFAULT,
            )
        )

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
