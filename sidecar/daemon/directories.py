"""The directories of the daemon: its own, private to its user, and no link to another place."""

import os
import stat
from pathlib import Path
from typing import Final

import sidecar
from sidecar.errors import UnsafeDirectory

PRIVATE_MODE: Final = 0o700
TEMPORARY_NAME: Final = "tmp"


def private_directory(path: Path, purpose: str) -> Path:
    """Make `path` if it is missing and see that nobody else can use it.

    An empty directory of ours is made private. Raises UnsafeDirectory where it is a link, is
    no directory, belongs to another user, or lets others in.
    """
    try:
        _make(path)
        found = path.lstat()
    except OSError as error:
        raise UnsafeDirectory(
            f"the {purpose} {path} cannot be made ({error.strerror})",
            f"make it writable, or name another {_flag(purpose)}",
        ) from None
    if stat.S_ISLNK(found.st_mode):
        raise UnsafeDirectory(
            f"the {purpose} {path} is a symbolic link", f"name its target by {_flag(purpose)}"
        )
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafeDirectory(f"the {purpose} {path} is not a directory", "name another")
    if found.st_uid != os.geteuid():
        raise UnsafeDirectory(
            f"the {purpose} {path} belongs to the user with id {found.st_uid}",
            f"run as that user, or name a directory of your own by {_flag(purpose)}",
        )
    if found.st_mode & 0o077:
        _close_to_others(path, purpose)
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise UnsafeDirectory(
            f"the {purpose} {path} may not be written", f"make it writable: chmod 700 {path}"
        )
    return path


def outside_of_the_package(state_dir: Path) -> None:
    """Raise UnsafeDirectory where an upgrade of the package would take the memories with it."""
    package = Path(sidecar.__file__).resolve().parent
    if state_dir.resolve().is_relative_to(package):
        raise UnsafeDirectory(
            f"the state directory {state_dir} lies in the installed package",
            "name a directory outside of it by --state-dir",
        )


def temporary_directory(state_dir: Path) -> Path:
    """Where SQLite and the daemon put temporary files: on the disk that holds the state."""
    return private_directory(state_dir / TEMPORARY_NAME, "state directory")


def _make(path: Path) -> None:
    before = os.umask(0o077)
    try:
        path.mkdir(mode=PRIVATE_MODE, parents=True, exist_ok=True)
    except FileExistsError:
        pass  # what is there instead is told below
    finally:
        os.umask(before)


def _close_to_others(path: Path, purpose: str) -> None:
    if next(path.iterdir(), None) is None:
        path.chmod(PRIVATE_MODE)
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    own = f"name a directory of its own by {_flag(purpose)}"
    raise UnsafeDirectory(
        f"the {purpose} {path} is open to others (mode {mode:04o})",
        own if mode & stat.S_ISVTX else f"{own}, or close this one: chmod 700 {path}",
    )


def _flag(purpose: str) -> str:
    return "--socket" if purpose.startswith("socket") else "--state-dir"
