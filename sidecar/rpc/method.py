"""What a method is: its name, the types of both sides, and the handler between them."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from msgspec import Struct

from sidecar.errors import ForgetdError
from sidecar.limits import CALL_DEADLINE_SECONDS, RUN_DEADLINE_SECONDS
from sidecar.rpc.context import Context
from sidecar.rpc.params import Params

P = TypeVar("P", bound=Struct)
Handler = Callable[[Context, P], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the protocol, enough to call it and to describe it.

    `errors` are those beyond what every call may meet. `positional` names the parameters that
    may also be given as an array. `is_run`: the answer may take as long as a run does, and
    a stopping daemon ends the run between two transactions instead of waiting for it. `admin`:
    served on the admin socket, and on the main one only where the config file says so.
    `admin_params` are parameters, by name, that may be true only there.
    """

    name: str
    summary: str
    params: type[Struct]
    result: Any
    handler: Callable[[Context, Any], Awaitable[Any]]
    writes: bool = False
    errors: tuple[type[ForgetdError], ...] = ()
    positional: tuple[str, ...] = ()
    is_run: bool = False
    admin: bool = False
    admin_params: tuple[str, ...] = ()

    @property
    def keyed(self) -> bool:
        """Whether a call may carry an idempotency key: a write in a namespace, which keeps it.

        What destroys has a token that can be used once, and leaves no reply behind.
        """
        return self.writes and not self.admin and not self.name.startswith("system.")

    @property
    def deadline_seconds(self) -> float:
        """How long a caller waits before it hears of the deadline."""
        return RUN_DEADLINE_SECONDS if self.is_run else CALL_DEADLINE_SECONDS


class Methods:
    """The methods of one noun, filled by decorating their handlers."""

    def __init__(self) -> None:
        self._methods: Final[list[Method]] = []

    def __iter__(self) -> Iterator[Method]:
        return iter(self._methods)

    def add(
        self,
        name: str,
        *,
        params: type[P],
        result: Any,
        writes: bool = False,
        errors: tuple[type[ForgetdError], ...] = (),
        positional: tuple[str, ...] = (),
        is_run: bool = False,
        admin: bool = False,
        admin_params: tuple[str, ...] = (),
    ) -> Callable[[Handler[P]], Handler[P]]:
        """Register the decorated handler as `name`; its docstring is the method's summary."""

        def register(handler: Handler[P]) -> Handler[P]:
            self._methods.append(
                Method(
                    name=name,
                    summary=" ".join((handler.__doc__ or "").split()),
                    params=params,
                    result=result,
                    handler=handler,
                    writes=writes,
                    errors=errors,
                    positional=positional,
                    is_run=is_run,
                    admin=admin,
                    admin_params=admin_params,
                )
            )
            return handler

        return register


class NoParams(Params, kw_only=True):
    """A method that takes nothing but the namespace."""
