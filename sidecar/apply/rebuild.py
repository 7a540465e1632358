"""Making a namespace's database anew from its event log, its texts and its segments.

The log says what every memory is; where each payload lies is found by reading all payloads and
comparing hashes. The result is built in a file beside `hot.db`. To take its place its pages are
written into `hot.db` in one transaction, so a kill at any byte leaves the old or the new database.
"""

import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import apsw
import msgspec

from sidecar.apply import journal
from sidecar.apply.journal import Decisions
from sidecar.errors import Corrupt, SchemaTooNew
from sidecar.model import ARCHIVED, COLD, HOT
from sidecar.store import cold_tables, events
from sidecar.store.check import REBUILT, looking
from sidecar.store.findings import named
from sidecar.store.media import media_size
from sidecar.store.rebuild_sources import (
    Archive,
    Line,
    State,
    match_texts,
    payload_of,
    read_archive,
    text_at,
    text_bytes_of,
)
from sidecar.store.rows import COLUMNS, Row, cold_bytes, hot_bytes
from sidecar.store.search_text import index_text
from sidecar.store.segment_files import FOLDER
from sidecar.store.segments import fsync_directory
from sidecar.store.sqlite.connection import keep_wal, open_reader, open_writer, translated
from sidecar.store.sqlite.migrate import available, migrate
from sidecar.store.sqlite.typed import Connection
from sidecar.store.store import lock_directory

# What is made anew. All other tables are copied: nothing can be made of them but what is in them.
_MADE: Final = frozenset({"memories", "texts", "vectors", "search", "segments", "media"})
_ORDINARY: Final = (
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    " AND name NOT LIKE 'sqlite_%' ORDER BY name"
)
# A write that brings a memory back to hot leaves what its row says of the last move.
_MOVES_WITHOUT_RUN: Final = frozenset({"memory.thawed", "memory.adopted"})
_PLACES: Final = (
    "SELECT id, rid, tier, segment, frame, line, bytes, moved_run, moved_reason, tier_left,"
    " archived_run FROM memories"
)
_INSERT: Final = f"INSERT INTO memories VALUES ({', '.join(f':{name}' for name in COLUMNS)})"
_SUFFIXES: Final = ("", "-wal", "-shm")


@dataclass(slots=True)
class Rebuilt:
    """What came of it. `refused` says why nothing was made; `database` is the result's file."""

    refused: list[str] = field(default_factory=list[str])
    before: str = ""  # the state hash of the tables as they were; "" where they are not readable
    after: str = ""
    memories: int = 0
    damaged_segments: list[str] = field(default_factory=list[str])
    unclaimed_texts: int = 0
    database: Path | None = None
    backup: Path | None = None


def rebuild(directory: Path, *, in_place: bool) -> Rebuilt:
    """Build `rebuilt.db`; with `in_place` make it the namespace's database and remove it.

    Before hot.db is changed its files are copied into `backups/`. Raises NamespaceLocked,
    SchemaTooNew, Corrupt where the event log itself cannot be read.
    """
    descriptor = lock_directory(directory)
    try:
        with translated():
            result = _build(directory)
            if in_place and not result.refused:
                result.backup = _keep_old(directory)
                _replace(directory)
                _remove(directory)
                result.database = directory / "hot.db"
            return result
    finally:
        os.close(descriptor)


def _build(directory: Path) -> Rebuilt:
    _remove(directory)
    with looking(directory) as old:
        _require_schema(old)
        plan = _Plan(directory, old)
        result = plan.result
        if result.refused:
            return result
        previous = os.umask(0o077)
        try:
            new = open_writer(directory / REBUILT)
        finally:
            os.umask(previous)
        try:
            migrate(new, directory / "backups")
            new.execute("BEGIN IMMEDIATE")
            _fill(old, new, plan)
            new.execute("COMMIT")
            result.after = events.state_hash(new)
            _verify(old, new, result.after)
            new.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            new.close()
    fsync_directory(directory)
    result.database = directory / REBUILT
    return result


def _require_schema(old: Connection) -> None:
    (schema,) = old.execute("PRAGMA user_version").fetchall()[0]
    newest = available()[-1][0]
    if schema != newest:
        raise SchemaTooNew(
            f"The namespace has schema {schema}, this version rebuilds {newest}",
            remedy="use the version of forgetd that wrote it",
        )


class _Plan:
    """What the new tables will hold, or why they must not be made."""

    def __init__(self, directory: Path, old: Connection) -> None:
        self.directory = directory
        self.archive: Archive = read_archive(directory)
        self.states: dict[str, State] = events.replay(old)
        self.places = _places(old)
        self.moves = _Moves(old)
        self.result = Rebuilt(before=_present_hash(old), damaged_segments=self.archive.damaged)
        hot = [state for state in self.states.values() if state["tier"] == HOT]
        known = {memory_id: place["rid"] for memory_id, place in self.places.items()}
        self.hot, self.result.unclaimed_texts = match_texts(old, hot, known)
        self.cold: dict[str, Line] = {}
        for memory_id, state in self.states.items():
            if memory_id not in self.hot and (line := self._line(state)):
                self.cold[memory_id] = line
        self.result.memories = len(self.states)
        self._refuse()

    def _line(self, state: State) -> Line | None:
        place = self.places.get(state["id"])
        before = None if place is None else (place["segment"], place["frame"], place["line"])
        found = self.archive.find(state, before)
        if found is None and state["tier"] == HOT:
            # Its text is gone, and a copy in the archive is as good.
            found = self.archive.find({**state, "tier": COLD}, None)
        return found

    def _refuse(self) -> None:
        unlogged = sorted(self.places.keys() - self.states.keys())
        if unlogged:
            self.result.refused.append(
                f"{len(unlogged)} memories are in no event, and would vanish{named(unlogged)}"
            )
        lost = [id for id in sorted(self.states) if id not in self.hot and id not in self.cold]
        if lost:
            self.result.refused.append(
                f"the payload of {len(lost)} memories was not found, they would vanish{named(lost)}"
            )


class _Moves:
    """Which run moved each memory last, why, and from where: by the events and the journal."""

    def __init__(self, old: Connection) -> None:
        self._old = old
        self._last: dict[str, tuple[str | None, int]] = {}
        self._reasons: dict[str, dict[int, int]] = {}
        tiers: dict[str, int] = {}
        query = (
            "SELECT memory_id, kind, run_id, payload ->> 'tier' FROM events"
            " WHERE payload ->> 'tier' IS NOT NULL ORDER BY seq"
        )
        for memory_id, kind, run_id, tier in old.execute(query):
            if run_id is not None or kind in _MOVES_WITHOUT_RUN:
                self._last[memory_id] = (run_id, tiers.get(memory_id, HOT))
            tiers[memory_id] = tier
        query = (
            "SELECT memory_id, run_id FROM events WHERE kind = 'memory.invalidated' ORDER BY seq"
        )
        # The run that took belief from each memory last; None where a host did.
        self.disbelieving: dict[str, str | None] = dict(old.execute(query))

    def of(self, memory_id: str, rid: int) -> dict[str, Any]:
        """The columns that tell of the last move; nothing where its event was folded."""
        if memory_id not in self._last:
            return {}
        run_id, left = self._last[memory_id]
        reason = None if run_id is None else self._reasons_of(run_id).get(rid)
        return {"moved_run": run_id, "moved_reason": reason, "tier_left": left}

    def _reasons_of(self, run_id: str) -> dict[int, int]:
        if run_id not in self._reasons:
            decisions: Decisions = journal.all_decisions(self._old, run_id)[0]
            pairs = zip(decisions["rid"].tolist(), decisions["reason"].tolist(), strict=True)
            self._reasons[run_id] = dict(pairs)
        return self._reasons[run_id]


def _places(old: Connection) -> dict[str, dict[str, Any]]:
    """Where the present table of memories says that each one lies, as far as it can be read."""
    names = ("rid", "tier", "segment", "frame", "line", "bytes")
    names += ("moved_run", "moved_reason", "tier_left", "archived_run")
    return {
        memory_id: dict(zip(names, values, strict=True))
        for memory_id, *values in old.execute(_PLACES)
    }


def _present_hash(old: Connection) -> str:
    try:
        return events.state_hash(old)
    except apsw.Error:
        return ""


def _fill(old: Connection, new: Connection, plan: _Plan) -> None:
    for table in sorted({name for (name,) in new.execute(_ORDINARY)} - _MADE):
        new.execute(f"DELETE FROM {table}")
        _copy_table(old, new, table)
    sequences = old.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    rids = _Rids(plan, max((seq for name, seq in sequences if name == "memories"), default=0))
    live: Counter[str] = Counter()
    for memory_id, state in plan.states.items():
        row = _row(plan, old, state, rids.of(memory_id))
        new.execute(_INSERT, msgspec.structs.asdict(row))
        if row.segment is not None:
            live[row.segment] += 1
        else:
            _fill_hot(old, new, plan.hot[memory_id], state)
    _fill_segments(old, new, plan, live)
    refs = {state["media_ref"] for state in plan.states.values()} - {None}
    sizes = [(ref, media_size(plan.directory / "media", ref)) for ref in sorted(refs)]
    new.executemany("INSERT INTO media VALUES (?, ?)", sizes)
    # Row numbers and event numbers are never given twice.
    new.execute("DELETE FROM sqlite_sequence")
    numbers = dict(sequences) | {"memories": rids.highest}
    new.executemany("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", numbers.items())


class _Rids:
    """Row numbers: of the text, of the old table, of the line, else a new one."""

    def __init__(self, plan: _Plan, highest: int) -> None:
        self._plan = plan
        self._taken: set[int] = set(plan.hot.values())
        wished: dict[str, int] = dict(plan.hot)
        for memory_id, line in plan.cold.items():
            place = plan.places.get(memory_id)
            rid = place["rid"] if place else line.rid
            if rid is not None and rid not in self._taken:
                wished[memory_id] = rid
                self._taken.add(rid)
        self._wished = wished
        self.highest = max(self._taken, default=0)
        self.highest = max(self.highest, highest)

    def of(self, memory_id: str) -> int:
        """The row number of a memory."""
        if memory_id in self._wished:
            return self._wished[memory_id]
        self.highest += 1
        return self.highest


def _row(plan: _Plan, old: Connection, state: State, rid: int) -> Row:
    values: dict[str, Any] = {name: state.get(name) for name in COLUMNS}
    values |= {"rid": rid, "content_hash": bytes.fromhex(state["content_hash"])}
    place, line = plan.places.get(state["id"]), plan.cold.get(state["id"])
    if line is None:
        payload = payload_of(state, text_at(old, plan.hot[state["id"]]))
        text_bytes = text_bytes_of(payload)
        indexed = len(index_text(payload.content).encode())
        size = hot_bytes(text_bytes, indexed, state["embedding_dimensions"])
        values |= {"tier": HOT, "text_bytes": text_bytes, "bytes": size}
    else:
        size = cold_bytes(line.text_bytes, state["embedding_dimensions"])
        if place is not None and place["segment"] == line.segment:
            size = place["bytes"]
        values |= {
            "tier": line.tier,
            "segment": line.segment,
            "frame": line.frame,
            "line": line.line,
            "text_bytes": line.text_bytes,
            "bytes": size,
            "tier_left": line.tier_left,
        }
    values |= plan.moves.of(state["id"], rid)
    if place is not None and place["tier"] == values["tier"]:
        values |= {name: place[name] for name in ("moved_run", "moved_reason", "tier_left")}
    if place is not None:
        values["archived_run"] = place["archived_run"]
    elif state["status"] == ARCHIVED:
        values["archived_run"] = plan.moves.disbelieving.get(state["id"])
    return Row(**values)


def _fill_hot(old: Connection, new: Connection, rid: int, state: State) -> None:
    payload = payload_of(state, text_at(old, rid))
    new.execute(
        "INSERT INTO texts VALUES (?, ?, ?, ?)",
        (rid, payload.content, payload.metadata, payload.extra),
    )
    if payload.embedding is not None:
        new.execute("INSERT INTO vectors VALUES (?, ?)", (rid, payload.embedding))
    new.execute(
        "INSERT INTO search (rowid, text) VALUES (?, ?)", (rid, index_text(payload.content))
    )


def _fill_segments(old: Connection, new: Connection, plan: _Plan, live: Counter[str]) -> None:
    """The list of segments: those with a memory, and the known ones that are still to be kept."""
    known = {values[0]: values for values in old.execute("SELECT * FROM segments")}
    for name, count in live.items():
        file = plan.archive.files[name]
        before = known.get(name)
        # A file that nobody listed may hold lines that stand nowhere else: all of them count.
        needed = file.records if before is None else max(count, before[4])
        run_id, sealed_at = (None, 0) if before is None else (before[2], before[7])
        new.execute(
            "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (name, file.tier, run_id, file.records, needed, file.size, file.sha256, sealed_at),
        )
    others = [values for name, values in known.items() if name not in live and values[4] > 0]
    new.executemany("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", others)
    new.execute("DELETE FROM unlink_intents WHERE name IN (SELECT name FROM segments)")


def _copy_table(old: Connection, new: Connection, table: str) -> None:
    columns = [values[1] for values in new.execute(f"PRAGMA table_info({table})").fetchall()]
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    rows = old.execute(f"SELECT {names} FROM {table}")
    new.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)


def _verify(old: Connection, new: Connection, after: str) -> None:
    answers = [row[0] for row in new.execute("PRAGMA integrity_check(1)")]
    if answers != ["ok"] or after != events.replayed_hash(old):
        raise Corrupt("The rebuilt database is not what the log says", remedy="report this")


def _keep_old(directory: Path) -> Path:
    """Copy the files of the database, byte by byte, into a new folder of `backups/`; durably."""
    backups = directory / "backups"
    backups.mkdir(mode=0o700, exist_ok=True)
    number = 1
    while (backups / f"before-rebuild-{number}").exists():
        number += 1
    folder = backups / f"before-rebuild-{number}"
    folder.mkdir(mode=0o700)
    for name in ("hot.db", "hot.db-wal", "commits"):
        if not (directory / name).exists():
            continue
        shutil.copy2(directory / name, folder / name)
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(descriptor)
        os.close(descriptor)
    fsync_directory(folder)
    fsync_directory(backups)
    return folder


def _replace(directory: Path) -> None:
    """Write the pages of the rebuilt database into hot.db, all in one transaction."""
    source = open_reader(directory / REBUILT)
    target = open_writer(directory / "hot.db")
    try:
        with cast(Any, target).backup("main", cast(Any, source), "main") as backup:
            backup.step()
        target.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except BaseException:
        keep_wal(target)
        raise
    finally:
        source.close()
        target.close()
    # The index of cold memories is a cache of what lay elsewhere.
    cold_tables.remove_files(directory / FOLDER[COLD])


def _remove(directory: Path) -> None:
    for suffix in _SUFFIXES:
        (directory / f"{REBUILT}{suffix}").unlink(missing_ok=True)
