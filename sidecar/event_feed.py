"""Waking those who follow a namespace's events. They read the log itself, each at its pace.

A subscriber holds a place in the log and nothing else, so a slow one costs no memory and can
never hold up a run.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from sidecar.limits import ANNOUNCEMENTS_KEPT_MAX


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is told to those who follow just now, and is in no log. Numbers rise from 1."""

    number: int
    at: int
    kind: str
    payload: Mapping[str, Any]


class EventFeed:
    """The subscribers of one namespace. Lives on the event loop; `publish` from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: set[asyncio.Event] = set()
        self._told = False
        self._announced = 0
        self._announcements: deque[Announcement] = deque(maxlen=ANNOUNCEMENTS_KEPT_MAX)

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

    def announce(self, at: int, kind: str, payload: Mapping[str, Any]) -> None:
        """Tell those who follow, at `at` (ms), what no log keeps. From any thread."""

        def tell() -> None:
            self._announced += 1
            self._announcements.append(Announcement(self._announced, at, kind, payload))
            self._wake()

        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(tell)

    def announced_after(self, number: int) -> list[Announcement]:
        """What was announced after a number, in order; a slow reader misses the oldest."""
        return [one for one in self._announcements if one.number > number]

    @property
    def announced(self) -> int:
        """The number of the newest announcement."""
        return self._announced

    def _wake(self) -> None:
        self._told = False
        for wake in self._waiting:
            wake.set()
