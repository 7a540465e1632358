"""Looking at the files of a namespace without changing any, also while a daemon writes them.

The database is read in one view on a connection of its own. What that view names may have moved
meanwhile: where a file or a payload is not what the view says, the present state is asked, and only
what is wrong there too is a finding.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from sidecar.clock import Clock
from sidecar.errors import Corrupt
from sidecar.model import COLD, FORGOTTEN, HOT, TIERS
from sidecar.store import rows
from sidecar.store.check_log import look_at_log
from sidecar.store.check_tables import look_at_tables
from sidecar.store.commits import read_counts
from sidecar.store.findings import Findings, named
from sidecar.store.media import media_size
from sidecar.store.media_files import TRASH
from sidecar.store.rows import Row
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import SegmentDamaged, is_temporary
from sidecar.store.sqlite.connection import keep_wal, open_reader, translated
from sidecar.store.sqlite.source import PayloadDamaged, read_payload
from sidecar.store.sqlite.typed import Connection
from sidecar.store.store import PAYLOAD_READ_TRIES, unknown_segments

REBUILT: Final = "rebuilt.db"
# A file as young as this may be the work of a run that has not committed yet.
AT_WORK_MS_MAX: Final = 600_000
ROWS_PER_STEP: Final = 1_000

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Scope:
    """How closely to look. `at_work`: a daemon may be changing the namespace meanwhile."""

    read_data: bool = False
    replay: bool = False
    at_work: bool = True


def check(directory: Path, scope: Scope, progress: Progress = lambda done: None) -> Findings:
    """Look at a namespace, and change nothing. `progress` hears how many memories were read."""
    found = Findings()
    try:
        # Read before the view begins: a daemon at work only makes the view newer.
        stored = read_counts(directory / "commits")
        with looking(directory) as connection:
            _database(connection, found)
            _commits(connection, stored.commits if stored else 0, found)
            look = _Look(directory, connection, scope, found)
            look.segments()
            look.unknown()
            look.places()
            if scope.read_data:
                look.memories(progress)
            look_at_tables(connection, found)
            if scope.replay:
                look_at_log(connection, found)
            look.media()
            look.leftovers()
    except (apsw.Error, Corrupt) as error:
        found.add("database", False, f"cannot be read: {type(error).__name__}")
    return found


def count_memories(directory: Path) -> int:
    """How many memories there are, of any tier; 0 where the database cannot be read."""
    try:
        with looking(directory) as connection:
            return connection.execute("SELECT count(*) FROM memories").fetchall()[0][0]
    except (apsw.Error, Corrupt):
        return 0


@contextmanager
def looking(directory: Path) -> Generator[Connection]:
    """One view of a namespace's database. A log that is there stays as it is."""
    with translated():
        connection = open_reader(directory / "hot.db")
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT 1 FROM sqlite_schema").fetchall()  # the view begins here
        yield connection
    finally:
        log = directory / "hot.db-wal"
        if log.exists() and log.stat().st_size:
            keep_wal(connection)
        connection.close(True)


def _database(connection: Connection, found: Findings) -> None:
    answers = [row[0] for row in connection.execute("PRAGMA integrity_check(10)")]
    found.add("database", answers == ["ok"], "; ".join(str(one) for one in answers))


def _commits(connection: Connection, acknowledged: int, found: Findings) -> None:
    (commits,) = connection.execute("SELECT value FROM meta WHERE key = 'commits'").fetchall()[0]
    found.add(
        "commits",
        commits >= acknowledged,
        f"the database has {commits}, acknowledged were {acknowledged or commits}",
    )


class _Look:
    """What compares the database with the files beside it."""

    def __init__(
        self, directory: Path, connection: Connection, scope: Scope, found: Findings
    ) -> None:
        self._directory = directory
        self._connection = connection
        self._scope = scope
        self._found = found
        self._files = SegmentFiles(directory)
        self._known: list[tuple[str, int, int, bytes]] = connection.execute(
            "SELECT name, tier, bytes, sha256 FROM segments ORDER BY name"
        ).fetchall()
        self._bad: set[str] = set()

    def segments(self) -> None:
        """Every segment that the database names: there, sealed, as long as it was; or all of it."""
        damaged: list[str] = []
        missing: list[str] = []
        for name, tier, size, digest in self._known:
            try:
                reader = self._files.reader(tier, name)
                whole = reader.bytes == size
                if self._scope.read_data:
                    whole = whole and reader.verify() == digest
                if not whole:
                    damaged.append(name)
            except (SegmentDamaged, OSError) as error:
                gone = getattr(error, "reason", "") == "missing"
                if gone and not self._still_listed(name):
                    continue  # its memories were merged into another one meanwhile
                (missing if gone else damaged).append(name)
        bad = damaged + missing
        self._bad = set(bad)
        self._found.add(
            "segments",
            not bad,
            f"{len(self._known)} known, {len(damaged)} damaged, {len(missing)} missing{named(bad)}",
        )

    def unknown(self) -> None:
        """Sealed files that the database does not know, young ones of a run at work left out."""
        with looking(self._directory) as now:
            names = [
                name
                for tier, name in unknown_segments(now, self._files)
                if self._is_left(self._files.path(tier, name))
            ]
        self._found.add(
            "unknown segments",
            not names,
            f"{len(names)} sealed files that no memory lies in{named(names)}",
        )

    def places(self) -> None:
        """Whether each cold and forgotten memory's segment has the frame and line of its row."""
        tiers = {name: tier for name, tier, _, _ in self._known}
        wrong: list[str] = []
        query = (
            "SELECT segment, tier, frame, max(line) FROM memories"
            f" WHERE tier <> {HOT} AND segment IS NOT NULL GROUP BY segment, tier, frame"
        )
        for name, tier, frame, line in self._connection.execute(query).fetchall():
            if name in self._bad or name not in tiers:
                continue  # told by another check
            try:
                reader = self._files.reader(tier, name)
                if not 0 <= line < reader.records_in(frame):
                    wrong.append(name)
            except (SegmentDamaged, OSError, TypeError):
                if self._still_listed(name):
                    wrong.append(name)
        wrong = list(dict.fromkeys(wrong))
        self._found.add(
            "places", not wrong, f"{len(wrong)} segments lack a line of a memory{named(wrong)}"
        )

    def memories(self, progress: Progress) -> None:
        """Read every payload, wherever it lies, and compare it with its hash."""
        damaged: list[str] = []
        counts = dict.fromkeys(TIERS, 0)
        every = rows.select(self._connection, "ORDER BY tier, segment, frame, line", ())
        for number, row in enumerate(every):
            counts[TIERS[row.tier] if row.tier in range(len(TIERS)) else TIERS[HOT]] += 1
            if not self._is_whole(row):
                damaged.append(row.id)
            if number % ROWS_PER_STEP == 0:
                progress(number)
        detail = ", ".join(f"{count} {tier}" for tier, count in counts.items())
        self._found.add(
            "memories",
            not damaged,
            f"{detail}; {len(damaged)} do not match their hash{named(damaged)}",
        )

    def media(self) -> None:
        """Files of live memories, and those that went to the trash, which are gone."""
        query = (
            "SELECT DISTINCT media_ref FROM memories"
            f" WHERE media_ref IS NOT NULL AND tier < {FORGOTTEN} ORDER BY 1"
        )
        refs = [ref for (ref,) in self._connection.execute(query)]
        root = self._directory / "media"
        gone = [ref for ref in refs if not media_size(root, ref)]
        there = "SELECT 1 FROM sqlite_schema WHERE name = 'media_trash'"
        if self._connection.execute(there).fetchall():
            query = "SELECT trashed_as FROM media_trash WHERE state = 'trashed' ORDER BY 1"
            trashed = [f"{TRASH}/{name}" for (name,) in self._connection.execute(query)]
            gone += [name for name in trashed if not (root / name).is_file()]
            refs += trashed
        self._found.add(
            "media", not gone, f"{len(refs)} files named, {len(gone)} missing or empty{named(gone)}"
        )

    def leftovers(self) -> None:
        """Unfinished files, and what the next start will finish by itself."""
        folders = [self._files.folder(COLD), self._files.folder(FORGOTTEN)]
        left = [
            entry.name
            for folder in folders
            if folder.is_dir()
            for entry in sorted(folder.iterdir())
            if is_temporary(entry.name) and self._is_left(entry)
        ]
        if (self._directory / REBUILT).exists():
            left.append(REBUILT)
        runs = self._count("SELECT count(*) FROM runs WHERE state = 'running'")
        intents = self._count("SELECT count(*) FROM unlink_intents")
        self._found.add(
            "leftovers",
            not left,
            f"{len(left)} files{named(left)}; {runs} runs to finish, {intents} segments to remove",
        )

    def _count(self, query: str) -> int:
        return self._connection.execute(query).fetchall()[0][0]

    def _still_listed(self, segment: str) -> bool:
        with looking(self._directory) as now:
            query = "SELECT 1 FROM segments WHERE name = ?"
            return bool(now.execute(query, (segment,)).fetchall())

    def _is_whole(self, row: Row) -> bool:
        try:
            read_payload(self._connection, self._files, row)
        except PayloadDamaged:
            return self._is_whole_now(row)
        except (AssertionError, KeyError):  # the row names no place, or no tier
            return False
        return True

    def _is_whole_now(self, row: Row) -> bool:
        """Whether the memory moved since it was read, and is whole where it lies now."""
        for _ in range(PAYLOAD_READ_TRIES):
            with looking(self._directory) as now:
                current = rows.by_rid(now, row.rid)
                if current is None or current == row:
                    return current is None
                row = current
                try:
                    read_payload(now, self._files, current)
                except (PayloadDamaged, AssertionError, KeyError):
                    continue
                return True
        return False

    def _is_left(self, path: Path) -> bool:
        """Whether nobody can be at work on this file."""
        try:
            age_ms = Clock().now_ms() - int(path.stat().st_mtime * 1000)
        except FileNotFoundError:
            return False
        return not self._scope.at_work or age_ms > AT_WORK_MS_MAX
