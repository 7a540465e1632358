"""What a cycle of keeping, fading and pruning answers."""

from typing import Literal

from msgspec import Struct

from sidecar.model import MemoryType
from sidecar.reports import BrakeReport, TierCounts


class CycleDecision(Struct, rename="camel", kw_only=True):
    """What a cycle does, or did, with one memory. Importances are as `memory.get` shows them.

    `reason` is null for a memory that is simply kept. A kept one with a reason would have faded
    or gone, and `skipped` says what stopped it. `score` is the strength, null where unscored.
    `executed` is true for a fade or a prune that was carried out, `mediaDeleted` where the
    memory's file went to the trash with it.
    """

    record_id: str
    memory_type: MemoryType
    action: Literal["keep", "fade", "prune"]
    reason: str | None
    score: float | None
    media_deleted: bool
    old_importance: float | None
    new_importance: float | None
    executed: bool
    skipped: str | None


class ForgettingReport(Struct, rename="camel", kw_only=True):
    """The answer of forgetting.runCycle, the same for a dry run and a real one.

    Every counter is derived from the decisions on all `scanned` memories, of which `decisions`
    shows the first: what goes, what fades, what stays under pressure, the rest; the weakest
    first. In a real run `faded` and `pruned` count what was carried out, and `skippedRecords`
    what was planned and was not. `weakest` and `nearest` are examples for a reader: the weakest
    of those that stay, and the memories nearest to a threshold.
    """

    namespace: str
    run_id: str | None
    plan_id: str | None
    dry_run: bool
    trigger: str
    now: int
    policy_version: str
    before: TierCounts
    after: TierCounts
    scanned: int
    kept: int
    faded: int
    pruned: int
    media_deleted: int
    duplicates_flagged: int
    skipped_records: int
    skipped_media: int
    by_type: dict[str, dict[str, int]]
    by_reason: dict[str, dict[str, int]]
    by_skipped: dict[str, int]
    broken_chains: list[str]
    broken_chain_count: int
    brake: BrakeReport | None
    decisions: list[CycleDecision]
    decisions_truncated: bool
    weakest: list[CycleDecision]
    nearest: list[CycleDecision]
    bytes_reclaimed: int
    space_note: str | None
    duration_ms: float
