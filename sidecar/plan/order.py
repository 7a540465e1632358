"""The first rows of a total order, without sorting what is not needed.

An order is given by columns, the first decides, and at last by the id, smaller first by code
point. Ids are compared only between rows that are alike in every column.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.plan.plan import Int64

Column = NDArray[Any]


def first_in_order(rows: Int64, count: int, columns: Sequence[Column], ids: Sequence[str]) -> Int64:
    """The first `count` of `rows`, in order. Columns and ids are indexed by row, not by place."""
    return _in_order(_cut(rows, count, columns, ids), columns, ids)


def _cut(rows: Int64, count: int, columns: Sequence[Column], ids: Sequence[str]) -> Int64:
    """The first `count` of `rows`, in any order."""
    if count >= len(rows):
        return rows
    if count <= 0:
        return rows[:0]
    if not columns:
        by_id = sorted(rows.tolist(), key=ids.__getitem__)
        return np.array(by_id[:count], dtype=np.int64)
    column = columns[0][rows]
    edge = np.partition(column, count - 1)[count - 1]
    before = rows[column < edge]
    level = rows[column == edge]
    return np.concatenate([before, _cut(level, count - len(before), columns[1:], ids)])


def _in_order(rows: Int64, columns: Sequence[Column], ids: Sequence[str]) -> Int64:
    """`rows` sorted: by the first column, then only what is still level by the next."""
    if len(rows) < 2:
        return rows
    rows = rows.copy()
    place = np.arange(len(rows))  # where the level rows stand; group says who is level with whom
    group = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        values = column[rows[place]]
        same = group[1:] == group[:-1]
        if np.any(same & (values[1:] < values[:-1])):
            order = np.argsort(values) if group[-1] == group[0] else np.lexsort((values, group))
            rows[place] = rows[place[order]]
            values = values[order]
        same &= values[1:] == values[:-1]
        if not np.any(same):
            return rows
        level = np.zeros(len(place), dtype=np.bool_)
        level[1:] |= same
        level[:-1] |= same
        group = np.concatenate([[0], np.cumsum(~same)])[level]
        place = place[level]
    rows[place] = _by_id(rows[place], group, ids)
    return rows


def _by_id(rows: Int64, group: Int64, ids: Sequence[str]) -> Int64:
    """Each group of `rows` sorted by id; groups are runs of equal numbers."""
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1)).tolist()
    listed: list[int] = rows.tolist()
    for start, end in zip(starts, [*starts[1:], len(listed)], strict=True):
        listed[start:end] = sorted(listed[start:end], key=ids.__getitem__)
    return np.array(listed, dtype=np.int64)
