"""Where the daemon listens and keeps its state: found the same way by daemon and command.

Standard library only, because the command needs it before it may load anything heavy.

    socket   --socket · $FORGETD_SOCKET · $XDG_RUNTIME_DIR/forgetd/forgetd.sock
             · <state directory>/run/forgetd.sock
    state    --state-dir · $FORGETD_STATE_DIR · $XDG_STATE_HOME/forgetd
             · ~/.local/state/forgetd
    file     $FORGETD_CONFIG · $XDG_CONFIG_HOME/forgetd/forgetd.toml
             · ~/.config/forgetd/forgetd.toml

The file may name socket and state directory too; its reader passes them as `given`.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CONFIG_VARIABLE: Final = "FORGETD_CONFIG"
CONFIG_NAME: Final = "forgetd.toml"
SOCKET_VARIABLE: Final = "FORGETD_SOCKET"
STATE_VARIABLE: Final = "FORGETD_STATE_DIR"
SOCKET_NAME: Final = "forgetd.sock"


def state_directory(
    given: str | os.PathLike[str] | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """The absolute path of the state directory. Creates nothing; a relative `given` is allowed."""
    environ = os.environ if environ is None else environ
    if chosen := given or environ.get(STATE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    home = _base("XDG_STATE_HOME", environ) or Path.home() / ".local" / "state"
    return home / "forgetd"


def socket_path(
    given: str | os.PathLike[str] | None = None,
    state_dir: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """The absolute path of the daemon's main socket. Creates nothing."""
    environ = os.environ if environ is None else environ
    if chosen := given or environ.get(SOCKET_VARIABLE):
        return Path(chosen).expanduser().absolute()
    beside_state = state_directory(state_dir, environ) / "run"
    runtime = _base("XDG_RUNTIME_DIR", environ)
    return (runtime / "forgetd" if runtime else beside_state) / SOCKET_NAME


def admin_socket_path(socket: Path) -> Path:
    """The path of the admin socket: beside the main one, with -admin in its name."""
    return socket.with_name(f"{socket.stem}-admin{socket.suffix}")


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """The absolute path of the configuration file, which may not exist."""
    environ = os.environ if environ is None else environ
    if chosen := environ.get(CONFIG_VARIABLE):
        return Path(chosen).expanduser().absolute()
    return (_base("XDG_CONFIG_HOME", environ) or Path.home() / ".config") / "forgetd" / CONFIG_NAME


def _base(variable: str, environ: Mapping[str, str]) -> Path | None:
    # The base directory specification says: a relative path is invalid and must be ignored.
    value = environ.get(variable, "")
    return Path(value) if os.path.isabs(value) else None
