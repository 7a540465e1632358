"""Any memory: a run may act on it from exactly the times that are foretold."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protocol.vector_store import NOW, StoredMemory, StoreSettings, snapshot_of
from sidecar.plan.crossings import Crossing, cycle_crossings, sweep_crossings
from sidecar.plan.cycle import plan_cycle
from sidecar.plan.cycle_plan import CYCLE_ACTIONS, CYCLE_POLICY, CyclePlan
from sidecar.plan.cycle_settings import CycleSettings
from sidecar.plan.explain import explain
from sidecar.plan.scoring import assess
from tests.plan_stores import stores

SETTINGS = st.builds(
    StoreSettings,
    weak_strength=st.sampled_from([0.05, 0.3, 0.01, 1.0]),
    idle_days_min=st.sampled_from([7.0, 0.0, 100.0]),
    newborn_days=st.sampled_from([1.0, 0.0]),
    forget_active=st.booleans(),
)
CYCLES = st.builds(
    CycleSettings,
    semantic_prune_threshold=st.sampled_from([0.05, 0.15]),
    procedural_prune_threshold=st.sampled_from([0.0, 0.05]),
    fade_interval_days=st.sampled_from([7.0, 0.0]),
)
# The clock of the planner and the closed form round apart by less than a millisecond.
JUST_BEFORE_MS = 2


def acting(crossings: tuple[Crossing, ...], *names: str) -> list[int]:
    """When the crossings of these thresholds let a run act."""
    return [one.acts_at for one in crossings if one.threshold in names and one.acts_at is not None]


@pytest.mark.gate("EXPL-11")
@given(stores(size_max=5), SETTINGS, st.data())
def test_a_sweep_may_take_a_memory_from_exactly_the_time_foretold(
    store: list[StoredMemory], settings: StoreSettings, data: st.DataObject
) -> None:
    snapshot, cascade = snapshot_of(store), settings.to_cascade()
    assume(len(snapshot))
    index = data.draw(st.integers(0, len(snapshot) - 1))

    def candidate(at: int) -> bool:
        return explain(snapshot, index, cascade, now=at, policy=CYCLE_POLICY).candidate

    view = assess(snapshot, cascade, now=NOW, policy=CYCLE_POLICY)
    times = acting(sweep_crossings(view, index), "weak", "expiry")
    assert candidate(NOW) == any(at <= NOW for at in times)
    if times and min(times) > NOW:
        assert candidate(min(times))
        assert not candidate(max(NOW, min(times) - JUST_BEFORE_MS))
    if not times and view.scored[index]:
        assert not candidate(NOW + 10**12)


@pytest.mark.gate("EXPL-12")
@given(stores(size_max=5), CYCLES, st.data())
def test_a_cycle_fades_and_prunes_a_memory_from_exactly_the_times_foretold(
    store: list[StoredMemory], settings: CycleSettings, data: st.DataObject
) -> None:
    snapshot = snapshot_of(store)
    assume(len(snapshot))
    index = data.draw(st.integers(0, len(snapshot) - 1))
    cascade = StoreSettings().to_cascade()

    def plan(at: int) -> CyclePlan:
        return plan_cycle(snapshot, settings, cascade, now=at)

    def action(at: int) -> str:
        made = plan(at)
        place = int((made.rid == snapshot.rid[index]).argmax())
        return CYCLE_ACTIONS[int(made.action[place])]

    view = assess(snapshot, cascade, now=NOW, policy=CYCLE_POLICY)
    made = plan(NOW)
    reason = made.reason_name(int((made.rid == snapshot.rid[index]).argmax()))
    assume(reason in (None, "time_decay"))
    crossings = cycle_crossings(view, index, made)
    for name in ("fade", "prune"):
        for at in acting(crossings, name):
            if at > NOW:
                assert action(at) == name
                assert action(max(NOW, at - JUST_BEFORE_MS)) != name
    passed = [one.threshold for one in crossings if one.acts_at is not None and one.acts_at <= NOW]
    expected = "prune" if "prune" in passed else "fade" if "fade" in passed else "keep"
    assert action(NOW) == expected
