"""The one place that knows jsonrpcserver: it carries one well-formed call to its method.

Its JSON and its schema layers are off: what comes in is decoded and checked, and what goes out
is encoded already. Nothing a method raises gets past here.
"""

import inspect
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

import structlog
from jsonrpcserver import Error, Success, async_dispatch

from sidecar.errors import ForgetdError, InternalError, MethodNotFound, PermissionDenied
from sidecar.rpc.calls import Calls
from sidecar.rpc.method import Method
from sidecar.suggest import remedy_for

Call = dict[str, Any]
Reply = dict[str, Any]

_log: Final = structlog.get_logger("sidecar.rpc")


def _any(*by_position: object, **by_name: object) -> None: ...


_ANY_PARAMETERS: Final = inspect.signature(_any)


class Dispatcher:
    """Calls methods by name. A reply holds its result as encoded JSON (`msgspec.Raw`)."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        calls: Calls,
        serves_admin: Callable[[], bool] = lambda: False,
        *,
        is_admin: bool = False,
    ) -> None:
        """`is_admin`: this is the admin socket.

        `serves_admin` says whether its methods may be called here all the same.
        """
        self._names = tuple(methods)
        self._table = {
            name: _adapter(method, calls, serves_admin, is_admin=is_admin)
            for name, method in methods.items()
        }

    async def dispatch(self, call: Call) -> Reply | None:
        """The reply to a call that is a valid Request object; None for a notification."""
        name = call["method"]
        if name not in self._table:
            error = MethodNotFound(remedy=remedy_for(name, self._names))
            return reply_with_error(error, call["id"]) if "id" in call else None
        reply = await async_dispatch(
            cast(Any, call),
            methods=self._table,
            deserializer=_unchanged,
            validator=_unchanged,
            serializer=_unchanged,
        )
        return cast(Reply, reply) if reply else None


def reply_with_error(error: ForgetdError, call_id: object) -> Reply:
    """The reply object of an error."""
    told = {"code": error.code, "message": error.message, "data": error.to_wire_data()}
    return {"jsonrpc": "2.0", "error": told, "id": call_id}


def internal_error(cause: BaseException, doing: str) -> InternalError:
    """Log `cause` under a new correlation id, and the error that says only that id."""
    correlation_id = secrets.token_hex(8)
    _log.error("internal error", correlationId=correlation_id, doing=doing, exc_info=cause)
    return InternalError(correlationId=correlation_id)


def _adapter(
    method: Method, calls: Calls, serves_admin: Callable[[], bool], *, is_admin: bool
) -> Callable[..., Awaitable[Any]]:
    async def call(*by_position: object, **by_name: object) -> Any:
        try:
            if method.admin and not (is_admin or serves_admin()):
                raise PermissionDenied(
                    f"{method.name} is not served on this socket",
                    bound="the admin socket beside it",
                    remedy="use the forgetd gc command, call on the admin socket, or write"
                    " allow_rpc = true under [gc] in forgetd.toml",
                )
            if not is_admin:
                _refuse_admin_params(method, by_name)
            return Success(await calls.run(method, by_name or by_position))
        except ForgetdError as error:
            return _failure(error)
        except Exception as error:
            return _failure(internal_error(error, method.name))

    # jsonrpcserver asks for the signature at every call; working it out takes longer than a get.
    cast(Any, call).__signature__ = _ANY_PARAMETERS
    return call


def _refuse_admin_params(method: Method, given: Mapping[str, object]) -> None:
    for name in method.admin_params:
        if given.get(name):
            raise PermissionDenied(
                f"{method.name} takes {name} on the admin socket only",
                field=f"$.{name}",
                bound="the admin socket beside this one",
                remedy=f"leave {name} out, or let the operator do it with the forgetd command",
            )


def _failure(error: ForgetdError) -> Any:
    return Error(error.code, error.message, error.to_wire_data())


def _unchanged(value: Any) -> Any:
    return value
