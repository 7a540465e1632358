"""Calls by name and with a key, over real namespaces of this process."""

from typing import Any

import msgspec

from sidecar.clock import Clock
from sidecar.registry import Registry
from sidecar.rpc.calls import Calls
from sidecar.rpc.context import Context
from sidecar.rpc.methods import METHODS


class Wire:
    """What is behind the socket: parameters as a client sends them, replies as they are sent."""

    def __init__(self, registry: Registry, clock: Clock | None = None) -> None:
        self.calls = Calls(Context(registry, clock or Clock(), lambda: None))

    async def raw(self, method: str, **params: Any) -> bytes:
        """The encoded result. Raises what the wire would tell as an error."""
        return bytes(await self.calls.run(METHODS[method], params))

    async def call(self, method: str, **params: Any) -> Any:
        """The result."""
        return msgspec.json.decode(await self.raw(method, **params))
