"""Namespaces in memory, for tests of the wire and the daemon that need no store."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET

from sidecar.absent import no_sweep, no_thresholds
from sidecar.clock import Clock
from sidecar.config import Config
from sidecar.errors import (
    ForgetdError,
    InvalidParams,
    MemoryExists,
    MemoryNotFound,
    NamespaceNotFound,
)
from sidecar.idempotency import Key
from sidecar.imports import Refused
from sidecar.model import Memory, MemoryInput
from sidecar.reports import (
    MemoryList,
    NamespaceListing,
    NamespaceStatus,
    OpenReport,
    PutManyItem,
    PutManyReport,
    ThresholdsReport,
    TierCounts,
)
from sidecar.review_reports import ReviewCounts
from sidecar.thresholds import DEFAULTS, Value

SLOW_ID = "slow"
BROKEN_ID = "broken"
SECRET = "a path, SQL or content that must not be told"


class FakeNamespace:
    """Put, get and list; a get of `SLOW_ID` waits, one of `BROKEN_ID` fails without manners."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self.memories: dict[str, Memory] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.let_slow_ones_go = asyncio.Event()
        self.sweep_started = asyncio.Event()
        self.closing = asyncio.Event()
        self.result_of: dict[str, Any] = {}
        self.broken: ForgetdError | None = None
        self._clock = clock

    async def reply_of(self, key: Key) -> bytes | None:
        return None

    async def put(self, *, memory: MemoryInput, if_exists: str, revive: bool = False) -> Memory:
        self.calls.append(("put", {"memory": memory, "if_exists": if_exists}))
        if memory.content is UNSET or not memory.content.strip():
            raise InvalidParams("blank", field="$.content", bound="not blank", remedy="say it")
        identifier = memory.id if memory.id is not UNSET else f"id-{len(self.memories)}"
        if identifier in self.memories and if_exists == "error":
            raise MemoryExists(field="$.id", remedy="choose ifExists")
        stored = make_memory(identifier, memory.content, self._clock.now_ms())
        self.memories[identifier] = stored
        return stored

    async def put_many(
        self,
        *,
        memories: Sequence[MemoryInput | Refused],
        if_exists: str,
        partial: bool,
        revive: bool = False,
    ) -> PutManyReport:
        items: list[PutManyItem] = []
        for index, memory in enumerate(memories):
            try:
                if isinstance(memory, Refused):
                    raise memory.error
                stored = await self.put(memory=memory, if_exists=if_exists)
                items.append(PutManyItem(id=stored.id, result="created"))
            except InvalidParams as error:
                if not partial:
                    raise
                field = f"$.memories[{index}].content"
                told = {"code": error.code, "message": f"{field}: blank", "data": {"field": field}}
                given = None
                if isinstance(memory, Refused):
                    told = {"code": error.code, "message": error.message, "data": error.data}
                    given = memory.id
                items.append(PutManyItem(id=given, result="failed", error=told))
        done = sum(item.result == "created" for item in items)
        return PutManyReport(
            results=items, created=done, replaced=0, skipped=0, failed=len(items) - done
        )

    async def get(self, *, id: str, include_embedding: bool) -> Memory | None:
        if id == SLOW_ID:
            await self.let_slow_ones_go.wait()
        if id == BROKEN_ID:
            raise RuntimeError(SECRET)
        return self.memories.get(id)

    async def get_many(self, *, ids: list[str], include_embedding: bool) -> list[Memory | None]:
        return [self.memories.get(one) for one in ids]

    async def update(self, *, id: str, patch: MemoryInput, if_revision: int | None) -> Memory:
        if id not in self.memories:
            raise MemoryNotFound(field="$.id")
        return self.memories[id]

    async def list(self, **_: Any) -> MemoryList:
        return MemoryList(memories=[*self.memories.values()], cursor=None)

    async def sweep(self, **given: Any) -> Any:
        """Runs until the registry closes, as a long run that stops between transactions."""
        self.calls.append(("sweep", given))
        if "sweep" in self.result_of:
            return self.result_of["sweep"]
        self.sweep_started.set()
        await self.closing.wait()
        report = no_sweep(self.name, now=self._clock.now_ms())
        report.space_note = "stopped between transactions"
        return report

    async def set_thresholds(self, values: Mapping[str, Value | None]) -> ThresholdsReport:
        self.calls.append(("set_thresholds", dict(values)))
        return self._thresholds()

    async def thresholds_report(self) -> ThresholdsReport:
        return self._thresholds()

    async def apply_open_options(
        self, *, thresholds: Mapping[str, Value | None], created: bool
    ) -> OpenReport:
        await asyncio.sleep(0)
        return OpenReport(
            namespace=self.name, created=created, thresholds=DEFAULTS, thresholds_differ={}
        )

    async def status(self) -> NamespaceStatus:
        if self.broken is not None:
            raise self.broken
        count = len(self.memories)
        return NamespaceStatus(
            namespace=self.name,
            counts=TierCounts(
                hot=count, cold=0, forgotten=0, total=count, live_bytes=0, overhead_bytes=0
            ),
            thresholds=self._thresholds(),
            read_only=None,
            unscored=0,
            corrupt=0,
            unknown_segments=[],
            running=None,
            last_run=None,
            alarms=[],
            review=ReviewCounts(regret=0, guarded=0, broken_chain=0, unscored=0),
        )

    def _thresholds(self) -> ThresholdsReport:
        return no_thresholds(self.name)


class FakeRegistry:
    """Every namespace asked for by a write; `recovered` may be held back."""

    def __init__(
        self,
        state_dir: Path | None = None,
        clock: Clock | None = None,
        config: Config | None = None,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        self.clock = clock or Clock()
        self.config = config
        self.configs: list[Config] = []
        self.spaces: dict[str, FakeNamespace] = {}
        self.may_recover = asyncio.Event()
        self.may_recover.set()
        self.closed = False
        self.busy = False

    async def recover(self) -> None:
        await self.may_recover.wait()

    async def open(self, name: str, create: bool) -> FakeNamespace:
        await asyncio.sleep(0)
        if not name or ".." in name or "/" in name:
            raise InvalidParams(
                "not a name", field="$.namespace", bound="a plain name", remedy="choose another"
            )
        if name not in self.spaces:
            if not create:
                raise NamespaceNotFound(field="$.namespace")
            self.spaces[name] = FakeNamespace(name, self.clock)
        return self.spaces[name]

    def names(self) -> list[NamespaceListing]:
        return [
            NamespaceListing(
                namespace=name, open=True, hot=len(space.memories), cold=0, forgotten=0
            )
            for name, space in self.spaces.items()
        ]

    async def reconfigure(self, config: Config) -> None:
        self.configs.append(config)

    async def close_all(self) -> None:
        self.closed = True
        for space in self.spaces.values():
            space.closing.set()


def make_memory(identifier: str, content: str, now: int) -> Memory:
    """A memory as a namespace would answer it."""
    return Memory(
        id=identifier,
        memory_type="semantic",
        content=content,
        importance=0.5,
        importance_base=0.5,
        importance_source="estimated",
        fade_factor=1.0,
        created_at=now,
        updated_at=now,
        last_recalled_at=None,
        valid_from=None,
        expires_at=None,
        held_until=None,
        recall_count=0,
        use_count=0,
        regret_count=0,
        success_count=0,
        failure_count=0,
        usefulness_score=0.0,
        last_useful_at=None,
        superseded_by=None,
        supersedes=[],
        pinned=False,
        evergreen=False,
        media_ref=None,
        embedding_model=None,
        embedding_dimensions=None,
        metadata={},
        extra={},
        status="active",
        status_reason=None,
        status_at=None,
        tier="hot",
        revision=1,
        strength=0.5,
        forgotten_at=None,
        restored_at=None,
        bytes=len(content),
    )
