"""Disk space: what a namespace takes, giving it back, and the reserve for a full disk."""

import errno
import os
import shutil
from pathlib import Path
from typing import Final

import apsw

from sidecar.errors import DiskFull
from sidecar.limits import RESERVE_BYTES
from sidecar.model import COLD, FORGOTTEN
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.sqlite.writer import Transaction, Writer

DATABASE_FILES: Final = ("hot.db", "hot.db-wal", "hot.db-shm", "commits")
# VACUUM writes a copy into a temporary file and the whole copy into the WAL.
VACUUM_COPIES: Final = 2
FULL_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class Reserve:
    """A file of 16 MiB that is given up so that forgetting still works on a full disk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fill(self) -> bool:
        """Make the file where it is not; False where there is no room for it."""
        if self._path.exists() and self._path.stat().st_size >= RESERVE_BYTES:
            return True
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
            finally:
                os.close(descriptor)
        except OSError:
            self.release()
            return False
        return True

    def release(self) -> bool:
        """Give the room back to the file system; False where there was none."""
        try:
            os.truncate(self._path, 0)
        except OSError:
            return False
        return True


def is_full(error: BaseException) -> bool:
    """Whether an error says that the disk is full."""
    return isinstance(error, DiskFull) or (
        isinstance(error, OSError) and error.errno in FULL_ERRORS
    )


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
    database = directory / "hot.db"
    needed = database.stat().st_size * VACUUM_COPIES
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


def checkpoint(writer: Writer, *, truncate: bool) -> None:
    """Move the WAL into the database, and cut it if `truncate` and no reader is in the way."""
    mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE

    def work(tx: Transaction) -> None:
        try:
            tx.connection.wal_checkpoint(mode=mode)
        except (apsw.BusyError, apsw.FullError):
            return

    writer.call(work, alone=True)
