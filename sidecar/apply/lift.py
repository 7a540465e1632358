"""Bringing one memory into the hot store, inside a transaction."""

from typing import Any

from sidecar.model import ACTIVE, ARCHIVED, FORGOTTEN, SUPERSEDED
from sidecar.reasons import InvalidationReason
from sidecar.store import events, hot_payloads, links, media_trash, rows
from sidecar.store.payload import Payload
from sidecar.store.sqlite.writer import Transaction


def lift_row(
    tx: Transaction, row: rows.Row, payload: Payload, now: int, kind: str, run_id: str | None
) -> None:
    """Bring one cold or forgotten memory into the hot store, with its event."""
    before = rows.scalars(row)
    was_forgotten = row.tier == FORGOTTEN
    if was_forgotten:
        media_trash.come_back(tx, row.rid, run_id)
    row.tier_left = row.tier
    hot_payloads.place_hot(tx, row, payload)
    if was_forgotten:
        row.forgotten_at = None
        row.restored_at = now
        believe_again(row, now)
    _write(tx, before, row, now, kind, run_id)


def revive_row(tx: Transaction, row: rows.Row, now: int, run_id: str) -> None:
    """Believe a live memory again that was archived as forgotten, with its event and grace."""
    before = rows.scalars(row)
    if believe_again(row, now):
        row.restored_at = now
        _write(tx, before, row, now, "memory.restored", run_id)


def _write(
    tx: Transaction,
    before: dict[str, Any],
    row: rows.Row,
    now: int,
    kind: str,
    run_id: str | None,
) -> None:
    row.change_counter += 1
    rows.update(tx.connection, row)
    changed = events.changes(before, rows.scalars(row))
    events.append(tx.connection, now, kind, row.id, changed, run_id)
    successor = links.successor_rid(tx.connection, row)
    if before["tier"] == FORGOTTEN:
        tx.after_commit.append(lambda columns: columns.returned(row, successor))
    else:
        tx.after_commit.append(lambda columns: columns.put(row, successor))


def believe_again(row: rows.Row, now: int) -> bool:
    """What was archived as forgotten is active when it is back; nothing else is believed again.

    One that was replaced while it was set aside comes back as the superseded memory that it is.
    """
    if not set_aside_as_forgotten(row):
        return False
    if row.superseded_by is None:
        row.status, row.status_reason, row.status_at = ACTIVE, None, now
    else:
        row.status, row.status_reason, row.status_at = SUPERSEDED, "superseded", now
    row.archived_run = None
    row.revision += 1
    return True


def set_aside_as_forgotten(row: rows.Row) -> bool:
    """Whether a memory is archived for having been forgotten."""
    reason = InvalidationReason.from_db(row.status_reason)
    return row.status == ARCHIVED and reason is InvalidationReason.FORGOTTEN
