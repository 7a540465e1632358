"""Our own bind: asyncio's and aiohttp's replace whatever is at the path, living daemons too."""

import os
import socket
import stat
from pathlib import Path
from typing import Final

from sidecar.errors import AlreadyRunning, UnsafeDirectory
from sidecar.limits import CONNECTIONS_MAX, SOCKET_PATH_BYTES_MAX

BACKLOG: Final = CONNECTIONS_MAX  # fewer, and a burst of clients is told that nobody listens
PROBE_SECONDS: Final = 1.0
# Leaves 0600. The directory is private already; this is for platforms that look here.
SOCKET_UMASK: Final = 0o177


class BoundSocket:
    """A socket bound by us. Its file is known by inode, so that only ours is ever removed."""

    def __init__(self, bound: socket.socket, path: Path) -> None:
        self.socket = bound
        self.path = path
        found = path.lstat()
        self._identity = (found.st_dev, found.st_ino)

    def close(self) -> None:
        """Close the socket and remove its file, unless another one stands in its place.

        To be called while the lock of the socket is held.
        """
        self.socket.close()
        try:
            found = self.path.lstat()
            if (found.st_dev, found.st_ino) == self._identity:
                self.path.unlink()
        except FileNotFoundError:
            pass


def check_path(path: Path) -> None:
    """Raise UnsafeDirectory for a path that the system cannot bind."""
    length_bytes = len(os.fsencode(path))
    if length_bytes > SOCKET_PATH_BYTES_MAX:
        raise UnsafeDirectory(
            f"the socket path has {length_bytes} bytes, the system allows "
            f"{SOCKET_PATH_BYTES_MAX}: {path}",
            "name a shorter path by --socket or FORGETD_SOCKET, for the clients too",
        )


def bind(path: Path) -> BoundSocket:
    """Bind `path` and listen, in place of a stale socket but of nothing else.

    The lock of the socket must be held. Raises AlreadyRunning where a server answers there,
    UnsafeDirectory where something else than a socket is in the place or it cannot be bound.
    """
    _make_room(path)
    unbound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(SOCKET_UMASK)
    try:
        unbound.bind(os.fsencode(path))
    except OSError as error:
        unbound.close()
        raise UnsafeDirectory(
            f"the socket {path} cannot be bound ({error.strerror})",
            "name another path by --socket",
        ) from None
    finally:
        os.umask(before)
    # At once: to a client a bound socket on which nobody listens looks left behind.
    unbound.listen(BACKLOG)
    unbound.setblocking(False)
    return BoundSocket(unbound, path)


def _make_room(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise UnsafeDirectory(
            f"{path} is {_kind(mode)}, not a socket",
            "move it away, or name another path by --socket",
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(os.fsencode(path))
        except ConnectionRefusedError:
            path.unlink()  # nobody listens: left behind by a daemon that was killed
            return
        except FileNotFoundError:
            return
        except OSError as error:
            raise UnsafeDirectory(
                f"it cannot be told who listens at {path} ({error})",
                "look at what is there, or name another path by --socket",
            ) from None
    raise AlreadyRunning(
        f"a server that is not a forgetd of this directory answers at {path}",
        "stop it, or name another path by --socket",
    )


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a file" if stat.S_ISREG(mode) else "a device or pipe"
