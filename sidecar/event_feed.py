"""Waking those who follow a namespace's events. They read the log itself, each at its pace.

A subscriber holds a place in the log and nothing else, so a slow one costs no memory and can
never hold up a run.
"""

import asyncio
import contextlib
from collections.abc import Generator


class EventFeed:
    """The subscribers of one namespace. Lives on the event loop; `publish` from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: set[asyncio.Event] = set()
        self._told = False

    @property
    def followed(self) -> bool:
        """Whether anybody follows."""
        return bool(self._waiting)

    @contextlib.contextmanager
    def follow(self, wake: asyncio.Event) -> Generator[None]:
        """For a `with` block, `wake` is set after everything that is committed."""
        self._waiting.add(wake)
        try:
            yield
        finally:
            self._waiting.discard(wake)

    def publish(self) -> None:
        """Something was committed. Many commits between two turns of the loop wake once."""
        if self._waiting and not self._told:
            self._told = True
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._told = False
        for wake in self._waiting:
            wake.set()
