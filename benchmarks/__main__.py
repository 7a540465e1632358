"""`python -m benchmarks`: measure, and show aim beside figure.

Progress goes to standard error, the table to standard output, JSON and Markdown to `--out`.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks import (
    calling,
    duplicates,
    estimating,
    forgetting,
    latency,
    machine,
    peers,
    planning,
    scale,
    spilling,
)
from benchmarks.context import Context
from benchmarks.figures import Figure, print_table, write_results

BENCHMARKS: Final[dict[str, Callable[[Context], list[Figure]]]] = {
    "plan": planning.measure,
    "duplicates": duplicates.measure,
    "estimate": estimating.measure,
    "forget": forgetting.measure,
    "spill": spilling.measure,
    "node": calling.measure_node,
    "idle": calling.measure_idle,
    "start": calling.measure_start,
}
# Minutes each: only by their names.
LONG: Final[dict[str, Callable[[Context], list[Figure]]]] = {
    "latency": latency.measure,
    "scale": scale.measure,
}
RESULTS: Final = machine.ROOT / "benchmarks" / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen benchmarks; 0 whether or not aims were met."""
    options = _options(arguments)
    scratch = options.scratch
    with tempfile.TemporaryDirectory(prefix="fb-", dir=scratch) as folder:
        context = Context(Path(folder), options.seed, options.quick, options.out, options.sentences)
        facts = machine.facts(context.scratch, options.seed)
        figures: list[Figure] = []
        for name in options.only or BENCHMARKS:
            context.tell(f"— {name}, load {machine.load()[0]}")
            figures += (BENCHMARKS | LONG)[name](context)
        if options.peers:
            figures += peers.measure(context)
        facts["loadAfter"] = machine.load()
    print_table(figures, Console(width=150 if not sys.stdout.isatty() else None))
    kind = "quick" if options.quick else "full"
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{kind}"
    path = write_results(options.out, name, facts, figures)
    if not options.only:
        print(f"left out, minutes each: --only {' --only '.join(LONG)}", file=sys.stderr)
    print(f"load {facts['load']} → {facts['loadAfter']}; written to {path}", file=sys.stderr)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the memories")
    parser.add_argument(
        "--only",
        action="append",
        choices=[*BENCHMARKS, *LONG],
        metavar="NAME",
        help=f"one of {', '.join([*BENCHMARKS, *LONG])}; may be given several times;"
        f" without it all but {' and '.join(LONG)}",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="install other packages that forget into a throw-away environment, and time them",
    )
    parser.add_argument(
        "--sentences",
        type=Path,
        metavar="FILE",
        help="dialogues in JSON: find duplicates among their sentences, rank their turns, too",
    )
    parser.add_argument(
        "--out", type=Path, default=RESULTS, metavar="DIR", help="for JSON and Markdown"
    )
    parser.add_argument("--seed", type=int, default=20_260_101, help="of all data")
    parser.add_argument(
        "--scratch",
        type=Path,
        metavar="DIR",
        help="where stores are made: a folder of the disk that is to be measured",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
