"""Deleting whole namespaces, and the standing order of the config file."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar import removal
from sidecar.clock import Clock
from sidecar.config import GcSection, load_config
from sidecar.errors import GcBusy, GcChanged, NamespaceNotFound
from sidecar.registry import Registry
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    event_kinds,
    fill,
    many,
    memory,
    put,
    stop_automatic_runs,
    tiers,
)


@asynccontextmanager
async def ordered(state_dir: Path, days: int = 7) -> AsyncIterator[tuple[Registry, Clock]]:
    """A registry whose config file has a standing order."""
    clock = Clock(injectable=True)
    clock.hold(NOW)
    config = load_config(environ={"HOME": str(state_dir)})
    registry = Registry(state_dir, clock, replace(config, gc=GcSection(standing_order_days=days)))
    await registry.recover()
    try:
        yield registry, clock
    finally:
        await registry.close_all()


async def deleted(world: World, name: str) -> None:
    namespace = await world.registry.open(name, create=False)
    _, plan = await namespace.plan_destruction(request=None)
    await world.registry.delete(name, plan)


@pytest.mark.gate("GC-14")
async def test_a_namespace_is_deleted_with_all_that_is_in_it(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open("me", automatic=False)
        await world.open("other")
        await fill(namespace, many(20))
        await namespace.forget(ids=["m00001"], reason="called")
        chosen, plan = await namespace.plan_destruction(request=None)
        assert (len(chosen.rows), plan.whole) == (20, True)
        report = await world.registry.delete("me", plan)
        assert (report.whole_namespace, report.destroyed, report.run_id) == (True, 20, None)
        assert report.bytes_reclaimed > 100_000
        assert [each.name for each in (tmp_path / "namespaces").iterdir()] == ["other"]
        with pytest.raises(NamespaceNotFound):
            await world.registry.open("me", create=False)
        again = await world.open("me", automatic=False)
        assert tiers(again) == {}


@pytest.mark.gate("GC-14")
async def test_a_namespace_that_changed_since_or_is_busy_stays(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open("me", automatic=False)
        await put(namespace, memory("a"))
        _, plan = await namespace.plan_destruction(request=None)
        await namespace.touch(ids=["a"])
        await put(namespace, memory("b"))
        with pytest.raises(GcChanged):
            await world.registry.delete("me", plan)
        _, plan = await namespace.plan_destruction(request=None)
        release = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait() -> None:
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result()

        run = asyncio.ensure_future(namespace.slots.run("a run", wait))
        await asyncio.sleep(0)
        with pytest.raises(GcBusy):
            await world.registry.delete("me", plan)
        release.set()
        await run
        await namespace.touch(ids=["a"])  # a touch is no change
        assert (await world.registry.delete("me", plan)).destroyed == 2


@pytest.mark.gate("GC-14")
async def test_a_start_removes_what_a_kill_left_of_a_deleted_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: Path) -> int:
        raise OSError("killed here")

    async with a_world(tmp_path) as world:
        namespace = await world.open("me", automatic=False)
        await put(namespace, memory("a"))
        with monkeypatch.context() as patched:
            patched.setattr(removal, "remove", killed)
            with pytest.raises(OSError, match="killed here"):
                await deleted(world, "me")
        (left,) = (tmp_path / "namespaces").iterdir()
        assert left.name.startswith(removal.DELETING_PREFIX)
        assert world.registry.names() == []
        shutil.rmtree(left / "cold")  # the kill came later still
        await world.restart()
        assert list((tmp_path / "namespaces").iterdir()) == []


@pytest.mark.gate("GC-15")
async def test_the_standing_order_destroys_what_was_forgotten_long_enough_ago(
    tmp_path: Path,
) -> None:
    async with ordered(tmp_path) as (registry, clock):
        namespace = await registry.open("me", create=True)
        await put(namespace, *(memory(name) for name in "abc"))
        await namespace.forget(ids=["a"], reason="called")
        clock.hold(NOW + 7 * DAY - 1)
        await namespace.forget(ids=["b"], reason="called")
        assert await namespace.obey_standing_order(older_than_days=7) is None
        clock.hold(NOW + 7 * DAY)
        await registry._look_after("me")
        assert set(tiers(namespace)) == {"b", "c"}
        assert event_kinds(namespace, "gc.") == ["gc.completed"]
        page = await namespace.list_events(since=0, limit=100, kinds=["gc.completed"])
        assert page.events[0].payload["trigger"] == "standing_order"
        # Once a day is enough.
        clock.hold(NOW + 100 * DAY)
        await registry._look_after("me")
        assert set(tiers(namespace)) == {"b", "c"}


@pytest.mark.gate("GC-15")
async def test_a_closed_namespace_is_opened_for_the_standing_order(tmp_path: Path) -> None:
    async with ordered(tmp_path, days=0) as (registry, _):
        namespace = await registry.open("me", create=True)
        await put(namespace, memory("a"), memory("b"))
        await namespace.forget(ids=["a"], reason="called")
        empty = await registry.open("empty", create=True)
        await put(empty, memory("a"))
    async with ordered(tmp_path) as (registry, clock):
        clock.hold(NOW + 30 * DAY)
        for name in ("me", "empty"):
            await registry._look_after(name)
        assert [one.namespace for one in registry.names() if one.open] == ["me"]
        assert set(tiers(await registry.open("me", create=False))) == {"b"}


@pytest.mark.gate("GC-15")
@pytest.mark.parametrize("why", ["switched off", "paused", "clock"])
async def test_the_standing_order_waits_where_automatic_runs_do(
    tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ordered(tmp_path) as (registry, clock):
        namespace = await registry.open("me", create=True)
        await put(namespace, memory("a"))
        await namespace.forget(ids=["a"], reason="called")
        clock.hold(NOW + 30 * DAY)
        if why == "switched off":
            await namespace.set_thresholds({"forgetEnabled": False})
        elif why == "paused":
            await stop_automatic_runs(namespace)
        else:
            monkeypatch.setattr(clock, "jumped", lambda: True)
        await registry._look_after("me")
        assert set(tiers(namespace)) == {"a"}
        if why == "clock":
            monkeypatch.undo()
        await namespace.set_thresholds({"forgetEnabled": True})
        await namespace.resume()
        assert (await namespace.obey_standing_order(older_than_days=7)) is not None


@pytest.mark.gate("GC-15")
async def test_without_an_order_nothing_is_destroyed_however_old(tmp_path: Path) -> None:
    async with ordered(tmp_path, days=0) as (registry, clock):
        namespace = await registry.open("me", create=True)
        await put(namespace, memory("a"))
        await namespace.forget(ids=["a"], reason="called")
        clock.hold(NOW + 3_000 * DAY)
        await registry._look_after("me")
        assert set(tiers(namespace)) == {"a"}
