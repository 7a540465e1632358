"""One daemon for one socket and one state directory, and what stands in its way."""

import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sidecar
from tests.running import RunningDaemon, daemon_folder, until

Start = Callable[..., RunningDaemon]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts daemons in one folder."""
    with daemon_folder() as starter:
        yield starter


@pytest.fixture
def folder(start: Start) -> Path:
    """Where they are started."""
    return start.folder  # type: ignore[attr-defined]


@pytest.mark.gate("DAEM-01")
def test_a_second_daemon_is_refused_and_the_first_lives_on(start: Start, folder: Path) -> None:
    first = start().ready()
    first.client.call("memory.put", {"id": "kept", "content": "kept"})
    for options in ({"state_dir": str(folder / "other")}, {"socket": str(folder / "o" / "d.sock")}):
        second = start(**options)
        assert second.wait() == 75
        assert f"pid {first.process.pid}" in second.said()
        assert "next: stop it" in second.said()
    assert first.client.call("memory.get", {"id": "kept"})["content"] == "kept"
    assert first.stop() == 0


@pytest.mark.gate("DAEM-02")
def test_a_killed_daemon_leaves_nothing_that_hinders_the_next(start: Start) -> None:
    first = start().ready()
    first.client.call("memory.put", {"id": "kept", "content": "kept"})
    first.signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert first.socket.exists()
    second = start().ready()
    assert second.client.call("memory.get", {"id": "kept"})["content"] == "kept"
    assert second.stop() == 0


@pytest.mark.gate("DAEM-03")
@pytest.mark.parametrize("kind", ["file", "directory", "symlink"])
def test_what_is_no_socket_stands_in_the_way_and_stays(
    start: Start, folder: Path, kind: str
) -> None:
    path = folder / "run" / "d.sock"
    path.parent.mkdir(mode=0o700)
    if kind == "file":
        path.write_text("precious")
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(folder / "elsewhere")
    before = path.lstat()
    refused = start()
    assert refused.wait() == 73
    assert "not a socket" in refused.said()
    assert "next: move it away" in refused.said()
    assert path.lstat() == before
    assert not (folder / "state" / "namespaces").exists()


@pytest.mark.gate("DAEM-04")
def test_a_foreign_server_on_the_path_is_not_robbed_of_it(start: Start, folder: Path) -> None:
    path = folder / "run" / "d.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        refused = start()
        assert refused.wait() == 75
        assert path.exists()


@pytest.mark.gate("DAEM-05")
def test_a_path_too_long_is_told_before_anything_is_made(start: Start, folder: Path) -> None:
    path = folder / ("x" * 120) / "d.sock"
    refused = start(socket=str(path))
    assert refused.wait() == 73
    assert "107" in refused.said()
    assert not path.parent.exists()
    assert not (folder / "state").exists()


@pytest.mark.gate("DAEM-06")
def test_everything_the_daemon_makes_is_private(start: Start) -> None:
    before = os.umask(0)
    try:
        daemon = start()
    finally:
        os.umask(before)
    daemon.ready()
    daemon.client.call("memory.put", {"content": "private"})
    made = [daemon.socket, daemon.socket.parent, daemon.state_dir, *daemon.state_dir.rglob("*")]
    for path in made:
        assert stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0, path
    assert daemon.stop() == 0


@pytest.mark.gate("DAEM-08")
def test_a_state_directory_in_the_package_is_refused_by_serve(start: Start) -> None:
    inside = Path(sidecar.__file__).parent / "state-of-a-test"
    refused = start(state_dir=str(inside))
    assert refused.wait() == 73
    assert "--state-dir" in refused.said()
    assert not inside.exists()


@pytest.mark.gate("DAEM-09")
def test_a_config_typo_keeps_the_daemon_from_starting(start: Start, folder: Path) -> None:
    config = folder / "forgetd.toml"
    config.write_text("[thresholds]\nforget_treshold_count = 5\n")
    refused = start(config=str(config))
    assert refused.wait() == 78
    assert f"{config}:2:" in refused.said()
    assert "did you mean forget_threshold_count?" in refused.said()
    assert not (folder / "state").exists()


@pytest.mark.gate("DAEM-10")
def test_a_state_directory_that_cannot_be_written_is_told(start: Start, folder: Path) -> None:
    (folder / "file").write_text("in the way")
    refused = start(state_dir=str(folder / "file" / "state"))
    assert refused.wait() == 73
    assert "cannot be made" in refused.said()
    assert "--state-dir" in refused.said()


@pytest.mark.gate("DAEM-11")
def test_a_daemon_that_nobody_uses_ends_by_itself(start: Start) -> None:
    daemon = start(idle_exit_seconds=0.2)
    assert daemon.wait() == 0
    assert daemon.events()[-3:] == ["nobody is connected", "stopping", "stopped"]
    assert not daemon.socket.exists()


@pytest.mark.gate("DAEM-11")
def test_a_connected_client_keeps_it_alive(start: Start) -> None:
    daemon = start(idle_exit_seconds=0.3)
    with socket.socket(socket.AF_UNIX) as client:

        def connects() -> bool:
            try:
                client.connect(str(daemon.socket))
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            return True

        until(connects)
        until(lambda: "ready" in daemon.events())
        with pytest.raises(AssertionError):
            until(lambda: daemon.process.poll() is not None, seconds_max=1.0)
    assert daemon.wait() == 0
