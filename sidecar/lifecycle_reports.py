"""What active forgetting answers, and what is told of memories that are not believed."""

from msgspec import Struct

from sidecar.model import MemoryType, Status, Tier
from sidecar.reports import BrakeReport


class ForgetCandidate(Struct, rename="camel", kw_only=True):
    """A memory that is low, stale and unloved, and what becomes of it.

    `usefulness` is what hosts said of it a use; its age counts from `staleSince`. `skipped` says
    what keeps it all the same; `executed` is true where it was archived.
    """

    id: str
    memory_type: MemoryType
    tier: Tier
    usefulness: float
    use_count: int
    stale_since: int
    age_days: float
    executed: bool
    skipped: str | None


class ForgetSummary(Struct, rename="camel", kw_only=True):
    """The answer of lifecycle.forget, the same for a dry run and a real one.

    All counters are derived from the decisions on all `candidateCount` candidates, of which
    `candidates` shows the first: the least useful first. `archived` are those that a real run set
    aside, or that a dry run would; `skipped` those that a protection, the brake or a change since
    planning keeps; `failed` those that a fault stopped. `forced` is true where the operator ran
    it although `forget_enabled` is off.
    """

    namespace: str
    run_id: str | None
    plan_id: str | None
    dry_run: bool
    trigger: str
    now: int
    policy_version: str
    forget_enabled: bool
    forced: bool
    usefulness_floor: float
    min_age_days: float
    protect_use_count: int
    harmful_floor: float
    scanned: int
    unscored: int
    candidate_count: int
    archived: int
    skipped: int
    failed: int
    by_skipped: dict[str, int]
    brake: BrakeReport | None
    candidates: list[ForgetCandidate]
    candidates_truncated: bool
    duration_ms: float


class ReasonText(Struct, rename="camel", kw_only=True):
    """A text of a host that is none of the reasons, and how many memories have it."""

    text: str
    count: int


class ReasonCounts(Struct, rename="camel", kw_only=True):
    """The answer of lifecycle.invalidationsByReason: memories of every tier that are not believed.

    `reasons` counts each reason, those of none as 0; a text that is none of them counts as
    `manual`, and `texts` shows the most frequent of these as they are written. `statuses` counts
    the same memories by what is believed of them.
    """

    namespace: str
    total: int
    reasons: dict[str, int]
    statuses: dict[Status, int]
    texts: list[ReasonText]
    texts_truncated: bool


class ArchivedMemory(Struct, rename="camel", kw_only=True):
    """A memory that was archived by forgetting. `runId` is the run that did it, if one did."""

    id: str
    memory_type: MemoryType
    tier: Tier
    archived_at: int
    reason: str
    run_id: str | None
    use_count: int
    usefulness_score: float
    last_useful_at: int | None
    created_at: int


class ArchivedPage(Struct, rename="camel", kw_only=True):
    """A page of archived memories, newest first. `cursor` is null on the last one."""

    memories: list[ArchivedMemory]
    cursor: str | None
