"""What an answer says of memories that are forgotten, damaged or were skipped, and of slips."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.errors import InvalidParams
from sidecar.limits import MILLISECONDS_PER_DAY
from sidecar.model import Memory, MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import event_log
from tests.namespaces import (
    World,
    a_world,
    many,
    memory,
    put,
    query,
    restore,
    sweep,
    tiers,
)

CANARY = "Wolkenkuckucksheim"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def with_a_forgotten_one(world: World) -> Namespace:
    namespace = await world.open(automatic=False)
    given = memory("m", content=CANARY, metadata={"at": CANARY})
    await put(namespace, given)
    await namespace.forget(ids=["m"], reason="asked")
    return namespace


def says_nothing(answer: Memory) -> bool:
    """Whether it tells that the memory is forgotten and nothing of what it said."""
    silent = (answer.content, answer.metadata, answer.extra) == ("", {}, {})
    return answer.tier == "forgotten" and silent and CANARY not in repr(answer)


@pytest.mark.gate("RECORD-43")
async def test_a_write_that_reaches_a_forgotten_memory_does_not_tell_what_it_said(
    world: World,
) -> None:
    namespace = await with_a_forgotten_one(world)
    skipped = await namespace.put(memory=memory("m", content="new"), if_exists="skip")
    assert says_nothing(skipped)
    assert says_nothing(await namespace.feedback(id="m", signal="regret"))
    wrong = await namespace.invalidate(id="m", reason="incorrect")
    assert says_nothing(wrong)
    assert wrong.status == "invalidated"
    many_skipped = await namespace.put_many(
        memories=[MemoryInput(id="m", content="new")], if_exists="skip", partial=False
    )
    assert [(one.id, one.result) for one in many_skipped.results] == [("m", "skipped")]
    await restore(namespace, "m")
    back = await namespace.get(id="m", include_embedding=False)
    assert back is not None
    assert (back.content, back.metadata) == (CANARY, {"at": CANARY})


@pytest.mark.gate("RUN-33")
async def test_forgetting_a_damaged_memory_says_that_it_is_damaged(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *many(2))
    namespace.store.writer.call(
        lambda tx: tx.connection.execute(
            "UPDATE texts SET content = 'rotten' WHERE rid ="
            " (SELECT rid FROM memories WHERE id = 'm00000')"
        )
    )
    report = await namespace.forget(ids=["m00000", "m00001", "nobody"], reason="asked")
    answers = [(one.id, one.result) for one in report.results]
    assert answers == [("m00000", "corrupt"), ("m00001", "forgotten"), ("nobody", "unknown")]
    assert tiers(namespace) == {"m00000": "hot", "m00001": "forgotten"}


@pytest.mark.gate("RUN-34")
async def test_a_reason_that_nothing_was_forgotten_for_is_no_restore(world: World) -> None:
    namespace = await with_a_forgotten_one(world)

    async def by_reason(reason: str) -> dict[str, int]:
        report = await namespace.restore(ids=None, run_id=None, reason=reason)
        return report.counts

    for slip, hint in (("asket", "did you mean asked?"), ("bogus", "total_over_threshold")):
        with pytest.raises(InvalidParams, match=slip) as refused:
            await by_reason(slip)
        assert refused.value.data["field"] == "$.reason"
        assert hint in refused.value.data["remedy"]
    assert tiers(namespace) == {"m": "forgotten"}
    assert await by_reason("asked") == {"restored": 1}
    # Once more, or for a reason that might have been: an honest empty answer.
    for known in ("asked", "called", "disk_over_threshold", "archived", "obsolete"):
        counts = await by_reason(known)
        assert counts in ({}, {"restored": 1}), known


@pytest.mark.gate("RUN-35")
async def test_the_report_of_a_plan_counts_as_kept_what_it_really_kept(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdCount=10)
    await put(namespace, *many(20))
    plan = await sweep(namespace, dry_run=True)
    chosen = [one.id for one in plan.decisions]
    assert (len(chosen), plan.kept) == (11, 9)
    for one in chosen[:3]:
        await namespace.pin(id=one, pinned=True)
    await namespace.set_thresholds({"forgetEnabled": True})
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert (report.counts["spill"], report.counts["skipped"]) == (8, 3)
    assert report.kept == 12


@pytest.mark.gate("RUN-36")
async def test_an_export_is_not_continued_over_events_that_were_folded(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *many(6))
    first = await namespace.export(tiers=["hot"], cursor=None, limit=2)
    await namespace.forget(ids=["m00000"], reason="asked")
    later = world.clock.now_ms() + MILLISECONDS_PER_DAY
    namespace.store.writer.call(lambda tx: event_log.fold(tx, later, 1_000))
    assert query(namespace, "SELECT count(*) FROM events") == [(1,)]
    with pytest.raises(InvalidParams, match="folded") as refused:
        await namespace.export(tiers=["hot"], cursor=first.cursor, limit=2)
    assert refused.value.data["field"] == "$.cursor"
    again = await namespace.export(tiers=["hot"], cursor=None, limit=10)
    assert again.state_hash is not None
    assert [one.id for one in again.lines] == [f"m0000{number}" for number in range(1, 6)]
