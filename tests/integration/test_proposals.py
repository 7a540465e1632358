"""Proposals: texts that wait until somebody makes them memories or turns them down."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.apply.rebuild import rebuild
from sidecar.errors import (
    ForgetdError,
    InvalidParams,
    MemoryDestroyed,
    MemoryExists,
    MemoryNotFound,
    ProposalChanged,
    ProposalDecided,
    ProposalExists,
    ProposalNotFound,
    ProposalsFull,
)
from sidecar.model import MemoryInput
from sidecar.store.check import Scope, check
from tests.collecting import destroy
from tests.keyed import Wire
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    check_columns,
    counted,
    event_kinds,
    files_below,
    get,
    memory,
    put,
    query,
    recalled,
    state_hash,
)
from tests.proposing import proposals, propose

KOREAN, EMOJI = "제안-하나", "🦊🍵"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


# --- submitting --------------------------------------------------------------------------


@pytest.mark.gate("PROP-01")
async def test_a_proposal_is_kept_apart_from_the_memories(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("old", content="Mina lives in Busan"))
    before = state_hash(namespace)
    made = await propose(
        namespace,
        KOREAN,
        confidence=0.75,
        supersedes="old",
        content="Mina lives in Seoul",
        memory_type="episodic",
        metadata={"from": "a talk"},
    )
    assert (made.id, made.status, made.proposed_confidence) == (KOREAN, "pending", 0.75)
    assert (made.content, made.memory_type) == ("Mina lives in Seoul", "episodic")
    assert (made.metadata, made.supersedes) == ({"from": "a talk"}, "old")
    assert (made.created_at, made.decided_at, made.decided_reason) == (NOW, None, None)
    assert made.obstacle is None
    assert await get(namespace, KOREAN) is None
    assert await recalled(namespace, "Seoul") == []
    assert counted(namespace) == (1, 0, 0)
    assert state_hash(namespace) == before
    page = await namespace.list_events(since=0, limit=99, kinds=["proposal.submitted"])
    assert [one.payload for one in page.events] == [
        {"proposalId": KOREAN, "proposedConfidence": 0.75, "supersedes": "old"}
    ]


@pytest.mark.gate("PROP-01")
async def test_proposals_are_there_after_restarts_and_rebuilds(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("old"))
    await propose(namespace, KOREAN, supersedes="old")
    await propose(namespace, EMOJI)
    await propose(namespace, "accepted")
    await namespace.accept_proposal(id="accepted")
    await namespace.reject_proposal(id=EMOJI, reason="아니요")
    before = await proposals(namespace)
    await world.registry.close_all()
    found = check(world.directory(), Scope(replay=True, at_work=False))
    assert found.ok, [one for one in found.findings if not one.ok]
    assert rebuild(world.directory(), in_place=True).refused == []
    await world.start()
    namespace = await world.open(automatic=False)
    assert await proposals(namespace) == before
    assert (await namespace.accept_proposal(id=KOREAN)).supersedes == ["old"]


@pytest.mark.gate("PROP-02")
async def test_an_id_is_proposed_once_and_is_nobodys(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("m"), memory("gone"))
    await destroy(namespace, "gone")
    await propose(namespace, "p")
    events = event_kinds(namespace)
    for proposal_id, error in (
        ("p", ProposalExists),
        ("m", MemoryExists),
        ("gone", MemoryDestroyed),
    ):
        with pytest.raises(error) as refused:
            await propose(namespace, proposal_id)
        assert refused.value.data["field"] == "$.id"
    with pytest.raises(MemoryNotFound) as refused:
        await propose(namespace, "q", supersedes="nobody")
    assert refused.value.data["field"] == "$.supersedes"
    await namespace.reject_proposal(id="p", reason=None)
    with pytest.raises(ProposalExists):
        await propose(namespace, "p")
    assert event_kinds(namespace) == [*events, "proposal.rejected"]


@pytest.mark.gate("PROP-02")
async def test_no_more_may_wait_than_the_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.proposals.PROPOSALS_PENDING_COUNT_MAX", 2)
    namespace = await world.open(automatic=False)
    await propose(namespace, "a")
    await propose(namespace, "b")
    with pytest.raises(ProposalsFull) as refused:
        await propose(namespace, "c")
    assert "at most 2" in refused.value.data["bound"]
    await namespace.reject_proposal(id="a", reason=None)
    await propose(namespace, "c")


@pytest.mark.gate("PROP-02")
async def test_no_more_decided_ones_are_kept_than_the_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.store.proposals.PROPOSALS_DECIDED_COUNT_MAX", 2)
    namespace = await world.open(automatic=False)
    for name in "abcd":
        await propose(namespace, name)
    for name in "cabd":
        world.pass_time(1)
        await namespace.reject_proposal(id=name, reason=None)
    assert set(await proposals(namespace)) == {"b", "d"}
    page = await namespace.list_events(since=0, limit=99, kinds=["proposal.dropped"])
    assert [one.payload for one in page.events] == [
        {"proposalIds": ["c"]},
        {"proposalIds": ["a"]},
    ]
    await propose(namespace, "a")


# --- accepting ---------------------------------------------------------------------------


@pytest.mark.gate("PROP-03")
async def test_an_accepted_proposal_is_a_memory_and_keeps_no_text(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("old", content="Mina lives in Busan"))
    await propose(
        namespace, EMOJI, supersedes="old", content="Mina lives in Seoul", metadata={"a": 1}
    )
    world.pass_time(DAY)
    made = await namespace.accept_proposal(id=EMOJI)
    assert (made.id, made.content, made.metadata) == (EMOJI, "Mina lives in Seoul", {"a": 1})
    assert (made.created_at, made.supersedes, made.revision) == (NOW + DAY, ["old"], 1)
    older = await get(namespace, "old")
    assert older is not None
    assert (older.status, older.superseded_by) == ("superseded", EMOJI)
    assert await recalled(namespace, "lives") == [EMOJI]
    (kept,) = (await proposals(namespace)).values()
    assert (kept.status, kept.content, kept.metadata) == ("accepted", None, {})
    assert (kept.decided_at, kept.decided_reason, kept.supersedes) == (NOW + DAY, None, "old")
    assert query(namespace, "SELECT content FROM proposals") == [(None,)]
    assert event_kinds(namespace)[-3:] == [
        "memory.created", "memory.superseded", "proposal.accepted",
    ]  # fmt: skip
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("PROP-03")
async def test_of_two_accepts_at_once_one_wins(world: World) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "p")
    answers = await asyncio.gather(
        *(namespace.accept_proposal(id="p") for _ in range(8)),
        namespace.reject_proposal(id="p", reason="late"),
        return_exceptions=True,
    )
    won = [one for one in answers if not isinstance(one, BaseException)]
    lost = [one for one in answers if isinstance(one, BaseException)]
    assert (len(won), len(lost)) == (1, 8)
    assert {type(one) for one in lost} == {ProposalDecided}
    assert len(event_kinds(namespace, "proposal.")) == 2


@pytest.mark.gate("PROP-04")
@pytest.mark.parametrize("change", ["content", "belief", "superseded", "invalidated", "replaced"])
async def test_a_proposal_about_a_memory_that_changed_is_refused_with_the_reason(
    world: World, change: str
) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("old"), memory("other"))
    await propose(namespace, "p", supersedes="old")
    if change == "content":
        patch = MemoryInput(content="other words")
        await namespace.update(id="old", patch=patch, if_revision=None)
    elif change == "belief":
        await namespace.update(id="old", patch=MemoryInput(importance=0.8), if_revision=None)
    elif change == "superseded":
        await namespace.supersede(id="old", by="other")
    elif change == "invalidated":
        await namespace.invalidate(id="old", reason="incorrect")
    else:
        await namespace.put(memory=memory("old", content="anew"), if_exists="replace")
    with pytest.raises(ProposalChanged) as refused:
        await namespace.accept_proposal(id="p")
    assert refused.value.data["memoryId"] == "old"
    assert "revision 1 of what it supersedes; it has revision 2" in refused.value.data["bound"]
    (kept,) = (await proposals(namespace)).values()
    assert (kept.status, kept.obstacle) == ("pending", "changed")
    assert await get(namespace, "p") is None


@pytest.mark.gate("PROP-04")
async def test_use_tiers_and_protection_are_no_change(world: World) -> None:
    namespace = await world.open(automatic=False)
    await put(namespace, memory("old"))
    await propose(namespace, "p", supersedes="old")
    await namespace.touch(ids=["old"])
    await namespace.feedback(id="old", signal="harmful")
    await namespace.pin(id="old", pinned=True)
    await namespace.pin(id="old", pinned=False)
    await namespace.cold_spill(dry_run=False, target=0)
    await namespace.forget(ids=["old"], reason="x")
    assert (await namespace.accept_proposal(id="p")).supersedes == ["old"]
    check_columns(namespace)
    state_hash(namespace)


@pytest.mark.gate("PROP-04")
async def test_an_id_that_is_taken_meanwhile_refuses_the_proposal(world: World) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "p")
    await put(namespace, memory("p"))
    assert (await proposals(namespace))["p"].obstacle == "memory_exists"
    with pytest.raises(MemoryExists):
        await namespace.accept_proposal(id="p")
    rejected = await namespace.reject_proposal(id="p", reason="taken")
    assert (rejected.status, rejected.decided_reason, rejected.obstacle) == (
        "rejected", "taken", None,
    )  # fmt: skip
    shown = await get(namespace, "p")
    assert shown is not None
    assert shown.content == "what p says"


@pytest.mark.gate("PROP-05")
async def test_a_decided_or_unknown_proposal_is_refused_by_name(world: World) -> None:
    namespace = await world.open(automatic=False)
    for name in "ab":
        await propose(namespace, name)
    await namespace.accept_proposal(id="a")
    rejected = await namespace.reject_proposal(id="b", reason="아니요 🙅")
    assert (rejected.status, rejected.content) == ("rejected", "what b proposes")
    assert (rejected.decided_at, rejected.decided_reason) == (NOW, "아니요 🙅")
    events = event_kinds(namespace)
    calls: dict[str, tuple[type[ForgetdError], str]] = {
        "a": (ProposalDecided, "accepted already"),
        "b": (ProposalDecided, "rejected already"),
        KOREAN: (ProposalNotFound, "No proposal"),
    }
    for name, (error, message) in calls.items():
        with pytest.raises(error, match=message):
            await namespace.accept_proposal(id=name)
        with pytest.raises(error, match=message):
            await namespace.reject_proposal(id=name, reason=None)
    assert event_kinds(namespace) == events


@pytest.mark.gate("PROP-05")
async def test_a_failed_accept_leaves_nothing_behind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "p")
    before = files_below(world.directory())

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a kill between the memory and its proposal")

    monkeypatch.setattr("sidecar.store.proposals.accept", broken)
    with pytest.raises(RuntimeError):
        await namespace.accept_proposal(id="p")
    monkeypatch.undo()
    assert await get(namespace, "p") is None
    assert (await proposals(namespace))["p"].status == "pending"
    assert files_below(world.directory())["commits"] == before["commits"]
    check_columns(namespace)
    state_hash(namespace)


# --- listing and the wire ----------------------------------------------------------------


@pytest.mark.gate("PROP-06")
async def test_proposals_are_listed_by_status_page_after_page(world: World) -> None:
    namespace = await world.open(automatic=False)
    for number in range(5):
        await propose(namespace, f"p{number}")
    await namespace.accept_proposal(id="p1")
    await namespace.reject_proposal(id="p3", reason=None)
    assert list(await proposals(namespace)) == ["p0", "p1", "p2", "p3", "p4"]
    assert list(await proposals(namespace, status="pending")) == ["p0", "p2", "p4"]
    assert list(await proposals(namespace, status="accepted")) == ["p1"]
    assert list(await proposals(namespace, status="rejected")) == ["p3"]
    first = await namespace.list_proposals(status="pending", limit=2, cursor=None)
    assert [one.id for one in first.proposals] == ["p0", "p2"]
    assert first.pending == 3
    rest = await namespace.list_proposals(status="pending", limit=2, cursor=first.cursor)
    assert ([one.id for one in rest.proposals], rest.cursor) == (["p4"], None)
    with pytest.raises(InvalidParams):
        await namespace.list_proposals(status=None, limit=2, cursor="x")


@pytest.mark.gate("PROP-06")
@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("submit", {"content": "a"}, "$.proposedConfidence"),
        ("submit", {"proposedConfidence": 0.5}, "$.content"),
        ("submit", {"content": " \n", "proposedConfidence": 0.5}, "$.content"),
        ("submit", {"content": "x" * 1_048_577, "proposedConfidence": 0.5}, "$.content"),
        ("submit", {"content": "a", "proposedConfidence": -0.1}, "$.proposedConfidence"),
        ("submit", {"content": "a", "proposedConfidence": 1.01}, "$.proposedConfidence"),
        ("submit", {"content": "a", "proposedConfidence": float("nan")}, "$.proposedConfidence"),
        ("submit", {"content": "a", "proposedConfidence": 0.5, "id": ""}, "$.id"),
        ("submit", {"content": "a", "proposedConfidence": 0.5, "id": "커" * 86}, "$.id"),
        ("submit", {"content": "a", "proposedConfidence": 0.5, "metadata": []}, "$.metadata"),
        ("submit", {"content": "a", "proposedConfidence": 0.5, "supersedes": ""}, "$.supersedes"),
        ("list", {"status": "undecided"}, "$.status"),
        ("list", {"limit": 0}, "$.limit"),
        ("accept", {}, "$.id"),
        ("accept", {"id": ""}, "$.id"),
        ("reject", {"id": "p", "reason": " "}, "$.reason"),
        ("reject", {"id": "p", "reason": "x" * 1_025}, "$.reason"),
        ("gc", {"proposalExpiryDays": -1}, "$.proposalExpiryDays"),
        ("gc", {"proposalExpiryDays": 1e9}, "$.proposalExpiryDays"),
        ("gc", {"proposalExpiryDays": float("nan")}, "$.proposalExpiryDays"),
        ("gc", {"proposalAutoAcceptConfidence": -0.5}, "$.proposalAutoAcceptConfidence"),
        ("gc", {"proposalAutoAcceptConfidence": 7}, "$.proposalAutoAcceptConfidence"),
        ("gc", {"dryRun": "no"}, "$.dryRun"),
    ],
)
async def test_bad_parameters_are_refused_by_name_and_nothing_is_stored(
    world: World, method: str, params: dict[str, Any], field: str
) -> None:
    namespace = await world.open(automatic=False)
    await propose(namespace, "p")
    before = await proposals(namespace)
    with pytest.raises(InvalidParams) as refused:
        await Wire(world.registry, world.clock).call(f"proposals.{method}", **params)
    assert refused.value.data["field"] == field
    assert {"bound", "remedy"} <= refused.value.data.keys()
    assert await proposals(namespace) == before


@pytest.mark.gate("PROP-06")
async def test_a_namespace_that_is_not_there_has_none_and_is_not_made_by_asking(
    world: World,
) -> None:
    wire = Wire(world.registry, world.clock)
    assert await wire.call("proposals.list", namespace="nowhere") == {
        "proposals": [], "pending": 0, "cursor": None,
    }  # fmt: skip
    assert (await wire.call("proposals.gc", namespace="nowhere"))["dryRun"] is True
    for method in ("proposals.accept", "proposals.reject"):
        with pytest.raises(ProposalNotFound):
            await wire.call(method, namespace="nowhere", id=EMOJI)
    text = {"content": "a", "proposedConfidence": 0}
    with pytest.raises(MemoryNotFound):
        await wire.call("proposals.submit", namespace="nowhere", supersedes="m", **text)
    assert not world.directory("nowhere").exists()
    made = await wire.call("proposals.submit", namespace="nowhere", **text)
    assert len(made["id"]) == 26
    assert await wire.call("proposals.list") == {"proposals": [], "pending": 0, "cursor": None}
