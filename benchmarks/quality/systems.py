"""How other memory systems score what they keep, after what they publish; none of their code.

Where a formula asks a language model how important a text is, the host's importance stands in,
and without one a middle value, as nothing here asks a language model.
"""

from typing import Final

import numpy as np

from benchmarks.quality.dialogue import Float64
from benchmarks.quality.policies import Policy
from benchmarks.quality.stream import Scene

IMPORTANCE_UNKNOWN: Final = 0.5
AGENTS_HOURLY_DECAY: Final = 0.995
CORTEXGRAPH_USE_EXPONENT: Final = 0.6
CORTEXGRAPH_HALF_LIFE_DAYS: Final = 3.0
FADEMEM_RATE: Final = 0.1
FADEMEM_SHAPES: Final = (0.8, 1.2)  # of what has been promoted to the long-term layer, and not
FADEMEM_PROMOTED: Final = 0.7
FADEMEM_SHIELD: Final = 1.0  # the paper tunes it; one is a factor of e between none and full


def importance_of(scene: Scene) -> Float64:
    """The host's importance; where it sent none, the middle."""
    return np.where(np.isnan(scene.importance), IMPORTANCE_UNKNOWN, scene.importance)


def generative_agents(scene: Scene) -> Float64:
    """Recency + importance + relevance, each stretched to 0..1; recency is 0.995 an idle hour."""
    recency = AGENTS_HOURLY_DECAY ** (scene.idle * 24)
    parts = (recency, importance_of(scene), scene.relevance)
    return np.sum([_stretched(part) for part in parts], axis=0)


def memory_bank(scene: Scene) -> Float64:
    """exp(-t/S): t in days since the last recall, S is 1 and rises by 1 with each."""
    return np.exp(-scene.idle / (1 + scene.recalls))


def cortexgraph(scene: Scene) -> Float64:
    """(uses + 1)^0.6 · 2^(-t / 3 days) · strength, strength from 0 to 2 and 1 by default."""
    used = (scene.recalls + 1) ** CORTEXGRAPH_USE_EXPONENT
    strength = 2 * importance_of(scene)
    return used * 0.5 ** (scene.idle / CORTEXGRAPH_HALF_LIFE_DAYS) * strength


def fademem(scene: Scene) -> Float64:
    """exp(-λ·t^β), λ = 0.1·e^(-importance), β by the layer that importance puts it in.

    Importance is the mean of relevance to what was said last, use n/(1+n), and recency. A use
    counts as the start of t.
    """
    use = scene.recalls / (1 + scene.recalls)
    parts = (np.clip(scene.relevance, 0, 1), use, np.exp(-FADEMEM_RATE * scene.created))
    importance = np.mean(parts, axis=0)
    slow, fast = FADEMEM_SHAPES
    shape = np.where(importance >= FADEMEM_PROMOTED, slow, fast)
    rate = FADEMEM_RATE * np.exp(-FADEMEM_SHIELD * importance)
    return -rate * scene.idle**shape  # the logarithm: the same order, and no underflow


def _stretched(part: Float64) -> Float64:
    low, high = float(part.min()), float(part.max())
    return np.full_like(part, 0.5) if high == low else (part - low) / (high - low)


SYSTEMS: Final = (
    Policy(
        "Generative Agents",
        "Park et al. 2023, arXiv 2304.03442, section 4.1",
        generative_agents,
        marks=True,
    ),
    Policy("MemoryBank", "Zhong et al. 2023, arXiv 2305.10250, section 2.3", memory_bank),
    Policy(
        "CortexGraph",
        "documentation of cortexgraph 1.2, scoring_algorithm.md and temporal_decay_design.md",
        cortexgraph,
        marks=True,
    ),
    Policy("FadeMem", "Wei et al. 2026, arXiv 2601.18642, section 2, equal weights", fademem),
)
