"""Live bytes: what hot and cold memories and the media they own take, and what a plan frees."""

from dataclasses import dataclass

import numpy as np

from sidecar.plan.plan import Int64, Snapshot


@dataclass(frozen=True, slots=True)
class Space:
    """The bytes of each row as they will be when forgetting begins, and the owned media.

    A file owned by several memories is counted once and freed with its last owner.
    """

    row_bytes: Int64
    media_group: Int64
    media_bytes: Int64
    owners: Int64

    @property
    def live_bytes(self) -> int:
        """All rows and each owned file once."""
        return int(self.row_bytes.sum()) + int(self.media_bytes[self.owners > 0].sum())

    def freed_by(self, rows: Int64) -> Int64:
        """The bytes that each of `rows` frees when they are forgotten in this order."""
        freed = self.row_bytes[rows]
        group = self.media_group[rows]
        place = np.flatnonzero(group >= 0)
        if len(place) == 0:
            return freed
        leaving = np.bincount(group[place], minlength=len(self.owners))
        last = np.zeros(len(self.owners), dtype=np.int64)
        last[group[place]] = place  # the later place wins
        whole = np.flatnonzero((leaving == self.owners) & (self.owners > 0))
        freed[last[whole]] += self.media_bytes[whole]
        return freed


def space_of(snapshot: Snapshot, spilled: Int64) -> Space:
    """The space of a snapshot once the rows `spilled` are cold."""
    row_bytes = snapshot.bytes.copy()
    row_bytes[spilled] = snapshot.cold_bytes[spilled]
    owned = snapshot.media_group[snapshot.media_group >= 0]
    return Space(
        row_bytes=row_bytes,
        media_group=snapshot.media_group,
        media_bytes=snapshot.media_bytes,
        owners=np.bincount(owned, minlength=len(snapshot.media_bytes)),
    )
