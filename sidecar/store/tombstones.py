"""What remains of destroyed memories: salted hashes, so that an id is never reused unnoticed.

The salt is of the namespace alone and never leaves it: a tombstone tells nobody who does not know
the id, or the text, which one it was.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from sidecar.errors import MemoryDestroyed
from sidecar.store.sqlite.typed import Connection

SALT_KEY: Final = "tombstone_salt"
SALT_BYTES: Final = 32
STANDING: Final = "tombstones"
CHECKPOINT: Final = "tombstone_checkpoint"
_COLUMNS: Final = "id_hash, content_hash, destroyed_at, reason, run_id"


class Tombstone(NamedTuple):
    """One destroyed memory. `destroyed_at` is in milliseconds since the Unix epoch."""

    id_hash: str
    content_hash: str
    destroyed_at: int
    reason: str
    run_id: str

    def state(self) -> dict[str, Any]:
        """Its part of the state of a namespace."""
        return {"tombstone": self.id_hash, **self._asdict()}


def salt(connection: Connection) -> bytes | None:
    """The namespace's salt; None where nothing was ever destroyed."""
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (SALT_KEY,)).fetchall()
    return found[0][0] if found else None


def made_salt(connection: Connection) -> bytes:
    """The namespace's salt, made in this transaction where there is none."""
    known = salt(connection)
    if known is None:
        known = secrets.token_bytes(SALT_BYTES)
        connection.execute("INSERT INTO meta VALUES (?, ?)", (SALT_KEY, known))
    return known


def id_hash(key: bytes, memory_id: str) -> str:
    """What stands for an id."""
    return hmac.new(key, b"id\0" + memory_id.encode(), hashlib.sha256).hexdigest()


def content_hash(key: bytes, digest: bytes) -> str:
    """What stands for a payload, given its content hash."""
    return hmac.new(key, b"content\0" + digest, hashlib.sha256).hexdigest()


def stands(connection: Connection, memory_id: str) -> bool:
    """Whether a memory with this id was destroyed here."""
    key = salt(connection)
    if key is None:
        return False
    query = "SELECT 1 FROM tombstones WHERE id_hash = ?"
    return bool(connection.execute(query, (id_hash(key, memory_id),)).fetchall())


def refuse(connection: Connection, memory_id: str, path: str) -> None:
    """Raise MemoryDestroyed where this id, named at JSON path `path`, has a tombstone."""
    if stands(connection, memory_id):
        raise MemoryDestroyed(
            field=f"{path}.id",
            bound="an id that no destroyed memory had",
            remedy="use another id, or say revive: true if it is meant to be the same again",
        )


def put_up(connection: Connection, stones: Iterable[Tombstone]) -> None:
    """Write tombstones; one of an id that was destroyed before takes the place of the old one."""
    connection.executemany("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?)", stones)


def all_of(connection: Connection, table: str = STANDING) -> Iterator[Tombstone]:
    """Every tombstone, in order; none in a database that no start has migrated yet."""
    there = "SELECT 1 FROM sqlite_schema WHERE name = ?"
    if connection.execute(there, (table,)).fetchall():
        query = f"SELECT {_COLUMNS} FROM {table} ORDER BY id_hash"
        for values in connection.execute(query):
            yield Tombstone(*values)
