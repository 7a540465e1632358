"""The replies of writes that carried an idempotency key.

A reply is written in the transaction that did the work; that of a run when the run ends, its key
when it begins. A key is kept for a day, less only where replies take too much room.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sidecar.idempotency import Key, conflict
from sidecar.limits import (
    IDEMPOTENCY_KEY_HOURS,
    IDEMPOTENCY_REPLIES_BYTES_MAX,
    INTEGER_MAX,
    MILLISECONDS_PER_HOUR,
)
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

# More than one for each that is added: the table grows no further than its bounds.
DROPPED_PER_WRITE: Final = 4
_BYTES_KEY: Final = "reply_bytes"
_LIFETIME_MS: Final = IDEMPOTENCY_KEY_HOURS * MILLISECONDS_PER_HOUR


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept for a key: the encoded reply, or None while its run has not ended."""

    reply: bytes | None


def find(connection: Connection, key: Key, now: int) -> Kept | None:
    """What is kept for a key. Raises IdempotencyConflict where it stands for another call."""
    found = connection.execute(
        "SELECT method, parameters, at, reply FROM idempotency WHERE key = ?", (key.value,)
    ).fetchall()
    if not found:
        return None
    method, parameters, at, reply = found[0]
    if reply is not None and at <= now - _LIFETIME_MS:
        return None
    if (method, parameters) != (key.method, key.parameters):
        raise conflict()
    return Kept(None if reply is None else reply.encode())


def keep(tx: Transaction, key: Key, now: int, reply: bytes) -> None:
    """Keep the reply of a call whose work the transaction does."""
    _put(tx, key, now, None, reply.decode())


def claim(tx: Transaction, key: Key, now: int, run_id: str) -> None:
    """Keep a key for the run that the transaction begins; its reply comes when the run ends."""
    _put(tx, key, now, run_id, None)


def fulfil(tx: Transaction, key: str, run_id: str, reply: bytes) -> None:
    """Keep the reply of a run that the transaction ends."""
    found = tx.connection.execute(
        "UPDATE idempotency SET reply = ? WHERE key = ? AND run_id = ? RETURNING 1",
        (reply.decode(), key, run_id),
    ).fetchall()
    if found:
        _count(tx, len(reply))


def drop_old(tx: Transaction, now: int, limit: int) -> int:
    """Drop at most `limit` keys that nobody may rely on any more, the oldest first.

    Answers how many. The key of a run that has not ended stays.
    """
    return _drop(
        tx,
        "key IN (SELECT key FROM idempotency INDEXED BY idempotency_at"
        " WHERE at < ? AND reply IS NOT NULL ORDER BY at LIMIT ?)",
        (_end_of_old(tx.connection, now), limit),
    )


def drop(tx: Transaction, keys: Sequence[str]) -> None:
    """Drop some keys with their replies, whatever their age."""
    for key in keys:
        _drop(tx, "key = ?", (key,))


def anything_old(connection: Connection, now: int) -> bool:
    """Whether there is a key to drop."""
    found = connection.execute(
        "SELECT 1 FROM idempotency WHERE at <= ? AND reply IS NOT NULL LIMIT 1",
        (now - _LIFETIME_MS,),
    ).fetchall()
    return bool(found)


def _put(tx: Transaction, key: Key, now: int, run_id: str | None, reply: str | None) -> None:
    (known, oldest), *_ = tx.connection.execute(
        "SELECT EXISTS (SELECT 1 FROM idempotency WHERE key = ?),"
        " (SELECT min(at) FROM idempotency)",
        (key.value,),
    ).fetchall()
    if oldest is not None and _end_of_old(tx.connection, now) > oldest:
        drop_old(tx, now, DROPPED_PER_WRITE)
    if known:  # too old to be relied on, else it would have been answered
        _drop(tx, "key = ?", (key.value,))
    tx.connection.execute(
        "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?)",
        (key.value, key.method, key.parameters, now, run_id, reply),
    )
    _count(tx, len(key.value.encode()) + (0 if reply is None else len(reply.encode())))


def _drop(tx: Transaction, condition: str, bindings: tuple[str | int, ...]) -> int:
    dropped = tx.connection.execute(
        f"DELETE FROM idempotency WHERE {condition}"
        " RETURNING octet_length(key) + coalesce(octet_length(reply), 0)",
        bindings,
    ).fetchall()
    if dropped:
        _count(tx, -sum(size for (size,) in dropped))
    return len(dropped)


def _end_of_old(connection: Connection, now: int) -> int:
    """Keys from before this time may go."""
    over = _bytes(connection) > IDEMPOTENCY_REPLIES_BYTES_MAX
    return INTEGER_MAX if over else now - _LIFETIME_MS + 1


def _count(tx: Transaction, change: int) -> None:
    tx.connection.execute(
        "INSERT INTO meta VALUES (?, max(0, ?)) ON CONFLICT (key)"
        " DO UPDATE SET value = max(0, value + ?)",
        (_BYTES_KEY, change, change),
    )


def _bytes(connection: Connection) -> int:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (_BYTES_KEY,)).fetchall()
    return found[0][0] if found else 0
