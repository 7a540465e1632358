"""Stores of other systems and our own exports, in and out of a real daemon."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import RpcFailure
from tests.running import RunningDaemon

DATA = Path(__file__).resolve().parents[1] / "data"
GRAPH = Path(__file__).resolve().parents[2] / "examples" / "data" / "mcp-memory.jsonl"


def import_from(daemon: RunningDaemon, namespace: str, kind: str, path: Path) -> dict[str, Any]:
    done = daemon.forgetd("import", "--from", kind, str(path), "--namespace", namespace, "--json")
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def export(daemon: RunningDaemon, namespace: str, path: Path, *options: str) -> str:
    """Export to a new file; the state hash in its last line."""
    done = daemon.forgetd("export", str(path), "--namespace", namespace, *options)
    assert done.returncode == 0, done.stderr
    state: str = json.loads(path.read_bytes().splitlines()[-1])["forgetd"]["stateHash"]
    return state


def found(daemon: RunningDaemon, namespace: str, query: str, **params: Any) -> list[str]:
    report = daemon.call("memory.recall", namespace=namespace, query=query, touch="none", **params)
    return [result["memory"]["id"] for result in report["results"]]


def digests(folder: Path) -> dict[str, str]:
    return {
        entry.name: hashlib.sha256(entry.read_bytes()).hexdigest() for entry in folder.iterdir()
    }


@pytest.mark.gate("IMP-65")
def test_a_store_of_naia_comes_in_as_naia_knew_it(
    daemon: RunningDaemon, namespace: str, tmp_path: Path
) -> None:
    path = DATA / "naia-memory.json"
    assert import_from(daemon, namespace, "naia", path)["created"] == 4
    state = export(daemon, namespace, tmp_path / "first")
    assert found(daemon, namespace, "cat allergic") == ["fact-2"]
    assert found(daemon, namespace, "wifi password") == []
    assert found(daemon, namespace, "wifi password", includeArchived=True) == ["fact-3"]
    assert found(daemon, namespace, "Lighthouse", memoryTypes=["episodic"]) == ["ep-1"]
    again = import_from(daemon, namespace, "naia", path)
    assert (again["created"], again["skipped"]) == (0, 4)
    assert export(daemon, namespace, tmp_path / "second") == state


@pytest.mark.gate("IMP-65")
def test_a_store_of_mem0_comes_in_and_its_files_stay_as_they_are(
    daemon: RunningDaemon, namespace: str, tmp_path: Path
) -> None:
    folder = tmp_path / "mem0"
    shutil.copytree(DATA / "mem0", folder)
    before = digests(folder)
    report = import_from(daemon, namespace, "mem0", folder)
    assert (report["created"], report["deleted"]) == (4, 1)
    again = import_from(daemon, namespace, "mem0", folder / "vectors.db")
    assert (again["created"], again["skipped"]) == (0, 4)
    assert digests(folder) == before
    assert len(found(daemon, namespace, "engineer Daegu")) == 1
    assert found(daemon, namespace, "parking code") == []  # its day is over
    (parking,) = (
        memory
        for memory in daemon.call("memory.list", namespace=namespace)["memories"]
        if "parking" in memory["content"]
    )
    assert parking["extra"]["mem0"]["hash"]
    assert parking["metadata"] == {"source": "mem0", "user_id": "mina"}
    with_vector = daemon.call(
        "memory.get", namespace=namespace, id=parking["id"], includeEmbedding=True
    )
    assert len(with_vector["embedding"]) == 16


@pytest.mark.gate("EXP-23")
def test_what_is_exported_and_imported_has_the_same_state(
    daemon: RunningDaemon, namespace: str, tmp_path: Path
) -> None:
    import_from(daemon, namespace, "mcp-memory", GRAPH)
    listed = daemon.call("memory.list", namespace=namespace, limit=100)["memories"]
    ids = [memory["id"] for memory in listed]
    daemon.call("coldSpill", namespace=namespace, target=40)
    daemon.call("memory.forget", namespace=namespace, ids=ids[:30])
    daemon.call("memory.restore", namespace=namespace, ids=ids[:5])
    daemon.call("memory.supersede", namespace=namespace, id=ids[40], by=ids[41])
    daemon.call("memory.feedback", namespace=namespace, id=ids[42], signal="useful")
    daemon.call("memory.feedback", namespace=namespace, id=ids[20], signal="regret")
    daemon.call("memory.invalidate", namespace=namespace, id=ids[43], reason="incorrect")
    state = export(daemon, namespace, tmp_path / "first")
    copy = f"copy-{namespace}"[:64]
    assert import_from(daemon, copy, "forgetd", tmp_path / "first")["created"] == 154
    assert export(daemon, copy, tmp_path / "second") == state
    assert import_from(daemon, copy, "forgetd", tmp_path / "first")["skipped"] == 154
    assert export(daemon, copy, tmp_path / "second", "--force") == state
    lost = daemon.call("memory.restore", namespace=copy, ids=ids[5:30])
    assert lost["counts"] == {"restored": 25}


@pytest.mark.gate("EXP-23")
def test_an_export_can_be_piped_into_an_import(
    daemon: RunningDaemon, namespace: str, tmp_path: Path
) -> None:
    import_from(daemon, namespace, "naia", DATA / "naia-memory.json")
    out = daemon.forgetd("export", "--namespace", namespace)
    copy = f"copy-{namespace}"[:64]
    done = daemon.forgetd(
        "import", "--from", "forgetd", "-", "--namespace", copy, stdin=out.stdout.encode()
    )
    assert done.returncode == 0, done.stderr
    first = export(daemon, namespace, tmp_path / "first")
    assert export(daemon, copy, tmp_path / "second") == first


@pytest.mark.gate("EXP-23")
def test_a_file_that_was_cut_off_stores_nothing(
    daemon: RunningDaemon, namespace: str, tmp_path: Path
) -> None:
    import_from(daemon, namespace, "mcp-memory", GRAPH)
    export(daemon, namespace, tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut").write_bytes(b"".join(lines[:100]))
    copy = f"copy-{namespace}"[:64]
    arguments = ("import", "--from", "forgetd", str(tmp_path / "cut"), "--namespace", copy)
    done = daemon.forgetd(*arguments)
    assert (done.returncode, done.stdout) == (65, "")
    assert "cut off" in done.stderr
    names = [each["namespace"] for each in daemon.call("namespaces.list")["namespaces"]]
    assert copy not in names
    done = daemon.forgetd(*arguments, "--skip-bad")
    assert done.returncode == 0
    assert "99 created" in done.stdout


@pytest.mark.gate("EXP-24")
def test_reading_makes_no_namespace(daemon: RunningDaemon, namespace: str) -> None:
    page = daemon.call("memory.export", namespace=namespace)
    nothing = hashlib.sha256().hexdigest()
    assert page == {"lines": [], "again": 0, "cursor": None, "stateHash": nothing, "damaged": []}
    done = daemon.forgetd("export", "--namespace", namespace)
    assert (done.returncode, done.stdout) == (65, "")
    names = [each["namespace"] for each in daemon.call("namespaces.list")["namespaces"]]
    assert namespace not in names


@pytest.mark.gate("EXP-24")
@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("memory.export", {"tiers": []}, "$.tiers"),
        ("memory.export", {"tiers": ["warm"]}, "$.tiers[0]"),
        ("memory.export", {"limit": 0}, "$.limit"),
        ("memory.export", {"limit": 10_001}, "$.limit"),
        ("memory.import", {"memories": [], "format": "xml"}, "$.format"),
        ("memory.import", {"memories": [{"id": "a"}], "format": "forgetd"}, "$.memories[0]"),
        ("memory.feedback", {"id": "m", "signal": "liked"}, "$.signal"),
        ("memory.feedback", {"id": "m"}, "$.signal"),
        ("memory.invalidate", {"id": "m", "reason": "because"}, "$.reason"),
        ("memory.invalidate", {"reason": "manual"}, "$.id"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_bound(
    daemon: RunningDaemon, namespace: str, method: str, params: dict[str, Any], field: str
) -> None:
    daemon.call("memory.put", namespace=namespace, id="m", content="x", ifExists="skip")
    with pytest.raises(RpcFailure) as refused:
        daemon.call(method, namespace=namespace, **params)
    assert (refused.value.symbol, refused.value.data["field"]) == ("invalid_params", field)
    assert refused.value.data["bound"]
    assert refused.value.data["remedy"]


@pytest.mark.gate("SIG-08")
def test_a_host_says_what_it_has_learned(daemon: RunningDaemon, namespace: str) -> None:
    daemon.call("memory.put", namespace=namespace, id="m", content="x")
    after = daemon.call("memory.feedback", namespace=namespace, id="m", signal="useful")
    assert (after["useCount"], after["usefulnessScore"]) == (1, 1.0)
    after = daemon.call("memory.invalidate", namespace=namespace, id="m", reason="obsolete")
    assert (after["status"], after["statusReason"]) == ("archived", "obsolete")
    for method, told in (("feedback", {"signal": "useful"}), ("invalidate", {"reason": "manual"})):
        for other in (namespace, f"no-{namespace}"[:64]):
            with pytest.raises(RpcFailure) as refused:
                daemon.call(f"memory.{method}", namespace=other, id="nobody", **told)
            assert refused.value.symbol == "memory_not_found"
