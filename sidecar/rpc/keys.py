"""Idempotency keys as they come in: taken out of the parameters, checked, and bound to the call."""

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

from sidecar.errors import InvalidParams
from sidecar.idempotency import PARAMETER, Key
from sidecar.limits import IDEMPOTENCY_KEY_BYTES_MAX
from sidecar.rpc.method import Method

_FIELD: Final = f"$.{PARAMETER}"
# Members may come in any order. The namespace is left out: each has keys of its own.
_CANONICAL: Final = msgspec.json.Encoder(order="sorted")


def take_key(
    method: Method, params: Mapping[str, object]
) -> tuple[Mapping[str, object], Key | None]:
    """The parameters without the key, and the key where the method takes one and it is given.

    Raises InvalidParams for what cannot be a key.
    """
    if not method.keyed or PARAMETER not in params:
        return params, None
    own = {name: value for name, value in params.items() if name != PARAMETER}
    value = _checked(params[PARAMETER])
    told = {name: given for name, given in own.items() if name != "namespace"}
    return own, Key(value, method.name, hashlib.sha256(_CANONICAL.encode(told)).digest())


def _checked(value: object) -> str:
    if isinstance(value, str) and "\0" not in value:
        size = len(value.encode("utf-8", "replace"))
        if 1 <= size <= IDEMPOTENCY_KEY_BYTES_MAX:
            return value
    raise InvalidParams(
        f"{_FIELD} cannot be a key",
        field=_FIELD,
        bound=f"a string of 1 to {IDEMPOTENCY_KEY_BYTES_MAX} bytes without NUL",
        remedy="make a new UUID for each write, and send it again only with the same call",
    )
