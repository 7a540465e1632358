"""Supersession: who is an older version of what, and which newer version still stands.

A supersession is *in force* where following it reaches a live memory that is not held wrong
(invalidated). Forgotten versions in between are followed through. Everywhere else — no
successor, a successor destroyed, forgotten with nothing after it, or held wrong, a self-link, a
loop and whatever leads into one — the memory is judged by itself, with its own importance:
it may be the only version left. Errors fall towards keeping.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sidecar.model import INVALIDATED
from sidecar.plan.plan import Bool, Int64, Snapshot

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Chains:
    """What links say of each row of a snapshot.

    `depth` counts the live versions newer than the row (0: none). `has_predecessor` is true
    where an older version is live; `predecessor_gone_at` is when the last older version was
    forgotten (ms, 0: none was). `endless` is true where following the row never ends: a
    self-link, a loop, or what leads into one.
    """

    in_force: Bool
    depth: Int64
    has_predecessor: Bool
    predecessor_gone_at: Int64
    endless: Bool


@dataclass(frozen=True, slots=True)
class _Graph:
    """The linked memories, live and forgotten, each with the index of its successor.

    `row` is the snapshot's row, or -1 where not live. Index `end` means: leads to nothing.
    """

    row: Int64
    successor: Int64
    gone_at: Int64

    @property
    def end(self) -> int:
        return len(self.row) - 1

    @property
    def live(self) -> Bool:
        return self.row >= 0


def chains_of(snapshot: Snapshot) -> Chains:
    """The chains of a snapshot, in time that grows with the number of links."""
    size = len(snapshot)
    chains = Chains(
        in_force=np.zeros(size, dtype=np.bool_),
        depth=np.zeros(size, dtype=np.int64),
        has_predecessor=np.zeros(size, dtype=np.bool_),
        predecessor_gone_at=np.zeros(size, dtype=np.int64),
        endless=np.zeros(size, dtype=np.bool_),
    )
    if len(snapshot.gone_rid) == 0 and not np.any(snapshot.successor_rid > 0):
        return chains
    graph = _graph_of(snapshot)
    landing = _next_live(graph)
    believed = graph.live.copy()
    believed[graph.live] = snapshot.status[graph.row[graph.live]] != INVALIDATED
    endless, depth, in_force = _follow(landing, graph.live, believed)
    landing[endless] = graph.end
    live = np.flatnonzero(graph.live)
    chains.in_force[graph.row[live]] = in_force[live]
    chains.depth[graph.row[live]] = depth[live]
    chains.endless[graph.row[live]] = endless[live]
    _mark_predecessors(chains, graph, landing)
    return chains


def _graph_of(snapshot: Snapshot) -> _Graph:
    linked = np.flatnonzero(snapshot.successor_rid > 0)
    gone = np.flatnonzero(snapshot.gone_successor_rid > 0)
    gone_rid = snapshot.gone_rid[gone]
    # Live links last, so that they win if a row number ever stood in both.
    sources = np.concatenate([gone_rid, snapshot.rid[linked]])
    targets = np.concatenate([snapshot.gone_successor_rid[gone], snapshot.successor_rid[linked]])
    nodes = np.unique(np.concatenate([sources, targets]))
    end = len(nodes)
    row = np.full(end + 1, -1, dtype=np.int64)
    row[:end] = _rows_of(snapshot.rid, nodes)
    successor = np.full(end + 1, end, dtype=np.int64)
    successor[np.searchsorted(nodes, sources)] = np.searchsorted(nodes, targets)
    gone_at = np.zeros(end + 1, dtype=np.int64)
    gone_at[np.searchsorted(nodes, gone_rid)] = snapshot.gone_at[gone]
    return _Graph(row=row, successor=successor, gone_at=gone_at)


def _rows_of(rid: Int64, wanted: Int64) -> Int64:
    """The row of each wanted row number, -1 where the snapshot has none."""
    if len(rid) == 0:
        return np.full(len(wanted), -1, dtype=np.int64)
    ascending = bool(np.all(rid[1:] > rid[:-1]))
    order = np.arange(len(rid)) if ascending else np.argsort(rid)
    ordered = rid if ascending else rid[order]
    at = np.minimum(np.searchsorted(ordered, wanted), len(rid) - 1)
    return np.where(ordered[at] == wanted, order[at], -1)


def _next_live(graph: _Graph) -> Int64:
    """For each node the first live node after it, or `end`: forgotten ones are passed through.

    Where that runs into a loop of forgotten memories, the node itself: a path without an end.
    """
    itself = np.arange(graph.end + 1)
    stop = graph.live.copy()
    stop[graph.end] = True
    jump = np.where(stop, itself, graph.successor)
    for _ in range(len(stop).bit_length()):
        if np.all(stop[jump]):
            break
        jump = jump[jump]
    landing = jump[graph.successor]
    return np.where(stop[landing], landing, itself)


def _follow(landing: Int64, live: Bool, believed: Bool) -> tuple[Bool, Int64, Bool]:
    """Whether each path never ends, how many live nodes it meets, whether one is believed.

    By doubling: after k rounds `jump` is 2**k live steps away.
    """
    end = len(landing) - 1
    jump = landing.copy()
    depth = live[landing].astype(np.int64)
    meets_believed = believed[landing]
    for _ in range(len(landing).bit_length()):
        if np.all(jump == end):
            break
        depth += depth[jump]
        meets_believed |= meets_believed[jump]
        jump = jump[jump]
    endless = jump != end
    depth[endless] = 0
    return endless, depth, meets_believed & ~endless


def _mark_predecessors(chains: Chains, graph: _Graph, landing: Int64) -> None:
    linked = landing != graph.end
    target = graph.row[landing]
    chains.has_predecessor[target[linked & graph.live]] = True
    gone = linked & ~graph.live
    np.maximum.at(chains.predecessor_gone_at, target[gone], graph.gone_at[gone])


def newer_version_stands(key: Key, look_up: Callable[[Key], tuple[Key | None, bool]]) -> bool:
    """Whether following the supersession of `key` reaches a live memory that is not invalidated.

    `look_up` answers (its successor or None, whether it is live and not invalidated); it is
    asked at most once a memory, so a loop ends. Stops at the first such memory.
    """
    seen = {key}
    successor, _ = look_up(key)
    while successor is not None and successor not in seen:
        seen.add(successor)
        following, stands = look_up(successor)
        if stands:
            return True
        successor = following
    return False


def older_version_lives(
    key: Key, predecessors: Callable[[Key], Iterable[tuple[Key, bool]]]
) -> bool:
    """Whether a live memory's supersession leads to `key`, through forgotten ones too.

    `predecessors` answers (key, whether live) of each memory that `key` supersedes directly.
    """
    seen = {key}
    waiting = [key]
    while waiting:
        for older, live in predecessors(waiting.pop()):
            if older in seen:
                continue
            if live:
                return True
            seen.add(older)
            waiting.append(older)
    return False
