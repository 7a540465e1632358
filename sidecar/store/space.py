"""Disk space: what a namespace takes, giving it back, and the reserve for a full disk."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import apsw

from sidecar.errors import DiskFull, ReadOnly
from sidecar.limits import RESERVE_BYTES, SQLITE_PAGE_BYTES
from sidecar.model import COLD, FORGOTTEN
from sidecar.store.commits import FULL_ERRORS
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.sqlite.connection import BUSY_TIMEOUT_MS, DISK_REMEDY, FULL_REMEDY
from sidecar.store.sqlite.writer import Transaction, Writer

T = TypeVar("T")
DATABASE_FILES: Final = ("hot.db", "hot.db-wal", "hot.db-shm", "commits")
# VACUUM writes a copy into a temporary file and the whole copy into the WAL.
VACUUM_COPIES: Final = 2
TRUNCATE_SECONDS_MAX: Final = 10.0
TRUNCATE_POLL_SECONDS: Final = 0.02
RESERVE_STEP_BYTES: Final = 1_048_576


class Reserve:
    """A file of 16 MiB that is given up so that forgetting still works on a full disk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fill(self) -> bool:
        """Make the file whole, or as large as there is room; False unless it is whole.

        What a run took is taken back first, before ordinary writes can use it up.
        """
        for size in range(RESERVE_BYTES, 0, -RESERVE_STEP_BYTES):
            if self._size() >= size or self._grow(size):
                return size == RESERVE_BYTES
        return False

    def release(self) -> bool:
        """Give the room back to the file system; False where there was none."""
        if not self._size():
            return False
        try:
            os.truncate(self._path, 0)
        except OSError:
            return False
        return True

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def _grow(self, size: int) -> bool:
        held = self._size()
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError:
            os.ftruncate(descriptor, held)
            return False
        finally:
            os.close(descriptor)
        return True


def with_reserve(reserve: Reserve, attempt: Callable[[], T]) -> T:
    """What `attempt` answers, which on a full disk gets a second try with the reserve's room."""
    try:
        return attempt()
    except (DiskFull, OSError) as error:
        if not (is_full(error) and reserve.release()):
            raise
    return attempt()


def is_full(error: BaseException) -> bool:
    """Whether an error says that the disk is full."""
    return isinstance(error, DiskFull) or (
        isinstance(error, OSError) and error.errno in FULL_ERRORS
    )


def disk_error(error: OSError) -> DiskFull | ReadOnly:
    """The typed error for a file of ours that could not be written."""
    if is_full(error):
        return DiskFull(remedy=FULL_REMEDY)
    return ReadOnly("A write to disk failed", remedy=DISK_REMEDY)


def bytes_on_disk(directory: Path, files: SegmentFiles) -> int:
    """Every byte of a namespace: database, log, segments."""
    total = files.bytes_on_disk(COLD) + files.bytes_on_disk(FORGOTTEN)
    for name in DATABASE_FILES:
        try:
            total += (directory / name).stat().st_size
        except FileNotFoundError:
            continue
    return total


def give_back(writer: Writer, directory: Path) -> str | None:
    """VACUUM on the writer's connection, then truncate the WAL.

    Never a copy that is renamed: a kill between renaming and the removal of the old WAL would
    destroy the database. Answers None when done, else why it was left out.
    """
    needed = writer.call(_database_bytes, alone=True) * VACUUM_COPIES
    if shutil.disk_usage(directory).free < needed:
        return f"VACUUM left out: it needs {needed} free bytes for a while"

    def vacuum(tx: Transaction) -> str | None:
        try:
            tx.connection.execute("VACUUM")
        except apsw.FullError:
            return "VACUUM left out: the disk is full"
        except apsw.BusyError:
            return "VACUUM left out: another process reads the database"
        return None

    note = writer.call(vacuum, alone=True)
    checkpoint(writer, truncate=True)
    return note


def _database_bytes(tx: Transaction) -> int:
    """The size of the database: its file is smaller while much of it is still in the WAL."""
    ((pages,),) = tx.connection.execute("PRAGMA page_count").fetchall()
    return pages * SQLITE_PAGE_BYTES


def checkpoint(writer: Writer, *, truncate: bool) -> None:
    """Move the WAL into the database, and cut it if `truncate` and no reader stays in the way."""
    mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE

    def work(tx: Transaction) -> bool:
        # Other writes must not wait with this one for a reader, or for another checkpoint.
        tx.connection.set_busy_timeout(0)
        try:
            tx.connection.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            return False
        except apsw.FullError:
            return True
        finally:
            tx.connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        return True

    give_up_at = time.monotonic() + TRUNCATE_SECONDS_MAX
    while not writer.call(work, alone=True) and truncate and time.monotonic() < give_up_at:
        time.sleep(TRUNCATE_POLL_SECONDS)
