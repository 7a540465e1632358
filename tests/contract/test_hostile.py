"""A share of the hostile input in every run of the tests; `python -m tests.hostile` gives more."""

import asyncio
import os
from statistics import median

import pytest

from sidecar.rpc import http as http_module
from sidecar.rpc.methods import METHODS
from tests.hostile import Outcome, asks_for_nothing, in_process, on_socket, watched
from tests.hostile_inputs import Inputs, valid_calls
from tests.wire import Peer, eventually, served

INPUTS = int(os.environ.get("FORGETD_HOSTILE_INPUTS", "30000"))
SOCKET_INPUTS = int(os.environ.get("FORGETD_HOSTILE_SOCKET_INPUTS", "1000"))
PIECES = 3


@pytest.mark.gate("HOSTILE-01")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("piece", range(PIECES))
async def test_no_input_at_the_envelope_gets_anything_but_a_reply(seed: int, piece: int) -> None:
    outcome = Outcome()
    await in_process(f"{seed}:{piece}", INPUTS // PIECES, outcome)
    assert outcome.faults == []
    assert outcome.inputs == INPUTS // PIECES
    assert outcome.answered > outcome.inputs // 10, "most inputs get past the envelope"
    assert outcome.refused > outcome.inputs // 4


@pytest.mark.gate("HOSTILE-02")
@pytest.mark.timeout(600)
async def test_no_input_on_the_socket_gets_anything_but_a_reply(seed: int) -> None:
    outcome = Outcome()
    await on_socket(f"{seed}:socket", SOCKET_INPUTS, outcome)
    assert outcome.faults == []
    assert outcome.inputs == SOCKET_INPUTS
    assert outcome.answered > SOCKET_INPUTS // 10


@pytest.mark.gate("HOSTILE-03")
def test_the_inputs_begin_with_every_method_and_are_the_same_for_a_seed() -> None:
    assert valid_calls().keys() == METHODS.keys()
    first, again, other = Inputs("1"), Inputs("1"), Inputs("2")
    bodies = [first.next() for _ in range(3_000)]
    assert bodies == [again.next() for _ in range(3_000)]
    assert bodies != [other.next() for _ in range(3_000)]
    seen = b"".join(bodies)
    for method in METHODS.keys() - {"system.stop"}:
        assert f'"{method}"'.encode() in seen, method
    for odd in (b"NaN", b"\\ud800", b"\\u0000", b"\\ucee4\\ud53c", b"9007199254740992", b"[[[[["):
        assert odd in seen, odd
    assert any(asks_for_nothing(body) for body in bodies)


@pytest.mark.gate("HOSTILE-03")
@pytest.mark.parametrize(
    "reply",
    [
        None,
        b"",
        b"null",
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"result":1,"error":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x","data":{"symbol":"unknown"}}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error",'
        b'"data":{"symbol":"internal_error","retryable":false}}}',
    ],
)
def test_what_is_no_good_reply_is_a_fault(reply: bytes | None) -> None:
    outcome = Outcome()
    outcome.see(b'{"jsonrpc":"2.0","id":1,"method":"memory.list"}', reply)
    assert len(outcome.faults) == 1


@pytest.mark.gate("HOSTILE-04")
async def test_a_peer_that_leaves_while_it_sends_is_no_error_of_the_daemon() -> None:
    outcome = Outcome()
    with watched(outcome):
        async with served() as daemon:
            for _ in range(20):
                peer = await Peer.connect(daemon.path)
                peer.send(b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
                await asyncio.sleep(0)
                peer.writer.transport.abort()
            server = daemon.http._server
            assert server is not None
            await eventually(lambda: not server.connections)
            assert "result" in await daemon.call("memory.list")
    assert outcome.faults == []


IDLE, SLOW = 500, 50


@pytest.mark.gate("HOSTILE-05")
async def test_beside_idle_and_half_sent_requests_calls_are_served_and_the_slow_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sidecar.rpc.connection.HEADER_DEADLINE_SECONDS", 2.0)
    monkeypatch.setattr(http_module, "BODY_DEADLINE_SECONDS", 2.0)
    half_head = b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Le"
    half_body = b'POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n{"jsonrpc":'
    async with served() as daemon:
        server = daemon.http._server
        assert server is not None
        idle = [await daemon.connect() for _ in range(IDLE)]
        slow = [await daemon.connect() for _ in range(SLOW)]
        for number, peer in enumerate(slow):
            peer.send(half_head if number % 2 else half_body)
        await eventually(lambda: len(server.connections) == IDLE + SLOW)
        # One of them goes on sending, a byte at a time: that buys it no time.
        dripping = slow[1]
        loop = asyncio.get_running_loop()
        took: list[float] = []
        for number in range(200):
            dripping.send(b"n")
            began = loop.time()
            put = await daemon.call("memory.put", {"id": f"m{number}", "content": "커피"})
            assert put["result"]["id"] == f"m{number}"
            took.append(loop.time() - began)
        assert median(took) < 0.2, "a call beside them waits for nobody"
        for peer in slow:
            answer = await peer.answer()
            assert (answer.status, answer.error["code"]) == (408, -32005)
            assert await peer.at_end()
        await eventually(lambda: len(server.connections) == IDLE)
        assert "result" in await idle[0].call("memory.list")
        for peer in idle:
            await peer.close()
        await eventually(lambda: not server.connections)
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert left == []
