"""Writing memories: creating, replacing, changing, and what each of these leaves alone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.errors import (
    InvalidParams,
    MemoryExists,
    MemoryNotFound,
    RevisionConflict,
)
from sidecar.estimate import estimate
from sidecar.model import Memory, MemoryInput
from sidecar.namespace import Namespace
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    counted,
    event_kinds,
    get,
    listed,
    many,
    memory,
    put,
    query,
    recalled,
    restore,
    settle,
    state_hash,
    tiers,
)

WRITABLE = [spec.encode_name for spec in msgspec.structs.fields(MemoryInput)]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def update(namespace: Namespace, memory_id: str, **patch: Any) -> Memory:
    """memory.update without a condition."""
    return await namespace.update(id=memory_id, patch=MemoryInput(**patch), if_revision=None)


def counters(namespace: Namespace, memory_id: str) -> tuple[int, int]:
    """(revision, change counter) of a memory."""
    names = "revision, change_counter"
    ((revision, changes),) = query(
        namespace, f"SELECT {names} FROM memories WHERE id = ?", memory_id
    )
    return revision, changes


@pytest.mark.gate("RECORD-01")
async def test_a_memory_of_nothing_but_content_has_the_defaults(world: World) -> None:
    namespace = await world.open()
    made = await namespace.put(memory=MemoryInput(content="x"), if_exists="error")
    shown = msgspec.to_builtins(made)
    assert len(shown.pop("id")) == 26
    assert shown.pop("bytes") > 0
    assert {name: value for name, value in shown.items() if value not in (None, 0, False)} == {
        "memoryType": "semantic",
        "content": "x",
        "importance": estimate("x"),
        "importanceBase": estimate("x"),
        "importanceSource": "estimated",
        "fadeFactor": 1.0,
        "createdAt": NOW,
        "updatedAt": NOW,
        "supersedes": [],
        "metadata": {},
        "extra": {},
        "status": "active",
        "tier": "hot",
        "revision": 1,
        "strength": estimate("x"),
    }
    assert await get(namespace, made.id) == made


@pytest.mark.gate("RECORD-01")
async def test_ids_that_are_not_given_are_new_and_in_order_of_time(world: World) -> None:
    namespace = await world.open()
    made: list[str] = []
    for _ in range(5):
        made.append((await namespace.put(memory=MemoryInput(content="x"), if_exists="error")).id)
        world.pass_time(1)
    assert made == sorted(set(made))


@pytest.mark.gate("RECORD-02")
async def test_an_existing_id_is_refused_skipped_or_replaced(world: World) -> None:
    namespace = await world.open()
    first = await namespace.put(
        memory=memory("m", metadata={"a": 1}, pinned=True, recall_count=4, embedding=[1, 2]),
        if_exists="error",
    )
    with pytest.raises(MemoryExists) as refused:
        await put(namespace, memory("m", content="other"))
    assert refused.value.data["field"] == "$.id"
    assert await namespace.put(memory=memory("m", content="other"), if_exists="skip") == first
    world.pass_time(1)
    second = await namespace.put(
        memory=MemoryInput(id="m", content="other", importance=0.9), if_exists="replace"
    )
    assert (second.content, second.metadata, second.importance) == ("other", {}, 0.9)
    assert second.embedding_dimensions is None
    assert (second.pinned, second.recall_count, second.created_at) == (True, 4, first.created_at)
    assert (second.revision, second.updated_at) == (2, NOW + 1)
    assert await recalled(namespace, "other") == ["m"]
    assert await recalled(namespace, "says") == []
    assert counted(namespace) == (1, 0, 0)


@pytest.mark.gate("RECORD-02")
async def test_a_replacement_without_content_is_refused(world: World) -> None:
    namespace = await world.open()
    await put(namespace, memory("m"))
    for if_exists in ("replace", "error"):
        with pytest.raises(InvalidParams) as refused:
            await namespace.put(
                memory=MemoryInput(id="m" if if_exists == "replace" else "n"), if_exists=if_exists
            )
        assert refused.value.data["field"] == "$.content"
    assert await listed(namespace) == ["m"]


@pytest.mark.gate("RECORD-03")
async def test_an_update_changes_what_it_names_and_nothing_else(world: World) -> None:
    namespace = await world.open()
    (before,) = await put(namespace, memory("m", metadata={"a": 1}, embedding=[1.0, 2.0]))
    world.pass_time(5)
    after = await update(namespace, "m", content="new words", expires_at=NOW + DAY)
    changed = {
        name
        for name in msgspec.structs.asdict(before)
        if getattr(before, name) != getattr(after, name)
    }
    assert changed == {"content", "expires_at", "updated_at", "revision", "bytes"}
    assert await recalled(namespace, "words") == ["m"]
    assert await recalled(namespace, "says") == []


@pytest.mark.gate("RECORD-03")
async def test_an_update_may_be_bound_to_the_revision_that_was_read(world: World) -> None:
    namespace = await world.open()
    (made,) = await put(namespace, memory("m"))
    patch = MemoryInput(content="second")
    await namespace.update(id="m", patch=patch, if_revision=made.revision)
    with pytest.raises(RevisionConflict) as refused:
        await namespace.update(
            id="m", patch=MemoryInput(content="third"), if_revision=made.revision
        )
    assert refused.value.data["field"] == "$.ifRevision"
    assert "2" in refused.value.data["bound"]
    shown = await get(namespace, "m")
    assert shown is not None
    assert shown.content == "second"


@pytest.mark.gate("RECORD-03")
async def test_only_a_change_of_what_the_archive_holds_thaws(world: World) -> None:
    namespace = await world.open()
    patches: list[tuple[str, dict[str, Any]]] = [
        ("cold", {"importance": 0.9}),
        ("cold", {"pinned": True}),
        ("cold", {"expires_at": NOW + DAY}),
        ("cold", {"recall_count": 9, "usefulness_score": 2.5}),
        ("cold", {"content": "what m00004 says"}),
        ("hot", {"content": "other"}),
        ("hot", {"metadata": {"a": 1}}),
        ("hot", {"created_at": NOW - 3 * DAY}),
        ("hot", {"embedding": [1.0]}),
        ("hot", {"embedding_model": "named"}),
    ]
    await put(namespace, *many(len(patches)))
    await namespace.cold_spill(dry_run=False, target=0)
    for number, (tier, patch) in enumerate(patches):
        shown = await update(namespace, f"m{number:05}", **patch)
        assert shown.tier == tier, patch
        for name, value in patch.items():
            if name != "embedding":
                assert getattr(shown, name) == value
    state_hash(namespace)


@pytest.mark.gate("RECORD-03")
async def test_what_is_not_here_cannot_be_changed(world: World) -> None:
    namespace = await world.open()
    await put(namespace, memory("gone"), memory("here"))
    await namespace.forget(ids=["gone"], reason="asked")
    for memory_id, remedy in (("gone", "restore"), ("nobody", "memory.list")):
        with pytest.raises(MemoryNotFound) as refused:
            await update(namespace, memory_id, content="x")
        assert remedy in refused.value.data["remedy"]
        with pytest.raises(MemoryNotFound):
            await namespace.supersede(id=memory_id, by="here")
        with pytest.raises(MemoryNotFound) as refused:
            await namespace.supersede(id="here", by=memory_id)
        assert refused.value.data["field"] == "$.by"
    with pytest.raises(MemoryNotFound):
        await namespace.pin(id="nobody", pinned=True)
    with pytest.raises(MemoryNotFound):
        await namespace.explain(id="gone", policy=None)


@pytest.mark.gate("RECORD-04")
async def test_the_revision_rises_with_content_and_belief_only(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"), memory("newer"))
    believed: list[dict[str, Any]] = [
        {"content": "other"},
        {"metadata": {"a": 1}},
        {"importance": 0.8},
        {"memory_type": "episodic"},
        {"expires_at": NOW + DAY},
        {"valid_from": NOW - DAY},
        {"embedding": [1.0, 2.0]},
        {"superseded_by": "newer"},
        {"superseded_by": None},
    ]
    for number, patch in enumerate(believed, 1):
        await update(namespace, "m", **patch)
        assert counters(namespace, "m") == (1 + number, 1 + number), patch
        await update(namespace, "m", **patch)
        assert counters(namespace, "m") == (1 + number, 1 + number), "the same again is no change"
    revision = 1 + len(believed)
    await namespace.touch(ids=["m"])
    await namespace.pin(id="m", pinned=True)
    await namespace.hold(id="m", until=NOW + DAY)
    await update(namespace, "m", evergreen=True, use_count=3, last_useful_at=NOW)
    assert counters(namespace, "m") == (revision, revision + 4)
    await namespace.pin(id="m", pinned=False)
    await namespace.hold(id="m", until=None)
    await namespace.cold_spill(dry_run=False, target=0)
    await namespace.forget(ids=["m"], reason="asked")
    await restore(namespace, "m")
    assert counters(namespace, "m") == (revision, revision + 9)


@pytest.mark.gate("RECORD-04")
async def test_what_changes_nothing_is_no_event(world: World) -> None:
    namespace = await world.open()
    await put(namespace, memory("a"), memory("b"))
    await namespace.supersede(id="a", by="b")
    before, state = event_kinds(namespace), state_hash(namespace)
    await namespace.supersede(id="a", by="b")
    await namespace.pin(id="a", pinned=False)
    await namespace.hold(id="a", until=None)
    await update(namespace, "a", content="what a says")
    await update(namespace, "a")
    await namespace.put(memory=memory("a"), if_exists="skip")
    assert (event_kinds(namespace), state_hash(namespace)) == (before, state)


@pytest.mark.gate("RECORD-05")
async def test_reading_a_memory_and_writing_it_back_changes_nothing(world: World) -> None:
    namespace = await world.open()
    await put(
        namespace,
        memory("older"),
        memory("m", metadata={"가": [1, 2.5]}, embedding=[0.1, 0.2], embedding_model="a"),
        MemoryInput(id="bare", content="nothing else"),
    )
    await namespace.supersede(id="older", by="m")
    namespace.store.writer.call(
        lambda tx: tx.connection.execute("UPDATE memories SET fade_factor = 0.3").fetchall()
    )
    before = state_hash_of_rows(namespace)
    for memory_id in ("m", "bare", "older"):
        shown = await get(namespace, memory_id, embedding=True)
        assert shown is not None
        whole = msgspec.to_builtins(shown)
        patch = msgspec.convert({n: whole[n] for n in WRITABLE if n in whole}, MemoryInput)
        await namespace.update(id=memory_id, patch=patch, if_revision=None)
    assert state_hash_of_rows(namespace) == before


def state_hash_of_rows(namespace: Namespace) -> list[tuple[Any, ...]]:
    """Every column of every memory."""
    return query(namespace, "SELECT * FROM memories ORDER BY rid")


@pytest.mark.gate("RECORD-05")
async def test_a_written_importance_is_the_hosts_unless_it_is_the_one_shown(
    world: World,
) -> None:
    namespace = await world.open()
    await namespace.put(memory=MemoryInput(id="m", content="x"), if_exists="error")
    own = estimate("x")
    assert (await update(namespace, "m", importance=own)).importance_source == "estimated"
    namespace.store.writer.call(
        lambda tx: tx.connection.execute("UPDATE memories SET fade_factor = 0.5").fetchall()
    )
    faded = await update(namespace, "m", importance=own / 2)
    assert (faded.importance_base, faded.fade_factor, faded.importance) == (own, 0.5, own / 2)
    written = await update(namespace, "m", importance=0.4)
    assert (written.importance_base, written.fade_factor, written.importance) == (0.4, 1.0, 0.4)
    assert written.importance_source == "host"
    again = await update(namespace, "m", importance=None)
    assert (again.importance, again.importance_source) == (own, "estimated")


@pytest.mark.gate("RECORD-13")
async def test_lists_are_filtered_and_paged_without_gap_or_repeat(world: World) -> None:
    namespace = await world.open(automatic=False)
    kinds = ("semantic", "episodic", "procedural")
    await put(namespace, *(memory(f"m{n:02}", memory_type=kinds[n % 3]) for n in range(30)))
    await namespace.supersede(id="m00", by="m01")
    await namespace.cold_spill(dry_run=False, target=20)
    await namespace.forget(ids=["m29"], reason="asked")
    seen: list[str] = []
    cursor: str | None = None
    while cursor or not seen:
        page = await namespace.list(
            tier=None, status=None, memory_type="episodic", cursor=cursor, limit=4
        )
        seen += [one.id for one in page.memories]
        cursor = page.cursor
        await namespace.put(memory=memory(f"late{len(seen)}", content="x"), if_exists="error")
    assert seen == [f"m{n:02}" for n in range(1, 30, 3)]
    assert len(await listed(namespace, "cold")) == 10
    assert await listed(namespace, "forgotten") == ["m29"]
    assert "m29" not in await listed(namespace)
    superseded = await namespace.list(
        tier=None, status="superseded", memory_type=None, cursor=None, limit=10
    )
    assert [one.id for one in superseded.memories] == ["m00"]
    for bad in ("nonsense", "é", "====", "LTE"):
        with pytest.raises(InvalidParams) as refused:
            await namespace.list(tier=None, status=None, memory_type=None, cursor=bad, limit=1)
        assert refused.value.data["field"] == "$.cursor"


@pytest.mark.gate("RECORD-14")
async def test_many_are_answered_in_the_order_asked(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *many(4))
    await namespace.cold_spill(dry_run=False, target=2)
    await namespace.forget(ids=["m00001"], reason="asked")
    asked = ["m00003", "nobody", "m00000", "m00001", "m00003"]
    found = await namespace.get_many(ids=asked, include_embedding=False)
    assert [one and one.id for one in found] == ["m00003", None, "m00000", None, "m00003"]
    assert await namespace.get_many(ids=[], include_embedding=False) == []


@pytest.mark.gate("RECORD-14")
async def test_a_forgotten_memory_is_pinned_and_held_when_it_is_back(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, *many(3))
    await namespace.forget(ids=["m00000"], reason="asked")
    for refused in (
        namespace.pin(id="m00000", pinned=True),
        namespace.pin(id="m00000", pinned=False),
    ):
        with pytest.raises(MemoryNotFound, match="forgotten") as told:
            await refused
        assert "memory.restore" in told.value.data["remedy"]
    await restore(namespace, "m00000")
    await namespace.pin(id="m00000", pinned=True)
    await namespace.cold_spill(dry_run=False, target=0)
    assert tiers(namespace) == {"m00000": "hot", "m00001": "cold", "m00002": "cold"}
    await settle(namespace)
    assert (await namespace.forget(ids=["m00000", "x"], reason="a")).results[0].result == (
        "protected"
    )
