"""Disks that fail under a real SQLite: layers between it and the files.

Each is an apsw VFS over the system's own, used through `Durability.vfs_name`.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from sidecar.store.sqlite.connection import Durability

_numbers = itertools.count()


class Layer:
    """What is asked of the disk, before it is done. Override to note it, or to fail it.

    `name` is the file's name without its folder: hot.db or hot.db-wal.
    """

    def before_write(self, name: str, offset: int, data: bytes) -> None:
        """Bytes are about to be written. Raise apsw.IOError or apsw.FullError to fail."""

    def before_sync(self, name: str) -> None:
        """A file is about to be made durable."""

    def after_sync(self, name: str) -> None:
        """A file is durable."""

    def before_truncate(self, name: str, size: int) -> None:
        """A file is about to be cut."""

    def before_delete(self, name: str) -> None:
        """A file is about to be removed, durably."""


class _File(apsw.VFSFile):
    def __init__(self, layer: Layer, filename: Any, flags: list[int]) -> None:
        self._layer = layer
        name = filename.filename() if isinstance(filename, apsw.URIFilename) else filename
        self._name = Path(name or "temporary").name
        super().__init__("", filename, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._layer.before_write(self._name, offset, bytes(data))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._layer.before_sync(self._name)
        super().xSync(flags)
        self._layer.after_sync(self._name)

    def xTruncate(self, size: int) -> None:
        self._layer.before_truncate(self._name, size)
        super().xTruncate(size)


class _Disk(apsw.VFS):
    def __init__(self, name: str, layer: Layer) -> None:
        self._layer = layer
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File(self._layer, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._layer.before_delete(Path(filename).name)
        super().xDelete(filename, syncdir)


@contextmanager
def under_sqlite(layer: Layer) -> Iterator[None]:
    """Every database that is opened meanwhile lies on this layer."""
    name = f"forgetd-test-{next(_numbers)}"
    disk = _Disk(name, layer)
    Durability.vfs_name = name
    try:
        yield
    finally:
        Durability.vfs_name = None
        disk.unregister()


class FailsOnce(Layer):
    """The first time that `wanted` says so, after `arm`, the operation fails with `error`."""

    def __init__(self, operation: str, error: Callable[[], apsw.Error], name: str) -> None:
        self._operation = operation
        self._error = error
        self._name = name
        self.armed = False
        self.failed = 0

    def before_write(self, name: str, offset: int, data: bytes) -> None:
        self._perhaps("write", name)

    def before_sync(self, name: str) -> None:
        self._perhaps("sync", name)

    def _perhaps(self, operation: str, name: str) -> None:
        if self.armed and operation == self._operation and name == self._name:
            self.armed = False
            self.failed += 1
            raise self._error()
