"""What follows in the transaction once rows point at their segments: events and RAM columns."""

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from sidecar.apply.batches import Place
from sidecar.apply.checks import Present
from sidecar.apply.journal import RunHeader
from sidecar.apply.lift import believe_again
from sidecar.model import FORGOTTEN
from sidecar.plan.plan import ACTIONS, REASONS
from sidecar.store import events, links, media_trash, rows
from sidecar.store.sqlite.writer import Transaction

EVENT_KIND: Final = {
    "spill": "memory.spilled",
    "forget": "memory.forgotten",
    "thaw": "memory.thawed",
    "restore": "memory.restored",
}
PRUNED: Final = "memory.pruned"

Moves = Sequence[tuple[Any, Present, Place]]


def after_sinking(tx: Transaction, header: RunHeader, tier: int, moves: Moves, now: int) -> None:
    """Tell of the rows just moved down, or back to cold, and let their files follow."""
    if tier == FORGOTTEN:
        _forgotten(tx, header, moves, now)
    else:
        _cold(tx, header, tier, moves, now)


def _forgotten(tx: Transaction, header: RunHeader, moves: Moves, now: int) -> None:
    gone = [row.rid for _, row, _ in moves]
    leaving = media_trash.leave(tx, header.run_id, gone, now)
    pruned = header.kind == "cycle"

    def told(decision: Any, row: Present) -> str:
        moved = f'"tier": {FORGOTTEN}, "change_counter": {row.change_counter + 1}'
        moved = f'{moved}, "forgotten_at": {now}'
        if not pruned:
            return f"{{{moved}}}"
        more = {
            "memory_type": row.memory_type,
            "reason": REASONS[int(decision["reason"])],
            "had_media": row.media_ref is not None,
            "media_ref": row.media_ref,
            "media_deleted": row.id in leaving,
        }
        return f"{{{moved}, {msgspec.json.encode(more).decode()[1:]}"

    kind = PRUNED if pruned else EVENT_KIND["forget"]
    events.append_many(
        tx.connection,
        [(now, header.run_id, kind, row.id, told(decision, row)) for decision, row, _ in moves],
    )
    tx.after_commit.append(lambda columns: [columns.remove(rid, now) for rid in gone])


def _cold(tx: Transaction, header: RunHeader, tier: int, moves: Moves, now: int) -> None:
    returned = [row.rid for _, row, _ in moves if row.tier == FORGOTTEN]
    back = {rid: _settle(tx, rid, now) for rid in returned}

    def told(row: Present) -> str:
        if row.rid in back:
            return back[row.rid][1]
        return f'{{"tier": {tier}, "change_counter": {row.change_counter + 1}}}'

    events.append_many(
        tx.connection,
        [
            (now, header.run_id, EVENT_KIND[ACTIONS[decision["action"]]], row.id, told(row))
            for decision, row, _ in moves
        ],
    )
    moved = [
        (row.rid, rows.COLD_ROW_BYTES + place.share_bytes, row.change_counter + 1)
        for _, row, place in moves
        if row.rid not in back
    ]
    tx.after_commit.append(
        lambda columns: [columns.moved(rid, tier, size, n) for rid, size, n in moved]
    )
    for row, _, successor in back.values():
        tx.after_commit.append(
            lambda columns, row=row, successor=successor: columns.returned(row, successor)
        )


def _settle(tx: Transaction, rid: int, now: int) -> tuple[rows.Row, str, int]:
    """A forgotten row that has just come back: its belief, its event payload, its link."""
    row = rows.by_rid(tx.connection, rid)
    assert row is not None, "a row that was moved is there"
    fields = ["tier", "change_counter", "forgotten_at", "restored_at"]
    if believe_again(row, now):
        fields += ["status", "status_reason", "status_at", "revision"]
        rows.update(tx.connection, row)
    changed = {name: getattr(row, name) for name in fields}
    return row, json.dumps(changed, ensure_ascii=False), links.successor_rid(tx.connection, row)
