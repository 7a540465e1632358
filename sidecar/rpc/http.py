"""HTTP on the Unix socket: POST /rpc, GET /events, /healthz, /readyz; JSON errors for the rest."""

import asyncio
import socket
import time
from typing import Final, cast

from aiohttp import web

from sidecar.errors import (
    DeadlineExceeded,
    ForgetdError,
    InvalidParams,
    InvalidRequest,
    NamespaceConflict,
    NamespaceNotFound,
    Overloaded,
    PermissionDenied,
    TooLarge,
)
from sidecar.limits import (
    BODY_BYTES_MAX,
    BODY_DEADLINE_SECONDS,
    CALL_DEADLINE_SECONDS,
    CONNECTIONS_MAX,
    KEEP_ALIVE_SECONDS,
)
from sidecar.rpc.connection import HEADERS, Connection, Server, error_response
from sidecar.rpc.dispatch import internal_error
from sidecar.rpc.envelope import Envelope
from sidecar.rpc.event_stream import EventStreams
from sidecar.rpc.peer import peer_uid, refusal

# How long a body that was refused is still read, so that its sender comes to read the answer.
LINGER_SECONDS: Final = 2.0
READ_BUFFER_BYTES: Final = 1_048_576
CLOSE_SECONDS: Final = 2.0

# What clients say of a JSON body; curl -d says it is a form.
_JSON_TYPES: Final = ("application/json", "text/json", "text/plain", "application/octet-stream")
_FORM_TYPE: Final = "application/x-www-form-urlencoded"
_PATHS: Final = {"/rpc": "POST", "/events": "GET", "/healthz": "GET", "/readyz": "GET"}


class HttpServer:
    """Serves calls and streams on a bound socket. `ready` is set when they may be carried out."""

    def __init__(self, envelope: Envelope, streams: EventStreams, ready: asyncio.Event) -> None:
        self._envelope = envelope
        self._streams = streams
        self._ready = ready
        self._stopping = False
        self._server: Server | None = None
        self._runner: web.ServerRunner | None = None
        self._site: web.SockSite | None = None
        self._active_at = time.monotonic()

    async def start(self, bound: socket.socket) -> None:
        """Accept connections on a socket that listens already."""
        self._server = Server(
            self._handle,
            self,
            keepalive_timeout=KEEP_ALIVE_SECONDS,
            lingering_time=LINGER_SECONDS,
            read_bufsize=READ_BUFFER_BYTES,
            access_log=None,
            tcp_keepalive=False,
        )
        self._runner = web.ServerRunner(self._server, shutdown_timeout=CLOSE_SECONDS)
        await self._runner.setup()
        # Without a backlog of its own, listening once more would shorten the socket's queue.
        self._site = web.SockSite(self._runner, bound, backlog=CONNECTIONS_MAX)
        await self._site.start()

    async def stop_accepting(self) -> None:
        """Take no new connections and end the streams; other connections stay, /readyz says no."""
        self._stopping = True
        self._streams.stop()
        if self._site is not None:
            await self._site.stop()
            self._site = None

    async def close(self) -> None:
        """Close all connections, after what is being answered on them."""
        if self._runner is not None:
            await self._runner.cleanup()

    def idle_seconds(self) -> float:
        """For how long nobody has been connected; 0 while somebody is."""
        if self._server is not None and self._server.connections:
            self._active_at = time.monotonic()
        return time.monotonic() - self._active_at

    def greet(self, transport: asyncio.BaseTransport) -> ForgetdError | None:
        """Why the process at the other end may not call; None if it may."""
        self._active_at = time.monotonic()
        try:
            return refusal(peer_uid(transport.get_extra_info("socket")))
        except OSError:
            return PermissionDenied(
                "The system does not tell who is calling", remedy="connect to the Unix socket"
            )

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = cast(Connection, request.protocol)
        connection.begin()
        try:
            return await self._route(request, connection)
        except TimeoutError:
            error = DeadlineExceeded(
                "The body of the request took too long",
                bound=f"{BODY_DEADLINE_SECONDS:g} seconds",
                remedy="send the whole body, of the length that its head names",
            )
            return _last_response(408, error)
        except TooLarge as error:
            return _last_response(413, error)
        except web.RequestPayloadError:
            error = InvalidRequest(
                detail="the body is not encoded as its head says",
                remedy="send the body as it is, with its Content-Length",
            )
            return _last_response(400, error)
        except ConnectionError:
            # The peer left while it was sending: no fault of ours, and nobody hears the answer.
            return _last_response(400, InvalidRequest(detail="the connection ended too early"))
        except Exception as cause:
            return _last_response(500, internal_error(cause, "an HTTP request"))
        finally:
            connection.end()

    async def _route(self, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        if connection.refusal is not None:
            return _last_response(403, connection.refusal)
        if "Origin" in request.headers:
            error = PermissionDenied(
                "Web pages may not call this daemon",
                bound="requests without an Origin header",
                remedy="call from a program of your own",
            )
            return _last_response(403, error)
        verb = _PATHS.get(request.path)
        if verb is None:
            error = InvalidRequest(detail="nothing is here", remedy="call POST /rpc")
            return error_response(404, error)
        if request.method != verb and not (request.method == "HEAD" and verb == "GET"):
            error = InvalidRequest(detail="another HTTP method is needed", bound=verb)
            return error_response(405, error, Allow=verb)
        if request.path == "/healthz":
            return _text(200, "ok")
        if request.path == "/readyz":
            return self._readiness()
        if request.path == "/events":
            return await self._events(request, connection)
        return await self._rpc(request)

    def _readiness(self) -> web.Response:
        if self._stopping:
            return _text(503, "stopping")
        return _text(200, "ready") if self._ready.is_set() else _text(503, "recovering")

    async def _rpc(self, request: web.BaseRequest) -> web.Response:
        if not _may_be_json(request):
            error = InvalidRequest(
                detail="the body is said not to be JSON in UTF-8",
                bound="content-type: application/json",
                remedy="send this header",
            )
            return _last_response(415, error)
        body = await _read_body(request)
        try:
            await self._recovered()
        except Overloaded as error:
            return error_response(503, error)
        reply = await self._envelope.answer(body)
        if reply is None:
            return web.Response(status=204, headers=HEADERS)
        return web.Response(body=reply, content_type="application/json", headers=HEADERS)

    async def _events(self, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        try:
            await self._recovered()
            return await self._streams.serve(request, connection)
        except (InvalidParams, NamespaceConflict) as error:
            return error_response(400, error)
        except NamespaceNotFound as error:
            return error_response(404, error)
        except ForgetdError as error:
            return error_response(503, error)

    async def _recovered(self) -> None:
        """Wait until calls may be carried out. Raises Overloaded where that takes too long."""
        try:
            async with asyncio.timeout(CALL_DEADLINE_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            raise Overloaded(
                "The daemon is still recovering", remedy="wait until /readyz answers 200"
            ) from None


async def _read_body(request: web.BaseRequest) -> bytes:
    """The whole body. Raises TooLarge as soon as that is known, TimeoutError after the deadline."""
    if (request.content_length or 0) > BODY_BYTES_MAX:
        raise _too_large()
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    chunks: list[bytes] = []
    size_bytes = 0
    async with asyncio.timeout(BODY_DEADLINE_SECONDS):
        while chunk := await request.content.readany():
            size_bytes += len(chunk)
            if size_bytes > BODY_BYTES_MAX:
                raise _too_large()
            chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large() -> TooLarge:
    return TooLarge(
        bound=f"{BODY_BYTES_MAX} bytes",
        remedy="send fewer memories a call; embeddings as base64 take a quarter of the room",
    )


def _may_be_json(request: web.BaseRequest) -> bool:
    named = request.headers.get("Content-Type")
    if named is None:
        return True
    if (request.charset or "utf-8").lower() not in ("utf-8", "utf8", "us-ascii"):
        return False
    kind = request.content_type.lower()
    return kind in (*_JSON_TYPES, _FORM_TYPE) or kind.endswith("+json")


def _last_response(status: int, error: ForgetdError) -> web.Response:
    """An error after which the connection is closed: the rest of the request is not wanted."""
    response = error_response(status, error)
    response.force_close()
    return response


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, headers=HEADERS)
