"""The review: what waits for a person's look, and taking it off without touching a memory."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.limits import (
    GUARDED_PAIRS_COUNT_MAX,
    REGRETS_KEPT_COUNT_MAX,
    REVIEW_REGRETS_COUNT_DEFAULT,
)
from sidecar.review_reports import ReviewCounts
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    event_kinds,
    get,
    memory,
    put,
    query,
)
from tests.reviewing import NOTHING, cleared, counts, cycle, items, pair, patch, regretted, review

KOREAN, EMOJI = "기억-하나", "🦊🍵"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


# --- regrets -----------------------------------------------------------------------------


@pytest.mark.gate("REV-01")
async def test_a_memory_is_flagged_from_the_fifth_regret_on_and_not_before(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"), memory("other"))
    await namespace.forget(ids=["m"], reason="x")
    await regretted(namespace, "m", REVIEW_REGRETS_COUNT_DEFAULT - 1)
    assert await items(namespace) == []
    world.pass_time(DAY)
    await regretted(namespace, "m")
    page = await review(namespace)
    (item,) = page.items
    assert (item.reason, item.memory_id, item.other_id, item.regrets) == ("regret", "m", None, 5)
    assert (item.flagged_at, item.age_days) == (NOW + DAY, 0)
    assert item.expires_at == NOW + 90 * DAY
    assert page.counts == await counts(namespace)
    assert page.counts == ReviewCounts(regret=1, guarded=0, broken_chain=0, unscored=0)


@pytest.mark.gate("REV-01")
async def test_a_regret_counts_until_the_window_has_passed_and_no_longer(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"))
    await regretted(namespace, "m", REVIEW_REGRETS_COUNT_DEFAULT)
    ((item,), _) = await items(namespace), world.pass_time(90 * DAY - 1)
    assert [one.memory_id for one in await items(namespace)] == ["m"]
    assert (await counts(namespace)).regret == 1
    world.pass_time(1)
    assert item.expires_at == world.clock.now_ms()
    assert await items(namespace) == []
    assert (await counts(namespace)).regret == 0
    await regretted(namespace, "m", REVIEW_REGRETS_COUNT_DEFAULT - 1)
    assert await items(namespace) == [], "the old ones count no more"


@pytest.mark.gate("REV-01")
async def test_a_caller_may_ask_for_another_number_of_regrets_and_another_window(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"), memory("n"))
    await regretted(namespace, "m", 2)
    world.pass_time(10 * DAY)
    await regretted(namespace, "n", 3)
    for threshold, days, expected in (
        (1, 90, ["m", "n"]),
        (2, 10.001, ["m", "n"]),
        (2, 10, ["n"]),
        (3, 90, ["n"]),
        (4, 3_650, []),
    ):
        page = await review(namespace, threshold=threshold, window_ms=round(days * DAY))
        assert [one.memory_id for one in page.items] == expected, (threshold, days)
        assert page.counts.regret == len(expected)


@pytest.mark.gate("REV-02")
async def test_regrets_outlive_their_events(world: World) -> None:
    namespace = await world.open(automatic=False, eventRetentionDays=1)
    await put(namespace, memory("m"))
    await regretted(namespace, "m", REVIEW_REGRETS_COUNT_DEFAULT)
    world.pass_time(2 * DAY)
    await put(namespace, memory("later"))
    await namespace.fold_events()
    assert "retrieval.regret" not in event_kinds(namespace)
    await world.restart()
    namespace = await world.open(automatic=False)
    assert [one.memory_id for one in await items(namespace)] == ["m"]


@pytest.mark.gate("REV-02")
async def test_of_each_memory_only_the_newest_regrets_are_kept(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"))
    for _ in range(REGRETS_KEPT_COUNT_MAX + 3):
        world.pass_time(1)
        await regretted(namespace, "m")
    world.clock.hold(NOW)  # a clock that was set back: its regrets are the oldest
    await regretted(namespace, "m")
    ((total, kept),) = query(namespace, "SELECT total, json_array_length(times) FROM regrets")
    assert (total, kept) == (REGRETS_KEPT_COUNT_MAX + 4, REGRETS_KEPT_COUNT_MAX)
    page = await review(namespace, threshold=REGRETS_KEPT_COUNT_MAX)
    assert [one.regrets for one in page.items] == [REGRETS_KEPT_COUNT_MAX]


@pytest.mark.gate("REV-02")
async def test_an_upgrade_takes_over_the_regrets_that_the_log_still_has(world: World) -> None:
    from sidecar.store.sqlite.migrate import available

    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"), memory(KOREAN))
    for memory_id, times in (("m", 7), (KOREAN, 2)):
        for _ in range(times):
            world.pass_time(1)
            await regretted(namespace, memory_id)
    before = query(namespace, "SELECT * FROM regrets ORDER BY memory_id")
    sql = dict(available())[7]
    insert = sql[sql.index("INSERT INTO regrets") : sql.index(";", sql.index("INSERT INTO")) + 1]

    def again(tx: Any) -> None:
        tx.connection.execute("DELETE FROM regrets")
        tx.connection.execute(insert)

    namespace.store.writer.call(again)
    assert query(namespace, "SELECT * FROM regrets ORDER BY memory_id") == before


# --- pairs -------------------------------------------------------------------------------


@pytest.mark.gate("REV-03")
async def test_a_real_cycle_leaves_the_pairs_that_its_guard_kept_apart(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *pair("tea", "Mina drank 2 cups of tea", "Mina drank 3 cups of tea"))
    planned = await cycle(namespace, dry_run=True)
    assert planned.duplicates_flagged == 2
    assert await items(namespace) == [], "a dry run writes nothing"
    await cycle(namespace)
    (item,) = await items(namespace)
    assert (item.reason, item.memory_id, item.other_id) == ("guarded", "tea-1", "tea-2")
    assert (item.why, item.flagged_at, item.expires_at) == ("number", NOW, NOW + 90 * DAY)
    world.pass_time(3 * DAY)
    await cycle(namespace)
    (item,) = await items(namespace)
    assert (item.flagged_at, item.age_days, item.expires_at) == (NOW, 3, NOW + 93 * DAY)
    assert await counts(namespace) == ReviewCounts(regret=0, guarded=1, broken_chain=0, unscored=0)
    await world.restart()
    namespace = await world.open(automatic=False)
    assert await items(namespace) == [item]
    assert {await get(namespace, one) is None for one in ("tea-1", "tea-2")} == {False}
    assert event_kinds(namespace, "review.") == ["review.pairs_noted"] * 2


@pytest.mark.gate("REV-03")
async def test_a_cycle_that_moves_something_leaves_its_pairs_too(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *pair("tea", "Mina drank 2 cups of tea", "Mina drank 3 cups of tea"))
    await put(namespace, memory("weak", importance=0.1))
    planned = await cycle(namespace, dry_run=True)
    done = await cycle(namespace, plan_id=planned.plan_id)
    assert done.pruned == 1
    assert [one.reason for one in await items(namespace)] == ["guarded"]


@pytest.mark.gate("REV-03")
@pytest.mark.parametrize("way", ["updated", "forgotten", "unfound", "old"])
async def test_a_pair_that_is_none_any_more_leaves_by_itself(world: World, way: str) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *pair("tea", "Mina drank 2 cups of tea", "Mina drank 3 cups of tea"))
    await cycle(namespace)
    assert len(await items(namespace)) == 1
    if way == "updated":
        await namespace.update(id="tea-2", patch=patch("Mina keeps bees"), if_revision=None)
    elif way == "forgotten":
        await namespace.forget(ids=["tea-1"], reason="x")
    elif way == "unfound":
        await namespace.invalidate(id="tea-1", reason="incorrect")
        await cycle(namespace)
        assert query(namespace, "SELECT * FROM guarded_pairs") == []
    else:
        world.pass_time(90 * DAY)
    assert await items(namespace) == []
    assert await counts(namespace) == NOTHING


@pytest.mark.gate("REV-03")
async def test_no_more_pairs_are_kept_than_the_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert GUARDED_PAIRS_COUNT_MAX == 1_000
    monkeypatch.setattr("sidecar.store.reviews.GUARDED_PAIRS_COUNT_MAX", 2)
    namespace = await world.open(automatic=False)
    for name, (first, second) in enumerate(((2, 3), (4, 5), (6, 7))):
        await put(
            namespace,
            *pair(f"p{name}", f"Room {first}", f"Room {second}", axis=name),
        )
    await cycle(namespace)
    shown = [one.memory_id for one in await items(namespace)]
    assert shown == ["p0-1", "p1-1"]
    await cleared(namespace, ids=["p0-1"])
    await cycle(namespace)
    assert [one.memory_id for one in await items(namespace)] == ["p1-1", "p2-1"]


# --- broken chains and unscored memories ---------------------------------------------------


@pytest.mark.gate("REV-04")
async def test_broken_chains_and_unscored_memories_are_listed_with_what_is_wrong(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("orphan", superseded_by="nobody"), memory("fine"))
    await put(namespace, memory("old", superseded_by="new"), memory("new"))
    await namespace.import_many(
        memories=[
            {"id": KOREAN, "content": "a", "importance": 7},
            {"id": EMOJI, "content": "b", "createdAt": 5, "expiresAt": 3},
        ],
        if_exists="error",
        skip_bad=False,
        source=None,
    )
    page = await review(namespace)
    assert [(one.reason, one.memory_id, one.other_id, one.why) for one in page.items] == [
        ("brokenChain", "orphan", "nobody", "successor_missing"),
        ("unscored", KOREAN, None, "importance"),
        ("unscored", EMOJI, None, "createdAt, expiresAt"),
    ]
    assert {one.expires_at for one in page.items} == {None}
    assert page.items[0].flagged_at == NOW
    assert page.counts == await counts(namespace)
    assert page.counts == ReviewCounts(regret=0, guarded=0, broken_chain=1, unscored=2)
    await put(namespace, memory("nobody"))
    await namespace.update(id=KOREAN, patch=patch(importance=0.7), if_revision=None)
    assert [one.memory_id for one in await items(namespace)] == [EMOJI]


@pytest.mark.gate("REV-04")
async def test_a_loop_of_versions_is_an_endless_chain(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("a"), memory("b"))
    await namespace.supersede(id="a", by="b")
    # No call makes a loop; an older version, or another hand, may have left one.
    namespace.store.writer.call(
        lambda tx: tx.connection.execute(
            "UPDATE memories SET superseded_by = 'a', status = 1 WHERE id = 'b'"
        )
    )
    await world.restart()
    namespace = await world.open(automatic=False)
    assert [(one.memory_id, one.why) for one in await items(namespace)] == [
        ("a", "endless"),
        ("b", "endless"),
    ]
