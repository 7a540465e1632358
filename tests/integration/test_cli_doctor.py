"""`forgetd doctor` on the state directory of a daemon that has ended."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.running import RunningDaemon

Start = Callable[..., RunningDaemon]


def doctor(daemon: RunningDaemon, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the findings by namespace."""
    done = daemon.forgetd("doctor", "--state-dir", str(daemon.state_dir), "--json", *options)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)["namespaces"]


def failed(findings: dict[str, Any], namespace: str = "default") -> list[str]:
    return [each["check"] for each in findings[namespace] if not each["ok"]]


def put(daemon: RunningDaemon, *identities: str) -> None:
    for identity in identities:
        daemon.call("memory.put", id=identity, content=f"this is {identity}")


def directory(daemon: RunningDaemon) -> Path:
    return daemon.state_dir / "namespaces" / "default"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }


@pytest.mark.gate("CLI-60")
def test_a_running_daemon_must_be_stopped_first(start: Start) -> None:
    daemon = start()
    put(daemon, "a")
    done = daemon.forgetd("doctor", "--state-dir", str(daemon.state_dir))
    assert done.returncode == 75
    assert "in use" in done.stderr
    assert "forgetd stop" in done.stderr
    assert daemon.call("memory.get", id="a") is not None


@pytest.mark.gate("CLI-60")
def test_a_healthy_state_directory_is_found_healthy_and_left_as_it_was(start: Start) -> None:
    daemon = start()
    put(daemon, "a", "b")
    daemon.call("coldSpill", target=0)
    daemon.call("memory.forget", ids=["b"])
    daemon.stop()
    before = contents(directory(daemon))
    code, findings = doctor(daemon)
    assert (code, failed(findings)) == (0, [])
    assert findings["default"]
    assert contents(directory(daemon)) == before
    shown = daemon.forgetd("doctor", "--state-dir", str(daemon.state_dir))
    assert "namespace default" in shown.stdout
    assert "WRONG" not in shown.stdout


@pytest.mark.gate("CLI-61")
def test_a_database_that_lost_writes_is_told_and_taken_when_accepted(start: Start) -> None:
    daemon = start()
    put(daemon, "a")
    daemon.stop()
    yesterday = directory(daemon).parent / "yesterday.db"
    shutil.copy2(directory(daemon) / "hot.db", yesterday)
    daemon = start()
    put(daemon, "b")
    daemon.stop()
    for name in ("hot.db-wal", "hot.db-shm"):
        (directory(daemon) / name).unlink(missing_ok=True)
    shutil.move(yesterday, directory(daemon) / "hot.db")

    code, findings = doctor(daemon)
    assert code == 1
    (check,) = failed(findings)
    (told,) = [each for each in findings["default"] if each["check"] == check]
    assert "--accept" in told["remedy"]
    daemon = start()
    refused = daemon.forgetd("call", "memory.put", '{"content":"c"}')
    assert refused.returncode == 75
    assert "doctor" in refused.stderr
    daemon.stop()

    code, _ = doctor(daemon, "--accept", "--namespace", "default")
    assert code == 0
    assert failed(doctor(daemon)[1]) == []
    daemon = start()
    put(daemon, "c")
    assert daemon.call("memory.get", id="a") is not None
    assert daemon.call("memory.get", id="b") is None


@pytest.mark.gate("CLI-62")
@pytest.mark.parametrize("changed", [False, True])
def test_an_unknown_archive_file_goes_only_when_all_it_holds_is_elsewhere(
    start: Start, changed: bool
) -> None:
    daemon = start()
    put(daemon, "a", "b")
    run = daemon.call("coldSpill", target=0)["runId"]
    daemon.stop()
    (segment,) = (directory(daemon) / "cold").glob("*.jsonl.zst")
    held = segment.read_bytes()
    daemon = start()
    daemon.call("runs.undo", runId=run)
    if changed:
        daemon.call("memory.update", id="a", patch={"content": "this is a, and more"})
    daemon.stop()
    # All its memories are hot again; now the file turns up, as out of an old backup.
    segment.write_bytes(held)
    segment.chmod(0o600)

    code, findings = doctor(daemon)
    assert (code, failed(findings)) == (1, ["unknown segments"])
    assert segment.exists()
    code, findings = doctor(daemon, "--reclaim")
    assert segment.exists() == changed  # the older text of "a" stands nowhere else
    assert code == (1 if changed else 0)
    daemon = start()
    assert segment.exists() == changed
    assert daemon.call("memory.get", id="b")["content"] == "this is b"
    assert daemon.call("memory.get", id="a")["content"].startswith("this is a")


@pytest.mark.gate("CLI-63")
def test_a_place_without_namespaces_is_told_apart_from_a_healthy_one(
    start: Start, folder: Path
) -> None:
    daemon = start()
    daemon.stop()
    nothing = daemon.forgetd("doctor", "--state-dir", str(daemon.state_dir))
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "nothing to check" in nothing.stderr
    absent = daemon.forgetd("doctor", "--state-dir", str(folder / "absent"))
    assert absent.returncode == 65
    assert not (folder / "absent").exists()
    unknown = daemon.forgetd(
        *("doctor", "--state-dir", str(daemon.state_dir), "--namespace", "absent")
    )
    assert unknown.returncode == 65
    both = daemon.forgetd("doctor", "--accept", "--reclaim")
    assert both.returncode == 64
