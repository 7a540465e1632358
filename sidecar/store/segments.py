"""Sealed segments: the archive files of cold and forgotten memories.

This module has their names and the one way to make one visible; the format is described in
`segment_format`, writing and reading are in `segment_writer` and `segment_reader`.
"""

import os
import re
import secrets
import time
from collections.abc import Collection
from pathlib import Path

from sidecar.store.segment_format import SegmentDamaged, SegmentRecord
from sidecar.store.segment_reader import SegmentReader
from sidecar.store.segment_writer import FrameBuilder, PackedFrame, SegmentWriter

__all__ = [
    "FrameBuilder",
    "PackedFrame",
    "SegmentDamaged",
    "SegmentReader",
    "SegmentRecord",
    "SegmentWriter",
    "fsync_directory",
    "is_segment",
    "is_temporary",
    "new_segment_name",
    "new_temporary_name",
    "publish",
    "remove_temporaries",
    "temporaries",
]

_TEMPORARY_PREFIX = ".tmp-"
_SEGMENT_NAME = re.compile(r"seg-[0-9a-f]{12}-[0-9a-f]{16}\.jsonl\.zst")
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def new_segment_name() -> str:
    """A name no segment ever had: milliseconds now, then 64 random bits."""
    return f"seg-{time.time_ns() // 1_000_000:012x}-{secrets.token_hex(8)}.jsonl.zst"


def new_temporary_name(run_id: str) -> str:
    """A name for a file of this run that is not yet a segment."""
    if not _RUN_ID.fullmatch(run_id):
        raise ValueError("a run id has only letters, digits, '-' and '_', at most 64")
    return f"{_TEMPORARY_PREFIX}{run_id}-{secrets.token_hex(8)}"


def is_segment(name: str) -> bool:
    """Whether a file name is one that `new_segment_name` makes."""
    return _SEGMENT_NAME.fullmatch(name) is not None


def is_temporary(name: str) -> bool:
    """Whether a file name is that of an unfinished file, which a start may remove."""
    return name.startswith(_TEMPORARY_PREFIX)


def publish(temporary: Path, final: Path) -> None:
    """Give a sealed, fsynced file its final name, durably.

    Never replaces: raises FileExistsError when the name is taken, and then, as with any other
    OSError, the temporary file is still there. Both paths must be in one file system.
    """
    os.link(temporary, final)
    fsync_directory(final.parent)
    temporary.unlink()


def fsync_directory(directory: Path) -> None:
    """Make the names in a directory durable. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporaries(directory: Path, run_id: str | None = None) -> list[str]:
    """The names of the unfinished files of one run, or of all, in order."""
    prefix = _TEMPORARY_PREFIX if run_id is None else f"{_TEMPORARY_PREFIX}{run_id}-"
    return sorted(name for name in os.listdir(directory) if name.startswith(prefix))


def remove_temporaries(
    directory: Path, run_id: str | None = None, keep: Collection[str] = ()
) -> list[str]:
    """Remove the unfinished files of one run, or of all, but for `keep`; returns their names.

    Only for a directory in which no encoder of that run is at work.
    """
    names = [name for name in temporaries(directory, run_id) if name not in keep]
    for name in names:
        (directory / name).unlink(missing_ok=True)
    return names
