"""The index of cold memories on disk: a database, files of vectors, and a seal over both.

All of it can be made anew from hot.db and the segments, so nothing is synced and a crash while it
is written costs the index and nothing else: the seal is taken away before the first change and
put back after the last, and only a database that matches it is used.

    index.db           the text table `search`, and of each row what was indexed and where its
                       vector is
    index.seal         version, size and checksum of index.db
    vectors-*.f16      see cold_vectors.py; their checksums stand in index.db
"""

import os
import secrets
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import apsw
import numpy as np

from sidecar.limits import SQLITE_PAGE_BYTES
from sidecar.store import cold_vectors
from sidecar.store.cold_entries import NO_SPACE, Entries
from sidecar.store.cold_text import TABLE, count_tokens
from sidecar.store.cold_vectors import Space, VectorsDamaged
from sidecar.store.sqlite.typed import Connection
from sidecar.store.vector_index import Float32, RowIds

# Raised when the tables, or the words that search_text.py makes of a text, change.
VERSION: Final = 1
DATABASE: Final = "index.db"
SEAL: Final = "index.seal"
BUSY_TIMEOUT_MS: Final = 10_000
CACHE_KIBIBYTES: Final = 8_192
FREE_PAGES_SHARE_MAX: Final = 0.3
DEAD_SLOTS_SHARE_MAX: Final = 0.3
_READ_BYTES = 1_048_576
_COPIED_SLOTS = 4_096

_SCHEMA = f"""
{TABLE};
CREATE TABLE entries (
  rid INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, space INTEGER NOT NULL, slot INTEGER NOT NULL
) STRICT;
CREATE TABLE spaces (
  number INTEGER PRIMARY KEY, model TEXT, dimensions INTEGER NOT NULL, file TEXT NOT NULL,
  slots INTEGER NOT NULL, checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE about (build INTEGER NOT NULL, documents INTEGER NOT NULL, tokens INTEGER NOT NULL)
STRICT;
"""


class IndexDamaged(Exception):
    """The index is missing, torn, or another one than it was."""


# What may go wrong with an index; none of it is worth more than making a new one.
FAULTS: Final = (IndexDamaged, VectorsDamaged, apsw.Error, OSError)


@dataclass(frozen=True, slots=True)
class Document:
    """What is indexed of one memory: `text` as index_text gives it, `vector` of length 1."""

    rid: int
    stamp: int
    counter: int
    text: str
    model: str | None
    vector: Float32 | None


@dataclass(frozen=True, slots=True)
class IndexState:
    """What the index holds, as of one commit. `build` names this very database."""

    build: int
    entries: Entries
    spaces: tuple[Space, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many texts the text table holds, and their words."""

    documents: int
    tokens: int

    @property
    def mean_tokens(self) -> float | None:
        """The length of a text; None where there is none."""
        return self.tokens / self.documents if self.documents else None


def remove_files(folder: Path) -> None:
    """Take the whole index away. Raises OSError."""
    (folder / SEAL).unlink(missing_ok=True)  # first: what is left then counts as torn
    for name in os.listdir(folder):
        if name.startswith(DATABASE) or cold_vectors.is_vector_file(name):
            (folder / name).unlink(missing_ok=True)


def open_for_reading(folder: Path) -> Connection:
    """A connection that cannot write, in one view of the database. Raises one of FAULTS."""
    connection = apsw.Connection(str(folder / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.execute("PRAGMA temp_store = MEMORY; BEGIN").fetchall()
    return cast(Connection, connection)


def counts_of(connection: Connection, build: int) -> Counts:
    """The counts of the view. Raises IndexDamaged where it is not of this build."""
    found = connection.execute("SELECT build, documents, tokens FROM about").fetchall()
    if not found or found[0][0] != build:
        raise IndexDamaged("the index was replaced")
    return Counts(found[0][1], found[0][2])


def load(folder: Path) -> IndexState | None:
    """What a sealed index holds; None where there is none. Raises one of FAULTS.

    No counter of an entry is known yet.
    """
    try:
        seal = (folder / SEAL).read_text()
    except FileNotFoundError:
        return None
    if seal != _seal_text(folder):
        raise IndexDamaged("the index does not match its seal")
    connection = open_for_reading(folder)
    try:
        ((build, documents, _),) = connection.execute("SELECT * FROM about").fetchall()
        spaces = tuple(Space(*row) for row in connection.execute("SELECT * FROM spaces"))
        rows = connection.execute("SELECT rid, stamp, space, slot FROM entries ORDER BY rid")
        entries = Entries.of(cast("Iterable[tuple[int, int, int, int]]", rows))
    finally:
        connection.close()
    if len(entries) != documents:
        raise IndexDamaged("the index does not hold what it counts")
    for space in spaces:
        cold_vectors.check(folder, space)
    return IndexState(build, entries, spaces)


class IndexWriter:
    """Changes an index. The seal is off from the making of this to `close`.

    `state` is what has been committed. Methods raise one of FAULTS.
    """

    def __init__(self, folder: Path, state: IndexState | None) -> None:
        """Go on with an index, or make a new one where `state` is None."""
        self._folder = folder
        (folder / SEAL).unlink(missing_ok=True)
        if state is None:
            remove_files(folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            os.close(os.open(folder / DATABASE, flags, 0o600))
        self._connection: Any = apsw.Connection(
            str(folder / DATABASE), flags=apsw.SQLITE_OPEN_READWRITE
        )
        try:
            self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            self._connection.execute(
                f"PRAGMA page_size = {SQLITE_PAGE_BYTES}; PRAGMA journal_mode = MEMORY;"
                f"PRAGMA synchronous = OFF; PRAGMA cache_size = -{CACHE_KIBIBYTES}"
            ).fetchall()
            self.state = self._create() if state is None else state
            counts_of(self._connection, self.state.build)
        except BaseException:
            self._connection.close()
            raise

    def _create(self) -> IndexState:
        build = secrets.randbits(62)
        with self._transaction():
            self._connection.execute(_SCHEMA)
            self._connection.execute("INSERT INTO about VALUES (?, 0, 0)", (build,))
        return IndexState(build, Entries.of(()), ())

    def remove(self, rids: RowIds) -> None:
        """Take rows out of the text table and the entries; their slots are dead."""
        given = [(rid,) for rid in rids.tolist()]
        with self._transaction():
            self._connection.executemany("DELETE FROM search WHERE rowid = ?", given)
            self._connection.executemany("DELETE FROM entries WHERE rid = ?", given)
            self._count()
        self.state = replace(self.state, entries=self.state.entries.without(rids))

    def add(self, documents: Sequence[Document]) -> Entries:
        """Index rows that have no entry; answers their entries, which `state` gets by `join`."""
        spaces = {(one.model, one.dimensions): one for one in self.state.spaces}
        slots = self._append(documents, spaces)
        made = Entries.of(
            [(one.rid, one.stamp, *slots.get(one.rid, (NO_SPACE, 0))) for one in documents],
            [one.counter for one in documents],
        )
        with self._transaction():
            self._connection.executemany(
                "INSERT INTO search (rowid, text) VALUES (?, ?)",
                ((one.rid, one.text) for one in documents),
            )
            self._connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", made.stored())
            self._connection.executemany(
                "INSERT OR REPLACE INTO spaces VALUES (?, ?, ?, ?, ?, ?)",
                [_stored(space) for space in spaces.values()],
            )
            self._count()
        self.state = replace(self.state, spaces=tuple(spaces.values()))
        return made

    def join(self, made: Sequence[Entries]) -> None:
        """Let `state` name entries that `add` made."""
        self.state = replace(self.state, entries=self.state.entries.joined(made))

    def _append(
        self, documents: Sequence[Document], spaces: dict[tuple[str | None, int], Space]
    ) -> dict[int, tuple[int, int]]:
        """Write the vectors, and answer each one's space and slot by its row."""
        groups: dict[tuple[str | None, int], list[Document]] = {}
        for one in documents:
            if one.vector is not None:
                groups.setdefault((one.model, len(one.vector)), []).append(one)
        found: dict[int, tuple[int, int]] = {}
        for (model, size), group in groups.items():
            space = spaces.get((model, size))
            if space is None:
                number = 1 + max((one.number for one in spaces.values()), default=0)
                file = cold_vectors.new_file_name(model, size)
                space = Space(number, model, size, file)
            for slot, one in enumerate(group, space.slots):
                found[one.rid] = space.number, slot
            data = cold_vectors.as_halves([one.vector for one in group if one.vector is not None])
            spaces[model, size] = cold_vectors.append(self._folder, space, data)
        return found

    def worth_repacking(self) -> list[Space]:
        """The spaces of which too many slots are dead."""

        def live(space: Space) -> int:
            return int(np.count_nonzero(self.state.entries.space == space.number))

        return [
            space
            for space in self.state.spaces
            if space.slots - live(space) > DEAD_SLOTS_SHARE_MAX * space.slots
        ]

    def repack(self, space: Space) -> None:
        """Copy the live slots of a space to a new file. The old one is left to `close`."""
        entries = self.state.entries
        members = np.flatnonzero(entries.space == space.number)
        members = members[np.argsort(entries.slot[members])]
        slots = entries.slot[members]
        packed = Space(
            space.number,
            space.model,
            space.dimensions,
            cold_vectors.new_file_name(space.model, space.dimensions),
        )
        descriptor = cold_vectors.open_vectors(self._folder, space)
        try:
            for start in range(0, space.slots, _COPIED_SLOTS):
                count = min(_COPIED_SLOTS, space.slots - start)
                block = np.frombuffer(
                    cold_vectors.read_slots(descriptor, space, start, count), "<i2"
                ).reshape(count, space.dimensions)
                live = block[slots[(slots >= start) & (slots < start + count)] - start]
                packed = cold_vectors.append(self._folder, packed, live.tobytes())
        finally:
            os.close(descriptor)
        moved = zip(range(len(members)), entries.rid[members].tolist(), strict=True)
        with self._transaction():
            self._connection.execute("DELETE FROM spaces WHERE number = ?", (space.number,))
            if packed.slots:
                self._connection.execute(
                    "INSERT INTO spaces VALUES (?, ?, ?, ?, ?, ?)", _stored(packed)
                )
            self._connection.executemany("UPDATE entries SET slot = ? WHERE rid = ?", moved)
        kept = [one for one in self.state.spaces if one.number != space.number]
        self.state = replace(
            self.state,
            entries=entries.moved(members, np.arange(len(members), dtype=np.int32)),
            spaces=tuple([*kept, packed] if packed.slots else kept),
        )

    def close(self, *, seal: bool) -> None:
        """Give free pages back, remove files of vectors that are not used any more, and seal."""
        try:
            if seal:
                pages = self._pragma("page_count")
                if self._pragma("freelist_count") > FREE_PAGES_SHARE_MAX * pages:
                    self._connection.execute("VACUUM")
        finally:
            self._connection.close()
        if not seal:
            return
        used = {space.file for space in self.state.spaces}
        for name in os.listdir(self._folder):
            if cold_vectors.is_vector_file(name) and name not in used:
                (self._folder / name).unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        text = _seal_text(self._folder).encode()
        descriptor = os.open(self._folder / SEAL, flags, 0o600)
        try:
            os.write(descriptor, text)
        finally:
            os.close(descriptor)

    @contextmanager
    def _transaction(self) -> Generator[None]:
        """Commit what the block does. Not by apsw's own: its commit keeps the interpreter's lock
        while it waits for readers, who then never end."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _pragma(self, name: str) -> int:
        return self._connection.execute(f"PRAGMA {name}").fetchall()[0][0]

    def _count(self) -> None:
        self._connection.execute(
            "UPDATE about SET documents = ?, tokens = ?", count_tokens(self._connection)
        )


def _stored(space: Space) -> tuple[object, ...]:
    return (
        space.number,
        space.model,
        space.dimensions,
        space.file,
        space.slots,
        space.checksum,
    )


def _seal_text(folder: Path) -> str:
    checksum = size = 0
    with (folder / DATABASE).open("rb") as file:
        while data := file.read(_READ_BYTES):
            checksum = zlib.crc32(data, checksum)
            size += len(data)
    return f"forgetd cold index {VERSION} {size} {checksum:08x}\n"
