"""Exporting a namespace page by page, also while it is being changed."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.errors import InvalidParams
from sidecar.limits import EXPORT_PAGE_BYTES_MAX
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.reports import ExportPage
from tests.busy_store import fill_busily
from tests.exports import lines_of, pages_of, take_back
from tests.namespaces import (
    World,
    a_world,
    files_below,
    fill,
    ids_in,
    many,
    memory,
    payloads,
    put,
    query,
    state_hash,
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def first_page(namespace: Namespace, **given: Any) -> ExportPage:
    call: dict[str, Any] = {"tiers": ("hot", "cold", "forgotten"), "cursor": None, "limit": 3}
    return await namespace.export(**(call | given))


async def rest_of(namespace: Namespace, page: ExportPage, limit: int = 3) -> list[ExportPage]:
    pages = [page]
    while pages[-1].cursor is not None:
        pages.append(await first_page(namespace, cursor=pages[-1].cursor, limit=limit))
    return pages


async def copied(world: World, pages: list[ExportPage], name: str = "copy") -> Namespace:
    """A new namespace that got every line, the later of an id in the place of the earlier."""
    target = await world.open(name, automatic=False)
    await take_back(target, lines_of(pages), "replace", chunk=4)
    return target


@pytest.mark.gate("EXP-02")
async def test_pages_hold_at_most_as_many_memories_as_asked_for(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(10))
    pages = await pages_of(namespace, limit=3)
    assert [len(page.lines) for page in pages] == [3, 3, 3, 1]
    assert [line["id"] for line in lines_of(pages)] == [f"m{n:05}" for n in range(10)]
    assert [page.state_hash for page in pages] == [None, None, None, state_hash(namespace)]
    assert [page.again for page in pages] == [0, 0, 0, 0]


@pytest.mark.gate("EXP-02")
async def test_pages_hold_at_most_four_megabytes(world: World) -> None:
    namespace = await world.open(automatic=False)
    large = "\x01" * 1_000_000  # six bytes each as JSON
    await put(namespace, *(memory(f"m{n}", content="x" * 900_000) for n in range(6)))
    await put(namespace, memory("large", content=large), memory("last"))
    pages = await pages_of(namespace, limit=1_000)
    assert [[line.id for line in page.lines] for page in pages] == [
        ["m0", "m1", "m2", "m3"],
        ["m4", "m5"],
        ["large"],
        ["last"],
    ]
    sizes = [len(msgspec.json.encode(page.lines)) for page in pages]
    assert [size <= EXPORT_PAGE_BYTES_MAX for size in sizes] == [True, True, False, True]


@pytest.mark.gate("EXP-02")
async def test_exporting_writes_nothing_and_is_no_use(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill_busily(world, namespace, 1)
    before, events = state_hash(namespace), query(namespace, "SELECT count(*) FROM events")
    files = files_below(world.directory())
    assert lines_of(await pages_of(namespace)) == lines_of(await pages_of(namespace, limit=7))
    assert (state_hash(namespace), query(namespace, "SELECT count(*) FROM events")) == (
        before,
        events,
    )
    assert files_below(world.directory()) == files


@pytest.mark.gate("EXP-02")
async def test_a_namespace_without_memories_has_one_page(world: World) -> None:
    namespace = await world.open(automatic=False)
    (page,) = await pages_of(namespace)
    assert (page.lines, page.cursor, page.state_hash) == ([], None, state_hash(namespace))


@pytest.mark.gate("EXP-03")
async def test_what_changes_meanwhile_comes_again_and_the_later_line_counts(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(12))
    page = await first_page(namespace)
    await namespace.update(id="m00000", patch=MemoryInput(content="new"), if_revision=None)
    await namespace.touch(ids=["m00001", "m00011"])
    await namespace.forget(ids=["m00002", "m00005"], reason="x")
    await put(namespace, memory("later"))
    pages = await rest_of(namespace, page)
    lines = lines_of(pages)
    assert [line["id"] for line in lines[:13]] == [*(f"m{n:05}" for n in range(12)), "later"]
    again = ["m00000", "m00001", "m00002", "m00005", "m00011", "later"]
    assert [line["id"] for line in lines[13:]] == again
    assert sum(page.again for page in pages) == len(again)
    assert pages[-1].state_hash == state_hash(namespace)
    target = await copied(world, pages)
    assert state_hash(target) == state_hash(namespace)
    assert payloads(target) == payloads(namespace)


@pytest.mark.gate("EXP-03")
async def test_an_export_ends_although_each_page_is_followed_by_a_change(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(9))
    pages = [await first_page(namespace)]
    while pages[-1].cursor is not None:
        await namespace.touch(ids=["m00000", "m00004"])
        pages.append(await first_page(namespace, cursor=pages[-1].cursor))
        assert len(pages) < 20
    assert pages[-1].state_hash == state_hash(namespace)
    assert state_hash(await copied(world, pages)) == state_hash(namespace)


@pytest.mark.gate("EXP-03")
async def test_a_spill_meanwhile_repeats_nothing(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(12))
    page = await first_page(namespace)
    await namespace.cold_spill(dry_run=False, target=2)
    pages = await rest_of(namespace, page)
    assert len(lines_of(pages)) == 12
    assert pages[-1].state_hash == state_hash(namespace)


@pytest.mark.gate("EXP-03")
async def test_a_cursor_outlives_a_restart(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(7))
    page = await first_page(namespace)
    await world.restart()
    namespace = await world.open(automatic=False)
    pages = await rest_of(namespace, page)
    assert len(lines_of(pages)) == 7
    assert pages[-1].state_hash == state_hash(namespace)


@pytest.mark.gate("EXP-04")
@pytest.mark.parametrize("chosen", [("hot",), ("cold",), ("forgotten",), ("hot", "cold")])
async def test_chosen_tiers_make_a_namespace_of_the_state_told(world: World, chosen: Any) -> None:
    namespace = await world.open(automatic=False)
    await fill_busily(world, namespace, 2)
    pages = await pages_of(namespace, chosen)
    ids = {line["id"] for line in lines_of(pages)}
    assert ids == {one for tier in chosen for one in ids_in(namespace, tier)}
    assert state_hash(await copied(world, pages)) == pages[-1].state_hash


@pytest.mark.gate("EXP-04")
async def test_no_state_is_told_when_memories_left_the_chosen_tiers_meanwhile(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(8))
    live = await first_page(namespace, tiers=("hot", "cold"), limit=4)
    hot = await first_page(namespace, tiers=("hot",), limit=4)
    await namespace.cold_spill(dry_run=False, target=3)
    moved = await first_page(namespace, tiers=("hot",), cursor=hot.cursor, limit=100)
    kept = await first_page(namespace, tiers=("hot", "cold"), cursor=live.cursor, limit=100)
    assert (moved.cursor, moved.state_hash) == (None, None)
    assert kept.state_hash == state_hash(namespace)
    await namespace.forget(ids=["m00000"], reason="x")
    gone = await first_page(namespace, tiers=("hot", "cold"), cursor=live.cursor, limit=100)
    assert (gone.cursor, gone.state_hash) == (None, None)


@pytest.mark.gate("EXP-04")
async def test_what_comes_into_a_chosen_tier_meanwhile_is_exported(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(8))
    await namespace.cold_spill(dry_run=False, target=6)
    page = await first_page(namespace, tiers=("cold",), limit=1)
    await namespace.cold_spill(dry_run=False, target=3)
    pages = [page, await first_page(namespace, tiers=("cold",), cursor=page.cursor, limit=100)]
    assert {line["id"] for line in lines_of(pages)} == set(ids_in(namespace, "cold"))


@pytest.mark.gate("EXP-05")
async def test_a_damaged_memory_is_named_and_hides_no_other(world: World) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(5))
    namespace.store.writer.call(
        lambda tx: tx.connection.execute("UPDATE texts SET content = 'rot' WHERE rid = 2")
    )
    pages = await pages_of(namespace, limit=2)
    assert [name for page in pages for name in page.damaged] == ["m00001"]
    assert [line["id"] for line in lines_of(pages)] == ["m00000", "m00002", "m00003", "m00004"]
    assert [page.state_hash for page in pages] == [None] * len(pages)


@pytest.mark.gate("EXP-06")
@pytest.mark.parametrize("cursor", ["", "x", "e30=", "WzFd", "bnVsbA==", "W1swXSwxLDFd"])
async def test_a_cursor_of_something_else_is_refused(world: World, cursor: str) -> None:
    namespace = await world.open(automatic=False)
    await fill(namespace, many(5))
    with pytest.raises(InvalidParams) as refused:
        await first_page(namespace, cursor=cursor)
    assert refused.value.data["field"] == "$.cursor"
    page = await first_page(namespace, tiers=("hot",))
    with pytest.raises(InvalidParams):
        await first_page(namespace, cursor=page.cursor)
