"""The formats that can be imported, and opening a source of each."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from sidecar.importers import forgetd, jsonl, mcp_memory, mem0, naia
from sidecar.importers.items import Item
from sidecar.importers.source import STANDARD_INPUT, SourceRefused, open_source, source_bytes

_LINES: Final[dict[str, Callable[[BinaryIO], Iterator[Item]]]] = {
    "forgetd": forgetd.read,
    "jsonl": jsonl.read,
    "mcp-memory": mcp_memory.read,
}
# Formats whose records say all of a memory, status and counts too.
_WHOLE: Final = frozenset({"forgetd", "naia"})


@dataclass(slots=True)
class Opened:
    """A source that is open. `read` reads it from its start, as often as it is called.

    `size` and `done` are in bytes where the source has lines, else in things that may be
    memories. `whole`: `memory.import` takes the records with format `forgetd`.
    """

    size: int
    read: Callable[[], Iterator[Item]]
    done: Callable[[], int]
    whole: bool
    by_line: bool


@contextmanager
def open_format(name: str, path: str, embedding_model: str | None) -> Generator[Opened]:
    """Open a source. `embedding_model` names what made its vectors. Raises SourceRefused."""
    whole = name in _WHOLE
    if name == "mem0":
        if path == STANDARD_INPUT:
            raise SourceRefused("mem0 is imported from a file", "name the file or its folder")
        with mem0.open_store(Path(path), embedding_model) as reader:
            yield _counted(reader.read, reader.places, whole)
        return
    with open_source(path) as stream:
        if name == "naia":
            parsed = naia.parse(stream, embedding_model)
            yield _counted(parsed.read, parsed.places, whole)
            return
        read_lines = _LINES[name]

        def read() -> Iterator[Item]:
            stream.seek(0)
            return read_lines(stream)

        yield Opened(source_bytes(stream), read, stream.tell, whole, by_line=True)


def _counted(read: Callable[[], Iterator[Item]], places: int, whole: bool) -> Opened:
    """A source without lines: how far reading is, is counted in items."""
    done = 0

    def counting() -> Iterator[Item]:
        nonlocal done
        done = 0
        for item in read():
            done += 1
            yield item

    return Opened(places, counting, lambda: done, whole, by_line=False)
