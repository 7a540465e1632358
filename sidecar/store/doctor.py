"""Looking at a namespace that no daemon has open, and the two repairs an operator may order."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from sidecar.errors import Corrupt
from sidecar.model import HOT, TIERS
from sidecar.store import events, rows
from sidecar.store.commits import CommitFile, StoredCounts, read_counts
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import SegmentDamaged
from sidecar.store.sqlite.connection import keep_wal, open_reader, open_writer, translated
from sidecar.store.sqlite.source import PayloadDamaged, read_payload
from sidecar.store.sqlite.typed import Connection
from sidecar.store.store import finish_unlinks, lock_directory, unknown_segments

NAMED_MAX = 10
_IS_HOT = f"IN (SELECT rid FROM memories WHERE tier = {HOT})"
_MISFITS = {
    "texts without a hot memory": f"SELECT count(*) FROM texts WHERE rid NOT {_IS_HOT}",
    "vectors without a hot memory": f"SELECT count(*) FROM vectors WHERE rid NOT {_IS_HOT}",
    "index entries without a hot memory": f"SELECT count(*) FROM search WHERE rowid NOT {_IS_HOT}",
    "hot memories without an index entry": (
        f"SELECT count(*) FROM memories WHERE tier = {HOT}"
        " AND rid NOT IN (SELECT rowid FROM search)"
    ),
    "memories in segments that are not listed": (
        f"SELECT count(*) FROM memories WHERE tier <> {HOT}"
        " AND segment NOT IN (SELECT name FROM segments)"
    ),
    # More than there are memories is right: lines that stand nowhere else keep their file.
    "segments that count fewer memories than lie in them": (
        "SELECT count(*) FROM segments s WHERE s.live <"
        " (SELECT count(*) FROM memories m WHERE m.segment = s.name)"
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `remedy` is empty where nothing need be done."""

    check: str
    ok: bool
    detail: str
    remedy: str = ""


@dataclass(slots=True)
class Findings:
    """Everything that was looked at, in order."""

    findings: list[Finding] = field(default_factory=list[Finding])

    def add(self, check: str, ok: bool, detail: str, remedy: str = "") -> None:
        """Note one finding; the remedy counts only where something is wrong."""
        self.findings.append(Finding(check, ok, detail, "" if ok else remedy))


def examine(directory: Path) -> Findings:
    """Read everything of a namespace and change nothing. Raises NamespaceLocked."""
    found = Findings()
    descriptor = lock_directory(directory)
    log = directory / "hot.db-wal"
    try:
        with translated():
            connection = open_reader(directory / "hot.db")
        try:
            if log.exists() and log.stat().st_size:
                keep_wal(connection)
            files = SegmentFiles(directory)
            _database(connection, found)
            _commits(connection, directory, found)
            _segments(connection, files, found)
            _memories(connection, files, found)
            _tables(connection, found)
            _log(connection, found)
        finally:
            connection.close()
    except (apsw.Error, Corrupt) as error:
        found.add(
            "database",
            False,
            f"cannot be read: {type(error).__name__}",
            "restore a backup; or move hot.db, hot.db-wal and commits away: the next start then "
            "takes back the memories that lie in segments",
        )
    finally:
        os.close(descriptor)
    return found


def accept(directory: Path) -> Findings:
    """Take a database that is behind its commit counter as it is; segments are adopted next."""
    descriptor = lock_directory(directory)
    try:
        with translated():
            connection = open_writer(directory / "hot.db")
            commits: int = connection.execute(
                "SELECT value FROM meta WHERE key = 'commits'"
            ).fetchall()[0][0]
            connection.close()
        stored = read_counts(directory / "commits")
        if stored is not None and stored.commits > commits:
            # Both slots are written, so that the larger number is gone.
            (directory / "commits").unlink()
            commit_file = CommitFile(directory / "commits")
            commit_file.write(StoredCounts(commits, *stored[1:]))
            commit_file.close()
    finally:
        os.close(descriptor)
    return examine(directory)


def reclaim(directory: Path) -> Findings:
    """Remove each unknown sealed segment whose every memory was read elsewhere, by hash."""
    descriptor = lock_directory(directory)
    removed: list[str] = []
    kept: list[str] = []
    try:
        with translated():
            connection = open_writer(directory / "hot.db")
            files = SegmentFiles(directory)
            for tier, name in unknown_segments(connection, files):
                if _is_elsewhere(connection, files, tier, name):
                    connection.execute(
                        "INSERT OR IGNORE INTO unlink_intents VALUES (?, ?, 0)", (name, tier)
                    )
                    removed.append(name)
                else:
                    kept.append(name)
            finish_unlinks(connection, files)
            connection.close()
    finally:
        os.close(descriptor)
    found = Findings()
    found.add("reclaimed", True, f"{len(removed)} segments were removed{_named(removed)}")
    found.add(
        "kept",
        not kept,
        f"{len(kept)} unknown segments hold what is nowhere else{_named(kept)}",
        "start the daemon: it adopts what has no memory of its own",
    )
    found.findings += examine(directory).findings
    return found


def _is_elsewhere(connection: Connection, files: SegmentFiles, tier: int, name: str) -> bool:
    """Whether every (id, hash) of a segment was read, whole, from another place just now."""
    try:
        reader = files.reader(tier, name)
        reader.verify()
        for _, _, record in reader:
            row = rows.by_id(connection, record.payload.id)
            if row is None or row.content_hash != record.content_hash or row.segment == name:
                return False
            read_payload(connection, files, row)
    except (SegmentDamaged, PayloadDamaged, OSError):
        return False
    return True


def _database(connection: Connection, found: Findings) -> None:
    answers = [row[0] for row in connection.execute("PRAGMA integrity_check(10)")]
    found.add(
        "database",
        answers == ["ok"],
        "; ".join(str(one) for one in answers),
        "restore a backup of the namespace",
    )


def _commits(connection: Connection, directory: Path, found: Findings) -> None:
    (commits,) = connection.execute("SELECT value FROM meta WHERE key = 'commits'").fetchall()[0]
    stored = read_counts(directory / "commits")
    acknowledged = stored.commits if stored else commits
    found.add(
        "commits",
        commits >= acknowledged,
        f"the database has {commits}, acknowledged were {acknowledged}",
        "restore a backup, or take the database as it is with: forgetd doctor --accept",
    )


def _segments(connection: Connection, files: SegmentFiles, found: Findings) -> None:
    damaged: list[str] = []
    missing: list[str] = []
    known = connection.execute("SELECT name, tier, sha256 FROM segments ORDER BY name").fetchall()
    for name, tier, digest in known:
        try:
            if files.reader(tier, name).verify() != digest:
                damaged.append(name)
        except FileNotFoundError:
            missing.append(name)
        except (SegmentDamaged, OSError):
            damaged.append(name)
    bad = damaged + missing
    found.add(
        "segments",
        not bad,
        f"{len(known)} known, {len(damaged)} damaged, {len(missing)} missing{_named(bad)}",
        "copy the named files back from a backup; nothing else needs them",
    )
    unknown = [name for _, name in unknown_segments(connection, files)]
    found.add(
        "unknown segments",
        not unknown,
        f"{len(unknown)} sealed files that no memory lies in{_named(unknown)}",
        "start the daemon once: it takes back memories that live nowhere else; then remove "
        "the files whose memories are all elsewhere with: forgetd doctor --reclaim",
    )


def _memories(connection: Connection, files: SegmentFiles, found: Findings) -> None:
    damaged: list[str] = []
    counts = dict.fromkeys(TIERS, 0)
    for row in rows.select(connection, "ORDER BY tier, segment, frame, line", ()):
        counts[TIERS[row.tier]] += 1
        try:
            read_payload(connection, files, row)
        except PayloadDamaged:
            damaged.append(row.id)
    detail = ", ".join(f"{count} {tier}" for tier, count in counts.items())
    found.add(
        "memories",
        not damaged,
        f"{detail}; {len(damaged)} do not match their hash{_named(damaged)}",
        "restore them from a backup; they are never moved as they are",
    )


def _tables(connection: Connection, found: Findings) -> None:
    """Whether text, index, vectors and the counters of segments fit the memories."""

    def count(query: str) -> int:
        return connection.execute(query).fetchall()[0][0]

    wrong = {what: number for what, query in _MISFITS.items() if (number := count(query))}
    detail = ", ".join(f"{number} {what}" for what, number in wrong.items())
    found.add("tables", not wrong, detail or "all fit the memories", "report this")


def _log(connection: Connection, found: Findings) -> None:
    same = events.state_hash(connection) == events.replayed_hash(connection)
    found.add(
        "event log",
        same,
        "replays to the present state" if same else "does not replay to the present state",
        "restore a backup, or keep the state as it is: memories are checked one by one above",
    )


def _named(names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f": {', '.join(names[:NAMED_MAX])}{more}"
