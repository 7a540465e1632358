"""Keeping the text index small: what was deleted from it is merged away in small steps.

FTS5 would do it by itself inside the commit of a delete that makes a tenth of a part dead, and
every write would wait for that; so it is told not to (`deletemerge` in the migration).
"""

import threading
from functools import partial
from typing import Final

from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction, Writer

DELETED_KEY: Final = "search_deleted"  # in `meta`: rows deleted since the last whole merge
DEAD_SHARE_MAX: Final = 0.2
DEAD_ROWS_MIN: Final = 1_000
MERGE_PAGES: Final = 64  # of 4 KiB: some milliseconds
MERGE_CHANGES_MIN: Final = 2  # fewer say, by FTS5's documentation, that nothing is left to merge
_COUNT: Final = (
    "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = value + excluded.value"
)
_FORGET_COUNT: Final = "DELETE FROM meta WHERE key = ?"


def note_deleted(connection: Connection, rows: int) -> None:
    """Count rows that the current transaction deletes from the index."""
    connection.execute(_COUNT, (DELETED_KEY, rows))


def worth_merging(deleted: int, hot: int) -> bool:
    """Whether so many deleted rows beside `hot` live ones are too many."""
    return deleted >= DEAD_ROWS_MIN and deleted > DEAD_SHARE_MAX * (deleted + hot)


def merge(writer: Writer, stopping: threading.Event) -> None:
    """Rewrite the index without what was deleted, a few pages a transaction.

    Other writes get their turn in between; stopped half-way, the index is whole all the same.
    """
    pages = -MERGE_PAGES  # the first step says that everything is to become one
    while not stopping.is_set() and writer.call(partial(_merge_pages, pages=pages)):
        pages = MERGE_PAGES
    if not stopping.is_set():
        writer.call(lambda tx: tx.connection.execute(_FORGET_COUNT, (DELETED_KEY,)))


def _merge_pages(tx: Transaction, pages: int) -> bool:
    """One step; False where nothing was left to merge."""
    before = tx.connection.total_changes()
    tx.connection.execute("INSERT INTO search (search, rank) VALUES ('merge', ?)", (pages,))
    return tx.connection.total_changes() - before >= MERGE_CHANGES_MIN
