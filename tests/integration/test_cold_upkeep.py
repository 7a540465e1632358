"""The index of cold memories: when it is written, where, what it costs, and what it never does."""

import asyncio
import random
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import ReadOnly
from sidecar.recalling import Recall
from sidecar.store import cold_index, cold_tables
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
    settled,
    spill,
    words,
)
from tests.namespaces import (
    World,
    a_world,
    files_below,
    fill,
    ids_in,
    memory,
    put,
    sweep,
)

COUNT = 120
ASKED = "red bike 커피 🍜 zurich"


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    index_everything(monkeypatch)
    async with a_world(tmp_path) as made:
        yield made


@pytest.mark.gate("COLD-08")
async def test_a_dry_run_writes_no_index_and_a_run_does(world: World, rng: random.Random) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 60)
    await fill(namespace, [made(rng, f"n{number}") for number in range(30)])
    for path in index_files(cold_folder(world)):
        path.unlink()
    before = files_below(world.directory())
    await namespace.set_thresholds({"forgetEnabled": True, "forgetThresholdCount": 10})
    await settled(namespace)
    before = files_below(world.directory())
    for _ in range(20):
        await sweep(namespace, dry_run=True)
        await namespace.cold_spill(dry_run=True, target=0)
    await settled(namespace)
    assert files_below(world.directory()) == before
    await spill(namespace)
    assert await indexed(namespace) == set(ids_in(namespace, "cold"))


@pytest.mark.gate("COLD-08")
async def test_reading_an_index_that_is_up_to_date_writes_nothing(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 60)
    await world.restart()
    namespace = await world.open()
    before = files_below(cold_folder(world))
    await found(namespace, ASKED, embedding=direction(rng))
    await settled(namespace)
    assert files_below(cold_folder(world)) == before


@pytest.mark.gate("COLD-09")
async def test_hot_db_shrinks_and_the_index_counts_as_overhead_in_private_files(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False)
    await fill(
        namespace,
        [
            memory(f"m{n}", content=words(rng, 60), embedding=direction(rng, 1_024))
            for n in range(300)
        ],
    )
    await world.restart()
    hot_bytes = (world.directory() / "hot.db").stat().st_size
    namespace = await world.open(automatic=False)
    await spill(namespace)
    await world.restart()
    assert (world.directory() / "hot.db").stat().st_size < hot_bytes / 2
    namespace = await world.open()
    files = index_files(cold_folder(world))
    assert {path.name.split("-")[0] for path in files} == {"index.db", "index.seal", "vectors"}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files)
    counts = (await namespace.status()).counts
    sizes = sum(path.stat().st_size for path in files)
    assert counts.overhead_bytes >= sizes > 300 * 1_024 * 2
    held = namespace.store.bytes_on_disk()
    for path in files:
        path.unlink()
    assert held - namespace.store.bytes_on_disk() == sizes


@pytest.mark.gate("COLD-10")
async def test_nothing_is_indexed_where_the_disk_is_nearly_full(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cold_index, "ROOM_BYTES_MIN", 1 << 62)
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 60)
    assert index_files(cold_folder(world)) == []
    asked = direction(rng)
    by_vector = await found(namespace, embedding=asked)
    assert {one: score for one, (_, score) in by_vector.items()} == pytest.approx(
        plain_cosines(namespace, asked), abs=1e-6
    )


@pytest.mark.gate("COLD-10")
async def test_an_index_that_cannot_be_written_is_taken_away_and_fails_no_run(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 60)

    def append(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("sidecar.store.cold_vectors.append", append)
        await fill(namespace, [made(rng, f"n{number}") for number in range(30)])
        await spill(namespace)
        assert index_files(cold_folder(world)) == []
        asked = direction(rng)
        assert len(await found(namespace, embedding=asked)) == len(plain_cosines(namespace, asked))
        await settled(namespace)
    await found(namespace, ASKED)
    await settled(namespace)
    assert await indexed(namespace) == set(ids_in(namespace, "cold"))


@pytest.mark.gate("COLD-10")
async def test_a_read_only_namespace_writes_no_index(world: World, rng: random.Random) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, 60)
    for path in index_files(cold_folder(world)):
        path.unlink()
    namespace.store.writer.latched = ReadOnly()
    assert len(await found(namespace, ASKED)) > 10
    await settled(namespace)
    assert index_files(cold_folder(world)) == []


@pytest.mark.gate("COLD-11")
async def test_a_close_stops_between_batches_and_the_next_start_goes_on_from_there(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.store.cold_documents.BATCH_DOCUMENTS", 10)
    add = cold_tables.IndexWriter.add
    sizes: list[int] = []

    def add_and_close(writer: Any, documents: Any) -> Any:
        if not sizes:
            closing.append(threading.Thread(target=index.close))
            closing[0].start()
            assert index._stopping.wait(30)
        sizes.append(len(documents))
        return add(writer, documents)

    closing: list[threading.Thread] = []
    namespace = await world.open(automatic=False)
    index = namespace.store.cold_index
    with monkeypatch.context() as patch:
        patch.setattr(cold_index, "SCANNED_GLADLY_MAX", 1_000)
        for start in range(6):  # one segment each, and so one batch
            await fill(namespace, [made(rng, f"m{start}-{number}") for number in range(10)])
            await spill(namespace)
    with monkeypatch.context() as patch:
        patch.setattr(cold_tables.IndexWriter, "add", add_and_close)
        await found(namespace, ASKED)
        await settled(namespace)
    closing[0].join()
    assert sizes == [10]
    await world.restart()
    namespace = await world.open()
    assert len(await indexed(namespace)) == 10

    def count(writer: Any, documents: Any) -> Any:
        sizes.append(len(documents))
        return add(writer, documents)

    monkeypatch.setattr(cold_tables.IndexWriter, "add", count)
    asked = direction(rng)
    assert len(await found(namespace, embedding=asked)) == len(plain_cosines(namespace, asked))
    await settled(namespace)
    assert await indexed(namespace) == set(ids_in(namespace, "cold"))
    assert sizes == [10] * 6


@pytest.mark.gate("COLD-12")
async def test_an_index_of_another_namespace_answers_nothing_of_it(
    world: World, rng: random.Random
) -> None:
    theirs = await world.open("theirs", automatic=False)
    await put(theirs, memory("secret", content="quince marmalade", embedding=direction(rng)))
    await fill_cold(theirs, rng, 60)
    mine = await world.open("mine", automatic=False)
    await fill_cold(mine, rng, 61)
    asked = direction(rng)
    before = await found(mine, ASKED, embedding=asked)
    assert "secret" not in before
    for path in index_files(cold_folder(world, "mine")):
        path.unlink()
    for path in index_files(cold_folder(world, "theirs")):
        shutil.copy(path, cold_folder(world, "mine"))
    # At once, under the index that is in use, and after a restart.
    assert (await found(mine, ASKED, embedding=asked)).keys() == before.keys()
    await world.restart()
    mine = await world.open("mine")
    assert await found(mine, "quince") == {}
    assert (await found(mine, ASKED, embedding=asked)).keys() == before.keys()
    await settled(mine)
    assert await indexed(mine) == set(ids_in(mine, "cold"))
    assert await found(mine, ASKED, embedding=asked) == before


@pytest.mark.gate("COLD-13")
@pytest.mark.parametrize("moves", [1, 2, 4])
async def test_a_move_between_the_view_and_the_vectors_hides_nothing(
    world: World, rng: random.Random, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    """Everything goes to cold or comes back right before a recall compares the hot vectors."""
    namespace = await world.open(automatic=False)
    everyone = {f"m{number}" for number in range(30)}
    await fill(namespace, [memory(one, embedding=direction(rng)) for one in sorted(everyone)])
    loop = asyncio.get_running_loop()
    nearest = Recall._nearest
    left = moves

    async def move() -> None:
        if ids_in(namespace, "hot"):
            await namespace.cold_spill(dry_run=False, target=0)
        else:
            (last,) = (await namespace.runs(limit=1, cursor=None)).runs
            await namespace.undo(run_id=last.run_id)

    def move_and_compare(*arguments: Any) -> Any:
        nonlocal left
        if left:
            left -= 1
            asyncio.run_coroutine_threadsafe(move(), loop).result(30)
        return nearest(*arguments)

    # Giving space back would wait for the view of this very recall.
    monkeypatch.setattr("sidecar.apply.runner.give_back", lambda *_: None)
    monkeypatch.setattr(Recall, "_nearest", move_and_compare)
    answered = await found(namespace, embedding=direction(rng))
    assert left == 0
    assert set(answered) == everyone


@pytest.mark.gate("COLD-13")
async def test_a_memory_moving_between_the_tiers_is_in_every_answer(
    world: World, rng: random.Random
) -> None:
    """Deep recalls beside spills and thaws: each answers every memory, by words and by vector."""
    namespace = await world.open(automatic=False)
    count = 60
    everyone = {f"m{number}" for number in range(count)}
    await fill(
        namespace,
        [
            memory(one, content=f"shared {one}", embedding=direction(rng), embedding_model="m")
            for one in sorted(everyone)
        ],
    )
    looks = 0
    moving = True

    async def look() -> None:
        nonlocal looks
        while moving:
            by_text = {one.memory.id for one in (await deep(namespace, "shared")).results}
            by_vector = {
                one.memory.id for one in (await deep(namespace, embedding=[1.0] * 8)).results
            }
            assert by_text == everyone
            assert by_vector == everyone
            looks += 1

    async def move() -> None:
        nonlocal moving
        try:
            for _ in range(12):
                report = await namespace.cold_spill(dry_run=False, target=rng.randint(0, 20))
                assert report.run_id is not None
                await namespace.undo(run_id=report.run_id)
        finally:
            moving = False

    await asyncio.gather(move(), look(), look())
    assert looks >= 4
