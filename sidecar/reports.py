"""What the daemon answers about plans, runs and itself: typed results of methods."""

from typing import Any, Literal

from msgspec import Struct

from sidecar.media_reports import MediaOutcome, MediaReport
from sidecar.model import ExportedMemory, Memory, RecalledMemory, Tier
from sidecar.review_reports import ReviewCounts

Action = Literal["spill", "forget", "thaw", "restore", "fade", "archive", "revive", "prune", "keep"]
RestoreOutcome = Literal[
    "restored",
    "already_here",
    "superseded",
    "invalidated",
    "expired",
    "changed",
    "conflict",
    "destroyed",
    "unknown",
]
ForgetAnswer = Literal[
    "forgotten", "already_forgotten", "unknown", "protected", "changed", "corrupt"
]


class TierCounts(Struct, rename="camel", kw_only=True):
    """Memories by tier and bytes by kind at one instant."""

    hot: int
    cold: int
    forgotten: int
    total: int
    live_bytes: int
    overhead_bytes: int


class ScoreParts(Struct, rename="camel", kw_only=True):
    """The factors of a sweep score (null where the memory is unscored)."""

    value: float | None
    retention: float | None
    recall_recency: float | None
    status_factor: int


class Decision(Struct, rename="camel", kw_only=True):
    """What a run does, or did, with one memory. `outcome` is null until it was tried.

    Only a kept memory of a cycle's plan has no reason; its `outcome` says what stopped one.
    """

    id: str
    action: Action
    reason: str | None
    from_tier: Tier
    score: float | None
    strength: float | None
    parts: ScoreParts | None
    outcome: str | None = None


class Skipped(Struct, rename="camel", kw_only=True):
    """A memory that was planned and not moved, and why."""

    id: str
    why: str


class StageReport(Struct, rename="camel", kw_only=True):
    """One stage of a sweep. `crossed` names the thresholds: count, total, disk."""

    stage: int
    crossed: list[str]
    selected: int
    moved: int
    skipped: int


class Shortfall(Struct, rename="camel", kw_only=True):
    """How much is still over the low watermark when candidates ran out."""

    memories: int
    bytes: int


class BrakeReport(Struct, rename="camel", kw_only=True):
    """The limit on mass loss in a rolling day. `allowed` is null where the brake is off."""

    share: float
    forgotten_in_window: int
    allowed: int | None
    engaged: bool


class SweepReport(Struct, rename="camel", kw_only=True):
    """The answer of forgetSweep and coldSpill, the same for a dry run and a real one."""

    namespace: str
    run_id: str | None
    plan_id: str | None
    dry_run: bool
    trigger: str
    now: int
    policy: str
    policy_version: str
    mode: str
    before: TierCounts
    after: TierCounts
    thresholds: dict[str, Any]
    stages: list[StageReport]
    decisions: list[Decision]
    decisions_truncated: bool
    counts: dict[str, int]
    kept: int
    skipped: list[Skipped]
    skipped_count: int
    protected: dict[str, int]
    unscored: int
    unscored_ids: list[str]
    shortfall: Shortfall | None
    brake: BrakeReport | None
    bytes_planned: int
    bytes_reclaimed: int
    media: MediaReport | None
    space_note: str | None
    duration_ms: float


class RunSummary(Struct, rename="camel", kw_only=True):
    """One run of the ledger."""

    run_id: str
    kind: str
    trigger: str
    state: Literal["running", "finished", "undone"]
    planned_at: int
    started_at: int
    finished_at: int | None
    policy: str | None
    policy_version: str | None
    decisions: int
    moved: int
    skipped: int
    undone_by: str | None
    undoes: str | None


class RestoreResult(Struct, rename="camel", kw_only=True):
    """What became of one id that was to be restored."""

    id: str
    result: RestoreOutcome
    tier: Tier | None
    media: MediaOutcome | None


class RestoreReport(Struct, rename="camel", kw_only=True):
    """The answer of memory.restore and runs.undo. `counts` is derived from all results."""

    namespace: str
    run_id: str | None
    results: list[RestoreResult]
    results_truncated: bool
    counts: dict[str, int]
    paused: bool
    duration_ms: float


class PutManyItem(Struct, rename="camel", kw_only=True):
    """One member of a putMany: its id and what happened; `error` only in a partial call."""

    id: str | None
    result: Literal["created", "replaced", "skipped", "failed"]
    error: dict[str, Any] | None = None


class PutManyReport(Struct, rename="camel", kw_only=True):
    """The answer of putMany, in the order of the call."""

    results: list[PutManyItem]
    created: int
    replaced: int
    skipped: int
    failed: int


class MemoryList(Struct, rename="camel", kw_only=True):
    """One page of memories; `cursor` is null on the last page."""

    memories: list[Memory]
    cursor: str | None


class DecisionPage(Struct, rename="camel", kw_only=True):
    """One page of a run's or a plan's decisions; `cursor` is null on the last page."""

    decisions: list[Decision]
    cursor: str | None
    total: int


class ThresholdValue(Struct, rename="camel", kw_only=True):
    """One setting in force and where it comes from: default, open, set or config."""

    value: float | int | bool
    origin: Literal["default", "open", "set", "config"]


class Pause(Struct, rename="camel", kw_only=True):
    """Why automatic runs stand still, and until when (null: until thresholds.resume)."""

    reason: str
    until: int | None


class ThresholdsReport(Struct, rename="camel", kw_only=True):
    """The settings in force, the distance to each threshold, and what stops automatic runs."""

    namespace: str
    thresholds: dict[str, ThresholdValue]
    crossed: list[str]
    paused: list[Pause]
    stage_two_not_before: int | None


class EstimateReport(Struct, rename="camel", kw_only=True):
    """The answer of estimate.refresh: the memories that another estimator had judged."""

    namespace: str
    dry_run: bool
    estimator_version: str
    refreshed: int
    raised: int
    lowered: int
    damaged: int
    duration_ms: float


class OpenReport(Struct, rename="camel", kw_only=True):
    """The answer of namespaces.open."""

    namespace: str
    created: bool
    thresholds: dict[str, Any]
    thresholds_differ: dict[str, Any]


class NamespaceStatus(Struct, rename="camel", kw_only=True):
    """One namespace in a status answer. `alarms` are short sentences for an operator."""

    namespace: str
    counts: TierCounts
    thresholds: ThresholdsReport
    read_only: str | None
    unscored: int
    corrupt: int
    unknown_segments: list[str]
    running: str | None
    last_run: RunSummary | None
    alarms: list[str]
    review: ReviewCounts
    state_hash: str | None = None


class RecallReport(Struct, rename="camel", kw_only=True):
    """The answer of memory.recall, best first. `coldScanned` counts the cold ones looked at."""

    results: list[RecalledMemory]
    depth: Literal["hot", "deep"]
    cold_scanned: int


class StreamReset(Struct, rename="camel", kw_only=True):
    """What the event `reset` of a stream tells: the events that there are, by number."""

    oldest: int
    latest: int


class TouchReport(Struct, rename="camel", kw_only=True):
    """The answer of memory.touch: how many were touched, and the ids that nobody has."""

    touched: int
    unknown: list[str]


class ForgetResult(Struct, rename="camel", kw_only=True):
    """What became of one id that was to be forgotten."""

    id: str
    result: ForgetAnswer


class ForgetReport(Struct, rename="camel", kw_only=True):
    """The answer of memory.forget. `runId` is null where nothing was there to forget."""

    run_id: str | None
    forgotten: int
    results: list[ForgetResult]
    media: MediaReport


class ImportFault(Struct, rename="camel", kw_only=True):
    """One member of an import that could not be stored: its position, field and reason."""

    index: int
    field: str | None
    message: str


class ImportReport(Struct, rename="camel", kw_only=True):
    """The answer of memory.import."""

    created: int
    skipped: int
    replaced: int
    failed: int
    errors: list[ImportFault]


class ExportPage(Struct, rename="camel", kw_only=True):
    """One page of an export; `cursor` is null on the last page.

    A memory that changed since it was given comes again: the later one counts. `stateHash`, on
    the last page, is the state hash of a namespace that holds just what was exported; it is null
    where that cannot be said: a memory is damaged, or left the exported tiers meanwhile.
    `damaged` names memories of this page that cannot be read and are left out. `again` counts
    the last lines of this page that may repeat an earlier one.
    """

    lines: list[ExportedMemory]
    again: int
    cursor: str | None
    state_hash: str | None
    damaged: list[str]


class LoggedEvent(Struct, rename="camel", kw_only=True):
    """One event of the log; `payload` has what changed, or what its kind tells."""

    seq: int
    at: int
    run_id: str | None
    kind: str
    memory_id: str | None
    payload: dict[str, Any]


class EventPage(Struct, rename="camel", kw_only=True):
    """Events in order.

    `latest` is the newest number that was given. `oldest` is the first one that was not folded:
    what came before it is in the log no more.
    """

    events: list[LoggedEvent]
    latest: int
    oldest: int


class RunPage(Struct, rename="camel", kw_only=True):
    """One page of runs, newest first; `cursor` is null on the last page."""

    runs: list[RunSummary]
    cursor: str | None


class RunDetail(Struct, rename="camel", kw_only=True):
    """One run and the report it ended with (null while it is running)."""

    run: RunSummary
    report: dict[str, Any] | None


class NamespaceListing(Struct, rename="camel", kw_only=True):
    """One namespace in a listing, with its memories by tier as last counted."""

    namespace: str
    open: bool
    hot: int
    cold: int
    forgotten: int
