"""Destroying amid everything else: the log replays, the columns follow, what is gone stays gone."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.errors import MemoryDestroyed, MemoryNotFound, SupersessionConflict
from sidecar.namespace import Namespace
from tests.collecting import destroy
from tests.namespaces import DAY, World, a_world, check_columns, memory, put, state_hash, tiers

IDS = ["a", "b", "c", "ㄱ", "🐈"]
id_ = st.sampled_from(IDS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["put", "revive", "forget", "restore", "erase", "pin"]), id_),
        st.tuples(st.just("supersede"), id_, id_),
        st.tuples(st.sampled_from(["spill", "collect", "fold", "restart"])),
    ),
    max_size=14,
)


class Model:
    """What should be there."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.destroyed: set[str] = set()

    def gone(self, ids: set[str]) -> None:
        """Some were destroyed."""
        self.known -= ids
        self.destroyed |= ids


async def change(namespace: Namespace, model: Model, kind: str, memory_id: str) -> None:
    """One step about one memory."""
    if kind in ("put", "revive"):
        refused = memory_id in model.destroyed - model.known and kind == "put"
        call = namespace.put(memory=memory(memory_id), if_exists="replace", revive=kind == "revive")
        if refused:
            with pytest.raises(MemoryDestroyed):
                await call
            return
        await call
        model.known.add(memory_id)
    elif kind == "forget":
        await namespace.forget(ids=[memory_id], reason="called")
    elif kind == "restore":
        await namespace.restore(ids=[memory_id], run_id=None, reason=None)
    elif kind == "erase":
        if memory_id in model.known:
            report = await destroy(namespace, memory_id)
            assert report.verification is not None
            assert report.verification.clean, report.verification.left
            model.gone({memory_id})
        else:
            with pytest.raises(MemoryNotFound):
                await destroy(namespace, memory_id)
    elif memory_id in model.known:
        await namespace.pin(id=memory_id, pinned=True)


async def supersede(namespace: Namespace, old: str, new: str) -> None:
    """One link, where it can be made."""
    try:
        await namespace.supersede(id=old, by=new)
    except (MemoryNotFound, SupersessionConflict):
        return


async def whole(world: World, model: Model, kind: str) -> None:
    """One step about the whole namespace."""
    namespace = await world.open(automatic=False)
    if kind == "spill":
        await namespace.cold_spill(dry_run=False, target=0)
    elif kind == "collect":
        forgotten = {name for name, tier in tiers(namespace).items() if tier == "forgotten"}
        report = await destroy(namespace, older_than_days=0.0)
        assert report.destroyed == len(forgotten)
        model.gone(forgotten)
    elif kind == "fold":
        world.pass_time(100 * DAY)
        await namespace.fold_events()
    else:
        await world.restart()


async def play(folder: Path, steps: list[tuple[str, ...]]) -> None:
    model = Model()
    async with a_world(folder) as world:
        for kind, *ids in steps:
            namespace = await world.open(automatic=False)
            if kind == "supersede":
                await supersede(namespace, *ids)
            elif ids:
                await change(namespace, model, kind, *ids)
            else:
                await whole(world, model, kind)
            namespace = await world.open(automatic=False)
            assert set(tiers(namespace)) == model.known
            state_hash(namespace)
            check_columns(namespace)
        before = state_hash(namespace) if steps else None
        await world.restart()
        namespace = await world.open(automatic=False)
        assert before in (None, state_hash(namespace))
        for memory_id in model.destroyed - model.known:
            with pytest.raises(MemoryDestroyed):
                await put(namespace, memory(memory_id))


@pytest.mark.gate("TOMB-07")
@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_whatever_happens_what_is_destroyed_stays_so_and_the_log_replays(
    steps: list[tuple[str, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), steps))
