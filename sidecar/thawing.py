"""Bringing recalled cold memories back to the hot store, as far as there is room."""

from collections.abc import Sequence

from sidecar.apply.lift import lift_row
from sidecar.model import COLD, HOT
from sidecar.settings_book import SettingsBook
from sidecar.store import rows
from sidecar.store.sqlite.source import PayloadDamaged, read_payload
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store


def thaw(store: Store, rids: Sequence[int], book: SettingsBook, now: int) -> None:
    """Move cold rows to hot, never above the hot threshold. Damaged ones stay cold."""

    def work(tx: Transaction) -> None:
        # Asked of the database: jobs before this one in the same commit are not counted yet.
        found = tx.connection.execute("SELECT count(*) FROM memories WHERE tier = ?", (HOT,))
        room = book.cascade().threshold_count - found.fetchall()[0][0]
        for rid in rids:
            row = rows.by_rid(tx.connection, rid)
            if room <= 0 or row is None or row.tier != COLD:
                continue
            try:
                payload = read_payload(tx.connection, store.files, row)
            except PayloadDamaged:
                continue
            row.moved_run, row.moved_reason = None, None
            lift_row(tx, row, payload, now, "memory.thawed", None)
            room -= 1

    store.writer.call(work)
    store.remove_unneeded_segments()
