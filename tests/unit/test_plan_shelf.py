"""Plans that wait: how many, how long, how often, and for which policy."""

import pytest

from protocol.vector_store import NOW
from sidecar.errors import PlanExpired, PlanNotApplicable, PlanUnknown, PlanUsed
from sidecar.limits import PLAN_LIFETIME_MS, PLANS_KEPT_MAX
from sidecar.plan.plan import CascadeSettings
from sidecar.plan_shelf import PlanShelf, ShelvedPlan
from tests.plan_stores import POLICY, sweep, weak


def shelved(shelf: PlanShelf, made_at: int = NOW, *, applicable: bool = True) -> ShelvedPlan:
    """A plan of one decision, put on the shelf."""
    plan = sweep([weak("m"), weak("n")], threshold_total=1)
    return shelf.add(plan, CascadeSettings(), made_at, applicable=applicable)


@pytest.mark.gate("RUN-03")
def test_a_plan_is_found_again_and_taken_once() -> None:
    shelf = PlanShelf("x")
    plan = shelved(shelf)
    assert plan.plan_id.startswith("plan-")
    assert shelf.find(plan.plan_id, NOW) is plan
    assert shelf.take(plan.plan_id, NOW, POLICY.version) is plan
    with pytest.raises(PlanUsed):
        shelf.take(plan.plan_id, NOW, POLICY.version)
    assert shelf.find(plan.plan_id, NOW) is plan, "it can still be read"


@pytest.mark.gate("RUN-03")
def test_ids_are_never_the_same() -> None:
    shelf = PlanShelf("x")
    assert len({shelved(shelf).plan_id for _ in range(50)}) == 50


@pytest.mark.gate("RUN-03")
def test_the_oldest_plan_makes_room() -> None:
    shelf = PlanShelf("x")
    plans = [shelved(shelf) for _ in range(PLANS_KEPT_MAX + 2)]
    for plan in plans[:2]:
        with pytest.raises(PlanUnknown) as refused:
            shelf.find(plan.plan_id, NOW)
        assert {"field", "bound", "remedy"} <= set(refused.value.data)
    for plan in plans[2:]:
        assert shelf.find(plan.plan_id, NOW) is plan


@pytest.mark.gate("RUN-03")
def test_a_plan_expires_after_its_lifetime_and_not_before() -> None:
    shelf = PlanShelf("x")
    plan = shelved(shelf)
    assert shelf.take(plan.plan_id, NOW + PLAN_LIFETIME_MS, POLICY.version) is plan
    other = shelved(shelf)
    late = NOW + PLAN_LIFETIME_MS + 1
    with pytest.raises(PlanExpired):
        shelf.find(other.plan_id, late)
    with pytest.raises(PlanExpired):
        shelf.take(other.plan_id, late, POLICY.version)
    assert not other.used


@pytest.mark.gate("RUN-03")
def test_a_plan_of_a_foreign_time_or_an_older_policy_is_not_taken() -> None:
    shelf = PlanShelf("x")
    foreign = shelved(shelf, applicable=False)
    with pytest.raises(PlanNotApplicable) as refused:
        shelf.take(foreign.plan_id, NOW, POLICY.version)
    assert "now" in refused.value.data["bound"]
    older = shelved(shelf)
    with pytest.raises(PlanNotApplicable) as refused:
        shelf.take(older.plan_id, NOW, "another version")
    assert "another version" in refused.value.data["bound"]
    assert not foreign.used
    assert not older.used
