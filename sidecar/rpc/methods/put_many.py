"""The members of a partial putMany: each as a memory, or with what is wrong with it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sidecar.errors import InvalidParams
from sidecar.model import MemoryInput
from sidecar.rpc.params import convert
from sidecar.validation import Refused

MEMORIES_PATH: Final = "$.memories"


def convert_partially(members: Sequence[Mapping[str, Any]]) -> list[MemoryInput | Refused]:
    """The members in their order; one bad member spoils no other."""
    converted: list[MemoryInput | Refused] = []
    for index, member in enumerate(members):
        try:
            converted.append(convert(member, MemoryInput, f"{MEMORIES_PATH}[{index}]"))
        except InvalidParams as error:
            given = member.get("id")
            converted.append(Refused(given if isinstance(given, str) else None, error))
    return converted
