"""The tables of a run in Markdown, and its files."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.quality.measures import KEEP_EVERYTHING, Result, leave_one_out
from benchmarks.quality.measuring import OUR_DEFAULT, OURS

# What the tables call each measure, and which value of a result it is.
MEASURES: Final[dict[str, Callable[[Result], float | None]]] = {
    "Evidence that survived": lambda one: one.evidence,
    "recall@10 by memory.recall": lambda one: one.recall,
    "Needed again and still there": lambda one: one.rereference,
    "Important memories lost, of those marked": lambda one: one.important_lost / one.important,
    "Stale facts still kept": lambda one: one.stale_kept,
}
COMPARED: Final = (*OURS, "rarity", "rarity/√length", "LRU", "FSRS-like", "oracle")
COMPARED_SHARES: Final = (0.5, 0.25)


def markdown(results: Sequence[Result], facts: dict[str, Any]) -> str:
    """Means of every measure, policy by policy, then dialogue by dialogue what matters most."""
    vectors = facts["sentenceVectors"]
    how = "text alone" if vectors == "none" else f"text and MiniLM {vectors}"
    lines = [f"Recall by {how}; seed {facts['seed']}; revision {facts['revision']}.", ""]
    for kind in dict.fromkeys(one.kind for one in results):
        of_kind = [one for one in results if one.kind == kind]
        dialogues = list(dict.fromkeys(one.dialogue for one in of_kind))
        lines += [f"## {kind}: mean of {len(dialogues)} dialogues", ""]
        for title, value in MEASURES.items():
            lines += _means(title, of_kind, value)
        for protocol, share in _sizes(of_kind):
            if share in COMPARED_SHARES:
                lines += _by_dialogue(of_kind, dialogues, protocol, share)
    return "\n".join(lines)


def write(
    folder: Path, name: str, facts: dict[str, Any], written: dict[str, Any], text: str
) -> Path:
    """`name`.json and `name`.md in `folder`; the path of the first."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    content = json.dumps({"machine": facts} | written, ensure_ascii=False, indent=1)
    path.write_text(content + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    return path


def _sizes(results: Sequence[Result]) -> list[tuple[str, float]]:
    return list(
        dict.fromkeys((one.protocol, one.share) for one in results if one.policy != KEEP_EVERYTHING)
    )


def _means(
    title: str, results: Sequence[Result], value: Callable[[Result], float | None]
) -> list[str]:
    sizes = _sizes(results)
    if all(value(one) is None for one in results):
        return []
    heads = [f"{share:.0%} {protocol}" for protocol, share in sizes]
    lines = [f"### {title}", "", f"| policy | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for policy in dict.fromkeys(one.policy for one in results):
        if policy == KEEP_EVERYTHING:
            all_kept = _of(results, policy, "count", 1.0, value)
            lines.append(f"| {policy} | {' | '.join([all_kept] * len(sizes))} |")
        else:
            cells = [_of(results, policy, *size, value) for size in sizes]
            lines.append(f"| {_strong(policy)} | {' | '.join(cells)} |")
    return [*lines, ""]


def _of(
    results: Sequence[Result],
    policy: str,
    protocol: str,
    share: float,
    value: Callable[[Result], float | None],
) -> str:
    values = [
        found
        for one in results
        if (one.policy, one.protocol, one.share) == (policy, protocol, share)
        and (found := value(one)) is not None
    ]
    return f"{np.mean(values):.3f}" if values else ""


def _by_dialogue(
    results: Sequence[Result], dialogues: Sequence[str], protocol: str, share: float
) -> list[str]:
    """Evidence and recall of each dialogue; the range is that of the mean without one of them."""
    heads = " | ".join(dialogues)
    lines = [
        f"### {share:.0%} by {protocol}, dialogue by dialogue: evidence / recall@10",
        "",
        f"| policy | {heads} | mean | leaving one out |",
        f"|---|{'--:|' * (len(dialogues) + 2)}",
    ]
    for policy in (*COMPARED, KEEP_EVERYTHING):
        size = ("count", 1.0) if policy == KEEP_EVERYTHING else (protocol, share)
        found = [one for one in results if (one.policy, one.protocol, one.share) == (policy, *size)]
        if not found:
            continue
        cells = [f"{one.evidence:.3f} / {one.recall:.3f}" for one in found]
        evidence, recall = [one.evidence for one in found], [one.recall for one in found]
        cells.append(f"{np.mean(evidence):.3f} / {np.mean(recall):.3f}")
        (low, high), (least, most) = leave_one_out(evidence), leave_one_out(recall)
        cells.append(f"{low:.3f}–{high:.3f} / {least:.3f}–{most:.3f}")
        lines.append(f"| {_strong(policy)} | {' | '.join(cells)} |")
    return [*lines, ""]


def _strong(policy: str) -> str:
    return f"**{policy}**" if policy == OUR_DEFAULT else policy
