"""`forgetd review`, against answers made from the daemon's own structs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar.review_reports import ReviewCounts, ReviewDetail, ReviewItem, ReviewPage
from tests.unit import cli_samples
from tests.unit.cli_run import Run, fake_daemon, runner
from tests.unit.cli_samples import NOW, wire
from tests.unit.fake_daemon import FakeDaemon

COUNTS = ReviewCounts(regret=1, guarded=1_234, broken_chain=0, unscored=2)


def item(reason: Any, memory_id: str, **changed: Any) -> ReviewItem:
    fields: dict[str, Any] = {
        "other_id": None, "why": None, "regrets": None, "flagged_at": NOW, "age_days": 3.25,
        "expires_at": None,
    }  # fmt: skip
    return ReviewItem(reason=reason, memory_id=memory_id, **(fields | changed))


PAIR = item("guarded", "차-1", other_id="차-2", why="number", expires_at=NOW)
ITEMS = [
    item("regret", "missed\x1b[2J", regrets=6),
    PAIR,
    item("unscored", "odd", why="importance", flagged_at=None, age_days=None),
]


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        page = ReviewPage(namespace="me", items=ITEMS, counts=COUNTS, cursor="next")
        fake.answers["review.flagged"] = wire(page)
        memories = [cli_samples.memory("차-1", "두 잔"), cli_samples.memory("차-2", "세 잔")]
        fake.answers["review.open"] = wire(ReviewDetail(items=[PAIR], memories=memories))
        fake.answers["review.clear"] = {"cleared": 2, "notFlagged": ["x"], "left": 7}
        yield fake


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.mark.gate("REV-10")
def test_the_list_shows_reason_age_expiry_and_how_much_there_is(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    done = forgetd("review", "me", "--threshold", "2", "--window-days", "7.5", "--limit", "3")
    assert done.code == 0
    assert daemon.params_of("review.flagged") == {
        "namespace": "me", "threshold": 2, "windowDays": 7.5, "limit": 3,
    }  # fmt: skip
    lines = done.out.splitlines()
    assert lines[1].split() == ["regret", "6", "regrets", "3.2", "-", "missed\\x1b[2J", "-"]
    assert lines[2].split()[:3] == ["guarded", "number", "3.2"]
    assert lines[2].split()[-2:] == ["차-1", "차-2"]
    assert lines[3].split() == ["unscored", "importance", "-", "-", "odd", "-"]
    assert lines[-1] == "in all: 1 missed, 1,234 kept apart, 2 unscored"
    assert "--cursor next" in done.err
    assert "forgetd --namespace me review --open ID" in done.err


@pytest.mark.gate("REV-10")
def test_nothing_to_look_at_is_said_and_is_no_failure(daemon: FakeDaemon, forgetd: Run) -> None:
    nothing = ReviewCounts(regret=0, guarded=0, broken_chain=0, unscored=0)
    page = ReviewPage(namespace="default", items=[], counts=nothing, cursor=None)
    daemon.answers["review.flagged"] = wire(page)
    done = forgetd("review")
    assert (done.code, done.out, done.err) == (0, "", "nothing to look at\n")
    assert daemon.params_of("review.flagged") == {"namespace": "default"}


@pytest.mark.gate("REV-10")
def test_opening_shows_the_memories_side_by_side(daemon: FakeDaemon, forgetd: Run) -> None:
    done = forgetd("review", "me", "--open", "차-1")
    assert done.code == 0
    assert daemon.params_of("review.open") == {"namespace": "me", "id": "차-1"}
    rows = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "두 잔" in rows["content"]
    assert "세 잔" in rows["content"]
    assert "supersededBy" not in rows, "a row that is empty for all is left out"
    assert "review --clear 차-1" in done.err


@pytest.mark.gate("REV-10")
def test_opening_what_is_not_flagged_shows_it_and_exits_with_1(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    answer = ReviewDetail(items=[], memories=[cli_samples.memory("m")])
    daemon.answers["review.open"] = wire(answer)
    done = forgetd("review", "--open", "m")
    assert done.code == 1
    assert "Tofu is a grey cat" in done.out
    assert forgetd("review", "--open", "m", "--json").code == 1


@pytest.mark.gate("REV-10")
@pytest.mark.parametrize(
    ("arguments", "params"),
    [
        (("--clear", "a", "--clear", "🦊"), {"ids": ["a", "🦊"]}),
        (("--clear-all", "--reason", "guarded"), {"reason": "guarded"}),
        (("--clear", "a", "--reason", "regret"), {"ids": ["a"], "reason": "regret"}),
    ],
)
def test_clearing_says_what_was_taken_off(
    daemon: FakeDaemon, forgetd: Run, arguments: tuple[str, ...], params: dict[str, Any]
) -> None:
    done = forgetd("review", *arguments)
    assert done.code == 0
    assert daemon.params_of("review.clear") == {"namespace": "default", **params}
    assert done.out == "cleared 2 items\nnothing to clear: x\n"
    assert done.err == "7 are left: clear again\n"
    daemon.answers["review.clear"] = {"cleared": 0, "notFlagged": ["x"], "left": 0}
    assert forgetd("review", *arguments).code == 1


@pytest.mark.gate("REV-10")
def test_json_is_what_the_daemon_answered(daemon: FakeDaemon, forgetd: Run) -> None:
    for arguments, method in (
        ((), "review.flagged"),
        (("--open", "a"), "review.open"),
        (("--clear", "a"), "review.clear"),
    ):
        done = forgetd("review", *arguments, "--json")
        assert json.loads(done.out) == daemon.answers[method]


@pytest.mark.gate("REV-10")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--clear-all",),
        ("--open", "a", "--clear", "b"),
        ("--reason", "boredom"),
        ("--threshold", "0"),
        ("--window-days", "0"),
        ("me", "--namespace", "you"),
    ],
)
def test_a_wrong_command_line_asks_nothing(
    daemon: FakeDaemon, forgetd: Run, arguments: tuple[str, ...]
) -> None:
    assert forgetd("review", *arguments).code == 64
    assert daemon.calls == []


@pytest.mark.gate("REV-10")
def test_the_status_says_what_waits_for_a_look(daemon: FakeDaemon, forgetd: Run) -> None:
    status = cli_samples.namespace_status("default", review=COUNTS)
    daemon.answers["system.status"] = cli_samples.system_status(status)
    daemon.answers["namespaces.list"] = cli_samples.listing("default")
    told = forgetd("status").out
    assert "to look at: 1 missed, 1,234 kept apart, 2 unscored; `forgetd review`" in told
