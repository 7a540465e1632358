"""A hundred times of looking and planning: not a byte written, no memory held."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar import threads
from sidecar.rpc.calls import Calls
from sidecar.rpc.context import Context
from sidecar.rpc.dispatch import Dispatcher
from sidecar.rpc.methods import METHODS
from tests.hostile import held_bytes
from tests.hostile_inputs import valid_calls
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    counted,
    files_below,
    fill,
    ids_in,
    many,
    settle,
    sweep,
)

ROUNDS = 100
# Pages, plans and pools settle in the first rounds; after them nothing more is held.
SETTLED_AFTER_ROUNDS = 20
HELD_BYTES_MAX = 24_000_000
# Looks at single memories come every so many rounds.
LOOKS_EVERY_ROUNDS = 5
# What a client sends that only looks, beside the methods that cannot do anything else.
LOOKS: list[tuple[str, dict[str, Any]]] = [
    ("forgetSweep", {"dryRun": True}),
    ("forgetSweep", {"dryRun": True, "mode": "strict"}),
    ("forgetSweep", {"dryRun": True, "policy": "classic", "now": NOW + 50 * DAY}),
    ("forgetSweep", {"dryRun": True, "brakeShare": 0.9, "decisionsLimit": 0}),
    ("forgetting.runCycle", {"dryRun": True}),
    ("forgetting.runCycle", {"dryRun": True, "now": NOW + 50 * DAY, "decisionsLimit": 0}),
    ("gc.plan", {"olderThanDays": 0}),
    ("coldSpill", {"dryRun": True}),
    ("coldSpill", {"dryRun": True, "target": 0}),
    ("memory.recall", {"query": "what m00099 says", "depth": "deep", "touch": "none"}),
    ("memory.recall", {"query": "says", "topK": 100, "touch": "none"}),
    ("memory.list", {"tier": "cold"}),
    ("memory.list", {"tier": "forgotten", "limit": 5}),
    ("memory.export", {"tiers": ["cold", "forgotten"]}),
    ("system.status", {"all": True}),
    ("events.list", {"since": 0, "limit": 1_000}),
]
# These change something beside the memories, or need no state directory to be looked at.
NO_LOOKS = {"system.stop", "system.clock"}


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A world with one thread for reads and one for runs.

    The allocator keeps what a thread once needed. One that is first used late, which the machine's
    load decides, would look like memory that is held for good.
    """
    monkeypatch.setattr(threads, "READ_THREADS", 1)
    monkeypatch.setattr(threads, "RUN_THREADS", 1)
    async with a_world(tmp_path) as made:
        yield made


def looks(ids: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """Every method of the registry that writes nothing, and the dry runs of those that do."""
    reading = [name for name, method in METHODS.items() if not method.writes]
    examples = [
        (name, params | {"touch": "none"} if name == "memory.recall" else params)
        for name in reading
        if name not in NO_LOOKS
        for params in valid_calls()[name]
    ]
    by_id = [
        (name, {"id": memory_id}) for memory_id in ids for name in ("memory.get", "memory.explain")
    ]
    return [*examples, *LOOKS, *by_id, ("memory.getMany", {"ids": ids})]


@pytest.mark.gate("RUN-37")
async def test_a_hundred_dry_runs_and_looks_leave_every_byte_and_hold_no_memory(
    world: World,
) -> None:
    chosen: dict[str, Any] = {"forgetThresholdCount": 50, "forgetThresholdTotal": 110}
    namespace = await world.open(automatic=False, **chosen)
    await fill(namespace, many(120))
    assert (await sweep(namespace)).counts["forget"] > 0
    await namespace.set_thresholds({"forgetThresholdCount": 20, "forgetThresholdTotal": 60})
    await settle(namespace)
    tiers = [ids_in(namespace, tier)[0] for tier in ("hot", "cold", "forgotten")]
    context = Context(world.registry, world.clock, lambda: None)
    dispatcher = Dispatcher(METHODS, Calls(context), serves_admin=lambda: True)
    before, counts = files_below(world.state_dir), counted(namespace)
    assert len(before) > 4
    held = 0
    for number in range(ROUNDS):
        for method, params in looks(tiers) if number % LOOKS_EVERY_ROUNDS == 0 else LOOKS:
            call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            reply = await dispatcher.dispatch(call)
            assert reply is not None
            assert "result" in reply or reply["error"]["code"] > 0, (method, reply)
        planned = await sweep(namespace, dry_run=True)
        shown = {"jsonrpc": "2.0", "id": 1, "method": "runs.decisions"}
        reply = await dispatcher.dispatch(shown | {"params": {"planId": planned.plan_id}})
        assert reply is not None
        assert msgspec.json.decode(reply["result"])["total"] == len(planned.decisions) > 0
        if number == SETTLED_AFTER_ROUNDS:
            held = held_bytes()
    assert held_bytes() - held < HELD_BYTES_MAX
    assert files_below(world.state_dir) == before
    assert counted(namespace) == counts
    await settle(namespace)
    assert files_below(world.state_dir) == before
