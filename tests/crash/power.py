"""What is on disk when the power goes: only what was synced, and at random some of the rest.

`Recorder` notes every change of the database's files and of the segments while a namespace
works. `leave` then writes the files as they may stand after a cut at any entry of its log.
"""

import functools
import os
import random
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.crash.faulty_disk import Layer, under_sqlite

DATABASE = ("hot.db", "hot.db-wal")
COMMITS = "commits"
Entry = tuple[Any, ...]


class Recorder(Layer):
    """The log: what was written, cut, synced, linked, unlinked and answered, in order."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log: list[Entry] = []
        self._lock = threading.Lock()

    def answered(self) -> None:
        """A caller has its reply."""
        self._note("answered")

    def before_write(self, name: str, offset: int, data: bytes) -> None:
        self._note("write", name, offset, data)

    def after_sync(self, name: str) -> None:
        self._note("sync", name)

    def before_truncate(self, name: str, size: int) -> None:
        self._note("truncate", name, size)

    def before_delete(self, name: str) -> None:
        self._note("delete", name)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note what happens to the files of the namespace meanwhile."""
        watched = {
            "fsync": self._fsynced,
            "link": self._linked,
            "unlink": self._unlinked,
            "pwrite": self._written,
        }
        originals = {name: getattr(os, name) for name in watched}
        for name, note in watched.items():
            setattr(os, name, _noting(originals[name], note))
        try:
            with under_sqlite(self):
                yield
        finally:
            for name, original in originals.items():
                setattr(os, name, original)

    def _fsynced(self, descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if not path.is_relative_to(self.directory):
            return
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            self._note("folder", path)
        else:
            self._note("content", path, path.read_bytes())

    def _linked(self, source: Path, target: Path) -> None:
        self._note("link", Path(source), Path(target))

    def _unlinked(self, path: Path, **_: Any) -> None:
        self._note("unlink", Path(path))

    def _written(self, descriptor: int, *_: Any) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path == self.directory / COMMITS:
            self._note("counter", path.read_bytes())

    def _note(self, *entry: Any) -> None:
        with self._lock:
            self.log.append(entry)


def _noting(operation: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
    @functools.wraps(operation)
    def noting(*arguments: Any, **named: Any) -> Any:
        result = operation(*arguments, **named)
        note(*arguments, **named)
        return result

    return noting


class _Disk:
    """The state of the files while the log is read."""

    def __init__(self) -> None:
        self.databases: dict[str, bytearray] = {}
        self.unsynced: dict[str, list[Entry]] = {}
        self.contents: dict[Path, bytes] = {}
        self.segments: dict[Path, bytes] = {}
        self.renames: list[tuple[Path, bytes | None]] = []
        self.counters: list[bytes | None] = [None]

    def read(self, entry: Entry) -> None:
        """Take one entry of the log."""
        match entry:
            case ("write" | "truncate", name, *_):
                self.unsynced.setdefault(name, []).append(entry)
            case ("sync", name):
                for written in self.unsynced.pop(name, []):
                    self.apply(written)
                self.databases.setdefault(name, bytearray())
            case ("delete", name):
                self.databases.pop(name, None)
                self.unsynced.pop(name, None)
            case ("content", path, content):
                self.contents[path] = content
            case ("link", source, target):
                self.renames.append((target, self.contents.get(source, b"")))
            case ("unlink", path):
                self.renames.append((path, None))
            case ("folder", folder):
                for path, content in self.renames:
                    if path.parent == folder:
                        self.rename(path, content)
                self.renames = [one for one in self.renames if one[0].parent != folder]
            case ("counter", content):
                self.counters.append(content)

    def apply(self, entry: Entry) -> None:
        """Carry out a write or a cut of a database's file."""
        file = self.databases.setdefault(entry[1], bytearray())
        if entry[0] == "truncate":
            del file[entry[2] :]
            file.extend(bytes(entry[2] - len(file)))
        else:
            _, _, offset, data = entry
            file.extend(bytes(max(0, offset + len(data) - len(file))))
            file[offset : offset + len(data)] = data

    def rename(self, path: Path, content: bytes | None) -> None:
        """A name appears, or goes."""
        if content is None:
            self.segments.pop(path, None)
        elif not path.name.startswith("."):
            self.segments[path] = content


def leave(
    recorder: Recorder, cut: int, target: Path, rng: random.Random, *, reaches_disk: float
) -> int:
    """Write into `target` what stands after the cut; how many calls were answered before it.

    Of what nobody synced, each part is there with the probability `reaches_disk`.
    """
    disk = _Disk()
    for entry in recorder.log[:cut]:
        disk.read(entry)
    for entries in disk.unsynced.values():
        for entry in entries:
            if rng.random() < reaches_disk:
                disk.apply(entry)
    for path, content in disk.renames:
        if rng.random() < reaches_disk:
            disk.rename(path, content)
    for folder in ("cold", "forgotten"):
        (target / folder).mkdir(parents=True)
    for name, content in disk.databases.items():
        if name in DATABASE:
            (target / name).write_bytes(content)
    for path, content in disk.segments.items():
        (target / path.relative_to(recorder.directory)).write_bytes(content)
    counter = rng.choice(disk.counters[-3:])
    if counter is not None:
        (target / COMMITS).write_bytes(counter)
    return sum(entry[0] == "answered" for entry in recorder.log[:cut])
