"""Strength: how well a memory is held at one instant, computed from its columns.

    days      = max(0, now - last use) / one day; last use is the last recall, or the creation
    value     = importance, 0 where the memory is superseded
    decay     = DECAY_PER_DAY[type] * (1 - 0.85 * value)
    retention = fade factor * exp(-decay * days) * min(2, 1 + 0.2 * recalls) * outcomes
    strength  = value * retention, held between 0.01 and 1

`outcomes` is 1, except for a procedural memory that was tried: min(1, 0.5 + u), where u is the
upper bound of its success rate. An upper bound, so that one success more never weakens.

A score is always computed at `now` from stored values and never stored as a new base. A row
with an impossible value is *unscored*: nothing is known of it, so nothing may happen to it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from sidecar.limits import FUTURE_TOLERANCE_MS, MILLISECONDS_PER_DAY, TIME_MIN_MS
from sidecar.model import MEMORY_TYPES, PROCEDURAL, STATUSES, SUPERSEDED

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
UInt8 = NDArray[np.uint8]
Bool = NDArray[np.bool_]

FORMULA_VERSION: Final = "1"  # rises with any change that can change a score

DECAY_PER_DAY: Final = (0.08, 0.08, 0.04)  # by position in MEMORY_TYPES
DECAY_SHIELD: Final = 0.85  # the share of the decay that full importance takes away
RECALL_GAIN: Final = 0.2
RECALL_GAIN_MAX: Final = 2.0
STRENGTH_MIN: Final = 0.01
STRENGTH_MAX: Final = 1.0
OUTCOME_BASE: Final = 0.5
RECENCY_DAYS: Final = 30.0
WILSON_Z: Final = 1.959963984540054  # two-sided 95 %

_DECAYS: Final = np.array(DECAY_PER_DAY)


class StrengthColumns(Protocol):
    """The columns that strength reads, of one length. A time of 0 is never."""

    @property
    def importance(self) -> Float64:
        """The base, from 0 to 1: the host's, or the estimate."""
        ...

    @property
    def fade_factor(self) -> Float64:
        """What fading left, from 0 to 1."""
        ...

    @property
    def created_at(self) -> Int64:
        """When it was created, ms."""
        ...

    @property
    def last_recalled_at(self) -> Int64:
        """When it was last recalled, ms."""
        ...

    @property
    def recall_count(self) -> Int64:
        """How often it was recalled."""
        ...

    @property
    def success_count(self) -> Int64:
        """How often it led to success."""
        ...

    @property
    def failure_count(self) -> Int64:
        """How often it led to failure."""
        ...

    @property
    def memory_type(self) -> UInt8:
        """Positions in MEMORY_TYPES."""
        ...

    @property
    def status(self) -> UInt8:
        """Positions in STATUSES."""
        ...


@dataclass(frozen=True, slots=True)
class StrengthParts:
    """Strength and its factors, row by row. Every number is finite, whatever came in.

    An unscored row carries 1 in every factor (it counts as held best) and `scored` False.
    """

    value: Float64
    retention: Float64
    recall_recency: Float64
    strength: Float64
    scored: Bool


def strength_parts(
    columns: StrengthColumns, now: int, status: UInt8 | None = None
) -> StrengthParts:
    """The strength of every row at `now` (ms), with its factors.

    `status` replaces the stored status where the caller knows better, as a chain does of a
    memory whose successor is no longer there.
    """
    status = columns.status if status is None else status
    scored = scored_rows(columns, now)
    unscored = ~scored
    value = columns.importance.copy()
    value[status == SUPERSEDED] = 0.0
    value[unscored] = 1.0
    last_use = last_use_of(columns)
    last_use[unscored] = now
    days = np.maximum(now - last_use, 0) / MILLISECONDS_PER_DAY
    decay = _DECAYS[np.minimum(columns.memory_type, len(_DECAYS) - 1)]
    decay *= 1.0 - DECAY_SHIELD * value
    retention = np.exp(-decay * days)
    retention *= np.where(scored, columns.fade_factor, 1.0)
    retention *= np.minimum(RECALL_GAIN_MAX, 1.0 + RECALL_GAIN * columns.recall_count)
    _apply_outcomes(columns, retention)
    retention[unscored] = 1.0
    return StrengthParts(
        value=value,
        retention=retention,
        recall_recency=1.0 / (1.0 + days / RECENCY_DAYS),
        strength=np.clip(value * retention, STRENGTH_MIN, STRENGTH_MAX),
        scored=scored,
    )


def scored_rows(columns: StrengthColumns, now: int) -> Bool:
    """True where every value is possible: only such a row can be called weak."""
    return true_in_all(possible_values(columns, now).values())


def true_in_all(columns: Iterable[Bool]) -> Bool:
    """Where every one of some columns is true; there is at least one."""
    first, *others = columns
    together = first.copy()
    for column in others:
        together &= column
    return together


def possible_values(columns: StrengthColumns, now: int) -> dict[str, Bool]:
    """By the name of a field, whether each row's value of it is possible at `now` (ms).

    Importance and fade factor from 0 to 1, no NaN; counts not negative; a creation time, and a
    last recall or none, from the year 2000 until one day after `now`; a known type and status.
    """
    latest = now + FUTURE_TOLERANCE_MS
    made, recalled = columns.created_at, columns.last_recalled_at
    return {
        "importance": (columns.importance >= 0.0) & (columns.importance <= 1.0),
        "fadeFactor": (columns.fade_factor >= 0.0) & (columns.fade_factor <= 1.0),
        "createdAt": (made >= TIME_MIN_MS) & (made <= latest),
        "lastRecalledAt": (recalled == 0) | ((recalled >= TIME_MIN_MS) & (recalled <= latest)),
        "recallCount": columns.recall_count >= 0,
        "successCount": columns.success_count >= 0,
        "failureCount": columns.failure_count >= 0,
        "memoryType": columns.memory_type < len(MEMORY_TYPES),
        "status": columns.status < len(STATUSES),
    }


def last_use_of(columns: StrengthColumns) -> Int64:
    """When each row was last used, ms: its last recall, or its creation."""
    return np.where(columns.last_recalled_at == 0, columns.created_at, columns.last_recalled_at)


def wilson_upper(successes: Float64, failures: Float64) -> Float64:
    """The upper bound of each success rate, Wilson 95 %. Every row has at least one outcome."""
    tries = successes + failures
    square = WILSON_Z * WILSON_Z
    spread = WILSON_Z * np.sqrt(successes * (failures / tries) + square / 4.0)
    return (successes + square / 2.0 + spread) / (tries + square)


def wilson_lower(successes: Float64, failures: Float64) -> Float64:
    """The lower bound of each success rate, Wilson 95 %. Every row has at least one outcome."""
    tries = successes + failures
    square = WILSON_Z * WILSON_Z
    spread = WILSON_Z * np.sqrt(successes * (failures / tries) + square / 4.0)
    # Without a success both terms are equal: what rounding leaves is held at nothing.
    return np.maximum(0.0, (successes + square / 2.0 - spread) / (tries + square))


def _apply_outcomes(columns: StrengthColumns, retention: Float64) -> None:
    """Multiply in the outcomes of the procedural rows that were tried (usually few)."""
    successes, failures = columns.success_count, columns.failure_count
    tried = (successes >= 0) & (failures >= 0) & ((successes > 0) | (failures > 0))
    rows = np.flatnonzero((columns.memory_type == PROCEDURAL) & tried)
    upper = wilson_upper(successes[rows].astype(np.float64), failures[rows].astype(np.float64))
    retention[rows] *= np.minimum(1.0, OUTCOME_BASE + upper)


def strength_of(
    *,
    importance: float,
    fade_factor: float,
    created_at: int,
    last_recalled_at: int,
    recall_count: int,
    success_count: int,
    failure_count: int,
    memory_type: int,
    superseded: bool,
    now: int,
) -> float | None:
    """The strength of one memory at `now` (ms), the same number as `strength_parts` gives.

    `last_recalled_at` 0 is never; `memory_type` is a position in MEMORY_TYPES. None where the
    memory is unscored.
    """
    latest = now + FUTURE_TOLERANCE_MS
    possible = (
        0.0 <= importance <= 1.0
        and 0.0 <= fade_factor <= 1.0
        and TIME_MIN_MS <= created_at <= latest
        and (last_recalled_at == 0 or TIME_MIN_MS <= last_recalled_at <= latest)
        and min(recall_count, success_count, failure_count) >= 0
        and 0 <= memory_type < len(MEMORY_TYPES)
    )
    if not possible:
        return None
    value = 0.0 if superseded else importance
    days = max(0, now - (last_recalled_at or created_at)) / MILLISECONDS_PER_DAY
    held = math.exp(-decay_of(value, memory_type) * days) * held_at_use(
        value=value,
        fade_factor=fade_factor,
        recall_count=recall_count,
        success_count=success_count,
        failure_count=failure_count,
        memory_type=memory_type,
    )
    return min(STRENGTH_MAX, max(STRENGTH_MIN, held))


def decay_of(value: float, memory_type: int) -> float:
    """The decay a day of a memory of this value; `memory_type` as in `strength_of`."""
    return DECAY_PER_DAY[memory_type] * (1.0 - DECAY_SHIELD * value)


def held_at_use(
    *,
    value: float,
    fade_factor: float,
    recall_count: int,
    success_count: int,
    failure_count: int,
    memory_type: int,
) -> float:
    """What is held at the instant of the last use: the strength before decay and bounds."""
    held = value * fade_factor * min(RECALL_GAIN_MAX, 1.0 + RECALL_GAIN * recall_count)
    if memory_type == PROCEDURAL and (success_count or failure_count):
        outcomes = np.array([success_count, failure_count], dtype=np.float64)
        held *= min(1.0, OUTCOME_BASE + float(wilson_upper(outcomes[:1], outcomes[1:])[0]))
    return held


def below_after_ms(bound: float, *, held: float, decay: float) -> int | None:
    """How long after its last use a memory's strength first is below `bound`, ms.

    `held` is what was held then, `decay` that of a day. 0 where it was below at once; None where
    it never is: no strength is below STRENGTH_MIN.
    """
    if bound <= STRENGTH_MIN:
        return None
    if held < bound:
        return 0
    return math.floor(math.log(held / bound) / decay * MILLISECONDS_PER_DAY) + 1
