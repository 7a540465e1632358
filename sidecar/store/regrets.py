"""When memories were missed: the newest regrets of each, kept however old their events are.

The event log is folded after its retention, and a regret must count for as long as a review looks
back. So each memory has one row with the times of its newest regrets.
"""

from bisect import insort
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from sidecar.limits import REGRETS_KEPT_COUNT_MAX, REVIEW_REGRETS_COUNT_DEFAULT
from sidecar.store.sqlite.typed import Connection


class Regrets(NamedTuple):
    """The regrets of one memory. `times` are the newest ones in ms, ascending."""

    memory_id: str
    total: int
    times: list[int]

    def within(self, after: int) -> list[int]:
        """The known ones that came after a time, ascending."""
        return [at for at in self.times if at > after]


def note(connection: Connection, memory_id: str, at: int) -> None:
    """Count one regret of a memory at `at` (ms), in the current transaction."""
    known = of(connection, memory_id)
    total, times = (known.total, known.times) if known else (0, [])
    insort(times, at)
    times = times[-REGRETS_KEPT_COUNT_MAX:]
    fifth = (
        times[-REVIEW_REGRETS_COUNT_DEFAULT] if len(times) >= REVIEW_REGRETS_COUNT_DEFAULT else None
    )
    connection.execute(
        "INSERT OR REPLACE INTO regrets VALUES (?, ?, ?, ?, ?)",
        (memory_id, total + 1, msgspec.json.encode(times).decode(), times[-1], fifth),
    )


def of(connection: Connection, memory_id: str) -> Regrets | None:
    """The regrets of one memory; None where there was never one."""
    query = "SELECT memory_id, total, times FROM regrets WHERE memory_id = ?"
    found = connection.execute(query, (memory_id,)).fetchall()
    return _read(*found[0]) if found else None


def since(connection: Connection, after: int, ids: Collection[str] | None) -> list[Regrets]:
    """The memories that were missed after a time, of these or of all, by id."""
    if ids is not None:
        named = (of(connection, memory_id) for memory_id in sorted(ids))
        return [one for one in named if one is not None and one.within(after)]
    query = (
        "SELECT memory_id, total, times FROM regrets INDEXED BY regrets_latest"
        " WHERE latest_at > ? ORDER BY memory_id"
    )
    return [_read(*values) for values in connection.execute(query, (after,))]


def _read(memory_id: str, total: int, times: str) -> Regrets:
    return Regrets(memory_id, total, msgspec.json.decode(times, type=list[int]))
