"""Recall over hot and cold memories: what is found, what is left out, and how deep it looks."""

import math
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import InvalidParams
from sidecar.model import ARCHIVED, COLD, INVALIDATED, MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import rows
from sidecar.store.sqlite.writer import Transaction
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    fill,
    get,
    ids_in,
    listed,
    memory,
    put,
    recall,
    recalled,
    restore,
    sweep,
    tiers,
    vector,
)

KOREAN = {
    "커피": "커피를 하루에 두 잔 마신다",
    "회의": "매주 월요일 아침에 회의가 있다",
    "mixed": "GPT-5로 만든 TypeScript 서버를 배포했다",
    "english": "The customer prefers tea over coffee",
    "accents": "Zürich und São Paulo im Frühling",
    "emoji": "celebrated with 🎂 and 🍜",
}
ASKED = {
    "커피": "커피",
    "두 잔": "커피",
    "월요일 회의": "회의",
    "배포": "mixed",
    "typescript": "mixed",
    "GPT-5": "mixed",
    "서버 TypeScript": "mixed",
    "customers preferred": "english",
    "zurich": "accents",
    "são": "accents",
    "🍜": "emoji",
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def believe(namespace: Namespace, memory_id: str, status: int) -> None:
    """Set what is believed of a memory: no method of this version archives or invalidates."""

    def work(tx: Transaction) -> None:
        row = rows.by_id(tx.connection, memory_id)
        assert row is not None
        row.status = status
        rows.update(tx.connection, row)
        tx.after_commit.append(lambda columns: columns.put(row, 0))

    namespace.store.writer.call(work)


@pytest.mark.gate("RECALL-10")
@pytest.mark.parametrize("tier", ["hot", "cold"])
async def test_korean_english_and_mixed_text_is_found_in_every_tier(
    world: World, tier: str
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *(memory(one, content=text) for one, text in KOREAN.items()))
    if tier == "cold":
        await namespace.cold_spill(dry_run=False, target=0)
    for asked, expected in ASKED.items():
        found = await recall(namespace, asked)
        assert found.results, asked
        assert found.results[0].memory.id == expected, asked
        assert found.results[0].memory.tier == tier
        assert found.results[0].memory.content == KOREAN[expected]
        assert found.results[0].text_score is not None


@pytest.mark.gate("RECALL-11")
async def test_auto_goes_deep_only_where_hot_memories_do_not_suffice(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *(memory(f"c{n}", content=f"tea with lemon {n}") for n in range(5)))
    await namespace.cold_spill(dry_run=False, target=0)
    await put(namespace, *(memory(f"h{n}", content=f"tea with milk {n}") for n in range(5)))
    shallow = await recall(namespace, "tea", top_k=5)
    assert (shallow.depth, shallow.cold_scanned) == ("hot", 0)
    assert {one.memory.id[0] for one in shallow.results} == {"h"}
    wide = await recall(namespace, "tea", top_k=6)
    assert (wide.depth, wide.cold_scanned) == ("deep", 5)
    assert len(wide.results) == 6
    lemon = await recall(namespace, "lemon", top_k=1)
    assert (lemon.depth, lemon.results[0].memory.tier) == ("deep", "cold")
    held = await recall(namespace, "lemon", top_k=1, depth="hot")
    assert (held.depth, held.results, held.cold_scanned) == ("hot", [], 0)
    deep = await recall(namespace, "tea", top_k=2, depth="deep")
    assert (deep.depth, deep.cold_scanned) == ("deep", 5)


@pytest.mark.gate("RECALL-11")
async def test_hot_results_that_have_little_to_do_with_the_question_do_not_suffice(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("cold", content="violet umbrella forgotten in Lisbon"))
    await namespace.cold_spill(dry_run=False, target=0)
    await put(namespace, memory("hot", content="violet is a colour"))
    found = await recall(namespace, "violet umbrella forgotten Lisbon", top_k=1)
    assert (found.depth, found.results[0].memory.id) == ("deep", "cold")


@pytest.mark.gate("RECALL-12")
@pytest.mark.parametrize("tier", ["hot", "cold", "both"])
async def test_text_and_vector_are_fused(world: World, rng: random.Random, tier: str) -> None:
    namespace = await world.open(automatic=False)
    wanted = vector(rng)
    away = [-number for number in wanted]
    await put(
        namespace,
        memory("both", content="piano lessons", embedding=wanted),
        memory("text", content="piano lessons piano", embedding=away),
        memory("near", content="something else", embedding=[*wanted[:-1], wanted[-1] + 0.1]),
        memory("bare", content="no vector at all"),
    )
    if tier != "hot":
        await namespace.cold_spill(dry_run=False, target=0 if tier == "cold" else 2)
    found = await recall(namespace, "piano", embedding=wanted, top_k=4)
    by_id = {one.memory.id: one for one in found.results}
    assert found.results[0].memory.id == "both"
    assert set(by_id) == {"both", "text", "near"}
    assert by_id["near"].text_score is None
    assert by_id["both"].vector_score == pytest.approx(1.0, abs=1e-5)
    assert by_id["text"].vector_score == pytest.approx(-1.0, abs=1e-5)
    assert [one.score for one in found.results] == sorted(
        (one.score for one in found.results), reverse=True
    )
    assert await recalled(namespace, embedding=wanted, top_k=2) == ["both", "near"]
    assert (await recalled(namespace, "piano", depth="deep"))[0] == "text"


@pytest.mark.gate("RECALL-12")
async def test_of_equal_results_the_stronger_comes_first_then_the_smaller_id(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await put(
        namespace,
        memory("words", days=1, content="piano"),
        memory("vector", days=1, content="nothing", embedding=[1.0, 0.0]),
    )
    for words, by_vector, order in (
        (0.9, 0.4, ["words", "vector"]),
        (0.4, 0.9, ["vector", "words"]),
        (0.9, 0.9, ["vector", "words"]),
    ):
        for one, importance in (("words", words), ("vector", by_vector)):
            patch = MemoryInput(importance=importance)
            await namespace.update(id=one, patch=patch, if_revision=None)
        found = await recall(namespace, "piano", embedding=[1.0, 0.0])
        assert len({one.score for one in found.results}) == 1
        assert [one.memory.id for one in found.results] == order


@pytest.mark.gate("RECALL-14")
async def test_vectors_put_after_an_empty_recall_are_found(world: World) -> None:
    namespace = await world.open()
    assert await recalled(namespace, embedding=[1.0, 0.0]) == []
    await put(namespace, memory("m", embedding=[1.0, 0.0]))
    assert await recalled(namespace, embedding=[1.0, 0.0]) == ["m"]
    await namespace.forget(ids=["m"], reason="asked")
    assert await recalled(namespace, embedding=[1.0, 0.0]) == []
    await restore(namespace, "m")
    assert await recalled(namespace, embedding=[1.0, 0.0]) == ["m"]


@pytest.mark.gate("RECALL-13")
@pytest.mark.parametrize("tier", ["hot", "cold"])
async def test_what_is_over_wrong_superseded_or_not_yet_valid_is_left_out(
    world: World, tier: str
) -> None:
    namespace = await world.open(automatic=False)
    await put(
        namespace,
        memory("plain"),
        memory("over", expires_at=NOW + DAY),
        memory("early", valid_from=NOW + 3 * DAY),
        memory("older"),
        memory("newer", supersedes="older"),
        memory("aside"),
        memory("wrong"),
    )
    believe(namespace, "aside", ARCHIVED)
    believe(namespace, "wrong", INVALIDATED)
    if tier == "cold":
        await namespace.cold_spill(dry_run=False, target=0)
    world.pass_time(DAY - 1)
    assert sorted(await recalled(namespace, "says")) == ["newer", "over", "plain"]
    world.pass_time(1)
    assert sorted(await recalled(namespace, "says")) == ["newer", "plain"]
    archived = await recalled(namespace, "says", include_archived=True)
    assert sorted(archived) == ["aside", "newer", "plain"]
    world.pass_time(2 * DAY)
    assert sorted(await recalled(namespace, "says")) == ["early", "newer", "plain"]
    assert (await get(namespace, "over")) is not None, "it is only recall that it leaves"


@pytest.mark.gate("RECALL-13")
@pytest.mark.parametrize("tier", ["hot", "cold"])
async def test_a_recall_may_ask_for_types_and_for_strength(world: World, tier: str) -> None:
    namespace = await world.open(automatic=False)
    await put(
        namespace,
        memory("s", days=1, importance=0.9),
        memory("e", days=1, importance=0.5, memory_type="episodic"),
        memory("p", days=1, importance=0.1, memory_type="procedural"),
    )
    odd = {"id": "odd", "content": "what odd says", "createdAt": 5}
    await namespace.import_many(memories=[odd], if_exists="error", skip_bad=False, source=None)
    if tier == "cold":
        await namespace.cold_spill(dry_run=False, target=0)
    assert sorted(await recalled(namespace, "says", memory_types=["episodic", "procedural"])) == [
        "e",
        "p",
    ]
    assert await recalled(namespace, "says", memory_types=[]) == []
    assert sorted(await recalled(namespace, "says", min_strength=0.4)) == ["e", "odd", "s"]
    assert sorted(
        await recalled(namespace, "says", min_strength=0.4, memory_types=["semantic"])
    ) == [
        "odd",
        "s",
    ]


@pytest.mark.gate("RECALL-14")
async def test_a_vector_of_another_size_is_refused_and_models_do_not_mix(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False)
    assert (await recall(namespace, embedding=[1.0, 2.0])).results == []
    wanted = vector(rng)
    await put(
        namespace,
        memory("a", embedding=wanted, embedding_model="one"),
        memory("b", embedding=wanted, embedding_model="two"),
        memory("c", embedding=[0.5, 0.25], embedding_model="tiny"),
    )
    for given in (
        {"embedding": [1.0] * 3},
        {"embedding": [1.0] * 2, "embedding_model": "one"},
        {"embedding": [1.0] * 8, "embedding_model": "tiny"},
    ):
        with pytest.raises(InvalidParams) as refused:
            await recall(namespace, "says", **given)
        assert refused.value.data["field"] == "$.embedding"
        assert {"bound", "remedy"} <= set(refused.value.data)
    for bad in ([], [math.nan], [math.inf], [1e39], "***", ""):
        with pytest.raises(InvalidParams):
            await recall(namespace, embedding=bad)
    for _ in range(2):
        assert await recalled(namespace, embedding=wanted, embedding_model="two") == ["b"]
        assert sorted(await recalled(namespace, embedding=wanted)) == ["a", "b"]
        await namespace.cold_spill(dry_run=False, target=0)


@pytest.mark.gate("RECALL-15")
async def test_what_is_forgotten_is_nowhere_until_it_is_restored(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdTotal=10, lowWatermark=0.5)
    wanted = vector(rng)
    members = [memory(f"m{n:02}", days=300 - n, embedding=wanted) for n in range(12)]
    await fill(namespace, members)
    await namespace.cold_spill(dry_run=False, target=6)
    await sweep(namespace)
    gone = {f"m{n:02}" for n in range(7)}
    assert set(ids_in(namespace, "forgotten")) == gone
    ways: list[dict[str, Any]] = [{"query": "says m00"}, {"embedding": wanted}]
    for way in ways:
        for depth in ("hot", "auto", "deep"):
            found = await recalled(
                namespace, **way, depth=depth, top_k=100, include_archived=True, min_strength=0.0
            )
            assert not gone & set(found)
    assert not gone & set(await listed(namespace))
    assert await namespace.get_many(ids=sorted(gone), include_embedding=False) == [None] * 7
    assert set(await listed(namespace, "forgotten")) == gone, "only to say what may come back"
    await restore(namespace, "m00")
    assert (await recalled(namespace, "says m00"))[0] == "m00"


@pytest.mark.gate("RECALL-16")
async def test_a_damaged_segment_hides_its_own_memories_only(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("first", days=300))
    await namespace.cold_spill(dry_run=False, target=0)
    (segment,) = namespace.store.files.folder(COLD).iterdir()
    await put(namespace, memory("second", days=299))
    await namespace.cold_spill(dry_run=False, target=0)
    await put(namespace, memory("third"))
    raw = bytearray(segment.read_bytes())
    raw[20] ^= 0xFF
    segment.chmod(0o600)
    segment.write_bytes(raw)
    await world.restart()
    namespace = await world.registry.open("default", False)
    found = await recalled(namespace, "says", depth="deep")
    assert sorted(found) == ["second", "third"]
    assert tiers(namespace) == {"first": "cold", "second": "cold", "third": "hot"}


@pytest.mark.gate("RECALL-17")
@pytest.mark.parametrize(
    "asked",
    ["", " ", '"', "AND", "a OR (b", "NEAR(", "*", "col:x", "\0", "-커", "😀" * 500, "x" * 60_000],
)
async def test_a_query_is_words_and_never_syntax(world: World, asked: str) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m", content="and or near col x 커 a b"))
    assert set(await recalled(namespace, asked)) <= {"m"}
    await namespace.cold_spill(dry_run=False, target=0)
    assert set(await recalled(namespace, asked, depth="deep")) <= {"m"}
