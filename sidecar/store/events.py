"""The event log: every change of a memory in the transaction that made it, and its replay.

An event carries ids and changed scalars, never content, metadata or an embedding. Replaying
the log from the first event gives the state that the rows hold; both are compared by the
state hash.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from sidecar.store.rows import COLUMNS, PLACEMENT
from sidecar.store.sqlite.typed import Connection

STATE_FIELDS: Final = tuple(sorted(set(COLUMNS) - PLACEMENT))
# What an event tells of a row: its state, its tier, and how often it has changed.
EVENT_FIELDS: Final = frozenset(STATE_FIELDS) | {"tier", "change_counter"}

MEMORY_KINDS: Final = (
    "memory.created",
    "memory.updated",
    "memory.touched",
    "memory.superseded",
    "memory.spilled",
    "memory.forgotten",
    "memory.thawed",
    "memory.restored",
    "memory.adopted",
)
NAMESPACE_KINDS: Final = (
    "namespace.created",
    "import.completed",
    "thresholds.changed",
    "forgetting.sweep_completed",
    "forgetting.restore_completed",
    "forgetting.run_undone",
    "forgetting.braked",
    "forgetting.pressure",
    "forgetting.scheduled",
    "forgetting.paused",
    "forgetting.resumed",
    "gc.suggested",
)
_INSERT: Final = "INSERT INTO events (at, run_id, kind, memory_id, payload) VALUES (?, ?, ?, ?, ?)"


def append(
    connection: Connection,
    at: int,
    kind: str,
    memory_id: str | None,
    payload: dict[str, Any] | str,
    run_id: str | None = None,
) -> None:
    """Write one event into the current transaction. `payload` may be ready-made JSON."""
    text = payload if isinstance(payload, str) else msgspec.json.encode(payload).decode()
    connection.execute(_INSERT, (at, run_id, kind, memory_id, text))


def append_many(
    connection: Connection, events: Iterable[tuple[int, str | None, str, str, str]]
) -> None:
    """Write (at, run id, kind, memory id, JSON payload) events into the transaction."""
    connection.executemany(_INSERT, events)


def last_at(connection: Connection) -> int | None:
    """The time of the newest event, or None where there is none."""
    found = connection.execute("SELECT at FROM events ORDER BY seq DESC LIMIT 1").fetchall()
    return found[0][0] if found else None


def changes(before: dict[str, Any] | None, after: dict[str, Any]) -> dict[str, Any]:
    """The event fields that differ between two rows (all of them where there was none)."""
    return {
        name: after[name] for name in EVENT_FIELDS if before is None or before[name] != after[name]
    }


def state_hash(connection: Connection) -> str:
    """SHA-256 over every record's fields and content hash, sorted by id.

    Events, runs and placement (tier, segment, bytes) do not count: a spilled memory is the
    same memory. Whether it is forgotten does count, through `forgotten_at`.
    """
    query = f"SELECT {', '.join(STATE_FIELDS)} FROM memories ORDER BY id"
    return _hash(
        dict(zip(STATE_FIELDS, (_plain(value) for value in values), strict=True))
        for values in connection.execute(query)
    )


def replay(connection: Connection) -> dict[str, dict[str, Any]]:
    """The state of every memory by the event log alone, by id."""
    state: dict[str, dict[str, Any]] = {}
    query = "SELECT memory_id, payload FROM events WHERE memory_id IS NOT NULL ORDER BY seq"
    for memory_id, payload in connection.execute(query):
        state.setdefault(memory_id, {}).update(json.loads(payload))
    return state


def replayed_hash(connection: Connection) -> str:
    """The state hash of the replayed log; equal to `state_hash` unless something was lost."""
    state = replay(connection)
    return _hash(
        {name: state[memory_id].get(name) for name in STATE_FIELDS} for memory_id in sorted(state)
    )


def _hash(records: Iterator[dict[str, Any]]) -> str:
    digest = hashlib.sha256()
    for record in records:
        digest.update(json.dumps(record, ensure_ascii=False, sort_keys=True).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
