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
ImportFormat = Literal["foreign", "forgetd"]
# What a host reports back about a memory; see sidecar/store/signals.py.
Signal = Literal["useful", "shown", "unhelpful", "harmful", "success", "failure", "regret"]

# Columns hold these as small integers: the position in the tuple. Append only.
TIERS: tuple[Tier, ...] = ("hot", "cold", "forgotten")
STATUSES: tuple[Status, ...] = ("active", "superseded", "archived", "invalidated")
MEMORY_TYPES: tuple[MemoryType, ...] = ("semantic", "episodic", "procedural")

HOT, COLD, FORGOTTEN = 0, 1, 2
ACTIVE, SUPERSEDED, ARCHIVED, INVALIDATED = 0, 1, 2, 3
SEMANTIC, EPISODIC, PROCEDURAL = 0, 1, 2

Count = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
Revision = Annotated[int, Meta(ge=1, le=INTEGER_MAX)]
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


class ExportedMemory(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One memory with every field that makes up its state: a line of an export.

    Taken back by `memory.import` with `format: "forgetd"`, exactly as it is. `importanceBase` is
    the host's value or the estimate, as `importanceSource` says; `embedding` is base64 of
    little-endian float32. Whoever makes such a line may write null for `estimate` and
    `estimator` (the text is estimated anew) and for `contentHash` (nothing is compared).
    """

    id: str
    memory_type: MemoryType
    content: str
    importance_base: float | None
    importance_source: ImportanceSource
    fade_factor: float
    estimate: float | None
    estimator: str | None
    created_at: Milliseconds
    updated_at: Milliseconds
    last_recalled_at: Milliseconds | None
    valid_from: Milliseconds | None
    expires_at: Milliseconds | None
    held_until: Milliseconds | None
    recall_count: Count
    use_count: Count
    regret_count: Count
    success_count: Count
    failure_count: Count
    usefulness_score: float
    last_useful_at: Milliseconds | None
    superseded_by: str | None
    pinned: bool
    evergreen: bool
    media_ref: str | None
    embedding_model: str | None
    embedding: str | None
    metadata: dict[str, Any]
    extra: dict[str, Any]
    status: Status
    status_reason: str | None
    status_at: Milliseconds | None
    tier: Tier
    tier_left: Tier | None
    moved_reason: str | None
    revision: Revision
    forgotten_at: Milliseconds | None
    restored_at: Milliseconds | None
    content_hash: str | None
    faded_at: Milliseconds | None = None


class RecalledMemory(Struct, rename="camel", kw_only=True):
    """One result of a recall: the memory, its fused rank score and where each part stood."""

    memory: Memory
    score: float
    text_score: float | None
    vector_score: float | None


def to_json(value: Any) -> bytes:
    """Stable JSON bytes of a plain value: object keys sorted, no NaN (they become null)."""
    return msgspec.json.encode(value, order="deterministic")
