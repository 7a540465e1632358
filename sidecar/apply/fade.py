"""Fading one memory, inside a transaction: its factor changes, and nothing else moves or ages."""

from sidecar.plan.plan import REASONS
from sidecar.store import events, links, rows
from sidecar.store.rows import Row
from sidecar.store.sqlite.writer import Transaction


def change_factor(
    tx: Transaction, row: Row, factor: float, reason: int, now: int, run_id: str, *, undo: bool
) -> None:
    """Give a memory another fade factor, with its event.

    Taking a fade back leaves the time of the fade: the memory is not faded again at once.
    """
    before = rows.scalars(row)
    shown = row.value * row.fade_factor
    row.fade_factor = factor
    row.change_counter += 1
    if not undo:
        row.faded_at = now
    rows.update(tx.connection, row)
    told = {
        **events.changes(before, rows.scalars(row)),
        "memory_type": row.memory_type,
        "reason": REASONS[reason],
        "old_importance": shown,
        "new_importance": row.value * factor,
    }
    kind = "memory.unfaded" if undo else "memory.faded"
    events.append(tx.connection, now, kind, row.id, told, run_id)
    successor = links.successor_rid(tx.connection, row)
    tx.after_commit.append(lambda columns: columns.put(row, successor))
