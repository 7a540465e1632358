"""No reply and no log line tells a path, SQL, or what another namespace holds.

Every method of the live registry is driven with good and bad parameters, so a new one is covered
as soon as it is registered.
"""

import http.client
import json
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

import apsw
import pytest

from sidecar.rpc.methods import METHODS
from tests.hostile_inputs import NUMBERS, TEXTS, valid_calls
from tests.running import RunningDaemon, daemon_folder

# Words that nothing else would say: content, metadata and extra of the other namespace, and what
# its memories and runs are called and marked with.
CONTENT = ("Zwetschgenröster", "관악산메아리", "quokkaproof")
MARKS = ("Brimborium", "schnurzpiep", "Papperlapapp", "Tohuwabohu")
IDS = ("id-Quittenbrot", "id-Holunder", "id-Mispel", "id-Schlehe", "id-산딸기")
OTHER = "walled"
# How SQL, the store and the interpreter betray themselves.
INNER = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|PRAGMA|CREATE TABLE|FROM sqlite|sqlite_\w+|apsw|SQLITE_\w+)\b"
    r"|\bhot\.db|\.jsonl\.zst|Traceback|File \"|site-packages|0x[0-9a-f]{8}|sidecar[./]"
)
JSON = {"Content-Type": "application/json"}


class Told:
    """Everything that was answered, with what was asked."""

    def __init__(self, daemon: RunningDaemon) -> None:
        self._daemon = daemon
        self.replies: list[tuple[str, str]] = []

    def call(self, method: str, params: Any) -> Any:
        """One call; its reply, read and remembered."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        text = self.ask("POST", "/rpc", body.encode(), JSON)[1]
        return json.loads(text) if text else None

    def ask(
        self, verb: str, path: str, body: bytes | None = None, headers: Any = None
    ) -> tuple[int, str]:
        """One HTTP request: status and body, remembered with all its headers."""
        with closing(http.client.HTTPConnection("localhost", timeout=60)) as connection:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(self._daemon.socket))
            connection.request(verb, path, body, headers or {})
            answer = connection.getresponse()
            text = answer.read().decode()
        asked = f"{verb} {path} {(body or b'')[:300]!r}"
        self.replies.append((asked, f"{answer.getheaders()} {text}"))
        return answer.status, text

    def stream(self, query: str, count: int) -> None:
        """Read `count` events of a stream."""
        with closing(socket.socket(socket.AF_UNIX)) as raw:
            raw.settimeout(60)
            raw.connect(str(self._daemon.socket))
            raw.sendall(f"GET /events?{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            got = b""
            while got.count(b"\ndata: ") < count:
                part = raw.recv(65_536)
                assert part, got
                got += part
        self.replies.append((f"GET /events?{query}", got.decode()))

    def assert_silent(self, words: Any, *, but: str = "") -> None:
        """No reply has one of the words; `but` marks requests that may be answered with them."""
        for asked, text in self.replies:
            for word in words:
                escaped = json.dumps(word)[1:-1]
                told = word in text or escaped in text
                assert not told or (but and but in asked), f"{asked} is told {word}: {text[:2_000]}"
            assert not INNER.search(text), f"{asked}: {INNER.search(text)} in {text[:2_000]}"


@pytest.fixture(scope="module")
def daemon() -> Iterator[RunningDaemon]:
    with daemon_folder() as start:
        yield start(allow_injected_clock=True).ready()


@pytest.fixture(scope="module")
def known(daemon: RunningDaemon) -> dict[str, list[str]]:
    """Fill the other namespace in all tiers; the ids of its runs, plans and pages."""
    call = daemon.client.call
    words = cycle(CONTENT)
    memories = [
        {
            "id": memory_id,
            "content": f"{next(words)} says {next(words)}",
            "metadata": {next(words): {"at": [next(words)]}},
            "mediaRef": f"{MARKS[0]}/a.png",
            "embedding": [1.0, 2.0],
            "embeddingModel": MARKS[1],
            "importance": 0.1,
            "createdAt": 1_600_000_000_000,
        }
        for memory_id in IDS
    ]
    call("memory.putMany", {"namespace": OTHER, "memories": memories})
    unknown = {"id": "extra", "content": CONTENT[0], CONTENT[1]: CONTENT[2]}
    call("memory.import", {"namespace": OTHER, "memories": [unknown], "source": MARKS[2]})
    call("memory.supersede", {"namespace": OTHER, "id": IDS[3], "by": IDS[4]})
    forgot = call("memory.forget", {"namespace": OTHER, "ids": [IDS[0]], "reason": MARKS[3]})
    spilled = call("coldSpill", {"namespace": OTHER, "target": 2})
    plan = call("forgetSweep", {"namespace": OTHER, "dryRun": True})
    page = call("memory.list", {"namespace": OTHER, "limit": 1})
    runs = call("runs.list", {"namespace": OTHER, "limit": 1})
    export = call("memory.export", {"namespace": OTHER, "limit": 1})
    return {
        "runId": [forgot["runId"], spilled["runId"]],
        "planId": [plan["planId"]],
        "cursor": [page["cursor"], runs["cursor"], export["cursor"]],
    }


def calls_of(method: str, known: dict[str, list[str]]) -> Iterator[Any]:
    """Good and bad parameters: each one left out, odd, of another type, or of the other's."""
    yield from ({}, [], [True], [1, "x"], {"": 1}, {"unknown parameter": 1})
    for example in valid_calls()[method]:
        yield example
        for name in example:
            yield {key: value for key, value in example.items() if key != name}
            others = [*IDS[:1], [IDS[0]], known.get(name, [None])[0]]
            for odd in (*TEXTS[:12], *NUMBERS[10:20], None, True, [], {}, [None], *others):
                yield example | {name: odd}
    for name, values in known.items():
        yield from ({name: value} for value in values)
        yield from ({"id": "x", "ids": ["x"], name: value} for value in values)
    yield from ({"id": one} for one in IDS)
    yield {"ids": list(IDS)}
    yield {"query": CONTENT[0][:4], "touch": "none", "depth": "deep"}


def paths(daemon: RunningDaemon) -> list[str]:
    """Where the daemon lives."""
    return [str(daemon.folder), str(daemon.state_dir), str(daemon.socket), str(Path.home())]


def table_names(daemon: RunningDaemon, namespace: str = OTHER) -> set[str]:
    """The names in the schema that are no words of the protocol."""
    path = daemon.state_dir / "namespaces" / namespace / "hot.db"
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        names = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    return {name for name in names if "_" in name}


@pytest.mark.gate("CANARY-01")
@pytest.mark.parametrize("method", [name for name in METHODS if name != "system.stop"])
def test_no_method_tells_what_another_namespace_holds(
    daemon: RunningDaemon, known: dict[str, list[str]], method: str
) -> None:
    told = Told(daemon)
    neighbour = f"plain-{method}"
    daemon.client.call("memory.put", {"namespace": neighbour, "content": "plain"})
    for params in calls_of(method, known):
        reply = told.call(method, walled_off(params, neighbour))
        symbol = reply.get("error", {}).get("data", {}).get("symbol")
        assert symbol not in ("internal_error", "corrupt"), (params, reply)
    told.assert_silent([*CONTENT, *MARKS, *paths(daemon), *table_names(daemon)])
    # An id is told back to whoever named it, and to nobody else.
    told.assert_silent(IDS, but="id-")


@pytest.mark.gate("CANARY-01")
@pytest.mark.parametrize("word", [CONTENT[0], CONTENT[1], MARKS[0]])
def test_a_word_that_is_told_is_heard(
    daemon: RunningDaemon, known: dict[str, list[str]], word: str
) -> None:
    told = Told(daemon)
    told.call("memory.export", {"namespace": OTHER})
    with pytest.raises(AssertionError, match="is told"):
        told.assert_silent([word])
    told.replies = [("asked", 'near "SELECT": syntax error')]
    with pytest.raises(AssertionError, match="SELECT"):
        told.assert_silent([])


def walled_off(params: Any, neighbour: str) -> Any:
    """The same parameters for a namespace that holds nothing of all that."""
    return params | {"namespace": neighbour} if isinstance(params, dict) else params


@pytest.mark.gate("CANARY-02")
@pytest.mark.parametrize("method", [name for name in METHODS if name != "system.stop"])
def test_no_method_tells_a_path_or_sql_to_the_owner_either(
    daemon: RunningDaemon, known: dict[str, list[str]], method: str
) -> None:
    told = Told(daemon)
    for params in calls_of(method, known):
        told.call(method, walled_off(params, OTHER))
    told.assert_silent([*paths(daemon), *table_names(daemon)])


@pytest.mark.gate("CANARY-03")
def test_streams_health_and_refused_requests_tell_nothing(
    daemon: RunningDaemon, known: dict[str, list[str]]
) -> None:
    told = Told(daemon)
    call = daemon.client.call
    call("memory.put", {"namespace": "streamed", "id": "a", "content": "plain"})
    told.stream("namespace=streamed&since=0", 2)
    told.stream(f"namespace={OTHER}&since=0", 10)
    asked = [
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/", 404),
        ("GET", f"/{OTHER}/../hot.db", 404),
        ("GET", "/events?namespace=../walled", 400),
        ("GET", "/events?namespace=absent", 404),
        ("GET", "/events?since=x", 400),
        ("GET", "/rpc", 405),
        ("PUT", "/events", 405),
    ]
    for verb, path, status in asked:
        assert told.ask(verb, path)[0] == status
    for body in (b"", b"{", b"\xff", b"[" * 99, b"[]", b"1"):
        assert told.ask("POST", "/rpc", body, JSON)[0] == 200
    assert told.ask("POST", "/rpc", b"x", {"Content-Type": "image/png"})[0] == 415
    assert told.ask("POST", "/rpc", b"x", {"Content-Length": "99999999"})[0] == 413
    assert told.ask("POST", "/rpc", b"{}", {"Origin": "null"})[0] == 403
    told.assert_silent([*CONTENT, *paths(daemon), *table_names(daemon)])


@pytest.mark.gate("CANARY-04")
def test_the_log_tells_no_content_no_path_and_no_sql() -> None:
    with daemon_folder() as start:
        daemon = start().ready()
        call = daemon.client.call
        call("memory.putMany", {"memories": [{"id": one, "content": CONTENT[0]} for one in IDS]})
        call("coldSpill", {"target": 2})
        call("memory.forget", {"ids": list(IDS[:2]), "reason": MARKS[3]})
        told = Told(daemon)
        for method in METHODS:
            if method != "system.stop":
                for params in (*valid_calls()[method], {"id": IDS[0]}, {"content": CONTENT[1]}):
                    told.call(method, params)
        assert daemon.stop() == 0
        lines = daemon.lines()
        assert {line["level"] for line in lines} <= {"info", "warning"}
        for line in lines:
            text = json.dumps(line, ensure_ascii=False)
            for word in (*CONTENT, *MARKS, *IDS, *table_names(daemon, "default")):
                assert word not in text, text
            assert not INNER.search(text), text
            assert not any(path in text for path in paths(daemon)), text
        assert len(lines) > 3
