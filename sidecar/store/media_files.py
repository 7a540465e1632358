"""The files below a media root: looked at, moved to its trash and back, never removed.

Every folder on the way is opened from the one above it and never through a link, so that neither
a reference nor anything planted in the folder leads outside. Only plain files with a single name
are moved. A move never replaces what lies at its target.
"""

import ctypes
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from errno import ELOOP, ENAMETOOLONG, ENOTDIR, EXDEV
from pathlib import Path
from typing import Final, Literal

TRASH: Final = ".trash"
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
RENAME_NOREPLACE: Final = 1
_LIBRARY: Final = ctypes.CDLL(None, use_errno=True)
Taken = Literal["trashed", "missing", "refused"]
GivenBack = Literal["returned", "trashed", "lost"]


class MediaUnavailable(OSError):
    """The media root or its trash is not what it has to be: nothing is moved."""


class UnfitReference(NotADirectoryError):
    """A reference that leads through a link or outside the media root."""


def parts_of(ref: str) -> list[str]:
    """The folders and the name of a reference. Raises UnfitReference."""
    parts = ref.split("/")
    if "\0" in ref or {"", ".", ".."} & set(parts) or parts[0] == TRASH:
        raise UnfitReference
    return parts


@contextmanager
def folder_below(
    top: int, folders: list[str], *, making: Callable[[int], object] | None = None
) -> Generator[int]:
    """A descriptor of the folder at the end of a way down from `top`.

    With `making` absent folders are made, private; it hears of each folder in which one may have
    been, which is to be made durable. Raises UnfitReference where the way leads through something
    that is no folder, FileNotFoundError where it ends.
    """
    descriptor = os.dup(top)
    try:
        for folder in folders:
            if making is not None:
                with suppress(FileExistsError):
                    os.mkdir(folder, 0o700, dir_fd=descriptor)
                making(descriptor)
            try:
                inner = os.open(folder, FOLDER_FLAGS, dir_fd=descriptor)
            except OSError as error:
                if error.errno in (ELOOP, ENOTDIR):
                    raise UnfitReference(*error.args) from error
                raise
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def is_plain(found: os.stat_result) -> bool:
    """Whether it is a regular file, and nothing else names it: else it is not ours to move."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def prepare(directory: Path) -> None:
    """Make the media folder of a namespace and its trash where they are absent."""
    with suppress(OSError):  # what stands in the way is told when a file has to move
        top = os.open(directory, FOLDER_FLAGS)
        try:
            with folder_below(top, ["media", TRASH], making=os.fsync):
                pass
        finally:
            os.close(top)


class MediaFiles:
    """An opened media root with its trash. `close` it."""

    def __init__(self, directory: Path) -> None:
        """Raises MediaUnavailable, which says what is wrong."""
        try:
            self._root = os.open(directory / "media", FOLDER_FLAGS)
        except OSError as error:
            raise MediaUnavailable("the media folder is gone, or is no folder") from error
        try:
            self._trash = os.open(TRASH, FOLDER_FLAGS, dir_fd=self._root)
        except OSError as error:
            os.close(self._root)
            raise MediaUnavailable("media/.trash is gone, or is no folder") from error
        self._unsynced: dict[tuple[int, int], int] = {}
        if os.fstat(self._root).st_dev != os.fstat(self._trash).st_dev:
            self.close()
            raise MediaUnavailable("media/.trash lies in another file system")

    def close(self) -> None:
        """Let go of every folder."""
        for descriptor in (self._root, self._trash, *self._unsynced.values()):
            os.close(descriptor)
        self._unsynced.clear()

    def size(self, ref: str) -> int | None:
        """The size of the plain file at a reference, None where there is none."""
        return self._size(self._root, ref)

    def size_in_trash(self, trashed_as: str) -> int | None:
        """The size of a file in the trash, None where it is not there."""
        return self._size(self._trash, trashed_as)

    def take(self, ref: str, trashed_as: str) -> Taken:
        """Move a file to the trash, unless it was moved before.

        Raises OSError, also where something that is no folder is in the way in the trash.
        """
        if self.size_in_trash(trashed_as) is not None:
            self._moved_before(ref, trashed_as)
            return "trashed"
        try:
            found = self._look(self._root, ref)
        except UnfitReference:
            return "refused"
        if found is None:
            return "missing"
        if not is_plain(found):
            return "refused"
        *folders, file = parts_of(ref)
        *outer, name = trashed_as.split("/")
        with (
            folder_below(self._root, folders) as source,
            folder_below(self._trash, outer, making=self._changes) as target,
        ):
            try:
                self._move(source, file, target, name)
            except OSError as error:
                if error.errno == EXDEV:
                    return "refused"
                raise
            if is_plain(os.stat(name, dir_fd=target, follow_symlinks=False)):
                return "trashed"
            # Another thing came into the file's place while it was looked at.
            self._move(target, name, source, file)
            return "refused"

    def give_back(self, ref: str, trashed_as: str) -> GivenBack:
        """Move a file from the trash to its reference, unless something lies there.

        `trashed`: it stays where it is. Raises OSError.
        """
        if self.size_in_trash(trashed_as) is None:
            self._moved_before(ref, trashed_as)
            return "lost" if self.size(ref) is None else "returned"
        *outer, name = trashed_as.split("/")
        try:
            *folders, file = parts_of(ref)
            with (
                folder_below(self._trash, outer) as source,
                folder_below(self._root, folders, making=self._changes) as target,
            ):
                self._move(source, name, target, file)
        except (UnfitReference, FileExistsError):
            return "trashed"
        except OSError as error:
            if error.errno == EXDEV:
                return "trashed"
            raise
        return "returned"

    def sync(self) -> None:
        """Make every move so far durable. Raises OSError."""
        for descriptor in self._unsynced.values():
            os.fsync(descriptor)
        for descriptor in self._unsynced.values():
            os.close(descriptor)
        self._unsynced.clear()

    def _size(self, top: int, path: str) -> int | None:
        try:
            found = self._look(top, path)
        except UnfitReference:
            return None
        return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None

    def _look(self, top: int, path: str) -> os.stat_result | None:
        """What lies there; None where nothing does. Raises UnfitReference, OSError."""
        *folders, name = path.split("/") if top == self._trash else parts_of(path)
        try:
            with folder_below(top, folders) as folder:
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if isinstance(error, FileNotFoundError) or error.errno == ENAMETOOLONG:
                return None
            raise

    def _move(self, source: int, name: str, target: int, new_name: str) -> None:
        rename(source, name, target, new_name)
        self._changes(target)
        self._changes(source)

    def _moved_before(self, ref: str, trashed_as: str) -> None:
        """Whoever moved it may have been killed before that was durable."""
        for top, path in ((self._root, ref), (self._trash, trashed_as)):
            with suppress(OSError), folder_below(top, path.split("/")[:-1]) as folder:
                self._changes(folder)

    def _changes(self, folder: int) -> None:
        """Note that names in a folder change, so that `sync` makes them durable."""
        found = os.fstat(folder)
        if (found.st_dev, found.st_ino) not in self._unsynced:
            self._unsynced[found.st_dev, found.st_ino] = os.dup(folder)


def rename(source: int, name: str, target: int, new_name: str) -> None:
    """Rename from one folder to another, both descriptors. Never replaces.

    Raises OSError: FileExistsError where the new name is taken.
    """
    names = os.fsencode(name), os.fsencode(new_name)
    if _LIBRARY.renameat2(source, names[0], target, names[1], RENAME_NOREPLACE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
