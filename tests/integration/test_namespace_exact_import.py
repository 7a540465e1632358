"""Taking back an export: exactly what it was, forgotten or not, once or ten times."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import DiskFull, InvalidParams, MemoryExists, SupersessionConflict
from sidecar.estimate import estimate
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store.intake import Archive
from tests.busy_store import fill_busily
from tests.exports import lines_of, pages_of, take_back
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    check_columns,
    counted,
    event_kinds,
    fill,
    get,
    ids_in,
    many,
    memory,
    payloads,
    put,
    query,
    recalled,
    restore,
    state_hash,
    tiers,
)

GOLDEN = Path(__file__).parents[1] / "data" / "export.jsonl"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def a_line(world: World, **fields: Any) -> dict[str, Any]:
    """The line of one memory; `fields` of it are others, and nothing vouches for its content."""
    source = await world.open("source", automatic=False)
    if not ids_in(source, "hot"):
        await put(source, memory("m", metadata={"a": 1}, embedding=[1, 2]))
    (line,) = lines_of(await pages_of(source))
    return {**line, "contentHash": None, **fields}


@pytest.mark.gate("EXP-10")
@pytest.mark.gate("CYC-31")
async def test_every_version_gets_the_same_state_from_the_same_file(world: World) -> None:
    opening, *lines, closing = map(json.loads, GOLDEN.read_text(encoding="utf-8").split("\n")[:-1])
    assert opening["forgetd"]["export"] == 1
    target = await world.open(automatic=False)
    report = await take_back(target, lines)
    assert report.created == closing["forgetd"]["records"] == 27
    assert state_hash(target) == closing["forgetd"]["stateHash"]
    assert lines_of(await pages_of(target)) == [
        {"fadedAt": None, **line, **({} if line["tier"] == "forgotten" else placed_hot())}
        for line in lines
    ]


def placed_hot() -> dict[str, Any]:
    return {"tier": "hot", "tierLeft": None, "movedReason": None}


@pytest.mark.gate("EXP-11")
async def test_forgotten_memories_arrive_forgotten(world: World) -> None:
    source = await world.open("source", automatic=False)
    await fill(source, many(30, metadata={"커피": [1.5, None]}, embedding=[0.25, -1, 3]))
    await source.cold_spill(dry_run=False, target=10)
    await source.forget(ids=[f"m{n:05}" for n in range(0, 30, 2)], reason="x")
    forgotten = set(ids_in(source, "forgotten"))
    target = await world.open("target", automatic=False)
    await take_back(target, lines_of(await pages_of(source)), chunk=100)
    assert counted(target) == (15, 0, 15)
    assert {one for one, tier in tiers(target).items() if tier == "forgotten"} == forgotten
    assert query(target, "SELECT count(*) FROM texts") == [(15,)]
    assert await get(target, "m00000") is None
    assert not forgotten & set(await recalled(target, "says", depth="deep", top_k=100))
    check_columns(target)
    world.pass_time(1)
    report = await restore(target, *forgotten)
    assert report.counts == {"restored": 15}
    assert payloads(target) == payloads(source)
    assert forgotten <= set(await recalled(target, "says", depth="deep", top_k=100))
    check_columns(target)


@pytest.mark.gate("EXP-11")
async def test_a_restore_by_reason_knows_why_it_went_and_from_where(world: World) -> None:
    source = await world.open("source", automatic=False)
    await fill(source, many(12))
    await source.cold_spill(dry_run=False, target=6)
    await source.forget(ids=["m00000", "m00011"], reason="x")
    target = await world.open("target", automatic=False)
    await take_back(target, lines_of(await pages_of(source, ("forgotten",))))
    report = await restore(target, reason="called")
    assert {one.id: one.tier for one in report.results} == {"m00000": "cold", "m00011": "hot"}


@pytest.mark.gate("EXP-12")
async def test_replacing_makes_each_memory_what_the_line_says(world: World) -> None:
    source = await world.open("source", automatic=False)
    await fill_busily(world, source, 3)
    lines = lines_of(await pages_of(source))
    target = await world.open("target", automatic=False)
    await take_back(target, lines)
    await target.cold_spill(dry_run=False, target=20)
    world.pass_time(DAY)
    # Each of these is now something else: changed in each tier, forgotten, or live again.
    live = [one for one, tier in tiers(target).items() if tier != "forgotten"]
    changed = [*live[0:4], *ids_in(target, "cold")[:4]]
    for memory_id in changed:
        patch = MemoryInput(content=f"other {memory_id}", embedding=None)
        await target.update(id=memory_id, patch=patch, if_revision=None)
    await target.forget(ids=[*live[2:9], *ids_in(target, "cold")[2:6]], reason="x")
    await restore(target, *ids_in(target, "forgotten")[:5])
    await target.feedback(id=ids_in(target, "cold")[0], signal="harmful")
    assert state_hash(target) != state_hash(source)
    kept = await take_back(target, lines, "skip")
    assert (kept.skipped, kept.replaced) == (len(lines), 0)
    report = await take_back(target, lines, "replace")
    assert report.replaced > 5
    assert report.created == 0
    assert state_hash(target) == state_hash(source)
    assert payloads(target) == payloads(source)
    check_columns(target)
    await world.restart()
    target = await world.open("target", automatic=False)
    assert state_hash(target) == state_hash(await world.open("source", automatic=False))
    check_columns(target)


@pytest.mark.gate("EXP-12")
async def test_an_id_that_is_here_is_refused_when_asked_for(world: World) -> None:
    line = await a_line(world)
    target = await world.open("target", automatic=False)
    await take_back(target, [line], "error")
    before = state_hash(target)
    with pytest.raises(MemoryExists) as refused:
        await take_back(target, [{**line, "id": "new"}, line], "error")
    assert refused.value.data["field"] == "$.memories[1].id"
    assert state_hash(target) == before


@pytest.mark.gate("EXP-13")
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"tier": "forgotten"}, "forgottenAt"),
        ({"forgottenAt": NOW}, "forgottenAt"),
        ({"importanceSource": "estimated"}, "importanceBase"),
        ({"importanceBase": None}, "importanceBase"),
        ({"estimator": None}, "estimator"),
        ({"contentHash": "0" * 64}, "contentHash"),
        ({"contentHash": "xyz"}, "contentHash"),
        ({"status": "believed"}, "status"),
        ({"statusReason": " "}, "statusReason"),
        ({"revision": 0}, "revision"),
        ({"recallCount": -1}, "recallCount"),
        ({"createdAt": -5}, "createdAt"),
        ({"createdAt": None}, "createdAt"),
        ({"content": " "}, "content"),
        ({"id": ""}, "id"),
        ({"embedding": "AAA="}, "embedding"),
        ({"embedding": [1, 2]}, "embedding"),
        ({"mediaRef": "../x"}, "mediaRef"),
        ({"metadata": {"x": "y" * 70_000}}, "metadata"),
        ({"extra": []}, "extra"),
        ({"fadeFactor": "1"}, "fadeFactor"),
        ({"importance": 0.5}, "importance"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_line_that_contradicts_itself_is_refused_by_its_field(
    world: World, fields: dict[str, Any], field: str
) -> None:
    good = await a_line(world)
    bad = {**good, "id": "bad", **fields}
    target = await world.open("target", automatic=False)
    with pytest.raises(InvalidParams) as refused:
        await take_back(target, [good, bad])
    told = refused.value
    assert field in str(told.data["field"]) + told.message
    assert "$.memories[1]" in told.message
    assert told.data["bound"]
    assert told.data["remedy"]
    assert tiers(target) == {}
    report = await take_back(target, [bad, good], skip_bad=True)
    assert (report.created, report.failed, report.errors[0].index) == (1, 1, 0)
    assert tiers(target) == {"m": "hot"}


@pytest.mark.gate("EXP-13")
async def test_a_line_without_one_of_its_fields_is_refused(world: World) -> None:
    whole = await a_line(world)
    target = await world.open("target", automatic=False)
    for name in set(whole) - {"fadedAt"}:  # which older exports do not have
        cut = {key: value for key, value in whole.items() if key != name}
        with pytest.raises(InvalidParams, match=name):
            await take_back(target, [cut])
    assert tiers(target) == {}


@pytest.mark.gate("EXP-13")
async def test_values_that_cannot_be_judged_are_kept_as_they_were(world: World) -> None:
    line = await a_line(world, importanceBase=7.5, createdAt=5, usefulnessScore=-0.0)
    target = await world.open("target", automatic=False)
    await take_back(target, [line])
    shown = await get(target, "m")
    assert shown is not None
    assert (shown.importance_base, shown.created_at, shown.strength) == (7.5, 5, None)
    state_hash(target)


@pytest.mark.gate("EXP-13")
async def test_a_changed_line_is_estimated_anew_where_it_asks_for_it(world: World) -> None:
    source = await world.open("source", automatic=False)
    await put(source, memory("m", importance=None))
    none = {"importanceBase": None, "estimate": None, "estimator": None}
    line = await a_line(world, content="other", **none)
    target = await world.open("target", automatic=False)
    await take_back(target, [line])
    shown = await get(target, "m")
    assert shown is not None
    assert (shown.content, shown.importance_source) == ("other", "estimated")
    assert shown.importance == estimate("other")


@pytest.mark.gate("EXP-14")
@pytest.mark.parametrize("forgotten", [False, True])
@pytest.mark.parametrize(("if_exists", "kept"), [("skip", "first"), ("replace", "last")])
async def test_of_two_lines_of_one_id_one_counts(
    world: World, if_exists: str, kept: str, forgotten: bool
) -> None:
    gone = {"tier": "forgotten", "forgottenAt": NOW} if forgotten else {}
    first = await a_line(world, content="first", **gone)
    last = await a_line(world, content="last", **gone)
    target = await world.open("target", automatic=False)
    report = await take_back(target, [first, last], if_exists)
    assert (report.created, report.skipped) == (1, 1)
    assert payloads(target)["m"][0].decode() == kept
    check_columns(target)
    with pytest.raises(MemoryExists):
        await take_back(await world.open("other"), [first, last], "error")


@pytest.mark.gate("EXP-14")
async def test_lines_that_supersede_each_other_in_a_circle_are_refused(world: World) -> None:
    one = await a_line(world, id="a", supersededBy="b", status="superseded")
    two = await a_line(world, id="b", supersededBy="a", status="superseded")
    target = await world.open("target", automatic=False)
    with pytest.raises(SupersessionConflict):
        await take_back(target, [one, two])
    assert tiers(target) == {}
    report = await take_back(target, [one, two], skip_bad=True)
    assert (report.created, report.failed) == (1, 1)


@pytest.mark.gate("EXP-14")
async def test_vectors_of_another_size_are_refused(world: World) -> None:
    target = await world.open("target", automatic=False)
    await put(target, memory("there", embedding=[1, 2, 3]))
    with pytest.raises(InvalidParams) as refused:
        await take_back(target, [await a_line(world)])
    assert refused.value.data["field"] == "$.memories[0].embedding"


@pytest.mark.gate("EXP-15")
async def test_an_import_that_cannot_be_written_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = await forgotten_lines(world)
    target = await world.open("target", automatic=False)
    monkeypatch.setattr(Archive, "publish", published_in_vain)
    with pytest.raises(DiskFull):
        await take_back(target, lines)
    assert tiers(target) == {}
    assert [*(world.directory("target") / "forgotten").iterdir()] == []
    monkeypatch.undo()
    assert (await take_back(target, lines)).created == len(lines)
    assert counted(target)[2] == len(lines)


@pytest.mark.gate("EXP-15")
async def test_a_crash_after_publishing_is_made_good_by_the_next_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = await forgotten_lines(world)
    expected = state_hash(await world.open("source", automatic=False))
    target = await world.open("target", automatic=False)
    monkeypatch.setattr(Archive, "publish", published_in_vain)
    monkeypatch.setattr(Archive, "retire", lambda *_: None)
    monkeypatch.setattr(Archive, "tidy", lambda *_: None)
    with pytest.raises(DiskFull):
        await take_back(target, lines, chunk=100)
    monkeypatch.undo()
    await world.restart()
    target = await world.open("target", automatic=False)
    assert target.store.findings.adopted == len(lines)
    assert state_hash(target) == expected
    report = await take_back(target, lines)
    assert report.skipped == len(lines)


async def forgotten_lines(world: World) -> list[dict[str, Any]]:
    """The lines of a namespace of which everything is forgotten."""
    source = await world.open("source", automatic=False)
    await fill(source, many(5, embedding=[1, 2]))
    await source.forget(ids=[f"m{n:05}" for n in range(5)], reason="x")
    return lines_of(await pages_of(source))


def published_in_vain(archive: Archive, tx: Any) -> None:
    """The segments get their names, then the disk is full."""
    original(archive, tx)
    raise DiskFull


original = Archive.publish


@pytest.mark.gate("EXP-16")
async def test_an_import_tells_what_came_and_the_log_replays(world: World) -> None:
    source = await world.open("source", automatic=False)
    await fill_busily(world, source, 4, count=20)
    lines = lines_of(await pages_of(source))
    target = await world.open("target", automatic=False)
    await take_back(target, lines, chunk=100)
    kinds = event_kinds(target)
    assert kinds.count("memory.created") == len(lines)
    assert kinds[-1] == "import.completed"
    assert {*kinds} == {
        "namespace.created",
        "forgetting.paused",
        "memory.created",
        "import.completed",
    }
    ((told,),) = query(target, "SELECT payload FROM events WHERE kind = 'import.completed'")
    assert json.loads(told) == {"source": "an export", "created": len(lines)}
    assert state_hash(target) == state_hash(source)


@pytest.mark.gate("EXP-16")
async def test_predecessors_find_the_version_that_came_after_them(world: World) -> None:
    newer = await a_line(world, id="new")
    older = await a_line(world, id="old", supersededBy="new", status="superseded")
    gone = await a_line(
        world,
        id="older",
        supersededBy="new",
        status="superseded",
        tier="forgotten",
        forgottenAt=NOW,
    )
    target = await world.open("target", automatic=False)
    for line in (older, gone, newer):
        await take_back(target, [line])
    shown = await get(target, "new")
    assert shown is not None
    assert shown.supersedes == ["old", "older"]
    check_columns(target)


@pytest.mark.gate("EXP-16")
async def test_the_source_is_untouched_by_what_becomes_of_the_copy(world: World) -> None:
    source = await world.open("source", automatic=False)
    await fill_busily(world, source, 5, count=20)
    before = state_hash(source)
    target: Namespace = await world.open("target", automatic=False)
    await take_back(target, lines_of(await pages_of(source)))
    await target.forget(ids=ids_in(target, "hot"), reason="x")
    assert state_hash(source) == before
