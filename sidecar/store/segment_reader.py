"""Reading a sealed segment without trusting it.

Opening checks the seal and the index. Each frame is compared with the hash in the index before
it is decompressed, within the size that the index names; each record is compared with its own
hash. `verify` reads everything.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import zstandard

from sidecar.limits import SEGMENT_BYTES_MAX
from sidecar.store.segment_format import (
    SEAL_BYTES,
    FrameEntry,
    FrameVectors,
    SegmentDamaged,
    SegmentRecord,
    decode_line,
    unpack_index,
    unpack_seal,
    unpack_vector_head,
    unpack_vectors,
    vector_head_bytes,
)

_READ_CHUNK_BYTES = 1_048_576
_WINDOW_BYTES_MAX = 1 << 25
# These say that the file is not what was published; any other error is the machine's.
_DAMAGE_BY_ERRNO = {
    errno.ENOENT: ("missing", "A sealed segment is missing"),
    errno.ENOTDIR: ("missing", "A sealed segment is missing"),
    errno.ELOOP: ("unreadable", "A segment is a link, not a file"),
    errno.EISDIR: ("unreadable", "A segment is not a regular file"),
    errno.ENXIO: ("unreadable", "A segment is not a regular file"),
    errno.EIO: ("unreadable", "The disk cannot read a segment"),
}


class SegmentReader:
    """One sealed segment, opened. Raises SegmentDamaged (from any method) when it is not whole.

    Several threads may read at once; only `close` must be the last call. A reader that nobody
    holds any more closes itself. It keeps the frame that was read last.
    """

    _descriptor = -1

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = _open_regular(path)
        self._lines: tuple[int, list[bytes]] | None = None
        self._vectors: tuple[int, FrameVectors] | None = None
        self._lengths: tuple[int, tuple[list[int], list[bool]]] | None = None
        try:
            self.bytes = os.fstat(self._descriptor).st_size
            if self.bytes < SEAL_BYTES:
                raise SegmentDamaged("truncated", "A segment is too short to have a seal")
            if self.bytes > SEGMENT_BYTES_MAX:
                raise SegmentDamaged("seal", "A segment is larger than any that was sealed")
            self._seal_offset = self.bytes - SEAL_BYTES
            self._seal = unpack_seal(self._read(self._seal_offset, SEAL_BYTES), self.bytes)
            index = self._read(self._seal.index_offset, self._seal.index_bytes)
            self.frames: list[FrameEntry] = unpack_index(index, self._seal)
        except BaseException:
            self.close()
            raise

    @property
    def count(self) -> int:
        """How many records the seal names."""
        return self._seal.records

    def records_in(self, frame: int) -> int:
        """How many records the index names for a frame."""
        return self._entry(frame).records

    def lines(self, frame: int) -> list[bytes]:
        """The lines of a frame, without line ends; the frame's hash was checked."""
        known = self._lines
        if known is None or known[0] != frame:
            self._lines = known = (frame, self._decode_frame(self._entry(frame)))
        return known[1]

    def vectors(self, frame: int) -> FrameVectors:
        """The embeddings of a frame; the block's hash was checked."""
        known = self._vectors
        if known is None or known[0] != frame:
            entry = self._entry(frame)
            block = self._read(entry.offset + entry.data_bytes, entry.vector_bytes)
            self._vectors = known = (frame, unpack_vectors(block, entry.records))
        return known[1]

    def embedding(self, frame: int, line: int) -> bytes | None:
        """One embedding, read alone. Only a record's own hash says whether it is whole."""
        entry = self._entry(frame)
        if not 0 <= line < entry.records:
            raise SegmentDamaged("index", "A segment has no such line")
        known = self._vectors
        if known is not None and known[0] == frame:
            return known[1].of(line)
        block = entry.offset + entry.data_bytes
        lengths = self._lengths
        if lengths is None or lengths[0] != frame:
            head = self._read(block, vector_head_bytes(entry.records))
            self._lengths = lengths = (frame, unpack_vector_head(head, entry))
        starts, present = lengths[1]
        if not present[line]:
            return None
        return self._read(block + starts[line], starts[line + 1] - starts[line])

    def record(self, frame: int, line: int) -> SegmentRecord:
        """One record, its hash checked."""
        lines = self.lines(frame)
        if not 0 <= line < len(lines):
            raise SegmentDamaged("index", "A segment has no such line")
        try:
            return decode_line(lines[line], self.embedding(frame, line))
        except SegmentDamaged:
            self.vectors(frame)  # says so where it is the block that is damaged
            raise

    def records(self, frame: int) -> Iterator[SegmentRecord]:
        """Every record of a frame in order, each hash checked."""
        self.vectors(frame)  # at once, and compared with the block's hash
        for line in range(len(self.lines(frame))):
            yield self.record(frame, line)

    def __iter__(self) -> Iterator[tuple[int, int, SegmentRecord]]:
        """Every record of the segment in order, as (frame, line, record)."""
        for frame in range(len(self.frames)):
            for line, record in enumerate(self.records(frame)):
                yield frame, line, record

    def file_digest(self) -> bytes:
        """The SHA-256 of the whole file; everything before the seal was compared with it."""
        digest = hashlib.sha256()
        for offset in range(0, self._seal_offset, _READ_CHUNK_BYTES):
            size = min(_READ_CHUNK_BYTES, self._seal_offset - offset)
            digest.update(self._read(offset, size))
        if digest.digest() != self._seal.sha256:
            raise SegmentDamaged("seal", "A segment does not match the hash in its seal")
        digest.update(self._read(self._seal_offset, SEAL_BYTES))
        return digest.digest()

    def verify(self) -> bytes:
        """Check every byte and every record. Returns the SHA-256 of the whole file."""
        digest = self.file_digest()
        for _ in self:
            pass
        return digest

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _entry(self, frame: int) -> FrameEntry:
        if not 0 <= frame < len(self.frames):
            raise SegmentDamaged("index", "A segment has no such frame")
        return self.frames[frame]

    def _decode_frame(self, entry: FrameEntry) -> list[bytes]:
        data = self._read(entry.offset, entry.data_bytes)
        if hashlib.sha256(data).digest() != entry.sha256:
            raise SegmentDamaged("frame", "A frame of a segment does not match its hash")
        try:
            if zstandard.get_frame_parameters(data).content_size != entry.text_bytes:
                raise SegmentDamaged("frame", "A frame of a segment has another size")
            # One for each frame: its context must not be shared between threads.
            decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES_MAX)
            text = decompressor.decompress(
                data, max_output_size=entry.text_bytes, allow_extra_data=False
            )
        except zstandard.ZstdError as error:
            raise SegmentDamaged("frame", "A frame of a segment cannot be read") from error
        lines = text.split(b"\n")
        if lines.pop() or len(lines) != entry.records:
            raise SegmentDamaged("frame", "A frame of a segment has another line count")
        return lines

    def _read(self, offset: int, size: int) -> bytes:
        try:
            data = os.pread(self._descriptor, size, offset)
        except OSError as error:
            raise _as_damage(error) from error
        if len(data) != size:
            raise SegmentDamaged("truncated", "A segment is shorter than its index says")
        return data


def _open_regular(path: Path) -> int:
    try:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags)
    except OSError as error:
        raise _as_damage(error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SegmentDamaged("unreadable", "A segment is not a regular file")
    return descriptor


def _as_damage(error: OSError) -> Exception:
    """The damage that an error of the system means, or the error itself."""
    known = _DAMAGE_BY_ERRNO.get(error.errno or 0)
    return SegmentDamaged(*known) if known else error
