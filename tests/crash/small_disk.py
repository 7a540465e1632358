"""A disk of 48 MiB that a test can fill: mounted where that is permitted, else counted."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import apsw

from tests.crash.faulty_disk import Layer, under_sqlite

DISK_BYTES = 48 * 1_048_576
BLOCK_BYTES = 65_536


class SmallDisk(Protocol):
    """Where a state directory lies, and how full it is."""

    state_dir: Path

    def fill(self, left: int = 0) -> None:
        """Another program takes all the room but for `left` bytes."""

    def free(self) -> None:
        """It gives its room back."""


class MountedDisk:
    """A file system of its own, in memory."""

    def __init__(self, place: Path) -> None:
        self.state_dir = place / "state"
        self._ballast = place / "ballast"

    def fill(self, left: int = 0) -> None:
        """Write until the system says that it is full, then give back what is to be left."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (BLOCK_BYTES, 4096, 1):
                block = bytes(size)
                while True:
                    try:
                        if file.write(block) < size:
                            break
                    except OSError as error:
                        if error.errno != errno.ENOSPC:
                            raise
                        break
            file.truncate(file.tell() - left)

    def free(self) -> None:
        """Remove what filled it."""
        self._ballast.unlink()


class CountedDisk(Layer):
    """An ordinary directory whose writers are told that it is full, SQLite and Python alike."""

    def __init__(self, place: Path) -> None:
        self.state_dir = place / "state"
        self._ballast = 0
        self._write = os.write
        self._allocate = os.posix_fallocate

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what SQLite and this process write meanwhile."""
        os.write, os.posix_fallocate = self._counted_write, self._counted_allocation
        try:
            with under_sqlite(self):
                yield
        finally:
            os.write, os.posix_fallocate = self._write, self._allocate

    def fill(self, left: int = 0) -> None:
        """All is taken, but for what is to be left."""
        self._ballast = DISK_BYTES - self._used() - left

    def free(self) -> None:
        """Nothing else lies on the disk."""
        self._ballast = 0

    def before_write(self, name: str, offset: int, data: bytes) -> None:
        paths = list(self.state_dir.rglob(name))
        size = max((path.stat().st_size for path in paths), default=0)
        if not self._fits(offset + len(data) - size):
            raise apsw.FullError

    def _counted_write(self, descriptor: int, data: Any) -> int:
        if self._is_ours(descriptor) and not self._fits(len(data)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._write(descriptor, data)

    def _counted_allocation(self, descriptor: int, offset: int, size: int) -> None:
        if not self._fits(offset + size - os.fstat(descriptor).st_size):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._allocate(descriptor, offset, size)

    def _is_ours(self, descriptor: int) -> bool:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        return path.is_relative_to(self.state_dir)

    def _fits(self, growth: int) -> bool:
        return growth <= 0 or self._used() + self._ballast + growth <= DISK_BYTES

    def _used(self) -> int:
        return sum(path.stat().st_size for path in self.state_dir.rglob("*") if path.is_file())


@contextmanager
def mounted(place: Path) -> Iterator[MountedDisk]:
    """A mounted disk. Raises PermissionError where mounting is not permitted."""
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "forgetd-test", place],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise PermissionError(done.stderr.decode())
    try:
        yield MountedDisk(place)
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def small_disk(kind: str, folder: Path) -> Iterator[SmallDisk]:
    """A small disk of one kind: `mounted` is counted as well where it cannot be mounted."""
    if kind == "mounted":
        try:
            with mounted(folder / "mounted") as disk:
                yield disk
                return
        except (PermissionError, FileNotFoundError):
            pass
    counted = CountedDisk(folder)
    with counted.counting():
        yield counted
