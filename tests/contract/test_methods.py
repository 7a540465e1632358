"""The table of methods: complete, described, and true to its promises about reading."""

import re
from typing import Any

import msgspec
import pytest

from sidecar.absent import no_sweep
from sidecar.errors import Corrupt
from sidecar.rpc.methods import METHODS
from tests.wire import Served, served

RUN_ID, PLAN_ID, T0 = "run-1", "plan-1", 1_800_000_000_000

# The smallest call of every method.
PARAMS: dict[str, Any] = {
    "memory.put": {"content": "a"},
    "memory.putMany": {"memories": [{"content": "a"}]},
    "memory.get": {"id": "a"},
    "memory.getMany": {"ids": ["a", "b"]},
    "memory.list": {},
    "memory.update": {"id": "a", "patch": {"content": "b"}},
    "memory.recall": {"query": "a"},
    "memory.touch": {"ids": ["a"]},
    "memory.supersede": {"id": "a", "by": "b"},
    "memory.pin": {"id": "a"},
    "memory.hold": {"id": "a", "until": None},
    "memory.explain": {"id": "a"},
    "memory.feedback": {"id": "a", "signal": "useful"},
    "memory.invalidate": {"id": "a", "reason": "incorrect"},
    "memory.export": {},
    "memory.import": {"memories": [{"content": "a", "unknown": 1}]},
    "forgetSweep": {"dryRun": True},
    "coldSpill": {"dryRun": True},
    "memory.forget": {"ids": ["a"]},
    "memory.restore": {"ids": ["a"]},
    "thresholds.get": {},
    "thresholds.set": {"thresholds": {}},
    "thresholds.resume": {},
    "forgetting.runCycle": {"dryRun": True},
    "lifecycle.forget": {},
    "lifecycle.invalidationsByReason": {},
    "lifecycle.listArchived": {},
    "review.flagged": {},
    "review.open": {"id": "a"},
    "review.clear": {"reason": "regret"},
    "proposals.submit": {"content": "a", "proposedConfidence": 0.5},
    "proposals.list": {},
    "proposals.accept": {"id": "a"},
    "proposals.reject": {"id": "a"},
    "proposals.gc": {},
    "simulate": {},
    "estimate.refresh": {},
    "runs.list": {},
    "runs.get": {"runId": RUN_ID},
    "runs.decisions": {"runId": RUN_ID},
    "runs.undo": {"runId": RUN_ID},
    "gc.plan": {},
    "gc.execute": {"token": "gc-token"},
    "gc.verify": {"ids": ["a"]},
    "events.list": {},
    "namespaces.open": {},
    "namespaces.list": {},
    "rpc.discover": {},
    "system.status": {},
    "system.limits": {},
    "system.clock": {},
    "system.stop": {},
}


@pytest.mark.gate("WIRE-14")
def test_every_method_of_the_protocol_is_there_and_described() -> None:
    assert list(METHODS) == list(PARAMS)
    for method in METHODS.values():
        assert re.fullmatch(r"[A-Z][^\n]{10,98}\.", method.summary), method.name
        names = [field.encode_name for field in msgspec.structs.fields(method.params)]
        assert "namespace" in names, method.name
        assert not [name for name in names if not re.fullmatch(r"[a-z][A-Za-z]*", name)]
        assert set(method.positional) <= set(names)


@pytest.mark.gate("WIRE-14")
def test_parameters_and_results_have_json_schemas() -> None:
    types = [kind for method in METHODS.values() for kind in (method.params, method.result)]
    _, components = msgspec.json.schema_components(types, ref_template="#/{name}")
    assert not [name for name in components if "." in name], "two types of one name"
    for method in METHODS.values():
        properties = components[method.params.__name__]["properties"]
        assert properties["namespace"]["default"] == "default"
        assert components[method.params.__name__]["additionalProperties"] is False


async def error_of(daemon: Served, method: str, **more: Any) -> str:
    reply = await daemon.call(method, {**PARAMS[method], **more})
    return reply["error"]["data"]["symbol"]


@pytest.mark.gate("WIRE-15")
async def test_reading_an_unknown_namespace_answers_empty_and_makes_none() -> None:
    async with served() as daemon:

        async def result(method: str, **more: Any) -> Any:
            return (await daemon.call(method, {**PARAMS[method], **more}))["result"]

        assert await result("memory.get") is None
        assert await result("memory.getMany") == [None, None]
        assert await result("memory.list") == {"memories": [], "cursor": None}
        recalled = await result("memory.recall", depth="deep")
        assert recalled == {"results": [], "depth": "deep", "coldScanned": 0}
        assert await result("runs.list") == {"runs": [], "cursor": None}
        assert await result("events.list") == {"events": [], "latest": 0, "oldest": 1}
        assert (await result("system.status"))["namespaces"] == []
        assert (await result("system.status", all=True))["namespaces"] == []
        assert await result("namespaces.list") == {"namespaces": []}
        thresholds = await result("thresholds.get")
        assert thresholds["thresholds"]["forgetThresholdCount"] == {
            "value": 10_000,
            "origin": "default",
        }
        for method in ("forgetSweep", "coldSpill"):
            report = await result(method)
            assert report["dryRun"] is True
            assert report["planId"] is None
            assert report["before"]["total"] == 0
            assert report["decisions"] == []
        assert (await result("forgetSweep", now=T0))["now"] == T0
        assert await error_of(daemon, "forgetSweep", planId=PLAN_ID) == "plan_unknown"
        assert await error_of(daemon, "forgetSweep", policy="mine") == "policy_unknown"
        for method in ("explain", "update", "pin", "hold", "supersede"):
            assert await error_of(daemon, f"memory.{method}") == "memory_not_found"
        assert await error_of(daemon, "runs.get") == "run_unknown"
        assert await error_of(daemon, "runs.decisions") == "run_unknown"
        assert await error_of(daemon, "runs.decisions", runId=None, planId="p") == "plan_unknown"
        assert daemon.registry.spaces == {}


@pytest.mark.gate("WIRE-16")
async def test_a_partial_put_many_stores_the_good_and_names_the_bad_by_their_place() -> None:
    memories = [
        {"id": "a", "content": "good"},
        {"id": "b", "content": 5},
        {"id": "c", "content": " "},
        {"id": "d", "content": "good"},
        {"id": 7, "content": "x"},
        {"content": "\t"},
    ]
    async with served() as daemon:
        report = (await daemon.call("memory.putMany", {"memories": memories, "partial": True}))[
            "result"
        ]
        assert [item["result"] for item in report["results"]] == [
            "created", "failed", "failed", "created", "failed", "failed"
        ]  # fmt: skip
        fields = [item["error"] and item["error"]["data"]["field"] for item in report["results"]]
        assert fields == [
            None,
            "$.memories[1].content",
            "$.memories[2].content",
            None,
            "$.memories[4].id",
            "$.memories[5].content",
        ]
        assert report["results"][5]["error"]["message"] == "$.memories[5].content: blank"
        assert [item["id"] for item in report["results"]] == ["a", "b", None, "d", None, None]
        assert (report["created"], report["failed"]) == (2, 4)
        assert set(daemon.registry.spaces["default"].memories) == {"a", "d"}


@pytest.mark.gate("WIRE-16")
async def test_a_put_many_that_is_not_partial_stores_nothing_when_one_is_bad() -> None:
    async with served() as daemon:
        memories = [{"content": "good"}, {"content": 5}]
        error = (await daemon.call("memory.putMany", {"memories": memories}))["error"]
        assert error["data"]["field"] == "$.memories[1].content"
        assert daemon.registry.spaces == {}


@pytest.mark.gate("WIRE-17")
async def test_only_the_first_to_open_a_namespace_made_it() -> None:
    async with served() as daemon:
        peers = [await daemon.connect() for _ in range(8)]
        for peer in peers:
            peer.begin("namespaces.open", {"namespace": "shared"})
        created = [(await peer.answer()).json["result"]["created"] for peer in peers]
    assert sorted(created) == [False] * 7 + [True]


@pytest.mark.gate("WIRE-18")
async def test_forget_sweep_takes_its_dry_run_by_position() -> None:
    async with served() as daemon:
        assert (await daemon.call("forgetSweep", [True]))["result"]["dryRun"] is True
        space = await daemon.registry.open("default", create=True)
        report = no_sweep("default", now=T0)
        space.result_of["sweep"] = report
        for params in ([False], []):
            answered = (await daemon.call("forgetSweep", params))["result"]
            assert answered == msgspec.to_builtins(report)
        assert [given["dry_run"] for _, given in space.calls] == [False, False]


@pytest.mark.gate("WIRE-18")
async def test_every_option_of_a_sweep_reaches_the_namespace() -> None:
    async with served() as daemon:
        space = await daemon.registry.open("default", create=True)
        space.result_of["sweep"] = no_sweep("default", now=T0)
        given = {
            "dryRun": True, "mode": "strict", "policy": "classic", "brakeShare": 0.5, "now": T0,
            "decisionsLimit": 7,
        }  # fmt: skip
        await daemon.call("forgetSweep", given)
        await daemon.call("forgetSweep", {"planId": PLAN_ID})
        assert [call for _, call in space.calls] == [
            {
                "dry_run": True, "plan_id": None, "mode": "strict", "policy": "classic",
                "brake_share": 0.5, "now": T0, "decisions_limit": 7,
            },
            {
                "dry_run": False, "plan_id": PLAN_ID, "mode": "normal", "policy": None,
                "brake_share": None, "now": None, "decisions_limit": 100,
            },
        ]  # fmt: skip


@pytest.mark.gate("WIRE-19")
async def test_system_clock_can_be_set_only_where_serve_allowed_it() -> None:
    async with served() as daemon:
        held = (await daemon.call("system.clock", {"now": T0}))["result"]
        assert held == {"now": T0, "held": True, "injectable": True}
        status = (await daemon.call("system.status"))["result"]
        assert (status["now"], status["clockHeld"]) == (T0, True)
        assert (await daemon.call("memory.put", {"content": "a"}))["result"]["createdAt"] == T0
        daemon.registry.clock.injectable = False
        error = (await daemon.call("system.clock", {"now": T0}))["error"]
        assert error["code"] == 210
        assert "--allow-injected-clock" in error["data"]["remedy"]


@pytest.mark.gate("WIRE-19")
async def test_one_namespace_that_cannot_be_opened_does_not_hide_the_others() -> None:
    async with served() as daemon:
        for name in ("good", "bad"):
            await daemon.registry.open(name, create=True)
        daemon.registry.spaces["bad"].broken = Corrupt(remedy="run forgetd doctor")
        status = (await daemon.call("system.status", {"all": True}))["result"]
    assert [space["namespace"] for space in status["namespaces"]] == ["good"]
    assert status["unavailable"] == [
        {
            "namespace": "bad",
            "symbol": "corrupt",
            "message": "Stored data does not match its hash",
            "remedy": "run forgetd doctor",
        }
    ]


@pytest.mark.gate("WIRE-19")
async def test_system_limits_tells_the_bounds_that_errors_name() -> None:
    async with served() as daemon:
        limits = (await daemon.call("system.limits"))["result"]
    assert limits["batchCallsMax"] == 100
    assert limits["bodyBytesMax"] == 33_554_432
    assert limits["callDeadlineSeconds"] == 60.0
    assert all(isinstance(value, int | float) for value in limits.values())
