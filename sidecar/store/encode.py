"""Turning memories into sealed, verified segment files that are not yet published.

Encoding never touches the database's rows: it reads through a `RecordSource`, writes temporary
files and proves that each can be read back. Publishing them and moving the rows is the
caller's work. `encode_process` does the same in a process of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import ForgetdError
from sidecar.store.payload import HASH_BYTES, RecordSource, SourceRecord, content_hash
from sidecar.store.segment_format import FRAME_TEXT_BYTES_MAX, SegmentDamaged, encode_line
from sidecar.store.segment_reader import SegmentReader
from sidecar.store.segment_writer import FrameBuilder, SegmentWriter
from sidecar.store.segments import new_segment_name, new_temporary_name


@dataclass(frozen=True, slots=True)
class EncodedSegment:
    """One sealed temporary file and where each memory stands in it (parallel arrays).

    `sha256` is the digest of the whole file; `share_bytes` is what one memory costs on disk:
    its share of the compressed frame plus its vector.
    """

    temporary: Path
    name: str
    records: int
    sha256: bytes
    rid: NDArray[np.int64]
    frame: NDArray[np.int32]
    line: NDArray[np.int32]
    change_counter: NDArray[np.int64]
    share_bytes: NDArray[np.int64]
    bytes: int


@dataclass(frozen=True, slots=True)
class EncodeResult:
    """The segments made, and the row ids that are in none of them, by cause.

    `corrupt`: the payload could not be read or does not match its stored hash. `missing`: the
    row is gone. `oversized`: the memory does not fit into one segment.
    """

    segments: list[EncodedSegment]
    corrupt: list[int]
    missing: list[int]
    oversized: list[int]


class EncodeFailed(ForgetdError):
    """The encoder could not finish; no file of it is left and nothing was moved."""

    default_message = "Memories could not be encoded"


class SegmentEncoder(Protocol):
    """Encodes memories into temporary segment files; a context manager."""

    def encode(self, rids: Sequence[int], directory: Path, run_id: str) -> EncodeResult:
        """Write the memories of `rids`, in that order, into temporary files in `directory`.

        Every file returned is fsynced and was read back record by record. Raises OSError (a
        full or failing disk) and `EncodeFailed`; no temporary file is left then.
        """
        ...

    def close(self) -> None:
        """Release what the encoder holds. Closing twice is harmless."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class InProcessEncoder:
    """A `SegmentEncoder` in the caller's thread: right for few memories."""

    def __init__(self, open_source: Callable[[], RecordSource]) -> None:
        self._open_source = open_source

    def encode(self, rids: Sequence[int], directory: Path, run_id: str) -> EncodeResult:
        """See `SegmentEncoder.encode`."""
        try:
            source = self._open_source()
            try:
                return encode_segments(source, rids, directory, run_id)
            finally:
                source.close()
        except (OSError, EncodeFailed):
            raise
        except Exception as error:
            raise EncodeFailed(f"Memories could not be encoded ({type(error).__name__})") from error

    def close(self) -> None:
        """Nothing is held between calls."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def encode_segments(
    source: RecordSource, rids: Sequence[int], directory: Path, run_id: str
) -> EncodeResult:
    """Stream the memories of `rids` into as many temporary segments as they need.

    A payload is compared with its stored hash before it is written, and every sealed file is
    read back and compared, record by record, before this returns. Whatever is raised (OSError
    of the disk, an error of the source, SegmentDamaged when a file does not read back), the
    temporary files of this call are gone.
    """
    series = _SegmentSeries(directory, run_id)
    corrupt: list[int] = []
    seen: set[int] = set()
    try:
        for record in source.read(rids):
            seen.add(record.rid)
            if _is_intact(record):
                series.add(record)
            else:
                corrupt.append(record.rid)
        series.finish()
    except BaseException:
        series.discard()
        raise
    missing = [rid for rid in rids if rid not in seen]
    return EncodeResult(series.segments, corrupt, missing, series.oversized)


def _is_intact(record: SourceRecord) -> bool:
    """Whether the payload was read and is what was once stored."""
    if record.payload is None:
        return False
    try:
        return content_hash(record.payload) == record.content_hash
    except UnicodeEncodeError:
        return False


@dataclass(slots=True)
class _Placed:
    """What is remembered of the records of one open segment or frame."""

    rid: list[int] = field(default_factory=list[int])
    change_counter: list[int] = field(default_factory=list[int])
    digests: list[bytes] = field(default_factory=list[bytes])
    frame: list[int] = field(default_factory=list[int])
    line: list[int] = field(default_factory=list[int])
    share_bytes: list[int] = field(default_factory=list[int])

    def take(self, waiting: "_Placed", frame: int, share_bytes: list[int]) -> None:
        """Append the records of a frame that was written as number `frame`."""
        self.rid += waiting.rid
        self.change_counter += waiting.change_counter
        self.digests += waiting.digests
        self.frame += [frame] * len(waiting.rid)
        self.line += range(len(waiting.rid))
        self.share_bytes += share_bytes


class _SegmentSeries:
    """Cuts a stream of records into frames, and frames into segments."""

    def __init__(self, directory: Path, run_id: str) -> None:
        self.segments: list[EncodedSegment] = []
        self.oversized: list[int] = []
        self._directory = directory
        self._run_id = run_id
        self._builder = FrameBuilder()
        self._waiting = _Placed()
        self._writer: SegmentWriter | None = None
        self._placed = _Placed()

    def add(self, record: SourceRecord) -> None:
        """Append one intact record."""
        payload = record.payload
        assert payload is not None, "only intact records are added"
        line = encode_line(payload, record.scalars, record.content_hash)
        if len(line) > FRAME_TEXT_BYTES_MAX:
            self.oversized.append(record.rid)
            return
        if not self._builder.has_room(line, payload.embedding):
            self._end_frame()
        self._builder.add(line, payload.embedding)
        self._waiting.rid.append(record.rid)
        self._waiting.change_counter.append(record.change_counter)
        self._waiting.digests.append(record.content_hash)

    def finish(self) -> None:
        """Write what waits and seal the last segment."""
        self._end_frame()
        self._end_segment()

    def discard(self) -> None:
        """Remove every temporary file of the series."""
        if self._writer is not None:
            self._writer.discard()
        for segment in self.segments:
            segment.temporary.unlink(missing_ok=True)

    def _end_frame(self) -> None:
        if not self._builder.records:
            return
        packed = self._builder.pack()
        waiting, self._waiting = self._waiting, _Placed()
        if self._writer is not None and not self._writer.has_room(packed):
            self._end_segment()
        if self._writer is None:
            self._writer = SegmentWriter(self._directory / new_temporary_name(self._run_id))
            self._placed = _Placed()
        if not self._writer.has_room(packed):
            # Frames of several records are far below the bound: this is one giant record.
            self.oversized += waiting.rid
            return
        self._placed.take(waiting, self._writer.frames, packed.share_bytes)
        self._writer.write(packed)

    def _end_segment(self) -> None:
        writer = self._writer
        if writer is None:
            return
        if writer.frames:
            sha256 = writer.seal()
            size = _verify(writer.path, sha256, self._placed.digests)
            self.segments.append(_encoded(writer.path, sha256, size, self._placed))
        else:
            writer.discard()
        self._writer = None


def _verify(path: Path, sha256: bytes, digests: list[bytes]) -> int:
    """Read a sealed file back and compare it with what was meant. Returns its size in bytes."""
    with SegmentReader(path) as reader:
        if reader.count != len(digests):
            raise SegmentDamaged("index", "A segment just written has another record count")
        # A hash that is checked is in the line; that it is the record's own is checked here.
        for digest, (_, _, record) in zip(digests, reader, strict=True):
            if record.content_hash != digest:
                raise SegmentDamaged("hash", "A segment just written holds another record")
        if reader.file_digest() != sha256:
            raise SegmentDamaged("seal", "A segment just written does not match its hash")
        return reader.bytes


def _encoded(path: Path, sha256: bytes, size: int, placed: _Placed) -> EncodedSegment:
    assert len(sha256) == HASH_BYTES
    return EncodedSegment(
        temporary=path,
        name=new_segment_name(),
        records=len(placed.rid),
        bytes=size,
        sha256=sha256,
        rid=np.array(placed.rid, dtype=np.int64),
        frame=np.array(placed.frame, dtype=np.int32),
        line=np.array(placed.line, dtype=np.int32),
        change_counter=np.array(placed.change_counter, dtype=np.int64),
        share_bytes=np.array(placed.share_bytes, dtype=np.int64),
    )
