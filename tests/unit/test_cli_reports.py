"""What status and sweep print for a person."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar import reports
from sidecar.media_reports import MediaReport
from tests.unit import cli_samples as samples
from tests.unit.cli_run import Run, fake_daemon, runner
from tests.unit.fake_daemon import FakeDaemon


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        yield fake


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def words(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


@pytest.mark.gate("CLI-20")
def test_a_dry_run_shows_everything_that_decides_and_ends_with_the_line_that_applies_it(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    daemon.answers["forgetSweep"] = samples.wire(samples.sweep())
    done = forgetd("sweep", "--dry-run", "--namespace", "me")
    shown = words(done.out)
    assert done.code == 0
    assert "dry run in namespace default (policy balanced, mode normal, by call)" in shown
    assert "1 spill count 1,001 0 0" in shown
    assert "2 forget - 2 0 0" in shown
    assert "hot 10,001 9,000" in shown
    assert "forgotten 7 9" in shown
    assert "live bytes 10.0 MB 10.0 MB" in shown
    assert "20% a day: 1,995 allowed, 5 forgotten in the last 24 hours, and it stopped" in shown
    assert "shortfall 11 memories and 0 B over the watermark" in shown
    assert "protected 3 pinned, 12 newborn" in shown
    assert "unscored 4: kept" in shown
    assert "forget time_decay 0.0123 0.0100 cold - weak\\x1b[31m" in shown
    assert "and 1,002 more: forgetd runs decisions --plan P1" in shown
    assert done.out.endswith("apply exactly this: forgetd --namespace me sweep --plan P1\n")
    assert daemon.params_of("forgetSweep") == {
        "namespace": "me",
        "dryRun": True,
        "decisionsLimit": 10,
    }


@pytest.mark.gate("CLI-20")
def test_a_plan_is_applied_by_its_id_and_the_answer_says_how_to_take_it_back(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    skipped = [reports.Skipped(id="busy", why="changed")]
    stage = reports.StageReport(stage=2, crossed=["total"], selected=2, moved=1, skipped=1)
    report = samples.sweep(
        run_id="R1",
        dry_run=False,
        stages=[stage],
        skipped=skipped,
        skipped_count=1,
        bytes_reclaimed=1_200_000,
        space_note="VACUUM skipped",
    )
    daemon.answers["forgetSweep"] = samples.wire(report)
    done = forgetd("sweep", "--plan", "P1", "--mode", "strict", "--decisions", "0")
    shown = words(done.out)
    assert done.code == 0
    assert "run R1 in namespace" in shown
    assert "changed: busy" in shown
    assert "1.5 MB planned, 1.2 MB reclaimed (VACUUM skipped)" in shown
    assert done.out.endswith("take it back: forgetd runs undo R1\n")
    assert daemon.params_of("forgetSweep") == {
        "namespace": "default",
        "planId": "P1",
        "mode": "strict",
        "decisionsLimit": 0,
    }


@pytest.mark.gate("CLI-20")
def test_nothing_to_move_and_a_plan_for_another_time_offer_nothing_to_apply(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    daemon.answers["forgetSweep"] = samples.wire(
        samples.sweep(stages=[], decisions=[], decisions_truncated=False, plan_id=None)
    )
    done = forgetd("sweep", "--dry-run")
    assert done.out.endswith("nothing to move: no threshold crossed\n")
    daemon.answers["forgetSweep"] = samples.wire(samples.sweep())
    done = forgetd("sweep", "--dry-run", "--now", str(samples.NOW))
    assert "--plan P1\n" not in done.out.splitlines()[-1]
    assert "not applied" in done.out.splitlines()[-1]


@pytest.mark.gate("CLI-20")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--dry-run", "--plan", "P"),
        ("--now", "1"),
        ("--mode", "gentle"),
        ("--decisions", "-1"),
        ("--brake-share", "half"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    daemon: FakeDaemon, forgetd: Run, arguments: tuple[str, ...]
) -> None:
    assert forgetd("sweep", *arguments).code == 64
    assert daemon.calls == []


@pytest.mark.gate("CLI-20")
def test_json_of_a_sweep_is_the_report_as_it_came(daemon: FakeDaemon, forgetd: Run) -> None:
    report = samples.wire(samples.sweep())
    daemon.answers["forgetSweep"] = report
    assert json.loads(forgetd("--json", "sweep", "--dry-run").out) == report
    assert daemon.params_of("forgetSweep") == {"namespace": "default", "dryRun": True}


def status(daemon: FakeDaemon, *namespaces: reports.NamespaceStatus) -> None:
    daemon.answers["namespaces.list"] = samples.listing(*(each.namespace for each in namespaces))
    daemon.answers["system.status"] = samples.system_status(*namespaces)


@pytest.mark.gate("CLI-21")
def test_status_shows_counts_against_thresholds(daemon: FakeDaemon, forgetd: Run) -> None:
    status(daemon, samples.namespace_status(), samples.namespace_status("me"))
    done = forgetd("status")
    shown = words(done.out)
    assert done.code == 0
    assert "forgetd 0.1.0, protocol 1, pid 4242, up 1 d 2 h" in shown
    assert "hot 9,400 of 10,000 94%" in shown
    assert "total 12,000 of 100,000 12%" in shown
    assert "disk 12.0 MB of 2.00 GB 1%" in shown
    assert "2,600 cold, 300 forgotten" in shown
    assert "namespace me" in shown
    assert daemon.params_of("system.status") == {"namespace": "default", "all": True}


@pytest.mark.gate("CLI-21")
def test_status_names_every_alarm_and_pause_with_the_way_out(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    pauses = [
        reports.Pause(reason="undo", until=None),
        reports.Pause(reason="brake", until=samples.NOW),
    ]
    thresholds = samples.thresholds(paused=pauses, stage_two_not_before=samples.NOW)
    status(
        daemon,
        samples.namespace_status(
            thresholds=thresholds,
            read_only="the database is behind its commit counter",
            corrupt=1,
            unscored=2,
            unknown_segments=["a", "b"],
            alarms=["the \x1b[31mdisk is nearly full"],
            running="sweep R9",
            last_run=samples.run(),
        ),
    )
    shown = words(forgetd("status").out)
    for part in (
        "! read-only: the database is behind",
        "! automatic runs are paused (undo) until `forgetd thresholds resume`",
        "! automatic runs are paused (brake) until 2025-11-30 10:53:20Z",
        "! automatic forgetting waits until 2025-11-30",
        "! 1 memory damaged",
        "! 2 unknown segments",
        "! the \\x1b[31mdisk is nearly full",
        "2 memories unscored",
        "running: sweep R9",
        "last run: R1 (sweep, call) finished",
    ):
        assert part in shown


@pytest.mark.gate("CLI-21")
def test_status_of_one_namespace_exits_1_when_there_is_none(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    daemon.answers["system.status"] = lambda params: samples.system_status(
        *([samples.namespace_status("me")] if params["namespace"] == "me" else [])
    )
    assert forgetd("status", "--namespace", "me").code == 0
    absent = forgetd("status", "--namespace", "absent")
    assert absent.code == 1
    assert "absent" in absent.err


@pytest.mark.gate("CLI-21")
def test_status_does_not_open_a_crowd_of_namespaces_unless_asked(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    names = [f"n{at}" for at in range(40)]
    daemon.answers["namespaces.list"] = samples.listing(*names)
    daemon.answers["system.status"] = samples.system_status()
    done = forgetd("status")
    assert "n39" in done.out
    assert "--all" in done.err
    assert daemon.params_of("system.status") == {"namespace": "default"}
    daemon.calls.clear()
    forgetd("status", "--all")
    assert daemon.params_of("system.status") == {"namespace": "default", "all": True}


@pytest.mark.gate("CLI-21")
def test_thresholds_of_zero_and_times_beyond_the_calendar_are_shown(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    none: Any = samples.thresholds()
    none.thresholds["forgetThresholdCount"] = reports.ThresholdValue(value=0, origin="set")
    last = samples.run(finished_at=2**53 - 1)
    status(daemon, samples.namespace_status(thresholds=none, last_run=last))
    shown = words(forgetd("status").out)
    assert "hot 9,400 of 0" in shown
    assert f"{2**53 - 1} ms" in shown


@pytest.mark.gate("MEDIA-13")
def test_a_sweep_says_what_became_of_files(daemon: FakeDaemon, forgetd: Run) -> None:
    media = MediaReport(moved=1_200, skipped=2, missing=3, bytes=1_500_000)
    daemon.answers["forgetSweep"] = samples.wire(samples.sweep(run_id="R1", media=media))
    shown = words(forgetd("sweep").out)
    assert "media 1,200 to the trash (1.5 MB), 2 skipped, 3 missing" in shown
    daemon.answers["forgetSweep"] = samples.wire(samples.sweep(run_id="R1", media=MediaReport()))
    assert "media" not in words(forgetd("sweep").out)


@pytest.mark.gate("MEDIA-13")
def test_a_restore_names_each_file_that_did_not_come_back(daemon: FakeDaemon, forgetd: Run) -> None:
    report = samples.restore(*((one, "restored") for one in "abcde"))
    told = ("returned", "here", "blocked", "missing", "waiting")
    for result, media in zip(report.results, told, strict=True):
        result.media = media
    daemon.answers["memory.restore"] = samples.wire(report)
    done = forgetd("restore", "a", "b", "c", "d", "e")
    assert done.code == 0
    files = [line.strip() for line in done.out.splitlines() if "its file" in line]
    assert files == [
        "its file is still in the trash: another lies in its place: c",
        "its file is missing: d",
        "its file is waiting for the media folder: e",
    ]
