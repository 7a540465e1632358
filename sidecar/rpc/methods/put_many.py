"""A partial putMany: the good members are stored, the bad ones are named."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sidecar.errors import ForgetdError, InvalidParams
from sidecar.model import MemoryInput
from sidecar.reports import PutManyItem, PutManyReport
from sidecar.rpc.params import convert
from sidecar.rpc.ports import IfExists, NamespacePort

MEMORIES_PATH: Final = "$.memories"


async def put_partially(
    namespace: NamespacePort, members: Sequence[Mapping[str, Any]], if_exists: IfExists
) -> PutManyReport:
    """Store what can be stored. The results are in the order of the members."""
    items: list[PutManyItem | None] = [None] * len(members)
    memories: list[MemoryInput] = []
    positions: list[int] = []
    for index, member in enumerate(members):
        try:
            memories.append(convert(member, MemoryInput, f"{MEMORIES_PATH}[{index}]"))
            positions.append(index)
        except InvalidParams as error:
            given = member.get("id")
            items[index] = PutManyItem(
                id=given if isinstance(given, str) else None,
                result="failed",
                error=_told(error),
            )
    stored = await namespace.put_many(memories=memories, if_exists=if_exists, partial=True)
    for was, (index, item) in enumerate(zip(positions, stored.results, strict=True)):
        items[index] = _at(item, was, index)
    return PutManyReport(
        results=[item for item in items if item is not None],
        created=stored.created,
        replaced=stored.replaced,
        skipped=stored.skipped,
        failed=stored.failed + len(members) - len(memories),
    )


def _at(item: PutManyItem, was: int, index: int) -> PutManyItem:
    """The item with the position that its member has in the call, where an error names one."""
    if item.error is None or was == index:
        return item
    before, after = f"{MEMORIES_PATH}[{was}]", f"{MEMORIES_PATH}[{index}]"
    data = dict(item.error.get("data", {}))
    if "field" in data:
        data["field"] = str(data["field"]).replace(before, after, 1)
    message = str(item.error.get("message", "")).replace(before, after, 1)
    item.error = {**item.error, "message": message, "data": data}
    return item


def _told(error: ForgetdError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "data": error.to_wire_data()}
