"""Why a memory is no longer believed, and the status that each reason gives it."""

from enum import StrEnum
from typing import Final, Literal

from sidecar.model import ARCHIVED, INVALIDATED, SUPERSEDED

# The values of InvalidationReason, as the wire takes them.
ReasonName = Literal[
    "obsolete",
    "superseded",
    "conflicted",
    "incorrect",
    "duplicate",
    "forgotten",
    "expired",
    "manual",
]


class InvalidationReason(StrEnum):
    """Why a memory was set aside, replaced, or held wrong."""

    OBSOLETE = "obsolete"
    SUPERSEDED = "superseded"
    CONFLICTED = "conflicted"
    INCORRECT = "incorrect"
    DUPLICATE = "duplicate"
    FORGOTTEN = "forgotten"
    EXPIRED = "expired"
    MANUAL = "manual"

    @classmethod
    def from_db(cls, text: str | None) -> "InvalidationReason":
        """The reason that a stored text means, whatever its letter case.

        `archived` and `forgotten/archived` are other names of `forgotten`. Whatever else is
        unknown means `manual`; the text itself stays as it is stored.
        """
        name = (text or "").strip().lower()
        name = OTHER_NAMES.get(name, name)
        return cls(name) if name in _NAMES else cls.MANUAL

    @property
    def status(self) -> int:
        """The code of the status that a memory gets for this reason."""
        return _STATUS.get(self, ARCHIVED)


def is_reason(text: str) -> bool:
    """Whether a stored text names a reason, and is not a host's own words."""
    name = text.strip().lower()
    return name in _NAMES or name in OTHER_NAMES


_NAMES: Final = frozenset(reason.value for reason in InvalidationReason)
OTHER_NAMES: Final = {"archived": "forgotten", "forgotten/archived": "forgotten"}
_STATUS: Final = {
    InvalidationReason.SUPERSEDED: SUPERSEDED,
    InvalidationReason.INCORRECT: INVALIDATED,
    InvalidationReason.CONFLICTED: INVALIDATED,
}
