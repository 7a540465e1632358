"""The segment files of one namespace by tier, and a bounded cache of open readers."""

import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Final

from sidecar.model import COLD, FORGOTTEN
from sidecar.store.segments import SegmentReader

READERS_OPEN_MAX: Final = 16
FOLDER: Final = {COLD: "cold", FORGOTTEN: "forgotten"}


class SegmentFiles:
    """Finds and reads segments below a namespace directory. Safe for several threads."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._readers: OrderedDict[tuple[int, str], SegmentReader] = OrderedDict()
        self._lock = threading.Lock()

    def folder(self, tier: int) -> Path:
        """The folder of a tier's segments."""
        return self.directory / FOLDER[tier]

    def path(self, tier: int, name: str) -> Path:
        """The path of a segment."""
        return self.folder(tier) / name

    def reader(self, tier: int, name: str) -> SegmentReader:
        """A reader of a segment, kept open. Raises SegmentDamaged or OSError."""
        key = (tier, name)
        with self._lock:
            reader = self._readers.get(key)
            if reader is not None:
                self._readers.move_to_end(key)
                return reader
        reader = SegmentReader(self.path(tier, name))
        with self._lock:
            self._readers[key] = reader
            while len(self._readers) > READERS_OPEN_MAX:
                self._readers.popitem(last=False)
        return reader

    def drop(self, tier: int, name: str) -> None:
        """Forget the reader of a segment that is to be removed."""
        with self._lock:
            self._readers.pop((tier, name), None)

    def bytes_on_disk(self, tier: int) -> int:
        """The size of every file in a tier's folder, known or not."""
        total = 0
        for entry in self.folder(tier).iterdir():
            with suppress(FileNotFoundError):  # it went meanwhile
                total += entry.stat().st_size
        return total

    def close(self) -> None:
        """Drop every reader."""
        with self._lock:
            self._readers.clear()
