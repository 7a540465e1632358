"""A real daemon for the tests: its own process, socket and state directory."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import Client, Unreachable

START_SECONDS_MAX = 30.0
COMMAND_SECONDS_MAX = 60.0
FORGETD = (sys.executable, "-m", "sidecar.cli.main")


@dataclass
class Daemon:
    """A daemon that runs. `folder` holds its socket `s`, its state directory and its log."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def socket(self) -> Path:
        """Its main socket."""
        return self.folder / "s"

    @property
    def state_dir(self) -> Path:
        """Its state directory."""
        return self.folder / "state"

    @property
    def client(self) -> Client:
        """A client of it."""
        return Client(self.socket, timeout_seconds=COMMAND_SECONDS_MAX)

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

    def log(self) -> str:
        """What it wrote to standard error so far."""
        return (self.folder / "log").read_text(encoding="utf-8")

    def stop(self) -> int:
        """End it as an operator does; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(COMMAND_SECONDS_MAX)


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Poll a condition that another process brings about; fail at the deadline."""
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at, f"after {seconds:g} seconds still not: {what}"
        time.sleep(0.02)


@contextmanager
def running_daemon(folder: Path, *options: str, **variables: str) -> Iterator[Daemon]:
    """A daemon in `folder`, which may hold the state of one before it. Stopped at the end."""
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [
                *FORGETD,
                "serve",
                "--socket",
                folder / "s",
                "--state-dir",
                folder / "state",
                *options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **variables},
        )
    daemon = Daemon(folder, process)
    try:
        await_readiness(daemon)
        yield daemon
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(COMMAND_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise


def await_readiness(daemon: Daemon) -> None:
    """Return when the daemon serves calls; fail with its log when it ends before."""

    def ready() -> bool:
        assert daemon.process.poll() is None, f"the daemon ended: {daemon.log()}"
        try:
            return daemon.client.is_ready()
        except Unreachable:
            return False

    wait_until(ready, "the daemon is ready", START_SECONDS_MAX)


@contextmanager
def short_folder() -> Iterator[Path]:
    """A private folder whose path leaves room for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="fd-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """One daemon for all tests of a module: each test uses a namespace of its own."""
    with short_folder() as folder, running_daemon(folder) as started:
        yield started


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    """A namespace name that no other test of the module uses."""
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    return name[:64]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private folder for a daemon that a test starts itself."""
    with short_folder() as made:
        yield made


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Daemon]]:
    """A function that starts a daemon with options, in `folder`; all are stopped at the end."""
    with ExitStack() as stack:
        yield lambda *options, **variables: stack.enter_context(
            running_daemon(folder, *options, **variables)
        )
