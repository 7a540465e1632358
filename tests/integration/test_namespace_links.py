"""Links between memories and their embeddings: what is kept, refused, and decided for good."""

import base64
import random
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.errors import (
    InvalidParams,
    SupersessionConflict,
)
from sidecar.model import Memory, MemoryInput
from sidecar.namespace import Namespace
from tests.namespaces import (
    NOW,
    World,
    a_world,
    get,
    listed,
    memory,
    put,
    query,
    recalled,
    restore,
    state_hash,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def update(namespace: Namespace, memory_id: str, **patch: Any) -> Memory:
    """memory.update without a condition."""
    return await namespace.update(id=memory_id, patch=MemoryInput(**patch), if_revision=None)


@pytest.mark.gate("RECORD-06")
@pytest.mark.parametrize("way", ["supersede", "supersededBy", "successorId", "supersedes", "list"])
async def test_every_way_to_say_that_one_memory_supersedes_another(world: World, way: str) -> None:
    namespace = await world.open()
    await put(namespace, memory("older"))
    match way:
        case "supersedes":
            await put(namespace, memory("newer", supersedes="older"))
        case "list":
            await put(namespace, memory("newer"))
            await update(namespace, "newer", supersedes=["older"])
        case "supersede":
            await put(namespace, memory("newer"))
            await namespace.supersede(id="older", by="newer")
        case "supersededBy":
            await put(namespace, memory("newer"))
            await update(namespace, "older", superseded_by="newer")
        case _:
            await update(namespace, "older", successor_id="newer")
            await put(namespace, memory("newer"))
    older, newer = await get(namespace, "older"), await get(namespace, "newer")
    assert older is not None
    assert newer is not None
    assert (older.status, older.status_reason, older.superseded_by, older.status_at) == (
        "superseded",
        "superseded",
        "newer",
        NOW,
    )
    assert (newer.status, newer.supersedes) == ("active", ["older"])
    assert older.strength == 0.01
    assert await recalled(namespace, "says") == ["newer"]
    taken_back = await update(namespace, "older", superseded_by=None)
    assert (taken_back.status, taken_back.superseded_by) == ("active", None)
    assert await recalled(namespace, "older says", top_k=1) == ["older"]


@pytest.mark.gate("RECORD-06")
async def test_loops_of_any_length_are_refused_and_nothing_is_stored(world: World) -> None:
    namespace = await world.open()
    await put(namespace, *(memory(one) for one in "abcd"))
    for older, newer in ("ab", "bc", "cd"):
        await namespace.supersede(id=older, by=newer)
    before = state_hash(namespace)
    for older, newer in ("aa", "ba", "ca", "da", "dc"):
        ways = {
            "$.by": namespace.supersede(id=older, by=newer),
            "$.patch.supersededBy": update(namespace, older, superseded_by=newer, content="x"),
            "$.patch.supersedes": update(namespace, newer, supersedes=[older], content="x"),
        }
        for field, call in ways.items():
            with pytest.raises(SupersessionConflict) as refused:
                await call
            assert refused.value.data["field"] == field
    for links in ({"supersedes": "new"}, {"superseded_by": "a", "supersedes": "d"}):
        with pytest.raises(SupersessionConflict):
            await put(namespace, memory("new", **links))
    assert state_hash(namespace) == before
    assert await get(namespace, "new") is None


@pytest.mark.gate("RECORD-06")
async def test_superseding_what_does_not_exist_is_refused(world: World) -> None:
    namespace = await world.open()
    with pytest.raises(InvalidParams) as refused:
        await put(namespace, memory("new", supersedes=["nobody"]))
    assert refused.value.data["field"] == "$.supersedes"
    assert await listed(namespace) == []


@pytest.mark.gate("RECORD-06")
async def test_a_host_may_supersede_what_was_forgotten_meanwhile(world: World) -> None:
    namespace = await world.open()
    await put(namespace, memory("older"))
    await namespace.forget(ids=["older"], reason="asked")
    await put(namespace, memory("newer", supersedes="older"))
    assert await listed(namespace) == ["newer"]
    state_hash(namespace)
    report = await restore(namespace, "older")
    assert report.results[0].result == "superseded", "it does not come back as believed"
    assert await recalled(namespace, "says") == ["newer"]


@pytest.mark.gate("RECORD-07")
async def test_numbers_and_base64_are_the_same_embedding(world: World, rng: random.Random) -> None:
    namespace = await world.open()
    numbers = [rng.gauss(0, 1) for _ in range(384)]
    packed = struct.pack("<384f", *numbers)
    await put(
        namespace,
        memory("list", embedding=numbers, embedding_model="a"),
        memory("text", embedding=base64.b64encode(packed).decode(), embedding_model="a"),
    )
    shown = [await get(namespace, one, embedding=True) for one in ("list", "text")]
    exact = list(struct.unpack("<384f", packed))
    assert [one and one.embedding for one in shown] == [exact, exact]
    assert [one and one.embedding_dimensions for one in shown] == [384, 384]
    without = await get(namespace, "list")
    assert without is not None
    assert without.embedding is msgspec.UNSET
    removed = await update(namespace, "list", embedding=None)
    assert removed.embedding_dimensions is None
    assert query(namespace, "SELECT count(*) FROM vectors") == [(1,)]


@pytest.mark.gate("RECORD-07")
async def test_the_embeddings_of_one_model_have_one_size(world: World) -> None:
    namespace = await world.open()
    await put(
        namespace,
        memory("a", embedding=[1.0] * 4, embedding_model="small"),
        memory("b", embedding=[1.0] * 8, embedding_model="large"),
        memory("c", embedding=[1.0] * 2),
    )
    for model, size in (("small", 8), ("large", 4), (msgspec.UNSET, 3)):
        with pytest.raises(InvalidParams) as refused:
            await put(namespace, memory("d", embedding=[1.0] * size, embedding_model=model))
        assert refused.value.data["field"] == "$.embedding"
        with pytest.raises(InvalidParams) as refused:
            await update(namespace, "a", embedding=[1.0] * size, embedding_model=model)
        assert refused.value.data["field"] == "$.patch.embedding"
    await world.restart()
    namespace = await world.registry.open("default", False)
    with pytest.raises(InvalidParams):
        await put(namespace, memory("d", embedding=[1.0] * 8, embedding_model="small"))
    assert await listed(namespace) == ["a", "b", "c"]


@pytest.mark.gate("RECORD-07")
async def test_an_embedding_that_was_not_stored_decides_no_size(world: World) -> None:
    namespace = await world.open()
    with pytest.raises(InvalidParams):
        await put(
            namespace,
            memory("a", embedding=[1.0] * 8, embedding_model="new", supersedes=["nobody"]),
        )
    two_sizes = [
        memory("b", embedding=[1.0] * 8, embedding_model="new"),
        memory("c", embedding=[1.0] * 4, embedding_model="new"),
    ]
    with pytest.raises(InvalidParams) as refused:
        await namespace.put_many(memories=two_sizes, if_exists="error", partial=False)
    assert refused.value.data["field"] == "$.memories[1].embedding"
    await put(namespace, memory("d", embedding=[1.0] * 4, embedding_model="new"))
    assert await listed(namespace) == ["d"]
