"""What of a run is encoded together, and where the encoder put each memory."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from sidecar.apply.journal import Chunk, counts_for_brake
from sidecar.limits import SEGMENT_BYTES_MAX
from sidecar.model import HOT
from sidecar.plan.plan import IN_PLACE
from sidecar.store.columns import Columns
from sidecar.store.encode import EncodedSegment, EncodeResult
from sidecar.store.sqlite.writer import Transaction

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
    """Chunks of one target tier that are encoded together; or that are changed where they lie."""

    tier: int
    in_place: bool
    chunks: list[Chunk] = field(default_factory=list[Chunk])

    @property
    def moves_down(self) -> bool:
        """Whether its payloads are to be written to a segment."""
        return not self.in_place and self.tier != HOT


def groups_of(
    pending: list[Chunk], memories_max: int = MEMORIES_PER_ENCODING_MIN
) -> Iterator[Group]:
    """Pending chunks in order, as groups of one target tier, of at most so many memories."""
    group: Group | None = None
    memories = 0
    for chunk in pending:
        decisions = chunk.decisions
        tier, in_place = int(decisions["to_tier"][0]), int(decisions["action"][0]) in IN_PLACE
        other = group and (group.tier, group.in_place) != (tier, in_place)
        if group and (other or memories + len(decisions) > memories_max):
            yield group
            group = None
        if group is None:
            group, memories = Group(tier, in_place), 0
        group.chunks.append(chunk)
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


def register(
    tx: Transaction, tier: int, run_id: str, places: Sequence[Place], now: int
) -> set[str]:
    """Count memories into the segments they move to; answers the segments' names."""
    by_name = {place.segment.name: place.segment for place in places}
    for name, count in Counter(place.segment.name for place in places).items():
        segment = by_name[name]
        tx.connection.execute(
            "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET live = live + excluded.live",
            (name, tier, run_id, segment.records, count, segment.bytes, segment.sha256, now),
        )
    return set(by_name)


def first_braked(pending: list[Chunk], allowed: int | None, columns: Columns) -> int | None:
    """The place in the plan from which on the brake stops what is still to be forgotten.

    The first ones of the plan may go, not the first rows: a brake must not change the order.
    What has changed since and will be skipped takes nobody's place.
    """
    if allowed is None or not pending:
        return None
    every = np.concatenate([chunk.decisions for chunk in pending])
    forgets = every[counts_for_brake(every)]
    present, _, live = columns.rows_at(forgets["rid"].astype(np.int64))
    forgets = forgets[live]
    ranks = np.sort(forgets["rank"][present.change_counter == forgets["counter"]])
    return None if len(ranks) <= allowed else int(ranks[allowed])
