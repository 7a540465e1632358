"""`forgetd simulate`: what it asks of the daemon, and what it prints."""

import json
from collections.abc import Iterator

import pytest

from sidecar.reports import Pause
from sidecar.simulation_reports import (
    FirstCrossing,
    SimulatedCounts,
    SimulatedDay,
    SimulatedMoves,
    SimulationReport,
)
from sidecar.thresholds import DEFAULTS, Value
from tests.unit import cli_samples as samples
from tests.unit.cli_run import Run, fake_daemon, runner
from tests.unit.fake_daemon import FakeDaemon

DAY = 86_400_000


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        yield fake


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def report(days: int = 2, **thresholds: Value) -> SimulationReport:
    """A simulation in which the second day is over a threshold."""
    moved = SimulatedMoves(arrived=1_200, spilled=34, forgotten=5, faded=6, pruned=7)
    after = SimulatedCounts(hot=900, cold=300, forgotten=12, total=1_200, live_bytes=2_500_000)
    return SimulationReport(
        namespace="me",
        now=samples.NOW,
        days=days,
        arrivals_per_day=1_200,
        arrivals_measured=True,
        arrival_kinds=3,
        policy="balanced",
        policy_version="1",
        thresholds=DEFAULTS | thresholds,
        cycle_enabled=True,
        paused=[Pause(reason="undo", until=None)],
        before=after,
        first_crossed=[
            FirstCrossing(threshold="count", day=0, at=samples.NOW),
            FirstCrossing(threshold="total", day=2, at=samples.NOW + 2 * DAY),
        ],
        totals=moved,
        per_day=[
            SimulatedDay(
                day=day,
                at=samples.NOW + day * DAY,
                moved=moved,
                after=after,
                crossed=["total"] if day == 2 else [],
                braked=day == 2,
                pressure=False,
            )
            for day in range(1, days + 1)
        ],
        duration_ms=1.0,
    )


@pytest.mark.gate("SIM-12")
def test_it_asks_for_what_is_named_and_shows_each_day(daemon: FakeDaemon, forgetd: Run) -> None:
    daemon.answers["simulate"] = samples.wire(report())
    done = forgetd(
        "simulate", "me", "--days", "2", "--arrivals", "1200", "--set", "forgetThresholdTotal=5"
    )
    assert done.code == 0
    assert daemon.params_of("simulate") == {
        "namespace": "me",
        "days": 2,
        "arrivalsPerDay": 1_200,
        "thresholds": {"forgetThresholdTotal": 5},
    }
    first, second = (line for line in done.out.splitlines() if line.lstrip()[:2] in ("1 ", "2 "))
    assert first.split()[3:] == [
        "1,200",
        "34",
        "5",
        "6",
        "7",
        "900",
        "300",
        "1,200",
        "2.5",
        "MB",
        "-",
    ]
    assert second.endswith("over total, braked")
    assert "count      crossed now" in done.out
    assert "total      crossed on day 2" in done.out
    assert "in all     1,200 arrived, 34 spilled, 5 forgotten, 6 faded, 7 pruned" in done.out
    assert "1,200 memories a day, as of late" in done.out
    assert "paused (undo)" in done.out


@pytest.mark.gate("SIM-12")
def test_of_many_days_it_shows_some_and_says_so(daemon: FakeDaemon, forgetd: Run) -> None:
    daemon.answers["simulate"] = samples.wire(report(365, forgetEnabled=False))
    done = forgetd("simulate")
    assert daemon.params_of("simulate") == {"namespace": "default"}
    rows = [line for line in done.out.splitlines() if "2.5 MB" in line]
    assert len(rows) == 37
    assert rows[-1].split()[0] == "365"
    assert "every 10th day; all of them with --json" in done.out
    assert "forgetting is switched off: nothing moves" in done.out


@pytest.mark.gate("SIM-12")
def test_json_is_the_answer_and_two_names_are_refused(daemon: FakeDaemon, forgetd: Run) -> None:
    answer = samples.wire(report())
    daemon.answers["simulate"] = answer
    assert json.loads(forgetd("simulate", "--json").out) == answer
    refused = forgetd("--namespace", "other", "simulate", "me")
    assert refused.code == 64
    assert "two namespaces" in refused.err
    assert forgetd("simulate", "--days", "0").code == 64
    assert forgetd("simulate", "--set", "nonsense").code == 64
