"""Clearing and opening items of a review, and what is left of them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.apply.rebuild import rebuild
from sidecar.errors import InvalidParams, MemoryNotFound
from sidecar.limits import (
    REVIEW_REGRETS_COUNT_DEFAULT,
)
from sidecar.namespace import Namespace
from sidecar.review_reports import ReviewCleared, ReviewCounts, ReviewRequest
from tests.collecting import destroy, files_with
from tests.keyed import Wire
from tests.namespaces import (
    World,
    a_world,
    check_columns,
    event_kinds,
    memory,
    put,
    query,
    state_hash,
)
from tests.reviewing import NOTHING, cleared, counts, cycle, items, pair, patch, regretted, review

KOREAN, EMOJI = "기억-하나", "🦊🍵"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


# --- clearing ----------------------------------------------------------------------------


async def one_of_each(world: World) -> Namespace:
    """A namespace with an item of each reason."""
    namespace = await world.open(automatic=False)
    await put(namespace, *pair("tea", "Mina drank 2 cups of tea", "Mina drank 3 cups of tea"))
    strong: dict[str, Any] = {"days": 14, "importance": 0.9}
    await put(namespace, memory("orphan", superseded_by="nobody", **strong))
    await put(namespace, memory("missed", **strong))
    await namespace.import_many(
        memories=[{"id": "odd", "content": "a", "importance": 7}],
        if_exists="error",
        skip_bad=False,
        source=None,
    )
    await cycle(namespace)
    await namespace.forget(ids=["missed"], reason="x")
    await regretted(namespace, "missed", REVIEW_REGRETS_COUNT_DEFAULT)
    assert await counts(namespace) == ReviewCounts(regret=1, guarded=1, broken_chain=1, unscored=1)
    return namespace


@pytest.mark.gate("REV-05")
async def test_what_is_cleared_stays_away_over_restarts_and_rebuilds(world: World) -> None:
    namespace = await one_of_each(world)
    before = state_hash(namespace)
    answer = await cleared(namespace, ids=["missed", "tea-2", "orphan", "odd", "nobody-at-all"])
    assert answer == ReviewCleared(cleared=4, not_flagged=["nobody-at-all"], left=0)
    assert await items(namespace) == []
    assert await counts(namespace) == NOTHING
    assert state_hash(namespace) == before, "a review changes no memory"
    check_columns(namespace)
    await cycle(namespace)
    assert await items(namespace) == [], "a cycle finds the pair again, and it is known"
    await world.registry.close_all()
    assert rebuild(world.directory(), in_place=True).refused == []
    await world.start()
    namespace = await world.open(automatic=False)
    assert await items(namespace) == []
    assert await counts(namespace) == NOTHING


@pytest.mark.gate("REV-05")
async def test_clearing_is_told_in_an_event_of_the_same_transaction(world: World) -> None:
    namespace = await one_of_each(world)
    await cleared(namespace, reason="guarded")
    page = await namespace.list_events(since=0, limit=1_000, kinds=["review.cleared"])
    assert [one.payload for one in page.events] == [
        {"items": [{"reason": "guarded", "memoryId": "tea-1", "otherId": "tea-2"}]}
    ]
    assert [one.reason for one in await items(namespace)] == ["regret", "brokenChain", "unscored"]


@pytest.mark.gate("REV-06")
async def test_something_new_brings_an_item_back(world: World) -> None:
    namespace = await one_of_each(world)
    await cleared(namespace, ids=["missed", "tea-1", "orphan", "odd"])
    await namespace.touch(ids=["tea-1", "tea-2", "orphan", "odd"])
    await namespace.pin(id="odd", pinned=True)
    await cycle(namespace)
    assert await items(namespace) == [], "use and protection are nothing new"
    await regretted(namespace, "missed")
    await namespace.update(id="orphan", patch=patch("other words"), if_revision=None)
    await namespace.update(id="odd", patch=patch("other words"), if_revision=None)
    await namespace.update(id="tea-2", patch=patch("Mina drank 4 cups of tea"), if_revision=None)
    await cycle(namespace)
    back = {one.reason: one.memory_id for one in await items(namespace)}
    assert back == {
        "regret": "missed",
        "guarded": "tea-1",
        "brokenChain": "orphan",
        "unscored": "odd",
    }
    assert (await review(namespace)).items[0].regrets == 6


@pytest.mark.gate("REV-06")
async def test_what_changes_while_it_is_cleared_is_not_cleared(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sidecar.store import reviews

    namespace = await one_of_each(world)
    clear = reviews.clear

    def later(tx: Any, *rest: Any) -> None:
        tx.connection.execute("UPDATE memories SET revision = revision + 1 WHERE id = 'odd'")
        clear(tx, *rest)

    monkeypatch.setattr(reviews, "clear", later)
    await cleared(namespace, reason="unscored")
    assert [one.memory_id for one in await items(namespace, reason="unscored")] == ["odd"]


@pytest.mark.gate("REV-06")
async def test_one_call_clears_no_more_than_the_limit_and_says_what_is_left(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.namespace_review.REVIEW_CLEARED_COUNT_MAX", 3)
    monkeypatch.setattr("sidecar.store.reviews.REVIEW_ITEMS_PER_EVENT_COUNT_MAX", 2)
    namespace = await world.open(automatic=False)
    await put(namespace, *(memory(f"o{n}", superseded_by="nobody") for n in range(5)))
    answer = await cleared(namespace, reason="brokenChain")
    assert answer == ReviewCleared(cleared=3, not_flagged=[], left=2)
    assert [one.memory_id for one in await items(namespace)] == ["o3", "o4"]
    assert event_kinds(namespace, "review.") == ["review.cleared"] * 2


# --- looking -----------------------------------------------------------------------------


@pytest.mark.gate("REV-07")
async def test_pages_follow_each_other_whatever_is_cleared_in_between(world: World) -> None:
    namespace = await one_of_each(world)
    await put(namespace, *(memory(f"o{n}", superseded_by="nobody") for n in range(3)))
    whole = await review(namespace)
    assert whole.cursor is None
    for limit in (1, 2, 3):
        found, cursor = [], None
        while True:
            page = await namespace.review(request=ReviewRequest(), limit=limit, cursor=cursor)
            assert len(page.items) <= limit
            found += page.items
            cursor = page.cursor
            if cursor is None:
                break
        assert found == whole.items
    first = await namespace.review(request=ReviewRequest(), limit=2, cursor=None)
    await cleared(namespace, ids=[one.memory_id for one in first.items])
    rest = await namespace.review(request=ReviewRequest(), limit=100, cursor=first.cursor)
    assert rest.items == whole.items[2:]


@pytest.mark.gate("REV-07")
@pytest.mark.parametrize("cursor", ["", "x", "WzVd", "WzAsIDFd", "WzIsICJhIl0=", "한글"])
async def test_a_cursor_of_something_else_is_refused(world: World, cursor: str) -> None:
    namespace = await one_of_each(world)
    with pytest.raises(InvalidParams) as refused:
        await namespace.review(request=ReviewRequest(), limit=1, cursor=cursor)
    assert refused.value.data["field"] == "$.cursor"


@pytest.mark.gate("REV-07")
async def test_opening_shows_every_memory_in_question_and_counts_no_use(world: World) -> None:
    namespace = await one_of_each(world)
    events = event_kinds(namespace)
    opened = await namespace.open_review(id="tea-2", request=ReviewRequest())
    assert [one.reason for one in opened.items] == ["guarded"]
    assert [(one.id, one.content) for one in opened.memories] == [
        ("tea-2", "Mina drank 3 cups of tea"),
        ("tea-1", "Mina drank 2 cups of tea"),
    ]
    missed = await namespace.open_review(id="missed", request=ReviewRequest())
    assert [(one.id, one.tier, one.content) for one in missed.memories] == [
        ("missed", "forgotten", "what missed says")
    ]
    orphan = await namespace.open_review(id="orphan", request=ReviewRequest())
    assert [one.id for one in orphan.memories] == ["orphan"]
    await cleared(namespace, ids=["orphan"])
    assert (await namespace.open_review(id="orphan", request=ReviewRequest())).items == []
    with pytest.raises(MemoryNotFound):
        await namespace.open_review(id="nobody", request=ReviewRequest())
    assert event_kinds(namespace) == [*events, "review.cleared"]


@pytest.mark.gate("REV-08")
@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("review.flagged", {"threshold": 0}, "$.threshold"),
        ("review.flagged", {"threshold": -5}, "$.threshold"),
        ("review.flagged", {"threshold": 101}, "$.threshold"),
        ("review.flagged", {"threshold": 1.5}, "$.threshold"),
        ("review.flagged", {"windowDays": 0}, "$.windowDays"),
        ("review.flagged", {"windowDays": -1}, "$.windowDays"),
        ("review.flagged", {"windowDays": 1e300}, "$.windowDays"),
        ("review.flagged", {"windowDays": float("nan")}, "$.windowDays"),
        ("review.flagged", {"reason": "boredom"}, "$.reason"),
        ("review.flagged", {"limit": 0}, "$.limit"),
        ("review.open", {}, "$.id"),
        ("review.open", {"id": ""}, "$.id"),
        ("review.clear", {}, "$"),
        ("review.clear", {"ids": []}, "$.ids"),
        ("review.clear", {"ids": ["x"] * 1_001}, "$.ids"),
        ("review.clear", {"ids": [5]}, "$.ids[0]"),
        ("review.clear", {"reason": ""}, "$.reason"),
    ],
)
async def test_bad_parameters_are_refused_by_name_and_nothing_is_cleared(
    world: World, method: str, params: dict[str, Any], field: str
) -> None:
    namespace = await one_of_each(world)
    with pytest.raises(InvalidParams) as refused:
        await Wire(world.registry, world.clock).call(method, **params)
    assert refused.value.data["field"].startswith(field)
    assert {"bound", "remedy"} <= refused.value.data.keys()
    assert len(await items(namespace)) == 4


@pytest.mark.gate("REV-08")
async def test_a_namespace_that_is_not_there_has_nothing_to_look_at(world: World) -> None:
    wire = Wire(world.registry, world.clock)
    page = await wire.call("review.flagged", namespace="nowhere")
    assert (page["items"], page["cursor"], set(page["counts"].values())) == ([], None, {0})
    with pytest.raises(MemoryNotFound):
        await wire.call("review.open", namespace="nowhere", id=EMOJI)
    assert not world.directory("nowhere").exists()


@pytest.mark.gate("REV-08")
async def test_ids_of_any_script_are_found_and_cleared(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory(KOREAN), memory(EMOJI))
    for one in (KOREAN, EMOJI):
        await regretted(namespace, one, REVIEW_REGRETS_COUNT_DEFAULT)
    wire = Wire(world.registry, world.clock)
    assert (await wire.call("review.clear", ids=[KOREAN, KOREAN, "없음"])) == {
        "cleared": 1,
        "notFlagged": ["없음"],
        "left": 0,
    }
    assert [one.memory_id for one in await items(namespace)] == [EMOJI]


@pytest.mark.gate("REV-09")
async def test_nothing_of_a_destroyed_memory_is_left_in_the_review(world: World) -> None:
    namespace = await one_of_each(world)
    await regretted(namespace, "tea-1", REVIEW_REGRETS_COUNT_DEFAULT)
    await cleared(namespace, ids=["missed", "tea-1"])
    report = await destroy(namespace, "missed", "tea-1")
    assert report.verification is not None
    assert report.verification.clean, report.verification.left
    for table in ("regrets", "guarded_pairs", "review_cleared"):
        assert query(namespace, f"SELECT * FROM {table}") == []
    (stone, *_) = await namespace.list_events(since=0, limit=9, kinds=["review.cleared"]), 0
    assert all("tea-1" not in str(one.payload) for one in stone.events)
    await world.registry.close_all()
    assert files_with(world.directory(), '"tea-1"') == []
    await world.start()


@pytest.mark.gate("REV-09")
async def test_verify_finds_an_id_that_a_review_still_names(world: World) -> None:
    namespace = await one_of_each(world)
    await cleared(namespace, ids=["tea-1"])
    found = await namespace.verify_destroyed(ids=["tea-2"], texts=[])
    told = {one.where for one in found.left}
    assert {"guarded_pairs", "review_cleared", "summaries"} <= told
