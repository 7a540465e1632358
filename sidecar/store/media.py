"""Files that memories own, below the namespace's media root. Here they are only measured."""

import os
import stat
from pathlib import Path

from sidecar.store.sqlite.writer import Transaction


def media_size(media_root: Path, ref: str) -> int:
    """The size of a regular file below the media root, 0 where there is none.

    Links are not followed, anywhere on the way.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    *folders, name = ref.split("/")
    try:
        descriptor = os.open(media_root, flags)
    except OSError:
        return 0
    try:
        for folder in folders:
            inner = os.open(folder, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except OSError:
        return 0
    finally:
        os.close(descriptor)
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def measure_media(tx: Transaction, directory: Path, ref: str | None) -> None:
    """Keep the present size of a file that a memory of this namespace names, if it names one."""
    if ref is None:
        return
    size = media_size(directory / "media", ref)
    tx.connection.execute("INSERT OR REPLACE INTO media VALUES (?, ?)", (ref, size))
    tx.after_commit.append(lambda columns: columns.media_size(ref, size))
