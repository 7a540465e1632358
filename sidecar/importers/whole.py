"""Whole memories as `memory.export` writes them: for sources that know more than a put may say."""

import base64
from typing import Any, cast

from sidecar.errors import InvalidParams
from sidecar.validation import embedding_bytes


def whole_memory(*, id: str, content: str, created_at: Any, **given: Any) -> dict[str, Any]:
    """A record for `memory.import` with format `forgetd`: the given fields, and the defaults.

    `given` has the wire names of fields. What is out of bounds is found by `problem_of_whole`.
    """
    whole: dict[str, Any] = {
        "id": id,
        "memoryType": "semantic",
        "content": content,
        "importanceBase": None,
        "importanceSource": "estimated" if given.get("importanceBase") is None else "host",
        "fadeFactor": 1.0,
        "fadedAt": None,
        "estimate": None,
        "estimator": None,
        "createdAt": created_at,
        "updatedAt": created_at,
        "lastRecalledAt": None,
        "validFrom": None,
        "expiresAt": None,
        "heldUntil": None,
        "recallCount": 0,
        "useCount": 0,
        "regretCount": 0,
        "successCount": 0,
        "failureCount": 0,
        "usefulnessScore": 0.0,
        "lastUsefulAt": None,
        "supersededBy": None,
        "pinned": False,
        "evergreen": False,
        "mediaRef": None,
        "embeddingModel": None,
        "embedding": None,
        "metadata": {},
        "extra": {},
        "status": "active",
        "statusReason": None,
        "statusAt": None,
        "tier": "hot",
        "tierLeft": None,
        "movedReason": None,
        "revision": 1,
        "forgottenAt": None,
        "restoredAt": None,
        "contentHash": None,
    }
    return whole | given


def vector_text(value: Any) -> str | None:
    """A list of numbers as base64 of little-endian float32; None where it is no vector."""
    if not isinstance(value, list):
        return None
    numbers = cast(list[Any], value)
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers):
        return None
    try:
        return base64.b64encode(embedding_bytes(numbers, "$")).decode()
    except InvalidParams:
        return None
