"""What explain says of active forgetting is what active forgetting does."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.lifecycle_config import LifecycleOptions, LifecycleRequest
from sidecar.model import MemoryInput
from tests.namespaces import DAY, NOW, World, a_world, memory, put

OLD = 91


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def told(memory_id: str, score: float, uses: int, days: float = OLD, **more: object) -> MemoryInput:
    """A memory of so many days ago, of which hosts said this in so many uses."""
    return memory(memory_id, days, usefulness_score=score, use_count=uses, **more)


@pytest.mark.gate("EXPL-16")
async def test_each_memory_is_explained_as_it_is_decided(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(
        namespace,
        told("useless", -0.4, 2),
        told("useful", 1.0, 2),
        told("young", -0.4, 2, days=89),
        told("lately", -0.4, 2, last_useful_at=NOW - 5 * DAY),
        told("evergreen", -0.4, 2, evergreen=True),
        told("popular", -2.0, 10),
        told("harmful", -5.0, 10),
        told("pinned", -0.4, 2, pinned=True),
        told("expired", -0.4, 2, expires_at=NOW - DAY),
    )
    await put(namespace, told("wrong", -0.4, 2))
    await namespace.invalidate(id="wrong", reason="incorrect")
    request = LifecycleRequest(options=LifecycleOptions())
    report = await namespace.forget_useless(dry_run=True, plan_id=None, request=request)
    planned = {one.id: one.skipped for one in report.candidates}
    assert planned == {"harmful": None, "useless": None, "pinned": "pinned"}

    words = {
        "useless": "usefulness -0.2 a use, not useful for 91 days",
        "useful": "kept: usefulness 0.5 a use is above -0.1",
        "young": "kept: made or of use 89 days ago, not more than 90",
        "lately": "kept: made or of use 5 days ago, not more than 90",
        "evergreen": "kept: it is evergreen",
        "popular": "kept: used 10 times, at least 10, and its usefulness -0.2 a use is above -0.5",
        "harmful": "usefulness -0.5 a use, not useful for 91 days",
        "pinned": "usefulness -0.2 a use, not useful for 91 days; kept: pinned",
        "expired": "kept: it is expired already",
        "wrong": "kept: it is invalidated already",
    }
    for memory_id, why in words.items():
        explained = (await namespace.explain(id=memory_id, policy="lifecycle")).lifecycle
        assert explained is not None
        assert explained.why == why
        assert explained.candidate == (memory_id in planned)
        assert explained.skipped == planned.get(memory_id)
        goes = memory_id in planned and planned[memory_id] is None
        assert explained.action == ("archive" if goes else "keep")
        assert not explained.enabled


@pytest.mark.gate("EXPL-16")
async def test_it_is_told_with_everything_else_and_by_its_name_alone(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, told("m", -0.4, 2))
    whole = await namespace.explain(id="m", policy=None)
    alone = await namespace.explain(id="m", policy="lifecycle")
    assert whole.lifecycle == alone.lifecycle
    assert whole.cycle is not None
    assert (alone.policies, alone.cycle) == ([], None)
    assert (await namespace.explain(id="m", policy="classic")).lifecycle is None
