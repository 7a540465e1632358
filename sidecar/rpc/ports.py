"""What the wire needs of the rest: the registry of namespaces, and one namespace.

The handlers are written against these two; `sidecar.registry.Registry` and
`sidecar.namespace.Namespace` are what they meet in a running daemon.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sidecar.cycle_reports import ForgettingReport
from sidecar.event_feed import Announcement
from sidecar.explain_reports import Explanation
from sidecar.gc_reports import GcReport, GcRequest, GcVerification
from sidecar.gc_tokens import PlannedDestruction
from sidecar.idempotency import Key
from sidecar.lifecycle_config import LifecycleOptions, LifecycleRequest
from sidecar.lifecycle_reports import ArchivedPage, ForgetSummary, ReasonCounts
from sidecar.model import ImportFormat, Memory, MemoryInput, MemoryType, Signal, Status, Tier
from sidecar.proposal_reports import (
    Proposal,
    ProposalPage,
    ProposalsGcReport,
    ProposalsGcRequest,
    ProposalStatus,
)
from sidecar.reasons import ReasonName
from sidecar.reports import (
    DecisionPage,
    EstimateReport,
    EventPage,
    ExportPage,
    ForgetReport,
    ImportReport,
    MemoryList,
    NamespaceListing,
    NamespaceStatus,
    OpenReport,
    PutManyReport,
    RecallReport,
    RestoreReport,
    RunDetail,
    RunPage,
    SweepReport,
    ThresholdsReport,
    TouchReport,
)
from sidecar.review_reports import ReviewCleared, ReviewDetail, ReviewPage, ReviewRequest
from sidecar.simulation_reports import SimulationReport, SimulationRequest
from sidecar.thresholds import Value
from sidecar.validation import CheckedMemory, Refused

if TYPE_CHECKING:  # it knows the store, which is loaded when the daemon is ready for it
    from sidecar.gc_choice import Chosen

IfExists = Literal["error", "replace", "skip"]
Depth = Literal["auto", "hot", "deep"]
Touch = Literal["top", "all", "none"]
Mode = Literal["normal", "strict"]


class LifecyclePort(Protocol):
    """What a namespace answers of active forgetting; part of NamespacePort."""

    async def forget_useless(
        self, *, dry_run: bool, plan_id: str | None, request: LifecycleRequest
    ) -> ForgetSummary:
        """Plan active forgetting, apply a plan, or both. Raises ForgettingDisabled."""
        ...

    async def invalidations_by_reason(self) -> ReasonCounts:
        """How many memories are not believed, by reason."""
        ...

    async def refresh_estimates(self, *, dry_run: bool) -> EstimateReport:
        """Estimate anew what another estimator judged, or only count it."""
        ...

    async def archived(self, *, cursor: str | None, limit: int) -> ArchivedPage:
        """Memories archived by forgetting, newest first. Raises InvalidParams."""
        ...


class NamespacePort(LifecyclePort, Protocol):
    """One namespace: every method may raise ForgetdError, and nothing else on purpose."""

    async def reply_of(self, key: Key) -> bytes | None:
        """The reply kept for a key; None for a new one. Raises IdempotencyConflict."""
        ...

    async def put(
        self, *, memory: MemoryInput, if_exists: IfExists, revive: bool = False
    ) -> Memory:
        """Store one memory. Raises MemoryExists, MemoryDestroyed, InvalidParams."""
        ...

    async def put_many(
        self,
        *,
        memories: Sequence[MemoryInput | Refused],
        if_exists: IfExists,
        partial: bool,
        revive: bool = False,
    ) -> PutManyReport:
        """Store many: all or none, or with `partial` the good ones."""
        ...

    async def import_many(
        self,
        *,
        memories: list[dict[str, Any]],
        if_exists: IfExists,
        skip_bad: bool,
        source: str | None,
        format: ImportFormat = "foreign",
        revive: bool = False,
    ) -> ImportReport:
        """Store records of another system (what cannot be judged is unscored), or of an export."""
        ...

    async def export(self, *, tiers: Sequence[Tier], cursor: str | None, limit: int) -> ExportPage:
        """A page of whole memories. Raises InvalidParams for a cursor of something else."""
        ...

    async def get(self, *, id: str, include_embedding: bool) -> Memory | None:
        """One memory; None where it is unknown or forgotten."""
        ...

    async def get_many(self, *, ids: list[str], include_embedding: bool) -> list[Memory | None]:
        """As many answers as ids, in their order."""
        ...

    async def list(
        self,
        *,
        tier: Tier | None,
        status: Status | None,
        memory_type: MemoryType | None,
        cursor: str | None,
        limit: int,
    ) -> MemoryList:
        """A page of memories."""
        ...

    async def update(self, *, id: str, patch: MemoryInput, if_revision: int | None) -> Memory:
        """Change what `patch` names. Raises MemoryNotFound, RevisionConflict."""
        ...

    async def recall(
        self,
        *,
        query: str | None,
        embedding: Sequence[float] | str | None,
        embedding_model: str | None,
        top_k: int,
        depth: Depth,
        memory_types: Sequence[MemoryType] | None,
        include_archived: bool,
        min_strength: float | None,
        touch: Touch,
    ) -> RecallReport:
        """Find memories. Raises InvalidParams for an embedding of another size."""
        ...

    async def touch(self, *, ids: Sequence[str]) -> TouchReport:
        """Count a use of each memory now, durably."""
        ...

    async def supersede(self, *, id: str, by: str) -> Memory:
        """Link `id` to its successor. Raises SupersessionConflict."""
        ...

    async def feedback(self, *, id: str, signal: Signal) -> Memory:
        """Count a signal of use. Raises MemoryNotFound."""
        ...

    async def invalidate(self, *, id: str, reason: ReasonName) -> Memory:
        """Stop believing a memory. Raises MemoryNotFound."""
        ...

    async def pin(self, *, id: str, pinned: bool) -> Memory:
        """Set or take the pin. Raises MemoryNotFound."""
        ...

    async def hold(self, *, id: str, until: int | None) -> Memory:
        """Set or take the hold. Raises MemoryNotFound."""
        ...

    async def forget(self, *, ids: Sequence[str], reason: str) -> ForgetReport:
        """Move memories to forgotten on the host's word."""
        ...

    async def restore(
        self, *, ids: Sequence[str] | None, run_id: str | None, reason: str | None
    ) -> RestoreReport:
        """Bring memories back; exactly one argument is not None."""
        ...

    async def explain(self, *, id: str, policy: str | None) -> Explanation:
        """How each policy sees one memory. Raises MemoryNotFound."""
        ...

    async def simulate(self, *, request: SimulationRequest) -> SimulationReport:
        """What automatic runs would do in the days to come. Raises InvalidParams."""
        ...

    async def sweep(
        self,
        *,
        dry_run: bool,
        plan_id: str | None,
        mode: Mode,
        policy: str | None,
        brake_share: float | None,
        now: int | None,
        decisions_limit: int,
        trigger: str = "call",
    ) -> SweepReport:
        """Plan a sweep, apply a plan, or do both."""
        ...

    async def run_cycle(
        self,
        *,
        dry_run: bool,
        plan_id: str | None,
        now: int | None,
        decisions_limit: int,
        trigger: str = "call",
    ) -> ForgettingReport:
        """Plan a cycle, apply a plan, or do both."""
        ...

    async def cold_spill(self, *, dry_run: bool, target: int | None) -> SweepReport:
        """Spill down to `target` hot memories, or to the low watermark."""
        ...

    async def thresholds_report(self) -> ThresholdsReport:
        """The settings in force and what they mean now."""
        ...

    async def set_thresholds(self, values: Mapping[str, Value | None]) -> ThresholdsReport:
        """Change settings by wire name; None takes one back."""
        ...

    async def resume(self) -> ThresholdsReport:
        """Lift what holds automatic runs back."""
        ...

    async def runs(self, *, limit: int, cursor: str | None) -> RunPage:
        """A page of runs, newest first."""
        ...

    async def run(self, *, run_id: str) -> RunDetail:
        """One run. Raises RunUnknown."""
        ...

    async def decisions(
        self, *, run_id: str | None, plan_id: str | None, cursor: str | None, limit: int
    ) -> DecisionPage:
        """A page of decisions. Raises RunUnknown, PlanUnknown."""
        ...

    async def undo(self, *, run_id: str) -> RestoreReport:
        """Bring back what a run moved. Raises RunUnknown, RunNotUndoable."""
        ...

    async def list_events(
        self, *, since: int, limit: int, kinds: Sequence[str] | None
    ) -> EventPage:
        """Durable events after number `since`, in order. Raises InvalidParams."""
        ...

    def follow_events(self, wake: asyncio.Event) -> AbstractContextManager[None]:
        """For a `with` block, `wake` is set after each commit, and the namespace stays open."""
        ...

    @property
    def announced(self) -> int:
        """The number of the newest announcement: what is told and in no log."""
        ...

    def announced_after(self, number: int) -> Sequence[Announcement]:
        """What was announced after a number, in order."""
        ...

    async def plan_destruction(
        self, *, request: GcRequest | None
    ) -> tuple["Chosen", PlannedDestruction]:
        """What would be destroyed; None is all. Raises MemoryNotFound, RunUnknown."""
        ...

    async def destroy(self, *, plan: PlannedDestruction) -> GcReport:
        """Destroy what a plan lists. Raises RunQueueFull."""
        ...

    async def verify_destroyed(self, *, ids: Sequence[str], texts: Sequence[str]) -> GcVerification:
        """Whether anything is left of ids and texts."""
        ...

    async def review(self, *, request: ReviewRequest, limit: int, cursor: str | None) -> ReviewPage:
        """A page of what is to be looked at. Raises InvalidParams for another's cursor."""
        ...

    async def open_review(self, *, id: str, request: ReviewRequest) -> ReviewDetail:
        """The items that name a memory, and the memories in question. Raises MemoryNotFound."""
        ...

    async def clear_review(
        self, *, request: ReviewRequest, ids: Sequence[str] | None
    ) -> ReviewCleared:
        """Take items off until something new happens to them."""
        ...

    async def submit_proposal(
        self, *, memory: CheckedMemory, confidence: float, supersedes: str | None
    ) -> Proposal:
        """Keep a text. Raises ProposalExists, ProposalsFull, MemoryExists, MemoryNotFound."""
        ...

    async def list_proposals(
        self, *, status: ProposalStatus | None, limit: int, cursor: str | None
    ) -> ProposalPage:
        """A page of proposals. Raises InvalidParams for another's cursor."""
        ...

    async def accept_proposal(self, *, id: str) -> Memory:
        """Make it a memory. Raises ProposalNotFound, ProposalDecided, ProposalChanged."""
        ...

    async def reject_proposal(self, *, id: str, reason: str | None) -> Proposal:
        """Turn it down. Raises ProposalNotFound, ProposalDecided."""
        ...

    async def collect_proposals(
        self, *, request: ProposalsGcRequest, dry_run: bool
    ) -> ProposalsGcReport:
        """Decide by age and by confidence, or say what would be decided."""
        ...

    async def apply_open_options(
        self, *, thresholds: Mapping[str, Value | None], created: bool
    ) -> OpenReport:
        """Take a client's options for a new namespace, or compare them."""
        ...

    async def status(self) -> NamespaceStatus:
        """Counts, settings, pauses and alarms."""
        ...


class RegistryPort(Protocol):
    """All namespaces of one state directory."""

    async def recover(self) -> None:
        """Finish what a killed daemon left half done. Awaited once, before the first call."""
        ...

    async def open(self, name: str, create: bool) -> NamespacePort:
        """The namespace. Raises NamespaceNotFound (never when `create`) and InvalidParams."""
        ...

    async def delete(self, name: str, plan: PlannedDestruction) -> GcReport:
        """Delete a namespace as planned. Raises NamespaceNotFound, GcBusy, GcChanged."""
        ...

    def lifecycle_options(self, name: str) -> LifecycleOptions:
        """What the config file orders of active forgetting in a namespace, open or not."""
        ...

    def names(self) -> list[NamespaceListing]:
        """Every namespace there is, open or not."""
        ...

    async def close_all(self) -> None:
        """Stop runs between transactions, finish writes, checkpoint, close."""
        ...
