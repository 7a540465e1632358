"""What a person should look at, as far as a snapshot tells: broken chains and unscored memories."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

import numpy as np

from sidecar.plan.chains import chains_of
from sidecar.plan.duplicate_guard import Difference
from sidecar.plan.plan import Bool, Int64, Snapshot
from sidecar.plan.scoring import possible_values
from sidecar.strength import true_in_all

BreakKind = Literal["successor_missing", "endless"]


class Guarded(Protocol):
    """Two rows of a snapshot that the guard kept apart."""

    @property
    def row(self) -> int:
        """The one of the smaller row."""
        ...

    @property
    def other(self) -> int:
        """The other."""
        ...

    @property
    def why(self) -> Difference:
        """What they differ in."""
        ...


@dataclass(frozen=True, slots=True)
class GuardedPair:
    """Two memories by row number that the guard kept apart, with their change counters."""

    rid: int
    other_rid: int
    why: Difference
    counter: int
    other_counter: int


def guarded_pairs(
    snapshot: Snapshot, guarded: Iterable[Guarded], limit: int
) -> tuple[GuardedPair, ...]:
    """The first `limit` pairs that a search found in a snapshot, in its order."""
    return tuple(
        GuardedPair(
            int(snapshot.rid[one.row]),
            int(snapshot.rid[one.other]),
            one.why,
            int(snapshot.change_counter[one.row]),
            int(snapshot.change_counter[one.other]),
        )
        for one in islice(guarded, limit)
    )


@dataclass(frozen=True, slots=True)
class Attention:
    """Memories by row number, ascending: those whose chain is broken, and the unscored ones.

    `endless` says of each broken chain whether it leads into a loop; else its successor is not
    there. `possible` says of each field whether each unscored memory's value can be.
    """

    broken: Int64
    endless: Bool
    unscored: Int64
    possible: Mapping[str, Bool]

    def break_kind(self, at: int) -> BreakKind:
        """How the chain at this place of `broken` is broken."""
        return "endless" if self.endless[at] else "successor_missing"

    def impossible(self, at: int) -> Sequence[str]:
        """The fields that nobody can score by, of the memory at this place of `unscored`."""
        return [name for name, fine in self.possible.items() if not fine[at]]


def attention_of(snapshot: Snapshot, now: int) -> Attention:
    """Who is to be looked at in a snapshot at `now` (ms)."""
    endless = chains_of(snapshot).endless
    broken = _by_rid(snapshot, (snapshot.successor_rid == -1) | endless)
    possible = possible_values(snapshot, now)
    unscored = _by_rid(snapshot, ~true_in_all(possible.values()))
    return Attention(
        broken=snapshot.rid[broken],
        endless=endless[broken],
        unscored=snapshot.rid[unscored],
        possible={name: fine[unscored] for name, fine in possible.items()},
    )


def _by_rid(snapshot: Snapshot, rows: Bool) -> Int64:
    chosen = np.flatnonzero(rows)
    return chosen[np.argsort(snapshot.rid[chosen])]
