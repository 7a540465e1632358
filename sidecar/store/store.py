"""The durable state of one namespace: opening, reading, and what start-up may repair.

Start-up deletes only unfinished temporary files and files named by a committed unlink intent.
A sealed segment that the database does not know is kept and reported; memories in it that live
nowhere else are adopted.
"""

import fcntl
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import apsw

from sidecar.errors import DiskFull, NamespaceLocked, Overloaded, ReadOnly, ShuttingDown
from sidecar.estimate import Estimator
from sidecar.model import COLD, FORGOTTEN
from sidecar.store import adopt, events, media_trash, rows
from sidecar.store.cold_index import ColdIndex
from sidecar.store.columns import Columns
from sidecar.store.commits import CommitFile, read_counts
from sidecar.store.media import media_size
from sidecar.store.media_files import prepare
from sidecar.store.payload import Payload
from sidecar.store.recall import SegmentFault
from sidecar.store.records import Records
from sidecar.store.rows import Row
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import fsync_directory, is_segment, is_temporary
from sidecar.store.space import bytes_on_disk, checkpoint
from sidecar.store.sqlite.checkpointer import Checkpointer
from sidecar.store.sqlite.connection import (
    DISK_REMEDY,
    Readers,
    keep_wal,
    open_writer,
    translated,
)
from sidecar.store.sqlite.migrate import migrate
from sidecar.store.sqlite.source import PayloadDamaged, read_payload
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction, Writer

FOLDERS: Final = ("cold", "forgotten")
PAYLOAD_READ_TRIES: Final = 3  # a row may move between reading it and reading its segment


@dataclass(slots=True)
class Findings:
    """What opening noticed, for an operator."""

    read_only: str | None = None
    unknown_segments: list[str] = field(default_factory=list[str])
    damaged_segments: list[str] = field(default_factory=list[str])
    missing_segments: list[str] = field(default_factory=list[str])
    adopted: int = 0
    corrupt_ids: set[str] = field(default_factory=set[str])


class Store:
    """One open namespace directory. Opened once; every other opener is refused by its lock."""

    def __init__(
        self, directory: Path, estimator: Estimator, on_commit: Callable[[], None], now: int
    ) -> None:
        """Open, or create where `hot.db` is absent. Raises NamespaceLocked, Corrupt."""
        self.directory = directory
        created = not (directory / "hot.db").exists()
        for folder in FOLDERS:
            (directory / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        if created:  # else a power loss could take a whole new namespace, acknowledged or not
            for place in (directory, directory.parent, directory.parent.parent):
                fsync_directory(place)
        self._held = ExitStack()
        self._held.callback(os.close, lock_directory(directory))
        self.files = SegmentFiles(directory)
        self._held.callback(self.files.close)
        self.findings = Findings()
        self.columns = Columns()
        try:
            with translated():
                self._open_database(estimator, on_commit, created, now)
        except BaseException:
            self._held.close()
            raise

    def _open_database(
        self, estimator: Estimator, on_commit: Callable[[], None], created: bool, now: int
    ) -> None:
        previous = os.umask(0o077)
        try:
            connection = _opened(self.directory / "hot.db", self.directory / "backups")
        finally:
            os.umask(previous)
        self._held.callback(self._close_connection, connection)
        stored = read_counts(self.directory / "commits")
        (commits,) = connection.execute("SELECT value FROM meta WHERE key = 'commits'").fetchall()[
            0
        ]
        if stored is not None and commits < stored.commits:
            self.findings.read_only = (
                f"the database has {commits} commits, {stored.commits} were acknowledged: "
                "the last ones are lost; stop the daemon, restore a backup, or run "
                "forgetd doctor --accept"
            )
        else:
            self._tidy(connection, now)
        if not media_trash.is_known(connection):  # else a folder that is gone is to come back
            prepare(self.directory)
        self._look_at_files(connection)
        self.columns.load(connection)
        self.readers = Readers(self.directory / "hot.db")
        self._held.callback(self.readers.close)
        self.commit_file = CommitFile(self.directory / "commits")
        self._held.callback(self.commit_file.close)
        self.checkpointer = Checkpointer(
            self.directory / "hot.db", self._disk_failed, self._finish_checkpoint
        )
        self._held.callback(self.checkpointer.close)
        self.writer = Writer(
            connection, self.columns, self.commit_file, on_commit, self.checkpointer.committed
        )
        self._held.callback(self.writer.close)
        self.cold_index = ColdIndex(
            self.files, self.columns, self.readers, lambda: self.writer.latched is None
        )
        self._held.callback(self.cold_index.close)
        if self.findings.read_only:
            self.writer.latched = ReadOnly(
                "The namespace lost commits and is read-only",
                remedy="stop the daemon and run: forgetd doctor",
            )
        self.records = Records(self.directory, self.files, estimator, _dimensions(connection))
        if created and not self.findings.read_only:
            self.writer.call(
                lambda tx: events.append(tx.connection, now, "namespace.created", None, {})
            )
        if not self.findings.read_only:
            with suppress(DiskFull):  # the sizes stay as last looked at
                self.refresh_media()

    def _finish_checkpoint(self) -> None:
        """Let the writer move the last frames of the WAL, so that it begins anew."""

        def work(tx: Transaction) -> None:
            with suppress(apsw.BusyError, apsw.FullError):
                tx.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

        with suppress(ShuttingDown, Overloaded):
            self.writer.submit(work, alone=True)

    def _disk_failed(self, error: apsw.Error) -> None:
        """A checkpoint could not be written: what follows might not be durable."""
        self.writer.latched = ReadOnly(remedy=DISK_REMEDY)
        self.writer.latched.__cause__ = error

    def _tidy(self, connection: Connection, now: int) -> None:
        for tier in (COLD, FORGOTTEN):
            for entry in self.files.folder(tier).iterdir():
                if is_temporary(entry.name):
                    entry.unlink()
        finish_unlinks(connection, self.files)
        unknown = unknown_segments(connection, self.files)
        found = adopt.adopt(connection, self.files, unknown, now)
        self.findings.adopted = found.memories
        self.findings.damaged_segments = found.damaged
        self.findings.unknown_segments = [
            name for _, name in unknown_segments(connection, self.files)
        ]

    def _look_at_files(self, connection: Connection) -> None:
        """Known segments that are gone, or not as long as they were sealed."""
        known = connection.execute("SELECT name, tier, bytes FROM segments").fetchall()
        for name, tier, size in known:
            try:
                if self.files.path(tier, name).stat().st_size != size:
                    self.findings.damaged_segments.append(name)
            except FileNotFoundError:
                self.findings.missing_segments.append(name)

    def payload(self, connection: Connection, row: Row) -> Payload:
        """The payload of a row, compared with its hash. Raises Corrupt, which names the id.

        The view of `connection` may be older than a move that took the row's segment away; the
        payload is then read where it lies now.
        """
        try:
            return read_payload(connection, self.files, row)
        except PayloadDamaged as damage:
            return self._payload_now(row, damage)

    def _payload_now(self, row: Row, damage: PayloadDamaged) -> Payload:
        for _ in range(PAYLOAD_READ_TRIES):
            with self.readers.borrow() as connection:
                current = rows.by_rid(connection, row.rid)
                if current is None or _place(current) == _place(row):
                    break
                row = current
                try:
                    return read_payload(connection, self.files, row)
                except PayloadDamaged as again:
                    damage = again
        self.findings.corrupt_ids.add(row.id)
        raise damage

    def remember_faults(self, faults: Sequence[SegmentFault]) -> bool:
        """Remember what a scan could not read; True where its view was older than a merge.

        The memories of a segment that is no longer listed are found in a new view.
        """
        with self.readers.borrow() as connection:
            listed = {name for (name,) in connection.execute("SELECT name FROM segments")}
        for fault in faults:
            missing = fault.reason == "missing"
            known = self.findings.missing_segments if missing else self.findings.damaged_segments
            if fault.segment in listed and fault.segment not in known:
                known.append(fault.segment)
        return any(fault.segment not in listed for fault in faults)

    def meta(self, key: str) -> Any:
        """A value of the meta table, or None."""
        with self.readers.borrow() as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchall()
        return found[0][0] if found else None

    def bytes_on_disk(self) -> int:
        """Every byte of the database, its log, the segments, and the media that is known."""
        with self.readers.borrow() as connection:
            media = media_trash.media_bytes(connection)
        return bytes_on_disk(self.directory, self.files) + media

    def remove_unneeded_segments(self) -> int:
        """Unlink the segments whose last memory has left; answers how many.

        Alone: in a transaction shared with the move that emptied a segment, the file would go
        before that move is durable.
        """
        return self.writer.call(lambda tx: finish_unlinks(tx.connection, self.files), alone=True)

    def refresh_media(self) -> None:
        """Look at the size of every file that a memory names."""

        def work(tx: Transaction) -> None:
            for ref, size in tx.connection.execute("SELECT ref, bytes FROM media").fetchall():
                found = media_size(self.directory / "media", ref)
                if found != size:
                    tx.connection.execute("UPDATE media SET bytes = ? WHERE ref = ?", (found, ref))
                    tx.after_commit.append(
                        lambda columns, ref=ref, found=found: columns.media_size(ref, found)
                    )

        with self.readers.borrow() as connection:
            if connection.execute("SELECT 1 FROM media LIMIT 1").fetchall():
                self.writer.call(work)

    def close(self) -> None:
        """Finish queued writes, checkpoint, close. The directory can then be copied."""
        try:
            if self.writer.latched is None:
                self.remove_unneeded_segments()
                checkpoint(self.writer, truncate=True)
        finally:
            self._held.close()

    def _close_connection(self, connection: Connection) -> None:
        """Close the last connection; a WAL that may still be wanted stays as it is."""
        trusted = hasattr(self, "writer") and self.writer.latched is None
        if not trusted:
            keep_wal(connection)
        with translated():
            connection.close()


def lock_directory(directory: Path) -> int:
    """Take the namespace's lock and return its descriptor. Raises NamespaceLocked."""
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise NamespaceLocked(remedy="stop the other forgetd, or wait for its end") from None
    return descriptor


def unknown_segments(connection: Connection, files: SegmentFiles) -> list[tuple[int, str]]:
    """(tier, name) of each sealed segment on disk that the database does not know.

    A file whose removal was committed is known: it only waits to be removed.
    """
    query = "SELECT name FROM segments UNION SELECT name FROM unlink_intents"
    known = {name for (name,) in connection.execute(query)}
    return [
        (tier, entry.name)
        for tier in (COLD, FORGOTTEN)
        for entry in sorted(files.folder(tier).iterdir())
        if is_segment(entry.name) and entry.name not in known
    ]


def finish_unlinks(connection: Connection, files: SegmentFiles) -> int:
    """Remove the files of committed unlink intents, then clear the intents. Not in a transaction.

    An intent outlives its file: a file that a power loss brought back is removed again.
    """
    assert not connection.in_transaction, "an intent counts only once it is committed"
    intents = connection.execute("SELECT name, tier FROM unlink_intents").fetchall()
    for name, tier in intents:
        files.drop(tier, name)
        files.path(tier, name).unlink(missing_ok=True)
    for folder in {files.folder(tier) for _, tier in intents}:
        fsync_directory(folder)
    if intents:
        with suppress(apsw.FullError):  # they are cleared the next time
            connection.execute("DELETE FROM unlink_intents")
    return len(intents)


def _place(row: Row) -> tuple[int, str | None, bytes]:
    return row.tier, row.segment, row.content_hash


def _opened(database: Path, backups: Path) -> Connection:
    with translated():
        connection = open_writer(database)
        try:
            migrate(connection, backups)
        except BaseException:
            connection.close()
            raise
    return connection


def _dimensions(connection: Connection) -> dict[str | None, int]:
    query = (
        "SELECT DISTINCT embedding_model, embedding_dimensions FROM memories"
        " WHERE embedding_dimensions IS NOT NULL"
    )
    return dict(connection.execute(query))
