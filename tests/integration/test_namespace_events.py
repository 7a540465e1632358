"""The log of a real namespace: pages, folding by the retention, replay, slow subscribers."""

import asyncio
import contextlib
import random
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.errors import InvalidParams
from sidecar.limits import EVENTS_PER_FOLD_MAX
from sidecar.namespace import Namespace
from sidecar.rpc import event_stream
from sidecar.settings_book import PAUSE_CLOCK
from sidecar.store import doctor, event_kinds, event_log, events
from sidecar.store.sqlite.connection import open_writer
from sidecar.store.sqlite.writer import Transaction
from tests.namespaces import (
    DAY,
    World,
    a_world,
    eventually,
    fill,
    many,
    memory,
    put,
    query,
    restore,
    state_hash,
    sweep,
)
from tests.sources import ROOT
from tests.subscribers import deaf, logged, streaming
from tests.test_docs import table_rows

SLOW_EVENTS = 20_000
# The transport's high-water mark, what the writer lets pile up before it waits, one chunk.
BUFFERED_BYTES_MAX = 3 * 65_536 + 4_096


async def page(namespace: Namespace, **given: Any) -> Any:
    call: dict[str, Any] = {"since": 0, "limit": 100, "kinds": None}
    return await namespace.list_events(**(call | given))


# --- listing -------------------------------------------------------------------------------


@pytest.mark.gate("EVT-03")
async def test_pages_go_on_where_the_one_before_ended(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await fill(namespace, many(25))
        known = await logged(namespace)
        assert [event.seq for event in known] == list(range(1, len(known) + 1))
        found: list[Any] = []
        while True:
            one = await page(namespace, since=found[-1].seq if found else 0, limit=7)
            assert (one.latest, one.oldest) == (known[-1].seq, 1)
            found += one.events
            if len(one.events) < 7:
                break
        assert found == known
        assert (await page(namespace, since=known[-1].seq)).events == []
        beyond = await page(namespace, since=known[-1].seq + 10)
        assert (beyond.events, beyond.latest) == ([], known[-1].seq)


@pytest.mark.gate("EVT-03")
async def test_kinds_choose_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open()
        await put(namespace, memory("a"), memory("b"))
        await namespace.pin(id="a", pinned=True)
        found = await page(namespace, kinds=["memory.updated", "namespace.created"])
        assert [event.kind for event in found.events] == ["namespace.created", "memory.updated"]
        assert found.events[1].payload == {"pinned": True, "changeCounter": 2}
        assert (await page(namespace, kinds=[])).events == []
        with pytest.raises(InvalidParams) as refused:
            await page(namespace, kinds=["memory.updated", "memory.create"])
        assert refused.value.data["field"] == "$.kinds[1]"
        assert refused.value.data["remedy"] == "did you mean memory.created?"


@pytest.mark.gate("EVT-04")
def test_the_operators_page_says_of_every_kind_what_to_do() -> None:
    rows = [
        cells
        for cells in table_rows((ROOT / "docs" / "operations.md").read_text(encoding="utf-8"))
        if len(cells) == 3 and "." in cells[0]
    ]
    assert [cells[0].strip("`") for cells in rows] == [one.kind for one in event_kinds.KINDS]
    assert all(cell for cells in rows for cell in cells)


@pytest.mark.gate("EVT-05")
async def test_no_event_holds_what_a_memory_says(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open(automatic=False, forgetThresholdTotal=1, brakeShare=1.0)
        canary = "canary-4711"
        secret: dict[str, Any] = {"content": canary, "metadata": {canary: canary}}
        await put(namespace, *(memory(f"m{number}", **secret) for number in range(5)))
        await sweep(namespace)
        await restore(namespace, "m0")
        known = await logged(namespace)
        assert canary not in msgspec.json.encode(known).decode()
        assert {"memory.forgotten", "memory.restored"} <= {event.kind for event in known}
        tiers = [event.payload["tier"] for event in known if "tier" in event.payload]
        assert set(tiers) <= {"hot", "cold", "forgotten"}


# --- folding -------------------------------------------------------------------------------


async def with_old_and_new(world: World, count: int) -> Namespace:
    """A namespace with some hundred days between its first events and its last."""
    namespace = await world.open(automatic=False)
    await fill(namespace, many(count))
    world.pass_time(100 * DAY)
    await put(namespace, memory("young"))
    await namespace.pin(id="young", pinned=True)
    return namespace


@pytest.mark.gate("EVT-06")
async def test_events_older_than_the_retention_are_folded_and_the_state_stays(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        namespace = await with_old_and_new(world, 2 * EVENTS_PER_FOLD_MAX + 3)
        before, latest = state_hash(namespace), (await page(namespace)).latest
        await namespace.fold_events()
        left = await page(namespace)
        assert [event.kind for event in left.events] == ["memory.created", "memory.updated"]
        assert (left.latest, left.oldest) == (latest, latest - 1)
        assert state_hash(namespace) == before
        await namespace.set_thresholds({"eventRetentionDays": 200})
        await namespace.fold_events()
        assert (await page(namespace)).oldest == latest - 1
        await namespace.set_thresholds({"eventRetentionDays": 0})
        world.pass_time(1)
        await namespace.fold_events()
        left = await page(namespace)
        assert [event.seq for event in left.events] == [left.latest], "the newest one stays"
        await namespace.touch(ids=["young"])
        assert state_hash(namespace) != before
        await world.restart()
        assert state_hash(await world.registry.open("default", False)) != before


@pytest.mark.gate("EVT-06")
async def test_the_timer_folds_and_so_does_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.registry.SWEEP_TIMER_SECONDS", 0.01)
    async with a_world(tmp_path) as world:
        namespace = await with_old_and_new(world, 20)
        await eventually(
            lambda: query(namespace, "SELECT count(*) FROM events") == [(2,)], "folded by the timer"
        )
        monkeypatch.setattr("sidecar.registry.SWEEP_TIMER_SECONDS", 1_000)
        await eventually(lambda: namespace.in_flight == 0, "the timer rests")
        world.pass_time(100 * DAY)
        await put(namespace, memory("younger"))
        await world.restart()
        namespace = await world.registry.open("default", False)
        assert [event.memory_id for event in (await page(namespace)).events] == ["younger"]
        state_hash(namespace)


@pytest.mark.gate("EVT-07")
async def test_writes_go_on_while_old_events_are_folded(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await with_old_and_new(world, 40 * EVENTS_PER_FOLD_MAX)
        folding = asyncio.create_task(namespace.fold_events())
        await eventually(
            lambda: query(namespace, "SELECT min(seq) FROM events") > [(1,)], "folding began"
        )
        await put(namespace, memory("meanwhile"))
        assert not folding.done(), "one write waits for one batch at most"
        await folding
        kinds = [(event.kind, event.memory_id) for event in (await page(namespace)).events]
        assert ("memory.created", "meanwhile") in kinds
        state_hash(namespace)


@pytest.mark.gate("EVT-07")
async def test_closing_folds_for_a_moment_only_and_what_is_left_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.namespace_events.EVENT_FOLD_AT_CLOSE_SECONDS", -1.0)
    async with a_world(tmp_path) as world:
        namespace = await with_old_and_new(world, 20)
        latest = (await page(namespace)).latest
        await world.restart()
        namespace = await world.registry.open("default", False)
        assert len((await page(namespace)).events) == latest


@pytest.mark.gate("EVT-08")
async def test_nothing_is_folded_by_a_clock_that_is_in_doubt(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await with_old_and_new(world, 20)
        now = world.clock.now_ms()
        namespace.store.writer.call(lambda tx: namespace.book.pause(tx, PAUSE_CLOCK, None, now))
        await namespace.fold_events()
        assert (await page(namespace)).oldest == 1
        await namespace.resume()
        await namespace.fold_events()
        assert (await page(namespace)).oldest > 20


@pytest.mark.gate("EVT-08")
async def test_doctor_replays_a_folded_log_and_sees_a_wrong_checkpoint(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await with_old_and_new(world, 20)
    directory = world.directory()

    def log_is_right() -> bool:
        (found,) = [one for one in doctor.examine(directory).findings if one.check == "event log"]
        return found.ok

    connection = open_writer(directory / "hot.db")
    ((checkpoint,),) = connection.execute("SELECT count(*) FROM event_checkpoint").fetchall()
    assert checkpoint == 20
    assert log_is_right()
    changed = "UPDATE event_checkpoint SET payload = '{\"estimate\":0.25}' WHERE memory_id = ?"
    connection.execute(changed, ("m00007",))
    assert not log_is_right()
    # As a version before the checkpoint left it: nothing was folded, and nobody may be blamed.
    connection.execute("DROP TABLE event_checkpoint")
    assert events.replay(connection).keys() == {"young"}
    connection.close()


@pytest.mark.gate("EVT-01")
async def test_real_histories_replay_to_the_same_state_wherever_they_are_folded(
    tmp_path: Path, rng: random.Random
) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False, forgetThresholdCount=8)
        await namespace.set_thresholds({"forgetThresholdTotal": 16, "brakeShare": 1.0})
        for step in range(120):
            world.pass_time(rng.randrange(DAY))
            await live(namespace, rng, step)
            if rng.random() < 0.3:
                before = world.clock.now_ms() - rng.randrange(20) * DAY
                fold(namespace, before, rng.randrange(1, 60))
            state_hash(namespace)
        assert (await page(namespace)).oldest > 1


def fold(namespace: Namespace, before: int, limit: int) -> int:
    """Fold some events of a namespace, whatever the retention says."""
    return namespace.store.writer.call(lambda tx: event_log.fold(tx, before, limit))


async def live(namespace: Namespace, rng: random.Random, step: int) -> None:
    """One thing that happens to a memory."""
    ids = [one for (one,) in query(namespace, "SELECT id FROM memories WHERE tier < 2")]
    chosen = rng.choice(ids) if ids else None
    match rng.randrange(6) if chosen else 0:
        case 0:
            await put(namespace, memory(f"n{step}", importance=rng.random()))
        case 1:
            await namespace.touch(ids=[chosen or ""])
        case 2:
            await namespace.pin(id=chosen or "", pinned=rng.random() < 0.2)
        case 3:
            patch = memory("x", content=f"again {step}")
            patch.id = msgspec.UNSET
            await namespace.update(id=chosen or "", patch=patch, if_revision=None)
        case 4:
            await sweep(namespace)
        case _:
            gone = [one for (one,) in query(namespace, "SELECT id FROM memories WHERE tier = 2")]
            await restore(namespace, *(gone[:2] or [chosen or ""]))


@pytest.mark.gate("EVT-09")
async def test_an_event_of_a_write_that_failed_is_never_told(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open()
        await put(namespace, memory("a"))
        subscriber = await served.subscribe("since=0")
        known = await subscriber.events(len(await logged(namespace)))

        def fails(tx: Transaction) -> None:
            events.append(tx.connection, 1, "memory.touched", "a", {})
            raise RuntimeError("after the event")

        with pytest.raises(RuntimeError):
            namespace.store.writer.submit(fails).result()
        await put(namespace, memory("b"))
        (event,) = await subscriber.events(1)
        assert (event["seq"], event["memoryId"]) == (known[-1]["seq"] + 1, "b")


# --- slow subscribers ----------------------------------------------------------------------


def received(connection: socket.socket) -> bytes:
    """All that still comes until the other side has closed or cut the connection."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(65_536):
            got += data
    return got


@pytest.mark.gate("EVT-20")
async def test_a_subscriber_that_does_not_read_is_cut_and_disturbs_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "EVENT_WRITE_DEADLINE_SECONDS", 1.0)
    async with streaming(tmp_path) as served:
        namespace = await served.world.open(automatic=False, forgetThresholdCount=100_000)
        await put(namespace, memory("first"))
        reader = await served.subscribe("since=0")
        reading = asyncio.create_task(reader.events(SLOW_EVENTS + len(await logged(namespace))))
        with deaf(served.path, "since=0") as sleeper:
            await eventually(lambda: served.open_streams() == 2, "both follow")
            most = 0
            for start in range(0, SLOW_EVENTS, 500):
                await fill(namespace, many(500, prefix=f"{start}-"))
                most = max([most, *served.buffered_bytes()])
            assert most <= BUFFERED_BYTES_MAX
            await eventually(lambda: served.open_streams() == 1, "the deaf one is cut")
            sleeper.settimeout(20)
            got = received(sleeper)
            assert b"id: 1\n" in got
            assert b'"memoryId":"19' not in got
        known = msgspec.to_builtins(await logged(namespace))
        assert len(known) > SLOW_EVENTS
        assert await reading == known
        # From where the deaf one stood, all the rest comes.
        last = int(got[: got.rindex(b"\n\n")].rpartition(b"id: ")[2].split(b"\n")[0])
        again = await served.subscribe(f"since={last}")
        assert await again.events(len(known) - last) == known[last:]
