"""Bringing one memory into the hot store, inside a transaction."""

from sidecar.model import ACTIVE, ARCHIVED, FORGOTTEN, SUPERSEDED
from sidecar.reasons import InvalidationReason
from sidecar.store import events, hot_payloads, links, rows
from sidecar.store.payload import Payload
from sidecar.store.sqlite.writer import Transaction


def lift_row(
    tx: Transaction, row: rows.Row, payload: Payload, now: int, kind: str, run_id: str | None
) -> None:
    """Bring one cold or forgotten memory into the hot store, with its event."""
    before = rows.scalars(row)
    was_forgotten = row.tier == FORGOTTEN
    row.tier_left = row.tier
    hot_payloads.place_hot(tx, row, payload)
    if was_forgotten:
        row.forgotten_at = None
        row.restored_at = now
        believe_again(row, now)
    row.change_counter += 1
    rows.update(tx.connection, row)
    changed = events.changes(before, rows.scalars(row))
    events.append(tx.connection, now, kind, row.id, changed, run_id)
    successor = links.successor_rid(tx.connection, row)
    if was_forgotten:
        tx.after_commit.append(lambda columns: columns.returned(row, successor))
    else:
        tx.after_commit.append(lambda columns: columns.put(row, successor))


def believe_again(row: rows.Row, now: int) -> bool:
    """What was archived as forgotten is active when it is back; nothing else is believed again.

    One that was replaced while it was set aside comes back as the superseded memory that it is.
    """
    forgotten = InvalidationReason.from_db(row.status_reason) is InvalidationReason.FORGOTTEN
    if row.status != ARCHIVED or not forgotten:
        return False
    if row.superseded_by is None:
        row.status, row.status_reason, row.status_at = ACTIVE, None, now
    else:
        row.status, row.status_reason, row.status_at = SUPERSEDED, "superseded", now
    row.revision += 1
    return True
