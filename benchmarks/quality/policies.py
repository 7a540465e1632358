"""The policies that are compared: plain ones, forgetting curves, content, and two bounds.

Each gives a score to every turn so far; the lowest go first.
"""

import itertools
import zlib
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.quality.dialogue import Float64
from benchmarks.quality.stream import Scene, Score
from sidecar.limits import MILLISECONDS_PER_DAY

# A first use less than an hour ago counts as an hour ago, where a formula divides by the time.
HOUR_DAYS: Final = 1 / 24
ACTR_DECAY: Final = 0.5
EBBINGHAUS_GROWTH: Final = 2.0
FSRS_CURVE: Final = (19 / 81, -0.5)
FSRS_STABILITY_DAYS: Final = 3.7145  # FSRS-4.5, a first answer "good"
FSRS_DIFFICULTY: Final = 5.1618
FSRS_GROWTH: Final = (1.6474, 0.1367, 1.0461)


@dataclass(frozen=True, slots=True)
class Policy:
    """A name, where its formula is from, and the formula. `marks`: reads a host's importance."""

    name: str
    source: str
    score: Score
    marks: bool = False


def at_random(scene: Scene) -> Float64:
    """A number drawn once for each turn, by its id and text."""
    turns = scene.dialogue.turns[: scene.count]
    drawn = [zlib.crc32(f"{scene.dialogue.name} {turn.id} {turn.text}".encode()) for turn in turns]
    return np.array(drawn, dtype=np.float64)


def first_in_first_out(scene: Scene) -> Float64:
    """The oldest go."""
    return -scene.created


def least_recently_used(scene: Scene) -> Float64:
    """Those not needed for the longest time go."""
    return -scene.idle


def least_frequently_used(scene: Scene) -> Float64:
    """Those needed least often go."""
    return scene.recalls


def ebbinghaus(scene: Scene) -> Float64:
    """exp(-t/S): S is a day at first and doubles with every use."""
    return np.exp(-scene.idle / EBBINGHAUS_GROWTH**scene.recalls)


def actr(scene: Scene) -> Float64:
    """The base level of ACT-R: the log of the sum of t^-0.5 over all uses."""
    level = np.zeros(scene.count)
    for row, times in enumerate(scene.uses[: scene.count]):
        days = [max((scene.now - at) / MILLISECONDS_PER_DAY, HOUR_DAYS) for at in times]
        level[row] = sum(day**-ACTR_DECAY for day in days)
    return np.log(level)


def fsrs(scene: Scene) -> Float64:
    """(1 + 19/81 · t/S)^-0.5: S grows with every use, the more the nearer it was to forgotten."""
    factor, power = FSRS_CURVE
    gain, damping, spacing = FSRS_GROWTH
    stability = np.full(scene.count, FSRS_STABILITY_DAYS)
    for row in np.flatnonzero(scene.recalls):
        held, times = FSRS_STABILITY_DAYS, scene.uses[row]
        for before, at in itertools.pairwise(times):
            retrieved = (1 + factor * (at - before) / MILLISECONDS_PER_DAY / held) ** power
            rise = np.exp(gain) * (11 - FSRS_DIFFICULTY) * held**-damping
            held *= 1 + rise * np.expm1(spacing * (1 - retrieved))
        stability[row] = held
    return (1 + factor * scene.idle / stability) ** power


def rarity(scene: Scene) -> Float64:
    """The sum of the rarity of its words: long and unusual turns stay."""
    return scene.rarity


def rarity_by_root_length(scene: Scene) -> Float64:
    """The same over the root of its length: for a budget of characters."""
    return scene.rarity / np.sqrt(np.maximum(scene.dialogue.lengths[: scene.count], 1))


def oracle(scene: Scene) -> Float64:
    """Knows the questions: what they need stays, the shorter the better, then what was used."""
    needed = np.isin(np.arange(scene.count), scene.dialogue.evidence)
    lengths = np.maximum(scene.dialogue.lengths[: scene.count], 1)
    return np.where(needed, 1 / lengths, -1 - scene.idle)


LRU: Final = Policy("LRU", "cache eviction", least_recently_used)
FSRS: Final = Policy(
    "FSRS-like", "power curve and growth of FSRS-4.5 with its default weights", fsrs
)
RARITY: Final = Policy("rarity", "how rare the words are among all that was said so far", rarity)
RARITY_BY_ROOT_LENGTH: Final = Policy(
    "rarity/√length", "the same over the root of the length", rarity_by_root_length
)
ORACLE: Final = Policy("oracle", "knows the questions: the ceiling", oracle)
PLAIN: Final = (
    Policy("random", "chance", at_random),
    Policy("FIFO", "cache eviction", first_in_first_out),
    LRU,
    Policy("LFU", "cache eviction", least_frequently_used),
    Policy("Ebbinghaus", "exp(-t/S), S doubles with each use", ebbinghaus),
    Policy("ACT-R", "base-level activation, decay 0.5", actr),
    FSRS,
    RARITY,
    RARITY_BY_ROOT_LENGTH,
)
