"""What the daemon answers about files that memories own."""

from typing import Literal

from msgspec import Struct

MediaOutcome = Literal["here", "returned", "blocked", "missing", "waiting"]


class MediaReport(Struct, rename="camel", kw_only=True):
    """The files that memories forgotten by a run were the last to name. `bytes` are those moved."""

    moved: int = 0
    skipped: int = 0
    missing: int = 0
    bytes: int = 0
