"""The payload of a hot memory in its three tables. The one path in and the one path out."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from sidecar.model import HOT
from sidecar.store import search_upkeep
from sidecar.store.payload import Payload
from sidecar.store.rows import Row, hot_bytes
from sidecar.store.search_text import index_text
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

_DELETES: Final = (
    "DELETE FROM texts WHERE rid = ?",
    "DELETE FROM vectors WHERE rid = ?",
    "DELETE FROM search WHERE rowid = ?",
)


def insert(tx: Transaction, rid: int, payload: Payload) -> None:
    """Write text, vector and index of a memory that has none in the hot tables."""
    connection = tx.connection
    connection.execute(
        "INSERT INTO texts VALUES (?, ?, ?, ?)",
        (rid, payload.content, payload.metadata, payload.extra),
    )
    if payload.embedding is not None:
        connection.execute("INSERT INTO vectors VALUES (?, ?)", (rid, payload.embedding))
        model, embedding = payload.embedding_model, payload.embedding
        tx.after_commit.append(lambda columns: columns.vector_put(rid, model, embedding))
    connection.execute(
        "INSERT INTO search (rowid, text) VALUES (?, ?)", (rid, index_text(payload.content))
    )


def delete(tx: Transaction, rids: list[int]) -> None:
    """Take memories out of the hot tables. Their payloads must lie elsewhere by now."""
    for statement in _DELETES:
        tx.connection.executemany(statement, [(rid,) for rid in rids])
    search_upkeep.note_deleted(tx.connection, len(rids))
    tx.after_commit.append(lambda columns: columns.vectors_removed(rids))


def place_hot(tx: Transaction, row: Row, payload: Payload) -> None:
    """Bring a cold or forgotten memory's payload into the hot tables and point the row at it.

    The caller writes the row and its event.
    """
    assert row.tier != HOT
    assert row.segment is not None
    insert(tx, row.rid, payload)
    leave_segments(tx.connection, Counter({row.segment: 1}))
    row.tier = HOT
    row.segment = row.frame = row.line = None
    measure(row, payload)


def leave_segments(connection: Connection, left: Mapping[str, int]) -> None:
    """Count memories out of their segments; a segment that nobody needs may be removed."""
    for name, count in left.items():
        connection.execute("UPDATE segments SET live = live - ? WHERE name = ?", (count, name))
        connection.execute(
            "INSERT OR IGNORE INTO unlink_intents"
            " SELECT name, tier, sealed_at FROM segments WHERE name = ? AND live <= 0",
            (name,),
        )
        connection.execute("DELETE FROM segments WHERE name = ? AND live <= 0", (name,))


def measure(row: Row, payload: Payload) -> None:
    """Note the size of a payload's text, and what it takes in the hot tables, in bytes."""
    parts = (payload.content, payload.metadata, payload.extra)
    row.text_bytes = sum(len(part.encode()) for part in parts)
    indexed = len(index_text(payload.content).encode())
    row.bytes = hot_bytes(row.text_bytes, indexed, row.embedding_dimensions)
