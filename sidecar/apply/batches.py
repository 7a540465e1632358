"""What of a run is encoded together, and where the encoder put each memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sidecar.apply.journal import Decisions
from sidecar.store.encode import EncodedSegment, EncodeResult

CHUNKS_PER_ENCODING: Final = 16  # 4,000 memories


class Place(NamedTuple):
    """Where the encoder put a memory, and the change counter it saw."""

    segment: EncodedSegment
    frame: int
    line: int
    counter: int
    share_bytes: int


@dataclass(slots=True)
class Group:
    """Chunks of one target tier that are encoded together."""

    tier: int
    chunks: list[tuple[int, Decisions]] = field(default_factory=list[tuple[int, Decisions]])


def groups_of(pending: list[tuple[int, Decisions]]) -> Iterator[Group]:
    """Pending chunks in order, as groups of one target tier."""
    group: Group | None = None
    for chunk, decisions in pending:
        tier = int(decisions["to_tier"][0])
        if group and (group.tier != tier or len(group.chunks) >= CHUNKS_PER_ENCODING):
            yield group
            group = None
        group = group or Group(tier)
        group.chunks.append((chunk, decisions))
    if group:
        yield group


def places_of(result: EncodeResult) -> dict[int, Place]:
    """Each encoded row's place, by row number."""
    return {
        rid: Place(segment, frame, line, counter, share)
        for segment in result.segments
        for rid, frame, line, counter, share in zip(
            segment.rid.tolist(),
            segment.frame.tolist(),
            segment.line.tolist(),
            segment.change_counter.tolist(),
            segment.share_bytes.tolist(),
            strict=True,
        )
    }
