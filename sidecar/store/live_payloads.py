"""Texts and vectors of many live memories at once, hot and cold, in one view of the database.

What cannot be read is left out: whoever compares memories then finds nothing to compare.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.limits import VECTORS_IN_RAM_BYTES_MAX
from sidecar.model import COLD, HOT, SEMANTIC
from sidecar.store.segment_format import decode_content
from sidecar.store.segment_reader import SegmentReader
from sidecar.store.segments import SegmentDamaged
from sidecar.store.sqlite.typed import Connection

FLOAT32_BYTES: Final = 4

_ROWS: Final = "SELECT value FROM json_each(?)"
_HOT_TEXTS: Final = f"SELECT rid, content FROM texts WHERE rid IN ({_ROWS}) ORDER BY rid"
_PLACES: Final = (
    "SELECT segment, frame, line, rid FROM memories"
    f" WHERE tier = {COLD} AND segment IS NOT NULL AND rid IN ({_ROWS})"
    " ORDER BY segment, frame, line"
)
_EMBEDDED: Final = (
    "SELECT rid, tier, embedding_model, embedding_dimensions FROM memories"
    f" WHERE tier IN ({HOT}, {COLD}) AND memory_type = {SEMANTIC}"
    " AND embedding_dimensions > 0 ORDER BY embedding_model, embedding_dimensions, rid"
)
_HOT_VECTORS: Final = (
    "SELECT v.rid, v.embedding FROM vectors v JOIN memories m ON m.rid = v.rid"
    " WHERE m.embedding_model IS ? AND m.embedding_dimensions = ? ORDER BY v.rid"
)


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one model and size: row numbers, rising, and one float32 row for each."""

    model: str | None
    rids: NDArray[np.int64]
    matrix: NDArray[np.float32]


def contents(
    connection: Connection, cold_folder: Path, rids: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """(row number, content) of live memories, in no promised order."""
    wanted = json.dumps(list(rids))
    yield from connection.execute(_HOT_TEXTS, (wanted,))
    for reader, frame, members in _frames(connection, cold_folder, wanted):
        try:
            lines = reader.lines(frame)
            found = [(rid, decode_content(lines[line])) for line, rid in members]
        except (SegmentDamaged, IndexError):
            continue
        yield from found


def semantic_vectors(
    connection: Connection, cold_folder: Path, scratch: Path, proceed: Callable[[], None]
) -> Iterator[Vectors]:
    """The exact vectors of all live semantic memories, model by model and size by size.

    Takes 4 bytes a number of one model at a time; above VECTORS_IN_RAM_BYTES_MAX they lie in an
    unnamed file in `scratch`. `proceed` is called often, and may raise to end it.
    """
    found = connection.execute(_EMBEDDED).fetchall()
    for (model, dimensions), members in groupby(found, key=lambda one: (one[2], one[3])):
        tiers = {rid: tier for rid, tier, _, _ in members}
        rids = np.fromiter(tiers, np.int64, len(tiers))
        matrix = _matrix(len(rids), dimensions, scratch)
        filled = np.zeros(len(rids), np.bool_)
        cold = json.dumps([rid for rid, tier in tiers.items() if tier == COLD])
        for rid, embedding in _embeddings(connection, cold_folder, model, dimensions, cold):
            proceed()
            place = int(np.searchsorted(rids, rid))
            known = place < len(rids) and rids[place] == rid
            if known and embedding is not None and len(embedding) == dimensions * FLOAT32_BYTES:
                matrix[place] = np.frombuffer(embedding, "<f4")
                filled[place] = True
        if not filled.all():
            rids, matrix = rids[filled], matrix[filled]
        yield Vectors(model, rids, matrix)


def _embeddings(
    connection: Connection, cold_folder: Path, model: str | None, dimensions: int, cold: str
) -> Iterator[tuple[int, bytes | None]]:
    yield from connection.execute(_HOT_VECTORS, (model, dimensions))
    for reader, frame, members in _frames(connection, cold_folder, cold):
        try:
            vectors = reader.vectors(frame)
            found = [(rid, vectors.of(line)) for line, rid in members]
        except (SegmentDamaged, IndexError):
            continue
        yield from found


def _frames(
    connection: Connection, folder: Path, wanted: str
) -> Iterator[tuple[SegmentReader, int, list[tuple[int, int]]]]:
    """Each frame that holds wanted rows, with (line, row number) of each, file by file."""
    places = connection.execute(_PLACES, (wanted,))
    for name, within in groupby(places, key=lambda place: place[0]):
        members = [place[1:] for place in within]
        try:
            reader = SegmentReader(folder / name)
        except SegmentDamaged:
            continue
        with reader:
            for frame, lines in groupby(members, key=lambda member: member[0]):
                yield reader, frame, [line[1:] for line in lines]


def _matrix(rows: int, columns: int, scratch: Path) -> NDArray[np.float32]:
    if rows * columns * FLOAT32_BYTES <= VECTORS_IN_RAM_BYTES_MAX:
        return np.empty((rows, columns), np.float32)
    with tempfile.TemporaryFile(dir=scratch) as file:
        # The room is taken now: a mapped file on a full disk would end the process.
        os.posix_fallocate(file.fileno(), 0, rows * columns * FLOAT32_BYTES)
        return np.memmap(file, np.float32, "r+", shape=(rows, columns))
