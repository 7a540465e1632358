"""What must hold of forgetd's default policy, aim beside figure."""

from collections.abc import Sequence
from typing import Final

from benchmarks.figures import Figure
from benchmarks.quality.measures import KEEP_EVERYTHING, Result
from benchmarks.quality.measuring import OUR_DEFAULT, OURS

MARGIN_OVER_RARITY: Final = 0.03
RECALL_LOSS_MAX: Final = 0.01


def figures(results: Sequence[Result], *, full: bool) -> list[Figure]:
    """The aims on the dialogues read from a file, and those that hold everywhere."""
    found: list[Figure] = []
    read = [one for one in results if one.kind != "generated"]
    for share in (0.5, 0.25):
        found += _ahead(read, "count", "rarity", share, MARGIN_OVER_RARITY, full)
    for share in (0.5, 0.25):
        found += _ahead(read, "characters", "rarity/√length", share, 0.0, full)
    for protocol in ("count", "characters"):
        found += _recall(read, protocol, full)
    for policy in OURS:
        marked = [one for one in results if one.policy == policy]
        if marked:
            lost = sum(one.important_lost for one in marked)
            of = sum(one.important for one in marked)
            what = f"{policy}: important memories lost, at all sizes"
            note = f"of {of}, each of {len(marked)} runs"
            found.append(Figure("quality", what, lost, "", at_most=0.0, note=note, full_size=full))
    return found


def _ahead(
    results: Sequence[Result], protocol: str, rival: str, share: float, margin: float, full: bool
) -> list[Figure]:
    """The smallest lead over a rival on any dialogue."""
    ours = _by_dialogue(results, OUR_DEFAULT, protocol, share)
    theirs = _by_dialogue(results, rival, protocol, share)
    leads = {name: ours[name].evidence - theirs[name].evidence for name in ours if name in theirs}
    if not leads:
        return []
    worst = min(leads, key=lambda name: leads[name])
    mean = sum(one.evidence for one in ours.values()) / len(ours)
    return [
        Figure(
            "quality",
            f"evidence at {share:.0%} by {protocol}: lead over {rival}, least of {len(leads)}",
            leads[worst],
            "",
            at_least=margin,
            note=f"{worst}; our mean {mean:.3f}",
            full_size=full,
        )
    ]


def _recall(results: Sequence[Result], protocol: str, full: bool) -> list[Figure]:
    """How much of keep-everything's recall@10 is lost at 50 %, on the worst dialogue."""
    ours = _by_dialogue(results, OUR_DEFAULT, protocol, 0.5)
    all_kept = {one.dialogue: one for one in results if one.policy == KEEP_EVERYTHING}
    losses = {name: all_kept[name].recall - ours[name].recall for name in ours if name in all_kept}
    if not losses:
        return []
    worst = max(losses, key=lambda name: losses[name])
    mean = sum(losses.values()) / len(losses)
    return [
        Figure(
            "quality",
            f"recall@10 at 50% by {protocol}: loss against keeping everything, most",
            losses[worst],
            "",
            at_most=RECALL_LOSS_MAX,
            note=f"{worst}; in the mean {mean:.3f}",
            full_size=full,
        )
    ]


def _by_dialogue(
    results: Sequence[Result], policy: str, protocol: str, share: float
) -> dict[str, Result]:
    return {
        one.dialogue: one
        for one in results
        if (one.policy, one.protocol, one.share) == (policy, protocol, share)
    }
