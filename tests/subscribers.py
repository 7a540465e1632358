"""Real namespaces behind a socket of this process, and subscribers that read byte by byte."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sidecar.daemon.socket import bind
from sidecar.limits import LIST_LIMIT_MAX
from sidecar.namespace import Namespace
from sidecar.reports import LoggedEvent
from sidecar.rpc.calls import Calls
from sidecar.rpc.context import Context
from sidecar.rpc.dispatch import Dispatcher
from sidecar.rpc.envelope import Envelope
from sidecar.rpc.event_stream import EventStreams
from sidecar.rpc.http import HttpServer
from sidecar.rpc.methods import METHODS
from tests.namespaces import World, a_world
from tests.wire import ANSWER_SECONDS_MAX, Peer, short_directory


class Frame(NamedTuple):
    """One frame of a stream, as it was sent."""

    id: str | None
    event: str | None
    data: Any


class Subscriber:
    """One GET /events, read to the frame."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._text = b""
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body: Any = None
        self.ended = False

    @classmethod
    async def connect(cls, path: Path, query: str = "", **headers: str) -> "Subscriber":
        """Ask for a stream; what the daemon answers is in `status` and, if refused, in `body`."""
        peer = await Peer.connect(path)
        peer.send(request(query, **headers))
        self = cls(peer)
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            head = (await peer.reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.split("\r\n")[:-2]
            self.status = int(first.split()[1])
            self.headers = {n.lower(): v for n, v in (line.split(": ", 1) for line in lines)}
            if length := int(self.headers.get("content-length", "0")):
                self.body = json.loads(await peer.reader.readexactly(length))
        return self

    async def frame(self) -> Frame | None:
        """The next frame that is no sign of life; None where the stream has ended in order."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            while True:
                while b"\n\n" not in self._text:
                    if not await self._more():
                        return None
                text, self._text = self._text.split(b"\n\n", 1)
                fields = dict(line.split(": ", 1) for line in text.decode().split("\n"))
                if "id" in fields:
                    data = json.loads(fields["data"]) if "data" in fields else None
                    return Frame(fields["id"], fields.get("event"), data)

    async def events(self, count: int) -> list[Any]:
        """The next events; the frame with the place alone is passed over."""
        found: list[Any] = []
        while len(found) < count:
            frame = await self.frame()
            assert frame is not None, f"the stream ended after {len(found)} of {count}"
            if frame.data is not None:
                found.append(frame.data)
        return found

    async def sign_of_life(self) -> bytes:
        """The next bytes, whatever they are."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            await self._more()
        found, self._text = self._text, b""
        return found

    async def close(self) -> None:
        """Leave."""
        await self._peer.close()

    async def _more(self) -> bool:
        size = int((await self._peer.reader.readline()).strip(), 16)
        self._text += await self._peer.reader.readexactly(size)
        await self._peer.reader.readexactly(2)
        self.ended = size == 0
        return not self.ended


def request(query: str = "", verb: str = "GET", **headers: str) -> bytes:
    """The head that asks for a stream."""
    named = {"Host": "x", **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"{verb} /events{query and '?' + query} HTTP/1.1\r\n{lines}\r\n".encode()


def deaf(path: Path, query: str) -> socket.socket:
    """A client that asks for a stream and never reads."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(path))
    connection.sendall(request(query))
    return connection


@dataclass
class Streaming:
    """The wire over the namespaces of a world."""

    path: Path
    world: World
    http: HttpServer
    streams: EventStreams
    ready: asyncio.Event
    _subscribers: list[Subscriber] = field(default_factory=list[Subscriber])

    async def subscribe(self, query: str = "", **headers: str) -> Subscriber:
        """A subscriber that leaves with the block at the latest."""
        self._subscribers.append(await Subscriber.connect(self.path, query, **headers))
        return self._subscribers[-1]

    async def leave(self) -> None:
        """Close every subscriber."""
        for subscriber in self._subscribers:
            await subscriber.close()

    def open_streams(self) -> int:
        """How many streams the daemon counts."""
        return len(self.streams._wakes)

    def buffered_bytes(self) -> list[int]:
        """What is held in memory for each connection because its client has not read it."""
        server: Any = self.http._server
        return [
            one.transport.get_write_buffer_size() for one in server.connections if one.transport
        ]


@asynccontextmanager
async def streaming(state_dir: Path) -> AsyncIterator[Streaming]:
    """A world, served on a socket."""
    async with a_world(state_dir) as world:
        calls = Calls(Context(world.registry, world.clock, lambda: None))
        ready = asyncio.Event()
        ready.set()
        streams = EventStreams(world.registry)
        http = HttpServer(Envelope(Dispatcher(METHODS, calls)), streams, ready)
        with short_directory() as folder:
            bound = bind(folder / "d.sock")
            await http.start(bound.socket)
            served = Streaming(bound.path, world, http, streams, ready)
            try:
                yield served
            finally:
                await served.leave()
                await http.stop_accepting()
                await http.close()
                bound.close()


async def logged(namespace: Namespace) -> list[LoggedEvent]:
    """Every event that is in the log, by events.list."""
    found: list[LoggedEvent] = []
    while True:
        since = found[-1].seq if found else 0
        page = await namespace.list_events(since=since, limit=LIST_LIMIT_MAX, kinds=None)
        found += page.events
        if len(page.events) < LIST_LIMIT_MAX:
            return found
