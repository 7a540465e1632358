"""What the RAM columns hold of each live memory, and what of its row fills them."""

from typing import Any, Final

import numpy as np

NEVER: Final = 0  # an absent time, or a number that is none
# A host may have written 0 for a time, which is impossible: not the same as never.
IMPOSSIBLE: Final = {"last_recalled_at": -1}
COLUMN_TYPES: Final[dict[str, Any]] = {
    "rid": np.int64,
    "tier": np.uint8,
    "status": np.uint8,
    "memory_type": np.uint8,
    "importance": np.float64,
    "fade_factor": np.float64,
    "faded_at": np.int64,
    "created_at": np.int64,
    "last_recalled_at": np.int64,
    "recall_count": np.int64,
    "success_count": np.int64,
    "failure_count": np.int64,
    "pinned": np.bool_,
    "evergreen": np.bool_,
    "held_until": np.int64,
    "restored_at": np.int64,
    "expires_at": np.int64,
    "valid_from": np.int64,
    "successor_rid": np.int64,
    "change_counter": np.int64,
    "bytes": np.int64,
    "cold_bytes": np.int64,
    "media_group": np.int64,
}
LOADED: Final = (
    "rid, id, tier, status, memory_type, coalesce(importance, estimate), fade_factor,"
    " coalesce(faded_at, 0), created_at, coalesce(last_recalled_at, 0), recall_count,"
    " success_count, failure_count, pinned, evergreen, coalesce(held_until, 0),"
    " coalesce(restored_at, 0), coalesce(expires_at, 0), coalesce(valid_from, 0),"
    " change_counter, bytes, text_bytes, embedding_dimensions, media_ref"
)
# What `LOADED` has between the id and what only helps to fill the rest, by column.
BETWEEN: Final = (
    "tier",
    "status",
    "memory_type",
    "importance",
    "fade_factor",
    "faded_at",
    "created_at",
    "last_recalled_at",
    "recall_count",
    "success_count",
    "failure_count",
    "pinned",
    "evergreen",
    "held_until",
    "restored_at",
    "expires_at",
    "valid_from",
    "change_counter",
    "bytes",
)
