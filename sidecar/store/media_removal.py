"""Removing the files of destroyed memories from the media folder and its trash.

The only code that removes a host's file. It goes down from the media folder by descriptors and
never through a link, so that no reference leads outside.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Writer

MEDIA: Final = "media"
TRASH: Final = ".trash"
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def intend(connection: Connection, owners: Iterable[tuple[str, str | None]], now: int) -> None:
    """Intend to remove the files of (id, reference) that no memory names any more.

    To be called in the transaction in which the rows of the owners have gone.
    """
    paths: set[str] = set()
    trash_known = _has_trash(connection)
    for memory_id, ref in owners:
        if trash_known:
            paths |= _out_of_the_trash(connection, memory_id)
        query = "SELECT 1 FROM memories WHERE media_ref = ? LIMIT 1"
        if ref is not None and not connection.execute(query, (ref,)).fetchall():
            paths.add(ref)
            connection.execute("DELETE FROM media WHERE ref = ?", (ref,))
            if trash_known:
                query = "SELECT trashed_as FROM media_trash WHERE ref = ?"
                found = connection.execute(query, (ref,)).fetchall()
                paths |= {f"{TRASH}/{trashed_as}" for (trashed_as,) in found}
                connection.execute("DELETE FROM media_trash WHERE ref = ?", (ref,))
    connection.executemany(
        "INSERT OR IGNORE INTO media_unlink_intents VALUES (?, ?)", [(path, now) for path in paths]
    )


def _out_of_the_trash(connection: Connection, memory_id: str) -> set[str]:
    """The files in the trash that nobody but this memory named; others pass to another owner."""
    paths: set[str] = set()
    query = (
        "SELECT t.trash_id, t.trashed_as, (SELECT m.id FROM memories m"
        " WHERE m.media_ref = t.ref ORDER BY m.rid LIMIT 1) FROM media_trash t WHERE memory_id = ?"
    )
    for trash_id, trashed_as, owner in connection.execute(query, (memory_id,)).fetchall():
        if owner is None:
            paths.add(f"{TRASH}/{trashed_as}")
            connection.execute("DELETE FROM media_trash WHERE trash_id = ?", (trash_id,))
        else:
            change = "UPDATE media_trash SET memory_id = ? WHERE trash_id = ?"
            connection.execute(change, (owner, trash_id))
    return paths


def finish(writer: Writer, directory: Path) -> int:
    """Remove the files of committed intents, then clear the intents; answers how many went.

    What is no plain file stays. Raises OSError.
    """

    def intents(connection: Connection) -> list[str]:
        query = "SELECT path FROM media_unlink_intents ORDER BY path"
        return [path for (path,) in connection.execute(query)]

    paths = writer.call(lambda tx: intents(tx.connection))
    removed = sum(_remove(directory / MEDIA, path) for path in paths)
    if paths:
        writer.call(
            lambda tx: tx.connection.executemany(
                "DELETE FROM media_unlink_intents WHERE path = ?", [(path,) for path in paths]
            )
        )
    return removed


def _remove(root: Path, path: str) -> bool:
    """Remove one plain file below the media folder, durably; False where there is none."""
    *folders, name = path.split("/")
    if "\0" in path or {"", ".", ".."} & {*folders, name}:
        return False
    descriptor = -1
    try:
        descriptor = os.open(root, _FOLDER_FLAGS)
        for folder in folders:
            inner = os.open(folder, _FOLDER_FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            return False
        os.unlink(name, dir_fd=descriptor)
        os.fsync(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        return False
    finally:
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)
    return True


def _has_trash(connection: Connection) -> bool:
    """Whether this schema keeps files of forgotten memories apart."""
    query = "SELECT 1 FROM sqlite_schema WHERE name = 'media_trash'"
    return bool(connection.execute(query).fetchall())
