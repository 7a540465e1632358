"""The index of cold memories: bringing it up to date, and reading from it.

It is a cache beside the truth. Every entry is compared with the content hash in hot.db before it
is used, so an index that is old, or of another namespace, answers nothing wrong; a row without a
valid entry is simply not indexed, and a recall scans it. Whatever goes wrong with the files, they
are dropped and made anew. The work is done by a thread that exists only while there is some, woken
at the end of a run or by a recall that had much to scan, and never by a dry run.
"""

import os
import shutil
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import ForgetdError
from sidecar.limits import RESERVE_BYTES
from sidecar.model import COLD
from sidecar.store import cold_tables, cold_vectors
from sidecar.store.bm25 import TextStatistics, term_frequencies
from sidecar.store.cold_documents import DocumentReader, Places, confirm, load_places
from sidecar.store.cold_entries import ColdNow, Entries
from sidecar.store.cold_tables import FAULTS, Counts, IndexState, IndexWriter
from sidecar.store.cold_vectors import Space
from sidecar.store.columns import Columns
from sidecar.store.search_text import TextQuery
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.sqlite.connection import Readers
from sidecar.store.sqlite.typed import Connection
from sidecar.store.vector_index import Float32, RowIds

# So few rows are scanned as fast as an index is searched, and are not worth writing one.
SCANNED_GLADLY_MAX: Final = 250
# Nothing is written where the disk has less room: memories come first.
ROOM_BYTES_MIN: Final = 4 * RESERVE_BYTES
PUBLISHED_DOCUMENTS: Final = 20_000
REMOVED_DOCUMENTS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One view of the index."""

    connection: Connection
    entries: Entries
    spaces: dict[Space, int]
    counts: Counts

    def statistics(self, query: TextQuery) -> TextStatistics:
        """Those of the indexed texts."""
        frequencies = term_frequencies(self.connection, query)
        return TextStatistics(self.counts.documents, frequencies, self.counts.mean_tokens)

    def cosines(self, space: Space, query: Float32) -> Float32:
        """The cosine of each slot of a space, off by at most HALF_ERROR."""
        return cold_vectors.cosines(self.spaces[space], space, query)


class ColdIndex:
    """The index of one open namespace. Safe for any number of reading threads."""

    def __init__(
        self,
        files: SegmentFiles,
        columns: Columns,
        readers: Readers,
        may_write: Callable[[], bool],
    ) -> None:
        self._folder = files.folder(COLD)
        self._columns = columns
        self._readers = readers
        self._may_write = may_write
        self._state: IndexState | None = None
        self._damaged = False
        self._unreadable = 0
        # Held while the files are looked at for the first time.
        self._loading = threading.Lock()
        # Held while rows leave the text table together with their entries, and while a view begins.
        self._changing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._waking = threading.Lock()
        self._awake = False
        self._stopping = threading.Event()

    # --- reading ---------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Generator[Reading | None]:
        """A view for the length of a `with` block; None where there is no index to read.

        Raises one of FAULTS; the caller then calls `drop` and goes on without.
        """
        if self._loaded() is None:
            yield None
            return
        with ExitStack() as held:
            with self._changing:
                state = self._state
                reading = None if state is None else self._view(state, held)
            yield reading

    def _view(self, state: IndexState, held: ExitStack) -> Reading:
        connection = cold_tables.open_for_reading(self._folder)
        held.callback(connection.close)
        counts = cold_tables.counts_of(connection, state.build)
        descriptors: dict[Space, int] = {}
        for space in state.spaces:
            descriptors[space] = cold_vectors.open_vectors(self._folder, space)
            held.callback(os.close, descriptors[space])
        return Reading(connection, state.entries, descriptors, counts)

    def matched(self, hot: Connection, entries: Entries, cold: ColdNow) -> NDArray[np.bool_]:
        """Which cold rows have an entry of the content that they have now."""
        places = entries.find(cold.rids)
        known = np.flatnonzero(places >= 0)
        places = places[known]
        doubtful = known[entries.counter[places] != cold.counters[known]]
        if len(doubtful):
            confirm(hot, entries, cold.rids[doubtful])
        matched = np.zeros(len(cold.rids), np.bool_)
        matched[known] = entries.counter[places] == cold.counters[known]
        return matched

    def drop(self) -> None:
        """Use the index no more: something is wrong with it. The next `wake` makes a new one."""
        with self._changing:
            self._state = None
            self._damaged = True

    def discard(self) -> None:
        """Take the whole index away, words and vectors; the next `wake` makes a new one.

        Waits until nothing is being written. Raises OSError.
        """
        with self._waking:
            self._stopping.set()
        self.settle()
        try:
            with self._changing:
                self._state = None
                self._damaged = False
                cold_tables.remove_files(self._folder)
        finally:
            with self._waking:
                self._stopping.clear()

    def is_behind(self, pending: int, dead: int) -> bool:
        """Whether so many rows without an entry, and entries without a row, are worth a write."""
        return pending - self._unreadable + dead > SCANNED_GLADLY_MAX

    def _loaded(self) -> IndexState | None:
        with self._loading:
            if self._state is None and not self._damaged:
                try:
                    self._state = cold_tables.load(self._folder)
                except (*FAULTS, ValueError):
                    self._damaged = True
            return self._state

    # --- bringing it up to date ------------------------------------------------------------

    def wake(self) -> None:
        """Bring the index up to date, in a thread; returns at once."""
        with self._waking:
            if self._stopping.is_set():
                return
            self._awake = True
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="forgetd-cold-index", daemon=True
                )
                self._thread.start()

    def settle(self) -> None:
        """Wait until nothing is being written."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Stop between two batches; what is indexed by then is kept."""
        with self._waking:
            self._stopping.set()
        self.settle()

    def _run(self) -> None:
        while self._next():
            with suppress(ForgetdError, OSError):  # of hot.db, which others will meet
                self._catch_up()

    def _next(self) -> bool:
        with self._waking:
            wanted = self._awake and not self._stopping.is_set()
            self._awake = False
            if not wanted:
                self._thread = None
            return wanted

    def _catch_up(self) -> None:
        if not self._may_write() or shutil.disk_usage(self._folder).free < ROOM_BYTES_MIN:
            return
        with self._readers.view() as hot:
            state = self._loaded()
            entries = Entries.of(()) if state is None else state.entries
            cold = self._columns.cold_now()
            matched = self.matched(hot, entries, cold)
            pending = cold.rids[~matched]
            dead = entries.rid[np.isin(entries.rid, cold.rids[matched], invert=True)]
            if len(pending) + len(dead) <= SCANNED_GLADLY_MAX:
                return
            places = load_places(hot, pending)
        try:
            self._write(IndexWriter(self._folder, state), dead, places)
        except FAULTS:
            self.drop()
            with suppress(OSError):
                cold_tables.remove_files(self._folder)
            if state is not None:  # it may be the old one that was wrong
                self._awake = True

    def _write(self, writer: IndexWriter, dead: RowIds, places: Places) -> None:
        """Take out the dead rows, index the others, and seal."""
        whole = False
        try:
            for start in range(0, len(dead), REMOVED_DOCUMENTS):
                with self._changing:
                    writer.remove(dead[start : start + REMOVED_DOCUMENTS])
                    self._state = writer.state
            documents = DocumentReader(self._folder)
            waiting: list[Entries] = []
            for batch in documents.batches(places):
                if self._stopping.is_set():
                    break
                waiting.append(writer.add(batch))
                if sum(map(len, waiting)) >= PUBLISHED_DOCUMENTS:
                    self._publish(writer, waiting)
            self._publish(writer, waiting)
            self._unreadable = documents.unreadable
            for space in writer.worth_repacking():
                writer.repack(space)
                self._publish(writer, [])
            whole = True
        finally:
            writer.close(seal=whole)

    def _publish(self, writer: IndexWriter, made: list[Entries]) -> None:
        """Let readers use what was written."""
        writer.join(made)
        made.clear()
        with self._changing:
            self._state = writer.state
            self._damaged = False
