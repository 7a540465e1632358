"""Letting files follow their memories: to the trash with the last owner, and back.

The intent is committed with the memory's move. Then the file is renamed on the writer's thread,
where no write can give it a new owner meanwhile; then both folders are made durable; then the
intent is cleared. A kill leaves an intent, which the next `settle` takes up where it was.
"""

import threading
from collections.abc import Callable
from contextlib import closing, suppress

import apsw

from sidecar.apply.ending import RunResult
from sidecar.clock import Clock
from sidecar.errors import ForgetdError
from sidecar.media_reports import MediaOutcome
from sidecar.store import media_trash
from sidecar.store.media import measure_media
from sidecar.store.media_files import MediaFiles, MediaUnavailable
from sidecar.store.media_trash import State, TrashEntry
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store

Settled = list[tuple[TrashEntry, State, int]]


class MediaMover:
    """Moves the files of one namespace. Every method blocks and may be called from any thread."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self.problem: str | None = None

    def settle_if_waiting(self) -> None:
        """Settle, where a memory has moved since the last time and names a file."""
        if self._store.columns.media_waits:
            with self._lock, suppress(ForgetdError, apsw.Error):
                self._settle_waiting()

    def settle(self) -> None:
        """Carry out every intent that can be carried out; `problem` says why others wait.

        Never raises for the sake of a file: memories have moved already.
        """
        with self._lock, suppress(ForgetdError, apsw.Error):
            self._store.columns.media_waits = True
            self._settle_waiting()

    def _settle_waiting(self) -> None:
        """Again where a memory came back while its file was on its way to the trash."""
        while self._store.columns.media_waits:
            self.problem = None
            self._pass()
            if self.problem is not None:
                return

    def restored(self, connection: Connection, row: Row, run_id: str | None) -> MediaOutcome | None:
        """Where the file of a memory is that a run brought back; None where it names none."""
        if row.media_ref is None:
            return None
        state = run_id and media_trash.returned_by(connection, run_id, row.media_ref)
        match state:
            case "returned":
                return "returned"
            case "returning":
                return "waiting"
            case "trashed":
                return "blocked"
            case _:
                return self._at_its_reference(row.media_ref)

    def told_of(
        self, connection: Connection, result: RunResult | None
    ) -> Callable[[Row], MediaOutcome | None]:
        """What `restored` answers of each memory that a run brought back; None: there was none."""
        run_id = None if result is None else result.run_id
        return lambda row: self.restored(connection, row, run_id)

    def _pass(self) -> None:
        self._store.columns.media_waits = False
        after = 0
        while batch := self._batch(after):
            after = batch[-1].trash_id
            try:
                self._step(batch)
            except MediaUnavailable as error:
                self.problem = str(error)
                return
            except OSError as error:
                self.problem = f"a file cannot be moved: {error.strerror}"

    def _batch(self, after: int) -> list[TrashEntry]:
        with self._store.readers.borrow() as connection:
            return media_trash.pending(connection, after)

    def _step(self, batch: list[TrashEntry]) -> None:
        """One batch: move, make durable, clear. Raises OSError, with what was moved cleared."""
        writer = self._store.writer
        with closing(MediaFiles(self._store.directory)) as files:
            settled: Settled = []
            try:
                writer.call(lambda tx: _move(tx.connection, files, batch, settled), alone=True)
            finally:
                files.sync()
                if settled:
                    writer.call(lambda tx: self._note(tx, settled))

    def _note(self, tx: Transaction, settled: Settled) -> None:
        now = self._clock.now_ms()
        for entry, state, size in settled:
            media_trash.settle(tx, entry, state, size, now)
            measure_media(tx, self._store.directory, entry.ref)

    def _at_its_reference(self, ref: str) -> MediaOutcome:
        try:
            with closing(MediaFiles(self._store.directory)) as files:
                return "missing" if files.size(ref) is None else "here"
        except OSError:
            return "waiting"


def _move(
    connection: Connection, files: MediaFiles, batch: list[TrashEntry], settled: Settled
) -> None:
    """Move each file, on the writer's thread. What could not be moved stays an intent."""
    failure: OSError | None = None
    for entry in batch:
        try:
            state = _follow(connection, files, entry)
            size = files.size_in_trash(entry.trashed_as)
        except OSError as error:
            failure = error
            continue
        settled.append((entry, state, entry.bytes if size is None else size))
    if failure is not None:
        raise failure


def _follow(connection: Connection, files: MediaFiles, entry: TrashEntry) -> State:
    """Move one file after its memory, as its owners are now."""
    owned = media_trash.is_owned(connection, entry.ref)
    in_trash = files.size_in_trash(entry.trashed_as) is not None
    if entry.state == "leaving":
        if owned and not in_trash:
            return "kept"
        return files.take(entry.ref, entry.trashed_as)
    if not owned and in_trash:
        return "trashed"
    return files.give_back(entry.ref, entry.trashed_as)
