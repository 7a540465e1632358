"""The timer of the cycle: when it is due, and which namespaces it opens."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.apply.moves import RunStopped
from sidecar.apply.runner import Runner
from tests.cycling import a_bit_of_all
from tests.namespaces import DAY, World, a_world, counted, put


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
