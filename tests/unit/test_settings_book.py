"""The settings of a namespace: layers, what is crossed, and what holds automatic runs back."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidecar.estimate import NeutralEstimator
from sidecar.limits import GIGABYTE_BYTES, MILLISECONDS_PER_MINUTE
from sidecar.plan.plan import Counts
from sidecar.settings_book import (
    PAUSE_BRAKED,
    PAUSE_CLIENT,
    PAUSE_CLOCK,
    PAUSE_UNDO,
    SettingsBook,
)
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.thresholds import DEFAULTS, Value

NOW = 1_780_000_000_000
HOUR = 60 * MILLISECONDS_PER_MINUTE


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "n", NeutralEstimator(), lambda: None, NOW)
    yield made
    made.close()


def book_of(store: Store, **config: Value) -> SettingsBook:
    """The book as a start finds it."""
    with store.readers.borrow() as connection:
        return SettingsBook(connection, config)


def write(store: Store, change: Callable[[Transaction], None]) -> None:
    """One change of the book."""
    store.writer.call(change)


def kinds(store: Store) -> list[str]:
    """The kinds of events so far, but for the first."""
    with store.readers.borrow() as connection:
        found = connection.execute("SELECT kind FROM events ORDER BY seq").fetchall()
    return [kind for (kind,) in found][1:]


@pytest.mark.gate("AUTO-12")
def test_config_is_over_set_is_over_open_is_over_default(store: Store) -> None:
    book = book_of(store, forgetThresholdCount=1)
    write(
        store,
        lambda tx: book.open_with(
            tx, {"forgetThresholdCount": 2, "minIdleDays": 2.0, "newbornDays": 2.0}, NOW
        ),
    )
    write(store, lambda tx: book.set(tx, {"forgetThresholdCount": 3, "minIdleDays": 3.0}, NOW))
    shown = {
        name: (value, book.origin(name))
        for name, value in book.wire_values().items()
        if book.origin(name) != "default"
    }
    assert shown == {
        "forgetThresholdCount": (1, "config"),
        "minIdleDays": (3.0, "set"),
        "newbornDays": (2.0, "open"),
    }
    assert set(book.wire_values()) == set(DEFAULTS)
    assert book_of(store, forgetThresholdCount=1).wire_values() == book.wire_values()
    assert book_of(store).wire_values()["forgetThresholdCount"] == 3
    write(store, lambda tx: book.set(tx, dict.fromkeys(shown), NOW))
    assert {book.origin(name) for name in shown} == {"config", "default"}


@pytest.mark.gate("AUTO-01", "AUTO-02", "AUTO-03")
def test_crossed_is_strictly_greater(store: Store) -> None:
    book = book_of(
        store, forgetThresholdCount=10, forgetThresholdTotal=20, forgetThresholdDiskGB=0.5
    )
    half = GIGABYTE_BYTES // 2
    cases: list[tuple[Counts, list[str]]] = [
        (Counts(10, 10, 99, half), []),
        (Counts(9, 11, 0, half - 1), []),
        (Counts(11, 9, 0, 0), ["count"]),
        (Counts(0, 21, 0, 0), ["total"]),
        (Counts(10, 11, 0, 0), ["total"]),
        (Counts(0, 0, 0, half + 1), ["disk"]),
        (Counts(11, 10, 0, half + 1), ["count", "total", "disk"]),
    ]
    for counts, crossed in cases:
        assert book.crossed(counts) == crossed, counts


@pytest.mark.gate("AUTO-14", "AUTO-15")
def test_every_pause_but_the_brake_stops_all_and_the_brake_stops_forgetting(
    store: Store,
) -> None:
    book = book_of(store)
    assert book.automatic_allowed(NOW)
    assert book.stage_two_allowed(NOW)
    for reason in (PAUSE_UNDO, PAUSE_CLOCK, PAUSE_CLIENT):
        write(store, lambda tx, reason=reason: book.pause(tx, reason, None, NOW))
        assert not book.automatic_allowed(NOW + 10**12)
        assert book_of(store).paused == {reason: None}
        write(store, lambda tx, reason=reason: book.resume(tx, (reason,), NOW))
        assert book.automatic_allowed(NOW)
    write(store, lambda tx: book.pause(tx, PAUSE_BRAKED, NOW + 5, NOW))
    assert book.automatic_allowed(NOW)
    assert not book.stage_two_allowed(NOW + 4)
    assert book.stage_two_allowed(NOW + 5)
    assert [one.until for one in book.report("n", Counts(0, 0, 0, 0), NOW + 4).paused] == [NOW + 5]
    assert book.report("n", Counts(0, 0, 0, 0), NOW + 5).paused == []


@pytest.mark.gate("AUTO-14")
def test_setting_lifts_the_clients_pause_and_no_other(store: Store) -> None:
    book = book_of(store)
    for reason in (PAUSE_UNDO, PAUSE_CLIENT):
        write(store, lambda tx, reason=reason: book.pause(tx, reason, None, NOW))
    write(store, lambda tx: book.set(tx, {}, NOW))
    assert book.paused == {PAUSE_UNDO: None}
    write(store, lambda tx: book.resume(tx, None, NOW))
    assert book.paused == {}
    assert kinds(store)[-1] == "forgetting.resumed"


@pytest.mark.gate("AUTO-11")
@pytest.mark.parametrize(
    ("changes", "delayed"),
    [
        ({"forgetThresholdTotal": 50_000}, True),
        ({"forgetThresholdDiskGB": 1.9}, True),
        ({"forgetThresholdTotal": 100_001, "forgetThresholdDiskGB": 1.0}, True),
        ({"forgetThresholdTotal": 100_000}, False),
        ({"forgetThresholdTotal": 200_000, "forgetThresholdDiskGB": 3.0}, False),
        ({"forgetThresholdCount": 1, "weakStrength": 1.0, "brakeShare": 1.0}, False),
    ],
)
def test_only_a_lower_bound_of_stage_two_delays_it(
    store: Store, changes: dict[str, Value], delayed: bool
) -> None:
    book = book_of(store)
    write(store, lambda tx: book.notice_bounds(tx, NOW))
    write(store, lambda tx: book.set(tx, changes, NOW))
    assert book.stage_two_not_before == (NOW + HOUR if delayed else None)
    assert ("forgetting.scheduled" in kinds(store)) == delayed
    assert book.stage_two_allowed(NOW + HOUR - 1) != delayed
    assert book.stage_two_allowed(NOW + HOUR)
    assert book_of(store).stage_two_not_before == book.stage_two_not_before


@pytest.mark.gate("AUTO-11")
def test_taking_a_higher_bound_back_lowers_it_too(store: Store) -> None:
    book = book_of(store)
    write(store, lambda tx: book.open_with(tx, {"forgetThresholdTotal": 500_000}, NOW))
    assert book.stage_two_not_before is None, "a new namespace has nothing to lose"
    write(store, lambda tx: book.set(tx, {"forgetThresholdTotal": None}, NOW))
    assert book.stage_two_not_before == NOW + HOUR
    write(store, lambda tx: book.reconfigure(tx, {"forgetThresholdTotal": 50_000}, NOW + 7))
    assert book.stage_two_not_before == NOW + 7 + HOUR
    assert not book.changed_unnoticed
    assert book_of(store).changed_unnoticed


@pytest.mark.gate("AUTO-13")
def test_what_a_client_wanted_and_does_not_have_is_named(store: Store) -> None:
    book = book_of(store, forgetThresholdCount=7)
    assert (
        book.differing({"forgetThresholdCount": 7, "lowWatermark": 0.9, "minIdleDays": None}) == {}
    )
    assert book.differing({"forgetThresholdCount": 8, "forgetEnabled": False}) == {
        "forgetThresholdCount": 7,
        "forgetEnabled": True,
    }


@pytest.mark.gate("AUTO-15")
def test_a_change_that_was_not_written_is_not_kept(store: Store) -> None:
    book = book_of(store)

    def change(tx: Transaction) -> None:
        book.set(tx, {"forgetThresholdCount": 5}, NOW)
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        write(store, change)
    with store.readers.borrow() as connection:
        book.reload(connection)
    assert book.wire_values() == DEFAULTS
