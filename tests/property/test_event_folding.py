"""Whatever was logged, and wherever it is folded: the log replays to the same state."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.store import event_log, events
from sidecar.store.sqlite.migrate import migrate
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

IDS = st.sampled_from(["a", "b", "c", "ㄱ", "🐈"])
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
CODES = ("tier", "status", "memory_type")
FIELDS = st.sampled_from(sorted(events.EVENT_FIELDS - {"id", *CODES}))
CHANGES = st.one_of(
    st.dictionaries(FIELDS, VALUES, max_size=4),
    st.dictionaries(st.sampled_from(CODES), st.integers(0, 2), max_size=3),
)
EVENTS = st.tuples(
    st.sampled_from([events.CREATED, "memory.updated", "memory.touched", "memory.adopted"]),
    st.one_of(st.none(), IDS),
    CHANGES,
    st.integers(0, 9),  # when: a clock may be set back
)
# What happens, in order: events, and folds of (before this time, at most so many).
FOLDS = st.tuples(st.integers(0, 10), st.integers(1, 5))
STEPS = st.lists(st.one_of(EVENTS, FOLDS), max_size=40)


@contextmanager
def database() -> Iterator[Connection]:
    connection = cast(Connection, apsw.Connection(":memory:"))
    with tempfile.TemporaryDirectory() as folder:
        migrate(connection, Path(folder))
    try:
        yield connection
    finally:
        connection.close()


@pytest.mark.gate("EVT-01")
@given(steps=STEPS)
def test_folding_anywhere_changes_nothing_of_what_the_log_replays_to(steps: list[Any]) -> None:
    with database() as folded, database() as whole:
        last_fold = 0
        for step in steps:
            if len(step) == 2:
                count = event_log.fold(Transaction(folded), *step)
                assert count <= step[1]
                last_fold += count
                assert_numbers(folded, last_fold)
            else:
                kind, memory_id, payload, at = step
                for log in (folded, whole):
                    events.append(log, at, kind, memory_id, payload)
            assert events.replay(folded) == events.replay(whole)
        assert events.replayed_hash(folded) == events.replayed_hash(whole)


def assert_numbers(connection: Connection, folded: int) -> None:
    """What is left goes on where the folded ones ended, and the newest is left."""
    page = event_log.page(connection, 0, 1_000)
    assert page.oldest == folded + 1
    assert [event.seq for event in page.events] == list(range(folded + 1, page.latest + 1))
    assert page.events or page.latest == 0


@pytest.mark.gate("EVT-02")
@given(
    ats=st.lists(st.integers(0, 9), min_size=1, max_size=20),
    before=st.integers(0, 10),
    limit=st.integers(1, 25),
)
def test_only_old_events_without_a_young_one_before_them_are_folded(
    ats: list[int], before: int, limit: int
) -> None:
    with database() as connection:
        for at in ats:
            events.append(connection, at, "memory.touched", "a", {})
        expected = 0
        for at in ats[:-1]:
            if at >= before or expected == limit:
                break
            expected += 1
        assert event_log.anything_before(connection, before) == (expected > 0)
        assert event_log.fold(Transaction(connection), before, limit) == expected
        assert [event.at for event in event_log.page(connection, 0, 100).events] == ats[expected:]
