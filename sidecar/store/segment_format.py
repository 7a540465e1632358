"""The bytes of a segment file: what lies where, and how one memory becomes one line.

    data frame 0      zstd, content checksum on: up to 1 000 lines of JSON, one memory each
    vector block 0    skippable frame: the exact embeddings of data frame 0
    data frame 1 ...  and so on
    index             skippable frame: where each pair lies, with the SHA-256 of its data frame
    seal              skippable frame of fixed size at the very end: version, count, index
                      position and the SHA-256 of everything before it

Any zstd reader that goes through all frames sees plain JSON lines. Skippable frames carry no
checksum of their own, so each holds a SHA-256. All integers are little-endian.

A line: `id, content, metadata, extra, createdAt, embeddingModel, scalars, hash`. `metadata` and
`extra` stand in the line as JSON, byte for byte as they were stored; text that cannot stand
there unchanged (it spans lines, say) goes into the string fields `metadataText` / `extraText`.
`hash` covers the payload; `scalars` are the columns as of the move, outside the hash.
"""

import hashlib
import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sidecar.errors import Corrupt
from sidecar.limits import FRAME_MEMORIES_MAX
from sidecar.store.payload import HASH_BYTES, Payload, content_hash

FORMAT_VERSION: Final = 1
COMPRESSION_LEVEL: Final = 3

# A frame ends at the first of these, so that reading one memory stays cheap.
FRAME_TEXT_BYTES_TARGET: Final = 2 * 1_048_576
FRAME_VECTOR_BYTES_TARGET: Final = 2 * 1_048_576
# No frame may decompress to more: a reader refuses it before it allocates.
FRAME_TEXT_BYTES_MAX: Final = 16 * 1_048_576

_SKIPPABLE = struct.Struct("<II")
_VECTOR_MAGIC = 0x184D2A50
_INDEX_MAGIC = 0x184D2A51
_SEAL_MAGIC = 0x184D2A52

_INDEX_HEAD = struct.Struct("<8sI")
_INDEX_LABEL = b"FGTDINDX"
_INDEX_ENTRY = struct.Struct("<QIIII32s")
_SEAL = struct.Struct("<8sIIQQQ32s")
_SEAL_LABEL = b"FGTDSEAL"
SEAL_BYTES: Final = _SKIPPABLE.size + _SEAL.size + HASH_BYTES
_NO_VECTOR: Final = 0xFFFF_FFFF


class SegmentDamaged(Corrupt):
    """A segment, or one record in it, is not what was sealed.

    `reason` is one of: missing, unreadable, truncated, seal, index, frame, vectors, line, hash.
    Neither message nor data names a path.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message, reason=reason)
        self.reason = reason


# --- lines -------------------------------------------------------------------------------


class _Line(msgspec.Struct, rename="camel", kw_only=True):
    id: str
    content: str
    metadata: Raw
    extra: Raw
    created_at: int
    embedding_model: str | None
    scalars: Raw
    hash: str
    metadata_text: str | UnsetType = UNSET
    extra_text: str | UnsetType = UNSET


class LineText(msgspec.Struct):
    """The part of a line that a text search needs."""

    content: str


class _OneRaw(msgspec.Struct, array_like=True):
    value: Raw


_EMPTY_OBJECT = Raw(b"{}")
_encoder = msgspec.json.Encoder()
_line_decoder = msgspec.json.Decoder(_Line)
_text_decoder = msgspec.json.Decoder(LineText)
_raw_decoder = msgspec.json.Decoder(_OneRaw)
_scalars_decoder = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """One memory read back: the payload (its hash was checked), and the scalars as moved."""

    payload: Payload
    scalars: dict[str, Any]
    content_hash: bytes


def encode_line(payload: Payload, scalars: dict[str, object], digest: bytes) -> bytes:
    """One memory as a line of JSON with its line end. `digest` is its content hash."""
    metadata, metadata_text = _splice(payload.metadata)
    extra, extra_text = _splice(payload.extra)
    line = _Line(
        id=payload.id,
        content=payload.content,
        metadata=metadata,
        extra=extra,
        created_at=payload.created_at,
        embedding_model=payload.embedding_model,
        scalars=Raw(_encoder.encode(scalars)),
        hash=digest.hex(),
        metadata_text=metadata_text,
        extra_text=extra_text,
    )
    return _encoder.encode(line) + b"\n"


def decode_line(line: bytes, embedding: bytes | None) -> SegmentRecord:
    """The record of a line, its hash checked. Raises SegmentDamaged."""
    try:
        fields = _line_decoder.decode(line)
        payload = Payload(
            id=fields.id,
            content=fields.content,
            metadata=_unsplice(fields.metadata, fields.metadata_text),
            extra=_unsplice(fields.extra, fields.extra_text),
            created_at=fields.created_at,
            embedding_model=fields.embedding_model,
            embedding=embedding,
        )
        scalars = _scalars_decoder.decode(fields.scalars)
        digest = content_hash(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError, struct.error) as error:
        raise SegmentDamaged("line", "A line of a segment cannot be read") from error
    if digest.hex() != fields.hash:
        raise SegmentDamaged("hash", "A record of a segment does not match its hash")
    return SegmentRecord(payload, scalars, digest)


def decode_content(line: bytes) -> str:
    """The content of a line, its hash not checked. Raises SegmentDamaged."""
    try:
        return _text_decoder.decode(line).content
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise SegmentDamaged("line", "A line of a segment cannot be read") from error


def _splice(text: str) -> tuple[Raw, str | UnsetType]:
    """The JSON text as raw bytes if a reader gets exactly those back, else as a string."""
    if text == "{}":
        return _EMPTY_OBJECT, UNSET
    encoded = text.encode()
    if text.startswith("{") and "\n" not in text and "\r" not in text:
        try:
            if bytes(_raw_decoder.decode(b"[" + encoded + b"]").value) == encoded:
                return Raw(encoded), UNSET
        except (msgspec.MsgspecError, RecursionError):
            pass
    return _EMPTY_OBJECT, text


def _unsplice(raw: Raw, text: str | UnsetType) -> str:
    return bytes(raw).decode() if text is UNSET else text


# --- vector blocks -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FrameVectors:
    """The embeddings of one frame: line `n` is `data[starts[n]:starts[n + 1]]`, if present."""

    data: bytes
    starts: list[int]
    present: list[bool]

    def of(self, line: int) -> bytes | None:
        """The embedding of a line as little-endian float32, or None."""
        if not self.present[line]:
            return None
        return self.data[self.starts[line] : self.starts[line + 1]]


def pack_vectors(embeddings: Sequence[bytes | None]) -> bytes:
    """The skippable frame that holds the embeddings of one data frame."""
    lengths = [_NO_VECTOR if e is None else len(e) for e in embeddings]
    body = struct.pack(f"<I{len(lengths)}I", len(lengths), *lengths)
    return _pack_hashed(_VECTOR_MAGIC, body + b"".join(e for e in embeddings if e is not None))


def unpack_vectors(block: bytes, records: int) -> FrameVectors:
    """The embeddings of a frame of `records` lines. Raises SegmentDamaged."""
    body = _unpack_hashed(block, _VECTOR_MAGIC, "vectors")
    head = 4 * (records + 1)
    if len(body) < head or struct.unpack_from("<I", body)[0] != records:
        raise SegmentDamaged("vectors", "A vector block of a segment has another line count")
    lengths = struct.unpack_from(f"<{records}I", body, 4)
    starts = [head]
    for length in lengths:
        starts.append(starts[-1] + (0 if length == _NO_VECTOR else length))
    if starts[-1] != len(body):
        raise SegmentDamaged("vectors", "A vector block of a segment has the wrong size")
    return FrameVectors(body, starts, [length != _NO_VECTOR for length in lengths])


def vector_head_bytes(records: int) -> int:
    """How much of a vector block, from its beginning, says where each embedding lies."""
    return _SKIPPABLE.size + 4 * (records + 1)


def unpack_vector_head(head: bytes, entry: "FrameEntry") -> tuple[list[int], list[bool]]:
    """Where in its block each embedding of a frame begins, with the end of the last one, and
    which lines have one. Raises SegmentDamaged.
    """
    magic, size, records = struct.unpack_from("<III", head)
    if magic != _VECTOR_MAGIC or (size, records) != (
        entry.vector_bytes - _SKIPPABLE.size,
        entry.records,
    ):
        raise SegmentDamaged("vectors", "A vector block of a segment has another line count")
    lengths = struct.unpack_from(f"<{records}I", head, _SKIPPABLE.size + 4)
    present = [length != _NO_VECTOR for length in lengths]
    sizes = (length if there else 0 for length, there in zip(lengths, present, strict=True))
    starts = list(itertools.accumulate(sizes, initial=vector_head_bytes(records)))
    if starts[-1] != entry.vector_bytes - HASH_BYTES:
        raise SegmentDamaged("vectors", "A vector block of a segment has the wrong size")
    return starts, present


# --- index and seal ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FrameEntry:
    """Where one data frame and the vector block right behind it lie. Sizes in bytes."""

    offset: int
    data_bytes: int
    vector_bytes: int
    text_bytes: int
    records: int
    sha256: bytes

    @property
    def end(self) -> int:
        """Where the next frame, or the index, begins."""
        return self.offset + self.data_bytes + self.vector_bytes


@dataclass(frozen=True, slots=True)
class Seal:
    """The last bytes of a segment. `sha256` covers everything before the seal."""

    frames: int
    records: int
    index_offset: int
    index_bytes: int
    sha256: bytes


def pack_index(entries: Sequence[FrameEntry]) -> bytes:
    """The skippable frame that says where every frame lies."""
    packed = b"".join(
        _INDEX_ENTRY.pack(
            entry.offset,
            entry.data_bytes,
            entry.vector_bytes,
            entry.text_bytes,
            entry.records,
            entry.sha256,
        )
        for entry in entries
    )
    return _pack_hashed(_INDEX_MAGIC, _INDEX_HEAD.pack(_INDEX_LABEL, len(entries)) + packed)


def index_bytes(frames: int) -> int:
    """The size of an index of so many frames, in bytes."""
    return _SKIPPABLE.size + _INDEX_HEAD.size + frames * _INDEX_ENTRY.size + HASH_BYTES


def unpack_index(block: bytes, seal: Seal) -> list[FrameEntry]:
    """The frames of a segment; they must lie end to end from the first byte to the index."""
    body = _unpack_hashed(block, _INDEX_MAGIC, "index")
    if len(body) < _INDEX_HEAD.size or _INDEX_HEAD.unpack_from(body) != (_INDEX_LABEL, seal.frames):
        raise SegmentDamaged("index", "The index of a segment does not fit its seal")
    packed = body[_INDEX_HEAD.size :]
    if len(packed) != seal.frames * _INDEX_ENTRY.size:
        raise SegmentDamaged("index", "The index of a segment has the wrong size")
    entries = [FrameEntry(*fields) for fields in _INDEX_ENTRY.iter_unpack(packed)]
    position = 0
    for entry in entries:
        bounded = (
            0 < entry.records <= FRAME_MEMORIES_MAX and entry.text_bytes <= FRAME_TEXT_BYTES_MAX
        )
        if entry.offset != position or not bounded:
            raise SegmentDamaged("index", "The index of a segment contradicts itself")
        position = entry.end
    if position != seal.index_offset or sum(entry.records for entry in entries) != seal.records:
        raise SegmentDamaged("index", "The index of a segment does not fit its seal")
    return entries


def pack_seal(seal: Seal) -> bytes:
    """The skippable frame that ends a segment."""
    body = _SEAL.pack(
        _SEAL_LABEL,
        FORMAT_VERSION,
        seal.frames,
        seal.records,
        seal.index_offset,
        seal.index_bytes,
        seal.sha256,
    )
    return _pack_hashed(_SEAL_MAGIC, body)


def unpack_seal(block: bytes, file_bytes: int) -> Seal:
    """The seal in the last `SEAL_BYTES` of a file of `file_bytes`. Raises SegmentDamaged."""
    body = _unpack_hashed(block, _SEAL_MAGIC, "seal")
    if len(body) != _SEAL.size:
        raise SegmentDamaged("seal", "The seal of a segment has the wrong size")
    label, version, frames, records, index_offset, index_size, sha256 = _SEAL.unpack(body)
    if label != _SEAL_LABEL:
        raise SegmentDamaged("seal", "The end of the file is not a segment's seal")
    if version != FORMAT_VERSION:
        raise SegmentDamaged("seal", f"The segment has format version {version}, not 1")
    if index_offset + index_size + SEAL_BYTES != file_bytes or index_size != index_bytes(frames):
        raise SegmentDamaged("seal", "The seal of a segment does not fit the file's size")
    return Seal(frames, records, index_offset, index_size, sha256)


def _pack_hashed(magic: int, body: bytes) -> bytes:
    header = _SKIPPABLE.pack(magic, len(body) + HASH_BYTES)
    return b"".join((header, body, hashlib.sha256(body).digest()))


def _unpack_hashed(block: bytes, magic: int, reason: str) -> bytes:
    """The body of a skippable frame that must fill `block` and match its hash."""
    end = len(block) - HASH_BYTES
    if end < _SKIPPABLE.size or _SKIPPABLE.unpack_from(block) != (
        magic,
        len(block) - _SKIPPABLE.size,
    ):
        raise SegmentDamaged(reason, f"The {reason} part of a segment is cut or overwritten")
    body = block[_SKIPPABLE.size : end]
    if hashlib.sha256(body).digest() != block[end:]:
        raise SegmentDamaged(reason, f"The {reason} part of a segment does not match its hash")
    return body
