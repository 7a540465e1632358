"""What a host reports back about a memory: whether it helped, worked, or was missed."""

from typing import Any, Final

from sidecar.errors import MemoryNotFound
from sidecar.limits import INTEGER_MAX
from sidecar.model import ACTIVE, FORGOTTEN, Signal
from sidecar.store import regrets, rows
from sidecar.store.records import live_row
from sidecar.store.rows import Row
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.written import finish

# What a signal of use adds to the usefulness; each of them is also one use.
USEFULNESS: Final[dict[str, float]] = {
    "useful": 1.0,
    "shown": 0.1,
    "unhelpful": -0.1,
    "harmful": -1.0,
}
OUTCOMES: Final = {"success": "success_count", "failure": "failure_count"}


def record_signal(tx: Transaction, memory_id: str, signal: Signal, now: int) -> Row:
    """Count one signal about a memory. A regret may be about a forgotten one, others not.

    It is no change of content or belief: `updatedAt` and `revision` stay. Raises MemoryNotFound.
    """
    if signal == "regret":
        return _regret(tx, memory_id, now)
    row = live_row(tx.connection, memory_id)
    before = rows.scalars(row)
    if signal in OUTCOMES:
        _count(row, OUTCOMES[signal])
    else:
        _count(row, "use_count")
        row.usefulness_score += USEFULNESS[signal]
    if signal == "useful":
        row.last_useful_at = max(now, row.last_useful_at or 0)
    return finish(tx, before, row, "memory.feedback", now, {"signal": signal})


def _regret(tx: Transaction, memory_id: str, now: int) -> Row:
    """A memory was cited after it had been dropped, or should not have been. Only counts."""
    row = rows.by_id(tx.connection, memory_id)
    if row is None:
        raise MemoryNotFound(field="$.id", remedy="list the ids with memory.list")
    before = rows.scalars(row)
    _count(row, "regret_count")
    regrets.note(tx.connection, row.id, now)
    told: dict[str, Any] = {"dropped_at": _dropped_at(row), "cited_at": now}
    return finish(tx, before, row, "retrieval.regret", now, told)


def _dropped_at(row: Row) -> int | None:
    """Since when a recall does not answer the memory any more."""
    if row.tier == FORGOTTEN:
        return row.forgotten_at
    return None if row.status == ACTIVE else row.status_at


def _count(row: Row, name: str) -> None:
    setattr(row, name, min(getattr(row, name) + 1, INTEGER_MAX))
