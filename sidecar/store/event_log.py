"""Reading the event log from a place on, and folding what is old into a checkpoint.

A folded event is gone; what it said of a memory is in the checkpoint, so that the log still
replays to the present state. Sequence numbers are never used twice.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

import msgspec

from sidecar.reports import EventPage, LoggedEvent
from sidecar.store import events
from sidecar.store.event_kinds import wire_payload
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

FOLDED_SEQ_KEY: Final = "folded_seq"
# In the payload of an event of a destroyed memory, in the place of its id: a hash.
TOMBSTONE: Final = "tombstone"
# The newest event stays: at the next start its time tells whether the clock was set back.
_OLDEST: Final = (
    "SELECT at, seq, kind, memory_id, payload FROM events"
    " WHERE seq < (SELECT max(seq) FROM events) ORDER BY seq LIMIT ?"
)


def page(
    connection: Connection, since: int, limit: int, kinds: Sequence[str] | None = None
) -> EventPage:
    """At most `limit` events after number `since`, of these kinds. To be called in one view."""
    where, bindings = "seq > ?", [since]
    if kinds is not None:
        where += f" AND kind IN ({', '.join('?' * len(kinds))})"
    query = (
        "SELECT seq, at, run_id, kind, memory_id, payload FROM events"
        f" WHERE {where} ORDER BY seq LIMIT ?"
    )
    found = connection.execute(query, (*bindings, *(kinds or ()), limit))
    return EventPage(
        events=[_logged(*values) for values in found],
        latest=latest(connection),
        oldest=folded(connection) + 1,
    )


def anything_before(connection: Connection, before_ms: int) -> bool:
    """Whether there is an event from before a time that could be folded."""
    found = connection.execute(_OLDEST, (1,)).fetchall()
    return bool(found) and found[0][0] < before_ms


def fold(tx: Transaction, before_ms: int, limit: int) -> int:
    """Fold at most `limit` of the oldest events from before a time; answers how many."""
    oldest = tx.connection.execute(_OLDEST, (limit,)).fetchall()
    # Up to the first young event: a clock that was set back must not tear a hole.
    old = [values[1:] for values in takewhile(lambda values: values[0] < before_ms, oldest)]
    if not old:
        return 0
    states: dict[str, dict[str, Any]] = {}
    for _, kind, memory_id, payload in old:
        if memory_id is None:
            continue
        if kind == events.CREATED:
            states[memory_id] = {}
        elif memory_id not in states:
            states[memory_id] = _checkpoint_of(tx.connection, memory_id)
        states[memory_id].update(_decoded(payload))
    tx.connection.executemany(
        "INSERT OR REPLACE INTO event_checkpoint VALUES (?, ?)",
        [(memory_id, msgspec.json.encode(state).decode()) for memory_id, state in states.items()],
    )
    last = old[-1][0]
    tx.connection.execute(
        f"INSERT OR REPLACE INTO tombstone_checkpoint SELECT {events.TOLD_OF_DESTROYED}"
        " FROM events WHERE seq <= ? AND kind = ? ORDER BY seq",
        (last, events.DESTROYED),
    )
    tx.connection.execute("DELETE FROM events WHERE seq <= ?", (last,))
    tx.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (FOLDED_SEQ_KEY, last))
    return len(old)


def _logged(
    seq: int, at: int, run_id: str | None, kind: str, memory_id: str | None, payload: str
) -> LoggedEvent:
    told = _decoded(payload)
    about_memory = memory_id is not None
    if not about_memory and TOMBSTONE in told:
        memory_id, about_memory = told.pop(TOMBSTONE), True
    return LoggedEvent(
        seq=seq,
        at=at,
        run_id=run_id,
        kind=kind,
        memory_id=memory_id,
        payload=wire_payload(told) if about_memory else told,
    )


def latest(connection: Connection) -> int:
    """The number of the newest event there ever was."""
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchall()
    return found[0][0] if found else 0


def folded(connection: Connection) -> int:
    """The last number that is in the checkpoint and no longer in the log."""
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (FOLDED_SEQ_KEY,)).fetchall()
    return found[0][0] if found else 0


def _checkpoint_of(connection: Connection, memory_id: str) -> dict[str, Any]:
    """What the folded events said of a memory, taken together."""
    found = connection.execute(
        "SELECT payload FROM event_checkpoint WHERE memory_id = ?", (memory_id,)
    ).fetchall()
    return _decoded(found[0][0]) if found else {}


def _decoded(payload: str) -> dict[str, Any]:
    return msgspec.json.decode(payload, type=dict[str, Any])
