"""The event log: every change of a memory in the transaction that made it, and its replay.

An event carries ids and changed scalars, never content, metadata or an embedding. Replaying
the log from the first event gives the state that the rows hold; both are compared by the
state hash.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

import msgspec

from sidecar.model import ACTIVE, COLD, FORGOTTEN, HOT, SEMANTIC
from sidecar.store import tombstones
from sidecar.store.event_kinds import EVENT_FIELDS, STATE_FIELDS, STATE_FIELDS_LATER
from sidecar.store.sqlite.typed import Connection

# What a memory is when it is made, unless its event says otherwise. Never to be changed: the
# events of all stores stand on it.
BORN: Final[dict[str, Any]] = dict.fromkeys(EVENT_FIELDS - {"id"}) | {
    "tier": HOT,
    "status": ACTIVE,
    "memory_type": SEMANTIC,
    "fade_factor": 1.0,
    "recall_count": 0,
    "use_count": 0,
    "regret_count": 0,
    "success_count": 0,
    "failure_count": 0,
    "usefulness_score": 0.0,
    "pinned": 0,
    "evergreen": 0,
    "revision": 1,
    "change_counter": 1,
}

CREATED: Final = "memory.created"
DESTROYED: Final = "memory.destroyed"
# The columns of a tombstone, by the event that tells of it.
TOLD_OF_DESTROYED: Final = (
    "json_extract(payload, '$.tombstone'), json_extract(payload, '$.content_hash'), at,"
    " json_extract(payload, '$.reason'), run_id"
)
ALL_TIERS: Final = (HOT, COLD, FORGOTTEN)
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


def birth(made: dict[str, Any]) -> dict[str, Any]:
    """What the event of a new memory says of it: what is not as in `BORN`. The event has the id."""
    return {name: made[name] for name, born in BORN.items() if made[name] != born}


def state_hash(connection: Connection, tiers: Iterable[int] | None = None) -> str:
    """SHA-256 over every record's fields and content hash, sorted by id, then the tombstones.

    Events, runs and placement (tier, segment, bytes) do not count: a spilled memory is the
    same memory. Whether it is forgotten does count, through `forgotten_at`. With `tiers` it is
    the hash that a namespace would have that holds just the memories of these tiers.
    """
    stones = tombstones.all_of(connection) if tiers is None else iter(())
    named = ", ".join(str(tier) for tier in sorted(ALL_TIERS if tiers is None else tiers))
    query = f"SELECT {', '.join(STATE_FIELDS)} FROM memories WHERE tier IN ({named}) ORDER BY id"
    records = (
        dict(zip(STATE_FIELDS, (_plain(value) for value in values), strict=True))
        for values in connection.execute(query)
    )
    return _hash(chain(records, (stone.state() for stone in stones)))


def replay(connection: Connection) -> dict[str, dict[str, Any]]:
    """The state of every memory by the event log alone, by id: its checkpoint, then its events."""
    state = _checkpoint(connection)
    query = "SELECT kind, memory_id, payload FROM events WHERE memory_id IS NOT NULL ORDER BY seq"
    for kind, memory_id, payload in connection.execute(query):
        if kind == CREATED or memory_id not in state:
            state[memory_id] = {"id": memory_id, **BORN}
        state[memory_id].update(json.loads(payload))
    return state


def _checkpoint(connection: Connection) -> dict[str, dict[str, Any]]:
    """What folded events said; nothing in a database that no start has migrated yet."""
    there = "SELECT 1 FROM sqlite_schema WHERE name = 'event_checkpoint'"
    if not connection.execute(there).fetchall():
        return {}
    return {
        memory_id: {"id": memory_id, **BORN, **json.loads(payload)}
        for memory_id, payload in connection.execute(
            "SELECT memory_id, payload FROM event_checkpoint"
        )
    }


def replayed_hash(connection: Connection) -> str:
    """The state hash of the replayed log; equal to `state_hash` unless something was lost."""
    state = replay(connection)
    records = (
        {name: state[memory_id].get(name) for name in STATE_FIELDS} for memory_id in sorted(state)
    )
    stones = replay_tombstones(connection)
    return _hash(chain(records, (stones[name].state() for name in sorted(stones))))


def replay_tombstones(connection: Connection) -> dict[str, tombstones.Tombstone]:
    """The tombstones by the event log alone, by the hash of their ids."""
    stones = {one.id_hash: one for one in tombstones.all_of(connection, tombstones.CHECKPOINT)}
    query = f"SELECT {TOLD_OF_DESTROYED} FROM events WHERE kind = ? ORDER BY seq"
    for values in connection.execute(query, (DESTROYED,)):
        stones[values[0]] = tombstones.Tombstone(*values)
    return stones


def _hash(records: Iterator[dict[str, Any]]) -> str:
    digest = hashlib.sha256()
    for record in records:
        for name in STATE_FIELDS_LATER:
            if record.get(name) is None:
                record.pop(name, None)
        digest.update(json.dumps(record, ensure_ascii=False, sort_keys=True).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
