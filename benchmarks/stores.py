"""Filled namespaces: made once, copied for each measurement, opened in this process."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.data import Corpus
from sidecar.clock import Clock
from sidecar.config import load_config
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.registry import Registry

NAMESPACE: Final = "default"
# Nothing is to move by itself while a store is filled, whatever its size.
QUIET: Final = {
    "forgetEnabled": False,
    "forgetThresholdCount": 10_000_000,
    "forgetThresholdTotal": 10_000_000,
}


@asynccontextmanager
async def opened(state_dir: Path) -> AsyncIterator[Namespace]:
    """The namespace of a state directory, in this process."""
    config = load_config(environ={"HOME": str(state_dir)})
    registry = Registry(state_dir, Clock(), config)
    try:
        yield await registry.open(NAMESPACE, create=True)
    finally:
        await registry.close_all()


async def fill(state_dir: Path, corpus: Corpus, count: int, dimensions: int) -> None:
    """Put `count` memories into a new state directory."""
    async with opened(state_dir) as namespace:
        await namespace.set_thresholds(QUIET)
        for batch in corpus.batches(count, dimensions):
            memories = msgspec.convert(batch, list[MemoryInput])
            await namespace.put_many(memories=memories, if_exists="error", partial=False)


def copied(template: Path, target: Path) -> Path:
    """A copy of a closed state directory."""
    shutil.copytree(template, target)
    return target


def database_bytes(state_dir: Path) -> int:
    """The hot database and its log."""
    folder = state_dir / "namespaces" / NAMESPACE
    return sum(path.stat().st_size for path in folder.glob("hot.db*"))


def segment_bytes(state_dir: Path) -> int:
    """The archive files of cold and forgotten memories."""
    folder = state_dir / "namespaces" / NAMESPACE
    return sum(path.stat().st_size for path in folder.glob("*/seg-*"))


def sweep_arguments(**given: Any) -> dict[str, Any]:
    """The arguments of `Namespace.sweep`, with those that are not given at rest."""
    rest: dict[str, Any] = {
        "dry_run": False,
        "plan_id": None,
        "mode": "normal",
        "policy": None,
        "brake_share": None,
        "now": None,
        "decisions_limit": 100,
    }
    return rest | given
