"""A consistent copy of a namespace, made while a daemon may be writing it.

The database is copied in one view. The segments that this view names are copied before, so that a
merge which takes one away in between only means another view: what was copied already stays.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import apsw

from sidecar.errors import Corrupt, Overloaded
from sidecar.model import COLD, FORGOTTEN, HOT
from sidecar.store import events
from sidecar.store.check import Scope, check, looking
from sidecar.store.commits import CommitFile, StoredCounts, read_counts
from sidecar.store.findings import Findings
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import fsync_directory
from sidecar.store.sqlite.typed import Connection
from sidecar.store.store import FOLDERS

VIEWS_MAX: Final = 20
MODE: Final = 0o600
COPY_BYTES: Final = 1_048_576
TRASH: Final = ".trash"

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A copy that was read whole and found equal to what it is a copy of."""

    state_hash: str
    memories: int
    segments: int
    media: int
    findings: Findings


def back_up(
    source: Path, target: Path, *, link: bool = False, progress: Progress = lambda done: None
) -> BackedUp:
    """Copy a namespace into the new directory `target`, durably, and read the copy whole.

    With `link` segments become second names of the same files where the file system allows it.
    `progress` hears of bytes. Raises Corrupt where the copy is not whole, OSError, Overloaded where
    segments are merged faster than they can be copied.
    """
    target.mkdir(mode=0o700)
    for folder in FOLDERS:
        (target / folder).mkdir(mode=0o700)
    copy = _Copy(source, target, link, progress)
    for _ in range(VIEWS_MAX):
        with looking(source) as view:
            if copy.segments(view):
                expected = copy.database(view)
                break
    else:
        raise Overloaded("The archive changes faster than it can be copied", remedy="try again")
    copy.remove_merged()
    media = copy.media()  # last: what the view names is there until somebody destroys it
    for folder in (*FOLDERS, "."):
        fsync_directory(target / folder)
    findings = check(target, Scope(read_data=True, at_work=False))
    return BackedUp(
        _verified(target, expected, findings), copy.memories, len(copy.named), media, findings
    )


def _verified(target: Path, expected: str, findings: Findings) -> str:
    with looking(target) as view:
        if events.state_hash(view) != expected:
            raise Corrupt("The copy is not what was copied", remedy="look at both disks")
    return expected


class _Copy:
    """The files of one namespace on their way into a directory that nobody else uses."""

    def __init__(self, source: Path, target: Path, link: bool, progress: Progress) -> None:
        self.memories = 0
        self.named: set[tuple[int, str]] = set()
        self._source = SegmentFiles(source)
        self._target = SegmentFiles(target)
        self._link = link
        self._progress = progress
        self._bytes = 0
        self._copied: set[tuple[int, str]] = set()

    def segments(self, view: Connection) -> bool:
        """Copy the segments that the view names and that are not here yet; False where one went."""
        known = view.execute("SELECT tier, name FROM segments ORDER BY name").fetchall()
        self.named = {(tier, name) for tier, name in known}
        for tier, name in sorted(self.named - self._copied):
            try:
                self._file(self._source.path(tier, name), self._target.path(tier, name), self._link)
            except FileNotFoundError:
                if not self._is_listed(name):
                    return False
                # It is missing: reading the copy will say so, and all else is worth keeping.
            self._copied.add((tier, name))
        return True

    def _is_listed(self, segment: str) -> bool:
        with looking(self._source.directory) as now:
            query = "SELECT 1 FROM segments WHERE name = ?"
            return bool(now.execute(query, (segment,)).fetchall())

    def remove_merged(self) -> None:
        """Take away copies of segments that the database, as it was copied, does not name."""
        for tier, name in self._copied - self.named:
            self._target.path(tier, name).unlink(missing_ok=True)

    def database(self, view: Connection) -> str:
        """Copy the database of the view and write its commit counter; answers its state hash."""
        path = self._target.directory / "hot.db"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE))
        copy = apsw.Connection(str(path))
        try:
            with copy.backup("main", cast(Any, view), "main") as backup:
                backup.step()
        finally:
            copy.close()
        _fsync(path)
        self._commits(view)
        self.memories = view.execute("SELECT count(*) FROM memories").fetchall()[0][0]
        return events.state_hash(view)

    def _commits(self, view: Connection) -> None:
        (commits,) = view.execute("SELECT value FROM meta WHERE key = 'commits'").fetchall()[0]
        tiers = dict(view.execute("SELECT tier, count(*) FROM memories GROUP BY tier"))
        stored = read_counts(self._source.directory / "commits")
        hot, cold, forgotten = (tiers.get(tier, 0) for tier in (HOT, COLD, FORGOTTEN))
        live_bytes, flags = (stored.live_bytes, stored.flags) if stored else (0, 0)
        path = self._target.directory / "commits"
        written = CommitFile(path)
        written.write(StoredCounts(commits, hot, cold, forgotten, live_bytes, flags))
        written.close()
        _fsync(path)

    def media(self) -> int:
        """Copy every regular file below the media root; answers how many."""
        root, count = self._source.directory / "media", 0
        for folder, folders, names in os.walk(root):
            if Path(folder) == root and TRASH in folders:
                folders.remove(TRASH)
            place = self._target.directory / "media" / Path(folder).relative_to(root)
            place.mkdir(mode=0o700, exist_ok=True)
            for name in names:
                path = Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    self._file(path, place / name, link=False)
                    count += 1
            fsync_directory(place)
        return count

    def _file(self, source: Path, target: Path, link: bool) -> None:
        if link and _linked(source, target):
            return
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            open(os.open(source, flags), "rb") as reading,
            open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE), "wb") as writing,
        ):
            shutil.copyfileobj(reading, writing, COPY_BYTES)
            writing.flush()
            os.fsync(writing.fileno())
            self._bytes += writing.tell()
        self._progress(self._bytes)


def _linked(source: Path, target: Path) -> bool:
    """Whether the file has a second name now; False where the file system gives none."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        return False
    return True


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
