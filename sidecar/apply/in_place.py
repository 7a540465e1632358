"""Changing a memory where it lies, inside a transaction: fading, archiving, believing again."""

from typing import Any

from sidecar.apply.fade import change_factor
from sidecar.apply.journal import Chunk, RunHeader
from sidecar.apply.lift import revive_row
from sidecar.plan.plan import ARCHIVE, REVIVE
from sidecar.reasons import InvalidationReason
from sidecar.store import beliefs, rows
from sidecar.store.sqlite.writer import Transaction


def change_in_place(
    tx: Transaction, header: RunHeader, chunk: Chunk, number: int, now: int
) -> None:
    """Carry out one decision of a chunk that moves nothing, with its event."""
    decision: Any = chunk.decisions[number]
    rid, run_id = int(decision["rid"]), header.run_id
    row = rows.by_rid(tx.connection, rid)
    assert row is not None, "the row was there a moment ago, in this transaction"
    if decision["action"] == ARCHIVE:
        beliefs.invalidate(tx, row, InvalidationReason.FORGOTTEN, now, run_id)
    elif decision["action"] == REVIVE:
        revive_row(tx, row, now, run_id)
    else:
        assert chunk.details is not None, "a fade has its factors"
        factor, reason = float(chunk.details["factor_after"][number]), int(decision["reason"])
        change_factor(tx, row, factor, reason, now, run_id, undo=header.kind == "undo")
