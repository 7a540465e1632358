"""Keeping the replies of keyed calls, and answering them again."""

from collections.abc import Callable
from typing import Any

import msgspec

from sidecar.clock import Clock
from sidecar.idempotency import Key, current_key
from sidecar.store import replies
from sidecar.store.sqlite.writer import Transaction

# Called within the transaction that does a call's work, with the call's reply.
Keep = Callable[[Transaction, Any], None]


def keep_reply(tx: Transaction, key: Key, now: int, reply: Any) -> None:
    """Keep a reply, as it is answered, in the transaction that did the call's work."""
    replies.keep(tx, key, now, msgspec.json.encode(reply))


def keeper(clock: Clock) -> Keep:
    """What keeps the reply of the current call; does nothing where it has no key."""
    key = current_key()
    if key is None:
        return lambda _tx, _reply: None
    return lambda tx, reply: keep_reply(tx, key, clock.now_ms(), reply)
