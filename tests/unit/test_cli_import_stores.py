"""`forgetd import` of stores that have no lines: what is sent, and what is told."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli_run import Run, fake_daemon, runner
from tests.unit.fake_daemon import FakeDaemon, Refusal

DATA = Path(__file__).parents[1] / "data"
AT = 1_790_000_000_000


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        fake.answers["memory.import"] = lambda params: {
            "created": len(params["memories"]),
            "skipped": 0,
            "replaced": 0,
            "failed": 0,
            "errors": [],
        }
        yield fake


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def naia_file(path: Path, *facts: dict[str, Any], **parts: Any) -> str:
    given = {"content": "x", "createdAt": AT, "importance": 0.5}
    store = {"version": 1, "facts": [{**given, **fact} for fact in facts], **parts}
    path.write_text(json.dumps(store))
    return str(path)


@pytest.mark.gate("IMP-58")
@pytest.mark.parametrize(
    ("source", "path", "sent"),
    [
        ("naia", "naia-memory.json", {"format": "forgetd", "source": "naia"}),
        ("forgetd", "export.jsonl", {"format": "forgetd", "source": "forgetd"}),
        ("mem0", "mem0", {"source": "mem0"}),
    ],
)
def test_each_format_is_sent_as_what_it_is(
    daemon: FakeDaemon, forgetd: Run, source: str, path: str, sent: dict[str, str]
) -> None:
    done = forgetd("import", "--from", source, str(DATA / path))
    assert done.code == 0, done.err
    params = daemon.params_of("memory.import")
    assert {name: params[name] for name in ("format", "source") if name in params} == sent
    assert params["ifExists"] == "skip"
    assert str(DATA) not in json.dumps(params)


@pytest.mark.gate("IMP-58")
def test_the_model_of_the_vectors_can_be_named(
    daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = naia_file(tmp_path / "n", {"id": "a"}, factEmbeddings={"a": [1, 2]})
    forgetd("import", "--from", "naia", path, "--embedding-model", "small")
    (memory,) = daemon.params_of("memory.import")["memories"]
    assert memory["embeddingModel"] == "small"


@pytest.mark.gate("IMP-59")
def test_what_cannot_be_stored_is_named_by_its_place_and_stops_the_import(
    daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = naia_file(tmp_path / "n", {"id": "a"}, {"id": "b", "content": " "}, {"id": "c"})
    done = forgetd("import", "--from", "naia", path)
    assert (done.code, done.out, daemon.calls) == (65, "", [])
    assert "facts[1]: $.content must be a text that is not blank" in done.err
    assert "1 record cannot be stored" in done.err
    done = forgetd("import", "--from", "naia", path, "--skip-bad", "--json")
    assert done.code == 0
    report = json.loads(done.out)
    assert (report["created"], report["badLineCount"]) == (2, 1)
    assert [bad["place"] for bad in report["badLines"]] == ["facts[1]"]
    assert "1 record left out" in done.err


@pytest.mark.gate("IMP-59")
def test_what_is_left_out_or_mended_is_told(
    daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = naia_file(
        tmp_path / "n",
        {"id": "a", "successorId": "a"},
        {"id": "b"},
        {"id": "c"},
        factEmbeddings={"a": [1, 2], "b": [3]},
        associations={"x": 1},
    )
    done = forgetd("import", "--from", "naia", path, "--json")
    report = json.loads(done.out)
    assert (report["withoutVector"], report["withoutLink"]) == (1, 1)
    assert report["notMemories"] == ["associations"]
    assert "1 memory stored without the vector" in done.err
    assert "associations" in done.err
    done = forgetd("import", "--from", "mem0", str(DATA / "mem0"))
    assert "1 memory not imported: the other store deleted them" in done.err


@pytest.mark.gate("IMP-59")
def test_what_the_daemon_refuses_is_named_by_its_place(
    daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = naia_file(tmp_path / "n", {"id": "a"}, {"id": "b"})

    def refuse(_: Any) -> None:
        raise Refusal(104, "supersession_conflict", "$.memories[1].supersededBy makes a loop")

    daemon.answers["memory.import"] = refuse
    done = forgetd("import", "--from", "naia", path)
    assert done.code == 65
    assert "facts[1]: $.supersededBy makes a loop" in done.err


@pytest.mark.gate("IMP-59")
def test_a_source_of_another_kind_is_refused(
    daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    shutil.copy(DATA / "mem0" / "history.db", tmp_path)
    for source, name in (
        ("naia", "export.jsonl"),
        ("naia", "mem0/vectors.db"),
        ("mem0", "naia-memory.json"),
        ("mem0", "absent"),
        ("mem0", str(tmp_path)),
        ("mem0", "-"),
    ):
        path = name if name == "-" else str(DATA / name)
        done = forgetd("import", "--from", source, path)
        assert (done.code, done.out) == (65, ""), (source, name)
        assert "next:" in done.err
    assert daemon.calls == []
