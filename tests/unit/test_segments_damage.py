"""A segment that was cut, changed or forged is noticed."""

import os
from pathlib import Path

import pytest
import zstandard

from sidecar.store import segment_format
from sidecar.store.payload import content_hash
from sidecar.store.segment_format import FRAME_TEXT_BYTES_MAX, SEAL_BYTES, encode_line
from sidecar.store.segments import (
    FrameBuilder,
    PackedFrame,
    SegmentDamaged,
    SegmentReader,
    SegmentWriter,
)
from tests.unit.segment_samples import SCALARS, payload, write_segment

FRAMES = [[payload(1), payload(3)], [payload(2)]]


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    path = tmp_path / "whole"
    write_segment(path, FRAMES)
    return path.read_bytes()


def damage_of(path: Path, data: bytes) -> str | None:
    """Why a full check refuses these bytes; None when it accepts them."""
    path.write_bytes(data)
    try:
        with SegmentReader(path) as reader:
            reader.verify()
    except SegmentDamaged as damage:
        return damage.reason
    return None


@pytest.mark.gate("SEG-11")
def test_a_file_cut_anywhere_is_noticed(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "cut"
    accepted = [size for size in range(len(whole)) if damage_of(path, whole[:size]) is None]
    assert accepted == []
    assert damage_of(path, whole) is None


@pytest.mark.gate("SEG-11")
def test_a_file_cut_at_a_boundary_is_noticed_at_opening(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "cut"
    path.write_bytes(whole)
    with SegmentReader(path) as reader:
        frames = reader.frames
    borders = [0, *(e.offset + e.data_bytes for e in frames), *(e.end for e in frames)]
    borders.append(len(whole) - SEAL_BYTES)
    for border in borders:
        path.write_bytes(whole[:border])
        with pytest.raises(SegmentDamaged):
            SegmentReader(path)


@pytest.mark.gate("SEG-11")
def test_bytes_added_at_the_end_or_the_front_are_noticed(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "longer"
    for added in (b"\0", whole, zstandard.compress(b'{"id":"x"}\n')):
        assert damage_of(path, whole + added) is not None
        assert damage_of(path, added + whole) is not None


@pytest.mark.gate("SEG-12")
def test_any_flipped_byte_is_noticed(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "flipped"
    accepted: list[int] = []
    for position in range(len(whole)):
        flipped = bytearray(whole)
        flipped[position] ^= 1 << position % 8
        if damage_of(path, bytes(flipped)) is None:
            accepted.append(position)
    assert accepted == []


@pytest.mark.gate("SEG-12")
def test_reading_one_record_notices_damage_to_it_and_spares_the_others(
    tmp_path: Path, whole: bytes
) -> None:
    path = tmp_path / "flipped"
    path.write_bytes(whole)
    with SegmentReader(path) as reader:
        first, second = reader.frames
    flips = {
        (first.offset + 30, "frame"),
        (first.offset + first.data_bytes + 30, "vectors"),
    }
    for position, reason in flips:
        flipped = bytearray(whole)
        flipped[position] ^= 4
        path.write_bytes(flipped)
        with SegmentReader(path) as reader:
            assert reader.record(1, 0).payload == payload(2)
            with pytest.raises(SegmentDamaged) as caught:
                reader.record(0, 0)
            assert caught.value.reason == reason
    assert second.offset == first.end


@pytest.mark.gate("SEG-13")
def test_a_line_that_does_not_match_its_hash_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "forged"
    builder = FrameBuilder()
    builder.add(encode_line(payload(1), SCALARS, content_hash(payload(2))), payload(1).embedding)
    builder.add(encode_line(payload(2), SCALARS, content_hash(payload(2))), payload(1).embedding)
    builder.add(encode_line(payload(4), SCALARS, content_hash(payload(4))), payload(4).embedding)
    with SegmentWriter(path) as writer:
        writer.write(builder.pack())
        writer.seal()
    with SegmentReader(path) as reader:
        for line in (0, 1):
            with pytest.raises(SegmentDamaged) as caught:
                reader.record(0, line)
            assert caught.value.reason == "hash"
        assert reader.record(0, 2).payload == payload(4)
        with pytest.raises(SegmentDamaged):
            reader.verify()


def sealed(path: Path, data: bytes, *, text_bytes: int, records: int = 1) -> Path:
    """A segment, sealed by the rules, around a data frame that nobody checked."""
    vectors = segment_format.pack_vectors([None] * records)
    with SegmentWriter(path) as writer:
        writer.write(PackedFrame(data, vectors, text_bytes, [0] * records))
        writer.seal()
    return path


@pytest.mark.gate("SEG-14")
def test_a_frame_that_claims_too_much_is_refused_at_opening(tmp_path: Path) -> None:
    bomb = zstandard.compress(b"\n" * (64 * 1_048_576))
    with pytest.raises(SegmentDamaged) as caught:
        SegmentReader(sealed(tmp_path / "bomb", bomb, text_bytes=64 * 1_048_576))
    assert caught.value.reason == "index"


@pytest.mark.gate("SEG-14")
@pytest.mark.parametrize("with_size", [True, False])
def test_a_frame_larger_than_the_index_says_is_not_decompressed(
    tmp_path: Path, with_size: bool
) -> None:
    compressor = zstandard.ZstdCompressor(write_content_size=with_size)
    bomb = compressor.compress(b"\n" * (64 * 1_048_576))
    with SegmentReader(sealed(tmp_path / "bomb", bomb, text_bytes=1_000)) as reader:
        with pytest.raises(SegmentDamaged) as caught:
            reader.record(0, 0)
        assert caught.value.reason == "frame"


@pytest.mark.gate("SEG-14")
def test_a_frame_with_another_number_of_lines_is_refused(tmp_path: Path) -> None:
    text = encode_line(payload(1), SCALARS, content_hash(payload(1)))
    for name, data in (("two", text * 2), ("open", text[:-1]), ("none", b"\n")):
        path = sealed(tmp_path / name, zstandard.compress(data), text_bytes=len(data))
        with SegmentReader(path) as reader, pytest.raises(SegmentDamaged):
            reader.record(0, 0)


@pytest.mark.gate("SEG-14")
@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"\xff", b'{"id":1}', b"[" * 100_000, b'{"id":"x"}', b"null"],
)
def test_a_line_that_is_not_a_memory_is_damage(tmp_path: Path, line: bytes) -> None:
    text = line + b"\n"
    path = sealed(tmp_path / "line", zstandard.compress(text), text_bytes=len(text))
    with SegmentReader(path) as reader, pytest.raises(SegmentDamaged) as caught:
        reader.record(0, 0)
    assert caught.value.reason == "line"


@pytest.mark.gate("SEG-14")
def test_the_largest_frame_that_may_be_written_can_be_read(tmp_path: Path) -> None:
    empty = encode_line(payload(1, content=""), SCALARS, content_hash(payload(1)))
    memory = payload(1, content="x" * (FRAME_TEXT_BYTES_MAX - len(empty)))
    write_segment(tmp_path / "large", [[memory]])
    with SegmentReader(tmp_path / "large") as reader:
        assert reader.frames[0].text_bytes == FRAME_TEXT_BYTES_MAX
        assert reader.record(0, 0).payload == memory


@pytest.mark.gate("SEG-15")
def test_an_error_of_the_machine_is_not_called_damage(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "whole"

    def fail(number: int) -> None:
        def raise_error(*_: object, **__: object) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "open", raise_error)

    fail(24)  # too many open files
    with pytest.raises(OSError, match="Too many open files") as caught:
        SegmentReader(path)
    assert not isinstance(caught.value, SegmentDamaged)
    fail(5)
    with pytest.raises(SegmentDamaged) as damaged:
        SegmentReader(path)
    assert damaged.value.reason == "unreadable"


@pytest.mark.gate("SEG-15")
def test_a_reader_that_is_dropped_closes_its_file(tmp_path: Path, whole: bytes) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = open_files()
    for _ in range(50):
        SegmentReader(tmp_path / "whole")
    assert open_files() == before
