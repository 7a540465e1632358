"""The rules of a record that need a clock, an encoding or more than one field.

`check` turns what a caller wrote into column values. A put refuses what is out of bounds; an
import (`lenient`) keeps a bad time or importance as it is, and the memory is unscored for it:
what cannot be judged is never forgotten.
"""

import base64
import binascii
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET

from sidecar.errors import InvalidParams
from sidecar.limits import (
    CONTENT_BYTES_MAX,
    EMBEDDING_DIMENSIONS_MAX,
    EMBEDDING_MODEL_BYTES_MAX,
    FUTURE_TOLERANCE_MS,
    ID_BYTES_MAX,
    INTEGER_MAX,
    MEDIA_REF_BYTES_MAX,
    METADATA_BYTES_MAX,
    SUPERSEDES_IDS_MAX,
    TIME_MIN_MS,
)
from sidecar.model import MEMORY_TYPES, MemoryInput, to_json

S = TypeVar("S", bound=msgspec.Struct)

PAST_TIMES: Final = ("created_at", "updated_at", "last_recalled_at", "last_useful_at")
FREE_TIMES: Final = ("valid_from", "expires_at", "held_until")
COUNTS: Final = ("recall_count", "use_count", "regret_count", "success_count", "failure_count")
FLOAT32_BYTES: Final = 4
WIRE_NAMES: Final = {spec.name: spec.encode_name for spec in msgspec.structs.fields(MemoryInput)}


@dataclass(frozen=True, slots=True)
class Refused:
    """A member of a partial call that is no memory at all, and why."""

    id: str | None
    error: InvalidParams


@dataclass(slots=True)
class CheckedMemory:
    """Column values a caller gave (absent ones are not in `scalars`), and the payload parts.

    `importance` in `scalars` is None where the caller asked for the estimate. `embedding` is
    little-endian float32, b"" where the caller removed it, None where it was not named.
    """

    id: str | None
    scalars: dict[str, Any]
    content: str | None = None
    metadata: str | None = None
    extra: str | None = None
    embedding: bytes | None = None
    supersedes: list[str] = field(default_factory=list[str])


def check(
    memory: MemoryInput,
    now: int,
    path: str = "$",
    *,
    lenient: bool = False,
    extra: Mapping[str, object] | None = None,
) -> CheckedMemory:
    """Check every field that is present. `path` is the JSON path of the memory in the call.

    Raises InvalidParams naming the field, the bound and the remedy; nothing is stored then.
    """
    checked = CheckedMemory(id=None, scalars={})
    if memory.id is not UNSET:
        checked.id = check_id(memory.id, f"{path}.id")
    if memory.content is not UNSET:
        checked.content = _content(memory.content, f"{path}.content")
    if memory.metadata is not UNSET:
        checked.metadata = _object(memory.metadata, f"{path}.metadata")
    if extra is not None:
        checked.extra = _object(extra, f"{path}.extra")
    _times(memory, checked, now, path, lenient)
    _numbers(memory, checked, path, lenient)
    _links(memory, checked, path)
    for name in ("pinned", "evergreen"):
        value = getattr(memory, name)
        if value is not UNSET:
            checked.scalars[name] = int(value)
    if memory.memory_type is not UNSET:
        checked.scalars["memory_type"] = MEMORY_TYPES.index(memory.memory_type)
    if memory.media_ref is not UNSET:
        checked.scalars["media_ref"] = _media_ref(memory.media_ref, f"{path}.mediaRef")
    _embedding(memory, checked, path)
    return checked


def check_id(value: str, path: str) -> str:
    """An id: 1 to 256 bytes of UTF-8 without NUL or lone surrogates. Raises InvalidParams."""
    size = _utf8_size(value, path)
    nul = "\0" in value
    if nul or not 1 <= size <= ID_BYTES_MAX:
        wrong = "it holds a NUL" if nul else f"it has {size} bytes"
        raise InvalidParams(
            f"{path} must be 1 to {ID_BYTES_MAX} bytes of text without NUL; {wrong}",
            field=path,
            bound=f"1 to {ID_BYTES_MAX} bytes of UTF-8, no NUL",
            remedy=f"{'remove the NUL' if nul else 'change the length'}, or leave the id out: "
            "the daemon makes one",
        )
    return value


def check_reason(value: str, path: str, limit: int) -> str:
    """Free text of at most `limit` bytes that is not blank. Raises InvalidParams."""
    return _text(value, path, limit, "give a short reason")


def check_time(value: int, now: int, path: str, *, past: bool) -> int:
    """A time in milliseconds, from 2000 on; a past time at most a day in the future."""
    if value < TIME_MIN_MS or value > INTEGER_MAX:
        remedy = "give milliseconds since 1970"
        if 0 < value < TIME_MIN_MS:
            remedy = f"give milliseconds: if this is in seconds, send {value * 1000}"
        raise InvalidParams(
            f"{path} must be a time from 2000-01-01 on, in milliseconds; it is {value}",
            field=path,
            bound=f"at least {TIME_MIN_MS} and at most {INTEGER_MAX}",
            remedy=remedy,
        )
    if past and value > now + FUTURE_TOLERANCE_MS:
        raise InvalidParams(
            f"{path} lies more than a day in the future",
            field=path,
            bound=f"at most {now + FUTURE_TOLERANCE_MS} (now and a day)",
            remedy="check the host's clock and the unit (milliseconds)",
        )
    return value


def embedding_bytes(value: list[float] | str, path: str) -> bytes:
    """Little-endian float32 of a list of numbers or of base64. Raises InvalidParams."""
    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raw = b"?"
        if not raw or len(raw) % FLOAT32_BYTES:
            raise InvalidParams(
                f"{path} must be base64 of little-endian float32 numbers",
                field=path,
                bound="base64 of a multiple of 4 bytes, not empty",
                remedy="send base64 of a Float32Array's buffer, or a list of numbers",
            )
        count = len(raw) // FLOAT32_BYTES
    else:
        count = len(value)
        raw = b""
    if not 1 <= count <= EMBEDDING_DIMENSIONS_MAX:
        raise InvalidParams(
            f"{path} must have 1 to {EMBEDDING_DIMENSIONS_MAX} numbers; it has {count}",
            field=path,
            bound=f"1 to {EMBEDDING_DIMENSIONS_MAX} numbers",
            remedy="use a smaller embedding, or leave it out",
        )
    numbers = value if not isinstance(value, str) else struct.unpack(f"<{count}f", raw)
    try:
        packed = raw or struct.pack(f"<{count}f", *numbers)
    except (OverflowError, struct.error):
        packed = b""
    if not packed or not all(map(math.isfinite, numbers)):
        raise InvalidParams(
            f"{path} must hold finite float32 numbers only",
            field=path,
            bound="finite numbers of at most 3.4e38",
            remedy="look for NaN or infinity where the embedding is made",
        )
    return packed


def _utf8_size(value: str, path: str) -> int:
    try:
        return len(value.encode())
    except UnicodeEncodeError:
        raise InvalidParams(
            f"{path} holds half of a surrogate pair",
            field=path,
            bound="well-formed Unicode",
            remedy="cut strings at characters, not at UTF-16 units",
        ) from None


def _text(value: str, path: str, limit: int, remedy: str) -> str:
    size = _utf8_size(value, path)
    if not value.strip() or size > limit:
        raise InvalidParams(
            f"{path} must be text of at most {limit} bytes that is not blank; it has {size} bytes",
            field=path,
            bound=f"1 to {limit} bytes of UTF-8, not blank",
            remedy=remedy,
        )
    return value


def _content(value: str, path: str) -> str:
    if "\0" in value:
        raise InvalidParams(
            f"{path} holds a NUL character",
            field=path,
            bound="text without NUL",
            remedy="remove the NUL, or keep binary data as a file and name it in mediaRef",
        )
    return _text(value, path, CONTENT_BYTES_MAX, "split the text, or keep it as a media file")


def _object(value: Mapping[str, object], path: str) -> str:
    try:
        encoded = to_json(value)
    except (RecursionError, UnicodeEncodeError, TypeError, ValueError):
        raise InvalidParams(
            f"{path} cannot be written as JSON",
            field=path,
            bound="a JSON object of well-formed text",
            remedy="look for broken text or very deep nesting",
        ) from None
    if len(encoded) > METADATA_BYTES_MAX:
        raise InvalidParams(
            f"{path} must be at most {METADATA_BYTES_MAX} bytes as JSON; it is {len(encoded)}",
            field=path,
            bound=f"at most {METADATA_BYTES_MAX} bytes",
            remedy="keep large data elsewhere and its key here",
        )
    return encoded.decode()


def _times(memory: MemoryInput, checked: CheckedMemory, now: int, path: str, lenient: bool) -> None:
    for names, past in ((PAST_TIMES, True), (FREE_TIMES, False)):
        for name in names:
            value = getattr(memory, name)
            if value is UNSET:
                continue
            wire = WIRE_NAMES[name]
            if value is None and name in ("created_at", "updated_at"):
                continue
            if value is not None and not (lenient and abs(value) <= INTEGER_MAX):
                value = check_time(value, now, f"{path}.{wire}", past=past)
            checked.scalars[name] = value


def _numbers(memory: MemoryInput, checked: CheckedMemory, path: str, lenient: bool) -> None:
    if memory.importance is not UNSET:
        value = memory.importance
        within = value is None or 0 <= value <= 1
        if not within and not (lenient and value is not None and math.isfinite(value)):
            raise InvalidParams(
                f"{path}.importance must be a number from 0 to 1, or null",
                field=f"{path}.importance",
                bound="0 to 1, or null for the daemon's estimate",
                remedy="scale your own range to 0–1, or leave it out",
            )
        # The database has no -0.0, and the log must say what the database holds.
        checked.scalars["importance"] = None if value is None else value + 0.0
    for name in COUNTS:
        value = getattr(memory, name)
        if value is UNSET:
            continue
        if not 0 <= value <= INTEGER_MAX:
            raise InvalidParams(
                f"{path}.{WIRE_NAMES[name]} must be an integer from 0 on; it is {value}",
                field=f"{path}.{WIRE_NAMES[name]}",
                bound=f"0 to {INTEGER_MAX}",
                remedy="count from 0",
            )
        checked.scalars[name] = value
    if memory.usefulness_score is not UNSET:
        if not math.isfinite(memory.usefulness_score):
            raise InvalidParams(
                f"{path}.usefulnessScore must be a finite number",
                field=f"{path}.usefulnessScore",
                bound="a finite number",
                remedy="leave it out",
            )
        checked.scalars["usefulness_score"] = memory.usefulness_score + 0.0


def _links(memory: MemoryInput, checked: CheckedMemory, path: str) -> None:
    if memory.superseded_by is not UNSET and memory.successor_id is not UNSET:
        raise InvalidParams(
            f"{path} names both supersededBy and successorId",
            field=f"{path}.successorId",
            bound="one of the two names",
            remedy="send supersededBy only",
        )
    for name in ("superseded_by", "successor_id"):
        value = getattr(memory, name)
        if value is not UNSET:
            link = None if value is None else check_id(value, f"{path}.{WIRE_NAMES[name]}")
            checked.scalars["superseded_by"] = link
    if memory.supersedes is not UNSET:
        given = memory.supersedes
        ids = [given] if isinstance(given, str) else given
        if len(ids) > SUPERSEDES_IDS_MAX:
            raise InvalidParams(
                f"{path}.supersedes names {len(ids)} ids",
                field=f"{path}.supersedes",
                bound=f"at most {SUPERSEDES_IDS_MAX} ids",
                remedy="call memory.supersede for the others",
            )
        checked.supersedes = [check_id(one, f"{path}.supersedes") for one in ids]


def _media_ref(value: str | None, path: str) -> str | None:
    if value is None:
        return None
    _text(value, path, MEDIA_REF_BYTES_MAX, "name a file below the namespace's media folder")
    parts = value.split("/")
    if value.startswith("/") or "\\" in value or "\0" in value or {"", ".", ".."} & set(parts):
        raise InvalidParams(
            f"{path} must be a relative path below the media folder",
            field=path,
            bound="a relative path without '.', '..', empty parts or backslashes",
            remedy="put the file into the namespace's media folder and give its path from there",
        )
    if parts[0] == ".trash":
        raise InvalidParams(
            f"{path} may not lie in the trash folder",
            field=path,
            bound="a path outside .trash",
            remedy="use another folder name",
        )
    return value


def _embedding(memory: MemoryInput, checked: CheckedMemory, path: str) -> None:
    if memory.embedding_model is not UNSET:
        model = memory.embedding_model
        if model is not None:
            _text(model, f"{path}.embeddingModel", EMBEDDING_MODEL_BYTES_MAX, "name the model")
        checked.scalars["embedding_model"] = model
    if memory.embedding is UNSET:
        return
    if memory.embedding is None:
        checked.embedding = b""
        checked.scalars["embedding_dimensions"] = None
        return
    checked.embedding = embedding_bytes(memory.embedding, f"{path}.embedding")
    checked.scalars["embedding_dimensions"] = len(checked.embedding) // FLOAT32_BYTES


def converted(kind: type[S], record: Mapping[str, Any], path: str, remedy: str) -> S:
    """A record as a struct of `kind`. Raises InvalidParams with the field's JSON path."""
    try:
        return msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        reason, _, at = str(error).partition(" - at `$")
        field = f"{path}{at.rstrip('`')}"
        raise InvalidParams(
            f"{field}: {reason}",
            field=field,
            bound=reason.removeprefix("Expected "),
            remedy=remedy,
        ) from None
