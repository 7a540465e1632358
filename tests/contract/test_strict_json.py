"""What JSON allows and the daemon does not: refused by a typed error, and nothing stored."""

import json
import math
import random
import struct
import time
from typing import Any

import msgspec
import pytest

from sidecar.limits import INTEGER_MAX, JSON_DEPTH_MAX
from sidecar.rpc.json_scan import decode_strict, json_path
from tests.wire import Served, request_body, served

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602


def put_with(raw_params: str) -> bytes:
    """A memory.put whose parameters are spelled by the test."""
    return f'{{"jsonrpc":"2.0","id":7,"method":"memory.put","params":{raw_params}}}'.encode()


async def refused(daemon: Served, body: bytes) -> dict[str, Any]:
    """The error of a refused body. The daemon lives on and nothing is stored."""
    answer = await daemon.post(body)
    assert answer.status == 200
    assert (await daemon.call("system.status"))["result"]["namespaces"] == []
    return answer.error


@pytest.mark.gate("WIRE-02")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"{'jsonrpc': '2.0'}",
        b'{"jsonrpc":"2.0",}',
        b"\xef\xbb\xbf" + request_body("memory.list"),
        put_with('{"content":"\xff"}').replace("\xff".encode(), b"\xff"),
        put_with('{"content":"half \\ud83d of a pair"}'),
        put_with('{"content":"a","metadata":{"\\udc00":1}}'),
        put_with('{"content":"a","importance":NaN}'),
        put_with('{"content":"a","importance":Infinity}'),
        put_with('{"content":"a","importance":1e999}'),
        put_with('{"content":"a"} trailing'),
        put_with('{"content":"a","metadata":' + "[" * 200_000 + "]" * 200_000 + "}"),
        b"[" * 1_000_000,
        put_with('{"content":"' + '\\"' * 1_000_000),
    ],
    ids=lambda body: repr(body[:90])[-30:],
)
async def test_what_is_not_json_is_a_parse_error(body: bytes) -> None:
    async with served() as daemon:
        error = await refused(daemon, body)
    assert (error["code"], error["message"]) == (PARSE_ERROR, "Parse error")
    assert error["data"]["symbol"] == "parse_error"
    assert error["data"]["detail"]
    assert error["data"]["bound"]
    assert error["data"]["remedy"]


@pytest.mark.gate("WIRE-02")
@pytest.mark.parametrize(
    "params,field",
    [
        ('{"content":"a","content":"b"}', "$.content"),
        ('{"content":"a","\\u0063ontent":"b"}', "$.content"),
        ('{"content":"a: \\": b","metadata":{"x":{"y":1,"y":1}}}', "$.metadata.x.y"),
        ('{"content":"a","metadata":{"":1,"":2}}', '$.metadata[""]'),
        ('{"content":"a","metadata":{"n":9007199254740992}}', "$.metadata.n"),
        ('{"content":"a","metadata":{"n":[0,-9007199254740992]}}', "$.metadata.n[1]"),
        ('{"content":"a","createdAt":123456789012345678901234567890}', "$.createdAt"),
        (
            '{"content":"a","metadata":{"n":' + "[" * JSON_DEPTH_MAX + "]" * JSON_DEPTH_MAX + "}}",
            "$.metadata.n",
        ),
    ],
    ids=["key", "escaped key", "nested key", "empty key", "large", "small", "huge", "deep"],
)
async def test_what_json_would_let_pass_names_its_place(params: str, field: str) -> None:
    async with served() as daemon:
        error = await refused(daemon, put_with(params))
    assert error["code"] == INVALID_PARAMS
    assert error["data"]["field"] == field
    assert error["data"]["bound"]
    assert error["data"]["remedy"]


@pytest.mark.gate("WIRE-02")
@pytest.mark.parametrize(
    "body,field",
    [
        (b'{"jsonrpc":"2.0","method":"memory.list","method":"memory.put","id":1}', "$.method"),
        (b'{"jsonrpc":"2.0","method":"memory.list","id":9007199254740993}', "$.id"),
    ],
)
async def test_outside_of_the_parameters_the_request_is_invalid(body: bytes, field: str) -> None:
    async with served() as daemon:
        error = await refused(daemon, body)
    assert (error["code"], error["message"]) == (INVALID_REQUEST, "Invalid Request")
    assert error["data"]["field"] == field


@pytest.mark.gate("WIRE-02")
def test_what_is_just_within_the_bounds_passes() -> None:
    deep: Any = 1
    for _ in range(JSON_DEPTH_MAX - 1):
        deep = [deep]
    for value in (
        {"deep": deep},
        {"n": [INTEGER_MAX, -INTEGER_MAX, 0]},
        {"text": 'colons: "quoted: \\" :" 커피 \U0001f642', "more": {"text": ":"}},
        {"float": 1e308, "tiny": 5e-324, "huge as float": 1e300},
    ):
        decoded, faults = decode_strict(json.dumps(value).encode())
        assert decoded == value
        assert faults == {}


@pytest.mark.gate("WIRE-02")
def test_surrogate_pairs_of_an_escaping_encoder_are_text() -> None:
    assert decode_strict(rb'{"a":"\ud83d\ude42"}') == ({"a": "\U0001f642"}, {})


@pytest.mark.gate("WIRE-02")
def test_a_fault_is_found_only_in_the_member_that_has_it() -> None:
    body = b'[{"a":1},{"b":{"c":1,"c":2}},{"d":9007199254740992},{"e":":"}]'
    _, faults = decode_strict(body)
    assert {index: json_path(fault.path) for index, fault in faults.items()} == {
        1: "$.b.c",
        2: "$.d",
    }


@pytest.mark.gate("WIRE-03")
def test_a_thousand_vectors_are_scanned_about_as_fast_as_they_are_decoded(
    rng: random.Random,
) -> None:
    memories = [
        {"content": f"fact: {i}", "embedding": [rng.uniform(-1, 1) for _ in range(384)]}
        for i in range(1_000)
    ]
    body = request_body("memory.putMany", {"memories": memories})

    def seconds(work: Any) -> float:
        started = time.perf_counter()
        work(body)
        return time.perf_counter() - started

    plain = min(seconds(msgspec.json.decode) for _ in range(5))
    strict = min(seconds(decode_strict) for _ in range(5))
    assert strict < 5 * plain


@pytest.mark.gate("WIRE-02")
async def test_a_vector_arrives_bit_for_bit() -> None:
    numbers = struct.unpack("<8f", random.Random(5).randbytes(32))
    numbers = [n if math.isfinite(n) else 0.5 for n in numbers]
    async with served() as daemon:
        assert "result" in await daemon.call("memory.put", {"content": "a", "embedding": numbers})
        memory = daemon.registry.spaces["default"].calls[0][1]["memory"]
    assert memory.embedding == numbers
