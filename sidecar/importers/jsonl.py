"""One JSON object a line, each a memory by the names of `memory.put`.

Fields that a memory does not have are kept (`memory.import` puts them into `extra`). A line
without id gets one made from its content.
"""

from collections.abc import Iterator
from typing import BinaryIO

from sidecar.importers.check import Seen, canonical, derived_id, problem_of, without_empty
from sidecar.importers.items import BadLine, Item, Record
from sidecar.importers.lines import read_lines


def read(stream: BinaryIO) -> Iterator[Item]:
    """The records of the file in its order, and what cannot be or need not be stored."""
    seen = Seen()
    for line in read_lines(stream):
        if isinstance(line, BadLine):
            yield line
            continue
        memory = without_empty(line.value)
        memory.setdefault("id", derived_id("jsonl", canonical(memory)))
        record = Record(line.number, memory)
        yield problem_of(record) or seen.admit(record)
