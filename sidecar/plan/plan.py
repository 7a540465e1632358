"""The values that planning takes and gives: a snapshot of columns, settings, and a plan.

Everything here is plain data. Arrays of one snapshot have one length and one order; arrays of
one plan have the length of its decisions, in the order in which they would be carried out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
UInt8 = NDArray[np.uint8]
Bool = NDArray[np.bool_]

# Actions of a decision, by target tier. Append only: journals hold the numbers.
SPILL: Final = 0
FORGET: Final = 1
THAW: Final = 2
RESTORE: Final = 3
FADE: Final = 4
ARCHIVE: Final = 5  # no longer believed, where it lies
REVIVE: Final = 6  # believed again, where it lies
ACTIONS: Final = ("spill", "forget", "thaw", "restore", "fade", "archive", "revive")
# Those that change a memory where it lies.
IN_PLACE: Final = (FADE, ARCHIVE, REVIVE)

# Why a decision was made. Append only: journals hold the numbers.
REASONS: Final = (
    "superseded",  # an older version with a newer one still believed
    "archived",  # set aside or held wrong
    "expired",
    "hot_over_threshold",
    "total_over_threshold",
    "disk_over_threshold",
    "called",  # the host's memory.forget or coldSpill
    "restored",
    "undone",
    "thawed",
    "likely_duplicate",  # another memory says the same
    "low_performance",  # a procedure that was tried and mostly failed
    "time_decay",  # weak by age
    "forgotten",  # of little use for long
)
# Those for which a memory is forgotten.
FORGETTING_REASONS: Final = REASONS[: REASONS.index("called") + 1]
REASON_CODE: Final = {name: code for code, name in enumerate(REASONS)}

Protection = Literal["pinned", "held", "evergreen", "head", "newborn", "restored", "unscored"]
PROTECTIONS: Final[tuple[Protection, ...]] = (
    "pinned",
    "held",
    "evergreen",
    "head",
    "newborn",
    "restored",
    "unscored",
)


def _no_rows() -> Int64:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every live (hot or cold) memory at one instant. Absent times are 0, times are ms.

    `importance` is the base (the host's or the estimate; may be NaN or out of range: such a
    row is unscored). `successor_rid` is 0 where nothing supersedes the memory, -1 where its
    successor does not exist, else the successor's row number, which may name a row that is not
    in the snapshot because it was forgotten. `media_group` is -1 or an index into
    `media_bytes`: memories of one group own one file together, counted once.
    `cold_bytes` is what the row is expected to take when cold.

    The `gone_*` columns are the links of forgotten memories that name a successor (row number,
    the successor's, when it was forgotten): a chain is followed through them, so that a head
    stays protected while an older version is here although the one between them went.
    """

    rid: Int64
    ids: Sequence[str]
    tier: UInt8
    status: UInt8
    memory_type: UInt8
    importance: Float64
    fade_factor: Float64
    faded_at: Int64
    created_at: Int64
    last_recalled_at: Int64
    recall_count: Int64
    success_count: Int64
    failure_count: Int64
    pinned: Bool
    evergreen: Bool
    held_until: Int64
    restored_at: Int64
    expires_at: Int64
    successor_rid: Int64
    change_counter: Int64
    bytes: Int64
    cold_bytes: Int64
    media_group: Int64
    media_bytes: Int64
    gone_rid: Int64 = field(default_factory=_no_rows)
    gone_successor_rid: Int64 = field(default_factory=_no_rows)
    gone_at: Int64 = field(default_factory=_no_rows)

    def __len__(self) -> int:
        return len(self.rid)


@dataclass(frozen=True, slots=True)
class Policy:
    """Exponents of the sweep score `value^alpha * retention^gamma * recency^rho * status`.

    `version` names the formula, the exponents and the estimator: a plan is bound to it.
    """

    name: str
    alpha: float
    gamma: float
    rho: float
    version: str


@dataclass(frozen=True, slots=True)
class CascadeSettings:
    """What bounds one sweep of one namespace. Counts are memories, `*_days` are days."""

    threshold_count: int = 10_000
    threshold_total: int = 100_000
    threshold_disk_bytes: int = 2_000_000_000
    low_watermark: float = 0.9
    weak_strength: float = 0.05
    idle_days_min: float = 7.0
    newborn_days: float = 1.0
    restore_grace_days: float = 30.0
    forget_active: bool = True
    brake_share: float = 0.2


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage of a sweep: `crossed` says which thresholds, `selected` how many decisions.

    `shortfall` is how many memories (or bytes, for disk) are still over the watermark because
    candidates ran out; 0 where the brake stopped the stage before that (`braked`).
    """

    stage: int
    crossed: tuple[Literal["count", "total", "disk"], ...]
    selected: int
    shortfall_memories: int = 0
    shortfall_bytes: int = 0
    braked: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """Memories a tier and live bytes, before or after."""

    hot: int
    cold: int
    forgotten: int
    live_bytes: int

    @property
    def total(self) -> int:
        """Hot and cold memories."""
        return self.hot + self.cold


@dataclass(frozen=True, slots=True)
class Brake:
    """What the brake allowed: `allowed` more memories now; None where it is off."""

    share: float
    forgotten_in_window: int
    allowed: int | None
    engaged: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions of one run before it happens, a value.

    `action` and `reason` index ACTIONS and REASONS. `parts` are the factors of the score.
    `change_counter` is the memory's counter at planning: at apply any other value means the
    record changed since and is skipped. `protected` counts the memories under pressure that a
    protection kept, by kind; `unscored_ids` names the first of the unscored ones.
    """

    kind: str
    now: int
    policy: Policy
    mode: Literal["normal", "strict"]
    rid: Int64
    ids: Sequence[str]
    action: UInt8
    reason: UInt8
    from_tier: UInt8
    score: Float64
    strength: Float64
    value: Float64
    retention: Float64
    recency: Float64
    change_counter: Int64
    bytes_freed: Int64
    before: Counts
    after: Counts
    stages: tuple[StagePlan, ...] = ()
    protected: dict[str, int] = field(default_factory=dict[str, int])
    unscored: int = 0
    unscored_ids: tuple[str, ...] = ()
    kept: int = 0
    brake: Brake | None = None

    def __len__(self) -> int:
        return len(self.rid)
