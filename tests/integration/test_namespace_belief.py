"""What is believed again, and by what: replacing, unlinking, restoring, a newer version gone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import ConfigError, MemoryNotFound
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store.doctor import examine
from tests.namespaces import World, a_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def put(namespace: Namespace, memory_id: str, content: str, **fields: Any) -> None:
    memory = MemoryInput(id=memory_id, content=content, **fields)
    await namespace.put(memory=memory, if_exists="replace")


async def recalled(namespace: Namespace, query: str) -> list[str]:
    report = await namespace.recall(
        query=query,
        embedding=None,
        embedding_model=None,
        top_k=10,
        depth="deep",
        memory_types=None,
        include_archived=False,
        min_strength=None,
        touch="none",
    )
    return sorted(result.memory.id for result in report.results)


@pytest.mark.gate("RECORD-40")
@pytest.mark.parametrize("name", ["createdAt", "updatedAt", "lastRecalledAt", "lastUsefulAt"])
async def test_an_imported_time_of_zero_is_kept_readable_and_unscored_where_it_counts(
    world: World, name: str
) -> None:
    namespace = await world.open()
    report = await namespace.import_many(
        memories=[{"id": "z", "content": "born at zero", name: 0}],
        if_exists="skip",
        skip_bad=False,
        source=None,
    )
    assert report.created == 1
    memory = await namespace.get(id="z", include_embedding=False)
    assert memory is not None
    assert memory.content == "born at zero"
    counts_for_strength = name in ("createdAt", "lastRecalledAt")
    assert (memory.strength is None) == counts_for_strength
    assert (await namespace.status()).unscored == int(counts_for_strength)
    await namespace.cold_spill(dry_run=False, target=0)
    assert (await namespace.get(id="z", include_embedding=False)) is not None


@pytest.mark.gate("RECORD-41")
@pytest.mark.parametrize("reason", ["incorrect", "obsolete", "superseded", "forgotten"])
async def test_a_replacement_is_believed_whatever_the_old_record_was(
    world: World, reason: str
) -> None:
    namespace = await world.open()
    await put(namespace, "x", "apple wrong")
    await namespace.invalidate(id="x", reason=reason)
    assert await recalled(namespace, "apple") == []
    await put(namespace, "x", "apple right")
    assert await recalled(namespace, "apple") == ["x"]
    memory = await namespace.get(id="x", include_embedding=False)
    assert memory is not None
    assert (memory.status, memory.status_reason) == ("active", None)


@pytest.mark.gate("RECORD-42")
async def test_superseded_without_a_successor_can_be_taken_back(world: World) -> None:
    namespace = await world.open()
    await put(namespace, "y", "pear")
    await namespace.invalidate(id="y", reason="superseded")
    patch = MemoryInput(superseded_by=None)
    assert (await namespace.update(id="y", patch=patch, if_revision=None)).status == "active"


@pytest.mark.gate("RESTORE-40")
@pytest.mark.parametrize("way", ["ids", "reason"])
async def test_what_is_archived_as_forgotten_is_believed_again_wherever_it_lies(
    world: World, way: str
) -> None:
    namespace = await world.open()
    await put(namespace, "x", "plum")
    await put(namespace, "other", "plum kernel")
    await namespace.invalidate(id="x", reason="forgotten")
    await namespace.invalidate(id="other", reason="obsolete")
    named = {"ids": ["x"], "reason": None} if way == "ids" else {"ids": None, "reason": "forgotten"}
    report = await namespace.restore(run_id=None, **named)
    assert [(one.id, one.result) for one in report.results] == [("x", "restored")]
    memory = await namespace.get(id="x", include_embedding=False)
    assert memory is not None
    assert (memory.status, memory.restored_at) == ("active", world.clock.now_ms())
    assert await recalled(namespace, "plum") == ["x"]


@pytest.mark.gate("RECALL-40")
async def test_an_older_version_is_recalled_once_no_newer_one_stands(world: World) -> None:
    namespace = await world.open()
    for number, content in enumerate(("melon old", "melon newer", "melon newest")):
        older = {"supersedes": f"v{number - 1}"} if number else {}
        await put(namespace, f"v{number}", content, **older)
    assert await recalled(namespace, "melon") == ["v2"]
    await namespace.forget(ids=["v1"], reason="called")
    assert await recalled(namespace, "melon") == ["v2"], "the newest still stands above v0"
    await namespace.invalidate(id="v2", reason="incorrect")
    assert await recalled(namespace, "melon") == ["v0"]
    await put(namespace, "typo", "melon seed", superseded_by="nobody")
    assert await recalled(namespace, "melon") == ["typo", "v0"]


@pytest.mark.gate("STORE-50")
async def test_an_emptied_segment_is_gone_after_a_stop_and_no_alarm(
    world: World, tmp_path: Path
) -> None:
    namespace = await world.open()
    await put(namespace, "a", "alpha")
    await namespace.cold_spill(dry_run=False, target=0)
    directory = namespace.store.directory
    await put(namespace, "a", "beta")
    await world.registry.close_all()
    findings = examine(directory).findings
    assert [one.check for one in findings if not one.ok] == []
    await world.start()


@pytest.mark.gate("EXPL-10")
async def test_explaining_a_forgotten_memory_says_that_it_is_forgotten(world: World) -> None:
    namespace = await world.open()
    await put(namespace, "q", "quince")
    await namespace.forget(ids=["q"], reason="called")
    with pytest.raises(MemoryNotFound, match="is forgotten"):
        await namespace.explain(id="q", policy=None)


@pytest.mark.gate("AUTO-40")
async def test_a_lowering_that_is_taken_back_leaves_nothing_to_wait_for(world: World) -> None:
    namespace = await world.open(forgetThresholdTotal=100)
    await namespace.set_thresholds({"forgetThresholdTotal": 50})
    await namespace.set_thresholds({"forgetThresholdTotal": 70})
    assert (await namespace.thresholds_report()).stage_two_not_before is not None
    report = await namespace.set_thresholds({"forgetThresholdTotal": 100})
    assert report.stage_two_not_before is None


@pytest.mark.gate("CONF-07")
@pytest.mark.parametrize("name", ["..", "a/b", "x" * 65, "-a", "한글"])
def test_an_order_for_a_namespace_that_cannot_exist_is_refused(tmp_path: Path, name: str) -> None:
    from sidecar.config import load_config

    file = tmp_path / "forgetd.toml"
    file.write_text(f'[namespaces."{name}".thresholds]\nforget_enabled = false\n')
    with pytest.raises(ConfigError, match="no namespace's name"):
        load_config(path=file, environ={})
