"""Whatever goes wrong: two lines, the right exit code, nothing on standard output."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar import errors
from sidecar.cli.failures import exit_code_of
from sidecar.cli.main import COMMANDS
from tests.unit import cli_samples as samples
from tests.unit.cli_run import Outcome, Run, fake_daemon, runner
from tests.unit.fake_daemon import FakeDaemon, Refusal

# These read files themselves.
WITHOUT_DAEMON = {"serve", "doctor", "check", "rebuild", "backup", "config"}


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        yield fake


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def two_lines(done: Outcome) -> tuple[str, str]:
    """What and next of a failure, which must be all that was printed."""
    assert done.out == ""
    what, following = done.err.splitlines()
    assert what.startswith("forgetd: ")
    assert following.startswith("  next: ")
    return what, following


@pytest.mark.gate("CLI-30")
@pytest.mark.parametrize("kind", errors.walk(), ids=lambda kind: kind.symbol)
def test_every_error_of_the_wire_has_its_exit_code_and_a_next_step(
    daemon: FakeDaemon, forgetd: Run, kind: type[errors.ForgetdError]
) -> None:
    def refuse(_: Any) -> None:
        raise Refusal(kind.code, kind.symbol, kind.default_message, retryable=kind.retryable)

    daemon.answers["memory.get"] = refuse
    done = forgetd("get", "x")
    assert done.code == kind.exit_code
    what, following = two_lines(done)
    assert kind.default_message in what
    assert following != "  next: see `forgetd status`" or kind.symbol in (
        "invalid_request",
        "invalid_params",
        "memory_exists",
        "revision_conflict",
        "supersession_conflict",
        "idempotency_conflict",
        "policy_unknown",
        "forgetting_disabled",
    )  # the daemon always sends a remedy of its own with these


@pytest.mark.gate("CLI-30")
def test_field_bound_and_remedy_of_the_daemon_are_told(daemon: FakeDaemon, forgetd: Run) -> None:
    def refuse(_: Any) -> None:
        raise Refusal(
            -32602,
            "invalid_params",
            "is wrong",
            field="$.policy",
            bound="1 to 256 characters",
            remedy="use balanced\x1b[2J",
        )

    daemon.answers["memory.explain"] = refuse
    what, following = two_lines(forgetd("explain", "x"))
    assert what == "forgetd: $.policy: is wrong (allowed: 1 to 256 characters)"
    assert following == "  next: use balanced\\x1b[2J"


@pytest.mark.gate("CLI-30")
def test_an_internal_error_names_its_correlation_id(daemon: FakeDaemon, forgetd: Run) -> None:
    def refuse(_: Any) -> None:
        raise Refusal(-32603, "internal_error", "Internal error", correlationId="C-17")

    daemon.answers["memory.get"] = refuse
    done = forgetd("get", "x")
    assert done.code == 70
    assert "C-17" in two_lines(done)[0]


@pytest.mark.gate("CLI-30")
def test_a_symbol_of_a_later_release_is_a_fault() -> None:
    assert exit_code_of("from_the_future") == 70


@pytest.mark.gate("CLI-31")
@pytest.mark.parametrize("name", sorted(set(COMMANDS) - WITHOUT_DAEMON))
def test_every_command_says_that_no_daemon_answers(
    forgetd: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, name: str
) -> None:
    monkeypatch.setenv("FORGETD_SOCKET", str(tmp_path / "s"))
    arguments = {
        "get": ["x"],
        "recall": ["x"],
        "explain": ["x"],
        "restore": ["x"],
        "import": ["--from", "jsonl", os.devnull],
        "call": ["system.status"],
    }
    done = forgetd(name, *arguments.get(name, []))
    assert done.code == 69
    assert "forgetd serve" in two_lines(done)[1]


@pytest.mark.gate("CLI-31")
@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("stauts",), 64, "did you mean status?"),
        (("get",), 64, "ID"),
        (("list", "--tier", "warm"), 64, "'hot', 'cold', 'forgotten'"),
        (("list", "--limit", "0"), 64, "1<=x<=1000"),
        (("list", "--colour"), 64, "--colour"),
        (("runs", "undoo", "x"), 64, "undoo"),
        (("import", "x"), 64, "--from"),
    ],
)
def test_a_wrong_command_line_names_what_is_allowed(
    forgetd: Run, arguments: tuple[str, ...], code: int, part: str
) -> None:
    done = forgetd(*arguments)
    assert done.code == code
    assert part in two_lines(done)[0]


@pytest.mark.gate("CLI-31")
def test_no_command_shows_the_help_on_standard_error(forgetd: Run) -> None:
    done = forgetd()
    assert (done.code, done.out) == (64, "")
    assert "Commands:" in done.err


@pytest.mark.gate("CLI-31")
def test_help_lists_every_command_and_exit_code(forgetd: Run) -> None:
    done = forgetd("--help")
    assert (done.code, done.err) == (0, "")
    for name in COMMANDS:
        assert f"\n  {name} " in done.out
    for code in (0, 1, 64, 65, 69, 70, 71, 73, 75, 77, 78, 130, 141):
        assert f"\n    {code} " in done.out


@pytest.mark.gate("CLI-31")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(forgetd: Run, name: str) -> None:
    done = forgetd(name, "--help")
    assert (done.code, done.err) == (0, "")
    for option in ("--socket", "--state-dir", "--namespace", "--json"):
        assert option in done.out


@pytest.mark.gate("CLI-31")
def test_a_fault_of_the_command_itself_is_told_without_a_traceback(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    daemon.answers["thresholds.get"] = {"thresholds": "of unexpected form"}
    done = forgetd("thresholds")
    assert done.code == 70
    assert "fault of the command" in two_lines(done)[0]


@pytest.mark.gate("CLI-32")
def test_a_reader_that_closes_early_is_no_error(daemon: FakeDaemon) -> None:
    page = {"memories": [samples.wire(samples.memory(content="x" * 500))] * 900, "cursor": None}
    daemon.answers["memory.list"] = page
    with subprocess.Popen(
        [sys.executable, "-m", "sidecar.cli.main", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(30) == 141
        assert process.stderr.read() == b""
