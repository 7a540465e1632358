"""Batches are the daemon's own: one bad call never spoils the others."""

import json
from typing import Any

import pytest

from sidecar.limits import BATCH_CALLS_MAX
from tests.fake_registry import BROKEN_ID
from tests.wire import request_body, served


def batch_of(*bodies: bytes) -> bytes:
    return b"[" + b",".join(bodies) + b"]"


def by_id(replies: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    return {reply["id"]: reply for reply in replies}


@pytest.mark.gate("WIRE-04")
async def test_bad_calls_leave_the_good_ones_of_a_batch_alone() -> None:
    body = batch_of(
        request_body("memory.put", {"id": "first", "content": "kept"}, 1),
        b'{"jsonrpc":"2.0","id":2,"method":"memory.put","params":{"content":"a","content":"b"}}',
        b'{"jsonrpc":"2.0","id":3,"method":"memory.put","params":{"importance":9007199254740992}}',
        b'{"jsonrpc":"2.0","id":4,"method":"memory.nothing"}',
        b'{"jsonrpc":"1.0","id":5,"method":"memory.list"}',
        b'{"jsonrpc":"2.0","id":[6],"method":"memory.list"}',
        b"7",
        request_body("memory.get", {"id": BROKEN_ID}, 8),
        request_body("memory.get", {"id": "first", "unknown": 1}, 9),
        request_body("memory.get", {"id": "first"}, 10),
    )
    async with served() as daemon:
        replies = (await daemon.post(body)).json
    assert len(replies) == 10
    codes = {reply["id"]: reply.get("error", {}).get("code") for reply in replies}
    assert codes == {
        1: None, 2: -32602, 3: -32602, 4: -32601, 5: -32600, None: -32600, 8: -32603, 9: -32602,
        10: None,
    }  # fmt: skip
    assert by_id(replies)[10]["result"]["content"] == "kept"
    assert sum(reply["id"] is None for reply in replies) == 2


@pytest.mark.gate("WIRE-04")
async def test_the_calls_of_a_batch_are_carried_out_in_order() -> None:
    names = [f"m{i}" for i in range(BATCH_CALLS_MAX // 2)]
    calls = [
        body
        for name in names
        for body in (
            request_body("memory.put", {"id": name, "content": name}, f"put {name}"),
            request_body("memory.get", {"id": name}, f"get {name}"),
        )
    ]
    async with served() as daemon:
        replies = (await daemon.post(batch_of(*calls))).json
    assert [reply["result"]["content"] for reply in replies[1::2]] == names


@pytest.mark.gate("WIRE-05")
async def test_a_batch_of_too_many_calls_is_too_large_and_none_is_carried_out() -> None:
    put = request_body("memory.put", {"content": "a"})
    async with served() as daemon:
        answer = await daemon.post(batch_of(*[put] * (BATCH_CALLS_MAX + 1)))
        assert daemon.registry.spaces == {}
    assert answer.error["code"] == -32004
    assert str(BATCH_CALLS_MAX) in answer.error["data"]["bound"]
    assert answer.json["id"] is None


@pytest.mark.gate("WIRE-06")
async def test_a_notification_is_carried_out_and_never_answered() -> None:
    quiet = json.dumps(
        {"jsonrpc": "2.0", "method": "memory.put", "params": {"id": "a", "content": "quiet"}}
    ).encode()
    wrong = b'{"jsonrpc":"2.0","method":"memory.put","params":{"contnt":1}}'
    faulty = b'{"jsonrpc":"2.0","method":"memory.put","params":{"content":"a","content":"b"}}'
    unknown = b'{"jsonrpc":"2.0","method":"memory.putt"}'
    async with served() as daemon:
        for body in (quiet, wrong, faulty, unknown, batch_of(quiet, wrong, unknown)):
            answer = await daemon.post(body)
            assert (answer.status, answer.body) == (204, b"")
        assert set(daemon.registry.spaces["default"].memories) == {"a"}


@pytest.mark.gate("WIRE-06")
async def test_an_id_of_null_is_answered_and_every_kind_of_id_comes_back() -> None:
    async with served() as daemon:
        for call_id in (None, 0, -5, 1.5, "", "커피", 2**53 - 1):
            reply = (await daemon.post(request_body("memory.list", None, call_id))).json
            assert reply["id"] == call_id
            assert "result" in reply
