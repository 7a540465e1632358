"""A namespace without a daemon: opened in the test's own process, and looked at from outside.

`Kept` is what must survive of a memory; `kept` reads it from the files, past every cache.
"""

import random
import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidecar.clock import Clock
from sidecar.config import Config, load_config
from sidecar.model import TIERS, MemoryInput
from sidecar.namespace import Namespace
from sidecar.registry import FOLDER, Registry
from sidecar.store import doctor, rows
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.sqlite.connection import keep_wal, open_reader
from sidecar.store.sqlite.source import read_payload

DAY_MS = 86_400_000
NOW = 1_780_000_000_000
DIMENSIONS = 8


@dataclass(frozen=True)
class Kept:
    """One memory as it stands on disk, its hash checked."""

    tier: str
    content: str
    metadata: str
    embedding: bytes | None
    fade_factor: float
    faded_at: int | None


def directory_of(state_dir: Path, name: str = "default") -> Path:
    """The directory of a namespace."""
    return state_dir / FOLDER / name


def plain_config() -> Config:
    """The defaults, whatever the machine's configuration says."""
    return load_config(environ={"HOME": "/nonexistent"})


@asynccontextmanager
async def registry_on(state_dir: Path, now: int = NOW) -> AsyncIterator[Registry]:
    """A recovered registry at a held time, closed in order at the end."""
    clock = Clock(injectable=True)
    clock.hold(now)
    registry = Registry(state_dir, clock, plain_config())
    await registry.recover()
    try:
        yield registry
    finally:
        await registry.close_all()


@asynccontextmanager
async def opened(
    state_dir: Path, now: int = NOW, name: str = "default"
) -> AsyncIterator[Namespace]:
    """A namespace that is open for the length of a `with` block."""
    async with registry_on(state_dir, now) as registry:
        yield await registry.open(name, create=True)


def memories(count: int, prefix: str = "m", seed: int = 1) -> list[MemoryInput]:
    """Old memories of growing importance, each with a vector, so that any may be moved."""
    numbers = random.Random(seed)
    return [
        MemoryInput(
            id=f"{prefix}{at}",
            content=f"{prefix} number {at}: 커피를 좋아한다 🎈 {numbers.random()}",
            created_at=NOW - (100 + at % 50) * DAY_MS,
            importance=0.01 * (at % 100),
            metadata={"at": at},
            embedding=[numbers.random() for _ in range(DIMENSIONS)],
        )
        for at in range(count)
    ]


def bytes_of(embedding: Iterable[float]) -> bytes:
    """A vector as it is stored."""
    return np.array(list(embedding), "<f4").tobytes()


def image_of(state_dir: Path, target: Path) -> Path:
    """The files as a kill would leave them now: WAL and all, nothing closed."""
    shutil.copytree(state_dir, target, ignore=shutil.ignore_patterns("*-shm", "reserve"))
    return target


def kept(directory: Path) -> dict[str, Kept]:
    """Every memory by id. Raises PayloadDamaged where one cannot be read."""
    connection = open_reader(directory / "hot.db")
    keep_wal(connection)
    files = SegmentFiles(directory)
    try:
        found: dict[str, Kept] = {}
        for row in rows.select(connection, "ORDER BY tier, segment, frame, line", ()):
            payload = read_payload(connection, files, row)
            found[row.id] = Kept(
                TIERS[row.tier],
                payload.content,
                payload.metadata,
                payload.embedding,
                row.fade_factor,
                row.faded_at,
            )
        return found
    finally:
        connection.close()
        files.close()


def faults(directory: Path, *, but: Iterable[str] = ()) -> dict[str, str]:
    """What the doctor finds wrong, by check, apart from the checks named."""
    found = doctor.examine(directory).findings
    return {one.check: one.detail for one in found if not one.ok and one.check not in but}


def unfinished_runs(directory: Path) -> int:
    """How many runs of the ledger were begun and not finished."""
    connection = open_reader(directory / "hot.db")
    keep_wal(connection)
    try:
        if not connection.execute("PRAGMA user_version").fetchall()[0][0]:
            return 0
        query = "SELECT count(*) FROM runs WHERE state = 'running'"
        return connection.execute(query).fetchall()[0][0]
    finally:
        connection.close()


def assert_columns_follow(namespace: Namespace) -> None:
    """The RAM columns are what a fresh load of the database makes of them."""
    from sidecar.store.columns import Columns

    fresh = Columns()
    with namespace.store.readers.borrow() as connection:
        fresh.load(connection)
    assert namespace.store.columns.counts() == fresh.counts()
    now, then = namespace.store.columns.snapshot(), fresh.snapshot()
    order, expected = np.argsort(now.rid), np.argsort(then.rid)
    assert [now.ids[at] for at in order] == [then.ids[at] for at in expected]
    for column in ("rid", "tier", "status", "importance", "change_counter", "bytes", "pinned"):
        ours, theirs = getattr(now, column)[order], getattr(then, column)[expected]
        assert np.array_equal(ours, theirs), column
