"""Deleting a whole namespace: its directory gets a name that is no namespace's, then it goes.

The new name is durable before anything in the directory is touched: a kill at any step leaves
the namespace whole, or a directory that the next start removes.
"""

import os
import secrets
import shutil
from pathlib import Path
from typing import Final

from sidecar.store.segments import fsync_directory

DELETING_PREFIX: Final = ".deleting-"


def set_aside(root: Path, name: str) -> Path:
    """Give the directory of a closed namespace a name under which nobody opens it, durably."""
    aside = root / f"{DELETING_PREFIX}{name}-{secrets.token_hex(8)}"
    os.rename(root / name, aside)
    fsync_directory(root)
    return aside


def remove(aside: Path) -> int:
    """Remove a directory that was set aside; answers its size in bytes. Links are not followed."""
    size = sum(
        found.stat(follow_symlinks=False).st_size
        for folder, _, _ in os.walk(aside)
        for found in os.scandir(folder)
        if found.is_file(follow_symlinks=False)
    )
    shutil.rmtree(aside)
    fsync_directory(aside.parent)
    return size


def finish_removals(root: Path) -> int:
    """Remove what a kill left set aside; answers how many. Raises OSError."""
    left = [entry for entry in root.iterdir() if entry.name.startswith(DELETING_PREFIX)]
    for aside in left:
        remove(aside)
    return len(left)
