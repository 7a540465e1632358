"""A commit counter outside the database, with the last counts.

SQLite drops commits silently when a byte of its WAL rots. This file is written after every
COMMIT; a database whose own counter is behind it has lost something. It needs no fsync of its
own: after a power loss it may be old, which proves nothing and harms nothing.

Two slots are written in turn, each with a checksum, so a torn write leaves the other one.
"""

import errno
import os
import struct
import zlib
from pathlib import Path
from typing import Final, NamedTuple

_SLOT: Final = struct.Struct("<8sQQQQQQ")
_MAGIC: Final = b"fgcommit"
FULL_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
SLOT_BYTES: Final = 64
SLOTS: Final = 2
RUN_UNFINISHED: Final = 1
THRESHOLD_CROSSED: Final = 2


class StoredCounts(NamedTuple):
    """What is known of a namespace without opening its database."""

    commits: int
    hot: int
    cold: int
    forgotten: int
    live_bytes: int
    flags: int  # RUN_UNFINISHED, THRESHOLD_CROSSED


class CommitFile:
    """The file `commits` of one namespace, open for writing."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, counts: StoredCounts) -> None:
        """Record the counts of the commit that has just become durable.

        A full disk leaves the older counts, which harms nothing. Raises any other OSError.
        """
        body = _SLOT.pack(_MAGIC, *counts)
        slot = body + zlib.crc32(body).to_bytes(4, "little")
        offset = counts.commits % SLOTS * SLOT_BYTES
        try:
            os.pwrite(self._descriptor, slot.ljust(SLOT_BYTES, b"\0"), offset)
        except OSError as error:
            if error.errno not in FULL_ERRORS:
                raise

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_counts(path: Path) -> StoredCounts | None:
    """The newest whole slot, or None where the file is absent or has none."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    found: list[StoredCounts] = []
    for start in range(0, SLOTS * SLOT_BYTES, SLOT_BYTES):
        slot = raw[start : start + _SLOT.size + 4]
        body, check = slot[: _SLOT.size], slot[_SLOT.size :]
        if len(slot) == _SLOT.size + 4 and zlib.crc32(body) == int.from_bytes(check, "little"):
            magic, *values = _SLOT.unpack(body)
            if magic == _MAGIC:
                found.append(StoredCounts(*values))
    return max(found, default=None)
