"""Raw HTTP over a Unix socket, so that a test sees exactly what the daemon sends."""

import asyncio
import contextlib
import json
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sidecar.clock import Clock
from sidecar.daemon.socket import bind
from sidecar.rpc.calls import Calls
from sidecar.rpc.context import Context
from sidecar.rpc.dispatch import Dispatcher
from sidecar.rpc.envelope import Envelope
from sidecar.rpc.event_stream import EventStreams
from sidecar.rpc.http import HttpServer
from sidecar.rpc.method import Method
from sidecar.rpc.methods import METHODS
from tests.contract_judge import WATCH
from tests.fake_registry import FakeRegistry

ANSWER_SECONDS_MAX = 20.0


@dataclass
class Answer:
    """One HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The JSON-RPC error in the body."""
        return self.json["error"]


class Peer:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._posted: deque[bytes] = deque()

    @classmethod
    async def connect(cls, path: Path) -> "Peer":
        return cls(*await asyncio.open_unix_connection(str(path)))

    def send(self, raw: bytes) -> None:
        self.writer.write(raw)

    def post(self, body: bytes, **headers: str) -> None:
        """Send a request with this body and do not wait."""
        self._posted.append(body)
        named = {"Content-Type": "application/json", **_dashed(headers)}
        lines = [f"{name}: {value}" for name, value in named.items()]
        lines.append(f"Content-Length: {len(body)}")
        self.send(("POST /rpc HTTP/1.1\r\nHost: x\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
        self.send(body)

    def begin(self, method: str, params: Any = None) -> None:
        """Send one call and do not wait."""
        self.post(request_body(method, params))

    async def answer(self) -> Answer:
        """The next response on this connection."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.split("\r\n")[:-2]
            headers = {n.lower(): v for n, v in (line.split(": ", 1) for line in lines)}
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        if self._posted:
            WATCH.see(self._posted.popleft(), body)
        return Answer(int(first.split()[1]), headers, body)

    async def call(self, method: str, params: Any = None) -> Any:
        """The JSON-RPC reply of one call."""
        self.begin(method, params)
        return (await self.answer()).json

    async def at_end(self) -> bool:
        """Whether the daemon closes this connection without sending anything more."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            try:
                return await self.reader.read(1) == b""
            except ConnectionResetError:
                return True

    async def close(self) -> None:
        """Close this end. Twice is once."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


async def eventually(condition: Callable[[], bool]) -> None:
    """Return as soon as the condition holds; fail when it never does."""
    async with asyncio.timeout(ANSWER_SECONDS_MAX):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def request_body(method: str, params: Any = None, call_id: Any = 1) -> bytes:
    """One call as a body."""
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": call_id, "method": method}
    if params is not None:
        request["params"] = params
    return json.dumps(request, ensure_ascii=False).encode()


def _dashed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@contextmanager
def short_directory() -> Iterator[Path]:
    """A private directory whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="fgd-") as folder:
        yield Path(folder)


@dataclass
class Served:
    """A server of this process: where it listens and what is behind it."""

    path: Path
    registry: FakeRegistry
    calls: Calls
    ready: asyncio.Event
    http: HttpServer
    peers: list[Peer] = field(default_factory=list[Peer])

    async def connect(self) -> Peer:
        """A connection that ends with the server at the latest."""
        self.peers.append(await Peer.connect(self.path))
        return self.peers[-1]

    async def call(self, method: str, params: Any = None) -> Any:
        """The reply of one call on a connection of its own."""
        return (await self.post(request_body(method, params))).json

    async def post(self, body: bytes, **headers: str) -> Answer:
        peer = await self.connect()
        peer.post(body, **headers)
        answer = await peer.answer()
        await peer.close()
        return answer


@asynccontextmanager
async def served(methods: Mapping[str, Method] = METHODS) -> AsyncIterator[Served]:
    """The whole wire over namespaces in memory, on a socket in a directory of its own."""
    registry = FakeRegistry(clock=Clock(injectable=True))
    calls = Calls(Context(registry, registry.clock, lambda: None))
    ready = asyncio.Event()
    ready.set()
    http = HttpServer(Envelope(Dispatcher(methods, calls)), EventStreams(registry), ready)
    with short_directory() as folder:
        bound = bind(folder / "d.sock")
        await http.start(bound.socket)
        try:
            daemon = Served(bound.path, registry, calls, ready, http)
            yield daemon
            for peer in daemon.peers:
                await peer.close()
        finally:
            for space in registry.spaces.values():
                space.let_slow_ones_go.set()
                space.closing.set()
            await http.stop_accepting()
            await http.close()
            bound.close()
