"""`forgetd backup`: a whole copy while the daemon runs, and bringing it back."""

import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.store import backup as backup_module
from sidecar.store.backup import back_up
from sidecar.store.store import FOLDERS
from tests.integration.test_cli_check import three_tiers
from tests.integration.test_cli_doctor import directory, put
from tests.integration.test_cli_rebuild import state, wrong
from tests.running import RunningDaemon

Start = Callable[..., RunningDaemon]


def save(daemon: RunningDaemon, target: Path, *options: str) -> dict[str, Any]:
    """What a backup says, which must be whole."""
    done = daemon.forgetd(
        "backup", str(target), "--state-dir", str(daemon.state_dir), "--json", *options
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["namespaces"]


@pytest.mark.gate("BACKUP-01")
@pytest.mark.parametrize(("running", "options"), [(True, ()), (False, ("--link",))])
def test_the_copy_is_whole_private_and_complete(
    start: Start, tmp_path: Path, running: bool, options: tuple[str, ...]
) -> None:
    daemon = start()
    three_tiers(daemon)
    media = directory(daemon) / "media" / "deep" / "a.png"
    media.parent.mkdir()
    media.write_bytes(b"picture")
    (media.parent / "link").symlink_to(media)
    if not running:
        daemon.stop()
    made = save(daemon, tmp_path / "saved", *options)
    copy = tmp_path / "saved" / "namespaces" / "default"
    assert made["default"]["stateHash"] == state(copy) == state(directory(daemon))
    assert (made["default"]["memories"], made["default"]["media"]) == (7, 1)
    assert (copy / "media" / "deep" / "a.png").read_bytes() == b"picture"
    assert not (copy / "media" / "deep" / "link").exists()
    for path in (tmp_path / "saved").rglob("*"):
        assert stat.S_IMODE(path.lstat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert {name.name for name in tmp_path.iterdir()} == {"saved"}
    (segment,) = (copy / "cold").glob("seg-*")
    original = directory(daemon) / "cold" / segment.name
    assert segment.samefile(original) == bool(options)
    assert wrong(copy) == []


@pytest.mark.gate("BACKUP-02")
def test_a_copy_beside_writes_and_merges_is_whole(start: Start, tmp_path: Path) -> None:
    daemon = start()
    stop = threading.Event()

    def work() -> None:
        for number in range(1_000):
            if stop.is_set():
                return
            ids = [f"w{number}-{n}" for n in range(20)]
            put(daemon, *ids)
            daemon.call("coldSpill", target=0)
            daemon.call("memory.forget", ids=ids[:15])

    put(daemon, "first")
    worker = threading.Thread(target=work)
    worker.start()
    try:
        for number in range(3):
            save(daemon, tmp_path / str(number))
            assert wrong(tmp_path / str(number) / "namespaces" / "default") == []
    finally:
        stop.set()
        worker.join()


@pytest.mark.gate("BACKUP-02")
def test_a_segment_that_is_merged_away_meanwhile_means_another_view(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = start()
    put(daemon, "a", "b", "c")
    daemon.call("coldSpill", target=0)
    real = backup_module.looking
    views: list[Path] = []

    def looking(where: Path) -> Any:
        """The first view is old as soon as it is taken: all of its segment is thawed."""
        view = real(where)
        views.append(where)
        if len(views) > 1:
            return view
        connection = view.__enter__()
        daemon.call("memory.restore", ids=["a", "b", "c"])
        daemon.call("memory.update", id="a", patch={"content": "a again"})
        daemon.call("memory.update", id="b", patch={"content": "b again"})
        daemon.call("memory.update", id="c", patch={"content": "c again"})
        daemon.stop()
        assert list((where / "cold").glob("seg-*")) == []
        monkeypatch.setattr(backup_module, "looking", real)

        class Entered:
            def __enter__(self) -> Any:
                return connection

            def __exit__(self, *_: object) -> None:
                view.__exit__(None, None, None)

        return Entered()

    monkeypatch.setattr(backup_module, "looking", looking)
    made = back_up(directory(daemon), tmp_path / "copy")
    assert made.segments == 0
    assert made.findings.ok
    assert made.state_hash == state(directory(daemon))


@pytest.mark.gate("BACKUP-03")
def test_nothing_that_exists_is_overwritten_and_no_namespace_made(
    start: Start, tmp_path: Path
) -> None:
    daemon = start()
    put(daemon, "a")
    taken = tmp_path / "taken"
    taken.mkdir()
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "way").symlink_to(daemon.state_dir / "namespaces")
    for target in (
        taken,
        tmp_path / "file",
        tmp_path / "absent" / "deep",
        daemon.state_dir / "namespaces" / "new",
        directory(daemon) / "backups",
        tmp_path / "way" / "new",
    ):
        done = daemon.forgetd("backup", str(target), "--state-dir", str(daemon.state_dir))
        assert done.returncode == 65, target
        assert "next: " in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken", "way"]
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert os.listdir(taken) == []
    assert os.listdir(daemon.state_dir / "namespaces") == ["default"]


@pytest.mark.gate("BACKUP-04")
def test_a_backup_is_brought_back_by_copying_it(start: Start, tmp_path: Path) -> None:
    daemon = start()
    three_tiers(daemon)
    save(daemon, tmp_path / "saved", "--namespace", "default")
    saved = state(directory(daemon))
    put(daemon, "later")
    daemon.stop()
    os.rename(directory(daemon), tmp_path / "aside")
    shutil.copytree(tmp_path / "saved" / "namespaces" / "default", directory(daemon))
    daemon = start()
    status = daemon.call("system.status")["namespaces"][0]
    assert (status["readOnly"], status["alarms"]) == (None, [])
    assert daemon.call("memory.get", id="later") is None
    assert daemon.call("memory.get", id="c3")["tier"] == "cold"
    put(daemon, "next")
    daemon.call("memory.forget", ids=["next"])
    daemon.stop()
    assert wrong(directory(daemon)) == []
    assert state(tmp_path / "saved" / "namespaces" / "default") == saved


@pytest.mark.gate("BACKUP-04")
def test_a_database_put_back_alone_is_read_only_until_it_is_accepted(
    start: Start, tmp_path: Path
) -> None:
    daemon = start()
    put(daemon, "a")
    save(daemon, tmp_path / "saved")
    put(daemon, "b")
    daemon.stop()
    shutil.copy2(tmp_path / "saved" / "namespaces" / "default" / "hot.db", directory(daemon))
    daemon = start()
    assert daemon.call("system.status")["namespaces"][0]["readOnly"]
    daemon.stop()
    accept = ("doctor", "--accept", "--state-dir", str(daemon.state_dir))
    assert daemon.forgetd(*accept).returncode == 0
    daemon = start()
    put(daemon, "c")
    assert daemon.call("memory.get", id="b") is None


@pytest.mark.gate("BACKUP-05")
def test_a_damaged_namespace_is_saved_and_its_faults_are_told(start: Start, tmp_path: Path) -> None:
    daemon = start()
    three_tiers(daemon)
    daemon.stop()
    (segment,) = (directory(daemon) / "forgotten").glob("seg-*")
    segment.unlink()
    done = daemon.forgetd("backup", str(tmp_path / "s"), "--state-dir", str(daemon.state_dir))
    assert done.returncode == 1
    assert segment.name in done.stderr
    copy = tmp_path / "s" / "namespaces" / "default"
    assert state(copy) == state(directory(daemon))
    assert all((copy / folder).is_dir() for folder in FOLDERS)
