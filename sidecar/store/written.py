"""Writing a row that has changed: the row, its event, and what follows after COMMIT."""

from typing import Any

from sidecar.model import ARCHIVED, FORGOTTEN
from sidecar.store import events, links, media_trash, rows
from sidecar.store.rows import BELIEF, Row
from sidecar.store.sqlite.writer import Transaction


def finish(
    tx: Transaction,
    before: dict[str, Any],
    row: Row,
    kind: str,
    now: int,
    told: dict[str, Any] | None = None,
    run_id: str | None = None,
) -> Row:
    """Write a changed row; a change of content or belief raises its revision.

    `before` are its scalars as they were, `told` is what the event says besides the changes.
    """
    if any(rows.scalars(row)[name] != before[name] for name in BELIEF):
        row.revision += 1
    return write(tx, before, row, kind, now, told, run_id)


def write(
    tx: Transaction,
    before: dict[str, Any],
    row: Row,
    kind: str,
    now: int,
    told: dict[str, Any] | None = None,
    run_id: str | None = None,
) -> Row:
    """Write a changed row as it is, its revision too."""
    was_forgotten = before["tier"] == FORGOTTEN
    if was_forgotten and row.tier != FORGOTTEN and row.media_ref == before["media_ref"]:
        media_trash.come_back(tx, row.rid, None)
    row.change_counter += 1
    if row.status != ARCHIVED:
        row.archived_run = None
    rows.update(tx.connection, row)
    changed = events.changes(before, rows.scalars(row)) | (told or {})
    events.append(tx.connection, now, kind, row.id, changed, run_id)
    successor = links.successor_rid(tx.connection, row)
    if row.tier != FORGOTTEN:
        if was_forgotten:
            tx.after_commit.append(lambda columns: columns.returned(row, successor))
        else:
            tx.after_commit.append(lambda columns: columns.put(row, successor))
        return row
    gone_at = row.forgotten_at or 0
    if not was_forgotten:
        tx.after_commit.append(lambda columns: columns.remove(row.rid, gone_at))
    tx.after_commit.append(lambda columns: columns.gone(row.rid, successor, gone_at))
    return row
