"""Looking at a namespace that no daemon has open, and the two repairs an operator may order."""

import os
from pathlib import Path

from sidecar.store import rows
from sidecar.store.check import Scope, check
from sidecar.store.commits import CommitFile, StoredCounts, read_counts
from sidecar.store.findings import Findings, named
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.segments import SegmentDamaged
from sidecar.store.sqlite.connection import open_writer, translated
from sidecar.store.sqlite.source import PayloadDamaged, read_payload
from sidecar.store.sqlite.typed import Connection
from sidecar.store.store import finish_unlinks, lock_directory, unknown_segments


def examine(directory: Path) -> Findings:
    """Read everything of a namespace and change nothing. Raises NamespaceLocked."""
    descriptor = lock_directory(directory)
    try:
        return check(directory, Scope(read_data=True, replay=True, at_work=False))
    finally:
        os.close(descriptor)


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
    found.add("reclaimed", True, f"{len(removed)} segments were removed{named(removed)}")
    found.add(
        "kept",
        not kept,
        f"{len(kept)} unknown segments hold what is nowhere else{named(kept)}",
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
