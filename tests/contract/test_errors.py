"""Every refusal names the field, the bound and the remedy; nothing leaks; nothing is stored."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from sidecar.errors import walk
from sidecar.limits import CALLS_IN_FLIGHT_MAX
from sidecar.rpc import method as method_module
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods, NoParams
from tests.fake_registry import BROKEN_ID, SECRET, SLOW_ID
from tests.wire import eventually, request_body, served


@pytest.fixture
def logged() -> Iterator[list[dict[str, Any]]]:
    """The log lines of one test."""
    with structlog.testing.capture_logs() as lines:
        yield lines  # type: ignore[misc]


@pytest.mark.gate("WIRE-07")
@pytest.mark.parametrize(
    "method,params,field,remedy",
    [
        ("memory.put", {"contnt": "a"}, "$.contnt", "content"),
        ("memory.put", {"content": " "}, "$.content", "split"),
        (
            "memory.put",
            {"content": "a", "createdAt": 1_700_000_000},
            "$.createdAt",
            "1700000000000",
        ),
        ("memory.putMany", {"memories": [{"content": ""}]}, "$.memories[0].content", "split"),
        ("memory.put", {"content": 5}, "$.content", "a string"),
        ("memory.put", {"content": "a", "importance": "high"}, "$.importance", "a number"),
        ("memory.put", {"content": "a", "pinned": 1}, "$.pinned", "true or false"),
        ("memory.put", {"content": "a", "recallCount": 1.5}, "$.recallCount", "an integer"),
        ("memory.put", {"content": "a", "recallCount": True}, "$.recallCount", "an integer"),
        ("memory.put", {"content": "a", "memoryType": "x"}, "$.memoryType", "episodic"),
        ("memory.put", {"content": "a", "ifExists": "x"}, "$.ifExists", "replace"),
        ("memory.put", {"content": "a", "embedding": [1, "2"]}, "$.embedding[1]", "a number"),
        ("memory.put", {"content": "a", "metadata": []}, "$.metadata", "an object"),
        ("memory.putMany", {"memories": [{}, {"importnce": 1}]}, "$.memories[1].importnce", "imp"),
        ("memory.putMany", {"memories": [{}, {"id": 5}]}, "$.memories[1].id", "a string"),
        ("memory.putMany", {"memories": [{}] * 10_001}, "$.memories", "10000"),
        ("memory.putMany", {"memories": {}}, "$.memories", "an array"),
        ("memory.get", {}, "$.id", "$.id"),
        ("memory.get", {"id": ""}, "$.id", "1 to 256"),
        ("memory.get", {"id": "x" * 300}, "$.id", "1 to 256"),
        ("memory.get", {"id": "a", "namespace": "../b"}, "$.namespace", "another"),
        ("memory.get", {"id": "a", "namespace": 7}, "$.namespace", "a string"),
        ("memory.list", {"limit": 0}, "$.limit", "from 1 to 1000"),
        ("memory.list", {"tier": "warm"}, "$.tier", "cold"),
        ("memory.update", {"id": "a", "patch": {"id": "b"}}, "$.patch.id", "supersede"),
        ("memory.update", {"id": "a", "patch": {"conten": "b"}}, "$.patch.conten", "content"),
        ("memory.hold", {"id": "a", "until": 1_700_000_000}, "$.until", "milliseconds"),
        ("memory.recall", {}, "$.query", "memory.list"),
        ("memory.recall", {"query": "a", "topK": 5_000}, "$.topK", "from 1 to 1000"),
        ("memory.restore", {}, "$", "name one"),
        ("memory.restore", {"ids": ["a"], "runId": "b"}, "$", "name one"),
        ("runs.decisions", {}, "$", "the run"),
        ("forgetSweep", {"brakeShare": 0}, "$.brakeShare", "greater than 0"),
        ("forgetSweep", {"now": 1_800_000_000_000}, "$.now", "dryRun"),
        ("forgetSweep", {"dryrun": True}, "$.dryrun", "dryRun"),
        ("forgetSweep", [True, "plan"], "$", "object"),
        ("memory.get", ["a"], "$", "object"),
        ("thresholds.set", {"thresholds": {"lowWatermak": 1}}, "$.thresholds.lowWatermak", "lowW"),
        ("thresholds.set", {"thresholds": {"lowWatermark": 2}}, "$.thresholds.lowWatermark", "1"),
        ("namespaces.open", {"thresholds": {"minIdleDays": -1}}, "$.thresholds.minIdleDays", "0"),
    ],
)
async def test_a_wrong_parameter_is_named_with_bound_and_remedy(
    method: str, params: Any, field: str, remedy: str
) -> None:
    async with served() as daemon:
        error = (await daemon.call(method, params))["error"]
        assert daemon.registry.spaces == {}
        assert "result" in await daemon.call("system.status")
    assert error["code"] == -32602
    assert error["data"]["symbol"] == "invalid_params"
    assert error["data"]["field"] == field
    assert error["data"]["bound"]
    assert remedy in error["data"]["remedy"]


@pytest.mark.gate("WIRE-08")
@pytest.mark.parametrize(
    "call,code,told",
    [
        ({"method": "memory.puut"}, -32601, "memory.put"),
        ({"method": "ForgetSweep"}, -32601, "forgetSweep"),
        ({"method": "zzzzzzzz"}, -32601, "system.status"),
        ({"method": "memory.list", "parms": {}}, -32600, "params"),
        ({"method": "memory.list", "params": "x"}, -32600, "params"),
        ({"method": "memory.list", "params": None}, -32600, "leave it out"),
        ({"method": None}, -32600, "system.status"),
    ],
)
async def test_an_unknown_method_or_member_is_told_with_the_likely_name(
    call: dict[str, Any], code: int, told: str
) -> None:
    async with served() as daemon:
        body = json.dumps({"jsonrpc": "2.0", "id": 3, **call}).encode()
        reply = (await daemon.post(body)).json
    assert reply["id"] == 3
    assert reply["error"]["code"] == code
    assert told in reply["error"]["data"]["remedy"]


@pytest.mark.gate("WIRE-09")
async def test_an_unforeseen_failure_tells_a_correlation_id_and_nothing_else(
    logged: list[dict[str, Any]],
) -> None:
    async with served() as daemon:
        await daemon.call("memory.put", {"content": "before"})
        answer = await daemon.post(request_body("memory.get", {"id": BROKEN_ID}))
        assert "result" in await daemon.call("memory.put", {"content": "after"})
    assert answer.error["code"] == -32603
    assert answer.error["message"] == "Internal error"
    assert set(answer.error["data"]) == {"symbol", "retryable", "correlationId"}
    assert SECRET.encode() not in answer.body
    (line,) = [line for line in logged if line["event"] == "internal error"]
    assert line["correlationId"] == answer.error["data"]["correlationId"]
    assert str(line["exc_info"]) == SECRET


odd = Methods()


@odd.add("odd.unencodable", params=NoParams, result=object)
async def unencodable(_: Context, params: NoParams) -> Any:
    return {"value": object()}


@odd.add("odd.surrogate", params=NoParams, result=str)
async def surrogate(_: Context, params: NoParams) -> Any:
    return "\ud800"


@odd.add("odd.endless", params=NoParams, result=list)
async def endless(_: Context, params: NoParams) -> Any:
    nested: list[Any] = []
    nested.append(nested)
    return nested


@odd.add("odd.cancelled", params=NoParams, result=None)
async def cancelled(_: Context, params: NoParams) -> Any:
    raise asyncio.CancelledError


@pytest.mark.gate("WIRE-10")
@pytest.mark.parametrize("method", [one.name for one in odd])
async def test_a_result_that_cannot_be_sent_is_an_internal_error(method: str) -> None:
    async with served({one.name: one for one in odd}) as daemon:
        error = (await daemon.call(method))["error"]
        assert error["code"] == -32603
        assert error["data"]["correlationId"]


@pytest.mark.gate("WIRE-11")
async def test_a_deadline_answers_and_the_call_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(method_module, "CALL_DEADLINE_SECONDS", 0.05)
    async with served() as daemon:
        await daemon.call("memory.put", {"id": SLOW_ID, "content": "slow"})
        error = (await daemon.call("memory.get", {"id": SLOW_ID}))["error"]
        assert error["code"] == -32005
        assert error["data"]["retryable"] is True
        assert "0.05" in error["data"]["bound"]
        assert len(daemon.calls) == 1
        daemon.registry.spaces["default"].let_slow_ones_go.set()
        assert await daemon.calls.finished(5)
        assert len(daemon.calls) == 0


@pytest.mark.gate("WIRE-11")
async def test_a_run_outlives_the_connection_that_asked_for_it() -> None:
    async with served() as daemon:
        await daemon.call("memory.put", {"content": "a"})
        space = daemon.registry.spaces["default"]
        peer = await daemon.connect()
        peer.begin("forgetSweep")
        await space.sweep_started.wait()
        await peer.close()
        assert "result" in await daemon.call("system.status")
        assert len(daemon.calls) == 1
        space.closing.set()
        assert await daemon.calls.finished(5)


@pytest.mark.gate("WIRE-12")
async def test_more_calls_than_the_daemon_takes_are_told_to_come_back() -> None:
    async with served() as daemon:
        await daemon.call("memory.put", {"id": SLOW_ID, "content": "slow"})
        waiting = [await daemon.connect() for _ in range(CALLS_IN_FLIGHT_MAX)]
        for peer in waiting:
            peer.begin("memory.get", {"id": SLOW_ID})
        await eventually(lambda: len(daemon.calls) == CALLS_IN_FLIGHT_MAX)
        error = (await daemon.call("memory.list"))["error"]
        assert error["code"] == -32000
        assert error["data"]["retryable"] is True
        assert str(CALLS_IN_FLIGHT_MAX) in error["data"]["bound"]
        daemon.registry.spaces["default"].let_slow_ones_go.set()
        answers = [await peer.answer() for peer in waiting]
        assert all(answer.json["result"]["content"] == "slow" for answer in answers)
        assert "result" in await daemon.call("memory.list")


@pytest.mark.gate("WIRE-13")
def test_errors_have_codes_symbols_and_exit_codes_of_their_own() -> None:
    errors = walk()
    assert len({error.symbol for error in errors}) == len(errors)
    by_code: dict[int, list[str]] = {}
    for error in errors:
        by_code.setdefault(error.code, []).append(error.symbol)
    shared = {code: symbols for code, symbols in by_code.items() if len(symbols) > 1}
    assert shared == {-32010: ["read_only", "disk_full"]}
    assert all(0 < error.exit_code < 128 for error in errors)
