"""Moving the WAL into the database beside the writes, on a connection and thread of its own.

A checkpoint that SQLite does inside a commit makes that commit wait for it; here no write does.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import apsw

from sidecar.store.sqlite.connection import open_reader

WAL_PAGES_MAX: Final = 2_000  # about 16 MiB
# What the writer may be left with: every write waits while it moves these.
LEFT_PAGES_MAX: Final = 256
PASSES_MAX: Final = 8


class Checkpointer:
    """Sleeps until the WAL is long. `on_failure` hears of a disk that fails.

    While commits go on, some frames always come after those just moved, and the WAL would never
    begin anew. `finish` asks the writer to move these few itself, between two commits.
    """

    def __init__(
        self, path: Path, on_failure: Callable[[apsw.Error], None], finish: Callable[[], None]
    ) -> None:
        self._path = path
        self._on_failure = on_failure
        self._finish = finish
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="forgetd-checkpoint", daemon=True)
        self._thread.start()

    def committed(self, pages: int) -> None:
        """Hear after a commit how many pages the WAL has."""
        if pages > WAL_PAGES_MAX:
            self._wake.set()

    def close(self) -> None:
        """Finish the checkpoint under way and end."""
        self._closing = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            if self._closing:
                return
            self._wake.clear()
            try:
                connection = open_reader(self._path)
                try:
                    connection.execute("PRAGMA query_only = OFF")
                    for _ in range(PASSES_MAX):
                        pages, moved = connection.wal_checkpoint(
                            mode=apsw.SQLITE_CHECKPOINT_PASSIVE
                        )
                        if pages - moved <= LEFT_PAGES_MAX:
                            break
                finally:
                    connection.close()
                self._finish()
            except (apsw.BusyError, apsw.FullError):
                continue  # the next commit asks again
            except apsw.Error as error:
                self._on_failure(error)
                return
