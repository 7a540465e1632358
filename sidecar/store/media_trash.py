"""What is written down of files that follow their memories to the trash and back.

The functions that take a transaction join the one that moves the memory.
"""

import json
from dataclasses import dataclass
from typing import Final, Literal

from sidecar.limits import MEDIA_TRASH_NAME_BYTES_MAX, MOVES_PER_TRANSACTION_MAX
from sidecar.media_reports import MediaReport
from sidecar.model import FORGOTTEN
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

State = Literal["leaving", "trashed", "returning", "returned", "kept", "missing", "refused", "lost"]
# A file that was moved to the trash, whatever became of it since.
MOVED_STATES: Final = frozenset({"trashed", "returning", "returned", "lost"})
_COLUMNS: Final = "trash_id, ref, run_id, memory_id, trashed_as, state, bytes"
_PENDING: Final = "state IN ('leaving', 'returning')"


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """One file of `media_trash`."""

    trash_id: int
    ref: str
    run_id: str
    memory_id: str
    trashed_as: str
    state: State
    bytes: int


def leave(tx: Transaction, run_id: str, rids: list[int], now: int) -> set[str]:
    """Intend to move the files of memories just forgotten that no live memory names any more.

    Of several owners in `rids` the last one stands for the file. Answers the ids of those whose
    file was there when it was last looked at.
    """
    found = tx.connection.execute(
        "SELECT m.media_ref, m.id, m.rid, max(j.key) FROM json_each(?) j"
        " JOIN memories m ON m.rid = j.value WHERE m.media_ref IS NOT NULL"
        " GROUP BY m.media_ref HAVING NOT EXISTS"
        " (SELECT 1 FROM memories o WHERE o.media_ref = m.media_ref AND o.tier < ?)"
        " ORDER BY max(j.key)",
        (json.dumps(rids), FORGOTTEN),
    ).fetchall()
    if not found:
        return set()
    tx.connection.executemany(
        "INSERT INTO media_trash (ref, run_id, memory_id, trashed_as, state, at)"
        " VALUES (?, ?, ?, ?, 'leaving', ?)",
        [
            (ref, run_id, memory_id, f"{run_id}/{rid}-{_short(ref)}", now)
            for ref, memory_id, rid, _ in found
        ],
    )
    tx.after_commit.append(lambda columns: columns.media_follows())
    size = "SELECT 1 FROM media WHERE ref = ? AND bytes > 0"
    return {
        memory_id
        for ref, memory_id, _, _ in found
        if tx.connection.execute(size, (ref,)).fetchall()
    }


def come_back(tx: Transaction, rid: int, run_id: str | None) -> None:
    """Intend to bring back the file of a memory that is about to leave the forgotten tier.

    Call it while the row is still forgotten. A file that it shared went with another owner, then
    or later. What lies in the trash of other memories stays there.
    """
    query = "SELECT id, media_ref, forgotten_at FROM memories WHERE rid = ?"
    memory_id, ref, forgotten_at = tx.connection.execute(query, (rid,)).fetchall()[0]
    if ref is None:
        return
    found = tx.connection.execute(
        "SELECT trash_id FROM media_trash WHERE ref = ?1 AND state = 'trashed'"
        " AND (memory_id = ?2 OR at >= ?3)"
        " ORDER BY memory_id = ?2 DESC, CASE memory_id WHEN ?2 THEN -trash_id ELSE trash_id END"
        " LIMIT 1",
        (ref, memory_id, forgotten_at or 0),
    ).fetchall()
    if found:
        tx.connection.execute(
            "UPDATE media_trash SET state = 'returning', returned_run = ? WHERE trash_id = ?",
            (run_id, found[0][0]),
        )
    # Also without one in the trash: it may be on its way there, and is then to stay or return.
    tx.after_commit.append(lambda columns: columns.media_follows())


def pending(connection: Connection, after: int) -> list[TrashEntry]:
    """The next intents, as many as one step takes."""
    query = (
        f"SELECT {_COLUMNS} FROM media_trash WHERE {_PENDING} AND trash_id > ?"
        " ORDER BY trash_id LIMIT ?"
    )
    return [
        TrashEntry(*values)
        for values in connection.execute(query, (after, MOVES_PER_TRANSACTION_MAX))
    ]


def waiting(connection: Connection) -> int:
    """How many files are still to follow their memories."""
    query = f"SELECT count(*) FROM media_trash WHERE {_PENDING}"
    return connection.execute(query).fetchall()[0][0]


def is_owned(connection: Connection, ref: str) -> bool:
    """Whether a hot or cold memory names the file."""
    query = "SELECT 1 FROM memories WHERE media_ref = ? AND tier < ? LIMIT 1"
    return bool(connection.execute(query, (ref, FORGOTTEN)).fetchall())


def settle(tx: Transaction, entry: TrashEntry, state: State, size: int, now: int) -> None:
    """Note where a file is now.

    A memory may have come back, or gone, while the file was on its way: a trashed file that is
    named again is to return.
    """
    if state == "trashed" and entry.state == "leaving" and is_owned(tx.connection, entry.ref):
        state = "returning"
        tx.after_commit.append(lambda columns: columns.media_follows())
    tx.connection.execute(
        "UPDATE media_trash SET state = ?, bytes = ?, at = CASE WHEN ? THEN ? ELSE at END"
        " WHERE trash_id = ?",
        (state, size, entry.state == "returning" and state == "trashed", now, entry.trash_id),
    )


def of_run(connection: Connection, run_id: str) -> dict[str, TrashEntry]:
    """What became of the files that went with memories of a run, by memory id.

    A memory without a file, or whose file other memories name still, is not in it. The file was
    moved where the entry's state is one of MOVED_STATES.
    """
    query = f"SELECT {_COLUMNS} FROM media_trash WHERE run_id = ? ORDER BY trash_id"
    entries = (TrashEntry(*values) for values in connection.execute(query, (run_id,)))
    return {entry.memory_id: entry for entry in entries}


def report_of(connection: Connection, run_id: str) -> MediaReport:
    """The files of a run in numbers."""
    entries = of_run(connection, run_id).values()
    moved = [entry for entry in entries if entry.state in MOVED_STATES]
    return MediaReport(
        moved=len(moved),
        skipped=sum(entry.state in ("leaving", "refused") for entry in entries),
        missing=sum(entry.state == "missing" for entry in entries),
        bytes=sum(entry.bytes for entry in moved),
    )


def returned_by(connection: Connection, run_id: str, ref: str) -> State | None:
    """What became of a file that a run was to bring back; None where it had none to bring."""
    query = (
        "SELECT state FROM media_trash WHERE ref = ? AND returned_run = ?"
        " ORDER BY trash_id DESC LIMIT 1"
    )
    found = connection.execute(query, (ref, run_id)).fetchall()
    return found[0][0] if found else None


def media_bytes(connection: Connection) -> int:
    """The bytes of every file that is known: named ones, and those in the trash."""
    query = (
        "SELECT (SELECT coalesce(sum(bytes), 0) FROM media) + (SELECT coalesce(sum(bytes), 0)"
        " FROM media_trash WHERE state IN ('trashed', 'returning'))"
    )
    return connection.execute(query).fetchall()[0][0]


def is_known(connection: Connection) -> bool:
    """Whether any memory of this namespace ever named a file."""
    query = "SELECT 1 FROM media UNION ALL SELECT 1 FROM media_trash LIMIT 1"
    return bool(connection.execute(query).fetchall())


def _short(ref: str) -> str:
    """The end of a file's name, which is what its kind is known by."""
    name = ref.rpartition("/")[2].encode()
    return name[-MEDIA_TRASH_NAME_BYTES_MAX:].decode(errors="ignore")
