"""`forgetd estimate` looks first, and changes only what it is told to."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.cli_run import Run, fake_daemon, runner
from tests.unit.fake_daemon import FakeDaemon

REPORT: dict[str, Any] = {
    "namespace": "default", "dryRun": True, "estimatorVersion": "words-1", "refreshed": 3,
    "raised": 0, "lowered": 2, "damaged": 1, "durationMs": 1.0,
}  # fmt: skip


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        fake.answers["estimate.refresh"] = REPORT
        yield fake


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.mark.gate("CLI-76")
def test_it_only_counts_unless_it_is_told_to_apply(daemon: FakeDaemon, forgetd: Run) -> None:
    done = forgetd("estimate")
    assert done.code == 0
    assert "3 memories would be estimated anew by words-1: 0 higher, 2 lower" in done.out
    assert "1 are damaged" in done.out
    assert "forgetd estimate --apply" in done.out
    daemon.answers["estimate.refresh"] = {**REPORT, "dryRun": False, "damaged": 0}
    done = forgetd("estimate", "--apply")
    assert done.out == "3 memories estimated anew by words-1: 0 higher, 2 lower\n"
    assert [params["dryRun"] for _, params in daemon.calls] == [True, False]


@pytest.mark.gate("CLI-76")
def test_json_is_the_report(daemon: FakeDaemon, forgetd: Run) -> None:
    assert json.loads(forgetd("estimate", "--json").out) == REPORT
