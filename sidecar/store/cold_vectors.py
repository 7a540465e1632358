"""The vectors of cold memories as files of float16, read through to find candidates.

One file for each pair of embedding model and dimensions; slot `n` of it is the n-th vector, at
length 1. A cosine from such a file is off by at most HALF_ERROR, so the nearest memories are
surely among those within twice that of the border; their exact cosines come from the segments.

The files are read in blocks and not mapped: they take no RAM between recalls, and a file that is
cut or a disk that fails is an error here, where under a mapping it would be the process's end.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sidecar.store.vector_index import Allowed, Float32, RowIds

# Rounding to float16 changes a number by at most 2^-11 of it, and so the product of two vectors
# of length 1; the rest is for numbers too small for that and for adding in float32.
HALF_ERROR: Final = 5.2e-4
HALF_BYTES: Final = 2
# Where more vectors than this times the limit lie at the border, some are as good as others.
CANDIDATES_SHARE_MAX: Final = 4

_READ_BYTES = 786_432  # its float32 form stays in a core's own cache
_NAME = re.compile(r"vectors-[0-9a-f]{12}-[0-9]{1,4}-[0-9a-f]{8}\.f16")

# float16 to float32 by moving bits, twice as fast as astype: the sign is spread by the shift,
# exponent and fraction land in place, and the exponent's other bias is a factor of 2^112.
_FRACTION_SHIFT = 13
_SIGN_AND_NUMBER = np.int32(-(1 << 31) | 0x0FFF_E000)
_BIAS = np.float32(2.0**112)


class VectorsDamaged(Exception):
    """A file of vectors is not what was written."""


@dataclass(frozen=True, slots=True)
class Space:
    """One file: the vectors of one model and size. `slots` counts those that were written."""

    number: int
    model: str | None
    dimensions: int
    file: str
    slots: int = 0
    checksum: int = 0

    @property
    def slot_bytes(self) -> int:
        """The size of one vector."""
        return self.dimensions * HALF_BYTES


def new_file_name(model: str | None, dimensions: int) -> str:
    """A name that no file of vectors had."""
    digest = hashlib.sha256(repr(model).encode()).hexdigest()[:12]
    return f"vectors-{digest}-{dimensions}-{os.urandom(4).hex()}.f16"


def is_vector_file(name: str) -> bool:
    """Whether a file name is one that `new_file_name` makes."""
    return _NAME.fullmatch(name) is not None


def as_halves(vectors: Sequence[Float32]) -> bytes:
    """Vectors of one size and of length 1 as they stand in a file."""
    return np.stack(vectors).astype("<f2").tobytes()


def append(folder: Path, space: Space, data: bytes) -> Space:
    """Write vectors behind those of a space; answers the space with them. Raises OSError.

    What stands behind the slots of the space is overwritten.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(folder / space.file, flags, 0o600)
    try:
        written, start = 0, space.slots * space.slot_bytes
        while written < len(data):
            written += os.pwrite(descriptor, memoryview(data)[written:], start + written)
    finally:
        os.close(descriptor)
    return replace(
        space,
        slots=space.slots + len(data) // space.slot_bytes,
        checksum=zlib.crc32(data, space.checksum),
    )


def check(folder: Path, space: Space) -> None:
    """Compare a file with its checksum. Raises VectorsDamaged, OSError."""
    descriptor = open_vectors(folder, space)
    try:
        checksum = 0
        rows = max(1, _READ_BYTES // space.slot_bytes)
        for start in range(0, space.slots, rows):
            data = read_slots(descriptor, space, start, min(rows, space.slots - start))
            checksum = zlib.crc32(data, checksum)
    finally:
        os.close(descriptor)
    if checksum != space.checksum:
        raise VectorsDamaged("a file of vectors does not match its checksum")


def open_vectors(folder: Path, space: Space) -> int:
    """A descriptor to read a space's file with. Raises OSError."""
    return os.open(folder / space.file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)


def read_slots(descriptor: int, space: Space, start: int, count: int) -> bytearray:
    """The bytes of some slots. Raises VectorsDamaged, OSError."""
    data = bytearray(count * space.slot_bytes)
    _read(descriptor, memoryview(data), start * space.slot_bytes)
    return data


def cosines(descriptor: int, space: Space, query: Float32) -> Float32:
    """The cosine of each slot with a query of length 1, off by at most HALF_ERROR.

    Raises VectorsDamaged, OSError.
    """
    rows = max(1, _READ_BYTES // space.slot_bytes)
    halves = np.empty((rows, space.dimensions), "<i2")
    wide = np.empty((rows, space.dimensions), np.int32)
    scaled = query * _BIAS
    found = np.empty(space.slots, np.float32)
    for start in range(0, space.slots, rows):
        count = min(rows, space.slots - start)
        block, numbers = halves[:count], wide[:count]
        _read(descriptor, memoryview(block).cast("B"), start * space.slot_bytes)
        np.left_shift(block, _FRACTION_SHIFT, out=numbers, dtype=np.int32, casting="unsafe")
        np.bitwise_and(numbers, _SIGN_AND_NUMBER, out=numbers)
        np.vecdot(numbers.view(np.float32), scaled, out=found[start : start + count])
    return found


def shortlist(rids: RowIds, approximate: Float32, limit: int, allowed: Allowed) -> NDArray[Any]:
    """Positions of the allowed rows that may be among the `limit` nearest, best first.

    All that are within twice HALF_ERROR of the last one's place; at most CANDIDATES_SHARE_MAX
    times the limit.
    """
    width = 2 * limit
    while True:
        places = _best_places(rids, approximate, width)
        kept = places[allowed(rids[places])]
        everything = len(places) == len(rids)
        if len(kept) >= limit:
            border = approximate[kept[limit - 1]] - 2 * HALF_ERROR
            full = len(kept) >= CANDIDATES_SHARE_MAX * limit
            if everything or full or approximate[places[-1]] < border:
                kept = kept[: CANDIDATES_SHARE_MAX * limit]
                return kept[approximate[kept] >= border]
        elif everything:
            return kept
        width *= 4


def exact_cosines(embeddings: Sequence[bytes], query: Float32) -> Float32:
    """The cosines of stored embeddings of the query's size; NaN for one without direction."""
    matrix = np.frombuffer(b"".join(embeddings), "<f4").reshape(-1, len(query))
    with np.errstate(all="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
        found = (np.vecdot(matrix, query) / lengths).astype(np.float32)
    return np.clip(np.where(np.isfinite(found), found, np.nan), -1.0, 1.0)


def _best_places(rids: RowIds, scores: Float32, limit: int) -> NDArray[Any]:
    places = np.arange(len(rids))
    if len(rids) > limit:
        border = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        places = np.flatnonzero(scores >= border)
    return places[np.lexsort((rids[places], -scores[places]))][:limit]


def _read(descriptor: int, into: memoryview, offset: int) -> None:
    done = 0
    while done < len(into):
        count = os.preadv(descriptor, [into[done:]], offset + done)
        if count == 0:
            raise VectorsDamaged("a file of vectors is shorter than it was")
        done += count
