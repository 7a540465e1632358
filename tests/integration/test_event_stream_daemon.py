"""Events of a real daemon: killed at any moment, stopped, and with many who do not read."""

import contextlib
import random
import signal
import socket
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sidecar import event_client
from sidecar.client import Client, Unreachable
from sidecar.event_client import Event, follow
from sidecar.limits import LIST_LIMIT_MAX
from tests.running import FORGETD, RunningDaemon, daemon_folder, until
from tests.subscribers import deaf

KILLS = 6
SLOW = 50
IDLE = 500
# What one slow reader may make the daemon hold: a page of events, and what waits to be sent.
HELD_BYTES_MAX = 1_000_000


def logged(client: Client) -> list[dict[str, Any]]:
    """Every event, by events.list."""
    found: list[dict[str, Any]] = []
    while True:
        since = found[-1]["seq"] if found else 0
        page = client.call("events.list", {"since": since, "limit": LIST_LIMIT_MAX})
        found += page["events"]
        if len(page["events"]) < LIST_LIMIT_MAX:
            return found


class Following:
    """A thread that follows from the beginning, over every restart."""

    def __init__(self, client: Client) -> None:
        self.events: list[Event] = []
        self._stopped = threading.Event()
        self._stream = follow(client, since=0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def until(self, seq: int) -> None:
        """Wait until this event has come, and end."""
        until(lambda: bool(self.events) and self.events[-1].seq >= seq)
        self._stopped.set()

    def _run(self) -> None:
        # The stream of a daemon that was killed for good ends with the process of the test.
        with contextlib.suppress(Unreachable):
            for event in self._stream:
                self.events.append(event)
                if self._stopped.is_set():
                    return


class Writing:
    """A thread that puts one memory after the other, and remembers what was acknowledged."""

    def __init__(self, client: Client) -> None:
        self.acknowledged: list[str] = []
        self._client = client
        self._stopping = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the write that is under way."""
        self._stopping = True
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        number = 0
        while not self._stopping:
            number += 1
            with contextlib.suppress(Unreachable):
                self._client.call("memory.put", {"id": f"w{number}", "content": "x"})
                self.acknowledged.append(f"w{number}")


@pytest.mark.gate("EVT-23")
def test_a_subscriber_sees_every_event_once_though_the_daemon_is_killed_again_and_again(
    rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_client, "RETRY_FIRST_SECONDS", 0.01)
    with daemon_folder() as start:
        daemon = start().ready()
        daemon.client.call("memory.put", {"id": "first", "content": "x"})
        following, writing = Following(daemon.client), Writing(daemon.client)
        for _ in range(KILLS):
            enough = len(writing.acknowledged) + rng.randrange(1, 60)
            until(lambda enough=enough: len(writing.acknowledged) >= enough)
            daemon.signal(signal.SIGKILL)
            daemon.wait()
            daemon = start().ready()
        writing.stop()
        daemon.client.call("memory.touch", {"ids": ["first"]})
        known = logged(daemon.client)
        following.until(known[-1]["seq"])
        assert [event.seq for event in following.events] == list(range(1, len(known) + 1))
        assert [event.data for event in following.events] == known
        made = [event["memoryId"] for event in known if event["kind"] == "memory.created"]
        assert set(writing.acknowledged) <= set(made)
        assert len(made) == len(set(made))
        # An event that was never acknowledged may be told, but never one that is not durable.
        assert daemon.client.call("memory.getMany", {"ids": made}).count(None) == 0


class Command:
    """`forgetd events --follow` in a process of its own, and what it printed."""

    def __init__(self, path: Path, *options: str) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [*FORGETD, "events", "--follow", *options, "--socket", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)

    def interrupt(self) -> str:
        """Ctrl-C; what it said on standard error."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(30) == 0
        self._thread.join(30)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return said


@pytest.mark.gate("EVT-24")
def test_the_command_follows_over_a_restart_and_ends_cleanly() -> None:
    with daemon_folder() as start:
        daemon = start().ready()
        daemon.client.call("memory.put", {"id": "a", "content": "x"})
        command = Command(daemon.socket, "--since", "0", "--kind", "memory.created")
        until(lambda: len(command.lines) == 1)
        daemon.signal(signal.SIGKILL)
        daemon.wait()
        daemon = start().ready()
        daemon.client.call("memory.pin", {"id": "a"})
        daemon.client.call("memory.put", {"id": "b", "content": "x"})
        until(lambda: len(command.lines) == 2)
        said = command.interrupt()
        assert [line.split()[4] for line in command.lines] == ["a", "b"]
        assert "Traceback" not in said
        assert said.count("waiting for the daemon") <= 1


@pytest.mark.gate("EVT-24")
def test_the_command_says_at_once_what_it_cannot_follow() -> None:
    with daemon_folder() as start:
        daemon = start().ready()
        daemon.client.call("memory.put", {"id": "a", "content": "x"})

        def run(*options: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*FORGETD, "events", "--follow", *options, "--socket", str(daemon.socket)],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )

        mistyped = run("--kind", "memory.creatd")
        assert (mistyped.returncode, mistyped.stdout) == (64, "")
        assert "did you mean memory.created?" in mistyped.stderr
        absent = run("--namespace", "absent")
        assert absent.returncode == 65
        assert "forgetd namespaces" in absent.stderr
        daemon.stop()
        assert run().returncode == 69


@pytest.mark.gate("EVT-25")
def test_open_streams_do_not_hold_up_a_stop() -> None:
    with daemon_folder() as start, ExitStack() as stack:
        daemon = start().ready()
        daemon.client.call("memory.put", {"id": "a", "content": "x"})
        streams = [stack.enter_context(deaf(daemon.socket, "since=0")) for _ in range(5)]
        for stream in streams:
            stream.settimeout(30)
            assert b'"memoryId":"a"' in received_until(stream, b'"memoryId":"a"')
        assert daemon.stop() == 0
        for stream in streams:
            assert received_until(stream, None).endswith(b"0\r\n\r\n"), "ended in order"
        assert "calls were cut off" not in daemon.said()


def received_until(stream: socket.socket, wanted: bytes | None) -> bytes:
    """What comes until it holds the bytes wanted, or until the end."""
    got = b""
    while wanted is None or wanted not in got:
        data = stream.recv(65_536)
        if not data:
            break
        got += data
    return got


def resident_bytes(daemon: RunningDaemon) -> int:
    """How much memory the daemon holds."""
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


@pytest.mark.gate("EVT-26")
def test_fifty_slow_and_five_hundred_idle_connections_leave_room_for_calls() -> None:
    with daemon_folder() as start, ExitStack() as stack:
        daemon = start().ready()
        call = daemon.client.call
        memories = [{"id": f"m{number}", "content": "x" * 50} for number in range(3_000)]
        call("memory.putMany", {"memories": memories})
        call("memory.recall", {"query": "x"})
        before = resident_bytes(daemon)
        for _ in range(IDLE):
            idle = stack.enter_context(socket.socket(socket.AF_UNIX))
            idle.connect(str(daemon.socket))
        for _ in range(SLOW):
            stack.enter_context(deaf(daemon.socket, "since=0"))
        for number in range(100):
            assert call("memory.put", {"content": f"{number}"})["tier"] == "hot"
            assert call("memory.get", {"id": "m7"})["id"] == "m7"
            assert call("memory.list", {"limit": 5})["memories"]
        assert call("memory.putMany", {"memories": [{"content": "x"}] * 2_000})["created"] == 2_000
        assert resident_bytes(daemon) - before < SLOW * HELD_BYTES_MAX
        known = logged(daemon.client)
        stream = follow(daemon.client, since=0)
        assert [next(stream).data for _ in known] == known
        stream.close()
        assert daemon.stop() == 0
