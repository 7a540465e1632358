"""Estimating anew, from its text, each live memory that another estimator judged.

Small transactions, each with an event for every memory in it: cut short anywhere, the same call
goes on with the rest. What a host says of importance is another column and stays.
"""

from dataclasses import dataclass
from functools import partial

from sidecar.clock import Clock
from sidecar.estimate import Estimator
from sidecar.limits import MOVES_PER_TRANSACTION_MAX
from sidecar.model import FORGOTTEN
from sidecar.store import rows
from sidecar.store.rows import Row
from sidecar.store.sqlite.source import PayloadDamaged
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.store.written import write

_WAITING = (
    f"WHERE rid > ? AND tier < {FORGOTTEN} AND estimator != ? ORDER BY rid LIMIT "
    f"{MOVES_PER_TRANSACTION_MAX}"
)


@dataclass(slots=True)
class Refreshed:
    """How many memories another estimator had judged, and what became of their importance.

    `raised` and `lowered` are those without a value from the host. `damaged` have no text left
    that could be read, and stay as they are.
    """

    refreshed: int = 0
    raised: int = 0
    lowered: int = 0
    damaged: int = 0

    def count(self, before: float, row: Row) -> None:
        """Add one memory that now has its new estimate."""
        self.refreshed += 1
        if row.importance is None:
            self.raised += row.estimate > before
            self.lowered += row.estimate < before


def refresh_estimates(
    store: Store, estimator: Estimator, clock: Clock, *, dry_run: bool
) -> Refreshed:
    """Estimate anew what another estimator judged; a dry run only counts. Blocks."""
    total = Refreshed()
    after = 0
    while True:
        with store.readers.view() as connection:
            batch = rows.select(connection, _WAITING, (after, estimator.version))
            found: list[tuple[Row, float]] = []
            for row in batch:
                try:
                    content = store.payload(connection, row).content
                except PayloadDamaged:
                    total.damaged += 1
                    continue
                found.append((row, estimator.estimate(content)))
        if not batch:
            return total
        after = batch[-1].rid
        if dry_run:
            for row, estimate in found:
                before, row.estimate = row.estimate, estimate
                total.count(before, row)
            continue
        now = clock.now_ms()
        written = store.writer.call(partial(_write, found, estimator.version, now))
        for before, row in written:
            total.count(before, row)


def _write(
    found: list[tuple[Row, float]], version: str, now: int, tx: Transaction
) -> list[tuple[float, Row]]:
    """Give the memories that are still as they were read their estimates; what they had."""
    written: list[tuple[float, Row]] = []
    for seen, estimate in found:
        row = rows.by_rid(tx.connection, seen.rid)
        if row is None or row.tier == FORGOTTEN or row.content_hash != seen.content_hash:
            continue
        before = rows.scalars(row)
        row.estimate, row.estimator = estimate, version
        write(tx, before, row, "memory.estimated", now)
        written.append((before["estimate"], row))
    return written
