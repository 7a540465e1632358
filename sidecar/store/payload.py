"""What a move carries: the exact words and vector of one memory, and the hash over them.

The payload is the part of a memory that must come back bit for bit from any tier. Everything
else (counters, times of use, flags) is a scalar column and stays in the database.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

HASH_BYTES = 32
_HASH_DOMAIN = b"forgetd payload 1\0"
_LENGTHS = struct.Struct("<QQQQqqq")
_ABSENT = -1


@dataclass(frozen=True, slots=True)
class Payload:
    """The hashed part of one memory, exactly as it was stored.

    `metadata` and `extra` are JSON objects as text and are never re-encoded; `created_at` is
    in milliseconds since the Unix epoch; `embedding` is little-endian float32.
    """

    id: str
    content: str
    metadata: str
    extra: str
    created_at: int
    embedding_model: str | None
    embedding: bytes | None


def content_hash(payload: Payload) -> bytes:
    """SHA-256 (32 bytes) over every field of the payload.

    All lengths stand before the parts and an absent field has a length of its own, so no two
    different payloads are written as the same bytes.
    """
    identity = payload.id.encode()
    content = payload.content.encode()
    metadata = payload.metadata.encode()
    extra = payload.extra.encode()
    model = None if payload.embedding_model is None else payload.embedding_model.encode()
    embedding = payload.embedding
    lengths = _LENGTHS.pack(
        len(identity),
        len(content),
        len(metadata),
        len(extra),
        payload.created_at,
        _ABSENT if model is None else len(model),
        _ABSENT if embedding is None else len(embedding),
    )
    parts = (_HASH_DOMAIN, lengths, identity, content, metadata, extra, model or b"")
    digest = hashlib.sha256(b"".join(parts))
    if embedding is not None:
        digest.update(embedding)
    return digest.digest()


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One memory on its way into a segment.

    `content_hash` is what the database holds; the encoder compares it with the payload before
    it writes. `payload` is None when the payload could not be read (a damaged segment): the
    memory is then reported as corrupt and stays where it is. `scalars` holds every scalar
    column by its name, as values that JSON can hold.
    """

    rid: int
    change_counter: int
    payload: Payload | None
    content_hash: bytes
    scalars: dict[str, object]


class RecordSource(Protocol):
    """Where an encoder reads memories from: one consistent view of a namespace."""

    def read(self, rids: Sequence[int]) -> Iterator[SourceRecord]:
        """Stream the records of `rids` in the order given; rows that are gone are left out."""
        ...

    def close(self) -> None:
        """Release the view. Closing twice is harmless."""
        ...
