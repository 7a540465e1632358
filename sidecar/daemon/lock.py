"""One daemon for one state directory and for one socket: `flock` on files that stay.

A lock file is never deleted: a third daemon could else lock a new file of the same name while
the second still holds the old one. The system lets go of a lock when its holder ends, however
it ends, so a lock is never stale.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Final

from sidecar.errors import AlreadyRunning, UnsafeDirectory

# Neither the lock of a socket nor a namespace can have this name.
STATE_LOCK_NAME: Final = ".lock"
PID_BYTES_MAX: Final = 32


class FileLock:
    """A held lock. `release` lets go of it; so does the end of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go. Twice is once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def lock_state(state_dir: Path) -> FileLock:
    """Lock a state directory. Raises AlreadyRunning naming the holder."""
    return _lock(
        state_dir / STATE_LOCK_NAME,
        f"the state directory {state_dir}",
        "stop it (forgetd stop), or name another directory by --state-dir",
    )


def lock_socket(socket: Path) -> FileLock:
    """Lock the place of a socket. Raises AlreadyRunning naming the holder."""
    return _lock(
        socket.with_name(socket.name + ".lock"),
        f"the socket {socket}",
        f"stop it (forgetd --socket {socket} stop), or name another by --socket",
    )


def _lock(path: Path, what: str, remedy: str) -> FileLock:
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise UnsafeDirectory(
            f"the lock file {path} cannot be opened ({error.strerror})",
            "make the directory writable, and remove what stands in the file's place",
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(descriptor)
        os.close(descriptor)
        raise AlreadyRunning(f"{what} is in use by {holder}", remedy) from None
    except OSError as error:
        os.close(descriptor)
        raise UnsafeDirectory(
            f"the lock file {path} cannot be locked ({error.strerror})",
            "use a directory on a local disk",
        ) from None
    with contextlib.suppress(OSError):  # a full disk is no reason not to start
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return FileLock(path, descriptor)


def _holder(descriptor: int) -> str:
    told = os.pread(descriptor, PID_BYTES_MAX, 0).strip()
    return f"the daemon with pid {int(told)}" if told.isdigit() else "another daemon"
