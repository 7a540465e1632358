"""One connection: who may have it, how long it may take, and JSON for every refusal."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec
from aiohttp import web

from sidecar import PROTOCOL_VERSION
from sidecar.errors import DeadlineExceeded, ForgetdError, InvalidRequest, Overloaded
from sidecar.limits import CONNECTIONS_MAX, HEADER_DEADLINE_SECONDS
from sidecar.rpc.dispatch import internal_error, reply_with_error

PROTOCOL_HEADER: Final = "forgetd-protocol"
HEADERS: Final = {PROTOCOL_HEADER: str(PROTOCOL_VERSION), "Server": "forgetd"}

_PHRASES: Final = {408: "Request Timeout", 503: "Service Unavailable"}


class Host(Protocol):
    """What a connection asks of its server."""

    def greet(self, transport: asyncio.BaseTransport) -> ForgetdError | None:
        """Why this peer is refused; None if it is welcome."""
        ...


class Server(web.Server):
    """Makes a `Connection` of every accepted socket."""

    def __init__(self, handler: Any, host: Host, **settings: Any) -> None:
        super().__init__(handler)
        self._host = host
        self._settings = settings

    def __call__(self) -> "Connection":
        return Connection(self, self._host, loop=asyncio.get_running_loop(), **self._settings)


class Connection(web.RequestHandler):
    """aiohttp's protocol with a deadline on headers and without its plain-text errors."""

    def __init__(self, server: Server, host: Host, **settings: Any) -> None:
        super().__init__(server, **settings)
        self._server = server
        self._host = host
        self._head_timer: asyncio.TimerHandle | None = None
        self._busy = False
        self._when_lost: Callable[[], object] | None = None
        self.refusal: ForgetdError | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet the peer; hang up on one that is too many."""
        super().connection_made(transport)
        self.refusal = self._host.greet(transport)
        if len(self._server.connections) > CONNECTIONS_MAX:
            error = Overloaded(
                "Too many connections are open",
                bound=f"{CONNECTIONS_MAX} connections",
                remedy="close connections, or keep one and send all calls on it",
            )
            self._hang_up(503, error)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the deadline, and tell a stream that its reader has left."""
        self._stop_timer()
        super().connection_lost(exc)
        if self._when_lost is not None:
            self._when_lost()

    def data_received(self, data: bytes) -> None:
        """Parse, and start the deadline where this is the beginning of a head."""
        if self._when_lost is not None:
            return  # nobody will ever answer what comes in beside a stream
        super().data_received(data)
        # Between two requests whatever arrives is the head of the next one, or a part of it.
        if not self._busy and self._head_timer is None and self.transport is not None:
            loop = asyncio.get_running_loop()
            self._head_timer = loop.call_later(HEADER_DEADLINE_SECONDS, self._head_is_late)

    def begin(self) -> None:
        """A request's head is complete and its handler runs."""
        self._busy = True
        self._stop_timer()

    def end(self) -> None:
        """The handler has its answer."""
        self._busy = False

    def begin_stream(self, when_lost: Callable[[], object]) -> None:
        """The answer goes on until one side ends it; `when_lost` hears that the peer has left."""
        self._when_lost = when_lost

    def abort(self) -> None:
        """End the connection at once; what the peer has not read is lost."""
        if self.transport is not None:
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what is not HTTP, and to a handler that failed. Closes the connection."""
        if status >= 500:
            error: ForgetdError = internal_error(exc or RuntimeError(message), "an HTTP request")
        else:
            error = InvalidRequest(
                detail="not a well-formed HTTP/1.1 request",
                bound="a request line and headers of at most 8190 bytes each",
                remedy="send POST /rpc by an HTTP library",
            )
        response = error_response(status, error)
        response.force_close()
        return response

    def _head_is_late(self) -> None:
        self._head_timer = None
        error = DeadlineExceeded(
            "The head of the request took too long",
            bound=f"{HEADER_DEADLINE_SECONDS:g} seconds",
            remedy="send the whole head at once",
        )
        self._hang_up(408, error)

    def _hang_up(self, status: int, error: ForgetdError) -> None:
        if self.transport is not None:
            self.transport.write(_raw_response(status, error))
        self.force_close()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def error_response(status: int, error: ForgetdError, **headers: str) -> web.Response:
    """An HTTP answer whose body is a JSON-RPC error without an id."""
    return web.Response(
        status=status,
        body=_error_body(error),
        content_type="application/json",
        headers={**HEADERS, **headers},
    )


def _raw_response(status: int, error: ForgetdError) -> bytes:
    body = _error_body(error)
    head = {
        **HEADERS,
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {status} {_PHRASES[status]}", *(f"{k}: {v}" for k, v in head.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _error_body(error: ForgetdError) -> bytes:
    return msgspec.json.encode(reply_with_error(error, None))
