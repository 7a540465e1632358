"""What bounds one cycle of keeping, fading and pruning."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from sidecar.model import MEMORY_TYPES
from sidecar.plan.plan import Float64, UInt8

_TYPE_LAST: Final = len(MEMORY_TYPES) - 1


@dataclass(frozen=True, slots=True)
class CycleSettings:
    """The numbers of the cycle. Thresholds are of strength and strict, `*_days` are days.

    Whoever makes one has checked the values: `sidecar.cycle_config` does.
    """

    fade_factor: float = 0.5
    fade_floor: float = 0.01
    semantic_prune_threshold: float = 0.05
    semantic_fade_threshold: float = 0.15
    episodic_prune_threshold: float = 0.05
    episodic_fade_threshold: float = 0.20
    procedural_prune_threshold: float = 0.05
    procedural_fade_threshold: float = 0.15
    semantic_duplicate_threshold: float = 0.95
    procedural_low_perf_wilson_threshold: float = 0.1
    procedural_low_perf_min_outcomes: int = 10
    fade_interval_days: float = 7.0
    duplicate_guard: bool = True

    def prune_thresholds(self, memory_type: UInt8) -> Float64:
        """The strength of each row below which its type is pruned."""
        return _by_type(
            memory_type,
            self.semantic_prune_threshold,
            self.episodic_prune_threshold,
            self.procedural_prune_threshold,
        )

    def fade_thresholds(self, memory_type: UInt8) -> Float64:
        """The strength of each row below which its type fades."""
        return _by_type(
            memory_type,
            self.semantic_fade_threshold,
            self.episodic_fade_threshold,
            self.procedural_fade_threshold,
        )


def _by_type(memory_type: UInt8, *values: float) -> Float64:
    """One of the values a row, by position in MEMORY_TYPES; an unknown type has the last."""
    return np.array(values)[np.minimum(memory_type, _TYPE_LAST)]
