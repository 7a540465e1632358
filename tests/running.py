"""A real daemon in a process of its own, in directories of its own: the one way to start one."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sidecar.client import Client
from tests.sources import ROOT
from tests.wire import short_directory

START_SECONDS_MAX = 30.0
END_SECONDS_MAX = 60.0
COMMAND_SECONDS_MAX = 60.0
FORGETD = (sys.executable, "-m", "sidecar.cli.main")


class RunningDaemon:
    """`forgetd serve` in `folder`, which may hold the state of one before it, and what it said."""

    def __init__(
        self,
        folder: Path,
        *flags: str,
        socket: str | None = None,
        state_dir: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.socket = Path(socket or folder / "run" / "d.sock")
        self.state_dir = Path(state_dir or folder / "state")
        self.log_path = folder / "daemon.log"
        self._log = self.log_path.open("ab")
        places = ("--socket", str(self.socket), "--state-dir", str(self.state_dir))
        self.process = subprocess.Popen(
            [*FORGETD, "serve", *places, *flags],
            cwd=ROOT,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        self.client = Client(self.socket, timeout_seconds=COMMAND_SECONDS_MAX)

    def ready(self) -> "RunningDaemon":
        """Wait until it serves calls; fail with what it said when it ends instead."""

        def is_ready() -> bool:
            assert self.process.poll() is None, self.said()
            with contextlib.suppress(Exception):
                return self.client.is_ready()
            return False

        until(is_ready, START_SECONDS_MAX)
        return self

    def call(self, method: str, **params: Any) -> Any:
        """The result of a method, with parameters by name."""
        return self.client.call(method, params)

    def forgetd(
        self, *arguments: str, stdin: bytes = b"", **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        """One run of the command against this daemon."""
        environment = {**os.environ, "FORGETD_SOCKET": str(self.socket), **variables}
        done = subprocess.run(
            [*FORGETD, *arguments],
            input=stdin,
            capture_output=True,
            timeout=COMMAND_SECONDS_MAX,
            env=environment,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.process.pid, number)

    def stop(self) -> int:
        """Ask it to stop and wait; its exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end; its exit code."""
        code = self.process.wait(END_SECONDS_MAX)
        self._log.close()
        return code

    def end(self) -> None:
        """See to it that it has ended, by force where it has to be."""
        if self.process.poll() is None:
            self.process.kill()
        self.wait()

    def said(self) -> str:
        """Everything that it wrote so far."""
        return self.log_path.read_text(encoding="utf-8")

    def lines(self) -> list[dict[str, Any]]:
        """Its log lines."""
        return [json.loads(line) for line in self.said().splitlines() if line.startswith("{")]

    def events(self) -> list[str]:
        """What its log lines are about, in order."""
        return [line["event"] for line in self.lines()]


def permissive_config(folder: Path) -> str:
    """The path of a config file, made in the folder, under which a caller may call everything."""
    config = folder / "forgetd.toml"
    config.write_text("[gc]\nallow_rpc = true\n[lifecycle]\nforget_enabled = true\n")
    return str(config)


def until(
    condition: Callable[[], bool],
    seconds_max: float = START_SECONDS_MAX,
    what: str = "the condition",
) -> None:
    """Return as soon as the condition holds; fail when it never does."""
    give_up_at = time.monotonic() + seconds_max
    while not condition():
        assert time.monotonic() < give_up_at, f"after {seconds_max:g} seconds still not: {what}"
        time.sleep(0.01)


@contextmanager
def running_daemon(folder: Path, *flags: str, **variables: str) -> Iterator[RunningDaemon]:
    """A daemon that serves calls, stopped in order at the end."""
    daemon = RunningDaemon(folder, *flags, environ=variables)
    try:
        yield daemon.ready()
        daemon.stop()
    finally:
        daemon.end()


@contextmanager
def daemon_folder() -> Iterator[Callable[..., RunningDaemon]]:
    """Starts daemons in one private folder; none outlives the block.

    Options are the flags of `forgetd serve`, `socket`, `state_dir` and `environ`.
    """
    started: list[RunningDaemon] = []
    with short_directory() as folder:

        def start(
            environ: Mapping[str, str] | None = None,
            *,
            socket: str | None = None,
            state_dir: str | None = None,
            **options: Any,
        ) -> RunningDaemon:
            daemon = RunningDaemon(
                folder, *flags_of(options), socket=socket, state_dir=state_dir, environ=environ
            )
            started.append(daemon)
            return daemon

        start.folder = folder  # type: ignore[attr-defined]
        try:
            yield start
        finally:
            for daemon in started:
                daemon.end()


def flags_of(options: Mapping[str, Any]) -> Iterator[str]:
    """Options of ServeOptions as the command takes them."""
    for name, value in options.items():
        yield "--" + name.removesuffix("_seconds").replace("_", "-")
        if value is not True:
            yield str(value)
