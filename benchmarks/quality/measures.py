"""What is measured of one policy on one dialogue at one size."""

from dataclasses import dataclass

import numpy as np

from benchmarks.quality.dialogue import Dialogue, Rows
from benchmarks.quality.stream import Budget, Outcome

KEEP_EVERYTHING = "keep everything"


@dataclass(frozen=True, slots=True)
class Result:
    """Shares are from 0 to 1.

    `evidence`: turns that some question needs and that are still there. `recall`: the share of
    each question's evidence among the first ten of `memory.recall`, in the mean. `rereference`:
    turns that were needed again while the dialogue went on, and were still there.
    `important_lost`: turns that the host marked and that went, of those it marked.
    `stale_kept`: turns that a later one replaced and that are still there; None without any.
    """

    dialogue: str
    kind: str
    policy: str
    protocol: str
    share: float
    turns_kept: int
    characters_kept: int
    evidence: float
    recall: float
    rereference: float
    important: int
    important_lost: int
    stale_kept: float | None


def result_of(
    dialogue: Dialogue,
    policy: str,
    budget: Budget,
    outcome: Outcome,
    recall: float,
    kept_if_marked: Rows,
) -> Result:
    """The measures of one run; `kept_if_marked` is what stays where the host marks turns."""
    stale = dialogue.stale
    return Result(
        dialogue=dialogue.name,
        kind=dialogue.kind,
        policy=policy,
        protocol=budget.protocol,
        share=budget.share,
        turns_kept=len(outcome.kept),
        characters_kept=int(dialogue.lengths[outcome.kept].sum()),
        evidence=share_kept(dialogue.evidence, outcome.kept),
        recall=recall,
        rereference=outcome.found / max(outcome.needed, 1),
        important=len(dialogue.important),
        important_lost=int(np.count_nonzero(~np.isin(dialogue.important, kept_if_marked))),
        stale_kept=share_kept(stale, outcome.kept) if len(stale) else None,
    )


def share_kept(rows: Rows, kept: Rows) -> float:
    """Which share of `rows` is among the kept."""
    return float(np.isin(rows, kept).mean()) if len(rows) else 1.0


def leave_one_out(values: list[float]) -> tuple[float, float]:
    """The least and the greatest mean when one of the values is left out."""
    if len(values) < 2:
        return values[0], values[0]
    means = [(sum(values) - one) / (len(values) - 1) for one in values]
    return min(means), max(means)
