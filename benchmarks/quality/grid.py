"""The exponents of the sweep score, the decay and the cap of recalls, tried out on the dialogues.

Only the order of scores matters, so alpha stays 1: raising all exponents alike changes nothing.
The daemon's own importance of each turn is read once; the rest is its formula, streamed as every
other policy is. What a later turn replaced goes first, as in the daemon.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from rich.progress import Progress

from benchmarks.quality import store
from benchmarks.quality.dialogue import Dialogue, Float64
from benchmarks.quality.measures import share_kept
from benchmarks.quality.policies import FSRS, LRU, ORACLE, RARITY, RARITY_BY_ROOT_LENGTH
from benchmarks.quality.stream import (
    PROTOCOLS,
    Budget,
    Scene,
    Score,
    simulate,
)
from benchmarks.quality.words import Words
from sidecar.plan.policies import POLICY_DEFAULT, policy_named
from sidecar.strength import (
    DECAY_PER_DAY,
    DECAY_SHIELD,
    RECALL_GAIN,
    RECALL_GAIN_MAX,
    RECENCY_DAYS,
)

SHARES: Final = (0.5, 0.25)
GAMMAS: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.4, 1.0)
RHOS: Final = (0.0, 0.05, 0.25, 1.0)
DECAYS: Final = (0.1, 0.25, 4.0)
CAPS: Final = (1.0, 1.5, 5.0)
REPLACED_SCORE: Final = -1.0
RIVALS: Final = (LRU, FSRS, RARITY, RARITY_BY_ROOT_LENGTH, ORACLE)
BALANCED: Final = policy_named(POLICY_DEFAULT, "grid")


@dataclass(frozen=True, slots=True)
class Formula:
    """One setting of the score: `decay` multiplies the rate of all types."""

    gamma: float = BALANCED.gamma
    rho: float = BALANCED.rho
    decay: float = 1.0
    cap: float = RECALL_GAIN_MAX

    @property
    def name(self) -> str:
        """What the table calls it."""
        name = f"γ {self.gamma:g}, ρ {self.rho:g}"
        if self.decay != 1.0:
            name += f", decay × {self.decay:g}"
        return name if self.cap == RECALL_GAIN_MAX else f"{name}, cap {self.cap:g}"

    def score(self, importance: Float64) -> Score:
        """value · retention^gamma · recency^rho of semantic memories of this importance."""

        def score(scene: Scene) -> Float64:
            marked = ~np.isnan(scene.importance)
            value = np.where(marked, scene.importance, importance[: scene.count])
            rate = self.decay * DECAY_PER_DAY[0] * (1 - DECAY_SHIELD * value)
            retention = np.exp(-rate * scene.idle)
            retention *= np.minimum(self.cap, 1 + RECALL_GAIN * scene.recalls)
            recency = 1 / (1 + scene.idle / RECENCY_DAYS)
            found = value * retention**self.gamma * recency**self.rho
            return np.where(_replaced(scene), REPLACED_SCORE, found)

        return score


@dataclass(frozen=True, slots=True)
class Trial:
    """What one setting, or a rival's formula, kept of one dialogue at one size.

    `formula` is None of a rival. `important_lost` is where the host marks what is important.
    """

    name: str
    formula: Formula | None
    dialogue: str
    kind: str
    protocol: str
    share: float
    evidence: float
    rereference: float
    important_lost: int


def formulas() -> list[Formula]:
    """The settings that are tried: gamma and rho together, decay and cap beside the default."""
    found = [Formula(gamma, rho) for rho in RHOS for gamma in GAMMAS]
    found += [Formula(decay=decay) for decay in DECAYS]
    return found + [Formula(cap=cap) for cap in CAPS]


def measure(dialogues: Sequence[Dialogue], scratch: Path, progress: Progress) -> list[Trial]:
    """Every setting on every dialogue, by count and by characters."""
    found: list[Trial] = []
    task = progress.add_task("settings", total=len(dialogues))
    for number, dialogue in enumerate(dialogues):
        state_dir = scratch / f"grid-{number}"
        state_dir.mkdir(mode=0o700)
        importance = asyncio.run(_importance(dialogue, state_dir))
        words = Words(dialogue)
        for formula in formulas():
            score = formula.score(importance)
            found += _trials(dialogue, words, formula.name, formula, score)
        for rival in RIVALS:
            found += _trials(dialogue, words, rival.name, None, rival.score)
        progress.update(task, advance=1, description=dialogue.name)
    return found


def _trials(
    dialogue: Dialogue, words: Words, name: str, formula: Formula | None, score: Score
) -> list[Trial]:
    found: list[Trial] = []
    for budget in (Budget(protocol, share) for protocol in PROTOCOLS for share in SHARES):
        plain = simulate(dialogue, words, score, budget)
        marked = simulate(dialogue, words, score, budget, marked=True)
        lost = np.count_nonzero(~np.isin(dialogue.important, marked.kept))
        found.append(
            Trial(
                name,
                formula,
                dialogue.name,
                dialogue.kind,
                budget.protocol,
                budget.share,
                share_kept(dialogue.evidence, plain.kept),
                plain.found / max(plain.needed, 1),
                int(lost),
            )
        )
    return found


async def _importance(dialogue: Dialogue, state_dir: Path) -> Float64:
    async with store.a_daemon(state_dir) as daemon:
        namespace = await daemon.namespace(dialogue.parts()[-1][1])
        await store.put(namespace, dialogue, range(len(dialogue.turns)))
        return await store.importance_of(namespace, dialogue)


def _replaced(scene: Scene) -> np.ndarray:
    turns = scene.dialogue.turns[: scene.count]
    older = [turn.replaces for turn in turns if turn.replaces is not None]
    replaced = np.zeros(scene.count, dtype=np.bool_)
    replaced[older] = True
    return replaced


# --- telling -----------------------------------------------------------------------------

# The sizes of the tables, and which rival's evidence is to be beaten by each measure of size.
HEADS: Final = tuple((protocol, share) for protocol in PROTOCOLS for share in SHARES)
RIVAL: Final = {"count": RARITY.name, "characters": RARITY_BY_ROOT_LENGTH.name}
WEIGHTS: Final = (0.0, 0.1, 0.25, 0.5, 1.0)


def markdown(trials: Sequence[Trial]) -> str:
    """A table for each kind of dialogue, and what would be chosen with each one left out."""
    lines: list[str] = []
    for kind in dict.fromkeys(one.kind for one in trials):
        lines += [f"### {kind}", "", *_table([one for one in trials if one.kind == kind]), ""]
    return "\n".join([*lines, "### chosen with one dialogue left out", "", *_left_out(trials), ""])


def _table(trials: Sequence[Trial]) -> list[str]:
    """Evidence and what was found again in the mean, and the least lead over rarity."""
    sizes = [f"{share:.0%} {protocol}" for protocol, share in HEADS]
    heads = [f"evidence {size}" for size in sizes]
    heads += [f"found again {size}" for size in sizes]
    heads += [f"least lead {size}" for size in sizes]
    lines = [
        f"| setting | {' | '.join(heads)} | important lost |",
        f"|---|{'--:|' * (len(heads) + 1)}",
    ]
    by_name = {one.name: [o for o in trials if o.name == one.name] for one in trials}
    for name, rows in by_name.items():
        cells = [f"{_mean(rows, 'evidence', *head):.3f}" for head in HEADS]
        cells += [f"{_mean(rows, 'rereference', *head):.3f}" for head in HEADS]
        cells += [f"{_least_lead(rows, by_name, *head):+.3f}" for head in HEADS]
        lost = sum(one.important_lost for one in rows)
        lines.append(f"| {name} | {' | '.join(cells)} | {lost} |")
    return lines


def _least_lead(
    rows: Sequence[Trial], by_name: dict[str, list[Trial]], protocol: str, share: float
) -> float:
    """The evidence beyond that of the rival, on the dialogue where that is least."""
    theirs = {
        one.dialogue: one.evidence
        for one in by_name[RIVAL[protocol]]
        if (one.protocol, one.share) == (protocol, share)
    }
    return min(
        one.evidence - theirs[one.dialogue]
        for one in rows
        if (one.protocol, one.share) == (protocol, share)
    )


def _left_out(trials: Sequence[Trial]) -> list[str]:
    """Chosen for evidence + weight · found again: by all dialogues but one, judged on that one."""
    tried = [one for one in trials if one.formula is not None]
    dialogues = list(dict.fromkeys(one.dialogue for one in tried))
    names = list(dict.fromkeys(one.name for one in tried))
    worth = {
        weight: {(n, d): _worth(tried, n, d, weight) for n in names for d in dialogues}
        for weight in WEIGHTS
    }
    default = Formula().name
    lines = [
        "| weight of found again | chosen, how often | gain over the default where left out |",
        "|--:|---|--:|",
    ]
    for weight, values in worth.items():
        chosen = {
            out: max(names, key=lambda n: sum(values[n, d] for d in dialogues if d != out))
            for out in dialogues
        }
        counted = {name: list(chosen.values()).count(name) for name in chosen.values()}
        told = "; ".join(f"{name} ({times} of {len(dialogues)})" for name, times in counted.items())
        gain = np.mean([values[chosen[d], d] - values[default, d] for d in dialogues])
        lines.append(f"| {weight:g} | {told} | {gain:+.4f} |")
    return lines


def _worth(trials: Sequence[Trial], name: str, dialogue: str, weight: float) -> float:
    rows = [one for one in trials if (one.name, one.dialogue) == (name, dialogue)]
    return float(np.mean([one.evidence + weight * one.rereference for one in rows]))


def _mean(trials: Sequence[Trial], what: str, protocol: str, share: float) -> float:
    values = [
        getattr(one, what) for one in trials if (one.protocol, one.share) == (protocol, share)
    ]
    return float(np.mean(values))
