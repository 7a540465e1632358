"""Deciding proposals by age and confidence, and what erasing memories leaves of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.model import MemoryInput
from sidecar.proposal_reports import ProposalFailure
from sidecar.store.check import Scope, check
from tests.collecting import destroy, files_with
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    event_kinds,
    files_below,
    get,
    memory,
    put,
    query,
    state_hash,
)
from tests.proposing import collect, proposals, propose

SECRET = "the password of the northern lighthouse is quokkamarzipan"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


# --- by age ------------------------------------------------------------------------------


@pytest.mark.gate("PROP-07")
async def test_a_proposal_expires_to_the_millisecond(world: World) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "first")
    world.pass_time(1)
    await propose(namespace, "second")
    world.clock.hold(NOW + 30 * DAY - 1)
    assert (await collect(namespace)).expired == []
    world.clock.hold(NOW + 30 * DAY)
    report = await collect(namespace)
    assert (report.expired, report.auto_accepted, report.failed) == (["first"], [], [])
    shown = await proposals(namespace)
    assert (shown["first"].status, shown["first"].decided_reason) == ("rejected", "expired")
    assert shown["first"].content == "what first proposes"
    assert shown["second"].status == "pending"


@pytest.mark.gate("PROP-07")
async def test_decided_ones_are_dropped_at_the_same_age_and_no_younger(world: World) -> None:
    namespace = await world.open(automatic=False)
    for name in ("accepted", "rejected"):
        await propose(namespace, name)
    await namespace.accept_proposal(id="accepted")
    await namespace.reject_proposal(id="rejected", reason=None)
    world.pass_time(30 * DAY - 1)
    assert (await collect(namespace)).dropped == 0
    world.pass_time(1)
    assert (await collect(namespace, dry_run=True)).dropped == 2
    assert (await collect(namespace)).dropped == 2
    assert await proposals(namespace) == {}
    assert await get(namespace, "accepted") is not None
    assert event_kinds(namespace, "proposal.")[-1] == "proposal.dropped"


# --- by confidence -----------------------------------------------------------------------


@pytest.mark.gate("PROP-08")
async def test_what_is_sure_enough_is_accepted_from_the_threshold_on(world: World) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "sure", confidence=1.0)
    await propose(namespace, "enough", confidence=0.9)
    await propose(namespace, "less", confidence=0.8999)
    assert (await collect(namespace)).auto_accepted == [], "by default none"
    report = await collect(namespace, confidence=0.9)
    assert report.auto_accepted == ["sure", "enough"]
    shown = await proposals(namespace)
    assert {name: one.status for name, one in shown.items()} == {
        "sure": "accepted", "enough": "accepted", "less": "pending",
    }  # fmt: skip
    assert shown["sure"].decided_reason == "auto"
    assert await get(namespace, "enough") is not None
    state_hash(namespace)


@pytest.mark.gate("PROP-08")
async def test_one_about_a_changed_memory_is_never_accepted_by_itself(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("old"), memory("same"))
    await propose(namespace, "about-old", confidence=1.0, supersedes="old")
    await propose(namespace, "about-same", confidence=1.0, supersedes="same")
    await propose(namespace, "taken", confidence=1.0)
    await put(namespace, memory("taken"))
    await namespace.update(id="old", patch=MemoryInput(content="new words"), if_revision=None)
    failed = [
        ProposalFailure(id="about-old", why="changed"),
        ProposalFailure(id="taken", why="memory_exists"),
    ]
    planned = await collect(namespace, confidence=0.5, dry_run=True)
    assert (planned.auto_accepted, planned.failed) == (["about-same"], failed)
    report = await collect(namespace, confidence=0.5)
    assert (report.auto_accepted, report.failed) == (["about-same"], failed)
    again = await collect(namespace, confidence=0.0)
    assert (again.auto_accepted, again.failed) == ([], failed)
    assert set(await proposals(namespace, status="pending")) == {"about-old", "taken"}


@pytest.mark.gate("PROP-08")
async def test_of_two_about_one_memory_only_the_first_is_accepted(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("old"))
    for name in ("first", "second"):
        await propose(namespace, name, confidence=1.0, supersedes="old")
    report = await collect(namespace, confidence=1.0)
    assert report.auto_accepted == ["first"]
    assert report.failed == [ProposalFailure(id="second", why="changed")]


@pytest.mark.gate("PROP-08")
async def test_too_old_goes_before_sure_enough(world: World) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "p", confidence=1.0)
    world.pass_time(31 * DAY)
    report = await collect(namespace, confidence=0.5)
    assert (report.expired, report.auto_accepted) == (["p"], [])


@pytest.mark.gate("PROP-09")
async def test_a_dry_run_says_what_would_be_done_and_writes_nothing(world: World) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "old")
    world.pass_time(30 * DAY)
    await propose(namespace, "sure", confidence=1.0)
    before = files_below(world.directory())
    planned = await collect(namespace, confidence=1.0, dry_run=True)
    assert planned.dry_run
    assert (planned.expired, planned.auto_accepted) == (["old"], ["sure"])
    assert files_below(world.directory()) == before
    done = await collect(namespace, confidence=1.0)
    assert not done.dry_run
    assert (done.expired, done.auto_accepted) == (planned.expired, planned.auto_accepted)


@pytest.mark.gate("PROP-09")
async def test_many_are_decided_in_transactions_of_a_few(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.namespace_proposals.PROPOSALS_PER_TRANSACTION_COUNT_MAX", 3)
    namespace = await world.open(automatic=False)
    for number in range(7):
        await propose(namespace, f"p{number}", confidence=1.0)
    ((before,),) = query(namespace, "SELECT value FROM meta WHERE key = 'commits'")
    report = await collect(namespace, confidence=1.0)
    ((after,),) = query(namespace, "SELECT value FROM meta WHERE key = 'commits'")
    assert report.auto_accepted == [f"p{number}" for number in range(7)]
    assert after - before == 5, "dropping, three of accepting, and the reply"


# --- erasing -----------------------------------------------------------------------------


@pytest.mark.gate("PROP-10")
async def test_nothing_is_left_of_an_erased_memory_that_was_proposed(world: World) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "secret", content=SECRET, metadata={"who": SECRET})
    await namespace.accept_proposal(id="secret")
    report = await destroy(namespace, "secret")
    assert report.verification is not None
    assert report.verification.clean, report.verification.left
    assert await proposals(namespace) == {}
    state_hash(namespace)
    await world.registry.close_all()
    assert files_with(world.directory(), "quokkamarzipan") == []
    assert files_with(world.directory(), '"secret"') == []
    found = check(world.directory(), Scope(replay=True, at_work=False))
    assert found.ok, [one for one in found.findings if not one.ok]
    await world.start()


@pytest.mark.gate("PROP-10")
async def test_proposals_that_would_have_replaced_it_are_rejected_and_name_it_no_more(
    world: World,
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("secret", content=SECRET))
    for name in ("pending", "rejected"):
        await propose(namespace, name, content=f"{SECRET}, too", supersedes="secret")
    await namespace.reject_proposal(id="rejected", reason="no")
    await propose(namespace, "other", content="nothing of the kind at all")
    report = await destroy(namespace, "secret")
    assert report.verification is not None
    assert report.verification.clean, report.verification.left
    shown = await proposals(namespace)
    assert (shown["pending"].status, shown["pending"].decided_reason) == ("rejected", "destroyed")
    assert [(shown[one].content, shown[one].supersedes) for one in ("pending", "rejected")] == [
        (None, None),
        (None, None),
    ]
    assert shown["other"].content == "nothing of the kind at all"
    await world.registry.close_all()
    for text in ("quokkamarzipan", '"secret"'):
        assert files_with(world.directory(), text) == []
    found = check(world.directory(), Scope(replay=True, at_work=False))
    assert found.ok, [one for one in found.findings if not one.ok]
    await world.start()


@pytest.mark.gate("PROP-10")
async def test_a_proposal_that_says_the_same_words_is_named_by_verify(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("secret", content=SECRET))
    await propose(namespace, "gossip", content=f"I heard that {SECRET}")
    report = await destroy(namespace, "secret")
    assert report.verification is not None
    told = {(one.where, one.what) for one in report.verification.left}
    assert ("proposals", "gossip holds a part of its words") in told
    await namespace.reject_proposal(id="gossip", reason=None)
    await collect(namespace, days=0)
    await put(namespace, memory("last"))
    await destroy(namespace, "last")
    assert (await namespace.verify_destroyed(ids=["secret"], texts=[SECRET])).clean


@pytest.mark.gate("PROP-10")
async def test_a_copy_from_when_it_was_only_proposed_goes_too(world: World) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "secret", content=SECRET)
    backups = world.directory() / "backups"
    backups.mkdir(exist_ok=True)
    copy = str(backups / "schema-7.db")
    namespace.store.writer.call(
        lambda tx: tx.connection.execute("VACUUM INTO ?", (copy,)), alone=True
    )
    await namespace.accept_proposal(id="secret")
    report = await destroy(namespace, "secret")
    assert report.backups_removed == ["schema-7.db"]
    assert report.verification is not None
    assert report.verification.clean, report.verification.left


@pytest.mark.gate("PROP-11")
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE proposals SET status = 2", "proposals that the log tells otherwise of"),
        ("UPDATE proposals SET status = 1", "accepted proposals without their memory"),
    ],
)
async def test_check_notices_a_proposal_that_is_not_what_the_log_says(
    world: World, damage: str, told: str
) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "p")
    await world.registry.close_all()
    assert check(world.directory(), Scope(at_work=False)).ok
    await world.start()
    namespace = await world.open(automatic=False)
    namespace.store.writer.call(lambda tx: tx.connection.execute(damage))
    found = check(world.directory(), Scope())
    (tables,) = [one for one in found.findings if one.check == "tables"]
    assert not tables.ok
    assert told in tables.detail
