"""One run at a time: identical calls join the one that waits or runs, others queue."""

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from typing import Any, TypeVar

from sidecar.errors import RunQueueFull
from sidecar.limits import RUN_QUEUE_MAX

T = TypeVar("T")


class RunSlots:
    """The queue of runs of one namespace. A caller that gives up never stops a run."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._lock = asyncio.Lock()
        self._tasks: dict[Hashable, asyncio.Task[Any]] = {}

    @property
    def busy(self) -> bool:
        """Whether a run is under way or waits."""
        return bool(self._tasks)

    async def run(self, key: Hashable, work: Callable[[], T]) -> T:
        """Run `work` in a thread when its turn comes, or join the run with the same key.

        Raises RunQueueFull.
        """
        task = self._tasks.get(key)
        if task is None:
            if len(self._tasks) >= RUN_QUEUE_MAX:
                raise RunQueueFull(
                    bound=f"at most {RUN_QUEUE_MAX} waiting runs",
                    remedy="wait for the runs that are under way: runs.list",
                )
            task = asyncio.create_task(self._in_turn(work))
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._tasks.pop(key, None))
        return await asyncio.shield(task)

    async def drain(self) -> None:
        """Wait until no run is left."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def _in_turn(self, work: Callable[[], T]) -> T:
        async with self._lock:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
