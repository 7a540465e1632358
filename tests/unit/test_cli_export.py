"""`forgetd export`: pages become a file that appears whole, or a stream."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.cli import new_file as writing
from sidecar.importers.whole import whole_memory
from tests.unit.cli_run import Run, fake_daemon, runner
from tests.unit.fake_daemon import FakeDaemon, Refusal

HASH = "ab" * 32


class Pages:
    """A stand-in for memory.export: three pages of two memories."""

    def __init__(self) -> None:
        self.lines = [
            whole_memory(id=f"m{n}", content=f"커피\x9b {n}", created_at=1) for n in range(6)
        ]
        self.damaged: list[str] = []
        self.again = 0
        self.fails_at = 99

    def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        start = int(params.get("cursor", 0))
        if start >= self.fails_at:
            raise Refusal(-32010, "read_only", "The namespace is read-only")
        last = start + 2 >= len(self.lines)
        return {
            "lines": self.lines[start : start + 2],
            "again": self.again if last else 0,
            "cursor": None if last else str(start + 2),
            "stateHash": HASH if last and not self.damaged else None,
            "damaged": self.damaged if last else [],
        }


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        listed = {"namespace": "default", "open": True, "hot": 4, "cold": 1, "forgotten": 1}
        fake.answers["namespaces.list"] = {"namespaces": [listed]}
        yield fake


@pytest.fixture
def pages(daemon: FakeDaemon) -> Pages:
    kept = Pages()
    daemon.answers["memory.export"] = kept.answer
    return kept


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.mark.gate("EXP-20")
def test_the_file_has_every_page_between_two_lines_about_the_export(
    pages: Pages, forgetd: Run, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    pages.again = 1
    done = forgetd("export", str(path))
    assert (done.code, done.err) == (0, "")
    assert "6 memories exported" in done.out
    assert HASH in done.out
    content = path.read_bytes()
    *before, _ = content.splitlines(keepends=True)
    opening, *lines, closing = map(json.loads, content.decode().split("\n")[:-1])
    assert opening["forgetd"]["export"] == 1
    assert opening["forgetd"]["tiers"] == ["hot", "cold", "forgotten"]
    assert lines == pages.lines
    assert closing == {
        "forgetd": {
            "records": 6,
            "repeated": 1,
            "stateHash": HASH,
            "sha256": hashlib.sha256(b"".join(before)).hexdigest(),
        }
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["x.jsonl"]
    assert b"\x9b" not in content.replace("\u009b".encode(), b"")
    assert "\u009b" not in content.decode()  # no character that a terminal obeys


@pytest.mark.gate("EXP-20")
def test_standard_output_has_the_lines_and_nothing_else(
    pages: Pages, forgetd: Run, tmp_path: Path
) -> None:
    forgetd("export", str(tmp_path / "x"))
    for arguments in (("export",), ("export", "-"), ("export", "-", "--json")):
        done = forgetd(*arguments)
        assert (done.code, done.err) == (0, "")
        assert done.out == (tmp_path / "x").read_text(encoding="utf-8")


@pytest.mark.gate("EXP-20")
def test_the_options_reach_the_daemon(
    pages: Pages, daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    done = forgetd("export", str(path), "--tier", "forgotten", "--tier", "hot", "--json")
    assert json.loads(done.out) == {
        "file": str(path),
        "tiers": ["hot", "forgotten"],
        "records": 6,
        "repeated": 0,
        "damaged": [],
        "stateHash": HASH,
    }
    asked = [params for method, params in daemon.calls if method == "memory.export"]
    assert [params["tiers"] for params in asked] == [["hot", "forgotten"]] * 3
    assert str(tmp_path) not in json.dumps(daemon.calls)


@pytest.mark.gate("EXP-21")
def test_an_existing_file_stays_unless_it_may_be_replaced(
    pages: Pages, daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_text("precious")
    done = forgetd("export", str(path))
    assert (done.code, done.out) == (65, "")
    assert "exists" in done.err
    assert "--force" in done.err
    assert path.read_text() == "precious"
    assert not [method for method, _ in daemon.calls if method == "memory.export"]
    assert forgetd("export", str(path), "--force").code == 0
    assert len(path.read_text(encoding="utf-8").splitlines()) == 8
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.gate("EXP-21")
def test_a_link_is_an_existing_file_and_is_replaced_itself(
    pages: Pages, forgetd: Run, tmp_path: Path
) -> None:
    (tmp_path / "other").write_text("precious")
    (tmp_path / "x").symlink_to(tmp_path / "other")
    assert forgetd("export", str(tmp_path / "x")).code == 65
    assert forgetd("export", str(tmp_path / "x"), "--force").code == 0
    assert (tmp_path / "other").read_text() == "precious"
    assert not (tmp_path / "x").is_symlink()


@pytest.mark.gate("EXP-21")
def test_a_file_that_appears_meanwhile_stays(
    pages: Pages, daemon: FakeDaemon, forgetd: Run, tmp_path: Path
) -> None:
    path = tmp_path / "x"

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        path.write_text("precious")
        return pages.answer(params)

    daemon.answers["memory.export"] = answer
    done = forgetd("export", str(path))
    assert done.code == 65
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.gate("EXP-21")
def test_a_file_system_without_links_gets_its_file_all_the_same(
    pages: Pages, forgetd: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(writing.os, "link", no_links)
    path = tmp_path / "x"
    assert forgetd("export", str(path)).code == 0
    assert len(path.read_text(encoding="utf-8").splitlines()) == 8
    assert forgetd("export", str(path)).code == 65
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.gate("EXP-21")
def test_an_export_that_breaks_off_leaves_no_file(
    pages: Pages, forgetd: Run, tmp_path: Path
) -> None:
    pages.fails_at = 4
    done = forgetd("export", str(tmp_path / "x"))
    assert (done.code, done.out) == (75, "")
    assert os.listdir(tmp_path) == []
    (tmp_path / "old").write_text("precious")
    forgetd("export", str(tmp_path / "old"), "--force")
    assert (tmp_path / "old").read_text() == "precious"


@pytest.mark.gate("EXP-21")
@pytest.mark.parametrize(
    "name", ["", "absent/x", "file/x"], ids=["a folder", "absent", "no folder"]
)
def test_a_place_where_no_file_can_be_is_refused(
    pages: Pages, forgetd: Run, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").write_text("x")
    done = forgetd("export", str(tmp_path / name), "--force")
    assert (done.code, done.out) == (65, "")
    assert "next:" in done.err


@pytest.mark.gate("EXP-22")
def test_damaged_memories_are_named_and_the_exit_code_says_so(
    pages: Pages, forgetd: Run, tmp_path: Path
) -> None:
    pages.damaged = ["커피"]
    done = forgetd("export", str(tmp_path / "x"))
    assert done.code == 1
    assert "커피" in done.err
    assert "doctor" in done.err
    assert "state hash" not in done.out
    assert (tmp_path / "x").exists()
    done = forgetd("export")
    assert done.code == 1
    assert "커피" in done.err


@pytest.mark.gate("EXP-22")
def test_a_namespace_that_does_not_exist_makes_no_file(
    pages: Pages, forgetd: Run, tmp_path: Path
) -> None:
    done = forgetd("export", str(tmp_path / "x"), "--namespace", "typo")
    assert (done.code, done.out) == (65, "")
    assert "no namespace typo" in done.err
    assert os.listdir(tmp_path) == []
