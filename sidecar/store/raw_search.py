"""Searching the raw bytes of every file of a namespace, and what is compressed in them.

A text is cut into pieces, so that it is found also where a page or a buffer ends within it. Eight
bytes of each piece decide, by a table, which places are compared at all.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import apsw
import msgspec
import numpy as np
import zstandard

from sidecar.limits import (
    VERIFY_TEXT_BYTES_MIN,
    VERIFY_TEXTS_BYTES_MAX,
    VERIFY_TEXTS_COUNT_MAX,
)
from sidecar.store.payload import Payload

PIECE_BYTES_MAX: Final = 1_024
READ_BYTES: Final = 4 * 1_048_576
PROBE_BYTES: Final = 8
TABLE_BITS: Final = 24
_SPREAD: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
_SHIFT: Final = np.uint64(64 - TABLE_BITS)
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
# Shared memory of SQLite: page numbers, no pages. Its locks must not be let go of by a reader.
_NEVER_READ: Final = ("-shm",)


class Texts:
    """What is to be searched for, as far as it is long enough and there is room for it."""

    def __init__(self) -> None:
        self.offered = 0
        self.kept: list[bytes] = []
        self._bytes = 0

    def add(self, payload: Payload) -> None:
        """The words, the metadata and the vector of one memory."""
        parts = (payload.content, payload.metadata, payload.extra)
        for part in (*(each.encode() for each in parts), payload.embedding or b""):
            self.offer(part)

    def offer(self, text: bytes) -> None:
        """One text, unless it is too short to mean anything, or there are too many."""
        if len(text) < VERIFY_TEXT_BYTES_MIN or not any(text):
            return
        self.offered += 1
        if not self.full and self._bytes + len(text) <= VERIFY_TEXTS_BYTES_MAX:
            self._bytes += len(text)
            self.kept.append(text)

    @property
    def full(self) -> bool:
        """Whether there is no room for more."""
        return len(self.kept) >= VERIFY_TEXTS_COUNT_MAX or self._bytes >= VERIFY_TEXTS_BYTES_MAX


@dataclass(slots=True)
class Search:
    """What was searched: which pieces were found, and in which files (by name)."""

    found: dict[bytes, set[str]] = field(default_factory=dict[bytes, set[str]])
    files: int = 0
    bytes: int = 0
    not_reached: list[str] = field(default_factory=list[str])


def search_files(directory: Path, texts: Iterable[bytes]) -> Search:
    """Look for texts in every file below a directory, raw, and decompressed where it is zstd."""
    search = Search()
    finder = _Finder(texts)
    for path, name in _files(directory, search):
        try:
            for chunk in _chunks(path):
                search.bytes += len(chunk)
                for piece in finder.pieces_in(chunk):
                    search.found.setdefault(piece, set()).add(name)
            search.files += 1
        except (OSError, apsw.Error, zstandard.ZstdError):
            search.not_reached.append(name)
    return search


def _files(directory: Path, search: Search) -> Iterator[tuple[Path, str]]:
    """Every regular file with its name below the directory; links are named, not followed."""
    for folder, folders, names in os.walk(directory):
        for name in sorted(
            names + [each for each in folders if (Path(folder) / each).is_symlink()]
        ):
            path = Path(folder) / name
            shown = path.relative_to(directory).as_posix()
            if name.endswith(_NEVER_READ):
                continue
            try:
                if stat.S_ISREG(path.lstat().st_mode):
                    yield path, shown
                else:
                    search.not_reached.append(shown)
            except FileNotFoundError:
                continue


def _chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, and then what they are decompressed, each chunk with an overlap."""
    if path.suffix == ".db":
        yield from _overlapping(_database_blocks(path))
        return
    with path.open("rb") as file:
        packed = file.read(len(_ZSTD_MAGIC)) == _ZSTD_MAGIC
        file.seek(0)
        yield from _overlapping(iter(lambda: file.read(READ_BYTES), b""))
        if packed:
            file.seek(0)
            with zstandard.ZstdDecompressor().stream_reader(
                file, read_across_frames=True, closefd=False
            ) as reader:
                yield from _overlapping(iter(lambda: reader.read(READ_BYTES), b""))


def _database_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a database, read through SQLite's own file layer.

    Had this process opened the file by itself, closing it would let go of SQLite's locks.
    """
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    file = cast(Any, apsw.VFSFile("", str(path), flags))
    try:
        size: int = file.xFileSize()
        for offset in range(0, size, READ_BYTES):
            yield file.xRead(min(READ_BYTES, size - offset), offset)
    finally:
        file.xClose()


def _overlapping(blocks: Iterator[bytes]) -> Iterator[bytes]:
    tail = b""
    for block in blocks:
        yield tail + block
        tail = block[-PIECE_BYTES_MAX:]


def pieces_of(text: bytes) -> list[bytes]:
    """The pieces of a text, as it is and as a JSON document spells it."""
    forms = {text}
    with suppress(UnicodeDecodeError):  # a vector is no text
        forms.add(msgspec.json.encode(text.decode())[1:-1])
    pieces: list[bytes] = []
    for form in forms:
        size = max(VERIFY_TEXT_BYTES_MIN, min(PIECE_BYTES_MAX, len(form) // 2))
        starts = range(0, len(form) - size + 1, size)
        pieces += [form[start : start + size] for start in starts]
    return pieces


class _Finder:
    """Finds pieces in blocks of bytes."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._by_probe: dict[bytes, set[bytes]] = {}
        for text in texts:
            for piece in pieces_of(text):
                self._by_probe.setdefault(_probe(piece), set()).add(piece)
        self._table = np.zeros(1 << TABLE_BITS, np.bool_)
        for probe in self._by_probe:
            self._table[_slots(np.frombuffer(probe, "<u8"))] = True

    def pieces_in(self, block: bytes) -> set[bytes]:
        """The pieces that stand somewhere in a block."""
        found: set[bytes] = set()
        if not self._by_probe:
            return found
        for shift in range(PROBE_BYTES):
            count = (len(block) - shift) // PROBE_BYTES
            if count <= 0:
                break
            windows = np.frombuffer(block, "<u8", count, shift)
            for at in np.flatnonzero(self._table[_slots(windows)]).tolist():
                place = shift + PROBE_BYTES * at
                probe = block[place : place + PROBE_BYTES]
                for piece in self._by_probe.get(probe, ()):
                    start = place - len(piece) // 2
                    if start >= 0 and block[start : start + len(piece)] == piece:
                        found.add(piece)
        return found


def _probe(piece: bytes) -> bytes:
    return piece[len(piece) // 2 :][:PROBE_BYTES]


def _slots(windows: Any) -> Any:
    return (windows * _SPREAD) >> _SHIFT
