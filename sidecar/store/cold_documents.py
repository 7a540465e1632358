"""What is to be indexed of cold memories, read from the database and from their segments."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np

from sidecar.model import COLD
from sidecar.store.cold_entries import Entries, stamp_of
from sidecar.store.cold_tables import Document
from sidecar.store.search_text import index_text
from sidecar.store.segment_format import decode_content
from sidecar.store.segments import SegmentDamaged, SegmentReader
from sidecar.store.sqlite.typed import Connection
from sidecar.store.vector_index import Float32, RowIds, normalised

BATCH_DOCUMENTS: Final = 1_000
BATCH_CHARACTERS: Final = 4_194_304
FLOAT32_BYTES: Final = 4

_SELECT = "SELECT {} FROM memories WHERE tier = ? AND rid IN (SELECT value FROM json_each(?)){}"
_CONTENTS = _SELECT.format("rid, change_counter, substr(content_hash, 1, 8)", "")
_PLACES = _SELECT.format(
    "rid, change_counter, substr(content_hash, 1, 8), segment, frame, line, embedding_model",
    " AND segment IS NOT NULL ORDER BY segment, frame, line",
)
_PLACE = np.dtype(
    [
        ("rid", "i8"),
        ("counter", "i8"),
        ("stamp", "i8"),
        ("segment", "i4"),
        ("frame", "i4"),
        ("line", "i4"),
        ("model", "i4"),
    ]
)


def confirm(connection: Connection, entries: Entries, rids: RowIds) -> None:
    """Compare the content hashes of rows with their entries, and note the counters that fit."""
    rows = connection.execute(_CONTENTS, (COLD, json.dumps(rids.tolist())))
    kinds = np.dtype([("rid", "i8"), ("counter", "i8"), ("stamp", "i8")])
    found = np.fromiter(((rid, counter, stamp_of(digest)) for rid, counter, digest in rows), kinds)
    places = entries.find(found["rid"])
    fits = (places >= 0) & (entries.stamp[places] == found["stamp"])
    entries.counter[places[fits]] = found["counter"][fits]


@dataclass(frozen=True, slots=True)
class Places:
    """Where rows lie, in the order of the files; `segment` and `model` are positions."""

    rows: np.ndarray[Any, Any]
    segments: tuple[str, ...]
    models: tuple[str | None, ...]


def load_places(connection: Connection, rids: RowIds) -> Places:
    """Where cold rows lie, and what their contents are known by."""
    segments: dict[str, int] = {}
    models: dict[str | None, int] = {}

    def packed() -> Iterator[tuple[int, ...]]:
        for rid, counter, digest, segment, frame, line, model in connection.execute(
            _PLACES, (COLD, json.dumps(rids.tolist()))
        ):
            place = segments.setdefault(segment, len(segments))
            kind = models.setdefault(model, len(models))
            yield rid, counter, stamp_of(digest), place, frame, line, kind

    rows = np.fromiter(packed(), _PLACE)
    return Places(rows, tuple(segments), tuple(models))


@dataclass(slots=True)
class DocumentReader:
    """Reads documents from the segments of a folder; counts those that cannot be read."""

    folder: Path
    unreadable: int = 0
    _batch: list[Document] = field(default_factory=list[Document])
    _characters: int = 0

    def batches(self, places: Places) -> Iterator[list[Document]]:
        """The documents of all places that can be read. Raises OSError."""
        rows: list[tuple[int, ...]] = places.rows.tolist()
        for segment, within in groupby(rows, key=lambda row: row[3]):
            members = list(within)
            try:
                name = places.segments[segment]
                with SegmentReader(self.folder / name) as reader:
                    for frame, lines in groupby(members, key=lambda row: row[4]):
                        yield from self._frame(reader, frame, list(lines), places.models)
            except SegmentDamaged:
                self.unreadable += len(members)
        if self._batch:
            yield self._take()

    def _frame(
        self,
        reader: SegmentReader,
        frame: int,
        rows: list[tuple[int, ...]],
        models: tuple[str | None, ...],
    ) -> Iterator[list[Document]]:
        try:
            lines, vectors = reader.lines(frame), reader.vectors(frame)
            for rid, counter, stamp, _, _, line, model in rows:
                text = index_text(decode_content(lines[line]))
                vector = _direction(vectors.of(line))
                self._batch.append(Document(rid, stamp, counter, text, models[model], vector))
                self._characters += len(text)
        except (SegmentDamaged, IndexError):
            self.unreadable += len(rows)
        if len(self._batch) >= BATCH_DOCUMENTS or self._characters >= BATCH_CHARACTERS:
            yield self._take()

    def _take(self) -> list[Document]:
        taken, self._batch, self._characters = self._batch, [], 0
        return taken


def _direction(embedding: bytes | None) -> Float32 | None:
    """An embedding at length 1; None for one that no search can find."""
    if not embedding or len(embedding) % FLOAT32_BYTES:
        return None
    return normalised(embedding)
