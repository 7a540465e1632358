"""`forgetd serve`: from the command line to the options of the server."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from sidecar.daemon import serve as server
from tests.sources import ROOT
from tests.unit.cli_run import Run, runner


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[server.ServeOptions]:
    """The options that the server was started with; it ends at once with code 75."""
    seen: list[server.ServeOptions] = []

    def serve(options: server.ServeOptions) -> int:
        seen.append(options)
        return 75

    ends: Callable[..., Any] = serve
    monkeypatch.setattr(server, "serve", ends)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # which the command sets, here for good
    return seen


@pytest.mark.gate("CLI-22")
def test_every_flag_reaches_the_server_and_its_exit_code_comes_back(
    forgetd: Run, served: list[server.ServeOptions]
) -> None:
    done = forgetd(
        *("--socket", "s", "serve", "--state-dir", "d", "--config", "c", "--log-level", "debug"),
        *("--allow-injected-clock", "--idle-exit", "1.5"),
    )
    assert done.code == 75
    assert served == [
        server.ServeOptions(
            socket="s",
            state_dir="d",
            config="c",
            log_level="debug",
            allow_injected_clock=True,
            idle_exit_seconds=1.5,
        )
    ]


@pytest.mark.gate("CLI-22")
def test_what_is_not_given_is_left_to_environment_and_file(
    forgetd: Run, served: list[server.ServeOptions], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGETD_SOCKET", "from the environment")
    forgetd("serve")
    assert served == [server.ServeOptions()]


@pytest.mark.gate("DAEM-19")
@pytest.mark.parametrize("seconds", ["2678401", "-1", "inf", "nan"])
def test_an_idle_exit_out_of_bounds_starts_nothing(
    forgetd: Run, served: list[server.ServeOptions], seconds: str
) -> None:
    assert forgetd("serve", "--idle-exit", seconds).code == 64
    assert served == []


@pytest.mark.gate("CLI-22")
@pytest.mark.parametrize(
    "arguments", [("--idle-exit", "0"), ("--log-level", "loud"), ("now",), ("--port", "80")]
)
def test_a_wrong_flag_starts_nothing(
    forgetd: Run, served: list[server.ServeOptions], arguments: tuple[str, ...]
) -> None:
    assert forgetd("serve", *arguments).code == 64
    assert served == []


@pytest.mark.gate("DAEM-20")
@pytest.mark.parametrize(("wanted", "found"), [(None, "1"), ("4", "4")])
def test_matrix_products_take_one_core_unless_the_environment_says_otherwise(
    wanted: str | None, found: str
) -> None:
    program = """
import os, sys, types
from sidecar.cli import main
def serve(options):
    print(os.environ["OPENBLAS_NUM_THREADS"], "numpy" in sys.modules)
    return 0
fake = types.ModuleType("sidecar.daemon.serve")
fake.ServeOptions, fake.serve = dict, serve
sys.modules[fake.__name__] = fake
main.main(["serve"])
"""
    environ = {name: value for name, value in os.environ.items() if "OPENBLAS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environ | ({} if wanted is None else {"OPENBLAS_NUM_THREADS": wanted}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [found, "False"], done.stderr
