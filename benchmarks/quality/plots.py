"""The plots of a run, each as PNG and SVG."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "forgetd", "font.size": 9})

import matplotlib.pyplot as plt  # noqa: E402 — after the backend that needs no screen

from benchmarks.quality.grid import BALANCED, Formula, Trial  # noqa: E402
from benchmarks.quality.measures import KEEP_EVERYTHING, Result  # noqa: E402
from benchmarks.quality.measuring import OUR_DEFAULT  # noqa: E402
from benchmarks.quality.stream import PROTOCOLS  # noqa: E402

STYLES: Final[dict[str, dict[str, Any]]] = {
    OUR_DEFAULT: {"color": "#c0392b", "linewidth": 2.6, "marker": "o"},
    "forgetd classic": {"color": "#e59866", "linewidth": 1.4, "marker": "o"},
    "rarity": {"color": "#2471a3", "marker": "s"},
    "rarity/√length": {"color": "#5dade2", "marker": "s"},
    "oracle": {"color": "#1e8449", "linestyle": "--"},
    "random": {"color": "#7f8c8d", "linestyle": ":"},
    "LRU": {"color": "#8e44ad"},
    "FSRS-like": {"color": "#bb8fce"},
    "Generative Agents": {"color": "#b7950b"},
    "MemoryBank": {"color": "#d4ac0d"},
    "CortexGraph": {"color": "#616a6b"},
    "FadeMem": {"color": "#a04000"},
}
# Beside those of the curves, in the plot of two measures.
OTHERS: Final[dict[str, dict[str, Any]]] = {
    "FIFO": {"color": "#95a5a6", "marker": "v"},
    "LFU": {"color": "#5b2c6f", "marker": "v"},
    "Ebbinghaus": {"color": "#7d6608", "marker": "v"},
    "ACT-R": {"color": "#4d5656", "marker": "v"},
}
FRONTIER_SHARES: Final = (0.5, 0.25)
MEASURES: Final = (("evidence", "evidence that survived"), ("recall", "recall@10"))


def draw(results: Sequence[Result], path: Path) -> None:
    """Evidence and recall against size for each kind of dialogue, and the frontier."""
    for kind in dict.fromkeys(one.kind for one in results):
        of_kind = [one for one in results if one.kind == kind]
        for measure, label in MEASURES:
            _against_size(of_kind, measure, label, Path(f"{path}-{kind}-{measure}"))
        _frontier(of_kind, Path(f"{path}-{kind}-frontier"))


def _against_size(results: Sequence[Result], measure: str, label: str, path: Path) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.9), sharey=True)
    for panel, protocol in zip(panels, PROTOCOLS, strict=True):
        for policy, style in STYLES.items():
            at = _means(results, policy, protocol, measure)
            panel.plot([100 * share for share in at], list(at.values()), label=policy, **style)
        everything = [getattr(one, measure) for one in results if one.policy == KEEP_EVERYTHING]
        if everything:
            level = float(np.mean(everything))
            panel.axhline(level, color="black", linewidth=0.8, label=KEEP_EVERYTHING)
        panel.set_xlabel(f"kept, % of the {'turns' if protocol == 'count' else 'characters'}")
        panel.grid(alpha=0.25)
    panels[0].set_ylabel(label)
    panels[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    _save(figure, path)


def _frontier(results: Sequence[Result], path: Path) -> None:
    shares = sorted({one.share for one in results if one.share in FRONTIER_SHARES})
    figure, panels = plt.subplots(1, len(shares), figsize=(4.6 * len(shares), 3.9), squeeze=False)
    for panel, share in zip(panels[0], shares, strict=True):
        for policy, style in (STYLES | OTHERS).items():
            x = _means(results, policy, "count", "rereference").get(share)
            y = _means(results, policy, "count", "evidence").get(share)
            if x is not None and y is not None:
                ours = policy == OUR_DEFAULT
                look = {"marker": "o", "s": 90 if ours else 30, "zorder": 4 if ours else 3}
                look |= {name: style[name] for name in ("color", "marker") if name in style}
                panel.scatter([x], [y], label=policy, **look)
        _label_frontier(panel, share)
    panels[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    _save(figure, path)


def draw_grid(trials: Sequence[Trial], path: Path) -> None:
    """What each gamma gives up of the one for the other, with the default marked."""
    for kind in dict.fromkeys(one.kind for one in trials):
        of_kind = [one for one in trials if one.kind == kind]
        shares = sorted({one.share for one in of_kind})
        figure, panels = plt.subplots(1, len(shares), figsize=(9.2, 3.9))
        for panel, share in zip(panels, shares, strict=True):
            _gammas(panel, [one for one in of_kind if one.share == share])
            _label_frontier(panel, share)
        _save(figure, Path(f"{path}-{kind}-frontier"))


def _gammas(panel: Any, trials: Sequence[Trial]) -> None:
    by_name: dict[str, list[Trial]] = {}
    for one in trials:
        if one.protocol == "count":
            by_name.setdefault(one.name, []).append(one)
    points = {name: _point(rows) for name, rows in by_name.items()}
    for rho, colour in ((0.0, "#c0392b"), (1.0, "#e59866")):
        along = [
            (rows[0].formula.gamma, *points[name])
            for name, rows in by_name.items()
            if rows[0].formula and rows[0].formula.rho == rho and _plain(rows[0].formula)
        ]
        along.sort()
        panel.plot(
            [x for _, x, _ in along],
            [y for _, _, y in along],
            color=colour,
            marker=".",
            label=f"forgetd, ρ {rho:g}",
        )
        if rho == BALANCED.rho:
            _label_gammas(panel, along, colour)
    for name, rows in by_name.items():
        if rows[0].formula is None:
            panel.scatter(*[[v] for v in points[name]], color="#2471a3", s=22)
            panel.annotate(
                name, points[name], xytext=(4, 3), textcoords="offset points", fontsize=7
            )
    panel.legend(frameon=False, fontsize=7, loc="lower left")


def _label_gammas(panel: Any, along: list[tuple[float, float, float]], colour: str) -> None:
    """Name each gamma, and show the one that is in force."""
    for gamma, x, y in along:
        chosen = gamma == BALANCED.gamma
        look = {"fontsize": 9, "weight": "bold"} if chosen else {"fontsize": 6.5}
        panel.annotate(f"γ {gamma:g}", (x, y), xytext=(4, 3), textcoords="offset points", **look)
        if chosen:
            panel.scatter([x], [y], color=colour, s=80, zorder=3)


def _plain(formula: Formula) -> bool:
    """Whether decay and cap are those of the daemon."""
    return formula == Formula(formula.gamma, formula.rho)


def _point(rows: Sequence[Trial]) -> tuple[float, float]:
    found = float(np.mean([one.rereference for one in rows]))
    return found, float(np.mean([one.evidence for one in rows]))


def _label_frontier(panel: Any, share: float) -> None:
    panel.set_title(f"{share:.0%} of the turns kept", fontsize=9)
    panel.set_xlabel("needed again and still there")
    panel.set_ylabel("evidence that survived")
    panel.grid(alpha=0.25)
    panel.margins(0.14)


def _means(
    results: Sequence[Result], policy: str, protocol: str, measure: str
) -> dict[float, float]:
    values: dict[float, list[float]] = {}
    for one in results:
        if (one.policy, one.protocol) == (policy, protocol):
            values.setdefault(one.share, []).append(getattr(one, measure))
    return {share: float(np.mean(values[share])) for share in sorted(values)}


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    for suffix in ("svg", "png"):
        metadata = {"Date": None} if suffix == "svg" else {"Software": None}
        figure.savefig(f"{path}.{suffix}", dpi=110, metadata=metadata, bbox_inches="tight")
    plt.close(figure)
