"""What handlers reach besides their parameters."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sidecar.clock import Clock
from sidecar.errors import MemoryNotFound, NamespaceNotFound
from sidecar.gc_tokens import GcTokens
from sidecar.model import MemoryInput
from sidecar.rpc.ports import NamespacePort, RegistryPort
from sidecar.validation import check


@dataclass(slots=True)
class Context:
    """The daemon as the handlers see it. `stop` begins the drain and returns at once."""

    registry: RegistryPort
    clock: Clock
    stop: Callable[[], None]
    started_at: float = field(default_factory=time.monotonic)
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    tokens: GcTokens = field(default_factory=GcTokens)

    async def writable(self, namespace: str) -> NamespacePort:
        """The namespace, made if it does not exist."""
        return await self.registry.open(namespace, create=True)

    async def existing(self, namespace: str) -> NamespacePort | None:
        """The namespace, or None: reading never makes one."""
        try:
            return await self.registry.open(namespace, create=False)
        except NamespaceNotFound:
            return None

    async def with_memory(self, namespace: str) -> NamespacePort:
        """The namespace in which a memory is looked for. Raises MemoryNotFound without it."""
        existing = await self.existing(namespace)
        if existing is None:
            raise MemoryNotFound(
                field="$.id", remedy="look at the ids by memory.list, and at the namespace's name"
            )
        return existing

    async def writable_with(
        self, namespace: str, memories: Sequence[MemoryInput], path: Callable[[int], str]
    ) -> NamespacePort:
        """The namespace that these memories go into, made only if all of them are valid.

        `path` is the JSON path of a memory by its position. Raises InvalidParams.
        """
        existing = await self.existing(namespace)
        if existing is None:
            now = self.clock.now_ms()
            for position, memory in enumerate(memories):
                check(memory, now, path(position))
        return existing or await self.writable(namespace)
