"""The write log is moved into the database beside the writes: it does not grow with them."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from sidecar.estimate import NeutralEstimator
from sidecar.model import MemoryInput
from sidecar.store.sqlite import checkpointer
from sidecar.store.sqlite.checkpointer import Checkpointer
from sidecar.store.store import Store
from sidecar.validation import check

NOW = 1_780_000_000_000
PUTS_MAX = 3_000


@pytest.fixture
def log_pages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pages the log had after each commit."""
    seen: list[int] = []
    committed = Checkpointer.committed

    def noting(self: Checkpointer, pages: int) -> None:
        seen.append(pages)
        committed(self, pages)

    monkeypatch.setattr(Checkpointer, "committed", noting)
    monkeypatch.setattr(checkpointer, "WAL_PAGES_MAX", 20)
    return seen


@pytest.fixture
def store(tmp_path: Path, log_pages: list[int]) -> Iterator[Store]:
    made = Store(tmp_path / "n", NeutralEstimator(), lambda: None, NOW)
    yield made
    made.close()


@pytest.mark.gate("STORE-32")
def test_a_store_that_only_takes_puts_begins_its_log_anew(
    store: Store, log_pages: list[int]
) -> None:
    for number in range(PUTS_MAX):
        memory = check(MemoryInput(id=f"m{number}", content=f"fact {number}"), NOW)
        store.writer.call(lambda tx, m=memory: store.records.put(tx, m, NOW, "error", "$"))
        if sum(later < earlier for earlier, later in pairwise(log_pages)) == 3:
            return
    pytest.fail(f"the log only grew, to {log_pages[-1]} pages")
