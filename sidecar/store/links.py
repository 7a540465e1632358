"""Supersession links between memories, as the database holds them."""

import json
from collections.abc import Iterator, Sequence

from sidecar.errors import SupersessionConflict
from sidecar.model import FORGOTTEN, INVALIDATED, SUPERSEDED
from sidecar.plan.chains import newer_version_stands, older_version_lives
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

MISSING_SUCCESSOR = -1


def successor_rid(connection: Connection, row: Row) -> int:
    """The row number of the successor: 0 where none is named, -1 where it does not exist."""
    if row.superseded_by is None:
        return 0
    found = connection.execute(
        "SELECT rid FROM memories WHERE id = ?", (row.superseded_by,)
    ).fetchall()
    return found[0][0] if found else MISSING_SUCCESSOR


def predecessors(connection: Connection, memory_id: str) -> list[str]:
    """The ids that name this memory as their successor, in order of row."""
    query = "SELECT id FROM memories WHERE superseded_by = ? ORDER BY rid"
    return [found[0] for found in connection.execute(query, (memory_id,))]


def predecessors_of(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """`predecessors` of many memories at once; those that have none are left out."""
    query = (
        "SELECT superseded_by, id FROM memories"
        " WHERE superseded_by IN (SELECT value FROM json_each(?)) ORDER BY rid"
    )
    found: dict[str, list[str]] = {}
    for memory_id, older in connection.execute(query, (json.dumps(ids),)):
        found.setdefault(memory_id, []).append(older)
    return found


def link_predecessors(tx: Transaction, row: Row) -> None:
    """After a new memory is written: those that named it before it existed find it now."""
    query = "SELECT rid FROM memories WHERE superseded_by = ?"
    for (older,) in tx.connection.execute(query, (row.id,)).fetchall():
        tx.after_commit.append(lambda columns, older=older: columns.linked(older, row.rid))


def refuse_loop(connection: Connection, memory_id: str, successor: str, field: str) -> None:
    """Raise SupersessionConflict where following `successor` would come back to the memory."""
    seen: set[str] = set()
    following: str | None = successor
    while following is not None and following not in seen:
        if following == memory_id:
            raise SupersessionConflict(
                field=field,
                bound="a chain that ends in a memory which nothing supersedes",
                remedy="name the newer memory as the successor of the older one",
            )
        seen.add(following)
        found = connection.execute(
            "SELECT superseded_by FROM memories WHERE id = ?", (following,)
        ).fetchall()
        following = found[0][0] if found else None


def is_superseded(connection: Connection, row: Row) -> bool:
    """Whether the row is superseded and a newer version of it stands."""
    return row.status == SUPERSEDED and newer_stands(connection, row.id)


def newer_stands(connection: Connection, memory_id: str) -> bool:
    """Whether a live, not invalidated memory stands above this one in its chain."""

    def look_up(key: str) -> tuple[str | None, bool]:
        query = "SELECT superseded_by, tier, status FROM memories WHERE id = ?"
        found = connection.execute(query, (key,)).fetchall()
        if not found:
            return None, False
        successor, tier, status = found[0]
        return successor, tier != FORGOTTEN and status != INVALIDATED

    return newer_version_stands(memory_id, look_up)


def older_lives(connection: Connection, memory_id: str) -> bool:
    """Whether a live memory's chain leads to this one."""

    def look_up(key: str) -> Iterator[tuple[str, bool]]:
        query = "SELECT id, tier FROM memories WHERE superseded_by = ?"
        for older, tier in connection.execute(query, (key,)).fetchall():
            yield older, tier != FORGOTTEN

    return older_version_lives(memory_id, look_up)
