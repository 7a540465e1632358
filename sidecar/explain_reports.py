"""What is answered about one memory's prospects: each policy, the cycle, and the times to come."""

from typing import Literal

from msgspec import Struct

from sidecar.model import Tier
from sidecar.reports import ScoreParts


class PolicyExplanation(Struct, rename="camel", kw_only=True):
    """How one policy sees one memory. `rank` 1 is the first to go; null where unscored."""

    policy: str
    policy_version: str
    stage: int
    candidate: bool
    why: str
    score: float | None
    strength: float | None
    parts: ScoreParts | None
    protections: list[str]
    rank: int | None
    of: int


class CycleExplanation(Struct, rename="camel", kw_only=True):
    """What a cycle that ran now would do with one memory.

    A kept one with a reason would have faded or gone, and `skipped` says what stopped it. Score
    and importances are null where the memory is unscored; thresholds are those of its type.
    `enabled` says whether the timer runs cycles. `survivor` is the memory that stands for a
    duplicate; where `duplicatesSearched` is false, it was not looked for one.
    """

    enabled: bool
    policy_version: str
    action: Literal["keep", "fade", "prune"]
    reason: str | None
    skipped: str | None
    why: str
    score: float | None
    prune_threshold: float
    fade_threshold: float
    old_importance: float | None
    new_importance: float | None
    survivor: str | None
    duplicates_searched: bool


class LifecycleExplanation(Struct, rename="camel", kw_only=True):
    """What active forgetting that ran now would do with one memory.

    `candidate`: it is low, stale and unloved; `skipped` is what keeps it all the same. `enabled`
    says whether the config file allows a real run.
    """

    enabled: bool
    policy_version: str
    action: Literal["archive", "keep"]
    candidate: bool
    skipped: str | None
    why: str
    usefulness: float | None
    use_count: int
    age_days: float


class CrossingReport(Struct, rename="camel", kw_only=True):
    """When a memory that is never used again comes below one threshold; null is never.

    A time that is past says since when. `bound` is a strength, null where time is what is over.
    """

    threshold: Literal["weak", "expiry", "fade", "prune"]
    bound: float | None
    crossed_at: int | None
    acts_at: int | None
    why: str


class EstimateExplanation(Struct, rename="camel", kw_only=True):
    """Why a text is estimated as it is: 0.1 + `value` + `standing`, to four decimals.

    `words` counts the different words by kind, `sentences` the sentences by kind.
    """

    value: float
    standing: float
    length: float
    words: dict[str, int]
    sentences: dict[str, int]


class Explanation(Struct, rename="camel", kw_only=True):
    """The answer of memory.explain. What was not asked for is empty or null.

    `crossings` begin with the threshold that is nearest to the memory's strength.
    """

    id: str
    now: int
    tier: Tier
    importance_source: str
    estimate: float
    estimator_version: str
    estimate_parts: EstimateExplanation | None
    policies: list[PolicyExplanation]
    crossings: list[CrossingReport]
    cycle: CycleExplanation | None = None
    lifecycle: LifecycleExplanation | None = None
