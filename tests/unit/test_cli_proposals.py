"""`forgetd proposals`, against answers made from the daemon's own structs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar.proposal_reports import (
    Proposal,
    ProposalFailure,
    ProposalPage,
    ProposalsGcReport,
)
from tests.unit import cli_samples
from tests.unit.cli_run import Run, fake_daemon, runner
from tests.unit.cli_samples import NOW, wire
from tests.unit.fake_daemon import FakeDaemon, Refusal


def proposal(proposal_id: str, **changed: Any) -> Proposal:
    fields: dict[str, Any] = {
        "memory_type": "semantic", "content": "미나는 서울에 산다\x1b[2J", "metadata": {},
        "proposed_confidence": 0.75, "created_at": NOW, "status": "pending", "decided_at": None,
        "decided_reason": None, "supersedes": None, "obstacle": None,
    }  # fmt: skip
    return Proposal(id=proposal_id, **(fields | changed))


REJECTED = proposal("p2", status="rejected", decided_reason="expired", content=None)
REPORT = ProposalsGcReport(
    expired=["a", "b"],
    auto_accepted=["c"],
    failed=[ProposalFailure(id="d", why="changed")],
    dropped=1,
    dry_run=True,
)


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(monkeypatch) as fake:
        found = [proposal("🦊", supersedes="old", obstacle="changed"), REJECTED]
        fake.answers["proposals.list"] = wire(ProposalPage(proposals=found, pending=1, cursor="n"))
        fake.answers["proposals.accept"] = wire(cli_samples.memory("🦊", supersedes=["old"]))
        fake.answers["proposals.reject"] = wire(REJECTED)
        fake.answers["proposals.gc"] = wire(REPORT)
        yield fake


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.mark.gate("PROP-12")
@pytest.mark.parametrize(
    ("arguments", "params"),
    [
        ((), {"namespace": "default"}),
        (("list",), {"namespace": "default"}),
        (
            ("me", "list", "--status", "pending", "--limit", "2"),
            {"namespace": "me", "status": "pending", "limit": 2},
        ),
        (("list", "--namespace", "me", "--cursor", "c"), {"namespace": "me", "cursor": "c"}),
    ],
)
def test_the_list_shows_what_waits_and_what_is_in_the_way(
    daemon: FakeDaemon, forgetd: Run, arguments: tuple[str, ...], params: dict[str, Any]
) -> None:
    done = forgetd("proposals", *arguments)
    assert done.code == 0
    assert daemon.params_of("proposals.list") == params
    _, first, second = done.out.splitlines()
    assert first.split()[:2] == ["pending", "0.75"]
    assert "old" in first
    assert "changed" in first
    assert "미나는 서울에 산다\\x1b[2J" in first
    assert second.startswith("rejected (expired)")
    assert done.err == "1 pending; more: --cursor n\n"


@pytest.mark.gate("PROP-12")
def test_accepting_and_rejecting_say_what_became_of_it(daemon: FakeDaemon, forgetd: Run) -> None:
    done = forgetd("proposals", "me", "accept", "🦊")
    assert (done.code, done.out) == (
        0,
        "accepted: 🦊 is a memory now\nit takes the place of old\n",
    )
    assert daemon.params_of("proposals.accept") == {"namespace": "me", "id": "🦊"}
    done = forgetd("proposals", "reject", "p2", "--reason", "아니요")
    assert (done.code, done.out) == (0, "rejected: p2\n")
    assert daemon.params_of("proposals.reject") == {
        "namespace": "default", "id": "p2", "reason": "아니요",
    }  # fmt: skip


@pytest.mark.gate("PROP-12")
def test_a_refusal_is_told_with_its_reason(daemon: FakeDaemon, forgetd: Run) -> None:
    def refuse(_: Any) -> None:
        raise Refusal(404, "proposal_changed", "The memory has changed since", remedy="read it")

    daemon.answers["proposals.accept"] = refuse
    done = forgetd("proposals", "accept", "p")
    assert done.code == 65
    assert "The memory has changed since" in done.err
    assert "read it" in done.err


@pytest.mark.gate("PROP-12")
def test_gc_only_says_what_it_would_do_until_it_is_told_to(
    daemon: FakeDaemon, forgetd: Run
) -> None:
    done = forgetd("proposals", "gc", "--expiry-days", "7", "--accept-confidence", "0.9")
    assert done.code == 0
    assert daemon.params_of("proposals.gc") == {
        "namespace": "default", "dryRun": True, "proposalExpiryDays": 7,
        "proposalAutoAcceptConfidence": 0.9,
    }  # fmt: skip
    assert done.out.splitlines() == [
        "2 would be rejected for their age", "  a", "  b", "1 would be accepted", "  c",
        "1 decided proposal would be dropped", "sure enough, and not accepted by itself:",
        "why      id", "changed  d",
    ]  # fmt: skip
    assert done.err == "nothing was done; --apply does it\n"
    daemon.calls.clear()
    nothing = ProposalsGcReport(expired=[], auto_accepted=[], failed=[], dropped=0, dry_run=False)
    daemon.answers["proposals.gc"] = wire(nothing)
    assert forgetd("proposals", "gc", "--apply").code == 1
    assert daemon.params_of("proposals.gc") == {"namespace": "default", "dryRun": False}


@pytest.mark.gate("PROP-12")
def test_json_is_what_the_daemon_answered(daemon: FakeDaemon, forgetd: Run) -> None:
    for arguments in (("list",), ("accept", "🦊"), ("reject", "p2"), ("gc",)):
        done = forgetd("proposals", *arguments, "--json")
        assert done.code == 0
        assert json.loads(done.out) == daemon.answers[f"proposals.{arguments[0]}"]


@pytest.mark.gate("PROP-12")
@pytest.mark.parametrize(
    "arguments",
    [
        ("lst",),
        ("me", "lst"),
        ("accept",),
        ("me", "list", "--namespace", "you"),
        ("list", "--status", "undecided"),
        ("gc", "--expiry-days", "-1"),
        ("gc", "--accept-confidence", "2"),
    ],
)
def test_a_wrong_command_line_asks_nothing(
    daemon: FakeDaemon, forgetd: Run, arguments: tuple[str, ...]
) -> None:
    assert forgetd("proposals", *arguments).code == 64
    assert daemon.calls == []


@pytest.mark.gate("PROP-12")
def test_none_are_said_to_be_none(daemon: FakeDaemon, forgetd: Run) -> None:
    daemon.answers["proposals.list"] = wire(ProposalPage(proposals=[], pending=0, cursor=None))
    done = forgetd("proposals")
    assert (done.code, done.out, done.err) == (0, "", "no proposals\n")
