"""Writing one segment: frames first, then the index and the seal, then fsync."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import zstandard

from sidecar.limits import FRAME_MEMORIES_MAX, SEGMENT_BYTES_MAX
from sidecar.store.segment_format import (
    COMPRESSION_LEVEL,
    FRAME_TEXT_BYTES_MAX,
    FRAME_TEXT_BYTES_TARGET,
    FRAME_VECTOR_BYTES_TARGET,
    SEAL_BYTES,
    FrameEntry,
    Seal,
    index_bytes,
    pack_index,
    pack_seal,
    pack_vectors,
)


@dataclass(frozen=True, slots=True)
class PackedFrame:
    """A data frame and its vector block, ready to be written. `share_bytes` is by line."""

    data: bytes
    vectors: bytes
    text_bytes: int
    share_bytes: list[int]

    @property
    def records(self) -> int:
        """How many lines the frame has."""
        return len(self.share_bytes)


class FrameBuilder:
    """Collects lines until the frame is full."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(
            level=COMPRESSION_LEVEL, write_checksum=True, write_content_size=True
        )
        self._lines: list[bytes] = []
        self._embeddings: list[bytes | None] = []
        self._text_bytes = 0
        self._vector_bytes = 0

    @property
    def records(self) -> int:
        """How many lines wait in the builder."""
        return len(self._lines)

    def has_room(self, line: bytes, embedding: bytes | None) -> bool:
        """Whether the line belongs to this frame; an empty frame takes any line."""
        if not self._lines:
            return True
        vector_bytes = self._vector_bytes + len(embedding or b"")
        return (
            len(self._lines) < FRAME_MEMORIES_MAX
            and self._text_bytes + len(line) <= FRAME_TEXT_BYTES_TARGET
            and vector_bytes <= FRAME_VECTOR_BYTES_TARGET
        )

    def add(self, line: bytes, embedding: bytes | None) -> None:
        """Append one line (with its line end) and its embedding."""
        self._lines.append(line)
        self._embeddings.append(embedding)
        self._text_bytes += len(line)
        self._vector_bytes += len(embedding or b"")

    def pack(self) -> PackedFrame:
        """Compress what was collected and start anew. At least one line must wait."""
        data = self._compressor.compress(b"".join(self._lines))
        frame = PackedFrame(
            data=data,
            vectors=pack_vectors(self._embeddings),
            text_bytes=self._text_bytes,
            share_bytes=[
                -(-len(line) * len(data) // self._text_bytes) + len(embedding or b"")
                for line, embedding in zip(self._lines, self._embeddings, strict=True)
            ],
        )
        self._lines, self._embeddings = [], []
        self._text_bytes = self._vector_bytes = 0
        return frame


class SegmentWriter:
    """Writes one new file of mode 0600; leaving the context unsealed removes it.

    Raises FileExistsError when the path is taken, and any OSError of the disk.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(path, flags, 0o600)
        self._entries: list[FrameEntry] = []
        self._digest = hashlib.sha256()
        self._position = 0
        self._sealed = False

    @property
    def frames(self) -> int:
        """How many frames are written."""
        return len(self._entries)

    def has_room(self, frame: PackedFrame) -> bool:
        """Whether the file stays within its bound with this frame, the index and the seal."""
        end = self._position + len(frame.data) + len(frame.vectors)
        total = end + index_bytes(len(self._entries) + 1) + SEAL_BYTES
        return total <= SEGMENT_BYTES_MAX and frame.text_bytes <= FRAME_TEXT_BYTES_MAX

    def write(self, frame: PackedFrame) -> None:
        """Append a frame; the caller has asked `has_room`."""
        entry = FrameEntry(
            offset=self._position,
            data_bytes=len(frame.data),
            vector_bytes=len(frame.vectors),
            text_bytes=frame.text_bytes,
            records=frame.records,
            sha256=hashlib.sha256(frame.data).digest(),
        )
        self._append(frame.data)
        self._append(frame.vectors)
        self._entries.append(entry)

    def seal(self) -> bytes:
        """Write index and seal, fsync, close. Returns the SHA-256 of the whole file."""
        index_offset = self._position
        index = pack_index(self._entries)
        self._append(index)
        seal = Seal(
            frames=len(self._entries),
            records=sum(entry.records for entry in self._entries),
            index_offset=index_offset,
            index_bytes=len(index),
            sha256=self._digest.digest(),
        )
        self._append(pack_seal(seal))
        os.fsync(self._descriptor)
        self._close()
        self._sealed = True
        return self._digest.digest()

    def discard(self) -> None:
        """Close and remove the file, sealed or not."""
        self._close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._sealed:
            self.discard()

    def _append(self, data: bytes) -> None:
        self._digest.update(data)
        self._position += len(data)
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def _close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)
