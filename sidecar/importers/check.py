"""The daemon's own rules of a record, applied before anything of a file is sent.

`memory.import` checks again; checking here means that a bad line 900 stops an import before the
lines above it are stored.
"""

import hashlib
import json
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sidecar.clock import Clock
from sidecar.errors import InvalidParams
from sidecar.exchange import check_exported, exported_from
from sidecar.importers.items import BadLine, Item, Notice, Record
from sidecar.model import MemoryInput
from sidecar.validation import check

ID_DIGITS: Final = 32  # 128 bits

_FIELDS: Final = {spec.encode_name: spec for spec in msgspec.structs.fields(MemoryInput)}
_NOT_NULLABLE: Final = frozenset(
    name for name, spec in _FIELDS.items() if types.NoneType not in typing.get_args(spec.type)
)
_AT: Final = re.compile(r"^(?P<what>.*) - at `\$(?P<path>.*)`$", re.DOTALL)


def derived_id(kind: str, *parts: str) -> str:
    """An id that depends on the parts alone: `kind`, a hyphen, 32 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return f"{kind}-{digest.hexdigest()[:ID_DIGITS]}"


def canonical(value: Any) -> str:
    """JSON text that is the same for equal values, whatever the order of their fields."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def without_empty(memory: Mapping[str, Any]) -> dict[str, Any]:
    """The memory without nulls where a memory has none: many hosts write null for "not set"."""
    return {
        name: value
        for name, value in memory.items()
        if not (value is None and name in _NOT_NULLABLE)
    }


def problem_of(record: Record, paths: Mapping[str, str] | None = None) -> BadLine | None:
    """Why `memory.import` would refuse the record, or None.

    `paths` says where in the line a field of the memory comes from ("content" →
    "$.observations[2]"); a field not named stands in the line under its own name.
    """
    known = {name: value for name, value in record.memory.items() if name in _FIELDS}
    unknown = {name: value for name, value in record.memory.items() if name not in _FIELDS}
    if "content" not in known:
        remedy = "name the text of the memory `content`"
        return BadLine(record.line, "$.content", "is missing", remedy, record.where)
    try:
        memory = msgspec.convert(known, MemoryInput)
        check(memory, Clock().now_ms(), lenient=True, extra=unknown)
    except msgspec.ValidationError as error:
        found = _AT.match(str(error))
        path, what = (found["path"], found["what"]) if found else ("", str(error))
        message = what[:1].lower() + what[1:]
        remedy = "write it as a memory has it, or leave it out"
    except InvalidParams as error:
        path = str(error.data.get("field", "$")).removeprefix("$")
        message = error.message.removeprefix(f"${path} ")
        remedy = str(error.data.get("remedy", "correct it"))
        if path == ".extra":
            path, message = "", f"its unknown fields together {message}"
    else:
        return None
    return BadLine(record.line, _located(path, paths or {}), message, remedy, record.where)


def problem_of_whole(record: Record, paths: Mapping[str, str] | None = None) -> BadLine | None:
    """Why `memory.import` with format `forgetd` would refuse the record, or None."""
    try:
        check_exported(exported_from(record.memory))
    except InvalidParams as error:
        path = str(error.data.get("field", "$")).removeprefix("$")
        message = error.message.removeprefix(f"${path}").removeprefix(":").strip()
        remedy = str(error.data.get("remedy", "correct it"))
        field = _located(path, paths or {})
        return BadLine(record.line, field, message, remedy, record.where)
    return None


def _located(path: str, paths: Mapping[str, str]) -> str:
    name = path.removeprefix(".").partition(".")[0].partition("[")[0]
    return paths.get(name, f"${path}")


class Seen:
    """The ids of the lines so far: tells a repeated memory from two that claim one id."""

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[str, bytes]] = {}

    def admit(self, record: Record) -> Item:
        """The record, or what to say instead of storing it."""
        identity: str = record.memory["id"]
        digest = hashlib.sha256(canonical(record.memory).encode()).digest()[:16]
        earlier = self._by_id.get(identity)
        if earlier is None:
            self._by_id[identity] = (record.place, digest)
            return record
        place, first = earlier
        if first == digest:
            return Notice(record.line, "repeated", place, record.where)
        return BadLine(
            record.line,
            "$.id",
            f"is the id of {place} too, with other content",
            "give it an id of its own, or keep the first with --skip-bad",
            record.where,
        )
