"""A real daemon on a filled state directory, and a client that keeps its connection."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sidecar.client import Client, Unreachable

FORGETD: Final = (sys.executable, "-m", "sidecar.cli.main")
READY_SECONDS_MAX: Final = 120.0
POLL_SECONDS: Final = 0.005
STOP_SECONDS_MAX: Final = 120.0


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that is ready."""

    socket: Path
    pid: int


@contextmanager
def daemon(state_dir: Path) -> Iterator[Daemon]:
    """A daemon in a process of its own, on the state that is there; stopped at the end.

    Its socket and its log lie beside the state directory.
    """
    path = state_dir.parent / "s"
    with (state_dir.parent / "log").open("ab") as log:
        process = subprocess.Popen(
            [*FORGETD, "serve", "--socket", path, "--state-dir", state_dir],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(),
        )
    try:
        _await_readiness(path, process, state_dir.parent / "log")
        yield Daemon(path, process.pid)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS_MAX)


def _await_readiness(path: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    give_up_at = time.monotonic() + READY_SECONDS_MAX
    while time.monotonic() < give_up_at:
        if process.poll() is not None:
            break
        try:
            if Client(path).is_ready():
                return
        except Unreachable:
            pass
        time.sleep(POLL_SECONDS)
    raise RuntimeError(f"the daemon is not ready: {log.read_text(encoding='utf-8')}")


def environment(**variables: str) -> dict[str, str]:
    """The environment without settings of whoever runs the benchmarks."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FORGETD_")}
    return kept | variables


class Caller:
    """JSON-RPC over one kept connection, with as little of its own as possible."""

    def __init__(self, path: Path) -> None:
        self._connection = http.client.HTTPConnection("localhost")
        self._connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection.sock.connect(str(path))

    def call(self, method: str, **params: Any) -> Any:
        """The result of a method. Raises RuntimeError for an error reply."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._connection.request("POST", "/rpc", body, {"content-type": "application/json"})
        reply = json.loads(self._connection.getresponse().read())
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return reply["result"]

    def close(self) -> None:
        """End the connection."""
        self._connection.close()
