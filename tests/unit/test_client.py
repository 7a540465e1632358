"""The client that the command and Python hosts use."""

import errno
import json
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import Client, RpcFailure, Unreachable
from sidecar.locations import socket_path, state_directory
from tests.unit.fake_daemon import FakeDaemon, Refusal, running


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="fd-") as name:
        yield Path(name)


@pytest.fixture
def daemon(folder: Path) -> Iterator[FakeDaemon]:
    with running(folder / "s") as fake:
        yield fake


def unreachable(path: Path, **options: Any) -> Unreachable:
    with pytest.raises(Unreachable) as caught:
        Client(path, **options).call("system.status")
    assert caught.value.remedy
    return caught.value


@pytest.mark.gate("CLI-01")
def test_a_result_comes_back_as_it_was_sent(daemon: FakeDaemon) -> None:
    content = "커피 ☕ “quoted” \u2028 2^53-1"
    daemon.answers["memory.put"] = lambda params: {"content": params["content"], "n": 2**53 - 1}
    answer = Client(daemon.socket).call("memory.put", {"content": content})
    assert answer == {"content": content, "n": 2**53 - 1}
    assert daemon.calls == [("memory.put", {"content": content})]


@pytest.mark.gate("CLI-01")
def test_parameters_may_be_absent_by_name_or_by_position(daemon: FakeDaemon) -> None:
    daemon.answers = {"system.status": {}, "forgetSweep": None}
    client = Client(daemon.socket)
    assert client.call("system.status") == {}
    assert client.call("forgetSweep", [True]) is None
    assert daemon.calls == [("system.status", None), ("forgetSweep", [True])]


@pytest.mark.gate("CLI-02")
def test_an_error_keeps_code_symbol_message_and_data(daemon: FakeDaemon) -> None:
    def refuse(_: Any) -> None:
        raise Refusal(-32602, "invalid_params", "no", field="$.topK", retryable=False)

    daemon.answers["memory.recall"] = refuse
    with pytest.raises(RpcFailure) as caught:
        Client(daemon.socket).call("memory.recall", {"topK": 0})
    failure = caught.value
    assert (failure.code, failure.symbol, failure.message) == (-32602, "invalid_params", "no")
    assert failure.data["field"] == "$.topK"
    assert not failure.retryable


@pytest.mark.gate("CLI-02")
@pytest.mark.parametrize("error", [None, "text", [], {}, {"code": "x", "data": [1]}])
def test_an_error_of_unknown_form_is_an_internal_one(daemon: FakeDaemon, error: Any) -> None:
    daemon.raw_reply = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
    with pytest.raises(RpcFailure) as caught:
        Client(daemon.socket).call("system.status")
    assert (caught.value.code, caught.value.symbol) == (-32603, "internal_error")


@pytest.mark.gate("CLI-02")
@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), "\ud800", pytest.param(object(), id="object"), {1, 2}],
    ids=repr,
)
def test_what_is_not_json_is_refused_before_anything_is_sent(
    daemon: FakeDaemon, value: object
) -> None:
    with pytest.raises(RpcFailure) as caught:
        Client(daemon.socket).call("memory.put", {"content": value})
    assert caught.value.symbol == "invalid_params"
    assert caught.value.data["remedy"]
    assert daemon.calls == []


@pytest.mark.gate("CLI-03")
def test_no_socket_says_how_to_start_the_daemon(folder: Path) -> None:
    error = unreachable(folder / "absent")
    assert error.reason == "no_socket"
    assert "forgetd serve" in error.remedy


@pytest.mark.gate("CLI-03")
def test_a_stale_socket_is_told_from_an_absent_one(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(folder / "s"))
    assert unreachable(folder / "s").reason == "refused"


@pytest.mark.gate("CLI-03")
def test_a_path_that_is_too_long_is_named_with_its_bound(folder: Path) -> None:
    error = unreachable(folder / ("x" * 120))
    assert error.reason == "path_too_long"
    assert "107" in error.message


@pytest.mark.gate("CLI-03")
def test_an_ordinary_file_in_its_place_is_reported(folder: Path) -> None:
    (folder / "s").write_text("")
    assert unreachable(folder / "s").reason in ("refused", "no_socket")


@pytest.mark.gate("CLI-03")
@pytest.mark.parametrize("reply", [b"", b"hello", b"[]", b"{}", b"\xff", b'{"jsonrpc":"2.0"}'])
def test_another_server_on_the_socket_is_recognised(daemon: FakeDaemon, reply: bytes) -> None:
    daemon.raw_reply = reply
    assert unreachable(daemon.socket).reason == "not_forgetd"


@pytest.mark.gate("CLI-03")
@pytest.mark.parametrize("headers", [{}, {"forgetd-protocol": "2"}, {"forgetd-protocol": "x"}])
def test_another_protocol_is_refused(daemon: FakeDaemon, headers: dict[str, str]) -> None:
    daemon.headers = headers
    assert unreachable(daemon.socket).reason == "not_forgetd"


@pytest.mark.gate("CLI-03")
def test_a_connection_that_breaks_says_that_the_call_may_have_happened(
    daemon: FakeDaemon,
) -> None:
    daemon.drops_connections = True
    error = unreachable(daemon.socket)
    assert error.reason == "broken"
    assert "may have been carried out" in error.remedy
    assert daemon.calls == [("dropped", None)]  # and it is not tried a second time


@pytest.mark.gate("CLI-03")
def test_a_daemon_that_hangs_ends_in_a_timeout(daemon: FakeDaemon) -> None:
    daemon.hangs_until = threading.Event()
    try:
        assert unreachable(daemon.socket, timeout_seconds=0.05).reason == "timeout"
    finally:
        daemon.hangs_until.set()


@pytest.mark.gate("CLI-03")
def test_waiting_for_ready_ends_when_it_is_or_at_the_deadline(
    daemon: FakeDaemon, folder: Path
) -> None:
    Client(daemon.socket).wait_until_ready(5)
    daemon.ready = False
    for path in (daemon.socket, folder / "absent"):
        with pytest.raises(Unreachable):
            Client(path).wait_until_ready(0.05)


@pytest.mark.gate("CLI-04")
def test_the_client_loads_the_standard_library_only() -> None:
    program = (
        "import sys; before = set(sys.modules); import sidecar.client; "
        "loaded = {m.partition('.')[0] for m in set(sys.modules) - before}; "
        "print(sorted(loaded - set(sys.stdlib_module_names) - {'sidecar'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.gate("CLI-05")
def test_the_socket_is_found_in_the_documented_order(folder: Path) -> None:
    runtime = {"XDG_RUNTIME_DIR": str(folder)}
    named = {"FORGETD_SOCKET": str(folder / "b"), **runtime}
    assert socket_path(folder / "a", environ=named) == folder / "a"
    assert socket_path(environ=named) == folder / "b"
    assert socket_path(environ=runtime) == folder / "forgetd" / "forgetd.sock"
    assert socket_path(state_dir=folder, environ={}) == folder / "run" / "forgetd.sock"
    assert socket_path("relative", environ={}) == Path.cwd() / "relative"


@pytest.mark.gate("CLI-05")
def test_the_state_directory_is_found_in_the_documented_order(folder: Path) -> None:
    home = {"XDG_STATE_HOME": str(folder)}
    named = {"FORGETD_STATE_DIR": str(folder / "b"), **home}
    assert state_directory(folder / "a", environ=named) == folder / "a"
    assert state_directory(environ=named) == folder / "b"
    assert state_directory(environ=home) == folder / "forgetd"
    usual = Path.home() / ".local" / "state" / "forgetd"
    # The specification of these variables says that a relative path counts as unset.
    assert state_directory(environ={"XDG_STATE_HOME": "relative"}) == usual


@pytest.mark.gate("CLI-03")
def test_a_socket_of_somebody_else_is_a_permission(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Raised by hand, because nothing is forbidden to root.
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert unreachable(folder / "s").reason == "permission"
