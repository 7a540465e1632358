"""Memories, segments and a source for the tests of the archive."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sidecar.store.payload import Payload, SourceRecord, content_hash
from sidecar.store.segment_format import encode_line
from sidecar.store.segments import FrameBuilder, SegmentWriter

DIMENSIONS = 8
SCALARS: dict[str, object] = {"importance": 0.5, "recall_count": 3, "superseded_by": None}


def payload(number: int, **changes: object) -> Payload:
    """A memory that is always the same for one number; some have no vector."""
    vector = np.random.default_rng(number).standard_normal(DIMENSIONS).astype("<f4").tobytes()
    made = Payload(
        id=f"기억-{number}-v1700000000000",
        content=f"메모 {number}: likes ☕ and\nnew lines, \u2028 and \x00 too",
        metadata=json.dumps({"number": number, "이름": "값"}, ensure_ascii=False),
        extra="{}",
        created_at=1_700_000_000_000 + number,
        embedding_model="model-a" if number % 3 else None,
        embedding=vector if number % 3 else None,
    )
    return replace(made, **changes)


def write_segment(path: Path, frames: Iterable[Sequence[Payload]]) -> None:
    """Seal a segment with exactly these frames."""
    with SegmentWriter(path) as writer:
        for memories in frames:
            builder = FrameBuilder()
            for memory in memories:
                line = encode_line(memory, SCALARS, content_hash(memory))
                builder.add(line, memory.embedding)
            writer.write(builder.pack())
        writer.seal()


class FakeSource:
    """A `RecordSource` over made-up memories, steered by `source.json` in its directory.

    `missing` and `corrupt` list row ids; `stall_at` is one at which reading stops for good,
    after the file `stalled` was made; `fail_at` is one at which reading raises.
    `content_bytes` makes every content that long, of text that does not compress.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        steering = directory / "source.json"
        self._steer = json.loads(steering.read_text()) if steering.exists() else {}
        self.closed = False

    def read(self, rids: Sequence[int]) -> Iterator[SourceRecord]:
        for rid in rids:
            if rid == self._steer.get("stall_at"):
                (self._directory / "stalled").touch()
                while True:
                    time.sleep(60)  # until the test kills this process
            if rid == self._steer.get("fail_at"):
                raise ValueError("the source broke")
            if rid not in self._steer.get("missing", []):
                yield self._record(rid)

    def _record(self, rid: int) -> SourceRecord:
        memory = payload(rid)
        size = self._steer.get("content_bytes")
        if size:
            memory = replace(memory, content=np.random.default_rng(rid).bytes(size // 2).hex())
        digest = content_hash(memory)
        if rid in self._steer.get("corrupt", []):
            memory = replace(memory, content=memory.content + "!")
        unreadable = rid in self._steer.get("unreadable", [])
        return SourceRecord(rid, rid * 10, None if unreadable else memory, digest, SCALARS)

    def close(self) -> None:
        self.closed = True


def steer(directory: Path, **settings: object) -> None:
    """Write what the source in a directory shall do."""
    (directory / "source.json").write_text(json.dumps(settings))
