"""Opening what is to be imported: a regular file or standard input, read only."""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO, BinaryIO, Final, cast

STANDARD_INPUT: Final = "-"
SPOOLED_BYTES_MAX: Final = 16 * 1_048_576

_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class SourceRefused(Exception):
    """The source cannot be read. `permission` tells a missing right from all other causes."""

    def __init__(self, message: str, remedy: str, *, permission: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.permission = permission


@contextmanager
def open_source(path: str) -> Generator[BinaryIO]:
    """The bytes of a regular file, or of standard input for "-"; can be read more than once.

    A link is followed to a regular file only. Raises SourceRefused. The file is never written,
    and one that another program renames away meanwhile is read to its end as it was.
    """
    with _standard_input() if path == STANDARD_INPUT else _regular_file(path) as stream:
        yield stream


def source_bytes(stream: BinaryIO) -> int:
    """How many bytes the source has."""
    place = stream.tell()
    size = stream.seek(0, os.SEEK_END)
    stream.seek(place)
    return size


def check_regular(path: str) -> None:
    """Raise SourceRefused where a file of this name cannot be read, or is no regular file."""
    _regular_file(path).close()


def _regular_file(path: str) -> BinaryIO:
    try:
        # Looked at before it is opened: opening alone can have an effect on a device.
        _refuse_others(path, os.stat(path).st_mode)
        # O_NONBLOCK: a pipe put in its place meanwhile must not hang the command.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        raise SourceRefused(f"{path} does not exist", "check the name of the file") from None
    except PermissionError:
        raise SourceRefused(
            f"{path} may not be read by this user",
            f"allow it, or pipe it in: … | forgetd import --from … {STANDARD_INPUT}",
            permission=True,
        ) from None
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceRefused(f"{path} cannot be opened: {cause}", "check the name") from None
    try:
        _refuse_others(path, os.fstat(descriptor).st_mode)
    except SourceRefused:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _refuse_others(path: str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((name for check, name in _KINDS if check(mode)), "not a file")
    raise SourceRefused(
        f"{path} is {kind}; only a regular file is read",
        f"name a file, or pipe the content in and name it {STANDARD_INPUT}",
    )


def _standard_input() -> BinaryIO:
    # Kept aside whole (on disk when large), because a source is checked before it is sent.
    spooled: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=SPOOLED_BYTES_MAX)  # noqa: SIM115
    shutil.copyfileobj(sys.stdin.buffer, spooled)
    spooled.seek(0)
    return cast(BinaryIO, spooled)
