"""lifecycle.* as a client calls them: reasons, the list of the archived, and what is refused."""

import base64
import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.errors import (
    ForgettingDisabled,
    InvalidParams,
    PermissionDenied,
    PlanUnknown,
)
from sidecar.limits import LIST_LIMIT_MAX, REASONS_COUNT_MAX, REPORT_DECISIONS_MAX
from sidecar.namespace import Namespace
from sidecar.reasons import InvalidationReason
from sidecar.rpc.calls import Calls
from sidecar.rpc.context import Context
from sidecar.rpc.dispatch import Dispatcher
from sidecar.rpc.methods import METHODS
from sidecar.thresholds import DAYS_MAX
from tests.exports import lines_of, pages_of, take_back
from tests.keyed import Wire
from tests.namespaces import DAY, NOW, Options, World, a_world, files_below, put, restore
from tests.setting_aside import forget_useless, harmful, statuses

ALLOWED: Options = {"lifecycle": {"forget_enabled": True}}
NONE = dict.fromkeys(InvalidationReason, 0)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, options=dict(ALLOWED)) as made:
        yield made


@pytest.fixture
async def wire(world: World) -> Wire:
    return Wire(world.registry, world.clock)


async def with_reasons(world: World, *told: tuple[str, str | None]) -> Namespace:
    """A namespace that holds a memory of each status and stored reason, by an exact import."""
    source = await world.open("source", automatic=False)
    await put(source, harmful("m"))
    (line,) = lines_of(await pages_of(source))
    target = await world.open(automatic=False)
    lines = [
        {**line, "contentHash": None, "id": f"m{at}", "status": status, "statusReason": reason}
        | {"statusAt": NOW}
        for at, (status, reason) in enumerate(told)
    ]
    assert (await take_back(target, lines)).created == len(told)
    return target


# --- reasons -----------------------------------------------------------------------------


@pytest.mark.gate("LIFE-50")
async def test_memories_that_are_not_believed_are_counted_by_reason_and_status(
    world: World, wire: Wire
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *[harmful(f"m{n}") for n in range(8)])
    for at, reason in enumerate(InvalidationReason):
        await namespace.invalidate(id=f"m{at}", reason=reason.value)
    await put(namespace, harmful("of no use"), harmful("believed", days=1))
    await forget_useless(namespace)
    await namespace.forget(ids=["m0", "m1"], reason="called")
    await namespace.cold_spill(dry_run=False, target=3)
    counts = await wire.call("lifecycle.invalidationsByReason")
    assert counts == {
        "namespace": "default",
        "total": 9,
        "reasons": {**dict.fromkeys(InvalidationReason, 1), "forgotten": 2},
        "statuses": {"superseded": 1, "archived": 6, "invalidated": 2},
        "texts": [],
        "textsTruncated": False,
    }
    assert list(counts["reasons"]) == [reason.value for reason in InvalidationReason]


@pytest.mark.gate("LIFE-50")
async def test_old_reasons_are_read_whatever_their_case_and_unknown_ones_keep_their_text(
    world: World, wire: Wire
) -> None:
    await with_reasons(
        world,
        ("archived", "Forgotten"),
        ("archived", "FORGOTTEN/archived"),
        ("archived", " archived "),
        ("archived", "OBSOLETE"),
        ("archived", "manual"),
        ("archived", "because I said so"),
        ("archived", "because I said so"),
        ("invalidated", "잘못된 기억"),
        ("invalidated", "Incorrect"),
        ("archived", None),
        ("active", None),
    )
    counts = await wire.call("lifecycle.invalidationsByReason")
    assert counts["reasons"] == {
        **NONE,
        "forgotten": 3,
        "obsolete": 1,
        "manual": 5,
        "incorrect": 1,
    }
    assert counts["total"] == 10
    assert counts["texts"] == [
        {"text": "because I said so", "count": 2},
        {"text": "잘못된 기억", "count": 1},
    ]
    archived = await wire.call("lifecycle.listArchived")
    assert [(one["id"], one["reason"], one["runId"]) for one in archived["memories"]] == [
        ("m2", " archived ", None),
        ("m1", "FORGOTTEN/archived", None),
        ("m0", "Forgotten", None),
    ]
    namespace = await world.open()
    assert (await restore(namespace, reason="forgotten")).counts == {"restored": 3}
    assert (await wire.call("lifecycle.listArchived"))["memories"] == []


@pytest.mark.gate("LIFE-50")
async def test_of_many_texts_the_most_frequent_are_told(world: World, wire: Wire) -> None:
    told = [("archived", f"text {at:03}") for at in range(REASONS_COUNT_MAX + 1)]
    await with_reasons(world, *told, ("archived", "text 100"))
    counts = await wire.call("lifecycle.invalidationsByReason")
    assert (len(counts["texts"]), counts["textsTruncated"]) == (REASONS_COUNT_MAX, True)
    assert counts["texts"][0] == {"text": "text 100", "count": 2}
    assert counts["texts"][-1] == {"text": "text 098", "count": 1}
    assert counts["reasons"]["manual"] == REASONS_COUNT_MAX + 2


# --- the archived ------------------------------------------------------------------------


@pytest.mark.gate("LIFE-51")
async def test_the_archived_are_listed_newest_first_from_every_tier(
    world: World, wire: Wire
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, harmful("cold"), harmful("gone", use_count=4, usefulness_score=-4.0))
    await namespace.cold_spill(dry_run=False, target=0)
    first = await forget_useless(namespace)
    await namespace.forget(ids=["gone"], reason="called")
    world.pass_time(1000)
    others = ["by hand", "obsolete", "wrong", "back", "new", "same time"]
    await put(namespace, *map(harmful, others))
    await namespace.invalidate(id="by hand", reason="forgotten")
    await namespace.invalidate(id="obsolete", reason="obsolete")
    await namespace.invalidate(id="wrong", reason="incorrect")
    world.pass_time(1000)
    second = await forget_useless(namespace)
    await restore(namespace, "back")
    page = await wire.call("lifecycle.listArchived")
    assert page["cursor"] is None
    assert [(one["id"], one["tier"], one["runId"]) for one in page["memories"]] == [
        ("same time", "hot", second.run_id),
        ("new", "hot", second.run_id),
        ("by hand", "hot", None),
        ("gone", "forgotten", first.run_id),
        ("cold", "cold", first.run_id),
    ]
    assert page["memories"][3] == {
        "id": "gone",
        "memoryType": "semantic",
        "tier": "forgotten",
        "archivedAt": NOW,
        "reason": "forgotten",
        "runId": first.run_id,
        "useCount": 4,
        "usefulnessScore": -4.0,
        "lastUsefulAt": None,
        "createdAt": NOW - 200 * DAY,
    }


@pytest.mark.gate("LIFE-51")
@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8])
async def test_pages_of_the_archived_have_each_once_also_of_one_instant(
    world: World, wire: Wire, limit: int
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *[harmful(f"a{n}") for n in range(4)])
    await forget_useless(namespace)
    world.pass_time(1)
    await put(namespace, *[harmful(f"b{n}") for n in range(3)])
    await forget_useless(namespace)
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await wire.call("lifecycle.listArchived", limit=limit, cursor=cursor)
        assert len(page["memories"]) <= limit
        found += [one["id"] for one in page["memories"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == ["b2", "b1", "b0", "a3", "a2", "a1", "a0"]


def cursor_of(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.gate("LIFE-51")
@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "nonsense",
        "커피",
        cursor_of(5),
        cursor_of([NOW]),
        cursor_of([NOW, "run-1"]),
        cursor_of([NOW, 1.5]),
        cursor_of([True, False]),
        cursor_of([10**30, 1]),
        cursor_of([NOW, -(10**30)]),
        cursor_of({"at": NOW}),
    ],
)
async def test_a_cursor_that_no_page_gave_is_refused(world: World, wire: Wire, cursor: str) -> None:
    await put(await world.open(automatic=False), harmful("m"))
    with pytest.raises(InvalidParams) as refused:
        await wire.call("lifecycle.listArchived", cursor=cursor)
    assert refused.value.data["field"] == "$.cursor"


@pytest.mark.gate("LIFE-52")
async def test_looking_at_a_namespace_that_is_not_there_answers_as_an_empty_one(
    world: World, wire: Wire
) -> None:
    await world.open("empty", automatic=False)
    for method, params in (
        ("lifecycle.invalidationsByReason", {}),
        ("lifecycle.listArchived", {}),
        ("lifecycle.forget", {}),
        ("lifecycle.forget", {"now": NOW + DAY, "usefulnessFloor": 0.5, "harmfulFloor": -2}),
    ):
        absent = await wire.call(method, namespace="absent", **params)
        empty = await wire.call(method, namespace="empty", **params)
        for told in (absent, empty):
            for name in ("namespace", "durationMs", "planId", "brake"):
                told.pop(name, None)
        assert absent == empty
    with pytest.raises(PlanUnknown):
        await wire.call("lifecycle.forget", namespace="absent", planId="plan-1")
    assert not world.directory("absent").exists()


# --- what is refused ---------------------------------------------------------------------


@pytest.mark.gate("LIFE-53")
@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"usefulnessFloor": math.nan}, "$.usefulnessFloor"),
        ({"usefulnessFloor": math.inf}, "$.usefulnessFloor"),
        ({"usefulnessFloor": 1000.5}, "$.usefulnessFloor"),
        ({"usefulnessFloor": "low"}, "$.usefulnessFloor"),
        ({"harmfulFloor": -1000.5}, "$.harmfulFloor"),
        ({"harmfulFloor": -math.inf}, "$.harmfulFloor"),
        ({"harmfulFloor": 0.0}, "$.harmfulFloor"),
        ({"harmfulFloor": -0.3, "usefulnessFloor": -0.4}, "$.harmfulFloor"),
        ({"usefulnessFloor": -0.6}, "$.usefulnessFloor"),
        ({"minAgeDays": -1}, "$.minAgeDays"),
        ({"minAgeDays": -1e-9}, "$.minAgeDays"),
        ({"minAgeDays": math.nan}, "$.minAgeDays"),
        ({"minAgeDays": DAYS_MAX + 1}, "$.minAgeDays"),
        ({"minAgeDays": 1e300}, "$.minAgeDays"),
        ({"protectUseCount": 0}, "$.protectUseCount"),
        ({"protectUseCount": -1}, "$.protectUseCount"),
        ({"protectUseCount": 1.5}, "$.protectUseCount"),
        ({"protectUseCount": 2**53}, "$.protectUseCount"),
        ({"candidatesLimit": -1}, "$.candidatesLimit"),
        ({"candidatesLimit": REPORT_DECISIONS_MAX + 1}, "$.candidatesLimit"),
        ({"now": NOW, "dryRun": False}, "$.now"),
        ({"now": 1_767_225_600}, "$.now"),
        ({"now": -1}, "$.now"),
        ({"now": 2**60}, "$.now"),
        ({"dryRun": "no"}, "$.dryRun"),
        ({"force": "yes"}, "$.force"),
        ({"planId": ""}, "$.planId"),
        ({"planId": "plan-1", "now": NOW}, "$.now"),
        ({"planId": "plan-1", "minAgeDays": 1}, "$.minAgeDays"),
        ({"planId": "plan-1", "usefulnessFloor": 0}, "$.usefulnessFloor"),
        ({"planId": "plan-1", "protectUseCount": 1, "dryRun": False}, "$.protectUseCount"),
        ({"planId": "plan-1", "harmfulFloor": -1}, "$.harmfulFloor"),
        ({"floor": 1}, "$.floor"),
        ({"min_age_days": 1}, "$.min_age_days"),
        ({"forget_enabled": True}, "$.forget_enabled"),
        ({"forgetEnabled": True}, "$.forgetEnabled"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_field_bound_and_remedy(
    world: World, wire: Wire, params: dict[str, Any], field: str
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, harmful("m"))
    before = files_below(world.directory())
    with pytest.raises(InvalidParams) as refused:
        await wire.call("lifecycle.forget", **params)
    data = refused.value.data
    assert data["field"] == field
    assert data["bound"]
    assert data["remedy"]
    assert files_below(world.directory()) == before


@pytest.mark.gate("LIFE-53")
async def test_the_widest_and_narrowest_bounds_are_taken(world: World, wire: Wire) -> None:
    await put(await world.open(automatic=False), harmful("m"))
    for params in (
        {"usefulnessFloor": 1000, "harmfulFloor": 1000, "minAgeDays": 0},
        {"usefulnessFloor": -1000, "harmfulFloor": -1000, "protectUseCount": 1},
        {"minAgeDays": DAYS_MAX, "protectUseCount": 2**53 - 1, "candidatesLimit": 0},
        {"candidatesLimit": REPORT_DECISIONS_MAX, "now": NOW},
    ):
        report = await wire.call("lifecycle.forget", **params)
        assert report["scanned"] == 1, params


@pytest.mark.gate("LIFE-53")
@pytest.mark.parametrize(
    ("params", "field"),
    [({"limit": 0}, "$.limit"), ({"limit": LIST_LIMIT_MAX + 1}, "$.limit"), ({"a": 1}, "$.a")],
)
async def test_a_page_that_cannot_be_is_refused(
    wire: Wire, params: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidParams) as refused:
        await wire.call("lifecycle.listArchived", **params)
    assert refused.value.data["field"] == field
    with pytest.raises(InvalidParams):
        await wire.call("lifecycle.invalidationsByReason", **params)


# --- force -------------------------------------------------------------------------------


async def replied(world: World, params: Any, **made: Any) -> dict[str, Any]:
    dispatcher = Dispatcher(
        METHODS, Calls(Context(world.registry, world.clock, lambda: None)), **made
    )
    call = {"jsonrpc": "2.0", "id": 1, "method": "lifecycle.forget", "params": params}
    reply: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(await dispatcher.dispatch(call))
    )
    return reply


@pytest.mark.gate("LIFE-54")
@pytest.mark.parametrize("opened", [False, True])
async def test_the_main_socket_takes_no_force_also_where_it_may_destroy(
    world: World, opened: bool
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, harmful("bad"))
    for params in ({"dryRun": False, "force": True}, {"force": True}):
        reply = await replied(world, params, serves_admin=lambda: opened)
        assert reply["error"]["code"] == PermissionDenied.code
        assert reply["error"]["data"]["field"] == "$.force"
        assert "admin socket" in reply["error"]["data"]["bound"]
        assert "forgetd command" in reply["error"]["data"]["remedy"]
    reply = await replied(world, [False, None, None, None, None, None, None, 100, True])
    assert "error" in reply
    assert await statuses(namespace, "bad") == [("active", None)]
    assert "result" in await replied(world, {"force": False})


@pytest.mark.gate("LIFE-54")
async def test_the_admin_socket_forces_and_says_so(world: World) -> None:
    world.options.clear()
    await world.restart()
    namespace = await world.open(automatic=False)
    await put(namespace, harmful("bad"))
    refused = await replied(world, {"dryRun": False}, is_admin=True)
    assert refused["error"]["code"] == ForgettingDisabled.code
    reply = await replied(world, {"dryRun": False, "force": True}, is_admin=True)
    report = reply["result"]
    assert (report["archived"], report["forced"], report["forgetEnabled"]) == (1, True, False)
    assert await statuses(namespace, "bad") == [("archived", "forgotten")]
