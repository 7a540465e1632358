"""Reading payloads, wherever they lie: the hot tables or a sealed segment."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from sidecar.errors import Corrupt
from sidecar.model import HOT
from sidecar.store import rows
from sidecar.store.payload import Payload, SourceRecord, content_hash
from sidecar.store.rows import Row
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import SegmentDamaged
from sidecar.store.sqlite.connection import open_reader
from sidecar.store.sqlite.typed import Connection

_HOT_PAYLOAD: Final = (
    "SELECT t.content, t.metadata, t.extra, v.embedding FROM texts t"
    " LEFT JOIN vectors v ON v.rid = t.rid WHERE t.rid = ?"
)

_HOT_PAYLOADS: Final = (
    "SELECT t.rid, t.content, t.metadata, t.extra, v.embedding FROM texts t"
    " LEFT JOIN vectors v ON v.rid = t.rid WHERE t.rid IN (SELECT value FROM json_each(?))"
)


class PayloadDamaged(Corrupt):
    """A payload cannot be read, or is not the one that was stored. Names the memory."""

    def __init__(self, memory_id: str, reason: str) -> None:
        super().__init__(
            f"A memory is damaged: {reason}",
            id=memory_id,
            remedy="stop the daemon and run: forgetd doctor",
        )


def read_payload(connection: Connection, files: SegmentFiles, row: Row) -> Payload:
    """The payload of a row, compared with its hash. Raises PayloadDamaged."""
    payload = _unchecked(connection, files, row)
    if payload.id != row.id or content_hash(payload) != row.content_hash:
        raise PayloadDamaged(row.id, "the stored text does not match its hash")
    return payload


def read_hot_payloads(connection: Connection, found: Sequence[Row]) -> dict[int, Payload]:
    """The payloads of hot rows by row number, read at once; only those that match their hash."""
    hot = {row.rid: row for row in found if row.tier == HOT}
    payloads: dict[int, Payload] = {}
    rows_found = connection.execute(_HOT_PAYLOADS, (json.dumps(list(hot)),))
    for rid, content, metadata, extra, embedding in rows_found:
        row = hot[rid]
        created_at, model = row.created_at, row.embedding_model
        payload = Payload(row.id, content, metadata, extra, created_at, model, embedding)
        if content_hash(payload) == row.content_hash:
            payloads[rid] = payload
    return payloads


def _unchecked(connection: Connection, files: SegmentFiles, row: Row) -> Payload:
    if row.tier != HOT:
        assert row.segment is not None
        assert row.frame is not None
        assert row.line is not None
        try:
            return files.reader(row.tier, row.segment).record(row.frame, row.line).payload
        except (SegmentDamaged, OSError) as error:
            raise PayloadDamaged(row.id, "its segment cannot be read") from error
    found: list[Any] = connection.execute(_HOT_PAYLOAD, (row.rid,)).fetchall()
    if not found:
        raise PayloadDamaged(row.id, "its text is gone")
    content, metadata, extra, embedding = found[0]
    return Payload(row.id, content, metadata, extra, row.created_at, row.embedding_model, embedding)


class PayloadSource:
    """A reader of its own for an encoder, in this process or another."""

    def __init__(self, directory: Path) -> None:
        self._connection = open_reader(directory / "hot.db")
        self._files = SegmentFiles(directory)

    def read(self, rids: Sequence[int]) -> Iterator[SourceRecord]:
        """Stream the records in the order given, of one view; rows that are gone are left out."""
        self._connection.execute("BEGIN")
        try:
            for rid in rids:
                row = rows.by_rid(self._connection, int(rid))
                if row is None:
                    continue
                try:
                    payload = _unchecked(self._connection, self._files, row)
                except PayloadDamaged:
                    payload = None
                yield SourceRecord(
                    row.rid, row.change_counter, payload, row.content_hash, rows.scalars(row)
                )
        finally:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection and every open segment."""
        self._connection.close()
        self._files.close()
