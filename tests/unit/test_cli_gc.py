"""`forgetd gc` on a terminal: it asks before anything is destroyed."""

from collections.abc import Iterator
from typing import Any

import click
import pytest

from sidecar.cli import gc as command
from tests.unit.cli_run import Run, fake_daemon, runner
from tests.unit.fake_daemon import FakeDaemon

PLAN: dict[str, Any] = {
    "namespace": "default", "token": "gc-t", "expiresAt": 2, "wholeNamespace": False,
    "reason": "aged", "olderThanDays": 14, "memories": 2,
    "tiers": {"hot": 0, "cold": 0, "forgotten": 2}, "bytes": 900, "oldest": 1, "newest": 2,
    "media": 1,
    "sample": [
        {"id": "a\x1b[2J", "tier": "forgotten", "forgottenAt": 1, "createdAt": 1, "bytes": 9}
    ],
    "refused": [{"id": "h", "why": "held"}], "refusedCount": 1,
}  # fmt: skip
REPORT: dict[str, Any] = {
    "namespace": "default", "runId": "run-1", "wholeNamespace": False, "destroyed": 2,
    "left": [], "leftCount": 0, "mediaRemoved": 1, "backupsRemoved": ["schema-1.db"],
    "bytesReclaimed": 5, "notes": ["a note"], "durationMs": 1.0,
    "verification": {
        "clean": True, "left": [], "shared": ["other"], "texts": 1, "textsOf": 1, "files": 4,
        "bytes": 10, "notReached": ["backups/monday"],
    },
}  # fmt: skip


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        fake.answers["gc.plan"] = PLAN
        fake.answers["gc.execute"] = REPORT
        yield fake


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Somebody who answers what is in the list."""
    answers: list[str] = []

    class Somebody:
        @staticmethod
        def isatty() -> bool:
            return True

    class Streams:
        stdin = stderr = Somebody()

    monkeypatch.setattr(command, "sys", Streams)
    monkeypatch.setattr(click, "prompt", lambda *_, **__: answers.pop())
    return answers


@pytest.mark.gate("GC-19")
def test_the_right_word_destroys(daemon: FakeDaemon, forgetd: Run, terminal: list[str]) -> None:
    terminal.append("default")
    done = forgetd("gc", "--older-than-days", "14")
    assert done.code == 0
    assert daemon.params_of("gc.execute") == {"namespace": "default", "token": "gc-t"}
    assert daemon.params_of("gc.plan") == {"namespace": "default", "olderThanDays": 14.0}
    for text in ("2 memories", "refused: 1", "schema-1.db", "backups/monday", "kept", "a\\x1b"):
        assert text in done.out, text


@pytest.mark.gate("GC-19")
@pytest.mark.parametrize("answer", ["", "y", "yes", "other"])
def test_any_other_word_destroys_nothing(
    daemon: FakeDaemon, forgetd: Run, terminal: list[str], answer: str
) -> None:
    terminal.append(answer)
    done = forgetd("gc")
    assert done.code == 1
    assert "nothing was destroyed" in done.err
    assert [method for method, _ in daemon.calls] == ["gc.plan"]


@pytest.mark.gate("GC-19")
def test_without_a_terminal_nobody_is_asked(daemon: FakeDaemon, forgetd: Run) -> None:
    done = forgetd("gc", "--id", "a", "--id", "b", "--replaced-by", "c", "--run", "r")
    assert done.code == 1
    assert "gc --token gc-t" in done.err
    assert [method for method, _ in daemon.calls] == ["gc.plan"]
    assert daemon.params_of("gc.plan") == {
        "namespace": "default", "ids": ["a", "b"], "runId": "r", "replacedBy": "c",
    }  # fmt: skip


@pytest.mark.gate("GC-19")
@pytest.mark.parametrize("more", [("--all",), ("--id", "a"), ("--dry-run",)])
def test_a_token_stands_alone(daemon: FakeDaemon, forgetd: Run, more: tuple[str, ...]) -> None:
    assert forgetd("gc", "--token", "gc-t", *more).code == 64
    assert daemon.calls == []


@pytest.mark.gate("GC-19")
def test_something_left_is_exit_code_one(daemon: FakeDaemon, forgetd: Run) -> None:
    left = {"where": "cold/stray", "what": "holds a part of its words"}
    dirty = {**REPORT["verification"], "clean": False, "left": [left]}
    for changed in (
        {"verification": dirty},
        {"leftCount": 1, "left": [{"id": "a", "why": "changed"}]},
        {"destroyed": 0},
    ):
        daemon.answers["gc.execute"] = REPORT | changed
        assert forgetd("gc", "--token", "gc-t").code == 1
