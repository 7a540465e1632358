"""A small client of a running daemon, for the command and for Python hosts.

Synchronous, standard library only, one connection a call: a call costs well under a
millisecond more than on a kept connection, and no call can meet one that the daemon has closed.

    from sidecar.client import Client

    client = Client()                                   # $FORGETD_SOCKET or the usual place
    client.call("memory.put", {"content": "Tofu is a grey cat"})
    plan = client.call("forgetSweep", {"dryRun": True})
"""

import errno
import http.client
import json
import os
import socket
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Never, cast

from sidecar import PROTOCOL_VERSION
from sidecar.limits import RUN_DEADLINE_SECONDS, SOCKET_PATH_BYTES_MAX
from sidecar.locations import socket_path

PROTOCOL_HEADER: Final = "forgetd-protocol"

# The daemon answers within its own deadline, also when that answer is "deadline exceeded".
TIMEOUT_SECONDS: Final = RUN_DEADLINE_SECONDS + 30.0
POLL_SECONDS: Final = 0.02

Params = Mapping[str, Any] | Sequence[Any]


class RpcFailure(Exception):
    """The daemon answered with an error: its wire code, symbol, message and data."""

    def __init__(self, code: int, symbol: str, message: str, data: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.symbol = symbol
        self.message = message
        self.data = dict(data)

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.data.get("retryable") is True


class Unreachable(Exception):
    """No daemon answered. `remedy` is the probable fix.

    `reason` is one of `no_socket`, `refused`, `permission`, `path_too_long`, `not_forgetd`,
    `timeout`, `broken`. After `timeout` and `broken` the call may have been carried out.
    """

    def __init__(self, reason: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.remedy = remedy


class Client:
    """Calls methods of the daemon that listens on `socket`.

    `socket` defaults to `$FORGETD_SOCKET`, then to the usual places (`sidecar.locations`).
    `timeout_seconds` bounds each wait for the daemon to send something.
    """

    def __init__(
        self, socket: str | os.PathLike[str] | None = None, *, timeout_seconds: float | None = None
    ) -> None:
        self.socket: Path = socket_path(socket)
        self.timeout_seconds = TIMEOUT_SECONDS if timeout_seconds is None else timeout_seconds

    def call(self, method: str, params: Params | None = None) -> Any:
        """The result of one method.

        Raises RpcFailure when the daemon answers with an error, and when the parameters cannot
        be sent as JSON (nothing is sent then). Raises Unreachable when no answer came.
        """
        status, headers, body = self._exchange("POST", "/rpc", _encode(method, params))
        return self._result_of(status, headers, body)

    @contextmanager
    def stream(
        self, path: str, headers: Mapping[str, str], *, timeout_seconds: float
    ) -> Generator[http.client.HTTPResponse]:
        """A GET whose answer is read, within the `with` block, as it comes.

        `timeout_seconds` bounds each wait for more of it. Raises RpcFailure when the daemon
        answers with an error, Unreachable when it does not answer, also later within the block.
        """
        connection = self._connected(timeout_seconds)
        try:
            connection.request("GET", path, headers=dict(headers))
            with connection.getresponse() as response:
                if response.status != 200:
                    self._result_of(response.status, response.headers, response.read())
                self._check_protocol(response.headers)
                yield response
        except TimeoutError:
            raise Unreachable(
                "timeout",
                f"the daemon sent nothing for {timeout_seconds:g} seconds",
                "see that it runs with `forgetd status`",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(
                "broken",
                f"the connection to the daemon ended ({_cause(error)})",
                "see that it runs with `forgetd status`",
            ) from None
        finally:
            connection.close()

    def is_ready(self) -> bool:
        """Whether the daemon has recovered and serves calls. Raises Unreachable."""
        status, _, _ = self._exchange("GET", "/readyz", None)
        if status not in (200, 503):
            self._not_forgetd(f"answered /readyz with status {status}")
        return status == 200

    def wait_until_ready(self, deadline_seconds: float) -> None:
        """Return as soon as the daemon serves calls; raise Unreachable when it never does."""
        give_up_at = time.monotonic() + deadline_seconds
        while True:
            try:
                if self.is_ready():
                    return
            except Unreachable as unreachable:
                if unreachable.reason in ("path_too_long", "permission", "not_forgetd"):
                    raise
                if time.monotonic() >= give_up_at:
                    raise
            if time.monotonic() >= give_up_at:
                raise Unreachable(
                    "timeout",
                    f"the daemon is not ready after {deadline_seconds:g} seconds",
                    "look at its log; a large store takes longer to recover",
                )
            time.sleep(POLL_SECONDS)

    def _exchange(
        self, verb: str, path: str, body: bytes | None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = self._connected(self.timeout_seconds)
        headers = {"content-type": "application/json", "connection": "close"}
        try:
            _send(connection, verb, path, body, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        except TimeoutError:
            raise Unreachable(
                "timeout",
                f"the daemon did not answer within {self.timeout_seconds:g} seconds",
                "the call may have been carried out: look with `forgetd status` and `forgetd runs`",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(
                "broken",
                f"the connection to the daemon ended before an answer came ({_cause(error)})",
                "the call may have been carried out: see that the daemon runs, then look",
            ) from None
        finally:
            connection.close()

    def _connected(self, timeout_seconds: float) -> "_UnixConnection":
        connection = _UnixConnection(self.socket, timeout_seconds)
        try:
            connection.connect()
        except OSError as error:
            self._cannot_connect(error)
        return connection

    def _result_of(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> Any:
        self._check_protocol(headers)
        try:
            reply: Any = json.loads(body)
        except ValueError:
            reply = None
        if not isinstance(reply, dict) or not ("result" in reply or "error" in reply):
            self._not_forgetd(f"answered with status {status} and no JSON-RPC reply")
        answer = cast(dict[str, Any], reply)
        if "error" in answer:
            raise _failure_of(answer["error"])
        return answer["result"]

    def _cannot_connect(self, error: OSError) -> Never:
        where = f"{self.socket}"
        length = len(os.fsencode(self.socket))
        if length > SOCKET_PATH_BYTES_MAX:
            raise Unreachable(
                "path_too_long",
                f"the socket path has {length} bytes, the system allows "
                f"{SOCKET_PATH_BYTES_MAX}: {where}",
                "name a shorter path by --socket or FORGETD_SOCKET, for the daemon too",
            ) from None
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise Unreachable(
                "no_socket",
                f"no daemon listens at {where}",
                "start one with `forgetd serve`, or name its socket by --socket or FORGETD_SOCKET",
            ) from None
        if isinstance(error, PermissionError):
            raise Unreachable(
                "permission",
                f"this user may not use the socket {where}",
                "run the command as the user that runs the daemon",
            ) from None
        if isinstance(error, ConnectionRefusedError):
            raise Unreachable(
                "refused",
                f"the socket {where} is there, but no daemon listens on it",
                "start the daemon with `forgetd serve`; it replaces a socket left behind",
            ) from None
        if error.errno in (errno.EAGAIN, errno.ETIMEDOUT) or isinstance(error, TimeoutError):
            raise Unreachable(
                "timeout", f"the daemon at {where} accepts no connection", "try again in a while"
            ) from None
        raise Unreachable(
            "no_socket", f"cannot connect to {where} ({_cause(error)})", "check the socket path"
        ) from None

    def _check_protocol(self, headers: http.client.HTTPMessage) -> None:
        spoken = headers.get(PROTOCOL_HEADER)
        if spoken is None:
            self._not_forgetd("does not name its protocol")
        if spoken != str(PROTOCOL_VERSION):
            raise Unreachable(
                "not_forgetd",
                f"the daemon speaks protocol {spoken}, this client {PROTOCOL_VERSION}",
                "use the client of the daemon's release, or restart the daemon with this one",
            )

    def _not_forgetd(self, what: str) -> Never:
        raise Unreachable(
            "not_forgetd",
            f"what listens at {self.socket} {what}",
            "name forgetd's own socket by --socket or FORGETD_SOCKET",
        )


class _UnixConnection(http.client.HTTPConnection):
    """An HTTP connection over a Unix socket."""

    def __init__(self, path: Path, timeout_seconds: float) -> None:
        super().__init__("localhost", timeout=timeout_seconds)
        self._path = path
        self._seconds = timeout_seconds

    def connect(self) -> None:
        unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            unix.settimeout(self._seconds)
            unix.connect(os.fsencode(self._path))
        except BaseException:
            unix.close()
            raise
        self.sock = unix


def _send(
    connection: http.client.HTTPConnection,
    verb: str,
    path: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> None:
    try:
        connection.request(verb, path, body=body, headers=headers)
    except (BrokenPipeError, ConnectionResetError):
        # A body that is too large is answered while it is being sent: the answer says so.
        if body is None:
            raise


def _encode(method: str, params: Params | None) -> bytes:
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        request["params"] = params
    try:
        text = json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except UnicodeEncodeError:
        problem, remedy = "text that is not Unicode (a lone surrogate)", "send well-formed text"
    except (ValueError, RecursionError):
        problem, remedy = "NaN, Infinity or a circular object", "send plain JSON values"
    except TypeError as error:
        problem, remedy = f"a value JSON does not know: {error}", "send plain JSON values"
    raise RpcFailure(
        -32602,
        "invalid_params",
        f"the parameters of {method} hold {problem}",
        {"symbol": "invalid_params", "retryable": False, "remedy": remedy},
    )


def _failure_of(error: Any) -> RpcFailure:
    fields: dict[str, Any] = cast(dict[str, Any], error) if isinstance(error, dict) else {}
    data: Any = fields.get("data")
    details = cast(dict[str, Any], data) if isinstance(data, dict) else {}
    code: Any = fields.get("code")
    return RpcFailure(
        code if isinstance(code, int) else -32603,
        str(details.get("symbol", "internal_error")),
        str(fields.get("message", "the daemon answered with an error of unknown form")),
        details,
    )


def _cause(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) else str(error)
    return text or type(error).__name__
