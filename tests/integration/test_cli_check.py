"""`forgetd check`: faults in the files are found while the daemon runs or not, and no others."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from sidecar.store.check import Scope
from sidecar.store.check import check as check_files
from sidecar.store.findings import Finding
from tests.integration.test_cli_doctor import contents, directory, failed, put
from tests.running import RunningDaemon, running_daemon
from tests.wire import short_directory

Start = Callable[..., RunningDaemon]
HOUR_SECONDS = 3_600


def check(daemon: RunningDaemon, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the findings by namespace."""
    done = daemon.forgetd("check", "--state-dir", str(daemon.state_dir), "--json", *options)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)["namespaces"]


def told(findings: dict[str, Any], name: str) -> dict[str, Any]:
    (finding,) = [each for each in findings["default"] if each["check"] == name]
    return finding


def three_tiers(daemon: RunningDaemon) -> None:
    """Three hot, two cold and one forgotten memory, one of them with a vector."""
    put(daemon, "c1", "c2", "f1")
    daemon.call("memory.put", id="c3", content="with a vector", embedding=[0.5, 0.25])
    daemon.call("coldSpill", target=0)
    daemon.call("memory.forget", ids=["f1"])
    put(daemon, "h1", "h2", "h3")


@pytest.mark.gate("CHECK-01")
def test_a_running_daemon_is_checked_whole_and_not_disturbed(start: Start) -> None:
    daemon = start()
    three_tiers(daemon)
    before = daemon.call("events.list", since=0)["latest"]
    code, findings = check(daemon, "--read-data", "--replay")
    assert (code, failed(findings)) == (0, [])
    assert "3 hot, 3 cold, 1 forgotten" in told(findings, "memories")["detail"]
    assert daemon.call("events.list", since=0)["latest"] == before
    put(daemon, "h4")
    assert daemon.call("memory.get", id="c1")["tier"] == "cold"


@pytest.mark.gate("CHECK-01")
def test_a_stopped_store_is_checked_and_left_byte_for_byte_as_it_was(start: Start) -> None:
    daemon = start()
    three_tiers(daemon)
    daemon.stop()
    before = contents(directory(daemon))
    assert check(daemon, "--read-data", "--replay")[0] == 0
    assert contents(directory(daemon)) == before
    shown = daemon.forgetd("check", "--state-dir", str(daemon.state_dir), "--namespace", "default")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "namespace default" in shown.stdout


@pytest.mark.gate("CHECK-02")
def test_writes_spills_and_merges_beside_a_check_are_no_findings(start: Start) -> None:
    daemon = start()
    stop = threading.Event()

    def work() -> None:
        for round_number in range(1_000):
            if stop.is_set():
                return
            ids = [f"w{round_number}-{n}" for n in range(20)]
            put(daemon, *ids)
            daemon.call("coldSpill", target=0)
            daemon.call("memory.forget", ids=ids[:15])

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(4):
            code, findings = check(daemon, "--read-data", "--replay")
            assert (code, failed(findings) if findings else []) == (0, []), findings
    finally:
        stop.set()
        worker.join()


@pytest.fixture(scope="module")
def sample() -> Iterator[Path]:
    """The directory of a stopped namespace with memories in every tier. Only to be copied."""
    with short_directory() as folder:
        with running_daemon(folder) as daemon:
            three_tiers(daemon)
            daemon.call("memory.put", id="h4", content="a hot vector", embedding=[0.5, 0.25])
        yield folder / "state" / "namespaces" / "default"


@pytest.fixture
def stopped(sample: Path, tmp_path: Path) -> Path:
    """A copy of the sample, to be damaged."""
    shutil.copytree(sample, tmp_path / "default")
    return tmp_path / "default"


def change(stopped: Path, sql: str) -> None:
    connection = apsw.Connection(str(stopped / "hot.db"))
    connection.execute(sql)
    connection.close()


def wrong(stopped: Path, *, read_data: bool = False, replay: bool = False) -> dict[str, Finding]:
    """What a check finds wrong, by name."""
    found = check_files(stopped, Scope(read_data=read_data, replay=replay))
    assert all(finding.remedy for finding in found.findings if not finding.ok)
    return {finding.check: finding for finding in found.findings if not finding.ok}


@pytest.mark.gate("CHECK-03")
@pytest.mark.parametrize(
    ("damage", "name", "part"),
    [
        ("DELETE FROM texts", "tables", "4 hot memories without a text"),
        ("DELETE FROM vectors", "tables", "1 hot memories without their vector"),
        ("INSERT INTO texts VALUES (999, 'x', '{}', '{}')", "tables", "1 texts without"),
        ("INSERT INTO vectors VALUES (999, x'00')", "tables", "1 vectors without"),
        ("DELETE FROM search", "tables", "4 hot memories without an index entry"),
        ("INSERT INTO search (rowid, text) VALUES (999, 'x')", "tables", "1 index entries without"),
        ("DELETE FROM memories WHERE id = 'h1'", "tables", "1 ids in the event log without"),
        ("DELETE FROM events WHERE memory_id = 'h1'", "tables", "1 memories that no event"),
        ("DELETE FROM segments WHERE tier = 1", "tables", "3 memories in segments that are not"),
        ("UPDATE segments SET live = 0", "tables", "2 segments that count fewer memories"),
        ("UPDATE segments SET tier = 3 - tier", "tables", "4 memories of another tier"),
        ("INSERT INTO unlink_intents SELECT name, tier, 0 FROM segments", "tables", "2 segments"),
        (
            "INSERT INTO run_chunks (run_id, chunk, decisions) VALUES ('x', 0, x'')",
            "tables",
            "1 decisions of runs",
        ),
        ("UPDATE segments SET bytes = bytes + 1", "segments", "2 damaged"),
        ("UPDATE memories SET line = 99 WHERE tier = 1", "places", "1 segments lack a line"),
        ("UPDATE memories SET segment = NULL WHERE id = 'f1'", "tables", "1 cold or forgotten"),
        ("UPDATE memories SET segment = 'x' WHERE id = 'h1'", "tables", "1 hot memories that name"),
        ("UPDATE memories SET status = 9 WHERE id = 'h1'", "tables", "that does not exist"),
        ("UPDATE memories SET media_ref = 'gone.png' WHERE id = 'h1'", "media", "gone.png"),
        ("UPDATE meta SET value = 1 WHERE key = 'commits'", "commits", "acknowledged were"),
    ],
)
def test_what_does_not_fit_is_found(stopped: Path, damage: str, name: str, part: str) -> None:
    assert wrong(stopped) == {}
    change(stopped, damage)
    assert part in wrong(stopped)[name].detail


@pytest.mark.gate("CHECK-04")
def test_files_that_are_missing_unknown_or_left_over_are_found(stopped: Path) -> None:
    (segment,) = (stopped / "cold").glob("seg-*")
    renamed = segment.with_name("seg-000000000000-0123456789abcdef.jsonl.zst")
    segment.rename(renamed)
    (stopped / "cold" / ".tmp-old").write_bytes(b"x")
    assert set(wrong(stopped)) == {"segments"}  # a run may be at work on young files
    for path in (renamed, stopped / "cold" / ".tmp-old"):
        long_ago = path.stat().st_mtime - HOUR_SECONDS
        os.utime(path, (long_ago, long_ago))
    found = wrong(stopped)
    assert set(found) == {"segments", "unknown segments", "leftovers"}
    assert segment.name in found["segments"].detail
    assert renamed.name in found["unknown segments"].detail
    assert ".tmp-old" in found["leftovers"].detail


@pytest.mark.gate("CHECK-05")
def test_a_text_that_changed_is_found_by_reading_it(stopped: Path) -> None:
    change(stopped, "UPDATE texts SET content = 'this is x1' WHERE content LIKE '%h1'")
    assert wrong(stopped) == {}
    found = wrong(stopped, read_data=True)
    assert set(found) == {"memories"}
    assert "1 do not match their hash: h1" in found["memories"].detail


@pytest.mark.gate("CHECK-05")
def test_an_archive_file_that_changed_is_found_by_reading_it(stopped: Path) -> None:
    (segment,) = (stopped / "forgotten").glob("seg-*")
    raw = bytearray(segment.read_bytes())
    raw[20] ^= 1
    segment.write_bytes(raw)
    assert wrong(stopped) == {}
    found = wrong(stopped, read_data=True)
    assert set(found) == {"segments", "memories"}
    assert segment.name in found["segments"].detail
    assert "f1" in found["memories"].detail


@pytest.mark.gate("CHECK-06")
def test_a_log_that_does_not_replay_names_ids_and_fields(stopped: Path) -> None:
    change(stopped, "UPDATE memories SET pinned = 1, importance = 0.5 WHERE id = 'c2'")
    assert wrong(stopped) == {}
    found = wrong(stopped, replay=True)
    assert set(found) == {"event log"}
    assert "c2: importance, pinned" in found["event log"].detail


@pytest.mark.gate("CHECK-07")
def test_a_file_that_is_no_database_is_a_finding(stopped: Path) -> None:
    (stopped / "hot.db").write_bytes(b"no database" * 1_000)
    assert set(wrong(stopped, read_data=True, replay=True)) == {"database"}
