"""`python -m benchmarks.quality`: what each policy keeps, and what recall still finds then.

Progress goes to standard error, tables to standard output; JSON, Markdown and plots to `--out`.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import machine
from benchmarks.figures import print_table, write_results
from benchmarks.quality import aims, at_scale, embeddings, grid, tables
from benchmarks.quality.dialogue import Dialogue, read_locomo
from benchmarks.quality.generated import generate
from benchmarks.quality.measuring import NAMES, measure_all
from benchmarks.quality.stream import PROTOCOLS, Budget
from benchmarks.quality.words import wanted_by_likeness

SHARES: Final = (0.75, 0.5, 0.25, 0.1)
QUICK_SHARES: Final = (0.5, 0.25)
RESULTS: Final = machine.ROOT / "benchmarks" / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; 0 whether or not aims were met."""
    options = _options(arguments)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fq-", dir=options.scratch) as folder:
        facts = machine.facts(Path(folder), options.seed)
        facts["sentenceVectors"] = embeddings.model_version() or "none"
        if options.at_scale:
            return _at_scale(options, facts, Path(folder))
        with _progress() as progress:
            dialogues = _dialogues(options, progress)
            if options.grid:
                found = grid.measure(dialogues, Path(folder), progress)
                return _write_grid(options, facts, found)
            budgets = [
                Budget(protocol, share)
                for protocol in PROTOCOLS
                for share in (QUICK_SHARES if options.quick else SHARES)
            ]
            policies = options.only or NAMES
            task = progress.add_task("policies", total=len(dialogues) * len(policies))
            results = measure_all(
                dialogues,
                policies,
                budgets,
                options.processes,
                Path(folder),
                lambda done: progress.update(task, advance=1, description=done[1]),
            )
    facts["loadAfter"], facts["seconds"] = machine.load(), round(time.monotonic() - started)
    figures = aims.figures(results, full=not options.quick)
    text = tables.markdown(results, facts)
    print(text)
    print_table(figures, Console(width=150 if not sys.stdout.isatty() else None))
    written: dict[str, Any] = {
        "results": [asdict(one) for one in results],
        "figures": [asdict(one) | {"verdict": one.verdict} for one in figures],
    }
    path = tables.write(options.out, _name(options), facts, written, text)
    if plots := _plots():
        plots.draw(results, path.with_suffix(""))
    print(f"{facts['seconds']} s; written to {path}", file=sys.stderr)
    return 0


def _dialogues(options: argparse.Namespace, progress: Progress) -> list[Dialogue]:
    """The generated dialogues and those of the file, with their vectors."""
    dialogues = generate(options.seed)
    dialogues = dialogues[-1:] if options.quick else dialogues
    if options.locomo is not None:
        read = read_locomo(options.locomo)
        dialogues += read[:1] if options.quick else read
    task = progress.add_task("sentence vectors", total=None)
    with_vectors = [
        _embedded(dialogue, lambda done, of: progress.update(task, completed=done, total=of))
        for dialogue in dialogues
    ]
    progress.remove_task(task)
    if embeddings.model_version() is None:
        print("no sentence model is installed: recall by text only", file=sys.stderr)
    return [
        dialogue if dialogue.wanted else replace(dialogue, wanted=wanted_by_likeness(dialogue))
        for dialogue in with_vectors
    ]


def _embedded(dialogue: Dialogue, heard: Any) -> Dialogue:
    turns = [turn.text for turn in dialogue.turns]
    asked = [question.text for question in dialogue.questions]
    vectors = embeddings.embed(turns + asked, heard)
    if vectors is None:
        return dialogue
    count = len(turns)
    return replace(dialogue, vectors=vectors[:count], question_vectors=vectors[count:])


def _write_grid(options: argparse.Namespace, facts: dict[str, Any], found: list[Any]) -> int:
    text = grid.markdown(found)
    print(text)
    written = {"grid": [asdict(one) for one in found]}
    path = tables.write(options.out, f"{_name(options)}-grid", facts, written, text)
    if plots := _plots():
        plots.draw_grid(found, path.with_suffix(""))
    print(f"written to {path}", file=sys.stderr)
    return 0


def _at_scale(options: argparse.Namespace, facts: dict[str, Any], folder: Path) -> int:
    with _progress() as progress:
        figures = at_scale.measure(options.seed, folder, progress)
    print_table(figures, Console(width=150 if not sys.stdout.isatty() else None))
    path = write_results(options.out, f"{_name(options)}-at-scale", facts, figures)
    print(f"written to {path}", file=sys.stderr)
    return 0


def _plots() -> Any | None:
    """What draws, where matplotlib is installed."""
    try:
        from benchmarks.quality import plots
    except ImportError:
        print("no plots: matplotlib is not installed", file=sys.stderr)
        return None
    return plots


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )


def _name(options: argparse.Namespace) -> str:
    kind = "quick" if options.quick else "full"
    return f"quality-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{kind}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument(
        "--locomo",
        type=Path,
        metavar="FILE",
        default=os.environ.get("FORGETD_LOCOMO"),
        help="dialogues in LoCoMo's form, read where they lie (default: $FORGETD_LOCOMO)",
    )
    parser.add_argument("--quick", action="store_true", help="two dialogues, half and a quarter")
    parser.add_argument(
        "--only",
        action="append",
        choices=NAMES,
        metavar="POLICY",
        help=f"one of {', '.join(NAMES)}; may be given several times",
    )
    parser.add_argument(
        "--grid",
        action="store_true",
        help="instead: exponents, decay and the cap of recalls, tried out on the same dialogues",
    )
    parser.add_argument(
        "--at-scale",
        action="store_true",
        help="instead: 110 000 generated memories at the default thresholds",
    )
    parser.add_argument("--seed", type=int, default=20_260_101, help="of the generated dialogues")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="where stores are made")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
