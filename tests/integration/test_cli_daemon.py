"""The command against a real daemon."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.running import RunningDaemon, until

DAY_MS = 86_400_000
ROOT = Path(__file__).resolve().parents[2]


def put(daemon: RunningDaemon, namespace: str, content: str, **fields: Any) -> dict[str, Any]:
    memory: dict[str, Any] = daemon.call(
        "memory.put", namespace=namespace, content=content, **fields
    )
    return memory


def weak_memories(daemon: RunningDaemon, namespace: str, count: int) -> None:
    """Memories that a sweep may forget, in a namespace that is over its total by a third."""
    now: int = daemon.call("system.clock")["now"]
    daemon.call(
        "memory.putMany",
        namespace=namespace,
        memories=[
            {
                "id": f"weak-{at:03}",
                "content": f"커피 {at}잔 ☕",
                "importance": 0.1,
                "createdAt": now - (200 + at) * DAY_MS,
            }
            for at in range(count)
        ],
    )
    # Lowered thresholds are not obeyed by the daemon itself for an hour: nothing interferes.
    daemon.call(
        "thresholds.set", namespace=namespace, thresholds={"forgetThresholdTotal": count * 2 // 3}
    )


@pytest.mark.gate("CLI-50")
def test_a_memory_is_put_read_listed_and_recalled(daemon: RunningDaemon, namespace: str) -> None:
    made = daemon.forgetd(
        "call", "memory.put", '{"content":"아침마다 커피를 마신다 ☕"}', "--namespace", namespace
    )
    identity = json.loads(made.stdout)["id"]
    read = daemon.forgetd("--namespace", namespace, "--json", "get", identity)
    assert json.loads(read.stdout)["content"] == "아침마다 커피를 마신다 ☕"
    assert "커피를" in read.stdout
    listed = daemon.forgetd("list", "--namespace", namespace)
    assert identity in listed.stdout
    found = daemon.forgetd("recall", "커피", "--namespace", namespace)
    assert (found.returncode, identity in found.stdout) == (0, True)
    assert daemon.forgetd("recall", "zeppelin", "--namespace", namespace).returncode == 1


@pytest.mark.gate("CLI-14", "CLI-50")
def test_looking_by_command_changes_no_counter_and_no_time(
    daemon: RunningDaemon, namespace: str
) -> None:
    before = put(daemon, namespace, "Tofu is a grey cat")
    identity = before["id"]
    for arguments in (
        ["recall", "grey", "cat"],
        ["recall", "grey", "cat", "--depth", "deep"],
        ["get", identity],
        ["list"],
        ["explain", identity],
        ["sweep", "--dry-run"],
        ["status"],
    ):
        done = daemon.forgetd(*arguments, "--namespace", namespace)
        assert done.returncode == 0, done.stderr
    # A run folds pending touches first, so one that waited would be seen now.
    daemon.call("forgetSweep", namespace=namespace)
    after = daemon.call("memory.get", namespace=namespace, id=identity)
    for name in ("recallCount", "useCount", "lastRecalledAt", "updatedAt", "revision"):
        assert after[name] == before[name], name


@pytest.mark.gate("CLI-51")
def test_the_line_that_a_dry_run_prints_applies_exactly_that_plan(
    daemon: RunningDaemon, namespace: str
) -> None:
    weak_memories(daemon, namespace, 60)
    dry = daemon.forgetd("sweep", "--dry-run", "--namespace", namespace, "--decisions", "60")
    assert dry.returncode == 0, dry.stderr
    planned = {word for word in dry.stdout.split() if word.startswith("weak-")}
    assert len(planned) == 24  # down to nine tenths of 40
    label, _, line = dry.stdout.splitlines()[-1].partition(": ")
    assert label == "apply exactly this"
    applied = daemon.forgetd(*shlex.split(line)[1:])
    assert applied.returncode == 0, applied.stderr
    forgotten = daemon.forgetd("list", "--tier", "forgotten", "--namespace", namespace, "--json")
    assert {each["id"] for each in json.loads(forgotten.stdout)["memories"]} == planned

    again = daemon.forgetd(*shlex.split(line)[1:])
    assert again.returncode == 65
    assert "next:" in again.stderr

    one = min(planned)
    assert daemon.forgetd("get", one, "--namespace", namespace).returncode == 1
    restored = daemon.forgetd("restore", one, "--namespace", namespace)
    assert restored.returncode == 0, restored.stderr
    assert daemon.forgetd("get", one, "--namespace", namespace).returncode == 0

    undo = applied.stdout.splitlines()[-1].partition(": ")[2]
    undone = daemon.forgetd(*shlex.split(undo)[1:])
    assert undone.returncode == 0, undone.stderr
    left = daemon.forgetd("list", "--tier", "forgotten", "--namespace", namespace, "--json")
    assert json.loads(left.stdout)["memories"] == []
    paused = daemon.forgetd("status", "--namespace", namespace)
    assert "thresholds resume" in paused.stdout
    resumed = daemon.forgetd("thresholds", "resume", "--namespace", namespace, "--json")
    assert json.loads(resumed.stdout)["paused"] == []


@pytest.mark.gate("CLI-51")
def test_runs_are_told_after_the_fact(daemon: RunningDaemon, namespace: str) -> None:
    weak_memories(daemon, namespace, 30)
    swept = daemon.forgetd("sweep", "--namespace", namespace, "--json")
    run = json.loads(swept.stdout)["runId"]
    assert run in daemon.forgetd("runs", "--namespace", namespace).stdout
    shown = daemon.forgetd("runs", "show", run, "--namespace", namespace)
    assert "2 forget" in shown.stdout
    page = daemon.forgetd("runs", "decisions", run, "--limit", "5", "--namespace", namespace)
    assert page.stdout.count("weak-") == 5
    assert "--cursor" in page.stderr
    by_run = daemon.forgetd("restore", "--run", run, "--namespace", namespace, "--json")
    assert json.loads(by_run.stdout)["counts"]["restored"] == 12


@pytest.mark.gate("CLI-52")
def test_what_the_daemon_refuses_ends_in_its_exit_code_and_next_step(
    daemon: RunningDaemon, namespace: str
) -> None:
    for arguments, code in (
        (["thresholds", "set", "forgetTresholdCount=5"], 64),
        (["thresholds", "set", "lowWatermark=7"], 64),
        (["sweep", "--plan", "no-such-plan"], 65),
        (["runs", "undo", "no-such-run"], 65),
        (["explain", "no-such-memory"], 65),
        (["restore", "no-such-memory"], 1),
        (["call", "no.such.method"], 64),
        (["call", "memory.put", '{"content":" "}'], 64),
        (["call", "system.clock", '{"now":1764500000000}'], 65),
        (["status"], 0),
    ):
        done = daemon.forgetd(*arguments, "--namespace", namespace)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        assert ("next: " in done.stderr) == (code not in (0, 1)), arguments
        assert "Traceback" not in done.stderr
    bad_name = daemon.forgetd("get", "x", "--namespace", "../up")
    assert bad_name.returncode == 64
    assert str(daemon.state_dir) not in bad_name.stderr


@pytest.mark.gate("CLI-53")
def test_status_and_namespaces_count_what_is_there(daemon: RunningDaemon, namespace: str) -> None:
    put(daemon, namespace, "one")
    put(daemon, namespace, "two")
    status = daemon.forgetd("status", "--namespace", namespace)
    assert "2 of 10,000" in status.stdout
    names = daemon.forgetd("namespaces", "--json")
    listed = {each["namespace"]: each for each in json.loads(names.stdout)["namespaces"]}
    assert listed[namespace]["hot"] == 2
    assert namespace in daemon.forgetd("status").stdout + daemon.forgetd("namespaces").stdout


@pytest.mark.gate("CLI-54")
def test_stop_waits_until_the_daemon_has_ended(start: Callable[..., RunningDaemon]) -> None:
    daemon = start()
    put(daemon, "default", "kept")
    stopped = daemon.forgetd("stop")
    assert (stopped.returncode, stopped.stdout) == (0, ""), stopped.stderr
    assert daemon.process.wait(5) == 0
    assert not daemon.socket.exists()
    assert daemon.forgetd("stop").returncode == 69


@pytest.mark.gate("CLI-54")
def test_an_idle_daemon_ends_by_itself_when_told_to(start: Callable[..., RunningDaemon]) -> None:
    daemon = start("--idle-exit", "0.2")
    until(lambda: daemon.process.poll() is not None, what="the idle daemon ended")
    assert daemon.process.returncode == 0


@pytest.mark.gate("CLI-55")
def test_a_second_daemon_is_refused_and_the_first_goes_on(
    start: Callable[..., RunningDaemon], folder: Path
) -> None:
    first = start()
    other_socket = ["serve", "--socket", str(folder / "t"), "--state-dir", str(first.state_dir)]
    other_state = ["serve", "--socket", str(first.socket), "--state-dir", str(folder / "other")]
    for arguments in (other_socket, other_state):
        second = first.forgetd(*arguments)
        assert second.returncode == 75
        assert "next:" in second.stderr
        assert first.client.is_ready()


@pytest.mark.gate("CLI-55")
def test_a_wrong_setting_keeps_the_daemon_from_starting(
    daemon: RunningDaemon, folder: Path
) -> None:
    config = folder / "forgetd.toml"
    config.write_text("[daemon]\nsokcet = 'x'\n")
    done = daemon.forgetd("serve", "--config", str(config))
    assert done.returncode == 78
    assert "did you mean" in done.stderr


@pytest.mark.gate("CLI-56")
def test_the_python_example_runs_against_the_daemon(daemon: RunningDaemon) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "forget_sweep.py"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "FORGETD_SOCKET": str(daemon.socket), "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "the plan forgets 12 of 30 memories" in done.stdout
    assert "undone: {'restored': 12}" in done.stdout
