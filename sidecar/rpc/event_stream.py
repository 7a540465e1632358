"""GET /events: the event log as Server-Sent Events, resumed exactly by sequence number.

Each event's `id` is its sequence number; `Last-Event-ID` (or `since`) goes on after it. The
first frame has only an `id`: the place where the stream begins. Where no way leads from the
place asked for (it was folded away, or is of another store) an event `reset` says so, and the
stream begins anew with the oldest event there is.
"""

import asyncio
import contextlib
from collections.abc import Generator, Iterable, Iterator
from typing import Final, NamedTuple

import msgspec
import structlog
from aiohttp import web

from sidecar.errors import InvalidParams, Overloaded, ShuttingDown
from sidecar.event_feed import Announcement
from sidecar.limits import (
    EVENT_HEARTBEAT_SECONDS,
    EVENT_READ_PAUSE_SECONDS,
    EVENT_READS_MAX,
    EVENT_STREAMS_MAX,
    EVENT_WRITE_BYTES_MAX,
    EVENT_WRITE_DEADLINE_SECONDS,
    EVENTS_PER_READ_MAX,
    INTEGER_MAX,
)
from sidecar.reports import EventPage, LoggedEvent, StreamReset
from sidecar.rpc.connection import HEADERS, Connection
from sidecar.rpc.ports import NamespacePort, RegistryPort
from sidecar.suggest import remedy_for

STREAM_HEADERS: Final = {
    **HEADERS,
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
}
RESUME_HEADER: Final = "Last-Event-ID"
RESET: Final = "reset"
_HEARTBEAT: Final = b": alive\n\n"
_PARAMETERS: Final = ("namespace", "since")

_log: Final = structlog.get_logger("sidecar.rpc")


class EventStreams:
    """Every open stream of the daemon."""

    def __init__(self, registry: RegistryPort) -> None:
        self._registry = registry
        self._stopping = False
        self._wakes: set[asyncio.Event] = set()
        self._reads = asyncio.Semaphore(EVENT_READS_MAX)

    def stop(self) -> None:
        """End every stream; clients resume by their last id."""
        self._stopping = True
        for wake in self._wakes:
            wake.set()

    async def serve(self, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        """Stream until the client leaves, falls behind, or the daemon stops.

        Raises InvalidParams, NamespaceNotFound, Overloaded, ShuttingDown, and what opening a
        namespace raises, all before the first byte.
        """
        name, place = _asked(request)
        with self._admitted() as wake:
            namespace = await self._registry.open(name, create=False)
            if request.method == "HEAD":
                return web.Response(headers=STREAM_HEADERS)
            with namespace.follow_events(wake):
                if place is None:
                    place = (await self._read(namespace, 0, 0)).latest
                response = web.StreamResponse(headers=STREAM_HEADERS)
                response.force_close()
                await response.prepare(request)
                connection.begin_stream(wake.set)
                try:
                    await self._follow(response, connection, namespace, place, wake)
                except ConnectionError:
                    pass  # it has left
                except Exception as error:
                    late = isinstance(error, TimeoutError)
                    why = "it does not read" if late else "the events cannot be read"
                    _log.warning("a subscriber was cut off", why=why, exc_info=not late)
                    connection.abort()
                return response

    @contextlib.contextmanager
    def _admitted(self) -> Generator[asyncio.Event]:
        if self._stopping:
            raise ShuttingDown(remedy="follow again when the daemon has started")
        if len(self._wakes) >= EVENT_STREAMS_MAX:
            raise Overloaded(
                "Too many event streams are open",
                bound=f"at most {EVENT_STREAMS_MAX} streams",
                remedy="close one, or read with events.list",
            )
        wake = asyncio.Event()
        self._wakes.add(wake)
        try:
            yield wake
        finally:
            self._wakes.discard(wake)

    async def _follow(
        self,
        response: web.StreamResponse,
        connection: Connection,
        namespace: NamespacePort,
        place: int,
        wake: asyncio.Event,
    ) -> None:
        """From event number `place` on: old events page by page, then new ones as they come."""
        await _write(response, b"id: %d\n\n" % place)
        heard = namespace.announced
        while not self._stopping and connection.transport is not None:
            wake.clear()
            news = _news(await self._read(namespace, place, EVENTS_PER_READ_MAX), place)
            for chunk in news.chunks:
                await _write(response, chunk)
            place = news.place
            for told in namespace.announced_after(heard):
                heard = told.number
                await _write(response, _unnumbered_frame(told))
            if news.chunks and news.newest:
                # Under a stream of writes: some events at a time, not each by itself.
                await asyncio.sleep(EVENT_READ_PAUSE_SECONDS)
            elif not news.chunks and not await _set_in_time(wake):
                await _write(response, _HEARTBEAT)

    async def _read(self, namespace: NamespacePort, since: int, limit: int) -> EventPage:
        async with self._reads:
            return await namespace.list_events(since=since, limit=limit, kinds=None)


class _News(NamedTuple):
    """What is sent next, where that leads, and whether there is nothing newer.

    Bytes, because the events themselves take several times as much memory, and a client may be
    long in taking them.
    """

    chunks: list[bytes]
    place: int
    newest: bool


def _news(page: EventPage, place: int) -> _News:
    """The frames after a place: of events, or of the reset where no way leads from there."""
    if not page.oldest - 1 <= place <= page.latest:
        told = msgspec.json.encode(StreamReset(oldest=page.oldest, latest=page.latest))
        return _News([_frame(page.oldest - 1, RESET, told)], page.oldest - 1, False)
    last = page.events[-1].seq if page.events else place
    return _News(list(_chunks(page.events)), last, last == page.latest)


async def _set_in_time(wake: asyncio.Event) -> bool:
    """Wait for news; False when nothing came for a while."""
    try:
        async with asyncio.timeout(EVENT_HEARTBEAT_SECONDS):
            return await wake.wait()
    except TimeoutError:
        return False


async def _write(response: web.StreamResponse, data: bytes) -> None:
    """Send. Nothing but its own stream waits for a client; TimeoutError when it does not read."""
    async with asyncio.timeout(EVENT_WRITE_DEADLINE_SECONDS):
        await response.write(data)


def _chunks(found: Iterable[LoggedEvent]) -> Iterator[bytes]:
    """The frames of events, some together."""
    chunk = bytearray()
    for event in found:
        frame = _frame(event.seq, event.kind, msgspec.json.encode(event))
        if chunk and len(chunk) + len(frame) > EVENT_WRITE_BYTES_MAX:
            yield bytes(chunk)
            chunk.clear()
        chunk += frame
    if chunk:
        yield bytes(chunk)


def _frame(seq: int, kind: str, data: bytes) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, kind.encode(), data)


def _unnumbered_frame(told: Announcement) -> bytes:
    """The frame of what no log keeps: without an id, so that a client's place stays where it is."""
    event = LoggedEvent(
        seq=0, at=told.at, run_id=None, kind=told.kind, memory_id=None, payload=dict(told.payload)
    )
    return b"event: %s\ndata: %s\n\n" % (told.kind.encode(), msgspec.json.encode(event))


def _asked(request: web.BaseRequest) -> tuple[str, int | None]:
    """The namespace, and the number to go on after (None: only what is new from now on)."""
    for name in request.query:
        if name not in _PARAMETERS or len(request.query.getall(name)) > 1:
            raise InvalidParams(
                "The address has a parameter too many",
                field=name[:64],
                bound="namespace and since, each once",
                remedy="send it once" if name in _PARAMETERS else remedy_for(name, _PARAMETERS),
            )
    # The header wins: clients that reconnect send the address as it was, too.
    text = request.headers.get(RESUME_HEADER) or request.query.get("since") or None
    number = text is not None and text.isascii() and text.isdigit() and len(text) <= 16
    if text is not None and not (number and int(text) <= INTEGER_MAX):
        raise InvalidParams(
            "since must be the sequence number of an event",
            field="since",
            bound=f"an integer from 0 to {INTEGER_MAX}",
            remedy="send the id of the last event you have, 0 for all, or nothing for new ones",
        )
    return request.query.get("namespace", "default"), None if text is None else int(text)
