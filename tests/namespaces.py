"""Namespaces in this process, on a clock that the test holds, and what a test asks of them."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidecar.clock import Clock
from sidecar.config import load_config
from sidecar.estimate import Estimator
from sidecar.limits import MILLISECONDS_PER_DAY, MILLISECONDS_PER_MINUTE
from sidecar.model import TIERS, Memory, MemoryInput, Tier
from sidecar.namespace import Namespace
from sidecar.option_table import OptionValue
from sidecar.registry import Registry
from sidecar.reports import RecallReport, RestoreReport, SweepReport
from sidecar.store import events, rows
from sidecar.store.columns import Columns
from sidecar.thresholds import Value

NOW = 1_780_000_000_000
MINUTE = MILLISECONDS_PER_MINUTE
HOUR = 60 * MINUTE
DAY = MILLISECONDS_PER_DAY
SETTLED_AFTER_SECONDS_MAX = 120.0

Options = dict[str, dict[str, OptionValue]]


class World:
    """A registry over one state directory; it can be stopped and started again."""

    def __init__(
        self, state_dir: Path, *, injectable: bool, config: dict[str, Value], options: Options
    ) -> None:
        self.state_dir = state_dir
        self.injectable = injectable
        self.config = config
        self.options = options
        self.registry: Registry
        self.clock: Clock

    async def start(self, now: int = NOW, estimator: Estimator | None = None) -> None:
        """Start a registry as a daemon does. The clock stands at `now` where it can be held."""
        self.clock = Clock(injectable=self.injectable)
        if self.injectable:
            self.clock.hold(now)
        config = load_config(environ={"HOME": str(self.state_dir)})
        config = replace(config, thresholds=self.config, options=self.options)
        self.registry = Registry(self.state_dir, self.clock, config, estimator=estimator)
        await self.registry.recover()

    async def restart(self, estimator: Estimator | None = None) -> None:
        """Stop in good order and start again at the same time."""
        now = self.clock.now_ms()
        await self.registry.close_all()
        await self.start(now, estimator)

    def pass_time(self, milliseconds: int) -> None:
        """Let time go by."""
        self.clock.hold(self.clock.now_ms() + milliseconds)

    def directory(self, name: str = "default") -> Path:
        """The directory of a namespace."""
        return self.state_dir / "namespaces" / name

    async def open(
        self, name: str = "default", *, automatic: bool = True, **thresholds: Value
    ) -> Namespace:
        """A namespace made with these options. Without `automatic` only calls move anything."""
        namespace = await self.registry.open(name, True)
        await namespace.apply_open_options(thresholds=thresholds, created=True)
        if not automatic:
            await stop_automatic_runs(namespace)
        return namespace


@asynccontextmanager
async def a_world(
    state_dir: Path,
    *,
    injectable: bool = True,
    config: dict[str, Value] | None = None,
    options: Options | None = None,
) -> AsyncIterator[World]:
    """A started world, closed at the end. `options` are those of the file, by section."""
    world = World(state_dir, injectable=injectable, config=config or {}, options=options or {})
    await world.start()
    try:
        yield world
    finally:
        await world.registry.close_all()


async def stop_automatic_runs(namespace: Namespace) -> None:
    """Pause automatic runs as a client does that opened with forgetEnabled: false."""
    await namespace.apply_open_options(thresholds={"forgetEnabled": False}, created=False)


# --- making memories ---------------------------------------------------------------------


def memory(memory_id: str, days: float = 200, **fields: Any) -> MemoryInput:
    """A memory that is `days` old; by default weak by now, and weaker with less importance."""
    given: dict[str, Any] = {
        "content": f"what {memory_id} says",
        "created_at": NOW - round(days * DAY),
        "importance": 0.3,
    }
    return MemoryInput(id=memory_id, **(given | fields))


def many(count: int, prefix: str = "m", **fields: Any) -> list[MemoryInput]:
    """Weak memories, the oldest first: these would also go first."""
    return [
        memory(f"{prefix}{number:05}", 400 - 200 * number / count, **fields)
        for number in range(count)
    ]


async def fill(namespace: Namespace, memories: Sequence[MemoryInput]) -> None:
    """Put memories as a host would that has many: a thousand a call."""
    for start in range(0, len(memories), 1_000):
        await namespace.put_many(
            memories=list(memories[start : start + 1_000]), if_exists="error", partial=False
        )


async def put(namespace: Namespace, *memories: MemoryInput) -> list[Memory]:
    """Put memories one by one."""
    return [await namespace.put(memory=one, if_exists="error") for one in memories]


# --- calls with the wire's defaults ------------------------------------------------------


async def sweep(namespace: Namespace, **given: Any) -> SweepReport:
    """forgetSweep, with every decision in the report."""
    call: dict[str, Any] = {
        "dry_run": False,
        "plan_id": None,
        "mode": "normal",
        "policy": None,
        "brake_share": None,
        "now": None,
        "decisions_limit": 100_000,
    }
    return await namespace.sweep(**(call | given))


async def recall(namespace: Namespace, query: str | None = None, **given: Any) -> RecallReport:
    """memory.recall that counts as no use, unless `touch` is given."""
    call: dict[str, Any] = {
        "embedding": None,
        "embedding_model": None,
        "top_k": 20,
        "depth": "auto",
        "memory_types": None,
        "include_archived": False,
        "min_strength": None,
        "touch": "none",
    }
    return await namespace.recall(query=query, **(call | given))


async def recalled(namespace: Namespace, query: str | None = None, **given: Any) -> list[str]:
    """The ids that a recall answers, best first."""
    report = await recall(namespace, query, **given)
    return [result.memory.id for result in report.results]


async def restore(namespace: Namespace, *ids: str, **given: Any) -> RestoreReport:
    """memory.restore by ids, by run_id or by reason."""
    call: dict[str, Any] = {"ids": list(ids) or None, "run_id": None, "reason": None}
    return await namespace.restore(**(call | given))


async def get(namespace: Namespace, memory_id: str, *, embedding: bool = False) -> Memory | None:
    """memory.get."""
    return await namespace.get(id=memory_id, include_embedding=embedding)


async def listed(namespace: Namespace, tier: Tier | None = None) -> list[str]:
    """Every id that memory.list answers, over all pages."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await namespace.list(
            tier=tier, status=None, memory_type=None, cursor=cursor, limit=1_000
        )
        found += [one.id for one in page.memories]
        cursor = page.cursor
        if cursor is None:
            return found


def decided(report: SweepReport, action: str | None = None) -> list[str]:
    """The ids that a report decided about, in order; of one action."""
    return [one.id for one in report.decisions if action in (None, one.action)]


# --- waiting -----------------------------------------------------------------------------


async def eventually(condition: Callable[[], bool], what: str) -> None:
    """Let other tasks run until a condition holds; fail at the deadline."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + SETTLED_AFTER_SECONDS_MAX
    while not condition():
        assert loop.time() < give_up_at, f"still not: {what}"
        await asyncio.sleep(0.01)


async def settle(namespace: Namespace) -> None:
    """Return when no automatic run is under way or scheduled, and none would be."""
    quiet = 0
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + SETTLED_AFTER_SECONDS_MAX
    while quiet < 2:
        assert loop.time() < give_up_at, "automatic runs do not come to rest"
        # What the writer told the detector before this job has been heard when it returns.
        await asyncio.to_thread(namespace.store.writer.call, lambda tx: None, alone=True)
        quiet = 0 if _at_work(namespace) else quiet + 1
        await asyncio.sleep(0 if quiet else 0.01)


def _at_work(namespace: Namespace) -> bool:
    automatic: Any = namespace.automatic
    task = automatic._task
    sweeping = automatic._timer is not None or (task is not None and not task.done())
    return sweeping or namespace.slots.busy or bool(namespace._tasks) or namespace.in_flight > 0


# --- looking -----------------------------------------------------------------------------


def query(namespace: Namespace, sql: str, *bindings: Any) -> list[tuple[Any, ...]]:
    """Rows of the database, as it is now."""
    with namespace.store.readers.borrow() as connection:
        return connection.execute(sql, bindings).fetchall()


def tiers(namespace: Namespace) -> dict[str, str]:
    """Where every memory lies."""
    return {one: TIERS[tier] for one, tier in query(namespace, "SELECT id, tier FROM memories")}


def ids_in(namespace: Namespace, tier: Tier) -> list[str]:
    """The ids in one tier, in order of row."""
    found = query(
        namespace, "SELECT id FROM memories WHERE tier = ? ORDER BY rid", TIERS.index(tier)
    )
    return [one for (one,) in found]


def counted(namespace: Namespace) -> tuple[int, int, int]:
    """The kept counters: hot, cold, forgotten."""
    counts = namespace.store.columns.counts()
    return counts.hot, counts.cold, counts.forgotten


def payloads(namespace: Namespace) -> dict[str, tuple[Any, ...]]:
    """The exact bytes of every memory, wherever they lie."""
    with namespace.store.readers.view() as connection:
        found: dict[str, tuple[Any, ...]] = {}
        for row in rows.select(connection, "ORDER BY rid", ()):
            one = namespace.store.payload(connection, row)
            found[row.id] = (
                one.content.encode(),
                one.metadata.encode(),
                one.extra.encode(),
                one.created_at,
                one.embedding_model,
                one.embedding,
            )
    return found


def state_hash(namespace: Namespace) -> str:
    """The state hash by the rows; the log must give the same."""
    with namespace.store.readers.view() as connection:
        by_rows = events.state_hash(connection)
        assert events.replayed_hash(connection) == by_rows
    return by_rows


def columns_of(columns: Columns) -> dict[str, Any]:
    """All that the RAM columns know, in a form that does not depend on how they came to be."""
    snapshot: Any = columns.snapshot()
    names = sorted(
        name
        for name in type(snapshot).__dataclass_fields__
        if name not in ("ids", "media_bytes", "media_group") and not name.startswith("gone")
    )
    refs: Any = {group: ref for ref, group in columns._media.items()}
    arrays = {name: getattr(snapshot, name).tolist() for name in names}
    sizes = {ref: columns._media_sizes[group] for group, ref in refs.items()}
    owned = {refs[group] for group in snapshot.media_group.tolist() if group >= 0}
    valid_from = columns.rows_at(snapshot.rid)[1].tolist()
    return {
        "memories": {
            snapshot.ids[at]: {name: array[at] for name, array in arrays.items()}
            | {"media": refs.get(int(snapshot.media_group[at])), "valid_from": valid_from[at]}
            for at in range(len(snapshot))
        },
        "gone": sorted(
            zip(
                snapshot.gone_rid.tolist(),
                snapshot.gone_successor_rid.tolist(),
                snapshot.gone_at.tolist(),
                strict=True,
            )
        ),
        "media": {ref: size for ref, size in sizes.items() if ref in owned},
        "counts": columns.counts(),
    }


def check_columns(namespace: Namespace) -> None:
    """The RAM columns are what a fresh load of the database gives, and the counters are true."""
    fresh = Columns()
    with namespace.store.readers.view() as connection:
        fresh.load(connection)
    assert columns_of(namespace.store.columns) == columns_of(fresh)


def event_kinds(namespace: Namespace, prefix: str = "") -> list[str]:
    """The kinds of the events so far, in order, that begin with `prefix`."""
    found = query(namespace, "SELECT kind FROM events ORDER BY seq")
    return [kind for (kind,) in found if kind.startswith(prefix)]


def files_below(folder: Path) -> dict[str, str]:
    """A digest of every file, `*-shm` apart."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }


def vector(generator: random.Random, dimensions: int = 8) -> list[float]:
    """A random direction."""
    return [generator.gauss(0, 1) for _ in range(dimensions)]
