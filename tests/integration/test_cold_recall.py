"""Deep recall by the index of cold memories: the same answers as without it, whatever happens."""

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.store import cold_index, cold_tables
from sidecar.store.recall import ColdScan
from tests.cold_memories import (
    cold_folder,
    deep,
    direction,
    fill_cold,
    found,
    index_everything,
    index_files,
    indexed,
    made,
    plain_cosines,
    plain_scores,
    settled,
    spill,
    words,
)
from tests.namespaces import (
    World,
    a_world,
    fill,
    ids_in,
    memory,
    put,
    recall,
    tiers,
)

COUNT = 120
ASKED = "red bike 커피 🍜 zurich"


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    index_everything(monkeypatch)
    async with a_world(tmp_path) as made:
        yield made


def forbid_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail when a recall reads through segments."""

    def run(*_: Any) -> Any:
        raise AssertionError("a recall scanned")

    monkeypatch.setattr(ColdScan, "run", run)


@pytest.mark.gate("COLD-01")
async def test_after_a_spill_a_deep_recall_looks_up_and_scans_nothing(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, COUNT)
    await fill(namespace, [made(rng, f"h{number}") for number in range(20)])
    assert await indexed(namespace) == set(ids_in(namespace, "cold"))
    forbid_scans(monkeypatch)
    asked = direction(rng)
    by_text = {one: score for one, (score, _) in (await found(namespace, ASKED)).items()}
    assert by_text == pytest.approx(plain_scores(namespace, ASKED), abs=1e-9)
    assert len(by_text) > 50
    by_vector = await found(namespace, embedding=asked, embedding_model="m")
    cosines = plain_cosines(namespace, asked, "m")
    assert {one: score for one, (_, score) in by_vector.items()} == pytest.approx(cosines, abs=1e-6)
    nearest = await deep(namespace, embedding=asked, top_k=7)
    best = sorted(plain_cosines(namespace, asked).items(), key=lambda pair: -pair[1])
    assert [one.memory.id for one in nearest.results] == [one for one, _ in best[:7]]


@pytest.mark.gate("COLD-02")
async def test_the_index_answers_what_the_scan_answers(world: World, rng: random.Random) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, COUNT)
    asked = direction(rng)
    by_index = await found(namespace, ASKED, embedding=asked)
    for path in index_files(cold_folder(world)):
        path.unlink()
    by_scan = await found(namespace, ASKED, embedding=asked)
    assert by_index.keys() == by_scan.keys()
    for one, (text, cosine) in by_scan.items():
        assert by_index[one][1] == pytest.approx(cosine, abs=1e-6)
        # The scan measures lengths in characters and the table in words.
        if text is not None:
            assert by_index[one][0] == pytest.approx(text, rel=0.35)


@pytest.mark.gate("COLD-03")
async def test_few_cold_rows_are_scanned_and_get_no_index(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cold_index, "SCANNED_GLADLY_MAX", 30)
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 30)
    assert len(await found(namespace, ASKED)) > 5
    await settled(namespace)
    assert index_files(cold_folder(world)) == []
    await put(namespace, made(rng, "one-more"))
    await spill(namespace)
    assert len(await indexed(namespace)) == 31


@pytest.mark.gate("COLD-03")
async def test_what_is_not_indexed_yet_is_scanned_beside_the_index(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, COUNT)
    monkeypatch.setattr(cold_index, "SCANNED_GLADLY_MAX", 1_000)
    await fill(namespace, [made(rng, f"n{number}") for number in range(25)])
    await spill(namespace)
    assert len(await indexed(namespace)) == COUNT
    asked = direction(rng)
    by_vector = await found(namespace, embedding=asked)
    assert {one: score for one, (_, score) in by_vector.items()} == pytest.approx(
        plain_cosines(namespace, asked), abs=1e-6
    )
    scores = plain_scores(namespace, ASKED)
    by_text = {one: score for one, (score, _) in (await found(namespace, ASKED)).items()}
    assert by_text.keys() == scores.keys()
    assert by_text == pytest.approx(scores, rel=0.05)  # lengths against the mean of the indexed
    assert any(one.startswith("n") for one in by_text)


@pytest.mark.gate("COLD-04")
async def test_a_memory_that_was_thawed_changed_and_spilled_again_is_found_by_its_new_words(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 40)
    before, after = direction(rng), direction(rng)
    await put(namespace, memory("x", content="quince marmalade", embedding=before))
    await spill(namespace)
    assert list(await found(namespace, "quince")) == ["x"]
    await namespace.update(
        id="x", patch=memory("x", content="saffron rice", embedding=after), if_revision=None
    )
    assert tiers(namespace)["x"] == "hot"
    await spill(namespace)
    assert "x" in await indexed(namespace)
    assert await found(namespace, "quince") == {}
    assert list(await found(namespace, "saffron")) == ["x"]
    assert (await found(namespace, embedding=after))["x"][1] == pytest.approx(1, abs=1e-6)
    cosine = (await found(namespace, embedding=before))["x"][1]
    assert cosine == pytest.approx(plain_cosines(namespace, before)["x"], abs=1e-6)


@pytest.mark.gate("COLD-04")
async def test_old_words_are_not_found_before_the_index_has_followed_either(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("x", content="quince marmalade"))
    await fill_cold(namespace, rng, 40)
    monkeypatch.setattr(cold_index, "SCANNED_GLADLY_MAX", 1_000)
    await namespace.update(id="x", patch=memory("x", content="saffron rice"), if_revision=None)
    assert await found(namespace, "quince") == {}
    await spill(namespace)
    assert "x" not in await indexed(namespace)
    assert await found(namespace, "quince") == {}
    assert list(await found(namespace, "saffron")) == ["x"]
    await world.restart()
    namespace = await world.open()
    assert await found(namespace, "quince") == {}
    assert list(await found(namespace, "saffron")) == ["x"]


@pytest.mark.gate("COLD-05")
async def test_a_touched_cold_memory_keeps_its_entry(world: World, rng: random.Random) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 40)
    await namespace.touch(ids=["m0001", "m0002"])
    await namespace.pin(id="m0003", pinned=True)
    assert set(ids_in(namespace, "cold")) == await indexed(namespace)


@pytest.mark.gate("COLD-05")
async def test_merging_segments_indexes_nothing_anew(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    for start in range(4):
        await fill(namespace, [made(rng, f"m{start}-{number}") for number in range(25)])
        await spill(namespace)
    segments = {path.name for path in cold_folder(world).glob("seg-*")}
    monkeypatch.setattr("sidecar.apply.compact.SEGMENTS_SMALL_MAX", 2)

    def add(*_: Any) -> Any:
        raise AssertionError("indexed again")

    monkeypatch.setattr(cold_tables.IndexWriter, "add", add)
    await namespace.forget(ids=["m0-0"], reason="called")
    await settled(namespace)
    assert not segments & {path.name for path in cold_folder(world).glob("seg-*")}
    assert await indexed(namespace) == set(ids_in(namespace, "cold"))
    forbid_scans(monkeypatch)
    asked = direction(rng)
    live = {one: c for one, c in plain_cosines(namespace, asked).items() if one != "m0-0"}
    by_vector = await found(namespace, embedding=asked)
    assert {one: score for one, (_, score) in by_vector.items()} == pytest.approx(live, abs=1e-6)


@pytest.mark.gate("COLD-06")
async def test_what_is_no_longer_cold_leaves_the_index_with_the_run(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, COUNT)
    gone = [f"m{number:04}" for number in range(0, COUNT, 2)]
    before = sum(path.stat().st_size for path in cold_folder(world).glob("vectors-*"))
    await namespace.forget(ids=gone, reason="called")
    await settled(namespace)
    with namespace.store.cold_index.reading() as reading:
        assert reading is not None
        assert len(reading.entries) == COUNT - len(gone)
        assert reading.counts.documents == COUNT - len(gone)
    # More than 30 % of the vectors were dead, so their files were written anew.
    after = sum(path.stat().st_size for path in cold_folder(world).glob("vectors-*"))
    assert after < 0.7 * before
    asked = direction(rng)
    live = {one: c for one, c in plain_cosines(namespace, asked).items() if one not in gone}
    by_vector = await found(namespace, embedding=asked)
    assert {one: score for one, (_, score) in by_vector.items()} == pytest.approx(live, abs=1e-6)
    assert not set(await found(namespace, ASKED)) & set(gone)
    await world.restart()
    namespace = await world.open()
    assert await found(namespace, embedding=asked) == by_vector


@pytest.mark.gate("COLD-06")
async def test_what_is_no_longer_cold_is_not_answered_before_the_index_has_followed(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 60)
    monkeypatch.setattr(cold_index, "SCANNED_GLADLY_MAX", 1_000)
    gone = ["m0001", "m0002", "m0003"]
    await namespace.forget(ids=gone, reason="called")
    asked = direction(rng)
    answered = set(await found(namespace, ASKED, embedding=asked))
    assert not answered & set(gone)
    assert answered >= set(plain_cosines(namespace, asked)) - set(gone)


@pytest.mark.gate("COLD-07")
async def test_filters_hold_for_indexed_memories(world: World, rng: random.Random) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 60)
    rare = [
        memory(f"p{number}", content=words(rng), embedding=direction(rng), memory_type="procedural")
        for number in range(3)
    ]
    await put(namespace, *rare)
    await spill(namespace)
    asked = direction(rng)
    answered = await found(namespace, ASKED, embedding=asked, memory_types=["procedural"], top_k=2)
    cosines = {one: plain_cosines(namespace, asked)[one] for one in ("p0", "p1", "p2")}
    assert set(answered) <= set(cosines)
    only = await found(namespace, embedding=asked, memory_types=["procedural"])
    assert {one: score for one, (_, score) in only.items()} == pytest.approx(cosines, abs=1e-6)


@pytest.mark.gate("COLD-14")
async def test_hot_and_cold_texts_are_scored_on_one_scale(world: World, rng: random.Random) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 100)
    # In the hot store alone every second memory has the word, and it would count for nothing.
    await put(
        namespace,
        memory("hot-twin", content="quince marmalade for breakfast"),
        memory("hot-other", content="nothing of the kind here"),
    )
    hot = await recall(namespace, "quince", depth="hot")
    assert hot.results[0].text_score == pytest.approx(0, abs=1e-5)
    await put(namespace, memory("cold-twin", content="quince marmalade for breakfast"))
    await namespace.hold(id="hot-twin", until=None)
    await namespace.pin(id="hot-twin", pinned=True)
    await namespace.pin(id="hot-other", pinned=True)
    await spill(namespace)
    assert tiers(namespace)["cold-twin"] == "cold"
    assert tiers(namespace)["hot-twin"] == "hot"
    scores = {one: text for one, (text, _) in (await found(namespace, "quince")).items()}
    assert scores == pytest.approx(plain_scores(namespace, "quince"), abs=1e-9)
    assert min(filter(None, scores.values())) > 1


@pytest.mark.gate("COLD-15")
async def test_near_duplicates_beyond_what_is_read_again_are_still_answered(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False)
    asked = direction(rng)
    await fill(
        namespace,
        [memory(f"m{number:03}", content="x", embedding=asked) for number in range(400)],
    )
    await spill(namespace)
    nearest = await deep(namespace, embedding=asked, top_k=5)
    assert [one.memory.id for one in nearest.results] == [f"m{number:03}" for number in range(5)]
    assert all(one.vector_score == pytest.approx(1, abs=1e-6) for one in nearest.results)
