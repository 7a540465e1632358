"""Every kind of event: when it is written, and what its payload holds.

The one table of kinds: `protocol/events.json` is generated from it. A kind's payload may gain
fields; a field keeps its name and its meaning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from sidecar.cycle_reports import ForgettingReport
from sidecar.model import MEMORY_TYPES, STATUSES, TIERS, MemoryType, Status, Tier
from sidecar.store.review_events import (
    PairsNoted,
    ProposalAccepted,
    ProposalRejected,
    ProposalsDropped,
    ProposalSubmitted,
    ReviewItemsCleared,
)
from sidecar.store.rows import COLUMNS, PLACEMENT, Row


class Nothing(Struct, forbid_unknown_fields=True):
    """The kind says all."""


class ImportCompleted(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """An import of another system's records."""

    source: Annotated[str | None, Meta(description="The system that the caller named.")]
    created: Annotated[int, Meta(description="Memories that are new.")]


class SweepCompleted(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A run that moved memories down; the run id is that of the event."""

    plan_id: Annotated[
        str | None | UnsetType, Meta(description="The plan that a sweep or spill carried out.")
    ] = UNSET
    trigger: Annotated[
        str | UnsetType, Meta(description="Who wanted the sweep: call or automatic.")
    ] = UNSET
    counts: Annotated[
        dict[str, int] | UnsetType, Meta(description="Memories by what became of them.")
    ] = UNSET
    bytes_reclaimed: Annotated[
        int | UnsetType, Meta(description="How much smaller the files became.")
    ] = UNSET
    forgotten: Annotated[
        int | UnsetType, Meta(description="Memories that memory.forget moved.")
    ] = UNSET
    reason: Annotated[str | UnsetType, Meta(description="Why memory.forget was called.")] = UNSET
    interrupted: Annotated[
        bool | UnsetType, Meta(description="True: the run was cut short and finished at a start.")
    ] = UNSET


class LifecycleCompleted(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Active forgetting; the run id is that of the event."""

    trigger: Annotated[str, Meta(description="call.")]
    forced: Annotated[bool, Meta(description="True: an operator ran it where it is off.")]
    archived: Annotated[int, Meta(description="Memories that are archived now.")]
    skipped: Annotated[int, Meta(description="Candidates that something keeps.")]
    failed: Annotated[int, Meta(description="Candidates that a fault stopped.")]
    interrupted: Annotated[
        bool | UnsetType, Meta(description="True: the run was cut short and finished at a start.")
    ] = UNSET


class RestoreCompleted(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A run that brought memories back; the run id is that of the event."""

    counts: Annotated[dict[str, int], Meta(description="Memories by what became of them.")]
    undoes: Annotated[str | None | UnsetType, Meta(description="The run that was undone.")] = UNSET
    interrupted: Annotated[
        bool | UnsetType, Meta(description="True: the run was cut short and finished at a start.")
    ] = UNSET


class Braked(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """An automatic run that the brake stopped."""

    forgotten: Annotated[int, Meta(description="Memories that the run still forgot.")]
    until: Annotated[int, Meta(description="When automatic forgetting goes on, in ms.")]


class Pressure(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """How far the namespace is still over its low watermark."""

    memories: Annotated[int, Meta(description="Memories too many.")]
    bytes: Annotated[int, Meta(description="Live bytes too many.")]
    retry_at: Annotated[int, Meta(description="Not before this time another try is made, in ms.")]


class Scheduled(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The wait after a threshold was lowered."""

    not_before: Annotated[int, Meta(description="When automatic forgetting may start, in ms.")]


class Paused(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One reason for automatic runs to stand still."""

    reason: Annotated[str, Meta(description="undo, clock, client_disabled or braked.")]
    until: Annotated[int | None, Meta(description="In ms; null: until thresholds.resume.")]


class Resumed(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Reasons that hold no longer."""

    reasons: Annotated[list[str], Meta(description="The pauses that were lifted.")]


class GcSuggested(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Room that an operator could give back."""

    forgotten_bytes: Annotated[int, Meta(description="Bytes of forgotten memories on disk.")]


class Destroyed(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What remains of a memory; `memoryId` of the event is a hash in the place of its id.

    Earlier events of the memory have the same hash, and neither texts nor hashes any more.
    """

    content_hash: Annotated[str, Meta(description="A salted hash in the place of its text.")]
    reason: Annotated[str, Meta(description="aged, run, erased, replaced or standing_order.")]


class GcCompleted(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A destruction; the run id is that of the event."""

    trigger: Annotated[str, Meta(description="call or standing_order.")]
    destroyed: Annotated[int, Meta(description="Memories that are gone for good.")]
    left: Annotated[int, Meta(description="Planned ones that stayed: held, or changed since.")]
    bytes_reclaimed: Annotated[
        int | UnsetType, Meta(description="How much smaller the files became.")
    ] = UNSET
    clean: Annotated[
        bool | None | UnsetType,
        Meta(description="Whether nothing was found of them afterwards; null: not looked."),
    ] = UNSET
    interrupted: Annotated[
        bool | UnsetType, Meta(description="True: the run was cut short and finished at a start.")
    ] = UNSET


STATE_FIELDS: Final = tuple(sorted(set(COLUMNS) - PLACEMENT))
# Columns that came after the first release: hashed only where set, so that older exports agree.
STATE_FIELDS_LATER: Final = frozenset({"faded_at"})
# What an event tells of a row: its state, its tier, and how often it has changed.
EVENT_FIELDS: Final = frozenset(STATE_FIELDS) | {"tier", "change_counter"}

# What stands in a column as a small integer, by the name that the wire knows.
_CODES: Final[dict[str, tuple[str, ...]]] = {
    "tier": TIERS,
    "status": STATUSES,
    "memory_type": MEMORY_TYPES,
}
_WIRE_TYPES: Final[dict[str, Any]] = {
    "tier": Tier,
    "status": Status,
    "memory_type": MemoryType,
    "pinned": bool,
    "evergreen": bool,
    "content_hash": Annotated[str, Meta(description="SHA-256 of the payload, in hexadecimals.")],
    "importance": Annotated[
        float | None, Meta(description="The host's, before fading; null: estimated.")
    ],
    "estimate": Annotated[float, Meta(description="The importance estimated from the text.")],
    "change_counter": Annotated[int, Meta(description="Rises with every stored change.")],
}

MemoryChange: Final = msgspec.defstruct(
    "MemoryChange",
    [
        (field.name, _WIRE_TYPES.get(field.name, field.type) | UnsetType, UNSET)
        for field in msgspec.structs.fields(Row)
        if field.name in EVENT_FIELDS
    ],
    namespace={"__doc__": "The fields of the memory that changed, with their new values."},
    rename="camel",
    forbid_unknown_fields=True,
    kw_only=True,
)

MemoryFeedback: Final = msgspec.defstruct(
    "MemoryFeedback",
    [("signal", Annotated[str, Meta(description="What the host said.")])],
    bases=(MemoryChange,),
    namespace={"__doc__": "The counts that a signal changed."},
    rename="camel",
    forbid_unknown_fields=True,
    kw_only=True,
)

RetrievalRegret: Final = msgspec.defstruct(
    "RetrievalRegret",
    [
        ("dropped_at", Annotated[int | None, Meta(description="Since when no recall answers it.")]),
        ("cited_at", Annotated[int, Meta(description="When it was wanted, in ms.")]),
    ],
    bases=(MemoryChange,),
    namespace={"__doc__": "A memory that was wanted after it had been dropped."},
    rename="camel",
    forbid_unknown_fields=True,
    kw_only=True,
)


_FADE_FIELDS: Final[list[tuple[str, Any]]] = [
    ("reason", Annotated[str, Meta(description="Why the cycle did it.")]),
    ("old_importance", Annotated[float, Meta(description="What was shown before.")]),
    ("new_importance", Annotated[float, Meta(description="What is shown now.")]),
]
MemoryFaded: Final = msgspec.defstruct(
    "MemoryFaded",
    _FADE_FIELDS,
    bases=(MemoryChange,),
    namespace={"__doc__": "A memory whose fade factor changed."},
    rename="camel",
    forbid_unknown_fields=True,
    kw_only=True,
)

MemoryPruned: Final = msgspec.defstruct(
    "MemoryPruned",
    [
        ("reason", Annotated[str, Meta(description="Why the cycle pruned it.")]),
        ("had_media", Annotated[bool, Meta(description="Whether it named a file.")]),
        (
            "media_deleted",
            Annotated[bool, Meta(description="Whether the file goes to the trash with it.")],
        ),
    ],
    bases=(MemoryChange,),
    namespace={"__doc__": "A memory that a cycle moved to forgotten; mediaRef is its file."},
    rename="camel",
    forbid_unknown_fields=True,
    kw_only=True,
)


@dataclass(frozen=True, slots=True)
class EventKind:
    """One kind. `payload` None: options of forgetting by name, null where one was taken back."""

    kind: str
    when: str
    payload: type[Struct] | None


KINDS: Final = (
    EventKind(
        "memory.created",
        "A memory was stored. Left out: what is hot, active, semantic, zero, false or null.",
        MemoryChange,
    ),
    EventKind("memory.updated", "Fields, the pin or the hold of a memory changed.", MemoryChange),
    EventKind("memory.touched", "A memory was recalled or touched.", MemoryChange),
    EventKind("memory.superseded", "Another memory took the place of this one.", MemoryChange),
    EventKind("memory.invalidated", "A memory is no longer believed.", MemoryChange),
    EventKind("memory.estimated", "The text was estimated anew.", MemoryChange),
    EventKind("memory.feedback", "A host said how useful a memory was.", MemoryFeedback),
    EventKind("retrieval.regret", "A memory was wanted that had been dropped.", RetrievalRegret),
    EventKind("memory.spilled", "A run moved a memory from hot to cold.", MemoryChange),
    EventKind("memory.forgotten", "A run moved a memory to forgotten.", MemoryChange),
    EventKind("memory.faded", "A cycle lowered the importance that is shown.", MemoryFaded),
    EventKind("memory.unfaded", "Undoing a cycle took a fade back.", MemoryFaded),
    EventKind("memory.pruned", "A cycle moved a memory to forgotten.", MemoryPruned),
    EventKind("memory.thawed", "A memory came from cold to hot.", MemoryChange),
    EventKind("memory.restored", "A forgotten memory came back.", MemoryChange),
    EventKind(
        "memory.adopted",
        "A start found a memory in an archive file that nobody knew, and took it in.",
        MemoryChange,
    ),
    EventKind("namespace.created", "The first event of every namespace.", Nothing),
    EventKind("import.completed", "An import of records ended.", ImportCompleted),
    EventKind("thresholds.changed", "A caller set options, or opened with them.", None),
    EventKind(
        "forgetting.sweep_completed", "A sweep, a spill or memory.forget ended.", SweepCompleted
    ),
    EventKind(
        "forgetting.cycle_completed",
        "A cycle ended: its report, with up to 1,000 decisions.",
        ForgettingReport,
    ),
    EventKind("lifecycle.forget_completed", "Active forgetting ended.", LifecycleCompleted),
    EventKind("forgetting.restore_completed", "memory.restore ended.", RestoreCompleted),
    EventKind("forgetting.run_undone", "runs.undo ended.", RestoreCompleted),
    EventKind(
        "forgetting.braked",
        "The brake stopped an automatic run: automatic forgetting waits.",
        Braked,
    ),
    EventKind(
        "forgetting.pressure",
        "An automatic run ran out of candidates above the low watermark.",
        Pressure,
    ),
    EventKind(
        "forgetting.scheduled",
        "A threshold of stage 2 was lowered: automatic forgetting waits.",
        Scheduled,
    ),
    EventKind("forgetting.paused", "Automatic runs stand still from now on.", Paused),
    EventKind("forgetting.resumed", "Reasons to stand still were lifted.", Resumed),
    EventKind(
        "review.pairs_noted",
        "A cycle found near memories that say two things, or no more of them.",
        PairsNoted,
    ),
    EventKind("review.cleared", "review.clear took items off.", ReviewItemsCleared),
    EventKind("proposal.submitted", "A text waits to become a memory.", ProposalSubmitted),
    EventKind("proposal.accepted", "A proposal became a memory.", ProposalAccepted),
    EventKind("proposal.rejected", "A proposal was turned down.", ProposalRejected),
    EventKind(
        "proposal.dropped", "Decided proposals left the list for their age.", ProposalsDropped
    ),
    EventKind(
        "memory.destroyed",
        "An operator, or the order in the config file, destroyed a memory for good.",
        Destroyed,
    ),
    EventKind("gc.completed", "A destruction ended.", GcCompleted),
    EventKind(
        "gc.suggested",
        "After a run forgotten memories take more than forgottenWarnGB.",
        GcSuggested,
    ),
)


# Told to those who follow a stream, and in no log: such an event has no number.
ANNOUNCED: Final = (
    EventKind("forgetting.cycle_dry_run", "A cycle was only planned.", ForgettingReport),
)


def wire_payload(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A memory's stored payload as the wire tells it: names in camelCase, codes by name."""
    return {_camel(name): _told(name, value) for name, value in stored.items()}


def _told(name: str, value: Any) -> Any:
    if name in _CODES:
        return _CODES[name][int(value)]
    return bool(value) if name in ("pinned", "evergreen") else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
