"""Taking lines out of archive files: what else lies in a file is written to a new one first.

A file goes when no row needs it any more. Until then every memory stands whole in at least one
file, and nothing here makes a memory's only copy go.
"""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sidecar.apply.compact import move_to_new_segments
from sidecar.clock import Clock
from sidecar.errors import DiskFull, ShuttingDown
from sidecar.model import COLD, FORGOTTEN
from sidecar.store import hot_payloads, rows, tombstones
from sidecar.store.encode import EncodeFailed
from sidecar.store.encode_process import NamespaceEncoder
from sidecar.store.segment_lines import ids_in
from sidecar.store.segment_reader import SegmentReader
from sidecar.store.segment_writer import FrameBuilder, SegmentWriter
from sidecar.store.segments import (
    SegmentDamaged,
    new_segment_name,
    new_temporary_name,
    publish,
    remove_temporaries,
)
from sidecar.store.space import Reserve, is_full, with_reserve
from sidecar.store.sqlite.source import PayloadDamaged, read_payload
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store, unknown_segments

REWRITE_RUN_ID: Final = "rewrite"
MEMORIES_PER_REWRITE_MAX: Final = 20_000
# A memory that is touched while it is copied stays behind, and has another turn.
TURNS_MAX: Final = 5


@dataclass(slots=True)
class Cleared:
    """What could not be cleared: archive files by name, each with why, and a note for people."""

    blocked: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])


class Rewriter:
    """Clears the archive files of one namespace of the lines of memories that are to go."""

    def __init__(
        self, store: Store, clock: Clock, reserve: Reserve, stopping: threading.Event
    ) -> None:
        self._store = store
        self._clock = clock
        self._reserve = reserve
        self._stopping = stopping

    def clear(self, doomed: dict[int, str]) -> Cleared:
        """Let every file that has a line of `doomed` (row number to id) hold nothing else.

        Afterwards each such file is listed for no other row, so that it goes with the last doomed
        one; lines that stand in no row are carried over into new files. Raises ShuttingDown.
        """
        cleared = Cleared()
        ids = frozenset(doomed.values())
        with NamespaceEncoder(self._store.directory) as encoder:
            for tier in (COLD, FORGOTTEN):
                names = self._names(tier, doomed, ids, cleared)
                try:
                    self._move_others(encoder, tier, names, doomed)
                    self._carry_over(tier, names, doomed, ids, cleared)
                except (OSError, EncodeFailed, DiskFull) as error:
                    why = "disk_full" if is_full(error) else "unreadable"
                    cleared.notes.append(f"archive files were not all rewritten: {why}")
                    self._block(tier, names, doomed, why, cleared)
                finally:
                    remove_temporaries(self._store.files.folder(tier), REWRITE_RUN_ID)
        self._store.remove_unneeded_segments()
        with self._store.readers.borrow() as connection:
            left = unknown_segments(connection, self._store.files)
        self._store.findings.unknown_segments = [name for _, name in left]
        return cleared

    def _names(
        self, tier: int, doomed: dict[int, str], ids: frozenset[str], cleared: Cleared
    ) -> list[str]:
        """The files with a line of a doomed memory, also where it is of earlier days."""
        with self._store.readers.view() as connection:
            query = "SELECT name, records > live FROM segments WHERE tier = ? ORDER BY name"
            known = connection.execute(query, (tier,)).fetchall()
            query = "SELECT rid, segment FROM memories WHERE tier = ? AND segment IS NOT NULL"
            named = {
                segment for rid, segment in connection.execute(query, (tier,)) if rid in doomed
            }
            unknown = [n for at, n in unknown_segments(connection, self._store.files) if at == tier]
        suspects = [name for name, has_dead in known if has_dead and name not in named]
        for name in [*suspects, *unknown]:
            try:
                if not ids.isdisjoint(ids_in(self._store.files.reader(tier, name))):
                    named.add(name)
            except (SegmentDamaged, OSError):
                cleared.notes.append(f"{name} cannot be read, so it was not searched")
        return sorted(named)

    def _move_others(
        self, encoder: NamespaceEncoder, tier: int, names: list[str], doomed: dict[int, str]
    ) -> None:
        for _ in range(TURNS_MAX):
            rids = self._others(names, doomed)
            if not rids:
                return
            for start in range(0, len(rids), MEMORIES_PER_REWRITE_MAX):
                if self._stopping.is_set():
                    raise ShuttingDown
                part = rids[start : start + MEMORIES_PER_REWRITE_MAX]
                move_to_new_segments(
                    self._store, self._clock, self._reserve, encoder, tier, part, REWRITE_RUN_ID
                )

    def _others(self, names: Collection[str], doomed: dict[int, str]) -> list[int]:
        """The rows of other memories in these files, in the order in which they lie."""
        query = "SELECT rid FROM memories WHERE segment = ? ORDER BY frame, line"
        with self._store.readers.view() as connection:
            return [
                rid
                for name in names
                for (rid,) in connection.execute(query, (name,))
                if rid not in doomed
            ]

    def _block(
        self, tier: int, names: Sequence[str], doomed: dict[int, str], why: str, cleared: Cleared
    ) -> None:
        """Note the files in which other memories lie still: nothing in them may be destroyed.

        A file that is missing holds nothing that could be left.
        """
        for name in names:
            there = self._store.files.path(tier, name).exists()
            if there and self._others([name], doomed):
                cleared.blocked[name] = why

    def _carry_over(
        self,
        tier: int,
        names: list[str],
        doomed: dict[int, str],
        ids: frozenset[str],
        cleared: Cleared,
    ) -> None:
        """Copy what no row holds of the files into new ones that nobody knows, as before."""
        self._block(tier, names, doomed, "unreadable", cleared)
        for name in names:
            if name in cleared.blocked or not self._store.files.path(tier, name).exists():
                continue
            try:
                self._copy_rest(tier, name, ids)
            except SegmentDamaged:
                cleared.notes.append(f"{name} cannot be read to its end")
                continue
            self._store.writer.call(lambda tx, name=name: self._count_anew(tx, tier, name))

    def _copy_rest(self, tier: int, name: str, ids: frozenset[str]) -> None:
        """Write the lines that stand nowhere else to a file of their own, if there are any."""
        reader = self._store.files.reader(tier, name)
        rest: list[tuple[bytes, bytes | None]] = []
        with self._store.readers.view() as connection:
            for frame in range(len(reader.frames)):
                lines = reader.lines(frame)
                for at, record in enumerate(reader.records(frame)):
                    known = record.payload.id in ids or self._is_elsewhere(
                        connection, record.payload.id, record.content_hash
                    )
                    if not known:
                        rest.append((lines[at] + b"\n", record.payload.embedding))
        if rest:
            folder = self._store.files.folder(tier)
            with_reserve(self._reserve, lambda: _write_segment(folder, rest))

    def _is_elsewhere(self, connection: Connection, memory_id: str, digest: bytes) -> bool:
        """Whether a line is a copy of what was read just now, or of what was destroyed."""
        row = rows.by_id(connection, memory_id)
        if row is None:
            return tombstones.stands(connection, memory_id)
        try:
            read_payload(connection, self._store.files, row)
        except PayloadDamaged:
            return False
        return row.content_hash == digest

    def _count_anew(self, tx: Transaction, tier: int, name: str) -> None:
        """From now on only rows keep the file; one that none keeps may be removed."""
        connection = tx.connection
        held = connection.execute(
            "SELECT count(*) FROM memories WHERE segment = ?", (name,)
        ).fetchall()[0][0]
        connection.execute("UPDATE segments SET live = ? WHERE name = ?", (held, name))
        if not held:
            hot_payloads.leave_segments(connection, {name: 0})
            connection.execute(
                "INSERT OR IGNORE INTO unlink_intents VALUES (?, ?, ?)",
                (name, tier, self._clock.now_ms()),
            )


def _write_segment(folder: Path, lines: list[tuple[bytes, bytes | None]]) -> None:
    """Write, verify and publish a segment of these lines, each with its embedding."""
    temporary = folder / new_temporary_name(REWRITE_RUN_ID)
    builder = FrameBuilder()
    with SegmentWriter(temporary) as writer:
        for line, embedding in lines:
            if not builder.has_room(line, embedding):
                writer.write(builder.pack())
            builder.add(line, embedding)
        writer.write(builder.pack())
        writer.seal()
    with SegmentReader(temporary) as reader:
        reader.verify()
    publish(temporary, folder / new_segment_name())
