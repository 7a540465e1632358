"""A whole memory as it travels: what `memory.export` gives and `memory.import` takes back.

`check_exported` turns such a record into the column values that make up its state, by the same
rules as an import of another system: a time or an importance that cannot be judged stays as it
is. What contradicts itself is refused.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sidecar.errors import InvalidParams
from sidecar.limits import EMBEDDING_MODEL_BYTES_MAX, REASON_BYTES_MAX
from sidecar.model import STATUSES, TIERS, ExportedMemory, MemoryInput
from sidecar.validation import CheckedMemory, check, check_reason, converted

FORMAT: Final = "forgetd"
HASH_DIGITS: Final = 64

# Fields of a record that a host may write too, and that keep their names and rules.
_SHARED: Final = tuple(
    name
    for name in MemoryInput.__struct_fields__
    if name in ExportedMemory.__struct_fields__ and name != "embedding"
)
# Fields whose column has the same name and the same values.
_COPIED: Final = (
    "status_reason",
    "status_at",
    "revision",
    "forgotten_at",
    "restored_at",
    "faded_at",
)


@dataclass(slots=True)
class CheckedExport:
    """The payload of a record, and its state by column.

    In `scalars`, `estimate` is None where the text is to be estimated; `moved_reason` is a name.
    """

    id: str
    payload: CheckedMemory
    scalars: dict[str, Any]
    forgotten: bool
    content_hash: bytes | None


def exported_from(record: Mapping[str, Any], path: str = "$") -> ExportedMemory:
    """The record as a struct. Raises InvalidParams with the field's JSON path."""
    remedy = "import what memory.export gave, with every field as it was"
    return converted(ExportedMemory, record, path, remedy)


def check_exported(memory: ExportedMemory, path: str = "$") -> CheckedExport:
    """The column values of a record. Raises InvalidParams naming the field."""
    given: dict[str, Any] = {name: getattr(memory, name) for name in _SHARED}
    given["embedding"] = memory.embedding
    payload = check(MemoryInput(**given), 0, path, lenient=True, extra=memory.extra)
    scalars = dict(payload.scalars)
    scalars.update({name: getattr(memory, name) for name in _COPIED})
    scalars["fade_factor"] = _number(memory.fade_factor, f"{path}.fadeFactor")
    scalars["status"] = STATUSES.index(memory.status)
    scalars["tier_left"] = None if memory.tier_left is None else TIERS.index(memory.tier_left)
    scalars["moved_reason"] = memory.moved_reason
    _text(memory.status_reason, f"{path}.statusReason", REASON_BYTES_MAX)
    _importance(memory, scalars, path)
    forgotten = memory.tier == "forgotten"
    if forgotten != (memory.forgotten_at is not None):
        raise InvalidParams(
            f"{path}.tier and {path}.forgottenAt contradict each other",
            field=f"{path}.forgottenAt",
            bound="a time where tier is forgotten, else null",
            remedy="import what memory.export gave",
        )
    return CheckedExport(
        memory.id, payload, scalars, forgotten, _hash(memory.content_hash, f"{path}.contentHash")
    )


def _importance(memory: ExportedMemory, scalars: dict[str, Any], path: str) -> None:
    """`importance` is the host's value; the estimate and who made it are kept beside it."""
    base = memory.importance_base
    if base is not None:
        base = _number(base, f"{path}.importanceBase")
    _text(memory.estimator, f"{path}.estimator", EMBEDDING_MODEL_BYTES_MAX)
    estimate, estimator = memory.estimate, memory.estimator
    if (estimate is None) != (estimator is None):
        raise InvalidParams(
            f"{path}.estimate and {path}.estimator go together",
            field=f"{path}.estimator",
            bound="both or neither",
            remedy="write null for both: the text is estimated anew",
        )
    if estimate is not None:
        estimate = _number(estimate, f"{path}.estimate")
    host = memory.importance_source == "host"
    if base is None and host:
        raise InvalidParams(
            f"{path}.importanceBase is null, and {path}.importanceSource is host",
            field=f"{path}.importanceBase",
            bound="a number where the host gave it",
            remedy='give the number, or importanceSource "estimated"',
        )
    if not host and base is not None and base != estimate:
        raise InvalidParams(
            f"{path}.importanceBase is estimated, but is not {path}.estimate",
            field=f"{path}.importanceBase",
            bound="the estimate, or null",
            remedy='to set your own value, give importanceSource "host"',
        )
    scalars["importance"] = base if host else None
    scalars["estimate"], scalars["estimator"] = estimate, estimator


def _number(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise InvalidParams(
            f"{path} must be a finite number",
            field=path,
            bound="a finite number",
            remedy="import what memory.export gave",
        )
    return value + 0.0  # the database has no -0.0


def _text(value: str | None, path: str, limit: int) -> None:
    if value is not None:
        check_reason(value, path, limit)


def _hash(text: str | None, path: str) -> bytes | None:
    if text is None:
        return None
    try:
        digest = bytes.fromhex(text) if len(text) == HASH_DIGITS else b""
    except ValueError:
        digest = b""
    if not digest:
        raise InvalidParams(
            f"{path} must be {HASH_DIGITS} hexadecimal digits",
            field=path,
            bound="a SHA-256 in hexadecimal, or null",
            remedy="leave it as memory.export gave it, or write null",
        )
    return digest
