"""What the planning tests share: sweeps of small stores, and stores made up by hypothesis."""

from collections.abc import Sequence

import msgspec
from hypothesis import strategies as st

from protocol.vector_store import DAY, NOW, Mode, StoredMemory, StoreSettings, snapshot_of
from sidecar.plan.cascade import plan_cascade
from sidecar.plan.plan import FORGET, SPILL, Plan
from sidecar.plan.policies import policy_named

POLICY = policy_named("balanced", "none")
EXPONENTS = {"classic": (1.0, 1.0, 1.0), "balanced": (1.0, 0.01, 0.0)}

# No threshold is crossed unless a test says so, and a stage goes exactly to its threshold.
QUIET = StoreSettings(low_watermark=1.0)


def weak(id: str, days: int = 100, **fields: object) -> StoredMemory:
    """A memory that pressure may forget, unless a field says otherwise."""
    changed = {"importance": 0.1, "created_at": NOW - days * DAY, **fields}
    return StoredMemory(id=id, **changed)  # type: ignore[arg-type]


def sweep(
    memories: Sequence[StoredMemory],
    *,
    mode: Mode = "normal",
    policy: str = "balanced",
    forgotten_in_window: int = 0,
    run_stage_one: bool = True,
    run_stage_two: bool = True,
    row_numbers: dict[str, int] | None = None,
    settings: StoreSettings = QUIET,
    now: int = NOW,
    **changed: object,
) -> Plan:
    """Plan a sweep of a small store. Further names change the settings."""
    settings = msgspec.structs.replace(settings, **changed)
    return plan_cascade(
        snapshot_of(memories, row_numbers),
        settings.to_cascade(),
        now=now,
        policy=policy_named(policy, "none"),
        mode=mode,
        run_stage_one=run_stage_one,
        run_stage_two=run_stage_two,
        forgotten_in_window=forgotten_in_window,
    )


def spilled(plan: Plan) -> list[str]:
    """The ids that a plan spills, in its order."""
    return [id for id, action in zip(plan.ids, plan.action, strict=True) if action == SPILL]


def forgotten(plan: Plan) -> list[str]:
    """The ids that a plan forgets, in its order."""
    return [id for id, action in zip(plan.ids, plan.action, strict=True) if action == FORGET]


def applied(memories: Sequence[StoredMemory], plan: Plan, *, now: int = NOW) -> list[StoredMemory]:
    """The store after the plan was carried out in full."""
    cold, gone = set(spilled(plan)), set(forgotten(plan))

    def moved(memory: StoredMemory) -> StoredMemory:
        if memory.id in cold:
            return msgspec.structs.replace(memory, tier="cold", bytes=memory.cold_bytes)
        if memory.id in gone:
            return msgspec.structs.replace(memory, tier="forgotten", forgotten_at=now)
        return memory

    return [moved(memory) for memory in memories]


AGES = st.sampled_from(
    [-DAY - 1, -DAY, -1, 0, DAY - 1, DAY, 7 * DAY - 1, 7 * DAY, 30 * DAY, 60 * DAY, 400 * DAY]
) | st.integers(0, 500 * DAY)
TIMES = AGES.map(lambda age: NOW - age)
AROUND_NOW = st.sampled_from([None, None, NOW - 1, NOW, NOW + 1, NOW + DAY, 1_800_000_000])
MEDIA = {"a.png": 5_000, "b.png": 700, "c.png": 20_000}


@st.composite
def memories(draw: st.DrawFn, id: str, ids: Sequence[str]) -> StoredMemory:
    """One memory of a store of these ids, any mixture of what matters to a sweep."""
    memory = draw(
        st.builds(
            StoredMemory,
            id=st.just(id),
            tier=st.sampled_from(["hot", "hot", "hot", "cold", "forgotten"]),
            status=st.sampled_from(["active", "active", "active", "archived", "invalidated"]),
            memory_type=st.sampled_from(["semantic", "episodic", "procedural"]),
            importance=st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, "NaN", -1.0]) | st.floats(0, 1),
            fade_factor=st.sampled_from([1.0, 1.0, 0.5, 0.0]),
            faded_at=st.none() | TIMES,
            created_at=TIMES,
            last_recalled_at=st.none() | TIMES,
            recall_count=st.integers(0, 7),
            success_count=st.integers(0, 3),
            failure_count=st.integers(0, 3),
            pinned=st.integers(0, 9).map(lambda n: n == 9),
            evergreen=st.integers(0, 9).map(lambda n: n == 9),
            held_until=AROUND_NOW,
            expires_at=AROUND_NOW,
            restored_at=st.none() | TIMES,
            bytes=st.sampled_from([1_000, 500, 3_000]),
            media_ref=st.sampled_from([None, None, *MEDIA]),
        )
    )
    memory.media_bytes = MEDIA.get(memory.media_ref or "", 0)
    if memory.tier == "forgotten":
        memory.forgotten_at = NOW - draw(st.sampled_from([0, DAY, DAY + 1]))
    if draw(st.booleans()):
        memory.superseded_by = draw(st.sampled_from([*ids, "nobody"]))
        memory.status = "superseded" if memory.status == "active" else memory.status
    return memory


@st.composite
def stores(draw: st.DrawFn, size_max: int = 14) -> list[StoredMemory]:
    """A small store: every tier, status and protection, chains with loops and missing links."""
    ids = draw(
        st.lists(st.text("abB각😀é", min_size=1, max_size=2), unique=True, max_size=size_max)
    )
    return [draw(memories(id, ids)) for id in ids]


@st.composite
def large_stores(draw: st.DrawFn) -> list[StoredMemory]:
    """A store about as large as the brake asks for: each memory of a small one several times."""
    kinds = draw(stores(8).filter(len))
    copies = draw(st.integers(10, 40))

    def copy(memory: StoredMemory, number: int) -> StoredMemory:
        by = memory.superseded_by
        return msgspec.structs.replace(
            memory, id=f"{memory.id}{number}", superseded_by=f"{by}{number}" if by else None
        )

    return [copy(memory, number) for number in range(copies) for memory in kinds]


@st.composite
def pressures(draw: st.DrawFn, size: int) -> StoreSettings:
    """Settings that press on a store of this size, more often than not."""
    return StoreSettings(
        threshold_count=draw(st.integers(0, size)),
        threshold_total=draw(st.integers(0, size) | st.just(10**6)),
        threshold_disk_bytes=draw(st.integers(0, 1_200 * size) | st.just(10**9)),
        low_watermark=draw(st.sampled_from([0.9, 0.5, 1.0, 0.0])),
        weak_strength=draw(st.sampled_from([0.05, 0.3, 0.01])),
        newborn_days=draw(st.sampled_from([1.0, 0.0])),
        forget_active=draw(st.integers(0, 4)) > 0,
        brake_share=draw(st.sampled_from([0.2, 0.01, 1.0])),
    )


@st.composite
def pressed_stores(draw: st.DrawFn) -> tuple[list[StoredMemory], StoreSettings]:
    """A store, small or of the brake's size, with settings that press on it."""
    store = draw(stores() | large_stores())
    return store, draw(pressures(len(store)))
