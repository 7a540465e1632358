"""Files that memories own, below the namespace's media root. Here they are only measured."""

import os
from pathlib import Path

from sidecar.store.media_files import (
    FOLDER_FLAGS,
    folder_below,
    is_plain,
    parts_of,
)
from sidecar.store.sqlite.writer import Transaction


def media_size(media_root: Path, ref: str) -> int:
    """The size of a plain file below the media root, 0 where there is none.

    Links are not followed, anywhere on the way, and a file with two names is not plain: it could
    not be moved, so it does not count.
    """
    try:
        root = os.open(media_root, FOLDER_FLAGS)
    except OSError:
        return 0
    try:
        *folders, name = parts_of(ref)
        with folder_below(root, folders) as folder:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return 0
    finally:
        os.close(root)
    return found.st_size if is_plain(found) else 0


def measure_media(tx: Transaction, directory: Path, ref: str | None) -> None:
    """Keep the present size of a file that a memory of this namespace names, if it names one."""
    if ref is None:
        return
    size = media_size(directory / "media", ref)
    tx.connection.execute("INSERT OR REPLACE INTO media VALUES (?, ?)", (ref, size))
    tx.after_commit.append(lambda columns: columns.media_size(ref, size))
