"""Following events from Python: frames, and where to go on after every kind of break."""

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from sidecar import event_client
from sidecar.client import Client, RpcFailure, Unreachable
from sidecar.event_client import Event, follow, parse
from tests.wire import short_directory

HEAD = (
    b"HTTP/1.1 200 OK\r\nforgetd-protocol: 1\r\ncontent-type: text/event-stream\r\n"
    b"connection: close\r\n\r\n"
)


def frame(seq: int, kind: str = "memory.created", **data: Any) -> bytes:
    return f"id: {seq}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def refused(status: str, code: int, symbol: str, retryable: bool) -> bytes:
    error = {
        "code": code,
        "message": symbol,
        "data": {"symbol": symbol, "retryable": retryable},
    }
    body = json.dumps({"jsonrpc": "2.0", "error": error, "id": None})
    return (
        f"HTTP/1.1 {status}\r\nforgetd-protocol: 1\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    ).encode()


@contextmanager
def answering(answers: Sequence[bytes]) -> Iterator[tuple[Path, list[str]]]:
    """A server that gives each connection the next answer and hangs up, and what it was asked."""
    asked: list[str] = []
    with short_directory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        listener.listen()

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    asked.append(connection.recv(65_536).decode())
                    connection.sendall(answer)
            listener.close()
            (folder / "s").unlink()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield folder / "s", asked
        thread.join(20)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_client, "RETRY_FIRST_SECONDS", 0.001)


@pytest.mark.gate("EVT-21")
def test_frames_are_read_whatever_else_the_stream_may_hold() -> None:
    lines = (
        b': alive\n\nid: 4\n\nevent: x\nid: 5\ndata: {"a":1}\n\r\nretry: 3\n\nid:6\r\n\r\nid: 7\n'
    )
    assert list(parse(lines.splitlines(keepends=True))) == [
        Event(4, "", {}),
        Event(5, "x", {"a": 1}),
        Event(6, "", {}),
    ]
    with pytest.raises(HTTPException):
        list(parse([b"id: 1\n", b'data: {"a\n', b"\n"]))


@pytest.mark.gate("EVT-21")
def test_after_a_break_the_stream_is_asked_for_from_the_last_whole_event() -> None:
    answers = [
        HEAD + b"id: 7\n\n" + frame(8, n=8) + frame(9, n=9)[:-9],
        HEAD,
        HEAD + b"id: 8\n\n" + b": alive\n\n" + frame(9, n=9),
        refused("503 Service Unavailable", -32001, "shutting_down", True),
        HEAD + b"id: 9\n\n" + frame(10, "reset", oldest=11, latest=11) + frame(11, n=11),
    ]
    waits: list[str] = []
    with answering(answers) as (path, asked):
        stream = follow(Client(path), "me", when_waiting=lambda error: waits.append(str(error)))
        found = [next(stream) for _ in range(4)]
        stream.close()
    assert [(one.seq, one.kind) for one in found] == [
        (8, "memory.created"),
        (9, "memory.created"),
        (10, "reset"),
        (11, "memory.created"),
    ]
    assert found[2].data == {"oldest": 11, "latest": 11}
    assert all(one.startswith("GET /events?namespace=me HTTP/1.1") for one in asked)
    places = [one.partition("Last-Event-ID: ")[2].partition("\r\n")[0] for one in asked]
    assert places == ["", "8", "8", "9", "9"]
    assert waits == ["shutting_down"]


@pytest.mark.gate("EVT-21")
def test_what_no_waiting_can_mend_is_raised() -> None:
    with answering([refused("404 Not Found", 110, "namespace_not_found", False)]) as (path, _):
        with pytest.raises(RpcFailure) as failure:
            next(follow(Client(path), "absent"))
        assert failure.value.symbol == "namespace_not_found"
    with pytest.raises(Unreachable) as nobody:
        next(follow(Client(path)))
    assert nobody.value.reason == "no_socket"
    answers = [
        HEAD + b"id: 1\n\n" + frame(2),
        refused("404 Not Found", 110, "namespace_not_found", False),
    ]
    with answering(answers) as (path, _), pytest.raises(RpcFailure):
        list(follow(Client(path)))


@pytest.mark.gate("EVT-21")
def test_an_answer_of_something_else_is_told_as_such() -> None:
    with answering([b"HTTP/1.1 200 OK\r\n\r\nid: 1\n\n"]) as (path, _):
        with pytest.raises(Unreachable) as other:
            next(follow(Client(path)))
        assert other.value.reason == "not_forgetd"


@pytest.mark.gate("EVT-27")
def test_a_stream_cut_at_any_byte_is_read_on_without_gap_or_double() -> None:
    frames = [frame(number, text="커피 \n") for number in range(8, 15)]
    whole = b"id: 7\n\n" + b"".join(frames)
    everything = list(parse(whole.splitlines(keepends=True)))
    assert [one.seq for one in everything] == list(range(7, 15))
    for cut in range(len(whole)):
        before = list(parse(whole[:cut].splitlines(keepends=True)))
        place = before[-1].seq if before else 7
        rest = [b"id: %d\n\n" % place, *frames[place - 7 :]]
        after = list(parse(b"".join(rest).splitlines(keepends=True)))
        assert (before or everything[:1]) + after[1:] == everything, cut
