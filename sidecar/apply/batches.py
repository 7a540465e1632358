"""What of a run is encoded together, and where the encoder put each memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sidecar.apply.journal import Decisions
from sidecar.limits import SEGMENT_BYTES_MAX
from sidecar.store.encode import EncodedSegment, EncodeResult

# What is encoded at once, while the group before it moves. At most about one segment, so that
# the reserve on a full disk has room for it; more memories where they are many and small, so
# that a run does not leave many small files.
ENCODED_BYTES_MAX: Final = SEGMENT_BYTES_MAX
MEMORIES_PER_ENCODING_MIN: Final = 4_000
MEMORIES_PER_ENCODING_MAX: Final = 8_000
GROUPS_MIN: Final = 8


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


def groups_of(
    pending: list[tuple[int, Decisions]], memories_max: int = MEMORIES_PER_ENCODING_MIN
) -> Iterator[Group]:
    """Pending chunks in order, as groups of one target tier, of at most so many memories."""
    group: Group | None = None
    memories = 0
    for chunk, decisions in pending:
        tier = int(decisions["to_tier"][0])
        if group and (group.tier != tier or memories + len(decisions) > memories_max):
            yield group
            group = None
        if group is None:
            group, memories = Group(tier), 0
        group.chunks.append((chunk, decisions))
        memories += len(decisions)
    if group:
        yield group


def memories_per_encoding(memories: int, mean_bytes: float) -> int:
    """How many of a run's memories, of this mean size, are encoded at once."""
    fitting = min(memories // GROUPS_MIN, int(ENCODED_BYTES_MAX / max(1.0, mean_bytes)))
    return max(MEMORIES_PER_ENCODING_MIN, min(MEMORIES_PER_ENCODING_MAX, fitting))


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
