"""Estimated importance of a memory whose host sent none.

The estimate is a value from 0 to 1, taken once when the memory is put and kept with the
estimator's version, so that a score can always say where it came from.
"""

from typing import Final, Protocol

ESTIMATE_NEUTRAL: Final = 0.5


class Estimator(Protocol):
    """Estimates importance from text. Deterministic, local, no download."""

    version: str

    def estimate(self, content: str) -> float:
        """A value from 0 (not worth keeping) to 1 (must be kept)."""
        ...


class NeutralEstimator:
    """Knows nothing of the text: every memory is worth the same, 0.5."""

    version = "neutral-1"

    def estimate(self, content: str) -> float:
        """Always `ESTIMATE_NEUTRAL`."""
        return ESTIMATE_NEUTRAL
