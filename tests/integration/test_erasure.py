"""Erasing chosen memories: nothing of them is left below the directory, and all else is."""

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.errors import MemoryDestroyed, MemoryNotFound
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from tests.collecting import destroy, files_with, index_terms, plan
from tests.namespaces import (
    DAY,
    NOW,
    World,
    a_world,
    check_columns,
    event_kinds,
    fill,
    get,
    many,
    memory,
    payloads,
    put,
    query,
    recalled,
    restore,
    state_hash,
    sweep,
    tiers,
    vector,
)

SECRET = 'the "password" of the northern lighthouse is quokkamarzipan'
METADATA = {"written by": "somebody who lives at the northern lighthouse"}


def secret(memory_id: str = "secret", **fields: Any) -> MemoryInput:
    """A memory that somebody wants gone."""
    given = {"content": SECRET, "metadata": METADATA, "importance": 0.0}
    return memory(memory_id, 500, **(given | {"embedding": [0.5] * 16} | fields))


async def filled(world: World, tier: str = "hot", **fields: Any) -> Namespace:
    """Thirty memories and the secret one, in a tier of its choice."""
    namespace = await world.open(automatic=False)
    await fill(namespace, many(30))
    await put(namespace, secret(**fields))
    if tier != "hot":
        await namespace.cold_spill(dry_run=False, target=10)
    if tier == "forgotten":
        await namespace.forget(ids=["secret", "m00001", "m00002"], reason="called")
    assert tiers(namespace)["secret"] == tier
    return namespace


@pytest.mark.gate("ERASE-01")
@pytest.mark.parametrize("tier", ["hot", "cold", "forgotten"])
async def test_an_erased_memory_is_found_nowhere_whatever_its_tier(
    tmp_path: Path, tier: str
) -> None:
    async with a_world(tmp_path) as world:
        namespace = await filled(world, tier)
        others = {name: kept for name, kept in payloads(namespace).items() if name != "secret"}
        report = await destroy(namespace, "secret")
        assert (report.destroyed, report.left, report.notes) == (1, [], [])
        assert report.verification is not None
        assert report.verification.clean, report.verification.left
        assert (report.verification.texts, report.verification.texts_of) == (3, 3)
        assert payloads(namespace) == others
        assert await get(namespace, "secret") is None
        assert await recalled(namespace, "quokkamarzipan", depth="deep") == []
        state_hash(namespace)
        check_columns(namespace)
    directory = world.directory()
    assert files_with(directory, "quokkamarzipan") == []
    assert files_with(directory, '"secret"') == []
    assert not index_terms(directory / "hot.db") & {"quokkamarzipan", "lighthous"}


@pytest.mark.gate("ERASE-02")
async def test_earlier_wordings_in_archive_files_go_too(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await filled(world, "cold")
        await namespace.update(id="secret", patch=MemoryInput(content="harmless"), if_revision=None)
        assert tiers(namespace)["secret"] == "hot"
        found = await namespace.verify_destroyed(ids=["secret"], texts=[SECRET])
        assert not found.clean
        by_words = await namespace.verify_destroyed(ids=[], texts=[SECRET])
        assert [one.where.startswith("cold/seg-") for one in by_words.left] == [True]
        report = await destroy(namespace, "secret")
        assert report.verification is not None
        assert report.verification.clean, report.verification.left
        again = await namespace.verify_destroyed(ids=["secret"], texts=[SECRET, "harmless"])
        assert again.clean
        assert again.texts == 1  # "harmless" is too short to be told from chance
        assert len(tiers(namespace)) == 30
        state_hash(namespace)


@pytest.mark.gate("ERASE-03")
async def test_files_that_no_memory_lies_in_lose_the_line_and_keep_the_others(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        namespace = await filled(world, "cold")
        (segment,) = {name for (name,) in query(namespace, "SELECT name FROM segments")}
        copy = world.directory() / "cold" / "seg-000000000001-00000000000000ff.jsonl.zst"
        copy.write_bytes((world.directory() / "cold" / segment).read_bytes())
        report = await destroy(namespace, "secret")
        assert report.verification is not None
        assert report.verification.clean, report.verification.left
        assert not copy.exists()
        assert len(payloads(namespace)) == 30
        await world.restart()
        namespace = await world.open(automatic=False)
        assert len(payloads(namespace)) == 30


@pytest.mark.gate("ERASE-04")
async def test_events_ledgers_and_replies_no_longer_name_it(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await filled(world)
        await namespace.touch(ids=["secret"])
        await namespace.feedback(id="secret", signal="useful")
        await namespace.forget(ids=["secret"], reason="because of the northern lighthouse")
        insert = "INSERT INTO idempotency VALUES (?, 'memory.get', x'00', ?, NULL, ?)"
        reply = json.dumps({"id": "secret"})
        for key, told in (("k1", reply), ("k2", json.dumps({"id": "m00001"})), ("k3", None)):
            namespace.store.writer.call(
                lambda tx, key=key, told=told: tx.connection.execute(insert, (key, NOW, told))
            )
        report = await destroy(namespace, "secret")
        assert report.verification is not None
        assert report.verification.clean, report.verification.left
        assert query(namespace, "SELECT key FROM idempotency ORDER BY key") == [("k2",), ("k3",)]
        page = await namespace.list_events(since=0, limit=1_000, kinds=None)
        destroyed = [one for one in page.events if one.kind == "memory.destroyed"]
        ((stone,),) = query(namespace, "SELECT id_hash FROM tombstones")
        assert [one.memory_id for one in destroyed] == [stone]
        earlier = [one.kind for one in page.events if one.memory_id == stone][:-1]
        assert earlier == [
            "memory.created", "memory.touched", "memory.feedback", "memory.forgotten",
        ]  # fmt: skip
        assert "contentHash" not in page.events[-3].payload
        state_hash(namespace)
    for text in ("northern lighthouse", '"secret"'):
        assert files_with(world.directory(), text) == []


@pytest.mark.gate("ERASE-05")
async def test_copies_of_a_migration_that_hold_it_go_and_others_stay(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await fill(namespace, many(3))
        folder = world.directory() / "backups"
        folder.mkdir()

        def copy_to(name: str) -> None:
            target = str(folder / name)
            namespace.store.writer.call(
                lambda tx: tx.connection.execute("VACUUM INTO ?", (target,)), alone=True
            )

        copy_to("schema-1.db")
        (folder / "before-0").mkdir()
        copy_to("before-0/hot.db")
        (folder / "before-0" / "hot.db-wal").write_bytes(b"of nobody")
        await put(namespace, secret())
        copy_to("schema-2.db")
        (folder / "before-1").mkdir()
        (folder / "before-1" / "hot.db").write_bytes((folder / "schema-1.db").read_bytes())
        (folder / "before-1" / "hot.db-wal").write_bytes(b"of secret")
        (tmp_path / "backups").mkdir()
        (tmp_path / "backups" / "monday").write_bytes(b"")
        report = await destroy(namespace, "secret")
        assert report.backups_removed == ["before-1", "schema-2.db"]
        assert sorted(each.name for each in folder.iterdir()) == ["before-0", "schema-1.db"]
        assert report.verification is not None
        assert report.verification.clean, report.verification.left
        assert report.verification.not_reached == ["backups/monday"]


@pytest.mark.gate("ERASE-06")
async def test_its_file_goes_with_it_and_a_shared_one_stays(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        media = world.directory() / "media"
        (media / "a").mkdir()
        for name in ("a/own.png", "shared.png", "bystander.png"):
            (media / name).write_bytes(b"x" * 100)
        (media / "link.png").symlink_to(tmp_path / "outside")
        (tmp_path / "outside").write_bytes(b"not ours")
        await put(
            namespace,
            secret("one", media_ref="a/own.png"),
            secret("two", media_ref="shared.png"),
            secret("three", media_ref="shared.png"),
            secret("four", media_ref="link.png"),
        )
        _, planned = await plan(namespace, "one", "two", "four", older_than_days=0.0)
        report = await namespace.destroy(plan=planned)
        assert (report.destroyed, report.media_removed) == (3, 1)
        assert not (media / "a" / "own.png").exists()
        assert (media / "shared.png").exists()
        assert (media / "bystander.png").exists()
        assert (tmp_path / "outside").read_bytes() == b"not ours"
        assert report.verification is not None
        assert report.verification.shared == ["three"]
        assert (await destroy(namespace, "three")).media_removed == 1
        assert not (media / "shared.png").exists()
        assert query(namespace, "SELECT * FROM media_unlink_intents") == []


@pytest.mark.gate("ERASE-07")
async def test_plans_that_name_it_are_gone(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False, forgetThresholdTotal=20)
        await fill(namespace, many(30))
        shelved = await sweep(namespace, dry_run=True)
        assert shelved.plan_id is not None
        named = shelved.decisions[0].id
        other = await sweep(namespace, dry_run=True)
        await destroy(namespace, named)
        shelf = namespace.sweeper.shelf
        assert {shelved.plan_id, other.plan_id}.isdisjoint(shelf._plans)


@pytest.mark.gate("ERASE-08")
async def test_what_is_left_is_found(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await filled(world)
        for name, data in (
            ("media/note.txt", b"..." + SECRET.encode() + b"..."),
            ("cold/stray", b"\0" * 5_000_000 + SECRET.encode()),
        ):
            (world.directory() / name).write_bytes(data)
        found = await namespace.verify_destroyed(ids=[], texts=[SECRET])
        # The memory itself still says so: its words are not left over.
        assert (found.clean, found.shared) == (True, ["secret"])
        report = await destroy(namespace, "secret")
        assert report.verification is not None
        assert [one.where for one in report.verification.left] == ["cold/stray", "media/note.txt"]
        assert not report.verification.clean
        await put(namespace, memory("m-new", content="quoted: " + SECRET))
        found = await namespace.verify_destroyed(ids=[], texts=[SECRET])
        assert found.shared == ["m-new"]


@pytest.mark.gate("ERASE-09")
async def test_long_texts_and_odd_ones_are_found_and_erased(tmp_path: Path) -> None:
    generator = random.Random(4)
    texts = {
        "long": "".join(generator.choice("abcdefgh ") for _ in range(60_000)),
        "korean": "북쪽 등대의 비밀번호는 마지팬이다 🎈" * 3,
        "escaped": 'line\nline\t"quoted" \\ and \x01 more of the same words',
    }
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await fill(namespace, many(20))
        for name, text in texts.items():
            await put(namespace, memory(name, content=text, embedding=vector(generator, 384)))
        await namespace.cold_spill(dry_run=False, target=0)
        for name, text in texts.items():
            found = await namespace.verify_destroyed(ids=[name], texts=[text])
            assert found.shared == [name]
        report = await destroy(namespace, *texts)
        assert report.verification is not None
        assert report.verification.clean, report.verification.left
        assert report.verification.texts == 6
        assert report.verification.shared == []


@pytest.mark.gate("TOMB-01")
@pytest.mark.parametrize("tier", ["hot", "forgotten"])
async def test_a_destroyed_id_is_written_again_only_by_reviving(tmp_path: Path, tier: str) -> None:
    async with a_world(tmp_path) as world:
        namespace = await filled(world, tier)
        exported = await namespace.export(tiers=["hot", "forgotten"], cursor=None, limit=100)
        await destroy(namespace, "secret")
        await world.restart()
        namespace = await world.open(automatic=False)
        before = state_hash(namespace)
        for if_exists in ("error", "replace", "skip"):
            with pytest.raises(MemoryDestroyed):
                await namespace.put(memory=secret(), if_exists=if_exists)  # type: ignore[arg-type]
        many_report = await namespace.put_many(
            memories=[secret(), memory("fresh")], if_exists="error", partial=True
        )
        assert [one.result for one in many_report.results] == ["failed", "created"]
        record = {"id": "secret", "content": SECRET}
        (line,) = [one for one in exported.lines if one.id == "secret"]
        exact: Any = json.loads(msgspec.json.encode(line))
        for one, kind in ((record, "foreign"), (exact, "forgetd")):
            report = await namespace.import_many(
                memories=[one],
                if_exists="skip",
                skip_bad=True,
                source=None,
                format=kind,  # type: ignore[arg-type]
            )
            assert (report.created, report.failed) == (0, 1)
        with pytest.raises(MemoryNotFound):
            await namespace.update(id="secret", patch=MemoryInput(content="x"), if_revision=None)
        assert (await restore(namespace, "secret", "never")).counts == {
            "destroyed": 1,
            "unknown": 1,
        }
        assert state_hash(namespace) != before  # of the fresh one
        back = await namespace.put(memory=secret(), if_exists="error", revive=True)
        assert (back.id, back.revision) == ("secret", 1)
        await namespace.put(memory=secret(content="again"), if_exists="replace")
        state_hash(namespace)
        check_columns(namespace)
        assert (await destroy(namespace, "secret")).destroyed == 1
        state_hash(namespace)
        assert event_kinds(namespace).count("memory.destroyed") == 2


@pytest.mark.gate("TOMB-02")
async def test_the_log_replays_to_the_same_state_also_when_it_was_folded(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        namespace = await filled(world, "forgotten")
        await destroy(namespace, "secret")
        before = state_hash(namespace)
        world.pass_time(200 * DAY)
        await put(namespace, memory("later"))
        with_later = state_hash(namespace)
        await namespace.fold_events()
        assert "memory.destroyed" not in event_kinds(namespace)
        assert state_hash(namespace) == with_later != before
        ((stone,),) = query(namespace, "SELECT id_hash FROM tombstones")
        assert len(stone) == 64
        namespace.store.writer.call(lambda tx: tx.connection.execute("DELETE FROM tombstones"))
        with pytest.raises(AssertionError):
            state_hash(namespace)


@pytest.mark.gate("TOMB-03")
async def test_a_file_from_yesterday_does_not_bring_a_destroyed_memory_back(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        namespace = await filled(world, "cold")
        (name,) = {name for (name,) in query(namespace, "SELECT name FROM segments")}
        yesterday = (world.directory() / "cold" / name).read_bytes()
        await destroy(namespace, "secret")
        await world.registry.close_all()
        (world.directory() / "cold" / name).write_bytes(yesterday)
        await world.start()
        namespace = await world.open(automatic=False)
        assert "secret" not in tiers(namespace)
        assert namespace.store.findings.unknown_segments == [name]
        found = await namespace.verify_destroyed(ids=["secret"], texts=[])
        assert [one.where for one in found.left] == [f"cold/{name}"]


@pytest.mark.gate("TOMB-04")
async def test_two_namespaces_have_different_salts(tmp_path: Path) -> None:
    stones: list[tuple[Any, ...]] = []
    async with a_world(tmp_path) as world:
        for name in ("a", "b"):
            namespace = await world.open(name, automatic=False)
            await put(namespace, secret())
            await destroy(namespace, "secret")
            stones += query(namespace, "SELECT id_hash, content_hash, reason FROM tombstones")
    assert len({one[0] for one in stones}) == len({one[1] for one in stones}) == 2
    assert {one[2] for one in stones} == {"erased"}


@pytest.mark.gate("TOMB-05")
async def test_a_memory_whose_successor_is_destroyed_counts_as_itself_again(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        namespace = await world.open(automatic=False)
        await put(namespace, memory("old", 3), memory("new", 2))
        await namespace.supersede(id="old", by="new")
        superseded = await get(namespace, "old")
        await destroy(namespace, "new")
        alone = await get(namespace, "old")
        assert superseded is not None
        assert alone is not None
        assert superseded.strength is not None
        assert alone.strength is not None
        assert alone.strength > superseded.strength
        assert alone.superseded_by == "new"
        check_columns(namespace)
        await world.restart()
        again = await get(await world.open(automatic=False), "old")
        assert again is not None
        assert again.strength == alone.strength
