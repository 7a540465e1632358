"""Disk: what is counted, what is given back, and what may never ask for forgetting."""

import base64
import random
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from sidecar.limits import GIGABYTE_BYTES
from sidecar.model import COLD, FORGOTTEN, MemoryInput
from sidecar.namespace import Namespace
from sidecar.store.space import give_back
from tests.namespaces import (
    World,
    a_world,
    counted,
    event_kinds,
    files_below,
    fill,
    get,
    many,
    memory,
    put,
    query,
    restore,
    settle,
    sweep,
)

# How far the counted bytes of ordinary facts may be from those on disk.
TOLERANCE_SHARE = 0.25
SAYINGS = """
    the customer prefers tea over coffee because meetings in Seoul start early and the budget
    for servers was answered by invoice on Friday while rain delayed every train to the garden
"""
WORDS = SAYINGS.split()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def facts(generator: random.Random, count: int, dimensions: int = 0) -> list[MemoryInput]:
    """Facts of some twenty-five words, a fifth of them rare, as a host would store them."""
    vectors = np.random.default_rng(generator.getrandbits(32)).normal(size=(count, dimensions))

    def text() -> str:
        return " ".join(
            generator.choice(WORDS)
            if generator.random() < 0.8
            else f"{generator.getrandbits(24):x}"
            for _ in range(generator.randint(12, 38))
        )

    return [
        memory(
            f"fact-{number:05}",
            days=generator.randint(2, 400),
            content=text(),
            metadata={"session": f"s{number // 20}", "source": "chat"},
            embedding=base64.b64encode(vectors[number].astype("<f4").tobytes()).decode() or None,
            embedding_model="mini",
        )
        for number in range(count)
    ]


def bytes_of_memories(namespace: Namespace) -> int:
    """What the live memories take on disk: the database without its ledgers, and the archive."""
    give_back(namespace.store.writer, namespace.store.directory)
    sizes = dict(query(namespace, "SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    ledgers = ("events", "run", "sqlite_autoindex_runs", "sqlite_schema", "segments", "meta")
    tables = [size for name, size in sizes.items() if not name.startswith(ledgers)]
    empty = 8_192  # a table or index without rows has one page
    used = sum(size for size in tables if size > empty)
    return used + namespace.store.files.bytes_on_disk(COLD)


@pytest.mark.gate("STORE-10")
@pytest.mark.parametrize("dimensions", [0, 384])
async def test_the_counted_bytes_are_those_on_disk(
    world: World, rng: random.Random, dimensions: int
) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, facts(rng, 2_000, dimensions))
    for tier in ("hot", "cold"):
        if tier == "cold":
            plan = await namespace.cold_spill(dry_run=True, target=0)
            report = await sweep(namespace, plan_id=plan.plan_id)
            planned, measured = plan.after.live_bytes, report.after.live_bytes
            assert planned == pytest.approx(measured, rel=TOLERANCE_SHARE)
        counts = namespace.store.columns.counts()
        real = bytes_of_memories(namespace)
        print(f"{tier}, {dimensions} numbers: counted {counts.live_bytes}, on disk {real}")
        assert counts.live_bytes == pytest.approx(real, rel=TOLERANCE_SHARE)
        assert query(namespace, "SELECT sum(bytes) FROM memories") == [(counts.live_bytes,)]


@pytest.mark.gate("STORE-11")
async def test_a_run_gives_its_space_back_before_it_measures(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False, brakeShare=1.0, forgetThresholdTotal=300)
    await fill(namespace, facts(rng, 2_000, 384))
    give_back(namespace.store.writer, namespace.store.directory)
    database = namespace.store.directory / "hot.db"
    inode, sizes = database.stat().st_ino, [database.stat().st_size]
    spilled = await namespace.cold_spill(dry_run=False, target=1_000)
    sizes.append(database.stat().st_size)
    assert sizes[1] < 0.75 * sizes[0]
    assert spilled.space_note is None
    assert spilled.bytes_reclaimed > 0
    await sweep(namespace)
    sizes.append(database.stat().st_size)
    assert sizes[2] < sizes[1]
    assert (namespace.store.directory / "hot.db-wal").stat().st_size < 200_000
    assert database.stat().st_ino == inode, "never another file in its place"
    assert query(namespace, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.gate("STORE-11")
async def test_the_report_holds_what_was_planned_and_what_was_measured(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False, brakeShare=1.0, forgetThresholdTotal=100)
    await fill(namespace, facts(rng, 500))
    plan = await sweep(namespace, dry_run=True)
    report = await sweep(namespace, plan_id=plan.plan_id)
    assert plan.bytes_planned == plan.before.live_bytes - plan.after.live_bytes
    assert report.before.live_bytes == plan.before.live_bytes
    assert report.after.live_bytes == plan.after.live_bytes
    assert report.bytes_planned == plan.bytes_planned
    on_disk = namespace.store.bytes_on_disk()
    assert report.after.live_bytes + report.after.overhead_bytes == pytest.approx(on_disk, rel=0.2)


@pytest.mark.gate("STORE-12")
async def test_what_forgetting_cannot_free_never_asks_for_it(world: World) -> None:
    namespace = await world.open(loweringDelayMinutes=0, forgetThresholdTotal=150, brakeShare=1.0)
    noise = random.Random(7)
    await fill(namespace, many(300, metadata={"n": noise.randbytes(4_000).hex()}))
    await settle(namespace)
    assert counted(namespace)[2] > 0
    for number in range(30):  # more events and dead rows
        await namespace.touch(ids=[f"m{number + 200:05}"] * 3)
    counts = namespace.store.columns.counts()
    assert namespace.store.bytes_on_disk() > 2 * counts.live_bytes
    runs = len(event_kinds(namespace, "forgetting.sweep_completed"))
    await namespace.set_thresholds(
        {"forgetThresholdDiskGB": (counts.live_bytes + 1) / GIGABYTE_BYTES}
    )
    await settle(namespace)
    assert (await namespace.thresholds_report()).crossed == []
    assert len(event_kinds(namespace, "forgetting.sweep_completed")) == runs
    assert counted(namespace)[2] == counts.forgotten


@pytest.mark.gate("STORE-13")
async def test_a_hundred_dry_runs_leave_the_directory_as_large_as_it_was(world: World) -> None:
    namespace = await world.open(automatic=False, forgetThresholdCount=50, forgetThresholdTotal=100)
    await fill(namespace, many(300))
    before = files_below(world.state_dir)
    for _ in range(100):
        await sweep(namespace, dry_run=True, decisions_limit=10)
    assert files_below(world.state_dir) == before


@pytest.mark.gate("STORE-14")
async def test_much_that_is_forgotten_suggests_collection_and_nothing_more(world: World) -> None:
    namespace = await world.open(
        automatic=False, forgetThresholdTotal=50, forgottenWarnGB=0.000_001
    )
    await fill(namespace, many(150))
    await sweep(namespace)
    assert event_kinds(namespace, "gc.") == ["gc.suggested"]
    assert counted(namespace) == (120, 0, 30)
    assert namespace.store.files.bytes_on_disk(FORGOTTEN) > 1_000


@pytest.mark.gate("STORE-15")
async def test_a_file_is_counted_once_however_many_memories_name_it(world: World) -> None:
    namespace = await world.open()
    media = namespace.store.directory / "media"
    (media / "photos").mkdir()
    (media / "photos" / "a.jpg").write_bytes(b"x" * 70_000)
    await put(namespace, memory("bare"))
    without = namespace.store.columns.live_bytes
    first = await put(namespace, memory("a", media_ref="photos/a.jpg"))
    own = first[0].bytes
    assert namespace.store.columns.live_bytes == without + own + 70_000
    second = await put(namespace, memory("b", media_ref="photos/a.jpg"))
    both = without + own + second[0].bytes + 70_000
    assert namespace.store.columns.live_bytes == both
    await namespace.forget(ids=["a"], reason="asked")
    assert namespace.store.columns.live_bytes == both - own
    await namespace.forget(ids=["b"], reason="asked")
    assert namespace.store.columns.live_bytes == without
    await restore(namespace, "a")
    assert namespace.store.columns.live_bytes == without + own + 70_000
    await namespace.update(id="a", patch=MemoryInput(media_ref=None), if_revision=None)
    assert namespace.store.columns.live_bytes == without + own
    assert (media / "photos" / "a.jpg").read_bytes() == b"x" * 70_000, "it stays where it is"


@pytest.mark.gate("STORE-15")
async def test_the_size_of_a_file_is_looked_at_again_when_its_namespace_opens(
    world: World,
) -> None:
    namespace = await world.open()
    await put(namespace, memory("m", media_ref="late.bin"))
    without = namespace.store.columns.live_bytes
    (namespace.store.directory / "media" / "late.bin").write_bytes(b"x" * 12_345)
    await world.restart()
    namespace = await world.registry.open("default", False)
    assert namespace.store.columns.live_bytes == without + 12_345


@pytest.mark.gate("STORE-16")
async def test_only_regular_files_below_the_media_folder_count(world: World) -> None:
    namespace = await world.open()
    media = namespace.store.directory / "media"
    outside = world.state_dir / "outside"
    outside.mkdir()
    (outside / "large").write_bytes(b"x" * 50_000)
    (media / "link").symlink_to(outside / "large")
    (media / "folder").symlink_to(outside)
    (media / "real").mkdir()
    refs = ["link", "folder/large", "real", "nothing", "real/nothing"]
    for number, ref in enumerate(refs):
        made = await put(namespace, memory(f"m{number}", media_ref=ref))
        shown = await get(namespace, f"m{number}")
        assert shown is not None
        assert (shown.media_ref, shown.bytes) == (ref, made[0].bytes)
    assert query(namespace, "SELECT sum(bytes) FROM media") == [(0,)]
    total = query(namespace, "SELECT sum(bytes) FROM memories")
    assert total == [(namespace.store.columns.live_bytes,)]


@pytest.mark.gate("STORE-16")
async def test_a_disk_budget_passed_by_files_is_met_by_forgetting_their_last_owners(
    world: World,
) -> None:
    namespace = await world.open(automatic=False, forgetThresholdDiskGB=0.001)
    media = namespace.store.directory / "media"
    for number in range(12):
        (media / f"{number}.bin").write_bytes(b"x" * 100_000)
    await put(
        namespace,
        *(memory(f"a{n:02}", days=300 - n, media_ref=f"{n}.bin") for n in range(12)),
        *(memory(f"b{n:02}", days=200 - n, media_ref=f"{n}.bin") for n in range(3)),
    )
    report = await sweep(namespace)
    gone = [one.id for one in report.decisions]
    assert gone == [f"a{n:02}" for n in range(7)], "the first three are still owned by others"
    assert {one.reason for one in report.decisions} == {"disk_over_threshold"}
    assert report.after.live_bytes <= 900_000
    assert report.after.live_bytes == namespace.store.columns.live_bytes
