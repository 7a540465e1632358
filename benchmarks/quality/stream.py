"""Streaming a dialogue into a store of bounded size, under a policy that is a formula.

Turns come in time order. Before the next session, and two days after the last one, what is over
the budget goes: the lowest score first. A turn that is needed again while it is still there is
counted as found, and as a use.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from benchmarks.quality.dialogue import Dialogue, Float64, Rows
from benchmarks.quality.words import Words
from sidecar.limits import MILLISECONDS_PER_DAY

Protocol = Literal["count", "characters"]
PROTOCOLS: Final[tuple[Protocol, ...]] = ("count", "characters")
MARKED_IMPORTANCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may stay: a share of all turns, by their number or by their characters."""

    protocol: Protocol
    share: float

    def limit(self, dialogue: Dialogue) -> int:
        """What may be kept, in turns or in characters."""
        return round(self.share * int(self.sizes(dialogue).sum()))

    def sizes(self, dialogue: Dialogue) -> Rows:
        """What each turn takes of it."""
        if self.protocol == "characters":
            return dialogue.lengths
        return np.ones(len(dialogue.turns), dtype=np.int64)


def leaving(order: Rows, sizes: Rows, limit: int) -> int:
    """How many of the rows, in the order in which they go, must go so that the rest fits."""
    over = int(sizes[order].sum()) - limit
    if over <= 0:
        return 0
    return int(np.searchsorted(np.cumsum(sizes[order]), over)) + 1


@dataclass(frozen=True)
class Scene:
    """What a policy sees at one sweep: the turns so far and their uses, nothing later.

    Arrays are by row, of the turns said so far. `uses` has the times (ms) at which each turn was
    said and then needed; `importance` is what the host sent, NaN where it sent none.
    """

    dialogue: Dialogue
    words: Words
    now: int
    count: int
    latest: range
    uses: list[list[int]]
    importance: Float64

    @cached_property
    def created(self) -> Float64:
        """Days since each turn was said."""
        return self._days([times[0] for times in self.uses[: self.count]])

    @cached_property
    def idle(self) -> Float64:
        """Days since each turn was last used."""
        return self._days([times[-1] for times in self.uses[: self.count]])

    @cached_property
    def recalls(self) -> Float64:
        """How often each turn was needed again."""
        return np.array([len(times) - 1 for times in self.uses[: self.count]], dtype=np.float64)

    @cached_property
    def rarity(self) -> Float64:
        """How rare the words of each turn are so far."""
        return self.words.rarity(self.count)

    @cached_property
    def relevance(self) -> Float64:
        """Likeness of each turn to the latest session; without sentence vectors 0."""
        vectors = self.dialogue.vectors
        if vectors is None:
            return np.zeros(self.count)
        context = vectors[self.latest.start : self.latest.stop].mean(axis=0, dtype=np.float64)
        return vectors[: self.count] @ (context / np.linalg.norm(context))

    def _days(self, times: list[int]) -> Float64:
        return (self.now - np.array(times, dtype=np.float64)) / MILLISECONDS_PER_DAY


Score = Callable[[Scene], Float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was kept at the end, and how often a turn that was needed was still there."""

    kept: Rows
    found: int
    needed: int


def simulate(
    dialogue: Dialogue, words: Words, score: Score, budget: Budget, *, marked: bool = False
) -> Outcome:
    """Stream the dialogue under the policy that keeps what has the highest `score`.

    Equal scores go by older last use, then by row. With `marked` the host says which turns are
    important.
    """
    sizes, limit = budget.sizes(dialogue), budget.limit(dialogue)
    uses = [[turn.at] for turn in dialogue.turns]
    importance = np.full(len(dialogue.turns), np.nan)
    if marked:
        importance[dialogue.important] = MARKED_IMPORTANCE
    here = np.zeros(len(dialogue.turns), dtype=np.bool_)
    found = needed = 0
    for rows, sweep_at in dialogue.parts():
        for row in rows:
            here[row] = True
            for wanted in dialogue.wanted[row]:
                needed += 1
                if here[wanted]:
                    found += 1
                    uses[wanted].append(dialogue.turns[row].at)
        present = np.flatnonzero(here)
        if int(sizes[present].sum()) <= limit:
            continue
        count = rows.stop
        scene = Scene(dialogue, words, sweep_at, count, rows, uses, importance[:count])
        ranking = np.lexsort((present, -scene.idle[present], score(scene)[present]))
        order = present[ranking]
        here[order[: leaving(order, sizes, limit)]] = False
    return Outcome(np.flatnonzero(here), found, needed)
