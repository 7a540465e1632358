"""The timer of the cycle: when it is due, and which namespaces it opens."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar import registry
from sidecar.apply.ending import CYCLE_COMPLETED
from sidecar.apply.moves import RunStopped
from sidecar.apply.runner import Runner
from sidecar.config import load_config
from tests.cycling import a_bit_of_all, fact
from tests.namespaces import DAY, World, a_world, counted, event_kinds, eventually, put


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


@pytest.mark.gate("CYC-41")
async def test_the_timer_runs_a_cycle_only_where_it_is_enabled_due_and_allowed(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open()
        await put(namespace, *a_bit_of_all())
        assert not await namespace.cycle_if_due()
        options = namespace.cycle_options
        namespace.cycle_options = type(options)(enabled=True, interval_hours=24.0)
        assert await namespace.cycle_if_due()
        assert counted(namespace)[2] == 3
        world.pass_time(DAY - 1000)
        assert not await namespace.cycle_if_due()
        world.pass_time(1000)
        assert await namespace.cycle_if_due()
        await namespace.undo(run_id=(await namespace.runs(limit=1, cursor=None)).runs[0].run_id)
        world.pass_time(DAY)
        assert not await namespace.cycle_if_due()  # an undo pauses it
        await namespace.resume()
        assert await namespace.cycle_if_due()


@pytest.mark.gate("CYC-47")
async def test_a_cycle_that_a_start_finished_is_the_last_one_and_the_next_waits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open()
    enabled = type(namespace.cycle_options)(enabled=True, interval_hours=24.0)
    namespace.cycle_options = enabled
    await put(namespace, *a_bit_of_all())

    def stopped(*_: Any) -> None:
        raise RunStopped

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "finish", stopped)
        with pytest.raises(RunStopped):
            await namespace.cycle_if_due()
    world.pass_time(3 * DAY)
    await world.restart()
    namespace = await world.registry.open("default", False)
    namespace.cycle_options = enabled
    (run,) = (await namespace.runs(limit=5, cursor=None)).runs
    assert (run.kind, run.state, run.finished_at) == ("cycle", "finished", world.clock.now_ms())
    assert not await namespace.cycle_if_due()
    world.pass_time(DAY - 1)
    assert not await namespace.cycle_if_due()
    world.pass_time(1)
    assert await namespace.cycle_if_due()


@pytest.mark.gate("CYC-48")
async def test_a_cycle_with_nothing_to_do_is_told_and_is_the_last_one(world: World) -> None:
    namespace = await world.open()
    namespace.cycle_options = type(namespace.cycle_options)(enabled=True, interval_hours=24.0)
    await put(namespace, fact("kept", "Mina is allergic to nuts"))
    for times in range(1, 3):
        assert await namespace.cycle_if_due()
        page = await namespace.list_events(since=0, limit=9, kinds=[CYCLE_COMPLETED])
        assert len(page.events) == times
        assert (page.events[-1].run_id, page.events[-1].memory_id) == (None, None)
        told = page.events[-1].payload
        names = ("trigger", "dryRun", "runId", "scanned", "kept", "faded", "pruned")
        assert [told[name] for name in names] == ["automatic", False, None, 1, 1, 0, 0]
        world.pass_time(DAY - 1)
        assert not await namespace.cycle_if_due()
        world.pass_time(1)
    assert (await namespace.runs(limit=5, cursor=None)).runs == []


@pytest.mark.gate("CYC-49")
async def test_the_timer_opens_a_closed_namespace_for_its_cycle_once_an_interval(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(await world.open("cycled"), *a_bit_of_all())
    await put(await world.open("other"), *a_bit_of_all())
    await world.registry.close_all()
    monkeypatch.setattr(registry, "SWEEP_TIMER_SECONDS", 0.01)
    monkeypatch.setattr(registry, "NAMESPACE_IDLE_SECONDS", 0.0)
    await world.start()
    opened, rounds = noted(world.registry, "_try_open"), noted(world.registry, "_look_after")
    file = tmp_path / "forgetd.toml"
    file.write_text("[namespaces.cycled.cycle]\nenabled = true\n")
    await world.registry.reconfigure(load_config(path=file, environ={"HOME": str(tmp_path)}))

    async def several_rounds() -> None:
        reached = len(rounds) + 10
        await eventually(lambda: len(rounds) >= reached, "the timer goes on")

    await eventually(lambda: world.registry.names()[0].forgotten == 3, "the cycle has run")
    await several_rounds()
    assert opened == ["cycled"]
    assert not any(one.open for one in world.registry.names())
    world.pass_time(DAY - 1)
    await several_rounds()
    assert opened == ["cycled"]
    world.pass_time(1)
    await eventually(lambda: opened == ["cycled"] * 2, "the next cycle is due")
    monkeypatch.setattr(registry, "NAMESPACE_IDLE_SECONDS", DAY)
    await several_rounds()
    namespace = await world.registry.open("cycled", False)
    assert event_kinds(namespace, CYCLE_COMPLETED) == [CYCLE_COMPLETED] * 2
    (run,) = (await namespace.runs(limit=5, cursor=None)).runs
    assert (run.kind, run.trigger) == ("cycle", "automatic")


def noted(owner: Any, name: str) -> list[str]:
    """The first argument of each call of a coroutine function from now on."""
    original = getattr(owner, name)
    called: list[str] = []

    async def call(first: str) -> None:
        called.append(first)
        await original(first)

    setattr(owner, name, call)
    return called
