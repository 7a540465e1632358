"""A stand-in for the daemon: HTTP over a Unix socket, with answers that a test chooses."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

Answer = Any | Callable[[Any], Any]


class Refusal(Exception):
    """Raised by an answer: becomes the error object of the reply."""

    def __init__(self, code: int, symbol: str, message: str, **data: Any) -> None:
        self.error = {"code": code, "message": message, "data": {"symbol": symbol, **data}}


@dataclass
class FakeDaemon:
    """What it was asked, and what it answers: by method a value or a function of the params."""

    socket: Path
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    calls: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    headers: dict[str, str] = field(default_factory=lambda: {"forgetd-protocol": "1"})
    ready: bool = True
    raw_reply: bytes | None = None
    drops_connections: bool = False
    hangs_until: threading.Event | None = None

    def reply_to(self, body: bytes) -> bytes:
        """The reply of one call, which is noted down."""
        request = json.loads(body)
        method, params = request["method"], request.get("params")
        self.calls.append((method, params))
        if self.hangs_until:
            self.hangs_until.wait(30)
        if self.raw_reply is not None:
            return self.raw_reply
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            if method not in self.answers:
                raise Refusal(-32601, "method_not_found", f"no method {method}")
            answer = self.answers[method]
            reply["result"] = answer(params) if callable(answer) else answer
        except Refusal as refusal:
            reply["error"] = refusal.error
        return json.dumps(reply, ensure_ascii=False).encode()

    def params_of(self, method: str) -> Any:
        """The parameters of the only call of this method."""
        (params,) = [params for name, params in self.calls if name == method]
        return params


@contextmanager
def running(socket: Path) -> Iterator[FakeDaemon]:
    """A fake daemon that listens on `socket` while the block runs."""
    daemon = FakeDaemon(socket)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200 if daemon.ready else 503, b"ok")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if daemon.drops_connections:
                daemon.calls.append(("dropped", None))
                return
            self._send(200, daemon.reply_to(body))

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            for name, value in daemon.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Silent: the test's output is not the place."""

    class Server(ThreadingMixIn, UnixStreamServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Silent: some tests hang up on purpose."""

    with Server(str(socket), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield daemon
        finally:
            server.shutdown()
            thread.join()
