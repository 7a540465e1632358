"""An index of cold memories that is lost, torn or foreign, while it is used and before."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sidecar.namespace import Namespace
from sidecar.store import doctor
from sidecar.store.cold_tables import DATABASE, SEAL
from tests.cold_memories import (
    Found,
    cold_folder,
    direction,
    fill_cold,
    found,
    index_everything,
    index_files,
    indexed,
    plain_cosines,
    settled,
)
from tests.namespaces import World, a_world, ids_in, payloads, state_hash
from tests.sources import ROOT

COUNT = 150
ASKED = "red bike 커피 🍜 zurich"


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    index_everything(monkeypatch)
    async with a_world(tmp_path) as made:
        yield made


def one(folder: Path, name: str) -> Path:
    """A file of the index by the beginning of its name."""
    return next(path for path in sorted(folder.iterdir()) if path.name.startswith(name))


def flip(path: Path) -> None:
    """Change one bit in the middle, in place."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    with path.open("r+b") as file:
        file.write(content)


def cut(path: Path) -> None:
    """Shorten to a third, in place."""
    os.truncate(path, path.stat().st_size // 3)


def empty(path: Path) -> None:
    """Shorten to nothing, in place."""
    os.truncate(path, 0)


def nonsense(path: Path) -> None:
    """Other bytes of the same length, in place."""
    with path.open("r+b") as file:
        file.write(b"\x5a" * path.stat().st_size)


def replace_by_folder(path: Path) -> None:
    """Something else in its place."""
    path.unlink()
    path.mkdir()


DAMAGES: list[Callable[[Path], None]] = [Path.unlink, flip, cut, empty, nonsense]


async def assert_right(namespace: Namespace, rng: random.Random) -> Found:
    """A recall by vector answers everything exactly, and one by words what it must."""
    asked = direction(rng)
    by_vector = await found(namespace, embedding=asked)
    assert {one: score for one, (_, score) in by_vector.items()} == pytest.approx(
        plain_cosines(namespace, asked), abs=1e-6
    )
    return await found(namespace, ASKED)


@pytest.mark.gate("COLD-50")
@pytest.mark.parametrize("name", [DATABASE, SEAL, "vectors"])
@pytest.mark.parametrize("damage", [*DAMAGES, replace_by_folder])
async def test_a_start_on_a_damaged_index_recalls_everything_and_makes_it_anew(
    world: World, rng: random.Random, name: str, damage: Callable[[Path], None]
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, COUNT)
    expected, hashed = await found(namespace, ASKED), state_hash(namespace)
    alarms = (await namespace.status()).alarms
    await world.registry.close_all()
    damage(one(cold_folder(world), name))
    await world.start()
    namespace = await world.open()
    assert (await assert_right(namespace, rng)).keys() == expected.keys()
    await settled(namespace)
    assert (await namespace.status()).alarms == alarms
    if damage is not replace_by_folder:
        assert await indexed(namespace) == set(ids_in(namespace, "cold"))
        assert await found(namespace, ASKED) == expected
    assert state_hash(namespace) == hashed


@pytest.mark.gate("COLD-51")
@pytest.mark.parametrize("name", [DATABASE, SEAL, "vectors"])
@pytest.mark.parametrize("damage", DAMAGES)
async def test_damage_under_an_open_index_fails_no_recall_and_no_run(
    world: World, rng: random.Random, name: str, damage: Callable[[Path], None]
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, COUNT)
    expected = await found(namespace, ASKED)
    damage(one(cold_folder(world), name))
    for _ in range(3):
        # A changed bit of float16 or of a posting may hide a candidate until the next start, but
        # what is answered is right.
        by_words = await found(namespace, ASKED)
        assert by_words.keys() <= expected.keys()
        if damage is not flip:
            assert by_words.keys() == expected.keys()
            await assert_right(namespace, rng)
        await settled(namespace)
    await namespace.forget(ids=["m0001"], reason="called")
    await settled(namespace)
    await world.restart()
    namespace = await world.open()
    assert (await assert_right(namespace, rng)).keys() == expected.keys() - {"m0001"}


@pytest.mark.gate("COLD-52")
async def test_without_its_files_a_namespace_has_lost_nothing(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, COUNT)
    whole, hashed, expected = (
        payloads(namespace),
        state_hash(namespace),
        await found(namespace, ASKED),
    )
    alarms = (await namespace.status()).alarms
    for open_meanwhile in (True, False, True):
        if not open_meanwhile:
            await world.registry.close_all()
        for path in index_files(cold_folder(world)):
            path.unlink()
        if not open_meanwhile:
            await world.start()
            namespace = await world.open()
        assert payloads(namespace) == whole
        assert state_hash(namespace) == hashed
        assert (await found(namespace, ASKED)).keys() == expected.keys()
        await settled(namespace)
        status = await namespace.status()
        assert (status.alarms, status.unknown_segments, status.corrupt) == (alarms, [], 0)
        await assert_right(namespace, rng)


@pytest.mark.gate("COLD-52")
async def test_the_index_is_no_segment_and_no_rest_to_a_start_or_a_doctor(
    world: World, rng: random.Random
) -> None:
    namespace = await world.open(automatic=False)
    await fill_cold(namespace, rng, COUNT)
    await world.registry.close_all()
    before = {path.name for path in index_files(cold_folder(world))}
    assert len(before) >= 3
    assert all(finding.ok for finding in doctor.examine(world.directory()).findings)
    assert all(finding.ok for finding in doctor.reclaim(world.directory()).findings)
    assert {path.name for path in index_files(cold_folder(world))} == before
    await world.start()
    namespace = await world.open()
    assert namespace.store.findings.unknown_segments == []
    assert namespace.store.findings.adopted == 0
    assert {path.name for path in index_files(cold_folder(world))} == before


PROGRAM = """
import asyncio, sys
from pathlib import Path
from sidecar.store import cold_documents, cold_index, cold_tables
from tests.cold_memories import index_files
from tests.namespaces import a_world

cold_index.SCANNED_GLADLY_MAX = 0
cold_documents.BATCH_DOCUMENTS = 20

async def index_for_ever(state_dir):
    async with a_world(state_dir) as world:
        namespace = await world.open()
        index = namespace.store.cold_index
        print("ready", flush=True)
        while True:
            index.wake()
            index.settle()
            index.drop()

asyncio.run(index_for_ever(Path(sys.argv[1])))
"""


def killed_while_indexing(state_dir: Path, seconds: float) -> None:
    """Let a process index the namespace over and over, and kill it."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(state_dir)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    process.stdout.close()


@pytest.mark.gate("COLD-53")
async def test_a_kill_at_any_moment_of_indexing_costs_the_index_at_most(
    tmp_path: Path, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_everything(monkeypatch)
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await fill_cold(namespace, rng, COUNT)
        expected, hashed = await found(namespace, ASKED), state_hash(namespace)
        seal = cold_folder(world) / SEAL
    torn = 0
    for _ in range(12):
        killed_while_indexing(tmp_path, rng.uniform(0, 0.08))
        torn += not seal.exists()
        async with a_world(tmp_path) as world:
            namespace = await world.open()
            assert (await assert_right(namespace, rng)).keys() == expected.keys()
            await settled(namespace)
            assert await indexed(namespace) == set(ids_in(namespace, "cold"))
            assert await found(namespace, ASKED) == expected
            assert state_hash(namespace) == hashed
    assert torn, "no kill came while the index was written"
