"""The 15 examples of the JSON-RPC 2.0 specification, as it prints them."""

import json
from typing import Any

import pytest
from msgspec import Struct

from sidecar.rpc.calls import Calls
from sidecar.rpc.context import Context
from sidecar.rpc.dispatch import Dispatcher
from sidecar.rpc.envelope import Envelope
from sidecar.rpc.method import Methods
from tests.fake_registry import FakeRegistry

example = Methods()


class Difference(Struct, forbid_unknown_fields=True):
    minuend: float
    subtrahend: float


class Five(Struct):
    a: float = 0
    b: float = 0
    c: float = 0
    d: float = 0
    e: float = 0


@example.add("subtract", params=Difference, result=float, positional=("minuend", "subtrahend"))
async def subtract(_: Context, params: Difference) -> float:
    return params.minuend - params.subtrahend


@example.add("sum", params=Five, result=float, positional=("a", "b", "c", "d", "e"))
async def total(_: Context, params: Five) -> float:
    return params.a + params.b + params.c + params.d + params.e


@example.add("update", params=Five, result=None, positional=("a", "b", "c", "d", "e"))
async def update(_: Context, params: Five) -> None:
    return None


@example.add("notify_hello", params=Five, result=None, positional=("a",))
async def notify_hello(_: Context, params: Five) -> None:
    return None


@example.add("notify_sum", params=Five, result=None, positional=("a", "b", "c"))
async def notify_sum(_: Context, params: Five) -> None:
    return None


@example.add("get_data", params=Five, result=list)
async def get_data(_: Context, params: Five) -> list[Any]:
    return ["hello", 5]


INVALID = '{"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}'
UNPARSED = '{"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null}'

# (name, what is sent, what comes back or None for nothing)
EXAMPLES: list[tuple[str, str, str | None]] = [
    (
        "positional parameters",
        '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
        '{"jsonrpc": "2.0", "result": 19, "id": 1}',
    ),
    (
        "positional parameters, the other way round",
        '{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}',
        '{"jsonrpc": "2.0", "result": -19, "id": 2}',
    ),
    (
        "named parameters",
        '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, '
        '"id": 3}',
        '{"jsonrpc": "2.0", "result": 19, "id": 3}',
    ),
    (
        "named parameters, the other way round",
        '{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, '
        '"id": 4}',
        '{"jsonrpc": "2.0", "result": 19, "id": 4}',
    ),
    ("a notification", '{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', None),
    ("a notification of an unknown method", '{"jsonrpc": "2.0", "method": "foobar"}', None),
    (
        "an unknown method",
        '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}',
        '{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "1"}',
    ),
    (
        "invalid JSON",
        '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]',
        UNPARSED,
    ),
    (
        "an invalid Request object",
        '{"jsonrpc": "2.0", "method": 1, "params": "bar"}',
        INVALID,
    ),
    (
        "a batch of invalid JSON",
        '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},'
        '{"jsonrpc": "2.0", "method"]',
        UNPARSED,
    ),
    ("an empty array", "[]", INVALID),
    ("an invalid batch that is not empty", "[1]", f"[{INVALID}]"),
    ("an invalid batch", "[1,2,3]", f"[{INVALID},{INVALID},{INVALID}]"),
    (
        "a batch",
        """[
        {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
        {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
        {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
        {"foo": "boo"},
        {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
        {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
        ]""",
        '[{"jsonrpc": "2.0", "result": 7, "id": "1"},'
        '{"jsonrpc": "2.0", "result": 19, "id": "2"},'
        f"{INVALID},"
        '{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "5"},'
        '{"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}]',
    ),
    (
        "a batch of notifications",
        """[
        {"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
        {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}
        ]""",
        None,
    ),
]


def without_data(reply: Any) -> Any:
    """The reply without `error.data`, which the specification leaves to the server."""
    if isinstance(reply, list):
        return [without_data(one) for one in reply]
    if "error" in reply:
        assert set(reply["error"]) == {"code", "message", "data"}
        del reply["error"]["data"]
    return reply


@pytest.mark.gate("WIRE-01")
@pytest.mark.parametrize("sent,expected", [e[1:] for e in EXAMPLES], ids=[e[0] for e in EXAMPLES])
async def test_the_specification_is_followed_to_the_letter(sent: str, expected: str | None) -> None:
    registry = FakeRegistry()
    calls = Calls(Context(registry, registry.clock, lambda: None))
    envelope = Envelope(Dispatcher({method.name: method for method in example}, calls))
    reply = await envelope.answer(sent.encode())
    if expected is None:
        assert reply is None
    else:
        assert reply is not None
        assert without_data(json.loads(reply)) == json.loads(expected)


def test_there_are_as_many_examples_as_in_the_specification() -> None:
    assert len(EXAMPLES) == 15
