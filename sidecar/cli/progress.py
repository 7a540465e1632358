"""A bar on standard error while something long runs; nothing where nobody watches."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

# Below this a bar would be gone before it is seen.
WORTH_SHOWING_BYTES: Final = 1_000_000
WORTH_SHOWING_MEMORIES: Final = 5_000

Progress = Callable[[int], None]


@contextmanager
def progress(
    label: str, total: int, worth_showing: int = WORTH_SHOWING_BYTES
) -> Generator[Progress]:
    """A function that is told how much is done, in bytes or in what `total` counts."""
    if total < worth_showing or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(label), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)
