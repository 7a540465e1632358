"""Where the payloads of a namespace lie, found by reading them, whatever the tables say."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sidecar.model import COLD, FORGOTTEN
from sidecar.store.payload import Payload, content_hash
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import SegmentDamaged, is_segment
from sidecar.store.sqlite.typed import Connection

_TEXTS: Final = (
    "SELECT t.rid, t.content, t.metadata, t.extra, v.embedding FROM texts t"
    " LEFT JOIN vectors v ON v.rid = t.rid WHERE t.rid > ? ORDER BY t.rid LIMIT 1"
)
State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """A sealed line: where it lies, its memory's row number, and the tier that it left."""

    tier: int
    segment: str
    frame: int
    line: int
    text_bytes: int
    rid: int | None
    tier_left: int | None


@dataclass(frozen=True, slots=True)
class File:
    """One whole sealed segment."""

    tier: int
    name: str
    records: int
    size: int
    sha256: bytes


@dataclass(slots=True)
class Archive:
    """Every line of every readable segment, by (id, hash in hexadecimals), best place first."""

    files: dict[str, File] = field(default_factory=dict[str, File])
    lines: dict[tuple[str, str], list[Line]] = field(
        default_factory=lambda: defaultdict[tuple[str, str], list[Line]](list)
    )
    damaged: list[str] = field(default_factory=list[str])

    def find(self, state: State, before: tuple[Any, ...] | None) -> Line | None:
        """The line of this very payload in the tier of the state, at the known place if it is."""
        lines = self.lines.get((state["id"], state["content_hash"]), [])
        fitting = [line for line in lines if line.tier == state["tier"]]
        known = [line for line in fitting if (line.segment, line.frame, line.line) == before]
        return (known or fitting or [None])[0]


def read_archive(directory: Path) -> Archive:
    """Read every sealed segment whole. A damaged one is named and gives nothing."""
    archive, files = Archive(), SegmentFiles(directory)
    for tier in (COLD, FORGOTTEN):
        for entry in sorted(files.folder(tier).iterdir()):
            if not is_segment(entry.name):
                continue
            try:
                _read_segment(archive, files, tier, entry.name)
            except (SegmentDamaged, OSError):
                archive.damaged.append(entry.name)
            files.drop(tier, entry.name)
    return archive


def _read_segment(archive: Archive, files: SegmentFiles, tier: int, name: str) -> None:
    reader = files.reader(tier, name)
    digest = reader.verify()
    for frame, line, record in reader:
        key = (record.payload.id, record.content_hash.hex())
        rid, left = (_integer(record.scalars.get(column)) for column in ("rid", "tier"))
        text_bytes = text_bytes_of(record.payload)
        archive.lines[key].append(Line(tier, name, frame, line, text_bytes, rid, left))
    archive.files[name] = File(tier, name, reader.count, reader.bytes, digest)


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None


def text_bytes_of(payload: Payload) -> int:
    """The size of the text of a payload, in bytes."""
    return sum(len(part.encode()) for part in (payload.content, payload.metadata, payload.extra))


def match_texts(
    connection: Connection, states: list[State], rids: dict[str, int]
) -> tuple[dict[str, int], int]:
    """The row number of the text of each hot memory by id, and how many texts nobody claims.

    `states` in the order in which the memories were made, `rids` as the table of memories has
    them. A text does not name its memory: only the hash over both says whose it is.
    """
    waiting = {state["id"]: state for state in states}
    by_rid = {rid: memory_id for memory_id, rid in rids.items() if memory_id in waiting}
    matched: dict[str, int] = {}
    unclaimed: list[int] = []
    for rid, parts in texts(connection):
        state = waiting.get(by_rid.get(rid, ""))
        if state is not None and is_payload_of(state, parts):
            matched[waiting.pop(state["id"])["id"]] = rid
        else:
            unclaimed.append(rid)
    left = 0
    for rid in unclaimed:
        parts = text_at(connection, rid)
        # In order: memories get their row numbers in the order in which they are made.
        owner = next((s for s in waiting.values() if is_payload_of(s, parts)), None)
        if owner is None:
            left += 1
        else:
            matched[waiting.pop(owner["id"])["id"]] = rid
    return matched, left


def texts(connection: Connection) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Every hot payload in row order, as (row number, content, metadata, extra, embedding)."""
    rid = -(2**63)
    while found := connection.execute(_TEXTS, (rid,)).fetchall():
        rid, *parts = found[0]
        yield rid, tuple(parts)


def text_at(connection: Connection, rid: int) -> tuple[Any, ...]:
    """The parts of one hot payload, which must be there."""
    return tuple(connection.execute(_TEXTS, (rid - 1,)).fetchall()[0][1:])


def is_payload_of(state: State, parts: tuple[Any, ...]) -> bool:
    """Whether these parts are what the memory's hash was taken over."""
    embedding = parts[3]
    if (embedding is None) != (state["embedding_dimensions"] is None):
        return False
    return content_hash(payload_of(state, parts)).hex() == state["content_hash"]


def payload_of(state: State, parts: tuple[Any, ...]) -> Payload:
    """Parts of a hot payload together with what the row holds of it."""
    content, metadata, extra, embedding = parts
    return Payload(
        state["id"],
        content,
        metadata,
        extra,
        state["created_at"],
        state["embedding_model"],
        embedding,
    )
