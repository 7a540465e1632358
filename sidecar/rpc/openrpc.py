"""The OpenRPC document of the protocol, as it was generated for this release."""

from functools import cache
from pathlib import Path
from typing import Final

import msgspec

_HERE: Final = Path(__file__).resolve().parent
# Beside this module in an installed package; a checkout has it where it is generated.
_PLACES: Final = (_HERE / "openrpc.json", _HERE.parents[1] / "protocol" / "openrpc.json")


@cache
def document() -> msgspec.Raw:
    """The document as JSON without white space. Read once, and only when somebody asks."""
    place = next(path for path in _PLACES if path.is_file())
    return msgspec.Raw(msgspec.json.format(place.read_bytes(), indent=-1))
