"""A memory as it is answered: row and payload put together."""

import struct
from typing import Any

import msgspec
from msgspec import UNSET

from sidecar.model import MEMORY_TYPES, STATUSES, TIERS, Memory
from sidecar.store.payload import Payload
from sidecar.store.rows import FLOAT32_BYTES, Row
from sidecar.strength import strength_of

_COPIED = (
    "id",
    "fade_factor",
    "created_at",
    "updated_at",
    "last_recalled_at",
    "valid_from",
    "expires_at",
    "held_until",
    "recall_count",
    "use_count",
    "regret_count",
    "success_count",
    "failure_count",
    "usefulness_score",
    "last_useful_at",
    "superseded_by",
    "media_ref",
    "embedding_model",
    "embedding_dimensions",
    "status_reason",
    "status_at",
    "revision",
    "forgotten_at",
    "restored_at",
    "bytes",
)


def memory_of(
    row: Row,
    payload: Payload,
    supersedes: list[str],
    now: int,
    *,
    superseded: bool,
    include_embedding: bool,
) -> Memory:
    """The answer for one memory. `importance` is the base times the fade factor.

    `superseded` says whether a newer version stands; the strength is then that of no value.
    """
    copied: dict[str, Any] = {name: getattr(row, name) for name in _COPIED}
    return Memory(
        **copied,
        memory_type=MEMORY_TYPES[row.memory_type],
        status=STATUSES[row.status],
        tier=TIERS[row.tier],
        content=payload.content,
        importance=row.value * row.fade_factor,
        importance_base=row.value,
        importance_source="estimated" if row.importance is None else "host",
        pinned=bool(row.pinned),
        evergreen=bool(row.evergreen),
        metadata=msgspec.json.decode(payload.metadata),
        extra=msgspec.json.decode(payload.extra),
        supersedes=supersedes,
        strength=_strength(row, now, superseded=superseded),
        embedding=_numbers(payload.embedding) if include_embedding and payload.embedding else UNSET,
    )


def _strength(row: Row, now: int, *, superseded: bool) -> float | None:
    return strength_of(
        importance=row.value,
        fade_factor=row.fade_factor,
        created_at=row.created_at,
        last_recalled_at=row.last_recalled_at or (0 if row.last_recalled_at is None else -1),
        recall_count=row.recall_count,
        success_count=row.success_count,
        failure_count=row.failure_count,
        memory_type=row.memory_type,
        superseded=superseded,
        now=now,
    )


def _numbers(embedding: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(embedding) // FLOAT32_BYTES}f", embedding))
