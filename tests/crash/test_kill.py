"""A real daemon killed at any moment: nothing acknowledged is lost, and it starts without help."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sidecar.model import TIERS
from sidecar.store import doctor, rows
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.sqlite.connection import open_reader
from sidecar.store.store import unknown_segments
from tests.crash.load import Load
from tests.crash.namespaces import NOW, directory_of, faults, kept, unfinished_runs
from tests.running import RunningDaemon, running_daemon, until
from tests.wire import short_directory

KILLS = 50
# A spill of more than 500 memories is encoded by a process of its own, which is orphaned too.
LARGE_BATCH = 560
UNKNOWN = "unknown segments"
THRESHOLDS = {"forgetThresholdCount": 150, "forgetThresholdTotal": 2_000}


@pytest.mark.gate("CRASH-01")
def test_a_daemon_killed_fifty_times_loses_nothing_and_needs_no_help(rng: random.Random) -> None:
    with short_directory() as one, short_directory() as other, ThreadPoolExecutor(2) as lanes:
        small = lanes.submit(killed_and_killed, one, 30, 60, random.Random(rng.random()))
        large = lanes.submit(killed_and_killed, other, 20, LARGE_BATCH, random.Random(rng.random()))
        told = [small.result(), large.result()]
    assert sum(kills for kills, _ in told) == KILLS
    # Else the kills never met a run, and the test saw nothing.
    assert sum(interrupted for _, interrupted in told) >= KILLS // 10


def killed_and_killed(folder: Path, kills: int, batch: int, rng: random.Random) -> tuple[int, int]:
    """Kill a daemon again and again under load; how often, and how many kills cut a run."""
    load = Load(rng, batch)
    directory = directory_of(folder / "state")
    interrupted = 0
    for life in range(kills):
        with running_daemon(folder, "--allow-injected-clock") as daemon:
            daemon.call("system.clock", now=NOW + life * 1000)
            daemon.call("namespaces.open", thresholds=THRESHOLDS)
            load.hold_to(contents(daemon))
            load.run_until_killed(daemon.socket, daemon.process.kill, rng.uniform(0.03, 0.45))
            daemon.process.wait()
        interrupted += unfinished_runs(directory) > 0
        assert faults(directory, but=[UNKNOWN, "leftovers"]) == {}
    with running_daemon(folder, "--allow-injected-clock") as daemon:
        load.hold_to(contents(daemon))
    load.hold_to({key: one.content for key, one in kept(directory).items()})
    assert unfinished_runs(directory) == 0
    doctor.reclaim(directory)
    assert faults(directory, but=[UNKNOWN]) == {}
    assert_only_older_versions_are_unknown(directory)
    load.hold_to({key: one.content for key, one in kept(directory).items()})
    return kills, interrupted


def assert_only_older_versions_are_unknown(directory: Path) -> None:
    """What stays of the kills after a reclaim: texts that were changed since, and no others."""
    connection = open_reader(directory / "hot.db")
    files = SegmentFiles(directory)
    try:
        for tier, name in unknown_segments(connection, files):
            older = 0
            for _, _, record in files.reader(tier, name):
                row = rows.by_id(connection, record.payload.id)
                assert row is not None
                older += row.content_hash != record.content_hash
            assert older
    finally:
        connection.close()
        files.close()


def contents(daemon: RunningDaemon) -> dict[str, str]:
    """Every memory that the daemon has, in any tier; its counters must agree."""
    found: dict[str, str] = {}

    def listed_in_peace() -> bool:
        """Whether nothing moved by itself meanwhile: automatic sweeps go on."""
        before = status(daemon)
        tiers = {tier: pages(daemon, tier) for tier in TIERS}
        after = status(daemon)
        if before["counts"] != after["counts"] or before["running"] or after["running"]:
            return False
        assert {tier: len(listed) for tier, listed in tiers.items()} == {
            tier: after["counts"][tier] for tier in TIERS
        }
        found.update({one["id"]: one["content"] for listed in tiers.values() for one in listed})
        return True

    until(listed_in_peace, what="nothing moves while it is listed")
    assert (status(daemon)["readOnly"], status(daemon)["corrupt"]) == (None, 0)
    return found


def status(daemon: RunningDaemon) -> dict[str, Any]:
    """The state of the only namespace."""
    (namespace,) = daemon.call("system.status")["namespaces"]
    return namespace


def pages(daemon: RunningDaemon, tier: str) -> list[dict[str, Any]]:
    """Every memory of a tier."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = daemon.call("memory.list", tier=tier, limit=1000, cursor=cursor)
        found += page["memories"]
        cursor = page["cursor"]
        if cursor is None:
            return found
