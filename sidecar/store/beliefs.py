"""Taking belief away, and reading of many memories why they are not believed or of use."""

import json
from collections.abc import Iterator
from typing import Final

import numpy as np

from sidecar.errors import MemoryNotFound
from sidecar.model import ACTIVE, ARCHIVED, FORGOTTEN, INVALIDATED, SUPERSEDED
from sidecar.plan.lifecycle import Usefulness
from sidecar.plan.plan import Int64
from sidecar.reasons import InvalidationReason
from sidecar.store import rows
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.written import finish

_TOLD: Final = (
    "SELECT rid, use_count, usefulness_score, coalesce(last_useful_at, 0) FROM memories"
    f" WHERE tier < {FORGOTTEN}"
    " AND (use_count <> 0 OR usefulness_score <> 0 OR last_useful_at IS NOT NULL)"
)

# How far a status is from belief.
_DISBELIEF: Final = {ACTIVE: 0, ARCHIVED: 1, SUPERSEDED: 2, INVALIDATED: 3}


def invalidate(
    tx: Transaction, row: Row, reason: InvalidationReason, now: int, run_id: str | None = None
) -> None:
    """Stop believing a memory, in any tier: the one way to do so, for a host and for a run.

    It only ever takes belief away: what is held wrong stays so, and what is superseded is not
    set aside instead, from where a restore could bring it back.
    """
    if (row.status, row.status_reason) == (reason.status, reason.value):
        return
    if _DISBELIEF[reason.status] < _DISBELIEF[row.status]:
        return
    before = rows.scalars(row)
    row.status, row.status_reason, row.status_at = reason.status, reason.value, now
    row.archived_run = run_id
    finish(tx, before, row, "memory.invalidated", now, run_id=run_id)


def invalidate_by_id(tx: Transaction, memory_id: str, reason: InvalidationReason, now: int) -> Row:
    """As `invalidate`, for a host. Raises MemoryNotFound."""
    row = rows.by_id(tx.connection, memory_id)
    if row is None:
        raise MemoryNotFound(field="$.id", remedy="list the ids with memory.list")
    invalidate(tx, row, reason, now)
    return row


def usefulness_of(connection: Connection, rids: Int64) -> Usefulness:
    """What hosts said of these live memories, in their order."""
    found = {rid: values for rid, *values in connection.execute(_TOLD)}
    told = Usefulness(
        use_count=np.zeros(len(rids), np.int64),
        score=np.zeros(len(rids), np.float64),
        last_useful_at=np.zeros(len(rids), np.int64),
    )
    if found:
        named = np.fromiter(found, np.int64, len(found))
        for at in np.flatnonzero(np.isin(rids, named)).tolist():
            uses, score, useful_at = found[int(rids[at])]
            told.use_count[at], told.score[at], told.last_useful_at[at] = uses, score, useful_at
    return told


def reason_counts(connection: Connection) -> Iterator[tuple[int, str | None, int]]:
    """(status, reason as it is stored, memories) of every tier, of those that are not believed."""
    query = (
        "SELECT status, status_reason, count(*) FROM memories WHERE status > 0"
        " GROUP BY status_reason, status"
    )
    yield from connection.execute(query)


def archived_by_forgetting(
    connection: Connection, limit: int, before: tuple[int, int] | None
) -> list[Row]:
    """Memories archived as forgotten, newest first, from below (time, row number) on."""
    texts = connection.execute(
        "SELECT DISTINCT status_reason FROM memories WHERE status > 0"
    ).fetchall()
    known = [
        text
        for (text,) in texts
        if InvalidationReason.from_db(text) is InvalidationReason.FORGOTTEN
    ]
    at, rid = before or (2**62, 0)
    where = (
        "WHERE status > 0 AND status = ? AND status_reason IN (SELECT value FROM json_each(?))"
        " AND (coalesce(status_at, 0), rid) < (?, ?)"
        " ORDER BY coalesce(status_at, 0) DESC, rid DESC LIMIT ?"
    )
    return rows.select(connection, where, (ARCHIVED, json.dumps(known), at, rid, limit))
