"""What destroying for good is asked for and answers, as the wire shows it."""

import time
from typing import Any, Literal

from msgspec import Struct

from sidecar.model import Tier

DestroyReason = Literal["aged", "run", "erased", "replaced", "standing_order"]


class GcRefusal(Struct, rename="camel", kw_only=True):
    """A memory that was named, or is old enough, and is not destroyed, and why."""

    id: str
    why: Literal["held", "not_forgotten", "too_young", "replacement_missing"]


class GcSample(Struct, rename="camel", kw_only=True):
    """One memory of a plan. Its words are not shown: who reads a plan need not read them."""

    id: str
    tier: Tier
    forgotten_at: int | None
    created_at: int
    bytes: int


class GcPlanReport(Struct, rename="camel", kw_only=True):
    """What would be destroyed. `token` carries it out, once; null where there is nothing to do."""

    namespace: str
    token: str | None
    expires_at: int | None
    whole_namespace: bool
    reason: DestroyReason
    older_than_days: float
    memories: int
    tiers: dict[str, int]
    bytes: int
    oldest: int | None
    newest: int | None
    media: int
    sample: list[GcSample]
    refused: list[GcRefusal]
    refused_count: int


class GcLeft(Struct, rename="camel", kw_only=True):
    """A planned memory that stayed, and why. The id is null where the memory is gone."""

    id: str | None
    why: Literal["changed", "held", "gone", "unreadable", "disk_full"]


class GcFinding(Struct, rename="camel", kw_only=True):
    """Something that is still there. `where` is a table, or a file of the namespace."""

    where: str
    what: str


class GcVerification(Struct, rename="camel", kw_only=True):
    """Whether anything is left, by decoding everything and by the raw bytes of every file.

    `texts` of `textsOf` contents, metadata and vectors were long enough, and few enough, to be
    searched for. `shared` are memories that hold the same words of their own.
    """

    clean: bool
    left: list[GcFinding]
    shared: list[str]
    texts: int
    texts_of: int
    files: int
    bytes: int
    not_reached: list[str]


class GcReport(Struct, rename="camel", kw_only=True):
    """What was destroyed. `runId` is null, and nothing verified, after deleting a namespace."""

    namespace: str
    run_id: str | None
    whole_namespace: bool
    destroyed: int
    left: list[GcLeft]
    left_count: int
    media_removed: int
    backups_removed: list[str]
    bytes_reclaimed: int
    notes: list[str]
    verification: GcVerification | None
    duration_ms: float


def whole_report(namespace: str, memories: int, size: int, started: float) -> GcReport:
    """The report of a namespace that is no more. `started` is a monotonic time in seconds."""
    return GcReport(
        namespace=namespace,
        run_id=None,
        whole_namespace=True,
        destroyed=memories,
        left=[],
        left_count=0,
        media_removed=0,
        backups_removed=[],
        bytes_reclaimed=size,
        notes=[],
        verification=None,
        duration_ms=round((time.monotonic() - started) * 1000, 3),
    )


class GcRequest(Struct, frozen=True, kw_only=True):
    """What an operator asks to be planned."""

    older_than_days: float
    ids: tuple[str, ...] | None = None
    run_id: str | None = None
    replaced_by: str | dict[str, Any] | None = None
    standing_order: bool = False
