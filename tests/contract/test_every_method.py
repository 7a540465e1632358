"""Section 7 of testing.md, executed: one call of every method, by curl, against a real daemon."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from sidecar.locations import admin_socket_path
from sidecar.rpc.methods import METHODS
from tests.running import RunningDaemon, running_daemon
from tests.sources import ROOT
from tests.wire import short_directory

ROW = re.compile(r"^\| `([\w.]+)` \| `(.*?)` \| `(.*?)` \|$", re.MULTILINE)
SECTION = re.compile(r"^## 7 .*?(?=^## 8 )", re.MULTILINE | re.DOTALL)


class Case(NamedTuple):
    """One row: what is sent, and what the answer must contain."""

    method: str
    params: str
    answer: str


def cases() -> list[Case]:
    """The rows of the table, in order."""
    section = SECTION.search((ROOT / "testing.md").read_text(encoding="utf-8"))
    assert section is not None
    return [Case(*row) for row in ROW.findall(section[0])]


def curl(daemon: RunningDaemon, method: str, params: str) -> dict[str, Any]:
    """The reply to one call that is typed by hand."""
    admin = METHODS[method].admin
    socket = admin_socket_path(daemon.socket) if admin else daemon.socket
    body = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'
    done = subprocess.run(
        [
            *("curl", "--silent", "--show-error", "--unix-socket", socket),
            *("http://localhost/rpc", "--header", "content-type: application/json"),
            *("--data", body),
        ],
        capture_output=True,
        check=True,
        timeout=60,
    )
    reply: dict[str, Any] = json.loads(done.stdout)
    return reply


@pytest.fixture(scope="module")
def answers() -> Iterator[list[tuple[Case, dict[str, Any]]]]:
    """Every row's reply. PLAN, RUN and TOKEN stand for what came back last."""
    found: list[tuple[Case, dict[str, Any]]] = []
    known: dict[str, str] = {}
    with short_directory() as folder, running_daemon(folder, "--allow-injected-clock") as daemon:
        for case in cases():
            filled = Case(case.method, *(replaced(text, known) for text in case[1:]))
            reply = curl(daemon, filled.method, filled.params)
            found.append((filled, reply))
            result = reply.get("result")
            if case.method == "forgetSweep" and isinstance(result, dict):
                known |= {"PLAN": str(result["planId"]), "RUN": str(result["runId"])}
            if case.method == "gc.plan" and isinstance(result, dict):
                known |= {"TOKEN": str(result["token"])}
        yield found
        assert daemon.process.wait(30) == 0, "system.stop is the last row"


def replaced(text: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(f'"{name}"', f'"{value}"')
    return text


@pytest.mark.gate("API-01")
def test_every_method_has_an_executed_case() -> None:
    assert {case.method for case in cases()} == set(METHODS)


@pytest.mark.gate("API-01")
@pytest.mark.parametrize(
    "number", range(len(cases())), ids=[f"{n} {case.method}" for n, case in enumerate(cases(), 1)]
)
def test_a_call_by_hand_is_answered_as_it_is_written_down(
    answers: list[tuple[Case, dict[str, Any]]], number: int
) -> None:
    case, reply = answers[number]
    assert "error" not in reply, reply
    assert_contains(reply["result"], json.loads(case.answer), "$")


@pytest.mark.gate("API-02")
@pytest.mark.parametrize(
    "number", range(len(cases())), ids=[f"{n} {case.method}" for n, case in enumerate(cases(), 1)]
)
def test_an_answer_has_exactly_the_fields_of_its_declared_type(
    answers: list[tuple[Case, dict[str, Any]]], number: int
) -> None:
    case, reply = answers[number]
    declared = METHODS[case.method].result
    assert msgspec.to_builtins(msgspec.convert(reply["result"], declared)) == reply["result"]


def assert_contains(found: Any, expected: Any, path: str) -> None:
    """What is expected is there, at its place; objects may have more members, arrays not."""
    if isinstance(expected, dict):
        assert isinstance(found, dict), path
        for name, value in expected.items():
            assert name in found, f"{path}.{name}"
            assert_contains(found[name], value, f"{path}.{name}")
    elif isinstance(expected, list):
        assert isinstance(found, list), path
        assert len(found) == len(expected), f"{path}: {found}"
        for index, value in enumerate(expected):
            assert_contains(found[index], value, f"{path}[{index}]")
    else:
        assert found == expected, path
