"""When a memory was faded: stored, replayed, exported, and set back by the host."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import rows
from sidecar.store.events import replayed_hash
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.written import finish
from tests.exports import lines_of, pages_of, take_back
from tests.namespaces import World, a_world, check_columns, memory, put, query, state_hash


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def fade(namespace: Namespace, memory_id: str, factor: float, at: int) -> None:
    """Lower the importance that a memory shows, as a fade does."""

    def job(tx: Transaction) -> None:
        row = rows.by_id(tx.connection, memory_id)
        assert row is not None
        before = rows.scalars(row)
        row.fade_factor, row.faded_at = factor, at
        finish(tx, before, row, "memory.updated", at)

    namespace.store.writer.call(job)


def faded_at(namespace: Namespace) -> list[int]:
    return namespace.store.columns.snapshot().faded_at.tolist()


@pytest.mark.gate("CYC-31")
async def test_the_time_of_a_fade_outlasts_restart_export_and_import(world: World) -> None:
    namespace = await world.open("source", automatic=False)
    await put(namespace, memory("a"), memory("b"))
    untouched = state_hash(namespace)
    fade(namespace, "b", 0.5, 1_780_000_000_123)
    assert state_hash(namespace) != untouched
    await world.restart()
    namespace = await world.open("source", automatic=False)
    assert faded_at(namespace) == [0, 1_780_000_000_123]
    check_columns(namespace)
    with namespace.store.readers.view() as connection:
        assert replayed_hash(connection) == state_hash(namespace)
    lines = lines_of(await pages_of(namespace))
    assert [line["fadedAt"] for line in lines] == [None, 1_780_000_000_123]
    target = await world.open("target", automatic=False)
    await take_back(target, lines)
    assert state_hash(target) == state_hash(namespace)
    assert faded_at(target) == faded_at(namespace)
    assert lines_of(await pages_of(target)) == lines


@pytest.mark.gate("CYC-31")
async def test_an_importance_that_the_host_writes_was_never_faded(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m", importance=0.8))
    fade(namespace, "m", 0.5, 1_780_000_000_123)
    for importance, at in ((0.4, 1_780_000_000_123), (0.7, 0)):
        patch = MemoryInput(importance=importance)
        shown = await namespace.update(id="m", patch=patch, if_revision=None)
        assert shown.importance == importance
        assert faded_at(namespace) == [at]
    assert query(namespace, "SELECT fade_factor, faded_at FROM memories") == [(1.0, None)]
    check_columns(namespace)
