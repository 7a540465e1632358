"""Who is at the other end of a Unix socket: only the daemon's own user may call."""

import os
import socket
import struct
from typing import Final, Protocol

from sidecar.errors import PermissionDenied

_LINUX_CREDENTIALS: Final = struct.Struct("3i")  # struct ucred: pid, uid, gid
_BSD_CREDENTIALS: Final = struct.Struct("=IIhh16I")  # struct xucred: version, uid, groups
_BSD_SOL_LOCAL: Final = 0
_BSD_LOCAL_PEERCRED: Final = 1


class SocketOptions(Protocol):
    """The part of a socket that is needed here."""

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes:
        """As `socket.socket.getsockopt`."""
        ...


def peer_uid(connected: SocketOptions) -> int:
    """The user id of the process that connected, as the system saw it then. Raises OSError."""
    if (option := getattr(socket, "SO_PEERCRED", None)) is not None:
        raw = connected.getsockopt(socket.SOL_SOCKET, option, _LINUX_CREDENTIALS.size)
        return _LINUX_CREDENTIALS.unpack(raw)[1]
    raw = connected.getsockopt(_BSD_SOL_LOCAL, _BSD_LOCAL_PEERCRED, _BSD_CREDENTIALS.size)
    return _BSD_CREDENTIALS.unpack(raw)[1]


def refusal(uid: int, own_uid: int | None = None) -> PermissionDenied | None:
    """Why a process of this user may not call; None if it may."""
    own_uid = os.geteuid() if own_uid is None else own_uid
    if uid == own_uid:
        return None
    if uid == 0:
        remedy = f"become the daemon's user first: sudo -u '#{own_uid}' forgetd ..."
    else:
        remedy = "start a daemon of your own: forgetd serve"
    return PermissionDenied(
        f"This daemon serves the user with id {own_uid}, not the one with id {uid}",
        bound=f"callers with user id {own_uid}",
        remedy=remedy,
    )
