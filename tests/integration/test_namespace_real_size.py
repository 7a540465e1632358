"""The thresholds that ship, at their real size, and the undo of a run of ninety thousand."""

import hashlib
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import rows
from sidecar.thresholds import DEFAULTS
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    counted,
    event_kinds,
    fill,
    put,
    query,
    restore,
    settle,
    state_hash,
)

COUNT = int(DEFAULTS["forgetThresholdCount"])
TOTAL = int(DEFAULTS["forgetThresholdTotal"])
ENDLESS = 10**9
SUBJECTS = ("tea", "커피", "the budget", "a meeting", "the piano", "회의", "the train", "rain")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def facts(seed: int, count: int) -> list[MemoryInput]:
    """The same facts for the same seed: of every importance, two days to a year old."""
    generator = random.Random(seed)
    return [
        MemoryInput(
            id=f"fact-{number:06}",
            content=f"{generator.choice(SUBJECTS)} and {generator.choice(SUBJECTS)}, {number}",
            importance=generator.random(),
            created_at=NOW - generator.randint(2 * DAY, 400 * DAY),
        )
        for number in range(count)
    ]


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long a part took."""
    started = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - started:.1f} s")


def no_move_was_made(namespace: Namespace) -> bool:
    """Whether every memory is as it was put."""
    kinds = set(event_kinds(namespace))
    changed = query(namespace, "SELECT count(*) FROM memories WHERE tier > 0 OR change_counter > 1")
    return changed == [(0,)] and kinds <= {
        "namespace.created",
        "thresholds.changed",
        "memory.created",
    }


def payload_digest(namespace: Namespace) -> str:
    """A digest over the place and the exact payload of every memory, read from where it lies."""
    digest = hashlib.sha256()
    with namespace.store.readers.view() as connection:
        for row in rows.select(connection, "ORDER BY rid", ()):
            payload = namespace.store.payload(connection, row)
            digest.update(f"{row.tier} {payload}".encode())
    return digest.hexdigest()


@pytest.mark.gate("AUTO-30")
async def test_ten_thousand_and_one_memories_spill_by_themselves(world: World, seed: int) -> None:
    print(f"seed {seed}")
    memories = facts(seed, COUNT + 1)
    on = await world.open("on")
    await fill(on, memories[:-1])
    await settle(on)
    assert counted(on) == (COUNT, 0, 0)
    assert no_move_was_made(on)
    await put(on, memories[-1])
    await settle(on)
    assert counted(on) == (COUNT * 9 // 10, COUNT // 10 + 1, 0)
    assert (await on.runs(limit=5, cursor=None)).runs[0].trigger == "automatic"

    off = await world.open("off", forgetEnabled=False)
    without = await world.open("without", forgetThresholdCount=ENDLESS)
    for namespace in (off, without):
        await fill(namespace, memories)
        await settle(namespace)
    assert (await off.thresholds_report()).crossed == ["count"]
    assert no_move_was_made(off)
    assert counted(off) == (COUNT + 1, 0, 0)
    assert state_hash(off) == state_hash(without) == state_hash(on)


@pytest.mark.gate("AUTO-31", "RESTORE-10")
async def test_a_hundred_thousand_and_one_and_the_undo_of_ninety_thousand(
    world: World, seed: int
) -> None:
    print(f"seed {seed}")
    namespace = await world.open(forgetEnabled=False)
    with timed(f"put {TOTAL + 1} memories"):
        await fill(namespace, facts(seed, TOTAL + 1))
    await settle(namespace)
    assert (await namespace.thresholds_report()).crossed == ["count", "total"]
    assert no_move_was_made(namespace), "off: nothing moves at 100 001"
    await namespace.forget(ids=["fact-000000"], reason="one too many")

    exact = payload_digest(namespace)
    with timed("switch on, and spill"):
        await namespace.set_thresholds({"forgetEnabled": True})
        await settle(namespace)
    assert counted(namespace) == (9_000, 91_000, 1), "at 100 000 nothing is forgotten"
    (run, _) = (await namespace.runs(limit=5, cursor=None)).runs
    assert (run.trigger, run.moved) == ("automatic", 91_000)
    with timed("undo 91 000"):
        report = await namespace.undo(run_id=run.run_id)
    assert report.counts == {"restored": 91_000}
    assert counted(namespace) == (TOTAL, 0, 1)
    assert payload_digest(namespace) == exact, "all is back where it was, byte for byte"

    await restore(namespace, "fact-000000")
    world.pass_time(DAY)
    await settle(namespace)
    assert counted(namespace) == (TOTAL + 1, 0, 0), "and stays there until it is resumed"
    await namespace.set_thresholds({"forgetThresholdCount": ENDLESS})
    with timed("resume, and forget"):
        await namespace.resume()
        await settle(namespace)
    assert counted(namespace) == (TOTAL * 9 // 10, 0, TOTAL // 10 + 1)
    assert (await namespace.runs(limit=1, cursor=None)).runs[0].trigger == "automatic"
