"""Opening the database, and what its failures mean to a caller.

One writer per namespace, any number of readers. WAL with synchronous=FULL: a commit that was
acknowledged survives power loss. `VFS_NAME` lets a test put a faulty disk under the database.
"""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Full, LifoQueue
from typing import Final, cast

import apsw

from sidecar.errors import Corrupt, DiskFull, ForgetdError, ReadOnly
from sidecar.limits import SQLITE_PAGE_BYTES
from sidecar.store.sqlite.typed import Connection

BUSY_TIMEOUT_MS: Final = 10_000
CACHE_KIBIBYTES_WRITER: Final = 16_384
CACHE_KIBIBYTES_READER: Final = 4_096
READERS_IDLE_MAX: Final = 4
STATEMENT_CACHE_SIZE: Final = 200
FULL_REMEDY: Final = "free space on the state directory's disk; nothing was lost"
DISK_REMEDY: Final = "check the disk and the log, then restart the daemon"


class Durability:
    """How commits reach the disk. A test weakens it to show that it can see a loss."""

    synchronous = "FULL"
    vfs_name: str | None = None


def open_writer(path: Path) -> Connection:
    """The one connection that writes. Creates the file; checkpoints are not its work."""
    connection = cast(
        Connection,
        apsw.Connection(
            str(path),
            flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE,
            vfs=Durability.vfs_name,
            statementcachesize=STATEMENT_CACHE_SIZE,
        ),
    )
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.execute(f"PRAGMA page_size = {SQLITE_PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute(f"PRAGMA synchronous = {Durability.synchronous}")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES_WRITER}")
    connection.execute("PRAGMA secure_delete = FAST").fetchall()
    connection.wal_autocheckpoint(0)
    return connection


def open_reader(path: Path) -> Connection:
    """A connection that can only read."""
    connection = cast(
        Connection,
        apsw.Connection(
            str(path),
            flags=apsw.SQLITE_OPEN_READWRITE,
            vfs=Durability.vfs_name,
            statementcachesize=STATEMENT_CACHE_SIZE,
        ),
    )
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES_READER}")
    connection.wal_autocheckpoint(0)
    return connection


def keep_wal(connection: Connection) -> None:
    """Let closing the last connection leave the WAL as it is, neither checkpointed nor removed."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


class Readers:
    """A small pool of reading connections for any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: LifoQueue[Connection] = LifoQueue(READERS_IDLE_MAX)
        self._closed = False

    @contextmanager
    def borrow(self) -> Generator[Connection]:
        """One connection for the length of a `with` block. Raises ForgetdError on rot."""
        try:
            connection = self._idle.get_nowait()
        except Empty:
            with translated():
                connection = open_reader(self._path)
        try:
            with translated():
                yield connection
        finally:
            self._give_back(connection)

    def _give_back(self, connection: Connection) -> None:
        # A statement that an error cut short would show the next borrower an old view.
        if not self._closed and connection.txn_state() == apsw.SQLITE_TXN_NONE:
            with suppress(Full):
                self._idle.put_nowait(connection)
                return
        connection.close(True)

    @contextmanager
    def view(self) -> Generator[Connection]:
        """Like `borrow`, with one consistent view of the database for the whole block."""
        with self.borrow() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close every idle connection; borrowed ones close when they come back."""
        self._closed = True
        while not self._idle.empty():
            self._idle.get_nowait().close()


@contextmanager
def translated() -> Generator[None]:
    """Turn a failure of the database into the typed error that a caller can act on."""
    try:
        yield
    except apsw.Error as error:
        raise as_forgetd_error(error) from error


def as_forgetd_error(error: apsw.Error) -> ForgetdError | apsw.Error:
    """The typed error for a database failure, or the failure itself if it is ours."""
    # The shared memory of the WAL is a file too: it cannot grow on a full disk.
    no_room = getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
    if no_room or isinstance(error, apsw.FullError):
        return DiskFull(remedy=FULL_REMEDY)
    if isinstance(error, apsw.IOError):
        return ReadOnly(
            "A write to disk failed",
            remedy=DISK_REMEDY,
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return Corrupt(remedy="stop the daemon and run: forgetd doctor")
    return error
