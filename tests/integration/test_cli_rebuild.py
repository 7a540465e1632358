"""`forgetd rebuild`: the tables come back from log, texts and archive files, or nothing is done."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from sidecar.apply.rebuild import Rebuilt, rebuild
from sidecar.store import events
from sidecar.store.check import REBUILT, Scope, check, looking
from tests.running import FORGETD, RunningDaemon, running_daemon
from tests.sources import ROOT
from tests.wire import short_directory

Start = Callable[..., RunningDaemon]


def fill(daemon: RunningDaemon) -> None:
    """Memories in every tier, changed in many ways."""
    memories = [
        {"id": f"m{n}", "content": f"number {n} of many", "embedding": [1.0, n] if n % 3 else None}
        for n in range(30)
    ]
    daemon.call("memory.putMany", memories=memories)
    daemon.call("memory.supersede", id="m1", by="m2")
    daemon.call("memory.pin", id="m3", pinned=True)
    daemon.call("memory.feedback", id="m4", signal="useful")
    daemon.call("memory.touch", ids=["m5"])
    daemon.call("memory.put", id="media", content="has a picture", mediaRef="a.png")
    daemon.call("coldSpill", target=18)
    daemon.call("memory.forget", ids=["m6", "m7", "m8"])
    daemon.call("memory.restore", ids=["m8"])
    daemon.call("memory.update", id="m9", patch={"content": "number 9, said again"})
    daemon.call("memory.update", id="m10", patch={"metadata": {"a": 1}})


@pytest.fixture(scope="module")
def sample() -> Iterator[Path]:
    """The directory of a stopped namespace. Only to be copied."""
    with short_directory() as folder:
        media = folder / "state" / "namespaces" / "default" / "media"
        with running_daemon(folder) as daemon:
            daemon.call("namespaces.open")
            (media / "a.png").write_bytes(b"picture")
            fill(daemon)
        yield media.parent


@pytest.fixture
def stopped(sample: Path, tmp_path: Path) -> Path:
    """A copy of the sample, to be damaged."""
    place = tmp_path / "namespaces" / "default"
    shutil.copytree(sample, place)
    return place


def change(directory: Path, *statements: str) -> None:
    connection = apsw.Connection(str(directory / "hot.db"))
    for sql in statements:
        connection.execute(sql)
    connection.close()


def state(directory: Path) -> str:
    with looking(directory) as connection:
        return events.state_hash(connection)


def table(directory: Path, query: str) -> list[tuple[Any, ...]]:
    with looking(directory) as connection:
        return connection.execute(query).fetchall()


def wrong(directory: Path) -> list[str]:
    found = check(directory, Scope(read_data=True, replay=True, at_work=False))
    return [f"{each.check}: {each.detail}" for each in found.findings if not each.ok]


def rebuilt(directory: Path) -> Rebuilt:
    result = rebuild(directory, in_place=True)
    assert result.refused == []
    return result


GARBLED = (
    "UPDATE memories SET importance = 0.123, pinned = 1 - pinned, status = 3, created_at = 5,"
    " content_hash = x'00', recall_count = 77, superseded_by = 'm20', tier = 0, segment = NULL"
)


PLACES = (
    "SELECT id, rid, tier, text_bytes, moved_run, moved_reason, tier_left, change_counter"
    " FROM memories ORDER BY id"
)


@pytest.mark.gate("REBUILD-01")
@pytest.mark.parametrize(
    "damage",
    [
        "SELECT 1",
        "DELETE FROM memories WHERE rid % 2",
        "DELETE FROM memories",
        GARBLED,
        "UPDATE memories SET frame = 7, line = 7 WHERE tier <> 0",
        "INSERT INTO search (search) VALUES ('delete-all')",
        "DELETE FROM segments; INSERT INTO unlink_intents VALUES ('gone', 1, 0)",
        "DELETE FROM media",
    ],
)
def test_rows_scalars_and_indexes_come_back(stopped: Path, damage: str) -> None:
    before, held = state(stopped), table(stopped, PLACES)
    assert wrong(stopped) == []
    change(stopped, damage)
    result = rebuilt(stopped)
    assert (result.after, result.memories) == (before, 31)
    assert result.damaged_segments == []
    assert state(stopped) == before
    assert table(stopped, PLACES) == held
    assert wrong(stopped) == []
    assert not (stopped / REBUILT).exists()


@pytest.mark.gate("REBUILD-02")
def test_a_daemon_goes_on_with_a_rebuilt_database(start: Start, folder: Path) -> None:
    daemon = start()
    fill(daemon)
    run = next(r for r in daemon.call("runs.list")["runs"] if r["kind"] == "spill")["runId"]
    query = {"query": "number 9 said", "depth": "deep", "touch": "none"}
    found = [each["memory"]["id"] for each in daemon.call("memory.recall", **query)["results"]]
    daemon.stop()
    directory = daemon.state_dir / "namespaces" / "default"
    change(directory, "DELETE FROM memories", "INSERT INTO search (search) VALUES ('delete-all')")
    done = daemon.forgetd("rebuild", "--in-place", "--state-dir", str(daemon.state_dir), "--json")
    assert done.returncode == 0, done.stderr
    daemon = start()
    again = [each["memory"]["id"] for each in daemon.call("memory.recall", **query)["results"]]
    assert again == found
    assert "m9" in again
    assert daemon.call("memory.get", id="m10")["metadata"] == {"a": 1}
    assert daemon.call("memory.list", tier="cold")["memories"]
    daemon.call("runs.undo", runId=run)
    assert daemon.call("memory.list", tier="cold")["memories"] == []
    daemon.call("memory.put", id="new", content="one more")
    daemon.stop()
    assert wrong(directory) == ["media: 1 files named, 1 missing or empty: a.png"]


@pytest.mark.gate("REBUILD-03")
@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        ("DELETE FROM texts WHERE content LIKE 'number 29%'", "m29"),
        ("DELETE FROM events WHERE memory_id = 'm12'", "m12"),
    ],
)
def test_nothing_is_done_where_an_id_would_vanish(stopped: Path, damage: str, lost: str) -> None:
    change(stopped, damage, "UPDATE memories SET pinned = 1")
    held = (stopped / "hot.db").read_bytes()
    result = rebuild(stopped, in_place=True)
    assert any(line.endswith(f": {lost}") for line in result.refused)
    assert (stopped / "hot.db").read_bytes() == held
    assert not (stopped / REBUILT).exists()
    assert not (stopped / "backups").exists()


@pytest.mark.gate("REBUILD-03")
def test_a_memory_of_a_damaged_archive_file_is_not_dropped(stopped: Path) -> None:
    (segment,) = (stopped / "forgotten").glob("seg-*")
    segment.write_bytes(segment.read_bytes()[:-1])
    result = rebuild(stopped, in_place=True)
    assert result.damaged_segments == [segment.name]
    assert "m6, m7" in result.refused[0]


@pytest.mark.gate("REBUILD-04")
def test_without_in_place_the_result_is_only_to_be_looked_at(stopped: Path) -> None:
    change(stopped, "UPDATE memories SET pinned = 1 - pinned")
    held = (stopped / "hot.db").read_bytes()
    result = rebuild(stopped, in_place=False)
    assert result.before != result.after
    assert (stopped / "hot.db").read_bytes() == held
    assert result.database == stopped / REBUILT
    assert os.stat(stopped / REBUILT).st_mode & 0o777 == 0o600
    assert any("rebuilt.db" in line for line in wrong(stopped))


@pytest.mark.gate("REBUILD-05")
def test_the_old_files_are_kept_before_anything_changes(stopped: Path) -> None:
    change(stopped, "UPDATE memories SET pinned = 1 - pinned")
    held, commits = (stopped / "hot.db").read_bytes(), (stopped / "commits").read_bytes()
    first = rebuilt(stopped).backup
    assert first is not None
    assert (first / "hot.db").read_bytes() == held
    assert (first / "commits").read_bytes() == commits == (stopped / "commits").read_bytes()
    assert rebuilt(stopped).backup != first


@pytest.mark.gate("REBUILD-06")
def test_a_running_daemon_must_be_stopped_first(start: Start) -> None:
    daemon = start()
    daemon.call("memory.put", id="a", content="a")
    done = daemon.forgetd("rebuild", "--in-place", "--state-dir", str(daemon.state_dir))
    assert done.returncode == 75
    assert "forgetd stop" in done.stderr
    daemon.stop()
    plain = ("rebuild", "--state-dir", str(daemon.state_dir))
    assert "the same state" in daemon.forgetd(*plain).stdout
    told = json.loads(daemon.forgetd(*plain, "--json").stdout)
    assert told["ok"]
    change(daemon.state_dir / "namespaces" / "default", "DELETE FROM texts")
    refused = daemon.forgetd(*plain)
    assert refused.returncode == 1
    assert "would vanish: a" in refused.stdout


KILLED_WHILE_REPLACING = """
import os, sys
from pathlib import Path
from sidecar.apply import rebuild

real, moment = rebuild.open_writer, sys.argv[2]


class Pages:
    def __init__(self, backup):
        self.backup = backup

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.backup.finish()

    def step(self):
        self.backup.step(3 if moment == "half" else -1)
        if moment != "checkpoint":
            os._exit(9)


class Target:
    def __init__(self, connection):
        self.connection = connection

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def backup(self, *arguments):
        return Pages(self.connection.backup(*arguments))

    def wal_checkpoint(self, **_):
        os._exit(9)


rebuild.open_writer = lambda path: Target(real(path)) if path.name == "hot.db" else real(path)
rebuild.rebuild(Path(sys.argv[1]), in_place=True)
"""


@pytest.mark.gate("REBUILD-07")
@pytest.mark.parametrize("moment", ["half", "committed", "checkpoint"])
def test_a_kill_while_it_is_replaced_leaves_the_old_or_the_new_database(
    stopped: Path, moment: str
) -> None:
    before = state(stopped)
    change(stopped, "UPDATE memories SET pinned = 1 - pinned")
    damaged = state(stopped)
    command = [sys.executable, "-c", KILLED_WHILE_REPLACING, str(stopped), moment]
    assert subprocess.run(command, check=False, cwd=ROOT).returncode == 9
    assert state(stopped) == (damaged if moment == "half" else before)
    assert table(stopped, "PRAGMA integrity_check") == [("ok",)]
    rebuilt(stopped)
    assert state(stopped) == before
    assert wrong(stopped) == []


@pytest.mark.gate("REBUILD-07")
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_database(stopped: Path, seed: int) -> None:
    generator = random.Random(seed)
    before = state(stopped)
    change(stopped, "UPDATE memories SET pinned = 1 - pinned")
    damaged = state(stopped)
    command = [*FORGETD, "rebuild", "--in-place", "--state-dir", str(stopped.parents[1])]
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(generator.uniform(0.3, 0.8))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert state(stopped) in (before, damaged)
        assert table(stopped, "PRAGMA integrity_check") == [("ok",)]
    rebuilt(stopped)
    assert state(stopped) == before
    assert wrong(stopped) == []
