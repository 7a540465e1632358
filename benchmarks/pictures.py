"""Plots as PNG and SVG, the same bytes for the same figures. Needs the `bench` extra."""

from pathlib import Path
from typing import Any, Final

import matplotlib as mpl

mpl.use("Agg")
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "forgetd", "font.size": 9})

import matplotlib.pyplot as plt  # noqa: E402 — after the backend that needs no screen

DOTS_PER_INCH: Final = 110


def panels(
    columns: int, rows: int = 1, *, width: float = 4.6, height: float = 3.9, **rest: Any
) -> tuple[Any, Any]:
    """A figure of panels, each `width` by `height` inches, and an array of them, row by row."""
    size = (width * columns, height * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, **rest)
    for panel in axes.flat:
        panel.grid(alpha=0.25)
    return figure, axes


def save(figure: Any, path: Path) -> None:
    """Write `path`.svg and `path`.png, and close the figure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    for suffix in ("svg", "png"):
        metadata = {"Date": None} if suffix == "svg" else {"Software": None}
        figure.savefig(
            f"{path}.{suffix}", dpi=DOTS_PER_INCH, metadata=metadata, bbox_inches="tight"
        )
    plt.close(figure)
