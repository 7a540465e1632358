"""A cycle before it happens: one decision for every live memory, a value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sidecar.model import MEMORY_TYPES
from sidecar.plan.cycle_settings import CycleSettings
from sidecar.plan.order import first_in_order
from sidecar.plan.plan import (
    PROTECTIONS,
    REASONS,
    Bool,
    Brake,
    Counts,
    Float64,
    Int64,
    Policy,
    UInt8,
)
from sidecar.plan.review import GuardedPair
from sidecar.strength import FORMULA_VERSION

# What becomes of a memory. Codes of a plan in RAM; a journal has those of plan.ACTIONS.
KEPT: Final = 0
FADED: Final = 1
PRUNED: Final = 2
CYCLE_ACTIONS: Final = ("keep", "fade", "prune")

# Why a memory under pressure stays as it is.
SKIPPED: Final = (*PROTECTIONS, "guarded", "fade_interval", "at_floor", "braked")
SKIPPED_CODE: Final = {kind: code for code, kind in enumerate(SKIPPED)}

NONE: Final = 255  # in `reason` and `skipped`: there is none

# A cycle orders by what is left of a memory's value, and by nothing else.
CYCLE_POLICY: Final = Policy("cycle", 1.0, 1.0, 0.0, f"cycle; formula {FORMULA_VERSION}")


@dataclass(frozen=True, slots=True)
class CyclePlan:
    """The decision on every live memory at `now` (ms), in order of row number.

    `action` indexes CYCLE_ACTIONS; `reason` indexes REASONS and `skipped` SKIPPED, or is NONE.
    A kept memory with a reason is one that the reason would have faded or pruned, and `skipped`
    says what stopped it. `score` is the strength, NaN where unscored. Importances are as shown;
    `new_fade_factor` is what a fade stores so that the new one shows. `flagged` are the members
    of a component of duplicates in which the guard found a difference. `change_counter` is the
    memory's counter at planning. `broken_chain_ids` names the first of `broken_chains` memories
    whose supersession leads nowhere. `guarded` are the first pairs that the guard kept apart.
    """

    now: int
    settings: CycleSettings
    rid: Int64
    ids: Sequence[str]
    memory_type: UInt8
    from_tier: UInt8
    action: UInt8
    reason: UInt8
    skipped: UInt8
    score: Float64
    old_fade_factor: Float64
    old_importance: Float64
    new_importance: Float64
    new_fade_factor: Float64
    survivor_rid: Int64
    flagged: Bool
    change_counter: Int64
    bytes_freed: Int64
    before: Counts
    after: Counts
    brake: Brake
    broken_chains: int = 0
    broken_chain_ids: tuple[str, ...] = ()
    guarded: tuple[GuardedPair, ...] = ()

    def __len__(self) -> int:
        return len(self.rid)

    @property
    def policy(self) -> Policy:
        """What a plan is bound to."""
        return CYCLE_POLICY

    def rows_of(self, action: int) -> Int64:
        """The places of all decisions with this action."""
        return np.flatnonzero(self.action == action)

    def counts(self) -> dict[str, int]:
        """How many memories are kept, faded and pruned, by name of the action."""
        return _tally(self.action, CYCLE_ACTIONS)

    def counts_by_type(self) -> dict[str, dict[str, int]]:
        """The counts of each memory type. An impossible type counts as the last one."""
        types = np.minimum(self.memory_type, len(MEMORY_TYPES) - 1)
        return {
            name: _tally(self.action[types == code], CYCLE_ACTIONS)
            for code, name in enumerate(MEMORY_TYPES)
        }

    def counts_by_reason(self) -> dict[str, dict[str, int]]:
        """The counts of each reason that occurs, kept memories under pressure included."""
        return {
            REASONS[code]: _tally(self.action[self.reason == code], CYCLE_ACTIONS)
            for code in np.unique(self.reason).tolist()
            if code != NONE
        }

    def counts_by_skipped(self) -> dict[str, int]:
        """How many memories each kind of SKIPPED kept; only kinds that occur."""
        told = _tally(self.skipped[self.skipped != NONE], SKIPPED)
        return {kind: count for kind, count in told.items() if count}

    def reason_name(self, at: int) -> str | None:
        """Why the decision at this place was made, or would have been."""
        code = int(self.reason[at])
        return None if code == NONE else REASONS[code]

    def skipped_name(self, at: int) -> str | None:
        """What stopped the decision at this place."""
        code = int(self.skipped[at])
        return None if code == NONE else SKIPPED[code]

    def weakest(self, action: int, count: int) -> Int64:
        """The places of the weakest memories with this action, weakest first, then by id."""
        rows = np.flatnonzero((self.action == action) & ~np.isnan(self.score))
        return first_in_order(rows, count, (self.score,), self.ids)

    def nearest(self, count: int) -> Int64:
        """The places of the scored memories whose strength is nearest to a threshold."""
        distance = np.minimum(
            np.abs(self.score - self.settings.prune_thresholds(self.memory_type)),
            np.abs(self.score - self.settings.fade_thresholds(self.memory_type)),
        )
        rows = np.flatnonzero(~np.isnan(distance))
        return first_in_order(rows, count, (distance,), self.ids)


def _tally(codes: UInt8, names: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(names))
    return {name: int(count) for name, count in zip(names, counts, strict=True)}
