"""The ids in a segment, whether rows point at them or not."""

from collections.abc import Iterator
from typing import Final

import msgspec

from sidecar.store.segment_format import SegmentDamaged
from sidecar.store.segment_reader import SegmentReader


class _LineId(msgspec.Struct):
    id: str


_decoder: Final = msgspec.json.Decoder(_LineId)


def ids_in(reader: SegmentReader) -> Iterator[str]:
    """The id of every line of a segment. Raises SegmentDamaged."""
    for frame in range(len(reader.frames)):
        for line in reader.lines(frame):
            try:
                yield _decoder.decode(line).id
            except msgspec.MsgspecError as error:
                raise SegmentDamaged("line", "A line of a segment cannot be read") from error
