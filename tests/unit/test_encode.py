"""Encoding: order, cutting, refusals, and what is left when it fails."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from sidecar.limits import FRAME_MEMORIES_MAX, SEGMENT_BYTES_MAX
from sidecar.store import encode, segment_writer
from sidecar.store.encode import EncodeFailed, EncodeResult, InProcessEncoder, encode_segments
from sidecar.store.payload import content_hash
from sidecar.store.segments import SegmentDamaged, SegmentReader, is_segment, is_temporary
from tests.unit.segment_samples import FakeSource, payload, steer


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    (tmp_path / "cold").mkdir()
    return tmp_path / "cold"


def encoded(cold: Path, rids: list[int], **settings: object) -> EncodeResult:
    steer(cold.parent, **settings)
    return encode_segments(FakeSource(cold.parent), rids, cold, "run-1")


@pytest.mark.gate("ENC-01")
def test_each_memory_is_where_the_result_says(cold: Path) -> None:
    rids = [7, 3, 12, 1, *range(100, 2_600)]
    result = encoded(cold, rids)
    assert (result.corrupt, result.missing, result.oversized) == ([], [], [])
    assert [rid for segment in result.segments for rid in segment.rid.tolist()] == rids
    for segment in result.segments:
        assert segment.records == len(segment.rid)
        assert is_segment(segment.name)
        assert is_temporary(segment.temporary.name)
        assert segment.bytes == segment.temporary.stat().st_size
        with SegmentReader(segment.temporary) as reader:
            assert reader.verify() == segment.sha256
            assert max(entry.records for entry in reader.frames) <= FRAME_MEMORIES_MAX
            places = zip(segment.rid, segment.frame, segment.line, strict=True)
            for rid, frame, line in list(places)[::97]:
                assert reader.record(int(frame), int(line)).payload == payload(int(rid))
        np.testing.assert_array_equal(segment.change_counter, segment.rid * 10)


@pytest.mark.gate("ENC-02")
def test_shares_add_up_to_the_bytes_of_the_file(cold: Path) -> None:
    (segment,) = encoded(cold, list(range(1, 301))).segments
    overhead = segment.bytes - int(segment.share_bytes.sum())
    assert abs(overhead) < 4 * segment.records + 1_000  # lengths, index, seal; shares round up
    with_vector = segment.share_bytes[segment.rid % 3 != 0]
    without = segment.share_bytes[segment.rid % 3 == 0]
    assert with_vector.mean() - without.mean() > 20


@pytest.mark.gate("ENC-03")
def test_segments_stay_within_their_bound_and_hold_everything(cold: Path) -> None:
    rids = list(range(1, 61))
    result = encoded(cold, rids, content_bytes=900_000)
    assert len(result.segments) > 2
    assert all(segment.bytes <= SEGMENT_BYTES_MAX for segment in result.segments)
    assert [rid for segment in result.segments for rid in segment.rid.tolist()] == rids
    assert len({segment.name for segment in result.segments}) == len(result.segments)


@pytest.mark.gate("ENC-04")
def test_corrupt_and_missing_memories_are_named_and_not_written(cold: Path) -> None:
    result = encoded(cold, list(range(1, 11)), corrupt=[2, 9], unreadable=[4], missing=[5, 10])
    assert result.corrupt == [2, 4, 9]
    assert result.missing == [5, 10]
    (segment,) = result.segments
    assert segment.rid.tolist() == [1, 3, 6, 7, 8]


@pytest.mark.gate("ENC-04")
def test_nothing_to_write_makes_no_file(cold: Path) -> None:
    assert encoded(cold, []).segments == []
    result = encoded(cold, [1, 2], corrupt=[1], missing=[2])
    assert (result.segments, result.corrupt, result.missing) == ([], [1], [2])
    assert os.listdir(cold) == []


@pytest.mark.gate("ENC-05")
@pytest.mark.parametrize("content_bytes", [20_000_000, 15_000_000])
def test_a_memory_that_fits_no_segment_is_named_and_the_others_are_written(
    cold: Path, monkeypatch: pytest.MonkeyPatch, content_bytes: int
) -> None:
    # 20 MB are too long for a frame; 15 MB of noise are too long for a file when compressed.
    noise = np.random.default_rng(1).bytes(content_bytes).decode("latin-1")
    giant = payload(5, content=noise[: content_bytes // 2] if content_bytes < 16e6 else noise)

    def record(self: FakeSource, rid: int) -> encode.SourceRecord:
        memory = giant if rid == 5 else payload(rid)
        return encode.SourceRecord(rid, 1, memory, content_hash(memory), {})

    monkeypatch.setattr(FakeSource, "_record", record)
    result = encoded(cold, list(range(1, 9)))
    assert result.oversized == [5]
    assert [r for s in result.segments for r in s.rid.tolist()] == [1, 2, 3, 4, 6, 7, 8]
    for segment in result.segments:
        with SegmentReader(segment.temporary) as reader:
            assert reader.count == segment.records


@pytest.mark.gate("ENC-06")
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_failing_disk_leaves_no_file_and_its_error_passes(
    cold: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    real = getattr(os, call)
    calls = 0

    def fail_late(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls > (20 if call == "write" else 1):
            raise OSError(number, os.strerror(number))
        return real(*arguments)

    monkeypatch.setattr(segment_writer.os, call, fail_late)
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        encoded(cold, list(range(1, 41)), content_bytes=900_000)
    assert caught.value.errno == number
    assert os.listdir(cold) == []


@pytest.mark.gate("ENC-07")
def test_a_disk_that_stores_something_else_is_noticed_before_the_result(
    cold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write

    def write_wrongly(descriptor: int, data: memoryview) -> int:
        changed = bytearray(data)
        changed[len(changed) // 2] ^= 1
        return real(descriptor, changed)

    monkeypatch.setattr(segment_writer.os, "write", write_wrongly)
    with pytest.raises(SegmentDamaged):
        encoded(cold, list(range(1, 41)))
    assert os.listdir(cold) == []


@pytest.mark.gate("ENC-07")
def test_a_short_write_is_continued(cold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(segment_writer.os, "write", lambda fd, data: real(fd, data[:100]))
    (segment,) = encoded(cold, list(range(1, 41))).segments
    with SegmentReader(segment.temporary) as reader:
        assert reader.verify() == segment.sha256


@pytest.mark.gate("ENC-08")
def test_a_source_that_breaks_leaves_no_file_and_is_closed(cold: Path) -> None:
    steer(cold.parent, fail_at=30, content_bytes=900_000)
    source = FakeSource(cold.parent)
    with InProcessEncoder(lambda: source) as encoder, pytest.raises(EncodeFailed) as caught:
        encoder.encode(list(range(1, 41)), cold, "run-1")
    assert "ValueError" in caught.value.message
    assert "broke" not in caught.value.message
    assert source.closed
    assert os.listdir(cold) == []


@pytest.mark.gate("ENC-08")
def test_the_source_is_closed_after_a_good_encoding(cold: Path) -> None:
    source = FakeSource(cold.parent)
    with InProcessEncoder(lambda: source) as encoder:
        assert len(encoder.encode([1, 2, 3], cold, "run-1").segments) == 1
    assert source.closed
