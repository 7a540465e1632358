"""Estimated importance: what one estimate costs, and whether it keeps what is needed later.

The pairs made by hand are always asked; with a file of dialogues whose questions name their
evidence (LoCoMo), the turns are ranked too, by the estimate and by the rarity of their words, and
what evidence the highest hold is counted. The file is read where it lies and never copied.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.clocks import Stopwatch
from benchmarks.context import Context
from benchmarks.figures import Figure
from benchmarks.machine import ROOT
from sidecar.estimate import estimate

PAIRS: Final = ROOT / "tests" / "data" / "outlive_pairs.jsonl"
SHARES: Final = (0.5, 0.25)
ESTIMATES_COUNT: Final = 20_000
ADVERSARIAL: Final = 5  # the category of questions that have no answer
_SESSION: Final = re.compile(r"session_\d+")
_WORD: Final = re.compile(r"[a-z0-9']+")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The turns of one conversation, and the places of those that its questions need."""

    name: str
    turns: list[str]
    needed: frozenset[int]


def measure(context: Context) -> list[Figure]:
    """Cost of an estimate, the pairs, and with dialogues the evidence kept by rank."""
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").split("\n") if line]
    texts = [pair[side] for pair in pairs for side in ("outlives", "outlived")]
    dialogues = [] if context.sentences is None else list(dialogues_of(context.sentences))
    if dialogues:
        texts = [turn for dialogue in dialogues for turn in dialogue.turns]
    context.tell(f"estimating {len(texts)} texts, {ESTIMATES_COUNT} times in all")
    figures = [_cost(texts)]
    for held_out in (False, True):
        asked = [pair for pair in pairs if pair["held_out"] is held_out]
        held = sum(estimate(pair["outlives"]) > estimate(pair["outlived"]) for pair in asked)
        what = "pairs held out" if held_out else "pairs that the words were chosen by"
        figures.append(Figure("estimate", what, held, f"of {len(asked)}"))
    for dialogue in dialogues:
        figures += _evidence(dialogue)
    return figures


def _cost(texts: Sequence[str]) -> Figure:
    with Stopwatch() as watch:
        for place in range(ESTIMATES_COUNT):
            estimate(texts[place % len(texts)])
    characters = sum(map(len, texts)) / len(texts)
    return Figure(
        "estimate",
        "one estimate",
        watch.cpu / ESTIMATES_COUNT * 1e6,
        "µs CPU",
        at_most=50.0,
        cpu_seconds=watch.cpu,
        note=f"texts of {characters:.0f} characters on average",
    )


def dialogues_of(source: Path) -> Iterator[Dialogue]:
    """Every conversation of a LoCoMo file; evidence that names no turn is left out."""
    for one in json.loads(source.read_text("utf-8")):
        spoken: dict[str, Any] = one["conversation"]
        turns = [turn for name, said in spoken.items() if _SESSION.fullmatch(name) for turn in said]
        place_of = {turn["dia_id"]: place for place, turn in enumerate(turns)}
        needed = frozenset(
            place_of[evidence]
            for question in one["qa"]
            if question["category"] != ADVERSARIAL
            for evidence in question.get("evidence", [])
            if evidence in place_of
        )
        yield Dialogue(one["sample_id"], [turn["text"] for turn in turns], needed)


def _evidence(dialogue: Dialogue) -> Iterator[Figure]:
    turns = dialogue.turns
    worth = [estimate(turn) for turn in turns]
    rare = rarity(turns)
    dense = [value / math.sqrt(max(1, len(turn))) for value, turn in zip(rare, turns, strict=True)]
    for unit, costs, rival, name, ahead in (
        ("count", [1] * len(turns), rare, "rarity", 0.03),
        ("characters", [*map(len, turns)], dense, "rarity/sqrt(length)", 0.0),
    ):
        for share in SHARES:
            other = kept(dialogue, rival, costs, share)
            yield Figure(
                "estimate",
                f"{dialogue.name}: evidence kept at {share:.0%} by {unit}",
                kept(dialogue, worth, costs, share),
                "share",
                at_least=other + ahead,
                note=f"{name} {other:.3f}",
            )


def kept(dialogue: Dialogue, scores: Sequence[float], costs: Sequence[int], share: float) -> float:
    """The share of the evidence among the highest turns whose costs fit in a share of all."""
    room = share * sum(costs)
    found = 0
    for place in sorted(range(len(scores)), key=lambda at: (-scores[at], at)):
        if costs[place] <= room:
            room -= costs[place]
            found += place in dialogue.needed
    return found / len(dialogue.needed)


def rarity(turns: Sequence[str]) -> list[float]:
    """The sum of log(turns / turns with the word) over the different words of each turn."""
    words = [set(_WORD.findall(turn.lower())) for turn in turns]
    with_word = Counter(word for each in words for word in each)
    return [sum(math.log(len(turns) / with_word[word]) for word in sorted(each)) for each in words]
