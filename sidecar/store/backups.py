"""Copies of the database that lie in a namespace's own directory: they hold memories too.

A migration leaves a file `NAME.db`, other work a folder with `hot.db` and its log as they were.
"""

import json
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from sidecar.store.segments import fsync_directory

FOLDER: Final = "backups"
DATABASE: Final = "hot.db"
IDS_PER_QUERY: Final = 1_000
_NAMED: Final = (
    "SELECT 1 FROM memories WHERE id IN (SELECT value FROM json_each(?1)) UNION ALL"
    " SELECT 1 FROM events WHERE memory_id IN (SELECT value FROM json_each(?1)) LIMIT 1"
)
# A text that was only proposed then may be a memory by now.
_PROPOSED: Final = (
    "SELECT 1 FROM proposals WHERE id IN (SELECT value FROM json_each(?1))"
    " OR supersedes IN (SELECT value FROM json_each(?1)) LIMIT 1"
)
_HAS_PROPOSALS: Final = "SELECT 1 FROM sqlite_schema WHERE name = 'proposals'"


def remove_naming(directory: Path, ids: Collection[str]) -> list[str]:
    """Remove each copy, file or folder, that holds one of `ids`; answers their names, in order.

    A copy of one database cannot be freed of some memories without being another one; what else
    it holds is in the database itself. Raises OSError.
    """
    folder = directory / FOLDER
    removed: list[str] = []
    for copy in sorted(folder.glob("*")):
        if copy.is_symlink():
            continue
        if copy.is_dir() and _holds_any(copy / DATABASE, ids):
            shutil.rmtree(copy)
        elif copy.suffix == ".db" and copy.is_file() and _holds_any(copy, ids):
            copy.unlink()
        else:
            continue
        removed.append(copy.name)
    if removed:
        fsync_directory(folder)
    return removed


def _holds_any(copy: Path, ids: Collection[str]) -> bool:
    """Whether a copy, or the log beside it, has one of the ids."""
    if not copy.is_file() or copy.is_symlink():
        return False
    log = copy.with_name(copy.name + "-wal")
    logged = log.read_bytes() if log.is_file() and not log.is_symlink() else b""
    return any(each.encode() in logged for each in ids) or _names_any(copy, ids)


def _names_any(copy: Path, ids: Collection[str]) -> bool:
    wanted = list(ids)
    # A copy is never written to: SQLite needs neither lock nor log for it.
    address = f"file:{quote(str(copy.absolute()))}?immutable=1"
    try:
        connection = apsw.Connection(
            address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
    except apsw.Error:
        return False
    try:
        queries = [_NAMED]
        if connection.execute(_HAS_PROPOSALS).fetchall():  # an older copy has no such table
            queries.append(_PROPOSED)
        return any(
            connection.execute(
                query, (json.dumps(wanted[start : start + IDS_PER_QUERY]),)
            ).fetchall()
            for query in queries
            for start in range(0, len(wanted), IDS_PER_QUERY)
        )
    except apsw.Error:
        return False
    finally:
        connection.close()
