"""Importing real files into a real daemon."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.running import RunningDaemon

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "data" / "mcp-memory.jsonl"


def import_file(daemon: RunningDaemon, namespace: str, kind: str, path: Path, *options: str) -> Any:
    done = daemon.forgetd(
        "import", "--from", kind, str(path), "--namespace", namespace, "--json", *options
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def memories(daemon: RunningDaemon, namespace: str) -> dict[str, Any]:
    """Every memory as it is stored: its strength is of the moment and left out."""
    found: dict[str, Any] = {}
    cursor = None
    while True:
        page = daemon.call("memory.list", namespace=namespace, limit=100, cursor=cursor)
        found |= {each["id"]: {**each, "strength": None} for each in page["memories"]}
        cursor = page["cursor"]
        if cursor is None:
            return found


@pytest.mark.gate("IMP-40")
def test_the_file_of_the_real_package_is_stored_and_recalled(
    daemon: RunningDaemon, namespace: str
) -> None:
    report = import_file(daemon, namespace, "mcp-memory", EXAMPLE)
    assert (report["created"], report["failed"], report["badLineCount"]) == (154, 0, 0)
    for query, content in (
        ("dark mode editor", "Mina_Park: Prefers dark mode in every editor"),
        ("커피", "김서연: 아침마다 커피를 두 잔 마신다"),
        ("who owns Tofu", "Mina_Park owns Tofu"),
        ("최민수 출입", "최민수 발급한다 출입_카드"),
    ):
        found = daemon.forgetd("recall", query, "--top", "5", "--namespace", namespace)
        assert content in found.stdout, found.stdout


@pytest.mark.gate("IMP-40")
@pytest.mark.parametrize("kind", ["mcp-memory", "jsonl"])
def test_the_same_file_twice_changes_nothing(
    daemon: RunningDaemon, namespace: str, tmp_path: Path, kind: str
) -> None:
    path = EXAMPLE
    if kind == "jsonl":
        path = tmp_path / "f.jsonl"
        path.write_text('{"content":"커피 ☕","color":"grey"}\n{"content":"b","id":"b-v17"}\n')
    first = import_file(daemon, namespace, kind, path)
    stored = memories(daemon, namespace)
    assert first["created"] == len(stored) > 0
    second = import_file(daemon, namespace, kind, path)
    assert (second["created"], second["skipped"]) == (0, len(stored))
    assert memories(daemon, namespace) == stored


@pytest.mark.gate("IMP-41")
def test_unknown_fields_and_odd_values_are_kept(
    daemon: RunningDaemon, namespace: str, tmp_path: Path
) -> None:
    record = {
        "id": "메모-v1700000000000",
        "content": "x",
        "importance": 7,
        "createdAt": 1_700_000_000,
        "color": "회색",
        "nested": {"a": [1, None, "👩‍👩‍👧"]},
    }
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps(record, ensure_ascii=False))
    import_file(daemon, namespace, "jsonl", path)
    stored = daemon.call("memory.get", namespace=namespace, id=record["id"])
    assert stored["extra"] == {"color": "회색", "nested": {"a": [1, None, "👩‍👩‍👧"]}}
    assert stored["createdAt"] == 1_700_000_000
    assert stored["strength"] is None  # it cannot be judged, so it is never forgotten
    (status,) = daemon.call("system.status", namespace=namespace)["namespaces"]
    assert status["unscored"] == 1


@pytest.mark.gate("IMP-42")
def test_a_torn_file_stores_nothing_and_names_the_line(
    daemon: RunningDaemon, namespace: str, tmp_path: Path
) -> None:
    torn = tmp_path / "torn.jsonl"
    content = EXAMPLE.read_bytes()
    torn.write_bytes(content[:-40])
    done = daemon.forgetd("import", "--from", "mcp-memory", str(torn), "--namespace", namespace)
    assert (done.returncode, done.stdout) == (65, "")
    assert f"line {len(content.splitlines())}:" in done.stderr
    # Not even the namespace was made.
    names = [each["namespace"] for each in daemon.call("namespaces.list")["namespaces"]]
    assert namespace not in names
    rest = import_file(daemon, namespace, "mcp-memory", torn, "--skip-bad")
    assert (rest["created"], rest["badLineCount"]) == (153, 1)
    assert torn.read_bytes() == content[:-40]


@pytest.mark.gate("IMP-43")
def test_a_long_file_is_piped_in(daemon: RunningDaemon, namespace: str) -> None:
    lines = [json.dumps({"content": f"fact number {at}"}) for at in range(2_500)]
    done = daemon.forgetd(
        *("import", "--from", "jsonl", "-", "--namespace", namespace),
        stdin="\n".join(lines).encode(),
    )
    assert done.returncode == 0, done.stderr
    assert "2,500 created" in done.stdout
