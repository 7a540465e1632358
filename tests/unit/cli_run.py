"""Running the command in this process against a fake daemon."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sidecar.cli.main import main
from tests.unit.fake_daemon import FakeDaemon, running


@dataclass(frozen=True)
class Outcome:
    """What one command line did."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@contextmanager
def fake_daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    """A fake daemon whose socket FORGETD_SOCKET names."""
    # Not under tmp_path: a socket's path must be short.
    with (
        tempfile.TemporaryDirectory(prefix="fd-") as folder,
        running(Path(folder) / "s") as daemon,
    ):
        monkeypatch.setenv("FORGETD_SOCKET", str(daemon.socket))
        yield daemon


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs `forgetd` with its arguments."""

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
