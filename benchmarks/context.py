"""What every benchmark is given: sizes, seed, a scratch folder, filled stores, progress."""

import asyncio
import shutil
import sys
import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from benchmarks.data import Corpus
from benchmarks.stores import copied, fill

FULL_MEMORIES: Final = 100_000
QUICK_SHARE: Final = 10


@dataclass(slots=True)
class Context:
    """One run of the benchmarks."""

    scratch: Path
    seed: int
    quick: bool
    out: Path  # where plots go
    sentences: Path | None = None  # dialogues from which real sentence vectors are made
    _templates: dict[int, Path] = field(default_factory=dict[int, Path])

    @property
    def memories(self) -> int:
        """How many memories the large stores have."""
        return FULL_MEMORIES // QUICK_SHARE if self.quick else FULL_MEMORIES

    @property
    def corpus(self) -> Corpus:
        """The data, aged from now on."""
        return Corpus(self.seed, time.time_ns() // 1_000_000)

    def store(self, name: str, dimensions: int) -> Path:
        """A state directory with `memories` hot memories, closed, in a folder of its own."""
        template = self._templates.get(dimensions)
        if template is None:
            template = self.scratch / f"template-{dimensions}"
            self.tell(f"filling {self.memories} memories, vectors of {dimensions}")
            template.mkdir(mode=0o700)
            asyncio.run(fill(template, self.corpus, self.memories, dimensions))
            self._templates[dimensions] = template
        (self.scratch / name).mkdir(mode=0o700)
        return copied(template, self.scratch / name / "state")

    def done(self, state_dir: Path) -> None:
        """Give the room of a store back."""
        shutil.rmtree(state_dir.parent)

    def pictures(self) -> ModuleType | None:
        """What draws, or None where the `bench` extra is not installed."""
        try:
            return import_module("benchmarks.pictures")
        except ModuleNotFoundError as error:
            self.tell(f"no plots: {error.name} is not installed (the `bench` extra)")
            return None

    def tell(self, what: str) -> None:
        """Progress, on standard error."""
        print(f"[{time.strftime('%H:%M:%S')}] {what}", file=sys.stderr, flush=True)
