"""Keys of a caller's own, by which a write that is sent again is not carried out again.

A key stands for one call: its method and its parameters. It belongs to one namespace, which keeps
the reply with it, written in the transaction that did the work.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from sidecar.errors import IdempotencyConflict

PARAMETER: Final = "idempotencyKey"


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and what it stands for. `parameters` is the SHA-256 of the call's parameters."""

    value: str
    method: str
    parameters: bytes


_CURRENT: Final[ContextVar[Key | None]] = ContextVar("idempotency_key", default=None)


def current_key() -> Key | None:
    """The key of the call that the current task carries out.

    To be asked on the event loop before any work is handed to a thread: threads do not see it.
    """
    return _CURRENT.get()


def carry(key: Key) -> None:
    """Let the current task, and those that it begins, work for the call with this key."""
    _CURRENT.set(key)


def conflict() -> IdempotencyConflict:
    """The error of a key that stands for another call."""
    return IdempotencyConflict(
        field=f"$.{PARAMETER}",
        bound="one key for one call: the same method with the same parameters",
        remedy="make a new key for each write; repeat a write exactly as it was sent",
    )
