"""Opening another program's SQLite file so that nothing beside it is written or made.

A file at rest is read where it lies, as immutable: SQLite then makes no -wal, -shm or lock. One
with a log beside it is copied first, together with the log, into a private folder.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sidecar.importers.source import SourceRefused, check_regular

LOGS: Final = ("-wal", "-journal")
COPY_TRIES: Final = 3
MAGIC: Final = b"SQLite format 3\0"

Fingerprint = tuple[tuple[int, int] | None, ...]


@contextmanager
def open_sqlite(path: Path) -> Generator[sqlite3.Connection]:
    """A reading connection; texts come as bytes. Raises SourceRefused.

    Also at the end, where the file changed while it was read: what was read may be torn.
    """
    check_regular(str(path))
    source = path.resolve()  # SQLite looks for the log beside the file itself
    try:
        if _has_log(source):
            with (
                tempfile.TemporaryDirectory(prefix="forgetd-") as folder,
                # Writable, so that SQLite can take back what a crash left half done.
                _connected(f"{_copied(source, Path(folder)).as_uri()}?mode=rw") as connection,
            ):
                yield connection
            return
        before = _fingerprint(source)
        with _connected(_immutable(source)) as connection:
            yield connection
        if _fingerprint(source) != before:
            raise _changing(source)
    except sqlite3.Error as error:
        raise SourceRefused(
            f"{path} cannot be read as a SQLite file: {error}", "check the file, or copy it again"
        ) from None


def tables_of(path: Path) -> set[str]:
    """The names of the tables of a SQLite file; none for a file of another kind.

    A log beside the file is looked at only where the file itself has no table yet.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                return set()
        source = path.resolve()
        with _connected(_immutable(source)) as connection:
            tables = _tables(connection)
        if tables or not _has_log(source):
            return tables
        with open_sqlite(path) as connection:
            return _tables(connection)
    except (OSError, sqlite3.Error):
        return set()


def _tables(connection: sqlite3.Connection) -> set[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return {name.decode(errors="replace") for (name,) in connection.execute(query)}


def _immutable(source: Path) -> str:
    return f"file:{quote(str(source))}?mode=ro&immutable=1"


def _has_log(source: Path) -> bool:
    return any(_size(source, log) for log in LOGS)


@contextmanager
def _connected(address: str) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(address, uri=True)) as connection:
        connection.text_factory = bytes
        yield connection


def _copied(source: Path, folder: Path) -> Path:
    """The file and its log, copied while neither changed."""
    for _ in range(COPY_TRIES):
        before = _fingerprint(source)
        for log in ("", *LOGS):
            target = folder / f"copy{log}"
            try:
                shutil.copyfile(f"{source}{log}", target)
            except FileNotFoundError:
                if not log:
                    raise
                target.write_bytes(b"")
        if _fingerprint(source) == before:
            return folder / "copy"
    raise _changing(source)


def _fingerprint(source: Path) -> Fingerprint:
    found: list[tuple[int, int] | None] = []
    for log in ("", *LOGS):
        try:
            status = os.stat(f"{source}{log}")
        except FileNotFoundError:
            found.append(None)
        else:
            found.append((status.st_size, status.st_mtime_ns))
    return tuple(found)


def _size(source: Path, log: str) -> int:
    try:
        return os.stat(f"{source}{log}").st_size
    except FileNotFoundError:
        return 0


def _changing(source: Path) -> SourceRefused:
    return SourceRefused(
        f"{source.name} changes while it is read", "stop the program that writes it, then repeat"
    )
