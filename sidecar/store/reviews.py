"""What a review keeps: pairs that the guard of duplicates kept apart, and what was looked at."""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sidecar.limits import GUARDED_PAIRS_COUNT_MAX, REVIEW_ITEMS_PER_EVENT_COUNT_MAX
from sidecar.model import FORGOTTEN
from sidecar.plan.review import GuardedPair
from sidecar.store import events, rows
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

CLEARED: Final = "review.cleared"
PAIRS_NOTED: Final = "review.pairs_noted"
# Pairs of which both memories are live and say what they said, and that nobody has looked at.
_STANDING: Final = f"""
  FROM guarded_pairs p
  JOIN memories a ON a.id = p.memory_id AND a.revision = p.revision AND a.tier < {FORGOTTEN}
  JOIN memories b ON b.id = p.other_id AND b.revision = p.other_revision AND b.tier < {FORGOTTEN}
  LEFT JOIN review_cleared c ON c.reason = 'guarded' AND c.memory_id = p.memory_id
    AND c.other_id = p.other_id AND c.mark = p.revision AND c.other_mark = p.other_revision
  WHERE c.reason IS NULL AND p.seen_at > ?
"""
_PAIR: Final = (
    "SELECT p.memory_id, p.other_id, p.difference, p.revision, p.other_revision, p.flagged_at,"
    " p.seen_at"
)


class StoredPair(NamedTuple):
    """A pair as it was found. Times in ms; `flagged_at` is when a cycle found it first."""

    memory_id: str
    other_id: str
    difference: str
    revision: int
    other_revision: int
    flagged_at: int
    seen_at: int


class Clearing(NamedTuple):
    """An item that was looked at, and the marks by which it will be known again."""

    reason: str
    memory_id: str
    other_id: str
    mark: int
    other_mark: int


def note_pairs(tx: Transaction, pairs: Sequence[GuardedPair], now: int) -> None:
    """Let these be the pairs of the last cycle, in the current transaction.

    Left out: what has changed since it was planned, what was looked at and has not changed since,
    and what is more than GUARDED_PAIRS_COUNT_MAX.
    """
    connection = tx.connection
    query = "SELECT memory_id, other_id, revision, other_revision, flagged_at FROM guarded_pairs"
    before: dict[tuple[Any, ...], int] = {
        tuple(key): flagged_at for *key, flagged_at in connection.execute(query)
    }
    cleared = {
        (memory_id, other_id, mark, other_mark)
        for memory_id, other_id, mark, other_mark in connection.execute(
            "SELECT memory_id, other_id, mark, other_mark FROM review_cleared"
            " WHERE reason = 'guarded'"
        )
    }
    found: list[StoredPair] = []
    for pair in pairs:
        if len(found) >= GUARDED_PAIRS_COUNT_MAX:
            break
        row, other = rows.by_rid(connection, pair.rid), rows.by_rid(connection, pair.other_rid)
        if row is None or other is None:
            continue
        if (row.change_counter, other.change_counter) != (pair.counter, pair.other_counter):
            continue
        key = (row.id, other.id, row.revision, other.revision)
        if key not in cleared:
            # The fields of the key, in the order of StoredPair.
            ids, revisions = key[:2], key[2:]
            found.append(StoredPair(*ids, pair.why, *revisions, before.get(key, now), now))
    if not found and not before:
        return
    connection.execute("DELETE FROM guarded_pairs")
    connection.executemany(
        "INSERT OR REPLACE INTO guarded_pairs VALUES (?, ?, ?, ?, ?, ?, ?)", found
    )
    events.append(connection, now, PAIRS_NOTED, None, {"pairs": len(found)})


def pairs(connection: Connection, after: int, beyond: tuple[str, str]) -> list[StoredPair]:
    """The pairs that stand and were found after a time, by id, from beyond a pair of ids on."""
    query = (
        f"{_PAIR} {_STANDING} AND (p.memory_id, p.other_id) > (?, ?)"
        " ORDER BY p.memory_id, p.other_id"
    )
    return [StoredPair(*values) for values in connection.execute(query, (after, *beyond))]


def count_pairs(connection: Connection, after: int) -> int:
    """How many pairs stand that were found after a time."""
    return connection.execute(f"SELECT count(*) {_STANDING}", (after,)).fetchall()[0][0]


def count_regretted(connection: Connection, after: int) -> int:
    """How many memories have the default number of regrets after a time, and were not cleared."""
    query = (
        "SELECT count(*) FROM regrets r WHERE r.fifth_at > ? AND NOT EXISTS"
        " (SELECT 1 FROM review_cleared c WHERE c.reason = 'regret' AND c.memory_id = r.memory_id"
        "  AND c.other_id = '' AND c.mark = r.total)"
    )
    return connection.execute(query, (after,)).fetchall()[0][0]


def cleared_marks(connection: Connection, reason: str) -> dict[str, int]:
    """The marks of the memories that were cleared for a reason."""
    query = "SELECT memory_id, mark FROM review_cleared WHERE reason = ?"
    return dict(connection.execute(query, (reason,)))


def cleared_rows(connection: Connection, reason: str) -> list[int]:
    """The row numbers of the memories cleared for a reason that have not changed since."""
    query = (
        "SELECT m.rid FROM review_cleared c JOIN memories m ON m.id = c.memory_id"
        " WHERE c.reason = ? AND c.mark = m.revision"
    )
    return [rid for (rid,) in connection.execute(query, (reason,))]


def clear(tx: Transaction, clearings: Sequence[Clearing], now: int) -> None:
    """Take items off until something new happens to them, with their events."""
    tx.connection.executemany(
        "INSERT OR REPLACE INTO review_cleared VALUES (?, ?, ?, ?, ?, ?)",
        [(*one, now) for one in clearings],
    )
    for start in range(0, len(clearings), REVIEW_ITEMS_PER_EVENT_COUNT_MAX):
        told = [
            {"reason": one.reason, "memoryId": one.memory_id, "otherId": one.other_id or None}
            for one in clearings[start : start + REVIEW_ITEMS_PER_EVENT_COUNT_MAX]
        ]
        events.append(tx.connection, now, CLEARED, None, {"items": told})


# --- of memories that are destroyed --------------------------------------------------------

_NAMING: Final = {
    "regrets": ("memory_id",),
    "guarded_pairs": ("memory_id", "other_id"),
    "review_cleared": ("memory_id", "other_id"),
}


def leave(connection: Connection, ids: Sequence[str]) -> None:
    """Drop every row that names one of these ids."""
    for table, columns in _NAMING.items():
        for column in columns:
            connection.execute(
                f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))",
                (json.dumps(ids),),
            )


def named_in(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    """How many rows name one of these ids, by table."""
    counts: dict[str, int] = {}
    for table, columns in _NAMING.items():
        where = " OR ".join(f"{each} IN (SELECT value FROM json_each(?1))" for each in columns)
        query = f"SELECT count(*) FROM {table} WHERE {where}"
        counts[table] = connection.execute(query, (json.dumps(ids),)).fetchall()[0][0]
    return counts
