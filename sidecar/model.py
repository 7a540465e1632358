"""The record: one memory as the wire, the store and the plan know it.

Wire names are camelCase, times are integer milliseconds since the Unix epoch. What is checked
here is shape; `validation.py` checks the rules that need a clock or more than one field.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from sidecar.limits import INTEGER_MAX

Tier = Literal["hot", "cold", "forgotten"]
Status = Literal["active", "superseded", "archived", "invalidated"]
MemoryType = Literal["semantic", "episodic", "procedural"]
ImportanceSource = Literal["host", "estimated"]

# Columns hold these as small integers: the position in the tuple. Append only.
TIERS: tuple[Tier, ...] = ("hot", "cold", "forgotten")
STATUSES: tuple[Status, ...] = ("active", "superseded", "archived", "invalidated")
MEMORY_TYPES: tuple[MemoryType, ...] = ("semantic", "episodic", "procedural")

HOT, COLD, FORGOTTEN = 0, 1, 2
ACTIVE, SUPERSEDED, ARCHIVED, INVALIDATED = 0, 1, 2, 3
SEMANTIC, EPISODIC, PROCEDURAL = 0, 1, 2

Count = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
Milliseconds = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
Share = Annotated[float, Meta(ge=0, le=1)]
Embedding = list[float] | str


class MemoryInput(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What a caller may write of a memory. Absent fields take the defaults of the record.

    `embedding` is a list of numbers, or base64 of little-endian float32.
    `successorId` is another name of `supersededBy`; `supersedes` names one id or several.
    """

    id: str | UnsetType = UNSET
    memory_type: MemoryType | UnsetType = UNSET
    content: str | UnsetType = UNSET
    importance: float | None | UnsetType = UNSET
    created_at: int | UnsetType = UNSET
    updated_at: int | UnsetType = UNSET
    last_recalled_at: int | None | UnsetType = UNSET
    valid_from: int | None | UnsetType = UNSET
    expires_at: int | None | UnsetType = UNSET
    held_until: int | None | UnsetType = UNSET
    recall_count: int | UnsetType = UNSET
    use_count: int | UnsetType = UNSET
    regret_count: int | UnsetType = UNSET
    success_count: int | UnsetType = UNSET
    failure_count: int | UnsetType = UNSET
    usefulness_score: float | UnsetType = UNSET
    last_useful_at: int | None | UnsetType = UNSET
    superseded_by: str | None | UnsetType = UNSET
    successor_id: str | None | UnsetType = UNSET
    supersedes: str | list[str] | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    evergreen: bool | UnsetType = UNSET
    media_ref: str | None | UnsetType = UNSET
    embedding: Embedding | None | UnsetType = UNSET
    embedding_model: str | None | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Memory(Struct, rename="camel", kw_only=True):
    """One memory as it is answered. `importance` is what is shown: base times fade factor."""

    id: str
    memory_type: MemoryType
    content: str
    importance: float
    importance_base: float | None
    importance_source: ImportanceSource
    fade_factor: float
    created_at: int
    updated_at: int
    last_recalled_at: int | None
    valid_from: int | None
    expires_at: int | None
    held_until: int | None
    recall_count: int
    use_count: int
    regret_count: int
    success_count: int
    failure_count: int
    usefulness_score: float
    last_useful_at: int | None
    superseded_by: str | None
    supersedes: list[str]
    pinned: bool
    evergreen: bool
    media_ref: str | None
    embedding_model: str | None
    embedding_dimensions: int | None
    metadata: dict[str, Any]
    extra: dict[str, Any]
    status: Status
    status_reason: str | None
    status_at: int | None
    tier: Tier
    revision: int
    strength: float | None
    forgotten_at: int | None
    restored_at: int | None
    bytes: int
    embedding: list[float] | UnsetType = UNSET


class RecalledMemory(Struct, rename="camel", kw_only=True):
    """One result of a recall: the memory, its fused rank score and where each part stood."""

    memory: Memory
    score: float
    text_score: float | None
    vector_score: float | None


def to_json(value: Any) -> bytes:
    """Stable JSON bytes of a plain value: object keys sorted, no NaN (they become null)."""
    return msgspec.json.encode(value, order="deterministic")
