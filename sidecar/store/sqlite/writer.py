"""The one thread that writes a namespace's database.

Callers hand it jobs through a bounded queue. Jobs that wait together share one COMMIT (each in
its own savepoint, so a failing one takes nothing else along). What a job changed in the RAM
columns, and its answer, appear only after COMMIT has returned.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import apsw

from sidecar.errors import ForgetdError, Overloaded, ReadOnly, ShuttingDown
from sidecar.limits import WRITE_GROUP_JOBS_MAX, WRITE_QUEUE_JOBS_MAX
from sidecar.plan.plan import Counts
from sidecar.store.columns import Columns
from sidecar.store.commits import RUN_UNFINISHED, THRESHOLD_CROSSED, CommitFile, StoredCounts
from sidecar.store.sqlite.connection import DISK_REMEDY, as_forgetd_error
from sidecar.store.sqlite.typed import Connection

T = TypeVar("T")


@dataclass(slots=True)
class Transaction:
    """What a job works with: the connection, and what to do once it is durable."""

    connection: Connection
    after_commit: list[Callable[[Columns], object]] = field(
        default_factory=list[Callable[[Columns], object]]
    )


@dataclass(slots=True)
class _Job(Generic[T]):
    work: Callable[[Transaction], T]
    future: Future[T]
    alone: bool
    after_commit: list[Callable[[Columns], object]] = field(
        default_factory=list[Callable[[Columns], object]]
    )
    result: Any = None


class Writer:
    """Owns the writing connection. `latched` says why nothing may be written any more."""

    def __init__(
        self,
        connection: Connection,
        columns: Columns,
        commit_file: CommitFile,
        on_commit: Callable[[], None],
        on_wal: Callable[[int], None],
    ) -> None:
        """`on_wal` hears after each commit how many pages the WAL has."""
        self.connection = connection
        self.columns = columns
        self.latched: ForgetdError | None = None
        self.unfinished_run = False
        self.crossed: Callable[[Counts], bool] = lambda _counts: False
        self._commit_file = commit_file
        self._commits = _commits(connection)
        self._on_commit = on_commit

        def committed(_connection: object, _database: str, pages: int) -> int:
            on_wal(pages)
            return 0

        connection.set_wal_hook(committed)
        self._queue: queue.Queue[_Job[Any] | None] = queue.Queue(WRITE_QUEUE_JOBS_MAX)
        self._closing = False
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="forgetd-writer", daemon=True)
        self._thread.start()

    def submit(
        self, work: Callable[[Transaction], T], *, alone: bool = False, wait: bool = False
    ) -> Future[T]:
        """Queue a job. `alone` runs it outside any transaction (VACUUM, checkpoints).

        `wait` blocks while the queue is full (for runs); otherwise a full queue raises
        Overloaded. Raises ShuttingDown once the writer is closing.
        """
        if self._closing:
            raise ShuttingDown
        job = _Job(work, Future[T](), alone)
        try:
            self._queue.put(job, block=wait)
        except queue.Full:
            raise Overloaded(
                "Too many writes are waiting",
                bound=f"at most {WRITE_QUEUE_JOBS_MAX} waiting writes",
                remedy="wait for replies, or write with putMany",
            ) from None
        if self._closing and not self._thread.is_alive():
            self._refuse_waiting()  # it was closed while this job went into the queue
        return job.future

    def call(self, work: Callable[[Transaction], T], *, alone: bool = False) -> T:
        """Queue a job and wait for its answer (from a thread, never from the event loop)."""
        return self.submit(work, alone=alone, wait=True).result()

    def close(self) -> None:
        """Finish every queued job, then stop the thread."""
        if not self._closing:
            self._closing = True
            self._queue.put(None)
        self._thread.join()
        self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        """Answer what came too late: nobody may wait for a thread that has ended."""
        with suppress(queue.Empty):
            while True:
                job = self._queue.get_nowait()
                if job is not None and job.future.set_running_or_notify_cancel():
                    job.future.set_exception(ShuttingDown())

    def stored_counts(self, commits: int) -> StoredCounts:
        """The counts for the commit file."""
        counts = self.columns.counts()
        flags = RUN_UNFINISHED if self.unfinished_run else 0
        flags |= THRESHOLD_CROSSED if self.crossed(counts) else 0
        return StoredCounts(
            commits,
            counts.hot,
            counts.cold,
            counts.forgotten,
            max(0, counts.live_bytes),
            flags,
        )

    def _run(self) -> None:
        held: _Job[Any] | None = None
        while (job := held or self._next()) is not None:
            held = None
            if job.alone:
                if job.future.set_running_or_notify_cancel():
                    self._run_alone(job)
                continue
            group, held = self._gather(job)
            if group := [one for one in group if one.future.set_running_or_notify_cancel()]:
                self._run_group(group)

    def _next(self) -> _Job[Any] | None:
        return None if self._ended else self._queue.get()

    def _gather(self, first: _Job[Any]) -> tuple[list[_Job[Any]], _Job[Any] | None]:
        """The jobs that wait with the first one, and one that must run alone after them."""
        group = [first]
        while len(group) < WRITE_GROUP_JOBS_MAX:
            try:
                following = self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                self._ended = True
                break
            if following.alone:
                return group, following
            group.append(following)
        return group, None

    def _run_alone(self, job: _Job[Any]) -> None:
        try:
            self._refuse_if_latched()
            result = job.work(Transaction(self.connection))
        except BaseException as error:
            job.future.set_exception(self._classified(error))
        else:
            job.future.set_result(result)

    def _run_group(self, group: list[_Job[Any]]) -> None:
        done: list[_Job[Any]] = []
        try:
            self._refuse_if_latched()
            self.connection.execute("BEGIN IMMEDIATE")
            for job in group:
                if self._run_in_savepoint(job):
                    done.append(job)
            if done:
                self.connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'commits'")
            commits = _commits(self.connection)
            self.connection.execute("COMMIT")
        except BaseException as error:
            failure = self._classified(error)
            self._roll_back()
            for job in group:
                if not job.future.done():
                    job.future.set_exception(failure)
            return
        if done:
            self._publish(done, commits)

    def _run_in_savepoint(self, job: _Job[Any]) -> bool:
        """Run one job; a failure is the job's own unless the transaction itself is gone."""
        transaction = Transaction(self.connection)
        self.connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(transaction)
        except BaseException as error:
            if not self.connection.in_transaction:
                raise
            self.connection.execute("ROLLBACK TO job")
            self.connection.execute("RELEASE job")
            job.future.set_exception(self._classified(error))
            return False
        self.connection.execute("RELEASE job")
        job.after_commit = transaction.after_commit
        return True

    def _publish(self, done: list[_Job[Any]], commits: int) -> None:
        self._commits = commits
        try:
            with self.columns.lock:
                for job in done:
                    for change in job.after_commit:
                        change(self.columns)
                self.columns.progress.reach(commits)
        except Exception as error:
            _tell(error)
            self._reload()
        try:
            self._commit_file.write(self.stored_counts(commits))
        except OSError as error:
            self.latched = ReadOnly("The commit counter cannot be written")
            self.latched.__cause__ = error
        except Exception as error:
            _tell(error)
        for job in done:
            job.future.set_result(job.result)
        try:
            self._on_commit()
        except Exception as error:
            _tell(error)

    def _reload(self) -> None:
        """Make the columns anew from the database, which is right."""
        try:
            self.columns.load(self.connection)
        except apsw.Error as error:
            self.latched = ReadOnly(remedy=DISK_REMEDY)
            self.latched.__cause__ = error

    def _roll_back(self) -> None:
        """Leave no open transaction, and trust the columns only if nothing was committed."""
        try:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            commits = _commits(self.connection)
            if commits != self._commits:  # the failed COMMIT was durable all the same
                self._commits = commits
                self.columns.load(self.connection)
        except apsw.Error as error:
            self.latched = ReadOnly(remedy=DISK_REMEDY)
            self.latched.__cause__ = error

    def _refuse_if_latched(self) -> None:
        if self.latched is not None:
            raise type(self.latched)(self.latched.message, **self.latched.data)

    def _classified(self, error: BaseException) -> BaseException:
        if not isinstance(error, apsw.Error):
            return error
        failure = as_forgetd_error(error)
        failure.__cause__ = error
        if isinstance(failure, ReadOnly):
            # After a failed write or fsync the next ones may "succeed" without being durable.
            self.latched = failure
        return failure


def _tell(error: Exception) -> None:
    """Report a fault of ours without ending the thread that every write waits for."""
    threading.excepthook(
        threading.ExceptHookArgs(
            (type(error), error, error.__traceback__, threading.current_thread())
        )
    )


def _commits(connection: Connection) -> int:
    return connection.execute("SELECT value FROM meta WHERE key = 'commits'").fetchall()[0][0]
