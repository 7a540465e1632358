"""Forgetting within a Python program, without a daemon."""

import threading
from pathlib import Path

import pytest

from sidecar.clock import Clock
from sidecar.errors import MemoryExists, NamespaceLocked
from sidecar.model import MemoryInput
from sidecar.service import ForgettingService
from tests.namespaces import DAY, NOW


def a_clock() -> Clock:
    clock = Clock(injectable=True)
    clock.hold(NOW)
    return clock


@pytest.mark.gate("CYC-46")
def test_the_verbs_of_a_store_and_its_cycle_wait_for_their_answers(tmp_path: Path) -> None:
    clock = a_clock()
    with ForgettingService.open(tmp_path, clock=clock) as service:
        service.put(MemoryInput(id="weak", content="parked in row two", importance=0.3))
        service.put(MemoryInput(id="weaker", content="parked in row one", importance=0.1))
        service.put(MemoryInput(id="gone", content="parked in row nine", importance=0.9))
        with pytest.raises(MemoryExists):
            service.put(MemoryInput(id="weak", content="again"))
        service.replace(MemoryInput(id="weaker", content="parked in row 1", importance=0.1))
        assert service.delete("gone").forgotten == 1
        clock.hold(NOW + 14 * DAY)
        planned = service.run_cycle(dry_run=True)
        assert (planned.faded, planned.pruned, planned.run_id) == (1, 1, None)
        done = service.run_cycle(plan_id=planned.plan_id)
        assert (done.faded, done.pruned) == (1, 1)
    with ForgettingService.open(tmp_path, clock=clock) as service:
        weak = service.get_by_id("weak")
        assert weak is not None
        assert weak.importance == 0.15
        assert service.get_by_id("weaker") is service.get_by_id("gone") is None
    assert not [one for one in threading.enumerate() if one.name == "forgetd-service"]


@pytest.mark.gate("CYC-46")
def test_a_state_directory_belongs_to_one_service_at_a_time(tmp_path: Path) -> None:
    with ForgettingService.open(tmp_path), pytest.raises(NamespaceLocked):  # noqa: SIM117
        with ForgettingService.open(tmp_path):
            pass
