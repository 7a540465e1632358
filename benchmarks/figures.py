"""One measured figure, its aim, and the table and JSON of a run."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from rich.console import Console
from rich.table import Table

Verdict = Literal["met", "missed", "no aim", "other size"]
COLOURS: Final = {"met": "green", "missed": "red", "no aim": "default", "other size": "default"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its unit. `cpu_seconds` is what the processes measured used meanwhile.

    `at_most` or `at_least` is the aim; neither is a figure that only tells. `full_size` is
    False where fewer memories were measured than the aim speaks of.
    """

    benchmark: str
    what: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    cpu_seconds: float | None = None
    note: str = ""
    full_size: bool = True

    @property
    def verdict(self) -> Verdict:
        """Whether the aim was met; only measured at the size that the aim is meant for."""
        if self.at_most is None and self.at_least is None:
            return "no aim"
        if not self.full_size:
            return "other size"
        within = self.at_most is None or self.value <= self.at_most
        return (
            "met" if within and (self.at_least is None or self.value >= self.at_least) else "missed"
        )

    @property
    def aim(self) -> str:
        """The aim in words."""
        if self.at_most is not None:
            return f"≤ {shown(self.at_most)} {self.unit}"
        return "" if self.at_least is None else f"≥ {shown(self.at_least)} {self.unit}"


def shown(value: float) -> str:
    """Three digits that count, and no exponent."""
    if value == 0 or abs(value) >= 100:
        return grouped(round(value))
    return f"{value:.{2 if abs(value) < 10 else 1}f}" if abs(value) >= 0.1 else f"{value:.3f}"


def grouped(count: int) -> str:
    """A whole number with a space between thousands."""
    return f"{count:,}".replace(",", " ")


def print_table(figures: Sequence[Figure], console: Console) -> None:
    """The table that a person reads, aim beside figure."""
    table = Table(title="forgetd benchmarks", title_justify="left")
    for name in ("what", "figure", "aim", "", "CPU s", "note"):
        table.add_column(name, justify="right" if name in ("figure", "aim", "CPU s") else "left")
    benchmark = None
    for figure in figures:
        if figure.benchmark != benchmark:
            table.add_section()
            benchmark = figure.benchmark
        verdict = figure.verdict
        table.add_row(
            figure.what,
            f"{shown(figure.value)} {figure.unit}",
            figure.aim,
            f"[{COLOURS[verdict]}]{'' if verdict == 'no aim' else verdict}[/]",
            "" if figure.cpu_seconds is None else shown(figure.cpu_seconds),
            figure.note,
        )
    console.print(table)


def markdown(figures: Iterable[Figure]) -> str:
    """The same table for docs/benchmarks.md."""
    lines = ["| what | figure | aim | | CPU s | note |", "|---|--:|--:|---|--:|---|"]
    for figure in figures:
        verdict = "" if figure.verdict == "no aim" else figure.verdict
        cpu = "" if figure.cpu_seconds is None else shown(figure.cpu_seconds)
        lines.append(
            f"| {figure.what} | {shown(figure.value)} {figure.unit} | {figure.aim} | {verdict} "
            f"| {cpu} | {figure.note} |"
        )
    return "\n".join(lines) + "\n"


def write_results(
    folder: Path, name: str, machine: dict[str, Any], figures: Sequence[Figure]
) -> Path:
    """`name`.json and `name`.md in `folder`; the path of the first."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [asdict(figure) | {"verdict": figure.verdict} for figure in figures]
    path = folder / f"{name}.json"
    path.write_text(
        json.dumps({"machine": machine, "figures": rows}, ensure_ascii=False, indent=1) + "\n",
        encoding="utf-8",
    )
    (folder / f"{name}.md").write_text(markdown(figures), encoding="utf-8")
    return path
