"""`forgetd events` without --follow: what it asks, and one line an event."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar.limits import LIST_LIMIT_MAX
from tests.unit.cli_run import Run, fake_daemon, runner
from tests.unit.fake_daemon import FakeDaemon

EVIL = "ghost\x1b[2J\u202e"


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as running:
        yield running


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def event(seq: int, **fields: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "seq": seq,
        "at": 1_780_000_000_000,
        "runId": None,
        "kind": "memory.updated",
        "memoryId": "a",
        "payload": {"pinned": True, "changeCounter": 2, "contentHash": "00ff"},
    }
    return given | fields


def page(*events: dict[str, Any]) -> dict[str, Any]:
    return {"events": list(events), "latest": 9_999, "oldest": 1}


@pytest.mark.gate("EVT-22")
def test_an_event_is_one_line_with_what_a_reader_wants(daemon: FakeDaemon, run: Run) -> None:
    daemon.answers["events.list"] = page(
        event(1, kind="namespace.created", memoryId=None, payload={}),
        event(12, memoryId=EVIL, runId="run-1", payload={"tier": "cold", "heldUntil": None}),
        event(13),
    )
    outcome = run("events")
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    day = ["2026-05-28", "20:26:40Z"]
    assert lines == [
        ["1", *day, "namespace.created", "-", "-"],
        ["12", *day, "memory.updated", "ghost\\x1b[2J\\u202e", "run-1", 'tier="cold"',
         "heldUntil=null"],
        ["13", *day, "memory.updated", "a", "-", "pinned=true"],
    ]  # fmt: skip
    assert daemon.params_of("events.list") == {
        "namespace": "default",
        "since": 0,
        "limit": LIST_LIMIT_MAX,
    }


@pytest.mark.gate("EVT-22")
def test_as_json_every_line_is_an_object(daemon: FakeDaemon, run: Run) -> None:
    told = event(5, memoryId=EVIL, payload={"statusReason": "커피\x7f"})
    daemon.answers["events.list"] = page(told)
    outcome = run("events", "--json", "--since", "4", "--kind", "memory.updated", "--kind", "x")
    assert outcome.out.count("\n") == 1
    assert json.loads(outcome.out) == told
    assert "커피" in outcome.out
    assert not {"\x1b", "\x7f", "\u202e"} & set(outcome.out)
    asked = daemon.params_of("events.list")
    assert (asked["since"], asked["kinds"]) == (4, ["memory.updated", "x"])


@pytest.mark.gate("EVT-22")
def test_all_pages_are_shown(daemon: FakeDaemon, run: Run) -> None:
    def answer(params: dict[str, Any]) -> dict[str, Any]:
        since = params["since"]
        return page(*(event(n) for n in range(since + 1, min(since + LIST_LIMIT_MAX, 2_500) + 1)))

    daemon.answers["events.list"] = answer
    outcome = run("events", "--json")
    assert [json.loads(line)["seq"] for line in outcome.out.splitlines()] == list(range(1, 2_501))
    assert [params["since"] for _, params in daemon.calls] == [0, 1_000, 2_000]


@pytest.mark.gate("EVT-22")
def test_nothing_to_show_is_said_to_a_person_only(daemon: FakeDaemon, run: Run) -> None:
    daemon.answers["events.list"] = page()
    assert run("events").err == "no events\n"
    quiet = run("events", "--json")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert run("events", "--since", "-1").code == 64
