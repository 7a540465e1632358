"""An encoder that dies or meets a bad disk: the run goes on, or is finished later."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from sidecar.apply import compact
from sidecar.errors import ReadOnly
from sidecar.store import encode_process
from sidecar.store.encode import EncodeFailed
from sidecar.store.segment_writer import SegmentWriter
from tests.crash.namespaces import (
    assert_columns_follow,
    directory_of,
    faults,
    kept,
    memories,
    opened,
    unfinished_runs,
)

COUNT = 60


class Killings:
    """Kills the encoding process in the middle of so many of its requests."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.left = times
        monkeypatch.setattr(encode_process, "ENCODE_IN_PROCESS_MEMORIES_MAX", 0)
        worker: Any = encode_process._Worker  # pyright: ignore[reportPrivateUsage]
        ask = worker.ask

        def asked(this: Any, request: bytes) -> bytes | None:
            if self.left:
                self.left -= 1
                this.process.kill()
            return ask(this, request)

        monkeypatch.setattr(worker, "ask", asked)


@pytest.mark.gate("CRASH-17")
async def test_a_run_goes_on_when_its_encoding_process_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killings = Killings(monkeypatch, 1)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        report = await namespace.cold_spill(dry_run=False, target=10)
        assert killings.left == 0
        assert (report.counts["spill"], report.skipped_count) == (COUNT - 10, 0)
        assert_columns_follow(namespace)
    assert faults(directory_of(tmp_path)) == {}


@pytest.mark.gate("CRASH-17")
async def test_a_run_whose_encoder_dies_again_moves_nothing_and_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killings = Killings(monkeypatch, 2)
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        before = kept(directory)
        with pytest.raises(EncodeFailed):
            await namespace.cold_spill(dry_run=False, target=10)
        assert killings.left == 0
        assert kept(directory) == before
        assert list(directory.rglob(".tmp-*")) == []
        assert unfinished_runs(directory) == 1
        await namespace.forget(ids=["m59"], reason="called")
        assert unfinished_runs(directory) == 0
        assert (await namespace.status()).counts.hot == 9
    assert faults(directory) == {}


class BadDisk:
    """A disk on which so many segments cannot be sealed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.left = times
        seal = SegmentWriter.seal

        def sealed(this: SegmentWriter) -> bytes:
            if self.left:
                self.left -= 1
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return seal(this)

        monkeypatch.setattr(SegmentWriter, "seal", sealed)


@pytest.mark.gate("CRASH-17")
async def test_a_segment_that_cannot_be_written_leaves_everything_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = BadDisk(monkeypatch, 1)
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        before = kept(directory)
        with pytest.raises(ReadOnly):
            await namespace.cold_spill(dry_run=False, target=10)
        assert disk.left == 0
        assert kept(directory) == before
        assert list(directory.rglob(".tmp-*")) == []
    async with opened(tmp_path) as namespace:
        assert (await namespace.status()).counts.hot == 10
    assert unfinished_runs(directory) == 0
    assert faults(directory) == {}


@pytest.mark.gate("CRASH-18")
@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "bad"), OSError(errno.ENOSPC, "full"), EncodeFailed()]
)
async def test_a_merge_that_fails_takes_nothing_back_from_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    directory = directory_of(tmp_path)

    class Failing(compact.NamespaceEncoder):
        def encode(self, *_: Any) -> Any:
            raise error

    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=0)
        files = set((directory / "cold").iterdir())
        monkeypatch.setattr(compact, "NamespaceEncoder", Failing)
        report = await namespace.forget(ids=[f"m{at}" for at in range(40)], reason="called")
        assert report.forgotten == 40
        assert unfinished_runs(directory) == 0
        assert set((directory / "cold").iterdir()) == files
        monkeypatch.undo()
        await namespace.forget(ids=["m50"], reason="called")
        assert not files & set((directory / "cold").iterdir())
        assert_columns_follow(namespace)
    assert len(kept(directory)) == COUNT
    assert faults(directory) == {}


@pytest.mark.gate("CRASH-18")
async def test_a_report_says_that_merging_was_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(compact.NamespaceEncoder):
        def encode(self, *_: Any) -> Any:
            raise EncodeFailed

    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(COUNT), if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=0)
        await namespace.restore(ids=[], run_id=None, reason=None)
        for at in range(30):
            await namespace.update(
                id=f"m{at}", patch=memories(1, f"new{at}")[0].__class__(content="new"),
                if_revision=None,
            )  # fmt: skip
        monkeypatch.setattr(compact, "NamespaceEncoder", Failing)
        report = await namespace.cold_spill(dry_run=False, target=29)
        assert report.counts["spill"] == 1
        assert report.space_note is not None
        assert "merging segments left out" in report.space_note
