"""Files that memories own, below the namespace's media root. Here they are only measured."""

import os
import stat
from pathlib import Path


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
