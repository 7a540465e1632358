"""Each command: what it asks of the daemon, what it prints, and its exit code."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar import explain_reports, reports
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


@pytest.mark.gate("CLI-10")
@pytest.mark.parametrize("place", ["before", "after", "around"])
def test_global_options_stand_before_or_after_the_name(
    daemon: FakeDaemon, forgetd: Run, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.delenv("FORGETD_SOCKET")
    daemon.answers["thresholds.get"] = samples.wire(samples.thresholds())
    socket, rest = ["--socket", str(daemon.socket)], ["--json", "--namespace", "me"]
    command = ["thresholds", "get"]
    lines = {
        "before": [*socket, *rest, *command],
        "after": [*command, *socket, *rest],
        "around": ["--namespace", "me", "thresholds", *socket, "get", "--json"],
    }
    done = forgetd(*lines[place])
    assert done.code == 0, done.err
    assert json.loads(done.out)["namespace"] == "default"
    assert daemon.params_of("thresholds.get") == {"namespace": "me"}


@pytest.mark.gate("CLI-10")
def test_a_socket_named_in_the_configuration_file_is_used(
    daemon: FakeDaemon, forgetd: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.delenv("FORGETD_SOCKET")
    (tmp_path / "f.toml").write_text(f'[daemon]\nsocket = "{daemon.socket}"\n')
    monkeypatch.setenv("FORGETD_CONFIG", str(tmp_path / "f.toml"))
    daemon.answers["namespaces.list"] = samples.listing("a")
    assert forgetd("namespaces").code == 0


@pytest.mark.gate("CLI-11")
def test_json_is_the_answer_itself_with_korean_as_it_is(daemon: FakeDaemon, forgetd: Run) -> None:
    answer = samples.wire(samples.memory(content="커피 ☕\x1b[2J\x9b\u202e\u2028"))
    daemon.answers["memory.get"] = answer
    done = forgetd("get", "m1", "--json")
    assert json.loads(done.out) == answer
    assert "커피 ☕" in done.out
    assert not set(done.out) & set("\x1b\x9b\u202e\u2028")
    assert done.err == ""


@pytest.mark.gate("CLI-12")
def test_get_shows_one_memory_and_escapes_what_moves_a_terminal(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    content = "first line\nsecond \x1b]0;title\x07 line"
    daemon.answers["memory.get"] = samples.wire(samples.memory("id\r1", content, pinned=True))
    done = forgetd("get", "id\r1")
    assert done.code == 0
    assert "id\\r1" in done.out
    assert "pinned" in done.out
    assert done.out.endswith("first line\nsecond \\x1b]0;title\\x07 line\n")
    assert daemon.params_of("memory.get") == {"namespace": "default", "id": "id\r1"}


@pytest.mark.gate("CLI-12")
@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_get_of_a_missing_memory_says_so_and_exits_1(
    daemon: FakeDaemon, forgetd: Run, json_option: tuple[str, ...]
) -> None:
    daemon.answers["memory.get"] = None
    done = forgetd("get", "absent", *json_option)
    assert done.code == 1
    assert done.out == ("null\n" if json_option else "")
    assert "absent" in done.err
    assert "next:" in done.err


@pytest.mark.gate("CLI-13")
def test_list_passes_its_filters_and_names_the_next_page(daemon: FakeDaemon, forgetd: Run) -> None:
    page = reports.MemoryList(memories=[samples.memory(content="a\nb\tc")], cursor="C2")
    daemon.answers["memory.list"] = samples.wire(page)
    done = forgetd("list", "--tier", "forgotten", "--type", "semantic", "--limit", "1")
    assert done.code == 0
    assert "a\\nb\\tc" in done.out
    assert "--cursor C2" in done.err
    assert daemon.params_of("memory.list") == {
        "namespace": "default",
        "tier": "forgotten",
        "memoryType": "semantic",
        "limit": 1,
    }


@pytest.mark.gate("CLI-14")
def test_recall_never_touches(daemon: FakeDaemon, forgetd: Run) -> None:
    result = {"memory": samples.wire(samples.memory()), "score": 0.9}
    daemon.answers["memory.recall"] = {
        "results": [{**result, "textScore": 1.0, "vectorScore": None}],
        "depth": "hot",
        "coldScanned": 0,
    }
    done = forgetd("recall", "grey", "cat", "--top", "3")
    assert done.code == 0
    assert "Tofu is a grey cat" in done.out
    assert daemon.params_of("memory.recall") == {
        "namespace": "default",
        "query": "grey cat",
        "topK": 3,
        "touch": "none",
    }


@pytest.mark.gate("CLI-14")
def test_recall_that_finds_nothing_exits_1(daemon: FakeDaemon, forgetd: Run) -> None:
    daemon.answers["memory.recall"] = {"results": [], "depth": "deep", "coldScanned": 0}
    assert forgetd("recall", "unheard of").code == 1


@pytest.mark.gate("CLI-15")
def test_explain_shows_candidacy_rank_and_parts(daemon: FakeDaemon, forgetd: Run) -> None:
    policy = explain_reports.PolicyExplanation(
        policy="balanced",
        policy_version="1",
        stage=2,
        candidate=False,
        why="pinned",
        score=0.5,
        strength=0.25,
        parts=reports.ScoreParts(value=0.5, retention=0.9, recall_recency=1.0, status_factor=2),
        protections=["pinned", "held"],
        rank=3,
        of=1_200,
    )
    cycle = explain_reports.CycleExplanation(
        enabled=False,
        policy_version="1",
        action="fade",
        reason="time_decay",
        skipped=None,
        why="time_decay: strength 0.1 is below 0.15",
        score=0.1,
        prune_threshold=0.05,
        fade_threshold=0.15,
        old_importance=0.5,
        new_importance=0.25,
        survivor=None,
        duplicates_searched=False,
    )
    crossing = explain_reports.CrossingReport(
        threshold="weak", bound=0.05, crossed_at=samples.NOW, acts_at=None, why="not while pinned"
    )
    explanation = explain_reports.Explanation(
        id="m1",
        now=samples.NOW,
        tier="hot",
        importance_source="host",
        estimate=0.3215,
        estimator_version="words-1",
        estimate_parts=explain_reports.EstimateExplanation(
            value=0.2215, standing=0.0, length=5.0, words={"content": 3}, sentences={"plain": 1}
        ),
        policies=[policy],
        crossings=[crossing],
        cycle=cycle,
    )
    daemon.answers["memory.explain"] = samples.wire(explanation)
    done = forgetd("explain", "m1", "--policy", "balanced")
    assert done.code == 0
    assert "3 of 1,200" in done.out
    assert "pinned, held" in done.out
    assert "retention 0.9000" in done.out
    assert "a cycle would fade it: time_decay: strength 0.1 is below 0.15" in done.out
    assert "importance 0.5000 → 0.2500 (not looked for duplicates: too many memories)" in done.out
    (line,) = [line for line in done.out.splitlines() if line.startswith("weak")]
    assert line.startswith("weak       0.0500  20")
    assert line.endswith("Z  -             not while pinned")


@pytest.mark.gate("CLI-16")
def test_thresholds_set_reads_numbers_booleans_and_default(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    report = samples.thresholds(
        crossed=["count"], paused=[reports.Pause(reason="undo", until=None)]
    )
    daemon.answers["thresholds.set"] = samples.wire(report)
    done = forgetd("thresholds", "set", "a=5", "b=false", "c=0.5", "d=default", "e=null")
    assert done.code == 0
    assert daemon.params_of("thresholds.set")["thresholds"] == {
        "a": 5,
        "b": False,
        "c": 0.5,
        "d": None,
        "e": None,
    }
    assert "crossed: count" in done.out
    assert "thresholds resume" in done.out


@pytest.mark.gate("CLI-16")
@pytest.mark.parametrize("wrong", ["a", "=5", "a=", "a=x", "a=[1]", 'a="5"', "a=NaN", "a=1 2"])
def test_thresholds_set_refuses_what_is_no_assignment(
    daemon: FakeDaemon, forgetd: Run, wrong: str
) -> None:
    done = forgetd("thresholds", "set", wrong)
    assert done.code == 64
    assert "next:" in done.err
    assert daemon.calls == []


@pytest.mark.gate("CLI-16")
@pytest.mark.parametrize(
    ("arguments", "method"),
    [((), "thresholds.get"), (("get",), "thresholds.get"), (("resume",), "thresholds.resume")],
)
def test_thresholds_are_shown_and_resumed(
    daemon: FakeDaemon, forgetd: Run, arguments: tuple[str, ...], method: str
) -> None:
    daemon.answers[method] = samples.wire(samples.thresholds())
    done = forgetd("thresholds", *arguments)
    assert done.code == 0
    assert "forgetThresholdCount 10000 default" in " ".join(done.out.split())


@pytest.mark.gate("CLI-17")
@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([("a", "restored"), ("b", "already_here")], 0),
        ([("a", "superseded"), ("b", "expired"), ("c", "invalidated")], 0),
        ([("a", "restored"), ("b", "unknown")], 1),
        ([("a", "destroyed")], 1),
        ([("a", "conflict")], 1),
        ([], 1),
    ],
)
def test_restore_exits_1_when_a_memory_did_not_come_back(
    daemon: FakeDaemon, forgetd: Run, results: list[tuple[str, str]], code: int
) -> None:
    daemon.answers["memory.restore"] = samples.wire(samples.restore(*results))
    done = forgetd("restore", "a", "b")
    assert done.code == code
    assert daemon.params_of("memory.restore") == {"namespace": "default", "ids": ["a", "b"]}


@pytest.mark.gate("CLI-17")
@pytest.mark.parametrize(
    "arguments", [(), ("a", "--run", "R"), ("--run", "R", "--reason", "x"), ("a", "--reason", "x")]
)
def test_restore_wants_exactly_one_way_to_name_memories(
    daemon: FakeDaemon, forgetd: Run, arguments: tuple[str, ...]
) -> None:
    assert forgetd("restore", *arguments).code == 64
    assert daemon.calls == []


@pytest.mark.gate("CLI-18")
def test_runs_are_listed_shown_and_undone(daemon: FakeDaemon, forgetd: Run) -> None:
    summary = samples.wire(samples.run())
    sweep = samples.wire(samples.sweep(run_id="R1", dry_run=False))
    daemon.answers = {
        "runs.list": {"runs": [summary], "cursor": "C"},
        "runs.get": lambda params: {
            "run": summary,
            "report": sweep if params["runId"] == "R1" else None,
        },
        "runs.undo": samples.wire(samples.restore(("a", "restored"), paused=True)),
        "runs.decisions": {"decisions": sweep["decisions"], "cursor": None, "total": 1},
    }
    assert "R1" in forgetd("runs").out
    assert "--cursor C" in forgetd("runs", "list", "--limit", "1").err
    assert "brake" in forgetd("runs", "show", "R1").out
    assert "no report" in forgetd("runs", "show", "R0").err
    assert "time_decay" in forgetd("runs", "decisions", "R1").out
    undone = forgetd("runs", "undo", "R1")
    assert undone.code == 0
    assert "thresholds resume" in undone.out
    assert forgetd("runs", "decisions").code == 64
    assert forgetd("runs", "decisions", "R1", "--plan", "P1").code == 64


@pytest.mark.gate("CLI-19")
@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ((), None),
        (('{"id":"커피"}',), {"id": "커피"}),
        (("[true]",), [True]),
        (('{"id":"a"}', "--namespace", "me"), {"namespace": "me", "id": "a"}),
        (("--namespace", "me"), {"namespace": "me"}),
        (('{"namespace":"x"}', "--namespace", "me"), {"namespace": "x"}),
    ],
)
def test_call_sends_any_method_its_parameters(
    daemon: FakeDaemon, forgetd: Run, arguments: tuple[str, ...], sent: Any
) -> None:
    daemon.answers["some.method"] = {"답": 1}
    done = forgetd("call", "some.method", *arguments)
    assert (done.code, json.loads(done.out)) == (0, {"답": 1})
    assert daemon.params_of("some.method") == sent


@pytest.mark.gate("CLI-19")
@pytest.mark.parametrize(
    "arguments",
    [
        ("{",),
        ("5",),
        ('"x"',),
        ('{"a":1,"a":2}',),
        ('{"a":NaN}',),
        ("[" * 100_000,),
        ("[true]", "--namespace", "me"),
    ],
    ids=str,
)
def test_call_refuses_parameters_that_are_unclear(
    daemon: FakeDaemon, forgetd: Run, arguments: tuple[str, ...]
) -> None:
    assert forgetd("call", "some.method", *arguments).code == 64
    assert daemon.calls == []
