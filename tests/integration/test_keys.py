"""Idempotency keys: a write that is sent again is answered again, and not carried out again."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import (
    DeadlineExceeded,
    DiskFull,
    ForgetdError,
    IdempotencyConflict,
    InvalidParams,
    MemoryNotFound,
)
from sidecar.namespace import Namespace
from sidecar.reports import TouchReport
from sidecar.rpc.methods import METHODS
from sidecar.store import replies
from sidecar.store.records import Records
from tests.keyed import Wire
from tests.namespaces import DAY, HOUR, NOW, World, a_world, counted

KEY, OLD = "a key of the host's own", NOW - 200 * DAY


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


@pytest.fixture
async def wire(world: World) -> Wire:
    """A wire over a namespace with a hot `a`, a forgotten `f`, and proposals `p` and `q`."""
    made = Wire(world.registry, world.clock)
    await made.call("namespaces.open", thresholds={"forgetEnabled": True})
    for name in "abf":
        await made.call("memory.put", id=name, content=f"what {name} says", createdAt=OLD)
    await made.call("memory.forget", ids=["f"])
    for one in "pq":
        await made.call("proposals.submit", id=one, content=one, proposedConfidence=1)
    return made


async def namespace_of(world: World) -> Namespace:
    return await world.registry.open("default", False)


async def traces(world: World) -> tuple[int, int]:
    """How many events and how many runs there are: what is done twice leaves more of them."""
    namespace = await namespace_of(world)
    events = await namespace.list_events(since=0, limit=1, kinds=None)
    return events.latest, len((await namespace.runs(limit=100, cursor=None)).runs)


WRITES: dict[str, dict[str, Any]] = {
    "memory.put": {"content": "new"},
    "memory.putMany": {"memories": [{"content": "new"}, {"content": " "}], "partial": True},
    "memory.import": {"memories": [{"content": "new", "strange": 1}]},
    "memory.update": {"id": "a", "patch": {"content": "other words"}},
    "memory.touch": {"ids": ["a", "nobody"]},
    "memory.supersede": {"id": "a", "by": "b"},
    "memory.pin": {"id": "a"},
    "memory.hold": {"id": "a", "until": NOW + DAY},
    "memory.feedback": {"id": "a", "signal": "useful"},
    "memory.invalidate": {"id": "a", "reason": "incorrect"},
    "memory.forget": {"ids": ["a", "nobody", "f"]},
    "memory.restore": {"ids": ["f", "a", "nobody"]},
    "forgetSweep": {"decisionsLimit": 1},
    "coldSpill": {"target": 0},
    "forgetting.runCycle": {},
    "lifecycle.forget": {"dryRun": False, "force": True},
    "estimate.refresh": {"dryRun": False},
    "review.clear": {"ids": ["a"]},
    "proposals.submit": {"content": "new", "proposedConfidence": 0.5},
    "proposals.accept": {"id": "p"},
    "proposals.reject": {"id": "q"},
    "proposals.gc": {"dryRun": False, "proposalAutoAcceptConfidence": 0.5},
    "thresholds.set": {"thresholds": {"minIdleDays": 3}},
    "thresholds.resume": {},
    "runs.undo": {"runId": "RUN"},
    "namespaces.open": {"thresholds": {"minIdleDays": 5}},
}


async def with_ids(wire: Wire, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters with the id of the only run there is."""
    if "runId" not in params:
        return params
    return {"runId": (await wire.call("runs.list"))["runs"][0]["runId"]}


@pytest.mark.gate("IDEM-01")
def test_every_write_in_a_namespace_is_tried() -> None:
    assert WRITES.keys() == {name for name, method in METHODS.items() if method.keyed}
    unkeyed = {name for name, method in METHODS.items() if method.writes and not method.keyed}
    assert unkeyed == {"system.clock", "system.stop", "gc.execute"}


@pytest.mark.gate("IDEM-01")
@pytest.mark.parametrize("method", WRITES)
async def test_a_write_sent_again_is_answered_to_the_byte_and_done_once(
    world: World, wire: Wire, method: str
) -> None:
    params = await with_ids(wire, WRITES[method])
    first = await wire.raw(method, idempotencyKey=KEY, **params)
    done = await traces(world)
    world.pass_time(HOUR)
    assert await wire.raw(method, idempotencyKey=KEY, **params) == first
    assert await traces(world) == done
    await world.restart()
    again = Wire(world.registry, world.clock)
    assert await again.raw(method, idempotencyKey=KEY, **params) == first
    assert await traces(world) == done


@pytest.mark.gate("IDEM-01")
async def test_the_reply_is_that_of_a_call_without_a_key(world: World, wire: Wire) -> None:
    keyed = await wire.call("memory.feedback", id="a", signal="useful", idempotencyKey=KEY)
    assert keyed["useCount"] == 1
    bare = await wire.call("memory.get", id="a")
    assert {**keyed, "strength": None} == {**bare, "strength": None}
    await wire.call("memory.feedback", id="a", signal="useful")
    repeated = await wire.call("memory.feedback", id="a", signal="useful", idempotencyKey=KEY)
    assert repeated == keyed
    assert (await wire.call("memory.get", id="a"))["useCount"] == 2


@pytest.mark.gate("IDEM-02")
@pytest.mark.parametrize(
    "method,params",
    [
        ("memory.put", {"content": "other", "metadata": {"a": 1, "b": 2}}),
        ("memory.put", {"content": "new", "metadata": {"a": 1, "b": 3}}),
        ("memory.put", {"content": "new"}),
        ("memory.touch", {"ids": ["a"]}),
    ],
)
async def test_a_key_of_another_call_is_refused_and_nothing_is_done(
    world: World, wire: Wire, method: str, params: dict[str, Any]
) -> None:
    call = {"content": "new", "metadata": {"a": 1, "b": 2}}
    await wire.call("memory.put", idempotencyKey=KEY, **call)
    done = await traces(world)
    with pytest.raises(IdempotencyConflict) as refused:
        await wire.call(method, idempotencyKey=KEY, **params)
    assert refused.value.data["field"] == "$.idempotencyKey"
    assert {"bound", "remedy"} <= refused.value.data.keys()
    assert await traces(world) == done


@pytest.mark.gate("IDEM-02")
async def test_the_order_of_members_and_the_default_namespace_make_no_other_call(
    wire: Wire,
) -> None:
    first = await wire.raw(
        "memory.put", content="new", metadata={"a": 1, "b": 2}, idempotencyKey=KEY
    )
    other = {"namespace": "default", "idempotencyKey": KEY, "metadata": {"b": 2, "a": 1}}
    assert await wire.raw("memory.put", **other, content="new") == first


@pytest.mark.gate("IDEM-02")
async def test_each_namespace_has_keys_of_its_own(wire: Wire) -> None:
    here = await wire.call("memory.put", content="new", idempotencyKey=KEY)
    there = await wire.call("memory.put", content="new", idempotencyKey=KEY, namespace="other")
    assert here["id"] != there["id"]
    assert await wire.call("memory.get", id=there["id"], namespace="other") is not None


@pytest.mark.gate("IDEM-03")
@pytest.mark.parametrize("key", ["", "x" * 257, "커" * 86, "a\0b", None, 5, ["k"]])
async def test_what_cannot_be_a_key_is_refused_by_name(world: World, wire: Wire, key: Any) -> None:
    done = await traces(world)
    with pytest.raises(InvalidParams) as refused:
        await wire.call("memory.put", content="new", idempotencyKey=key)
    assert refused.value.data["field"] == "$.idempotencyKey"
    assert "1 to 256 bytes" in refused.value.data["bound"]
    assert await traces(world) == done


@pytest.mark.gate("IDEM-03")
@pytest.mark.parametrize(
    "method,params", [("memory.get", {"id": "a"}), ("system.clock", {}), ("runs.list", {})]
)
async def test_what_keeps_no_reply_takes_no_key(
    wire: Wire, method: str, params: dict[str, Any]
) -> None:
    with pytest.raises(InvalidParams, match="idempotencyKey"):
        await wire.call(method, idempotencyKey=KEY, **params)


@pytest.mark.gate("IDEM-04")
async def test_a_failed_call_leaves_its_key_free(wire: Wire) -> None:
    with pytest.raises(MemoryNotFound):
        await wire.call("memory.pin", id="later", idempotencyKey=KEY)
    await wire.call("memory.put", id="later", content="here now")
    pinned = await wire.call("memory.pin", id="later", idempotencyKey=KEY)
    assert pinned["pinned"]


@pytest.mark.gate("IDEM-04")
async def test_a_write_that_found_no_room_may_be_tried_again(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise DiskFull

    with monkeypatch.context() as patch:
        patch.setattr(replies, "keep", full)
        with pytest.raises(DiskFull):
            await wire.call("memory.put", id="new", content="new", idempotencyKey=KEY)
    assert await wire.call("memory.get", id="new") is None
    stored = await wire.raw("memory.put", id="new", content="new", idempotencyKey=KEY)
    assert await wire.raw("memory.put", id="new", content="new", idempotencyKey=KEY) == stored


@pytest.mark.gate("IDEM-04")
async def test_a_dry_run_keeps_nothing(wire: Wire) -> None:
    first = await wire.call("forgetSweep", dryRun=True, idempotencyKey=KEY)
    second = await wire.call("forgetSweep", dryRun=True, idempotencyKey=KEY)
    assert first["planId"] != second["planId"]
    assert await wire.call("memory.touch", ids=["a"], idempotencyKey=KEY)


@pytest.mark.gate("IDEM-05")
async def test_identical_calls_at_once_are_one(world: World, wire: Wire) -> None:
    before = await traces(world)
    answers = await asyncio.gather(
        *(wire.raw("memory.put", content="new", idempotencyKey=KEY) for _ in range(8)),
        wire.raw("memory.put", content="other", idempotencyKey=KEY),
        return_exceptions=True,
    )
    assert isinstance(answers.pop(), IdempotencyConflict)
    assert len(set(map(str, answers))) == 1
    assert not isinstance(answers[0], BaseException)
    assert await traces(world) == (before[0] + 1, before[1])


@pytest.mark.gate("IDEM-05")
async def test_a_run_that_is_joined_under_another_key_answers_that_key_too(
    world: World, wire: Wire
) -> None:
    _, runs = await traces(world)
    one, two = await asyncio.gather(
        wire.raw("memory.forget", ids=["a"], idempotencyKey="one"),
        wire.raw("memory.forget", ids=["a"], idempotencyKey="two"),
    )
    assert one == two
    assert (await traces(world))[1] == runs + 1
    for key in ("one", "two"):
        assert await wire.raw("memory.forget", ids=["a"], idempotencyKey=key) == one
    assert (await traces(world))[1] == runs + 1


@pytest.mark.gate("IDEM-06")
@pytest.mark.parametrize("ended", [False, True])
async def test_a_call_past_its_deadline_goes_on_and_never_runs_twice(
    world: World, wire: Wire, monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    touch = METHODS["memory.touch"]
    go_on = asyncio.Event()
    entered = 0

    async def slow(context: Any, params: Any) -> TouchReport:
        nonlocal entered
        entered += 1
        await go_on.wait()
        return await touch.handler(context, params)

    monkeypatch.setattr("sidecar.rpc.method.CALL_DEADLINE_SECONDS", 0.01)
    monkeypatch.setitem(METHODS, "memory.touch", replace(touch, handler=slow))
    before = await traces(world)
    with pytest.raises(DeadlineExceeded) as late:
        await wire.call("memory.touch", ids=["a"], idempotencyKey=KEY)
    assert "idempotencyKey" in late.value.data["remedy"]
    monkeypatch.undo()
    monkeypatch.setitem(METHODS, "memory.touch", replace(touch, handler=slow))
    if ended:
        go_on.set()
        assert await wire.calls.finished(10)
    again = asyncio.create_task(wire.call("memory.touch", ids=["a"], idempotencyKey=KEY))
    go_on.set()
    assert await again == {"touched": 1, "unknown": []}
    assert entered == 1
    assert await traces(world) == (before[0] + 1, before[1])
    assert (await wire.call("memory.get", id="a"))["recallCount"] == 1


@pytest.mark.gate("IDEM-07")
async def test_after_a_day_a_key_may_be_used_for_another_call(world: World, wire: Wire) -> None:
    first = await wire.raw("memory.touch", ids=["a"], idempotencyKey=KEY)
    world.pass_time(24 * HOUR - 1)
    assert await wire.raw("memory.touch", ids=["a"], idempotencyKey=KEY) == first
    assert (await wire.call("memory.get", id="a"))["recallCount"] == 1
    world.pass_time(1)
    assert (await wire.call("memory.put", content="new", idempotencyKey=KEY))["content"] == "new"


def keys_kept(namespace: Namespace) -> list[str]:
    with namespace.store.readers.borrow() as connection:
        return [
            key for (key,) in connection.execute("SELECT key FROM idempotency ORDER BY at, key")
        ]


def bytes_counted(namespace: Namespace) -> tuple[int, int]:
    """What the table holds, as counted along the way, and as it is."""
    with namespace.store.readers.borrow() as connection:
        size = "coalesce(sum(octet_length(key) + octet_length(reply)), 0)"
        (held,) = connection.execute(f"SELECT {size} FROM idempotency").fetchall()[0]
    return namespace.store.meta("reply_bytes"), held


@pytest.mark.gate("IDEM-07")
async def test_old_keys_go_at_writes_and_where_events_are_folded(world: World, wire: Wire) -> None:
    namespace = await namespace_of(world)
    for number in range(12):
        await wire.call("memory.touch", ids=["a"], idempotencyKey=f"{number:02}")
    await wire.call("memory.forget", ids=["b"], idempotencyKey="run")
    assert bytes_counted(namespace)[0] == bytes_counted(namespace)[1] > 0
    world.pass_time(24 * HOUR)
    await wire.call("memory.touch", ids=["a"], idempotencyKey="young")
    assert keys_kept(namespace)[-1] == "young"
    assert len(keys_kept(namespace)) == 10
    await namespace.fold_events()
    assert keys_kept(namespace) == ["young"]
    counted_bytes, held = bytes_counted(namespace)
    assert counted_bytes == held > 0


@pytest.mark.gate("IDEM-07")
async def test_replies_take_no_more_room_than_they_may(
    world: World, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "IDEMPOTENCY_REPLIES_BYTES_MAX", 2_000)
    namespace = await namespace_of(world)
    for number in range(10):
        world.pass_time(1)
        await wire.call("memory.put", content="x" * 900, idempotencyKey=f"{number}")
    kept = keys_kept(namespace)
    assert 1 <= len(kept) <= 3
    assert kept[-1] == "9"


@pytest.mark.gate("IDEM-08")
async def test_a_keyed_write_makes_nothing_but_its_row_in_the_same_transaction(
    world: World, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await namespace_of(world)
    before = namespace.store.meta("commits")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("after the reply was made")

    await wire.call("memory.put", id="one", content="new", idempotencyKey=KEY)
    assert namespace.store.meta("commits") == before + 1
    with monkeypatch.context() as patch:
        patch.setattr(Records, "touch", broken)
        with pytest.raises(RuntimeError):
            await wire.call("memory.touch", ids=["a"], idempotencyKey="second")
    assert keys_kept(namespace) == [KEY]


@pytest.mark.gate("IDEM-09")
async def test_a_run_with_nothing_to_do_keeps_its_reply(world: World, wire: Wire) -> None:
    nothing = await wire.raw("memory.forget", ids=["nobody"], idempotencyKey=KEY)
    await wire.call("memory.put", id="nobody", content="somebody now")
    assert await wire.raw("memory.forget", ids=["nobody"], idempotencyKey=KEY) == nothing
    assert counted(await namespace_of(world))[2] == 1


@pytest.mark.gate("IDEM-09")
async def test_the_ledger_has_the_report_that_the_key_answers(wire: Wire) -> None:
    for number in range(5):
        await wire.call("memory.put", id=f"m{number}", content="weak", createdAt=OLD)
    report = await wire.call("coldSpill", target=1, idempotencyKey=KEY)
    assert report["counts"]["spill"] > 1
    assert (await wire.call("runs.get", runId=report["runId"]))["report"] == report


@pytest.mark.gate("IDEM-04")
async def test_no_error_is_kept_for_any_write(wire: Wire) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "memory.put": {"id": "a", "content": "taken"},
        "memory.update": {"id": "nobody", "patch": {"content": "x"}},
        "memory.restore": {"runId": "nobody"},
        "forgetSweep": {"planId": "nobody"},
        "runs.undo": {"runId": "nobody"},
    }
    for method, params in wrong.items():
        for _ in range(2):
            with pytest.raises(ForgetdError) as refused:
                await wire.call(method, idempotencyKey=KEY, **params)
            assert refused.value.symbol != "idempotency_conflict"
