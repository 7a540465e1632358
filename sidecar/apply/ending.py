"""The report of a run: from what was known when it began, and from what became of it.

What was known is stored with the run. So a run that a kill cut short ends with the same report as
one that was not.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import Struct

from sidecar.apply import journal, restore
from sidecar.apply.forget import answer_of
from sidecar.apply.journal import MOVED, OUTCOME_CODE, Decisions
from sidecar.cycle_reports import CycleDecision, ForgettingReport
from sidecar.gc_reports import GcReport
from sidecar.lifecycle_reports import ForgetSummary
from sidecar.limits import CYCLE_DECISIONS_DEFAULT, REPORT_NAMED_MAX
from sidecar.media_reports import MediaOutcome, MediaReport
from sidecar.model import FORGOTTEN, MEMORY_TYPES, TIERS
from sidecar.plan.plan import ACTIONS, FADE, FORGET, REASONS, SPILL
from sidecar.reports import (
    ForgetAnswer,
    ForgetReport,
    ForgetResult,
    RestoreOutcome,
    RestoreReport,
    RestoreResult,
    Skipped,
    StageReport,
    SweepReport,
    TierCounts,
)
from sidecar.store import media_trash, rows
from sidecar.store.media_trash import MOVED_STATES, TrashEntry
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection

CYCLE_COMPLETED: Final = "forgetting.cycle_completed"
LIFECYCLE_COMPLETED: Final = "lifecycle.forget_completed"
# What stopped a decision that no promise and no change stopped: a fault of the machine.
FAULTS: Final = frozenset({"corrupt", "oversized", "disk_full"})
STAGE_ACTION: Final = {1: SPILL, 2: FORGET}


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run did: its decisions in plan order, their outcomes, and the space given back."""

    run_id: str
    decisions: Decisions
    outcomes: Any
    bytes_reclaimed: int
    space_note: str | None
    media: MediaReport


class SweepBegun(Struct, tag="sweep"):
    """The report of a sweep or a spill, as planned: with no decision, outcome or measure yet."""

    planned: SweepReport
    decisions_limit: int


class ForgetBegun(Struct, tag="forget"):
    """Every id of the call in order, with its answer; None where the run decides it."""

    results: list[tuple[str, ForgetAnswer | None]]


class CycleBegun(Struct, tag="cycle"):
    """The report of a cycle as planned, with its decisions and without outcomes."""

    planned: ForgettingReport


class LifecycleBegun(Struct, tag="lifecycle"):
    """The report of active forgetting as planned, with its candidates and without outcomes."""

    planned: ForgetSummary


class RestoreBegun(Struct, tag="restore"):
    """The first ids in order, as for `ForgetBegun`; how often each answer stands; how many ids."""

    namespace: str
    named: list[tuple[str, RestoreOutcome | None]]
    counts: dict[str, int]
    total: int
    paused: bool


Begun = SweepBegun | ForgetBegun | RestoreBegun | CycleBegun | LifecycleBegun
Report = SweepReport | ForgetReport | RestoreReport | ForgettingReport | ForgetSummary


def restore_begun(namespace: str, choice: restore.Choice, *, paused: bool) -> RestoreBegun:
    """What the report of bringing these back is to be made from."""
    answers = choice.answers
    return RestoreBegun(
        namespace=namespace,
        named=[(one, answers.get(one)) for one in choice.order[:REPORT_NAMED_MAX]],
        counts=dict(
            Counter(answers[one] for one in choice.order if one in answers)
            + Counter(destroyed=choice.destroyed)
        ),
        total=len(choice.order),
        paused=paused,
    )


def stored(report: Report | GcReport | dict[str, Any]) -> bytes:
    """The report as the ledger keeps it: its decisions are in the journal as well."""
    if isinstance(report, ForgetSummary):
        report = msgspec.structs.replace(report, candidates=report.candidates[:REPORT_NAMED_MAX])
    if isinstance(report, SweepReport | ForgettingReport):
        report = msgspec.structs.replace(report, decisions=report.decisions[:REPORT_NAMED_MAX])
    return msgspec.json.encode(report)


def sweep_report(
    connection: Connection,
    begun: SweepBegun,
    result: RunResult,
    after: TierCounts,
    duration_ms: float,
) -> SweepReport:
    """The report of a sweep or a spill that was carried out."""
    planned, decisions, outcomes = begun.planned, result.decisions, result.outcomes
    first = decisions[: begun.decisions_limit]
    ids = journal.ids_of(connection, first["rid"])
    left = np.flatnonzero(outcomes != MOVED)
    named = left[:REPORT_NAMED_MAX]
    counts = outcome_counts(decisions, outcomes)
    return msgspec.structs.replace(
        planned,
        run_id=result.run_id,
        after=after,
        stages=[_stage(stage, decisions, outcomes) for stage in planned.stages],
        decisions=journal.to_wire(first, ids, outcomes[: begun.decisions_limit]),
        counts={name: counts[name] for name in planned.counts},
        skipped=[
            Skipped(id=memory_id, why=journal.OUTCOMES[int(outcomes[at])])
            for memory_id, at in zip(
                journal.ids_of(connection, decisions["rid"][named]), named.tolist(), strict=True
            )
        ],
        skipped_count=len(left),
        kept=planned.kept + int(np.count_nonzero(outcomes[left] != OUTCOME_CODE["gone"])),
        bytes_reclaimed=result.bytes_reclaimed,
        media=result.media,
        space_note=result.space_note,
        duration_ms=round(duration_ms, 3),
    )


def forget_report(begun: ForgetBegun, result: RunResult | None) -> ForgetReport:
    """The report of memory.forget, in the order of the call; no result: there was no run."""
    outcomes = iter([] if result is None else result.outcomes.tolist())
    results = [
        ForgetResult(
            id=memory_id,
            result=answer or answer_of(next(outcomes)),
        )
        for memory_id, answer in begun.results
    ]
    forgotten = sum(one.result == "forgotten" for one in results)
    run_id = None if result is None else result.run_id
    media = MediaReport() if result is None else result.media
    return ForgetReport(run_id=run_id, forgotten=forgotten, results=results, media=media)


def restore_report(
    connection: Connection,
    begun: RestoreBegun,
    result: RunResult | None,
    media: Callable[[Row], MediaOutcome | None],
    now: int,
    duration_ms: float,
) -> RestoreReport:
    """The report of a restore or an undo; no result: there was nothing to move.

    `media` says where the file of a memory is.
    """
    outcomes: dict[int, int] = {}
    if result is not None:
        moves = zip(result.decisions["rid"].tolist(), result.outcomes.tolist(), strict=True)
        outcomes = dict(moves)
    counts = Counter(begun.counts)
    for row in restore.rows_at(connection, list(outcomes)):
        counts["unknown" if row is None else restore.answer(row, outcomes[row.rid], now)] += 1
    results: list[RestoreResult] = []
    for memory_id, answer in begun.named:
        row = rows.by_id(connection, memory_id)
        if row is None:
            gone = answer or "unknown"
            results.append(RestoreResult(id=memory_id, result=gone, tier=None, media=None))
            continue
        said = answer or restore.answer(row, outcomes.get(row.rid, MOVED), now)
        file = None if row.tier == FORGOTTEN else media(row)
        results.append(RestoreResult(id=memory_id, result=said, tier=TIERS[row.tier], media=file))
    return RestoreReport(
        namespace=begun.namespace,
        run_id=None if result is None else result.run_id,
        results=results,
        results_truncated=begun.total > len(begun.named),
        counts=dict(counts),
        paused=begun.paused,
        duration_ms=round(duration_ms, 3),
    )


def cycle_report(
    connection: Connection,
    begun: CycleBegun,
    result: RunResult,
    after: TierCounts,
    duration_ms: float,
) -> ForgettingReport:
    """The report of a cycle that was carried out: what was not, is kept."""
    planned, decisions = begun.planned, result.decisions
    done = result.outcomes == MOVED
    _, _, details = journal.all_details(connection, result.run_id)
    types = np.minimum(details["memory_type"], len(MEMORY_TYPES) - 1)
    fades = decisions["action"] == FADE
    by_type = {name: dict(counts) for name, counts in planned.by_type.items()}
    by_reason = {name: dict(counts) for name, counts in planned.by_reason.items()}
    for at in np.flatnonzero(~done).tolist():
        action = "fade" if fades[at] else "prune"
        reason = REASONS[int(decisions["reason"][at])]
        for counts in (by_type[MEMORY_TYPES[int(types[at])]], by_reason[reason]):
            counts[action] -= 1
            counts["keep"] += 1
    files = media_trash.of_run(connection, result.run_id)
    outcomes = _named_outcomes(connection, decisions, result.outcomes, planned.decisions)
    return msgspec.structs.replace(
        planned,
        run_id=result.run_id,
        after=after,
        kept=planned.kept + int(np.count_nonzero(~done)),
        faded=int(np.count_nonzero(fades & done)),
        pruned=int(np.count_nonzero(~fades & done)),
        media_deleted=result.media.moved,
        skipped_media=result.media.skipped,
        skipped_records=int(np.count_nonzero(~done)),
        by_type=by_type,
        by_reason=by_reason,
        decisions=[
            _carried_out(one, outcomes.get(one.record_id), files.get(one.record_id))
            for one in planned.decisions
        ],
        bytes_reclaimed=result.bytes_reclaimed,
        space_note=result.space_note,
        duration_ms=round(duration_ms, 3),
    )


def told_of(report: ForgettingReport) -> dict[str, Any]:
    """The payload of a cycle's event: the report, with as many decisions as an event carries."""
    shown = report.decisions[:CYCLE_DECISIONS_DEFAULT]
    short = msgspec.structs.replace(
        report, decisions=shown, decisions_truncated=report.scanned > len(shown)
    )
    told: dict[str, Any] = msgspec.to_builtins(short)
    return told


def lifecycle_report(
    connection: Connection, begun: LifecycleBegun, result: RunResult, duration_ms: float
) -> ForgetSummary:
    """The report of active forgetting that was carried out."""
    planned, outcomes = begun.planned, result.outcomes
    left: list[str] = [journal.OUTCOMES[code] for code in outcomes[outcomes != MOVED].tolist()]
    kept = Counter(why for why in left if why not in FAULTS)
    named = [one for one in planned.candidates if one.skipped is None]
    first = result.decisions["rid"][: len(named)]
    became = dict(
        zip(journal.ids_of(connection, first), outcomes[: len(named)].tolist(), strict=True)
    )
    candidates = [
        msgspec.structs.replace(
            one,
            executed=became[one.id] == MOVED,
            skipped=None if became[one.id] == MOVED else journal.OUTCOMES[became[one.id]],
        )
        if one.id in became
        else one
        for one in planned.candidates
    ]
    return msgspec.structs.replace(
        planned,
        run_id=result.run_id,
        archived=int(np.count_nonzero(outcomes == MOVED)),
        skipped=planned.skipped + sum(kept.values()),
        failed=len(left) - sum(kept.values()),
        by_skipped=dict(Counter(planned.by_skipped) + kept),
        candidates=candidates,
        duration_ms=round(duration_ms, 3),
    )


def told_of_lifecycle(report: ForgetSummary) -> dict[str, Any]:
    """The payload of the event of active forgetting: its counts, and no memory."""
    names = ("trigger", "forced", "archived", "skipped", "failed")
    return {name: getattr(report, name) for name in names}


def _named_outcomes(
    connection: Connection, decisions: Decisions, outcomes: Any, named: Sequence[CycleDecision]
) -> dict[str, int]:
    """The outcomes of the decisions that a report names: the first of the plan."""
    first = sum(one.action != "keep" for one in named)
    ids = journal.ids_of(connection, decisions["rid"][:first])
    return dict(zip(ids, outcomes[:first].tolist(), strict=True))


def _carried_out(
    planned: CycleDecision, outcome: int | None, file: TrashEntry | None
) -> CycleDecision:
    if outcome is None:
        return planned
    if outcome == MOVED:
        deleted = file is not None and file.state in MOVED_STATES
        return msgspec.structs.replace(planned, executed=True, media_deleted=deleted)
    return msgspec.structs.replace(
        planned, skipped=journal.OUTCOMES[outcome], new_importance=planned.old_importance
    )


def outcome_counts(decisions: Decisions, outcomes: Any) -> dict[str, int]:
    """Decisions carried out by action, and skipped ones, derived from the list."""
    counts = {
        name: int(np.count_nonzero((decisions["action"] == code) & (outcomes == MOVED)))
        for code, name in enumerate(ACTIONS)
    }
    counts["skipped"] = int(np.count_nonzero(outcomes != MOVED))
    return counts


def _stage(stage: StageReport, decisions: Decisions, outcomes: Any) -> StageReport:
    own = outcomes[decisions["action"] == STAGE_ACTION[stage.stage]]
    moved = int(np.count_nonzero(own == MOVED))
    return msgspec.structs.replace(stage, moved=moved, skipped=len(own) - moved)
