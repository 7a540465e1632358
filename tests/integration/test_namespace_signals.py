"""What a host says of its memories: signals of use, and that one is no longer believed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.errors import MemoryNotFound
from sidecar.model import Memory
from sidecar.namespace import Namespace
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    check_columns,
    event_kinds,
    fill,
    get,
    many,
    memory,
    put,
    query,
    recalled,
    restore,
    state_hash,
    sweep,
    tiers,
)

COUNTS = ("use_count", "success_count", "failure_count", "regret_count", "recall_count")
ARCHIVING = ("obsolete", "duplicate", "forgotten", "expired", "manual")
BY_REASON = {
    **dict.fromkeys(ARCHIVING, "archived"),
    "superseded": "superseded",
    "incorrect": "invalidated",
    "conflicted": "invalidated",
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def signalled(namespace: Namespace, memory_id: str, *signals: Any) -> Memory:
    for signal in signals:
        answer = await namespace.feedback(id=memory_id, signal=signal)
    return answer


async def invalidated(namespace: Namespace, memory_id: str, *reasons: Any) -> Memory:
    for reason in reasons:
        answer = await namespace.invalidate(id=memory_id, reason=reason)
    return answer


def last_payload(namespace: Namespace) -> dict[str, Any]:
    ((text,),) = query(namespace, "SELECT payload FROM events ORDER BY seq DESC LIMIT 1")
    payload: dict[str, Any] = json.loads(text)
    return payload


# --- feedback ----------------------------------------------------------------------------


@pytest.mark.gate("SIG-02")
@pytest.mark.parametrize(
    ("signal", "changed"),
    [
        ("useful", {"use_count": 1, "usefulness_score": 1.0, "last_useful_at": NOW}),
        ("shown", {"use_count": 1, "usefulness_score": 0.1}),
        ("unhelpful", {"use_count": 1, "usefulness_score": -0.1}),
        ("harmful", {"use_count": 1, "usefulness_score": -1.0}),
        ("success", {"success_count": 1}),
        ("failure", {"failure_count": 1}),
        ("regret", {"regret_count": 1}),
    ],
)
async def test_a_signal_counts_what_it_stands_for_and_nothing_else(
    world: World, signal: str, changed: dict[str, Any]
) -> None:
    namespace = await world.open(automatic=False)
    (made,) = await put(namespace, memory("m"))
    answer = await signalled(namespace, "m", signal)
    assert msgspec.structs.asdict(answer) == msgspec.structs.asdict(made) | changed
    assert await get(namespace, "m") == answer
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("SIG-02")
async def test_signals_add_up(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"))
    answer = await signalled(namespace, "m", "useful", "shown", "shown", "harmful", "unhelpful")
    assert answer.use_count == 5
    assert answer.usefulness_score == pytest.approx(0.1)
    assert answer.last_useful_at == NOW


@pytest.mark.gate("SIG-03")
async def test_signals_are_durable_when_they_are_answered(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m", memory_type="procedural"))
    await signalled(namespace, "m", "success", "failure", "useful")
    before = state_hash(namespace)
    await world.restart()
    namespace = await world.open(automatic=False)
    assert state_hash(namespace) == before
    shown = await get(namespace, "m")
    assert shown is not None
    assert [getattr(shown, name) for name in COUNTS] == [1, 1, 1, 0, 0]
    kinds = event_kinds(namespace, "memory.")
    assert kinds == ["memory.created", *["memory.feedback"] * 3]
    assert last_payload(namespace)["signal"] == "useful"


@pytest.mark.gate("SIG-03")
async def test_outcomes_move_the_strength_of_a_procedure_at_once(world: World) -> None:
    namespace = await world.open(automatic=False)
    (made,) = await put(namespace, memory("m", memory_type="procedural", importance=0.9))
    weaker = await signalled(namespace, "m", *["failure"] * 8)
    stronger = await signalled(namespace, "m", "success")
    assert made.strength is not None
    assert weaker.strength is not None
    assert stronger.strength is not None
    assert made.strength > stronger.strength > weaker.strength


@pytest.mark.gate("SIG-03")
async def test_a_signal_between_plan_and_apply_keeps_the_memory(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10, forgetThresholdCount=10)
    await fill(namespace, many(20))
    plan = await sweep(namespace, dry_run=True)
    planned = [one.id for one in plan.decisions]
    await signalled(namespace, planned[0], "shown")
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert [(one.id, one.why) for one in report.skipped] == [(planned[0], "changed")]


@pytest.mark.gate("SIG-04")
@pytest.mark.parametrize("tier", ["hot", "cold"])
async def test_signals_find_a_memory_where_it_is(world: World, tier: str) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(3))
    if tier == "cold":
        await namespace.cold_spill(dry_run=False, target=0)
    await signalled(namespace, "m00001", "useful", "regret")
    assert tiers(namespace)["m00001"] == tier
    check_columns(namespace)


@pytest.mark.gate("SIG-04")
async def test_a_forgotten_memory_may_be_regretted_and_nothing_else(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"))
    await namespace.forget(ids=["m"], reason="x")
    world.pass_time(DAY)
    for signal in ("useful", "shown", "unhelpful", "harmful", "success", "failure"):
        with pytest.raises(MemoryNotFound, match="forgotten"):
            await signalled(namespace, "m", signal)
    answer = await signalled(namespace, "m", "regret")
    assert (answer.regret_count, answer.tier) == (1, "forgotten")
    assert event_kinds(namespace)[-1] == "retrieval.regret"
    told = last_payload(namespace)
    assert (told["dropped_at"], told["cited_at"]) == (NOW, NOW + DAY)
    await restore(namespace, "m")
    shown = await get(namespace, "m")
    assert shown is not None
    assert shown.regret_count == 1
    state_hash(namespace)


@pytest.mark.gate("SIG-04")
async def test_a_regret_tells_since_when_the_memory_was_set_aside(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("active"), memory("aside"))
    await invalidated(namespace, "aside", "manual")
    world.pass_time(DAY)
    await signalled(namespace, "active", "regret")
    assert last_payload(namespace)["dropped_at"] is None
    await signalled(namespace, "aside", "regret")
    assert last_payload(namespace)["dropped_at"] == NOW


@pytest.mark.gate("SIG-04")
async def test_an_unknown_memory_is_not_found(world: World) -> None:
    namespace = await world.open(automatic=False)
    for signal in ("useful", "regret"):
        with pytest.raises(MemoryNotFound) as refused:
            await signalled(namespace, "nobody", signal)
        assert refused.value.data["field"] == "$.id"
    with pytest.raises(MemoryNotFound):
        await invalidated(namespace, "nobody", "manual")
    assert event_kinds(namespace, "memory.") == []


@pytest.mark.gate("SIG-05")
async def test_counts_stay_within_what_a_javascript_number_holds(world: World) -> None:
    namespace = await world.open(automatic=False)
    largest = 2**53 - 1
    await put(namespace, memory("m", **dict.fromkeys(COUNTS, largest)))
    answer = await signalled(namespace, "m", "useful", "success", "failure", "regret")
    await namespace.touch(ids=["m"])
    assert {getattr(answer, name) for name in COUNTS} == {largest}
    assert query(namespace, "SELECT recall_count FROM memories") == [(largest,)]


@pytest.mark.gate("SIG-05")
async def test_what_is_stored_as_minus_zero_is_zero_in_the_log_too(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m", usefulness_score=-0.0, importance=-0.0))
    state_hash(namespace)


# --- invalidate --------------------------------------------------------------------------


@pytest.mark.gate("SIG-06")
@pytest.mark.parametrize(("reason", "status"), BY_REASON.items())
@pytest.mark.parametrize("tier", ["hot", "cold", "forgotten"])
async def test_a_reason_gives_its_status_in_every_tier(
    world: World, reason: str, status: str, tier: str
) -> None:
    namespace = await world.open(automatic=False)
    (made,) = await put(namespace, memory("m"))
    if tier == "cold":
        await namespace.cold_spill(dry_run=False, target=0)
    elif tier == "forgotten":
        await namespace.forget(ids=["m"], reason="x")
    world.pass_time(5)
    answer = await invalidated(namespace, "m", reason)
    assert (answer.status, answer.status_reason, answer.status_at) == (status, reason, NOW + 5)
    assert (answer.revision, answer.updated_at) == (made.revision + 1, made.updated_at)
    assert tiers(namespace)["m"] == tier
    assert event_kinds(namespace)[-1] == "memory.invalidated"
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("SIG-06")
async def test_what_is_no_longer_believed_leaves_recall(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *(memory(one, content="tofu") for one in (*BY_REASON, "kept")))
    for reason in BY_REASON:
        await invalidated(namespace, reason, reason)
    assert await recalled(namespace, "tofu") == ["kept"]
    archived = await recalled(namespace, "tofu", include_archived=True)
    assert set(archived) == {*ARCHIVING, "kept"}


@pytest.mark.gate("SIG-06")
async def test_saying_it_twice_changes_nothing(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"))
    first = await invalidated(namespace, "m", "incorrect")
    events = event_kinds(namespace)
    world.pass_time(DAY)
    again = await invalidated(namespace, "m", "incorrect")
    assert (again.status_at, again.revision) == (first.status_at, first.revision)
    assert event_kinds(namespace) == events


@pytest.mark.gate("SIG-07")
@pytest.mark.parametrize(
    ("reasons", "status", "reason"),
    [
        (("incorrect", "forgotten"), "invalidated", "incorrect"),
        (("incorrect", "superseded"), "invalidated", "incorrect"),
        (("incorrect", "conflicted"), "invalidated", "conflicted"),
        (("superseded", "forgotten"), "superseded", "superseded"),
        (("superseded", "incorrect"), "invalidated", "incorrect"),
        (("forgotten", "superseded"), "superseded", "superseded"),
        (("forgotten", "manual"), "archived", "manual"),
    ],
)
async def test_belief_is_only_ever_taken_away(
    world: World, reasons: tuple[str, ...], status: str, reason: str
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"))
    answer = await invalidated(namespace, "m", *reasons)
    assert (answer.status, answer.status_reason) == (status, reason)


@pytest.mark.gate("SIG-07")
@pytest.mark.parametrize("reason", BY_REASON)
async def test_a_restore_makes_only_what_was_forgotten_active_again(
    world: World, reason: str
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"))
    await invalidated(namespace, "m", reason)
    await namespace.forget(ids=["m"], reason="x")
    await restore(namespace, "m")
    shown = await get(namespace, "m")
    assert shown is not None
    status = "active" if reason == "forgotten" else BY_REASON[reason]
    assert shown.status == status


@pytest.mark.gate("SIG-07")
async def test_a_memory_that_was_replaced_while_it_was_set_aside_is_not_believed_again(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("old"), memory("new"))
    await invalidated(namespace, "old", "forgotten")
    await namespace.supersede(id="old", by="new")
    await namespace.forget(ids=["old"], reason="x")
    report = await restore(namespace, "old")
    shown = await get(namespace, "old")
    assert shown is not None
    assert (shown.status, shown.superseded_by) == ("superseded", "new")
    assert report.counts == {"superseded": 1}
    check_columns(namespace)
    state_hash(namespace)
