"""Writing a file that appears whole or not at all, and never in the place of another unasked."""

import errno
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from sidecar.cli.failures import DATA, NOT_PERMITTED, Failure

MODE: Final = 0o600
# File systems that know no second name for a file say one of these.
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@contextmanager
def new_file(path: Path, *, force: bool) -> Generator[BinaryIO]:
    """A stream whose content is the file once the block has ended well. Raises Failure.

    Readable by its owner only, and durable. An existing file is replaced only with `force`.
    """
    try:
        _refuse_existing(path, force)
        temporary = path.with_name(f".forgetd-{secrets.token_hex(8)}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, MODE)
    except OSError as error:
        raise _failure(path, error) from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if force:
            os.replace(temporary, path)
        else:
            _appear(temporary, path)
        _fsync(path.parent)
    except OSError as error:
        raise _failure(path, error) from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _refuse_existing(path: Path, force: bool) -> None:
    if path.is_dir():
        raise Failure(f"{path} is a folder", "name a file in it", DATA)
    if not force and os.path.lexists(path):
        raise Failure(f"{path} exists", "name another file, or replace it by --force", DATA)


def _appear(temporary: Path, path: Path) -> None:
    """Give the file its name; one that appeared there meanwhile stays."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE))  # takes the name
        os.replace(temporary, path)


def _fsync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _failure(path: Path, error: OSError) -> Failure:
    if isinstance(error, FileExistsError):
        return Failure(f"{path} exists", "name another file, or replace it by --force", DATA)
    if isinstance(error, PermissionError):
        return Failure(
            f"{path} may not be written by this user", "name another folder", NOT_PERMITTED
        )
    return Failure(
        f"{path} cannot be written: {error.strerror}",
        "make room on the disk, or name another folder",
        DATA,
    )
