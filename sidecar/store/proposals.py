"""Proposals: texts that wait to become memories, and what was decided of them.

A proposal has the id that its memory will have. An accepted one keeps no text: it is the memory.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sidecar.limits import PROPOSALS_DECIDED_COUNT_MAX
from sidecar.store import events, rows, tombstones
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

PENDING, ACCEPTED, REJECTED = 0, 1, 2
# The columns hold the position. Append only.
STATUSES: Final = ("pending", "accepted", "rejected")

SUBMITTED_EVENT: Final = "proposal.submitted"
ACCEPTED_EVENT: Final = "proposal.accepted"
REJECTED_EVENT: Final = "proposal.rejected"
DROPPED_EVENT: Final = "proposal.dropped"
DESTROYED: Final = "destroyed"  # the reason where what a proposal supersedes was destroyed


class StoredProposal(NamedTuple):
    """One row. `number` rises with each submission; times in ms; `metadata` is JSON."""

    number: int
    id: str
    status: int
    memory_type: int
    content: str | None
    metadata: str
    confidence: float
    created_at: int
    decided_at: int | None
    decided_reason: str | None
    supersedes: str | None
    supersedes_revision: int | None


_COLUMNS: Final = ", ".join(StoredProposal._fields)


def submit(tx: Transaction, proposal: StoredProposal) -> StoredProposal:
    """Write a new pending proposal, with its event; answers it with its number."""
    values = proposal[1:]
    tx.connection.execute(
        f"INSERT INTO proposals ({', '.join(StoredProposal._fields[1:])})"
        f" VALUES ({', '.join('?' * len(values))})",
        values,
    )
    payload = {
        "proposalId": proposal.id,
        "proposedConfidence": proposal.confidence,
        "supersedes": proposal.supersedes,
    }
    events.append(tx.connection, proposal.created_at, SUBMITTED_EVENT, None, payload)
    return proposal._replace(number=tx.connection.last_insert_rowid())


def accept(tx: Transaction, proposal: StoredProposal, now: int, *, automatic: bool) -> None:
    """Note that a proposal is a memory from this transaction on: its text is there."""
    _decide(tx, proposal.id, ACCEPTED, "auto" if automatic else None, now)
    tx.connection.execute(
        "UPDATE proposals SET content = NULL, metadata = '{}' WHERE id = ?", (proposal.id,)
    )
    payload = {"proposalId": proposal.id, "automatic": automatic}
    events.append(tx.connection, now, ACCEPTED_EVENT, None, payload)
    _bound(tx, now)


def reject(tx: Transaction, proposal: StoredProposal, reason: str | None, now: int) -> None:
    """Note that a proposal will be no memory."""
    _decide(tx, proposal.id, REJECTED, reason, now)
    events.append(tx.connection, now, REJECTED_EVENT, None, {"proposalId": proposal.id})
    _bound(tx, now)


def drop_decided(tx: Transaction, before: int, now: int) -> int:
    """Drop what was decided at a time (ms) or earlier; answers how many."""
    return _drop(tx, "decided_at <= ?", (before,), now)


def by_id(connection: Connection, proposal_id: str) -> StoredProposal | None:
    """The proposal with this id."""
    found = _select(connection, "WHERE id = ?", (proposal_id,))
    return found[0] if found else None


def page(
    connection: Connection, status: int | None, beyond: int, limit: int
) -> list[StoredProposal]:
    """Proposals of a status, or all, with a greater number, in order."""
    where, bindings = "WHERE number > ?", [beyond]
    if status is not None:
        where += " AND status = ?"
        bindings.append(status)
    return _select(connection, f"{where} ORDER BY number LIMIT ?", (*bindings, limit))


def pending(connection: Connection) -> list[StoredProposal]:
    """All that waits, the oldest submission first."""
    return _select(connection, "WHERE status = ? ORDER BY number", (PENDING,))


def count_pending(connection: Connection) -> int:
    """How many wait."""
    return _count(connection, "status = ?", (PENDING,))


def count_decided(connection: Connection, before: int) -> int:
    """How many were decided at a time (ms) or earlier."""
    return _count(connection, "decided_at <= ?", (before,))


def obstacle(connection: Connection, proposal: StoredProposal) -> str | None:
    """Why a pending proposal cannot become a memory now; None where it can."""
    if rows.by_id(connection, proposal.id) is not None:
        return "memory_exists"
    if tombstones.stands(connection, proposal.id):
        return "memory_destroyed"
    if proposal.supersedes is None:
        return None
    older = rows.by_id(connection, proposal.supersedes)
    same = older is not None and older.revision == proposal.supersedes_revision
    return None if same else "changed"


# --- of memories that are destroyed --------------------------------------------------------


def leave(tx: Transaction, hashes: Mapping[str, str], now: int) -> None:
    """Take out what names destroyed memories, the keys of `hashes`.

    What was accepted into one goes with it. What would have superseded one can be no memory any
    more: it is rejected, and of it and those decided before neither text nor link stays.
    """
    connection, named = tx.connection, json.dumps(list(hashes))
    connection.execute(
        "DELETE FROM proposals WHERE id IN (SELECT value FROM json_each(?))", (named,)
    )
    about = "supersedes IN (SELECT value FROM json_each(?))"
    for proposal in _select(connection, f"WHERE {about} AND status = {PENDING}", (named,)):
        reject(tx, proposal, DESTROYED, now)
    connection.execute(
        "UPDATE proposals SET content = NULL, metadata = '{}', supersedes = NULL,"
        f" supersedes_revision = NULL WHERE {about}",
        (named,),
    )


def named_in(connection: Connection, ids: Sequence[str]) -> int:
    """How many proposals name one of these ids."""
    among = "IN (SELECT value FROM json_each(?1))"
    return _count(connection, f"id {among} OR supersedes {among}", (json.dumps(ids),))


def texts(connection: Connection) -> list[tuple[str, str]]:
    """The id and the text of each that has one."""
    return connection.execute(
        "SELECT id, content || char(0) || metadata FROM proposals WHERE content IS NOT NULL"
    ).fetchall()


def _decide(tx: Transaction, proposal_id: str, status: int, reason: str | None, now: int) -> None:
    tx.connection.execute(
        "UPDATE proposals SET status = ?, decided_at = ?, decided_reason = ? WHERE id = ?",
        (status, now, reason, proposal_id),
    )


def _bound(tx: Transaction, now: int) -> None:
    """Let no more decided ones stay than PROPOSALS_DECIDED_COUNT_MAX: the first decided go."""
    more = _count(tx.connection, "decided_at IS NOT NULL", ()) - PROPOSALS_DECIDED_COUNT_MAX
    if more > 0:
        first = (
            "number IN (SELECT number FROM proposals WHERE decided_at IS NOT NULL"
            " ORDER BY decided_at, number LIMIT ?)"
        )
        _drop(tx, first, (more,), now)


def _drop(tx: Transaction, condition: str, bindings: tuple[Any, ...], now: int) -> int:
    dropped = [
        proposal_id
        for (proposal_id,) in tx.connection.execute(
            f"DELETE FROM proposals WHERE {condition} RETURNING id", bindings
        ).fetchall()
    ]
    if dropped:
        events.append(tx.connection, now, DROPPED_EVENT, None, {"proposalIds": dropped})
    return len(dropped)


def _select(connection: Connection, where: str, bindings: tuple[Any, ...]) -> list[StoredProposal]:
    query = f"SELECT {_COLUMNS} FROM proposals {where}"
    return [StoredProposal(*values) for values in connection.execute(query, bindings)]


def _count(connection: Connection, condition: str, bindings: tuple[Any, ...]) -> int:
    query = f"SELECT count(*) FROM proposals WHERE {condition}"
    return connection.execute(query, bindings).fetchall()[0][0]
