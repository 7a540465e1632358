"""Directories, locks and the socket, without a daemon around them."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import sidecar
from sidecar.daemon.directories import outside_of_the_package, private_directory
from sidecar.daemon.lock import lock_socket, lock_state
from sidecar.daemon.socket import bind, check_path
from sidecar.errors import AlreadyRunning, UnsafeDirectory
from tests.wire import short_directory


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private directory with a short path."""
    with short_directory() as path:
        yield path


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.gate("DAEM-01")
def test_a_lock_is_held_once_and_names_its_holder(folder: Path) -> None:
    for take, what in ((lock_state, folder), (lock_socket, folder / "d.sock")):
        held = take(what)
        with pytest.raises(AlreadyRunning, match=f"pid {os.getpid()}") as refused:
            take(what)
        assert refused.value.remedy
        assert refused.value.exit_code == 75
        held.release()
        held.release()
        assert held.path.exists(), "a lock file is never deleted"
        assert mode_of(held.path) == 0o600
        take(what).release()


@pytest.mark.gate("DAEM-01")
def test_a_link_in_the_place_of_a_lock_is_not_followed(folder: Path) -> None:
    victim = folder / "victim"
    victim.write_text("mine")
    (folder / "d.sock.lock").symlink_to(victim)
    with pytest.raises(UnsafeDirectory, match="lock file"):
        lock_socket(folder / "d.sock")
    assert victim.read_text() == "mine"


@pytest.mark.gate("DAEM-02")
def test_a_stale_socket_is_replaced(folder: Path) -> None:
    path = folder / "d.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    before = path.lstat().st_ino
    bound = bind(path)
    bound.socket.listen()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    assert (path.lstat().st_ino, mode_of(path)) != (before, 0)
    bound.close()
    assert not path.exists()


@pytest.mark.gate("DAEM-03")
@pytest.mark.parametrize("kind", ["file", "directory", "symlink", "dangling symlink", "fifo"])
def test_anything_else_than_a_socket_is_left_alone(folder: Path, kind: str) -> None:
    path, target = folder / "d.sock", folder / "target"
    if kind == "file":
        path.write_text("precious")
    elif kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        if kind == "symlink":
            target.write_text("precious")
        path.symlink_to(target)
    before = path.lstat()
    with pytest.raises(UnsafeDirectory) as refused:
        bind(path)
    assert "not a socket" in refused.value.message
    assert refused.value.remedy
    assert path.lstat() == before


@pytest.mark.gate("DAEM-03")
def test_a_link_to_a_living_socket_is_no_socket(folder: Path) -> None:
    bound = bind(folder / "real.sock")
    (folder / "d.sock").symlink_to(folder / "real.sock")
    with pytest.raises(UnsafeDirectory, match="symbolic link"):
        bind(folder / "d.sock")
    bound.close()


@pytest.mark.gate("DAEM-04")
def test_a_server_that_answers_is_left_alone(folder: Path) -> None:
    path = folder / "d.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(AlreadyRunning, match="answers"):
            bind(path)
        assert path.exists()


@pytest.mark.gate("DAEM-05")
def test_a_path_that_the_system_cannot_bind_is_told_by_its_length() -> None:
    check_path(Path("/" + "x" * 106))
    for path in (Path("/" + "x" * 107), Path("/" + "커" * 36)):
        with pytest.raises(UnsafeDirectory, match="107") as refused:
            check_path(path)
        assert "--socket" in refused.value.remedy


@pytest.mark.gate("DAEM-06")
def test_the_socket_is_for_its_owner_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0)
    try:
        bound = bind(folder / "d.sock")
        assert os.umask(0) == 0, "the process's umask is as it was"
    finally:
        os.umask(before)
    assert mode_of(bound.path) == 0o600
    bound.close()


@pytest.mark.gate("DAEM-06")
def test_directories_are_made_private(folder: Path) -> None:
    before = os.umask(0)
    try:
        made = private_directory(folder / "a" / "b", "state directory")
    finally:
        os.umask(before)
    assert (mode_of(made), mode_of(made.parent)) == (0o700, 0o700)
    empty = folder / "empty"
    empty.mkdir(mode=0o755)
    assert mode_of(private_directory(empty, "state directory")) == 0o700


@pytest.mark.gate("DAEM-06")
def test_a_directory_that_others_can_use_is_refused(folder: Path) -> None:
    used = folder / "used"
    used.mkdir()
    (used / "file").touch()
    used.chmod(0o755)
    with pytest.raises(UnsafeDirectory, match="open to others") as refused:
        private_directory(used, "state directory")
    assert "chmod 700" in refused.value.remedy
    used.chmod(0o1777)
    with pytest.raises(UnsafeDirectory) as refused:
        private_directory(used, "socket directory")
    assert "chmod" not in refused.value.remedy, "a shared directory is not to be closed"
    assert "--socket" in refused.value.remedy


@pytest.mark.gate("DAEM-06")
def test_a_link_or_a_file_in_the_place_of_a_directory_is_refused(folder: Path) -> None:
    (folder / "real").mkdir(mode=0o700)
    (folder / "link").symlink_to(folder / "real")
    (folder / "file").touch()
    with pytest.raises(UnsafeDirectory, match="symbolic link"):
        private_directory(folder / "link", "state directory")
    with pytest.raises(UnsafeDirectory, match="not a directory"):
        private_directory(folder / "file", "state directory")
    with pytest.raises(UnsafeDirectory, match="cannot be made"):
        private_directory(folder / "file" / "below", "state directory")


@pytest.mark.gate("DAEM-06")
def test_a_directory_of_somebody_else_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.raises(UnsafeDirectory, match=f"user with id {own}"):
        private_directory(folder, "state directory")


@pytest.mark.gate("DAEM-07")
def test_only_the_socket_that_we_bound_is_removed(folder: Path) -> None:
    path = folder / "d.sock"
    ours = bind(path)
    path.unlink()
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(path))
        ours.close()
        assert path.exists()
        ours.close()


@pytest.mark.gate("DAEM-08")
def test_a_state_directory_in_the_package_is_refused() -> None:
    package = Path(sidecar.__file__).parent
    for path in (package, package / "state", package / "daemon" / ".." / "state"):
        with pytest.raises(UnsafeDirectory, match="installed package"):
            outside_of_the_package(path)
    outside_of_the_package(package.parent / "sidecar-state")
