"""A small model of a store, and the promises that a sweep of it must keep."""

import asyncio
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sidecar.estimate import estimate
from sidecar.model import to_json
from sidecar.namespace import Namespace
from sidecar.reports import SweepReport
from sidecar.thresholds import Value
from sidecar.validation import embedding_bytes
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    check_columns,
    counted,
    listed,
    payloads,
    state_hash,
    tiers,
)

IDS = ["a", "b", "커피-v1780000000000", "👩‍👩‍👧", "e\u0301", "é", *"cdefghijkl"]
WORDS = ["tea", "커피를", "rain", "Zürich", "🍜", "GPT-5"]
THRESHOLDS: dict[str, Value] = {
    "forgetThresholdCount": 3,
    "forgetThresholdTotal": 5,
    "lowWatermark": 0.67,
    "weakStrength": 0.2,
}


@dataclass(frozen=True)
class Known:
    """What the model knows of one memory."""

    content: str
    metadata: dict[str, Any]
    embedding: list[float] | None
    created_at: int
    importance: float | None
    tier: str = "hot"
    pinned: bool = False
    held_until: int | None = None
    superseded_by: str | None = None
    recalls: int = 0
    restored_at: int | None = None

    @property
    def payload(self) -> tuple[Any, ...]:
        """The exact bytes that every tier must keep."""
        packed = None if self.embedding is None else embedding_bytes(self.embedding, "$")
        encoded = to_json(self.metadata)
        return self.content.encode(), encoded, b"{}", self.created_at, None, packed


@dataclass
class Run:
    """A run of the ledger: what it moved, from where to where."""

    moved: dict[str, tuple[str, str]]
    undone: bool = False
    touched_since: set[str] = field(default_factory=set)


class ModelledStore:
    """One namespace and its model, side by side. Only calls move anything."""

    namespace: Namespace
    world: World

    def begin(self) -> None:
        """An empty namespace in a directory of its own."""
        self.now = NOW
        self.known: dict[str, Known] = {}
        self.runs: dict[str, Run] = {}
        self.pending: dict[str, int] = {}
        self.folder = tempfile.TemporaryDirectory(prefix="forgetd-model-")
        self.loop = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.world = self.run(self.stack.enter_async_context(a_world(Path(self.folder.name))))
        self.namespace = self.run(self.world.open(automatic=False, **THRESHOLDS))

    def end(self) -> None:
        """Look at everything once more, and close."""
        try:
            self.check_whole()
        finally:
            self.run(self.stack.aclose())
            self.loop.close()
            self.folder.cleanup()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run one call to its end, with what it sets off."""
        return self.loop.run(work)

    def replaced(self, memory_id: str, old: Known, new: Known) -> None:
        """The model of a replacement: protections and use stay, the link goes."""
        back = old.tier == "forgotten"
        tier = "hot" if back or new.payload != old.payload else old.tier
        restored_at = self.now if back else old.restored_at
        self.known[memory_id] = replace(
            new,
            tier=tier,
            pinned=old.pinned,
            held_until=old.held_until,
            recalls=old.recalls,
            restored_at=restored_at,
        )
        if tier != old.tier:
            self.moved_otherwise(memory_id)

    def chain_above(self, memory_id: str) -> set[str]:
        """The memories that following the supersession of one leads to."""
        seen: set[str] = set()
        following = self.known[memory_id].superseded_by
        while following is not None and following not in seen:
            seen.add(following)
            one = self.known.get(following)
            following = one.superseded_by if one else None
        return seen

    def fold(self) -> None:
        """The uses that waited are written, but for those of forgotten memories."""
        for one, count in self.pending.items():
            known = self.known[one]
            if known.tier != "forgotten":
                self.known[one] = replace(known, recalls=known.recalls + count)
        self.pending = {}

    def moved_otherwise(self, memory_id: str) -> None:
        """A memory that left its place since a run is no longer brought back by its undo."""
        for run in self.runs.values():
            run.touched_since.add(memory_id)

    def carried_out(self, report: SweepReport) -> None:
        """Take a sweep into the model, after a look at every promise it must keep."""
        moved: dict[str, tuple[str, str]] = {}
        for one in report.decisions:
            known = self.known[one.id]
            assert one.outcome == "moved"
            assert not known.pinned
            target = "cold" if one.action == "spill" else "forgotten"
            assert (known.tier, target) in (("hot", "cold"), ("hot", "forgotten"), ("cold", target))
            if target == "forgotten":
                assert (known.held_until or 0) <= self.now
                assert self.now - known.created_at >= DAY
                assert known.restored_at is None or self.now - known.restored_at >= 30 * DAY
                if known.superseded_by is None:
                    below = [
                        other
                        for other, it in self.known.items()
                        if it.tier != "forgotten" and one.id in self.chain_above(other)
                    ]
                    assert not below, "a head stays while an older version is here"
            moved[one.id] = (known.tier, target)
        for memory_id, (_, target) in moved.items():
            self.moved_otherwise(memory_id)
            self.known[memory_id] = replace(self.known[memory_id], tier=target)
        if report.run_id is not None:
            self.runs[report.run_id] = Run(moved)

    def check_tiers(self) -> None:
        """Nothing is lost, and every memory lies where the model says."""
        assert tiers(self.namespace) == {one: it.tier for one, it in self.known.items()}
        by_tier = [one.tier for one in self.known.values()]
        assert counted(self.namespace) == tuple(
            by_tier.count(tier) for tier in ("hot", "cold", "forgotten")
        )

    def check_whole(self) -> None:
        """Everything that is known, bit by bit."""
        self.namespace.fold_touches()
        self.fold()
        assert payloads(self.namespace) == {one: it.payload for one, it in self.known.items()}
        found = self.run(self.namespace.get_many(ids=list(self.known), include_embedding=False))
        for (memory_id, known), shown in zip(self.known.items(), found, strict=True):
            if known.tier == "forgotten":
                assert shown is None
                continue
            assert (shown.recall_count, shown.pinned, shown.superseded_by) == (
                known.recalls,
                known.pinned,
                known.superseded_by,
            ), memory_id
            assert (shown.held_until, shown.restored_at) == (known.held_until, known.restored_at)
            source = "estimated" if known.importance is None else "host"
            assert (shown.importance_source, shown.importance_base) == (
                source,
                estimate(known.content) if known.importance is None else known.importance,
            )
        live = [one for one, it in self.known.items() if it.tier != "forgotten"]
        assert sorted(self.run(listed(self.namespace))) == sorted(live)
        check_columns(self.namespace)
        state_hash(self.namespace)
