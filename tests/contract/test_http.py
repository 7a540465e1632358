"""HTTP on the socket: three paths, JSON for every refusal, and deadlines on everything."""

import asyncio
import gzip
import os

import pytest

from sidecar.limits import BODY_BYTES_MAX
from sidecar.rpc import connection as connection_module
from sidecar.rpc import http as http_module
from sidecar.rpc import peer as peer_module
from sidecar.rpc.peer import peer_uid, refusal
from tests.wire import Answer, Served, request_body, served

LIST = request_body("memory.list")


def assert_json_error(answer: Answer, status: int, code: int) -> None:
    """A refusal by the transport has the shape of a JSON-RPC error."""
    assert answer.status == status
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["forgetd-protocol"] == "1"
    assert answer.json["jsonrpc"] == "2.0"
    assert answer.json["id"] is None
    assert answer.error["code"] == code
    assert answer.error["data"]["symbol"]


async def exchange(daemon: Served, raw: bytes) -> Answer:
    peer = await daemon.connect()
    peer.send(raw)
    answer = await peer.answer()
    await peer.close()
    return answer


def get(path: str, verb: str = "GET") -> bytes:
    return f"{verb} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


@pytest.mark.gate("WIRE-20")
async def test_health_and_readiness_are_told_in_plain_text() -> None:
    async with served() as daemon:
        health = await exchange(daemon, get("/healthz"))
        assert (health.status, health.body) == (200, b"ok")
        assert (await exchange(daemon, get("/readyz"))).status == 200
        daemon.ready.clear()
        assert (await exchange(daemon, get("/healthz"))).status == 200
        ready = await exchange(daemon, get("/readyz"))
        assert (ready.status, ready.body) == (503, b"recovering")
        assert ready.headers["forgetd-protocol"] == "1"


@pytest.mark.gate("WIRE-20")
@pytest.mark.parametrize(
    "raw,status",
    [
        (get("/"), 404),
        (get("/rpc/"), 404),
        (get("/../etc/passwd"), 404),
        (get("/rpc"), 405),
        (get("/rpc", "DELETE"), 405),
        (get("/healthz", "POST"), 405),
        (b"NONSENSE\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n", 400),
        (b"GET /" + b"x" * 10_000 + b" HTTP/1.1\r\n\r\n", 400),
        (b"POST /rpc HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /rpc HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ],
)
async def test_whatever_is_not_a_call_is_refused_in_json(raw: bytes, status: int) -> None:
    async with served() as daemon:
        assert_json_error(await exchange(daemon, raw), status, -32600)
        assert "result" in await daemon.call("system.status")


@pytest.mark.gate("WIRE-21")
@pytest.mark.parametrize("path", ["/rpc", "/healthz", "/readyz"])
async def test_requests_of_web_pages_are_refused(path: str) -> None:
    async with served() as daemon:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nOrigin: null\r\nContent-Length: {len(LIST)}"
        answer = await exchange(daemon, head.encode() + b"\r\n\r\n" + LIST)
    assert_json_error(answer, 403, -32007)


@pytest.mark.gate("WIRE-21")
@pytest.mark.parametrize(
    "kind,accepted",
    [
        ("application/json", True),
        ("application/json; charset=UTF-8", True),
        ("application/json-rpc+json", True),
        ("application/x-www-form-urlencoded", True),  # what curl -d says of any body
        ("text/plain", True),
        ("application/json; charset=utf-16", False),
        ("multipart/form-data; boundary=x", False),
        ("application/xml", False),
    ],
)
async def test_a_body_that_is_said_not_to_be_json_is_refused(kind: str, accepted: bool) -> None:
    async with served() as daemon:
        answer = await daemon.post(LIST, Content_Type=kind)
        if accepted:
            assert "result" in answer.json
        else:
            assert_json_error(answer, 415, -32600)


@pytest.mark.gate("WIRE-05")
async def test_a_body_that_is_too_large_is_refused_by_its_length_alone() -> None:
    async with served() as daemon:
        head = f"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: {BODY_BYTES_MAX + 1}\r\n\r\n"
        answer = await exchange(daemon, head.encode())
        assert_json_error(answer, 413, -32004)
        assert str(BODY_BYTES_MAX) in answer.error["data"]["bound"]


@pytest.mark.gate("WIRE-05")
async def test_a_body_that_becomes_too_large_is_refused_whatever_its_coding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_module, "BODY_BYTES_MAX", 100_000)
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 100_000
    async with served() as daemon:
        peer = await daemon.connect()
        peer.send(b"POST /rpc HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        peer.send(b"186a1\r\n" + b" " * 100_001 + b"\r\n0\r\n\r\n")
        assert_json_error(await peer.answer(), 413, -32004)
        assert_json_error(await daemon.post(bomb, Content_Encoding="gzip"), 413, -32004)
        padded = LIST + b" " * (100_000 - len(LIST))
        assert "result" in (await daemon.post(padded)).json


@pytest.mark.gate("WIRE-22")
async def test_a_partial_body_is_given_up_after_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_module, "BODY_DEADLINE_SECONDS", 0.05)
    monkeypatch.setattr(http_module, "LINGER_SECONDS", 0.05)
    async with served() as daemon:
        peer = await daemon.connect()
        peer.send(b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
        assert_json_error(await peer.answer(), 408, -32005)
        assert await peer.at_end()
        assert "result" in await daemon.call("memory.list")


@pytest.mark.gate("WIRE-22")
async def test_a_partial_head_is_given_up_after_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_module, "HEADER_DEADLINE_SECONDS", 0.05)
    async with served() as daemon:
        fresh = await daemon.connect()
        fresh.send(b"POST /rpc HTTP/1.1\r\nHo")
        used = await daemon.connect()
        assert "result" in await used.call("memory.list")
        used.send(b"POST")
        for peer in (fresh, used):
            assert_json_error(await peer.answer(), 408, -32005)
            assert await peer.at_end()


@pytest.mark.gate("WIRE-22")
async def test_a_call_that_takes_long_is_no_late_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "HEADER_DEADLINE_SECONDS", 0.02)
    async with served() as daemon:
        await daemon.call("memory.put", {"id": "slow", "content": "slow"})
        peer = await daemon.connect()
        peer.begin("memory.get", {"id": "slow"})
        loop = asyncio.get_running_loop()
        space = daemon.registry.spaces["default"]
        loop.call_later(0.1, space.let_slow_ones_go.set)
        assert (await peer.answer()).json["result"]["content"] == "slow"
        assert "result" in await peer.call("memory.list")


@pytest.mark.gate("WIRE-22")
async def test_an_idle_connection_is_closed_after_the_keep_alive_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_module, "KEEP_ALIVE_SECONDS", 0.05)
    async with served() as daemon:
        silent, used = await daemon.connect(), await daemon.connect()
        assert "result" in await used.call("memory.list")
        assert await silent.at_end()
        assert await used.at_end()


@pytest.mark.gate("WIRE-23")
async def test_connections_are_kept_and_requests_may_be_sent_ahead() -> None:
    async with served() as daemon:
        peer = await daemon.connect()
        for number in range(5):
            peer.post(request_body("memory.list", None, number))
        assert [(await peer.answer()).json["id"] for _ in range(5)] == [0, 1, 2, 3, 4]


@pytest.mark.gate("WIRE-23")
async def test_a_client_that_waits_for_continue_is_told_to_go_on() -> None:
    async with served() as daemon:
        peer = await daemon.connect()
        head = f"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: {len(LIST)}"
        peer.send(head.encode() + b"\r\nExpect: 100-continue\r\n\r\n")
        assert (await peer.answer()).status == 100
        peer.send(LIST)
        assert "result" in (await peer.answer()).json


@pytest.mark.gate("WIRE-23")
async def test_one_connection_too_many_is_told_so_and_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_module, "CONNECTIONS_MAX", 3)
    async with served() as daemon:
        kept = [await daemon.connect() for _ in range(3)]
        for peer in kept:
            assert "result" in await peer.call("memory.list")
        late = await daemon.connect()
        assert_json_error(await late.answer(), 503, -32000)
        assert await late.at_end()
        assert "result" in await kept[0].call("memory.list")


@pytest.mark.gate("WIRE-24")
async def test_a_process_of_another_user_is_refused_on_every_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = os.geteuid()
    async with served() as daemon:
        monkeypatch.setattr(peer_module.os, "geteuid", lambda: own + 1)
        for raw in (get("/healthz"), get("/readyz")):
            assert_json_error(await exchange(daemon, raw), 403, -32007)
        refused = await daemon.post(request_body("memory.put", {"content": "a"}))
        assert_json_error(refused, 403, -32007)
        assert daemon.registry.spaces == {}


class TellingSocket:
    """A socket whose other end belongs to a user of the test's choice."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes:
        return self.raw[:buflen]


@pytest.mark.gate("WIRE-24")
def test_the_refusal_says_what_to_do() -> None:
    assert refusal(1_000, 1_000) is None
    root = refusal(0, 1_000)
    assert root is not None
    assert "sudo -u '#1000'" in root.data["remedy"]
    other = refusal(1_001, 1_000)
    assert other is not None
    assert "forgetd serve" in other.data["remedy"]


@pytest.mark.gate("WIRE-24")
def test_the_peer_is_read_as_the_system_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def ints(*values: int) -> bytes:
        return b"".join(value.to_bytes(4, "little") for value in values)

    assert peer_uid(TellingSocket(ints(4242, 1_007, 100))) == 1_007
    monkeypatch.delattr(peer_module.socket, "SO_PEERCRED")
    assert peer_uid(TellingSocket(ints(0, 1_007, 1) + ints(*[20] * 17))) == 1_007


@pytest.mark.gate("WIRE-25")
async def test_calls_wait_until_the_namespaces_are_recovered() -> None:
    async with served() as daemon:
        daemon.ready.clear()
        peer = await daemon.connect()
        peer.begin("memory.list")
        assert (await exchange(daemon, get("/readyz"))).status == 503
        daemon.ready.set()
        assert "result" in (await peer.answer()).json


@pytest.mark.gate("WIRE-25")
async def test_a_recovery_that_takes_too_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "CALL_DEADLINE_SECONDS", 0.02)
    async with served() as daemon:
        daemon.ready.clear()
        answer = await daemon.post(LIST)
    assert_json_error(answer, 503, -32000)
    assert answer.error["data"]["retryable"] is True
