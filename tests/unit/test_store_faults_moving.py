"""Readers, moves and merges at the same time: no read meets a file that a merge took away."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from sidecar.apply import compact
from sidecar.errors import DiskFull
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import cold_search, rows
from sidecar.store.segments import new_segment_name
from sidecar.store.space import Reserve
from sidecar.store.sqlite.writer import Transaction
from sidecar.validation import check
from tests.crash.faulty_disk import FailsOnce, under_sqlite
from tests.crash.namespaces import (
    NOW,
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    memories,
    opened,
)

COUNT = 40
WAIT_SECONDS = 30.0


async def half_dead(namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One cold segment, half of whose memories have left it; merging waits for the test."""
    await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
    await namespace.cold_spill(dry_run=False, target=0)
    with monkeypatch.context() as patch:
        patch.setattr(compact, "worth_merging", lambda *_: [])
        ids = [f"m{at}" for at in range(0, COUNT, 2)]
        await namespace.forget(ids=ids, reason="called")
    (segment,) = namespace.store.files.folder(1).iterdir()
    return segment


def merge(namespace: Namespace) -> None:
    """What the end of a run does with a segment that is mostly dead."""
    reserve = Reserve(namespace.store.directory / "no-reserve")
    compact.merge_dead(namespace.store, namespace.clock, reserve, threading.Event())


@pytest.mark.gate("CRASH-23")
async def test_a_view_older_than_a_merge_reads_each_memory_where_it_lies_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as namespace:
        segment = await half_dead(namespace, monkeypatch)
        whole = kept(directory_of(tmp_path))
        store = namespace.store
        with store.readers.view() as connection:
            row = rows.by_id(connection, "m1")
            assert row is not None
            merge(namespace)
            assert not segment.exists()
            assert store.payload(connection, row).content == whole["m1"].content
            for key in ("m3", "m5"):
                stale = rows.by_id(connection, key)
                assert stale is not None
                assert stale.segment == segment.name
                assert store.payload(connection, stale).content == whole[key].content
        assert (await namespace.status()).corrupt == 0


@pytest.mark.gate("CRASH-23")
async def test_a_deep_recall_across_a_merge_misses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as namespace:
        segment = await half_dead(namespace, monkeypatch)
        load = cold_search.load_cold_rows
        merges = 0

        def load_then_merge(connection: Any, rids: Any) -> Any:
            nonlocal merges
            places = load(connection, rids)
            if not merges:
                merges += 1
                merge(namespace)
            return places

        monkeypatch.setattr(cold_search, "load_cold_rows", load_then_merge)
        found = await namespace.recall(
            query="number", embedding=None, embedding_model=None, top_k=100, depth="deep",
            memory_types=None, include_archived=False, min_strength=None, touch="none",
        )  # fmt: skip
        assert merges == 1
        assert not segment.exists()
        assert {one.memory.id for one in found.results} == {f"m{at}" for at in range(1, COUNT, 2)}
        status = await namespace.status()
        assert status.corrupt == 0
        assert not any("damaged or missing" in alarm for alarm in status.alarms)


@pytest.mark.gate("CRASH-23")
async def test_a_memory_that_changes_during_a_merge_keeps_its_file_until_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as namespace:
        segment = await half_dead(namespace, monkeypatch)
        whole = kept(directory_of(tmp_path))
        store = namespace.store
        publish = compact.publish

        def publish_then_touch(*paths: Path) -> None:
            publish(*paths)
            store.writer.call(lambda tx: store.records.touch(tx, 2, 1, NOW, NOW))

        monkeypatch.setattr(compact, "publish", publish_then_touch)
        merge(namespace)
        monkeypatch.undo()
        with store.readers.borrow() as connection:
            row = rows.by_rid(connection, 2)
            query = "SELECT live FROM segments WHERE name = ?"
            live = connection.execute(query, (segment.name,)).fetchall()
        assert row is not None
        assert row.segment == segment.name
        assert live == [(1,)]
        assert segment.exists()
        assert kept(directory_of(tmp_path)) == whole
        merge(namespace)
        assert not segment.exists()
        assert kept(directory_of(tmp_path)) == whole
        assert_columns_follow(namespace)
    assert faults(directory_of(tmp_path)) == {}


@pytest.mark.gate("CRASH-23")
async def test_a_merge_whose_every_memory_changed_meanwhile_leaves_no_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as namespace:
        segment = await half_dead(namespace, monkeypatch)
        publish = compact.publish

        def publish_then_touch(*paths: Path) -> None:
            publish(*paths)
            for rid in range(1, COUNT + 1):
                namespace.store.writer.call(
                    lambda tx, rid=rid: namespace.store.records.touch(tx, rid, 1, NOW, NOW)
                )

        monkeypatch.setattr(compact, "publish", publish_then_touch)
        merge(namespace)
        assert list(segment.parent.iterdir()) == [segment]
    assert faults(directory_of(tmp_path)) == {}


def together(namespace: Namespace, *jobs: Callable[[], Any]) -> None:
    """Let jobs wait behind another one, so that the writer meets them at once."""
    going, release = threading.Event(), threading.Event()

    def hold(_: Transaction) -> None:
        going.set()
        release.wait(WAIT_SECONDS)
        raise LookupError  # so that nothing of this one is written

    namespace.store.writer.submit(hold)
    assert going.wait(WAIT_SECONDS)
    threads = [threading.Thread(target=job) for job in jobs]
    for thread, waiting in zip(threads, range(1, len(threads) + 1), strict=True):
        thread.start()
        while namespace.store.writer._queue.qsize() < waiting:
            assert thread.is_alive()
    release.set()
    for thread in threads:
        thread.join(WAIT_SECONDS)


@pytest.mark.gate("CRASH-24")
async def test_a_file_goes_only_after_the_move_out_of_it_is_durable(tmp_path: Path) -> None:
    """The thaw that empties a segment, and the removal of empty segments, wait together."""
    disk = FailsOnce("write", apsw.FullError, "hot.db-wal")
    with under_sqlite(disk):
        async with opened(tmp_path) as namespace:
            await namespace.put_many(memories=memories(1), if_exists="error", partial=False)
            await namespace.cold_spill(dry_run=False, target=0)
            store = namespace.store
            (segment,) = store.files.folder(1).iterdir()
            patch = check(MemoryInput(content="other words"), NOW, "$.patch")
            refused: list[Exception] = []

            def thaw() -> None:
                disk.armed = True
                job = store.writer.submit(
                    lambda tx: store.records.update(tx, "m0", patch, None, NOW)
                )
                error = job.exception(WAIT_SECONDS)
                assert isinstance(error, Exception)
                refused.append(error)

            together(namespace, thaw, store.remove_unneeded_segments)
            assert [type(one) for one in refused] == [DiskFull]
            assert segment.exists()
            memory = await namespace.get(id="m0", include_embedding=False)
            assert memory is not None
            assert memory.tier == "cold"
    assert faults(directory_of(tmp_path)) == {}


@pytest.mark.gate("CRASH-24")
async def test_a_start_removes_what_an_intent_names_and_no_other_file(tmp_path: Path) -> None:
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(4), if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=0)
        (segment,) = (directory / "cold").iterdir()
        # As after a power loss that brought the file back: the intent is still there.
        named, unnamed = (segment.with_name(new_segment_name()) for _ in range(2))
        for copy in (named, unnamed):
            copy.write_bytes(segment.read_bytes())
        namespace.store.writer.call(
            lambda tx: tx.connection.execute(
                "INSERT INTO unlink_intents VALUES (?, 1, 0)", (named.name,)
            )
        )
    async with opened(tmp_path) as namespace:
        assert not named.exists()
        assert unnamed.exists()
        assert (await namespace.status()).unknown_segments == [unnamed.name]
        with namespace.store.readers.borrow() as connection:
            assert connection.execute("SELECT * FROM unlink_intents").fetchall() == []


@pytest.mark.gate("CRASH-23")
async def test_segments_count_exactly_what_lies_in_them_after_many_moves(tmp_path: Path) -> None:
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        for turn in range(1, 6):
            await namespace.cold_spill(dry_run=False, target=turn * 3)
            ids = [f"m{at}" for at in range(turn, COUNT, turn + 1)]
            await namespace.forget(ids=ids, reason="called")
            await namespace.restore(ids=ids[: turn * 2], run_id=None, reason=None)
            patch = MemoryInput(content=f"turn {turn}")
            await namespace.update(id=ids[0], patch=patch, if_revision=None)
            (run, *_) = (await namespace.runs(limit=3, cursor=None)).runs[2:]
            await namespace.undo(run_id=run.run_id)
            assert_columns_follow(namespace)
            with namespace.store.readers.borrow() as connection:
                counted = connection.execute(
                    "SELECT s.name, s.tier, s.live, count(m.rid) FROM segments s"
                    " LEFT JOIN memories m ON m.segment = s.name AND m.tier = s.tier"
                    " GROUP BY s.name"
                ).fetchall()
            assert [live for _, _, live, _ in counted] == [lying for *_, lying in counted]
            on_disk = {
                path.name
                for tier in (1, 2)
                for path in namespace.store.files.folder(tier).iterdir()
            }
            assert on_disk == {name for name, *_ in counted}
    assert faults(directory_of(tmp_path)) == {}


@pytest.mark.gate("CRASH-23")
async def test_a_read_that_an_error_cut_short_shows_nobody_an_old_view(tmp_path: Path) -> None:
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(5), if_exists="error", partial=False)
        readers = namespace.store.readers
        cursors: list[Any] = []  # as a traceback that somebody keeps would hold them

        def fail_while_reading() -> None:
            with readers.borrow() as connection:
                cursors.append(connection.execute("SELECT id FROM memories"))
                next(cursors[0])
                raise LookupError

        with pytest.raises(LookupError):
            fail_while_reading()
        await namespace.put(memory=memories(1, "new")[0], if_exists="error")
        with readers.borrow() as connection:
            assert rows.by_id(connection, "new0") is not None
