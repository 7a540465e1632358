"""A real daemon in a process of its own, in directories of its own."""

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
END_SECONDS_MAX = 30.0

PROGRAM = """
import json, sys
from sidecar.daemon.serve import ServeOptions, serve
sys.exit(serve(ServeOptions(**json.loads(sys.argv[1]))))
"""


class RunningDaemon:
    """A daemon that was started, and what it said."""

    def __init__(
        self, folder: Path, options: Mapping[str, Any], environ: Mapping[str, str]
    ) -> None:
        self.folder = folder
        self.socket = Path(options.get("socket") or folder / "run" / "d.sock")
        self.state_dir = Path(options.get("state_dir") or folder / "state")
        self.log_path = folder / "daemon.log"
        given = {"socket": str(self.socket), "state_dir": str(self.state_dir), **options}
        self._log = self.log_path.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(given)],
            cwd=ROOT,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
        )
        self.client = Client(self.socket, timeout_seconds=START_SECONDS_MAX)

    def ready(self) -> "RunningDaemon":
        """Wait until it serves calls; fail with what it said when it ends instead."""

        def is_ready() -> bool:
            assert self.process.poll() is None, self.said()
            with contextlib.suppress(Exception):
                return self.client.is_ready()
            return False

        until(is_ready, START_SECONDS_MAX)
        return self

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

    def said(self) -> str:
        """Everything on its standard error."""
        return self.log_path.read_text()

    def lines(self) -> list[dict[str, Any]]:
        """Its log lines."""
        return [json.loads(line) for line in self.said().splitlines() if line.startswith("{")]

    def events(self) -> list[str]:
        """What its log lines are about, in order."""
        return [line["event"] for line in self.lines()]


def until(condition: Callable[[], bool], seconds_max: float = START_SECONDS_MAX) -> None:
    """Return as soon as the condition holds; fail when it never does."""
    give_up_at = time.monotonic() + seconds_max
    while not condition():
        assert time.monotonic() < give_up_at, "the condition never held"
        time.sleep(0.01)


@contextmanager
def daemon_folder() -> Iterator[Callable[..., RunningDaemon]]:
    """Starts daemons in one private folder; none outlives the block."""
    started: list[RunningDaemon] = []
    with short_directory() as folder:

        def start(environ: Mapping[str, str] | None = None, **options: Any) -> RunningDaemon:
            started.append(RunningDaemon(folder, options, environ or {}))
            return started[-1]

        start.folder = folder  # type: ignore[attr-defined]
        try:
            yield start
        finally:
            for daemon in started:
                if daemon.process.poll() is None:
                    daemon.process.kill()
                daemon.wait()
