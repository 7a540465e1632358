"""`forgetd import`: the whole file is checked, then sent in chunks."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli_run import Outcome, Run, fake_daemon, runner
from tests.unit.fake_daemon import FakeDaemon, Refusal


class Store:
    """A stand-in for memory.import: keeps ids, skips those that it has."""

    def __init__(self) -> None:
        self.memories: dict[str, Any] = {}

    def take(self, params: dict[str, Any]) -> dict[str, Any]:
        new = [each for each in params["memories"] if each["id"] not in self.memories]
        self.memories |= {each["id"]: each for each in new}
        return {
            "created": len(new),
            "skipped": len(params["memories"]) - len(new),
            "replaced": 0,
            "failed": 0,
            "errors": [],
        }


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        yield fake


@pytest.fixture
def store(daemon: FakeDaemon) -> Store:
    kept = Store()
    daemon.answers["memory.import"] = kept.take
    return kept


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def jsonl(path: Path, *lines: Any) -> str:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text)
    return str(path)


def imported(forgetd: Run, path: str, *options: str) -> Outcome:
    return forgetd("import", "--from", "jsonl", path, *options)


@pytest.mark.gate("IMP-30")
def test_a_file_is_sent_whole_and_a_second_time_changes_nothing(
    store: Store, daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = jsonl(tmp_path / "f", *({"content": f"fact {at}"} for at in range(1_200)))
    first = imported(forgetd, path)
    assert (first.code, len(store.memories)) == (0, 1_200)
    assert "1,200 created, 0 replaced, 0 already there" in first.out
    sizes = [len(params["memories"]) for _, params in daemon.calls]
    assert sizes == [500, 500, 200]
    kept = dict(store.memories)
    second = imported(forgetd, path)
    assert "0 created, 0 replaced, 1,200 already there" in second.out
    assert store.memories == kept


@pytest.mark.gate("IMP-30")
def test_the_options_reach_the_daemon(
    store: Store, daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = jsonl(tmp_path / "f", {"content": "x"})
    imported(forgetd, path, "--if-exists", "replace", "--namespace", "me")
    params = daemon.params_of("memory.import")
    assert {name: params[name] for name in ("namespace", "ifExists", "source", "skipBad")} == {
        "namespace": "me",
        "ifExists": "replace",
        "source": "jsonl",
        "skipBad": False,
    }
    assert str(tmp_path) not in json.dumps(params)


@pytest.mark.gate("IMP-30")
@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_an_empty_file_is_no_error(
    store: Store, forgetd: Run, tmp_path: Path, content: str
) -> None:
    done = imported(forgetd, jsonl(tmp_path / "f", content))
    assert (done.code, store.memories) == (0, {})
    assert "0 created" in done.out


@pytest.mark.gate("IMP-31")
def test_one_bad_line_stops_the_import_before_anything_is_stored(
    store: Store, daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    lines = [{"content": f"fact {at}"} for at in range(600)]
    path = jsonl(tmp_path / "f", *lines, {"content": "x", "pinned": "yes"}, '{"content": "cut')
    done = imported(forgetd, path)
    assert (done.code, done.out) == (65, "")
    assert daemon.calls == []
    assert "line 601: $.pinned expected `bool`" in done.err
    assert "line 602: the line is cut off" in done.err
    assert "remedy:" in done.err
    assert "--skip-bad" in done.err.splitlines()[-1]


@pytest.mark.gate("IMP-31")
def test_bad_lines_are_left_out_and_named_when_asked(
    store: Store, forgetd: Run, tmp_path: Path
) -> None:
    path = jsonl(tmp_path / "f", {"content": "a"}, "torn", {"content": "b"})
    done = imported(forgetd, path, "--skip-bad")
    assert (done.code, len(store.memories)) == (0, 2)
    assert "left out: line 2" in done.err
    assert "1 line left out" in done.err


@pytest.mark.gate("IMP-31")
def test_of_many_bad_lines_the_first_are_named_and_all_are_counted(
    store: Store, forgetd: Run, tmp_path: Path
) -> None:
    done = imported(forgetd, jsonl(tmp_path / "f", *["bad"] * 5_000))
    assert done.code == 65
    assert len(done.err.splitlines()) < 30
    assert "5,000 lines cannot be stored" in done.err
    assert "4,990 more" in done.err


@pytest.mark.gate("IMP-31")
def test_json_names_lines_repeats_and_unknown_types(
    store: Store, forgetd: Run, tmp_path: Path
) -> None:
    path = jsonl(
        tmp_path / "f",
        {"type": "entity", "name": "A", "observations": ["x", "x", ""]},
        {"type": "태그", "name": "A"},
        {"type": "relation"},
    )
    done = forgetd("import", "--from", "mcp-memory", path, "--skip-bad", "--json")
    report = json.loads(done.out)
    assert done.code == 0
    assert report["created"] == 2
    assert (report["repeated"], report["blank"]) == (1, 1)
    assert report["unknownTypes"] == {"태그": 1}
    assert report["badLines"] == [
        {"line": 3, "field": "$.from", "message": "is missing"},
    ]
    assert "'태그' kept" in done.err


@pytest.mark.gate("IMP-32")
def test_an_import_that_breaks_off_says_how_far_it_came_and_that_it_can_go_on(
    store: Store, daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = jsonl(tmp_path / "f", *({"content": f"fact {at}"} for at in range(700)))

    def full(params: dict[str, Any]) -> dict[str, Any]:
        if store.memories:
            raise Refusal(-32010, "disk_full", "The disk is full: nothing was stored")
        return store.take(params)

    daemon.answers["memory.import"] = full
    done = imported(forgetd, path)
    assert (done.code, done.out) == (75, "")
    assert "lines 501 to 700" in done.err
    assert "500 memories before that are stored" in done.err
    daemon.answers["memory.import"] = store.take
    assert imported(forgetd, path).code == 0
    assert len(store.memories) == 700


@pytest.mark.gate("IMP-32")
def test_a_memory_that_only_the_daemon_refuses_is_named_by_its_line(
    daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    message = "$.memories[1].id was destroyed"
    path = jsonl(tmp_path / "f", {"content": "a"}, "", {"content": "b"})
    daemon.answers["memory.import"] = {
        "created": 1,
        "skipped": 0,
        "replaced": 0,
        "failed": 1,
        "errors": [{"index": 1, "field": None, "message": message}],
    }
    done = imported(forgetd, path, "--skip-bad")
    assert "left out: line 3: $.id was destroyed" in done.err
    assert "1 line left out" in done.err

    def refuse(_: Any) -> None:
        raise Refusal(-32602, "invalid_params", message, field="$.memories[1].id")

    daemon.answers["memory.import"] = refuse
    done = imported(forgetd, path)
    assert done.code == 64
    assert "line 3: $.id was destroyed; 0 memories before that are stored" in done.err


@pytest.mark.gate("IMP-33")
def test_standard_input_is_read_for_a_hyphen(
    store: Store, forgetd: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = io.TextIOWrapper(io.BytesIO('{"content":"커피"}'.encode()))
    monkeypatch.setattr("sys.stdin", piped)
    assert imported(forgetd, "-").code == 0
    assert [memory["content"] for memory in store.memories.values()] == ["커피"]


@pytest.mark.gate("IMP-33")
def test_a_source_that_is_no_file_is_refused(store: Store, forgetd: Run, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent", Path("/dev/null")):
        done = imported(forgetd, str(path))
        assert (done.code, done.out) == (65, "")
        assert "next:" in done.err
    assert store.memories == {}
