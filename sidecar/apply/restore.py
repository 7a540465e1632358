"""Choosing what a restore or an undo brings back, and saying what became of each id."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from sidecar.apply import journal
from sidecar.apply.journal import DECISION, DETAIL, MOVED, Decisions, Details
from sidecar.apply.lift import set_aside_as_forgotten
from sidecar.errors import InvalidParams, RunNotUndoable, RunUnknown
from sidecar.model import ACTIVE, ARCHIVED, FORGOTTEN, HOT, INVALIDATED, SUPERSEDED
from sidecar.plan.plan import (
    ARCHIVE,
    FADE,
    FORGETTING_REASONS,
    REASON_CODE,
    RESTORE,
    REVIVE,
    THAW,
)
from sidecar.reasons import InvalidationReason, is_reason
from sidecar.reports import RestoreOutcome
from sidecar.store import rows, tombstones
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection
from sidecar.suggest import quoted, remedy_for, shortened

UNDOABLE = frozenset({"sweep", "spill", "forget", "cycle", "lifecycle"})
ROWS_PER_READ: Final = 1_000
# Of the reasons that hosts gave, so many are told where none fits.
REASONS_NAMED_MAX: Final = 20


class _Move(NamedTuple):
    """What is kept of a row that is to be brought back: there may be very many."""

    rid: int
    change_counter: int
    from_tier: int
    to_tier: int
    factor: float | None = None  # of a fade that is taken back: what it was before
    revives: bool = False  # a live one, archived as forgotten: it moves nowhere


@dataclass(slots=True)
class Choice:
    """The rows to bring back (with their tier to be), and the answers that need no change.

    `destroyed` counts rows that are gone for good, so that nobody can name them.
    """

    decisions: Decisions
    details: Details
    answers: dict[str, RestoreOutcome]
    order: list[str]
    destroyed: int = 0


def by_ids(connection: Connection, ids: Sequence[str]) -> Choice:
    """Bring memories back to hot, by id."""
    answers: dict[str, RestoreOutcome] = {}
    chosen: list[_Move] = []
    order = list(dict.fromkeys(ids))
    for memory_id in order:
        row = rows.by_id(connection, memory_id)
        if row is None:
            gone = tombstones.stands(connection, memory_id)
            answers[memory_id] = "destroyed" if gone else "unknown"
        elif row.tier != FORGOTTEN and set_aside_as_forgotten(row):
            chosen.append(_revival(row))
        elif row.tier != FORGOTTEN:
            answers[memory_id] = "already_here"
        else:
            chosen.append(_Move(row.rid, row.change_counter, row.tier, HOT))
    return Choice(*_packed(chosen, "restored"), answers, order)


def by_run(connection: Connection, run_id: str, reason: str) -> Choice:
    """Bring back what a run moved and nobody has moved since, each to the tier it left.

    What it archived is believed again where it lies. With the reason "undone" also take back its
    fades, where nobody gave another importance since.

    Raises RunUnknown, RunNotUndoable.
    """
    run = journal.summary(connection, run_id)
    if run is None:
        raise RunUnknown(field="$.runId", remedy="look the id up with runs.list")
    if run.kind not in UNDOABLE:
        raise RunNotUndoable(
            f"A run of kind {run.kind} cannot be undone",
            field="$.runId",
            bound=f"a run of kind {', '.join(sorted(UNDOABLE))}",
            remedy="what was destroyed cannot come back"
            if run.kind == "gc"
            else "what it restored can be forgotten again with memory.forget",
        )
    if run.state == "running":
        raise RunNotUndoable(
            "The run is still under way", field="$.runId", remedy="wait until it has finished"
        )
    decisions, outcomes, details = journal.all_details(connection, run_id)
    done = outcomes == MOVED
    if reason != "undone":
        done &= decisions["action"] != FADE
    answers: dict[str, RestoreOutcome] = {}
    chosen: list[_Move] = []
    order: list[str] = []
    destroyed = 0
    moved = decisions[done]
    found = rows_at(connection, moved["rid"].tolist())
    for decision, detail, row in zip(moved, details[done], found, strict=True):
        if row is None:
            destroyed += 1
            continue
        order.append(row.id)
        if decision["action"] == FADE:
            if row.tier != FORGOTTEN and row.fade_factor == detail["factor_after"]:
                before = float(detail["factor_before"])
                chosen.append(_Move(row.rid, row.change_counter, row.tier, row.tier, before))
            else:
                answers[row.id] = "changed"
        elif decision["action"] == ARCHIVE:
            if row.tier != FORGOTTEN and row.archived_run == run_id and set_aside_as_forgotten(row):
                chosen.append(_revival(row))
            else:
                answers[row.id] = "already_here" if row.status == ACTIVE else "changed"
        elif row.tier == decision["to_tier"] and row.moved_run == run_id:
            chosen.append(_Move(row.rid, row.change_counter, row.tier, int(decision["from_tier"])))
        else:
            answers[row.id] = "changed" if row.tier == FORGOTTEN else "already_here"
    return Choice(*_packed(chosen, reason), answers, order, destroyed=destroyed)


def by_reason(connection: Connection, reason: str) -> Choice:
    """Bring back every forgotten memory with this status reason or reason of its move.

    Raises InvalidParams for a reason that nothing here was ever set aside for: a slip of a key
    must not look like a restore that found nothing.
    """
    code = REASON_CODE.get(reason, -1)
    found = rows.select(
        connection,
        "WHERE tier = ? AND (moved_reason = ? OR status_reason IN (SELECT value FROM json_each(?))"
        " OR moved_run IN"
        " (SELECT run_id FROM runs WHERE json_extract(settings, '$.reason') = ?)) ORDER BY rid",
        (FORGOTTEN, code, json.dumps(_texts_of(connection, reason)), reason),
    )
    chosen = [
        _Move(
            row.rid, row.change_counter, row.tier, HOT if row.tier_left is None else row.tier_left
        )
        for row in found
    ]
    order = [row.id for row in found]
    if InvalidationReason.from_db(reason) is InvalidationReason.FORGOTTEN:
        here = rows.select(
            connection, "WHERE tier <> ? AND status = ? ORDER BY rid", (FORGOTTEN, ARCHIVED)
        )
        for row in filter(set_aside_as_forgotten, here):
            chosen.append(_revival(row))
            order.append(row.id)
    if not order:
        _refuse_unknown(connection, reason)
    return Choice(*_packed(chosen, "restored"), {}, order)


def _texts_of(connection: Connection, reason: str) -> list[str]:
    """The stored texts that mean a reason, whatever their case; a host's own words exactly."""
    if not is_reason(reason):
        return [reason]
    wanted = InvalidationReason.from_db(reason)
    stored = connection.execute("SELECT DISTINCT status_reason FROM memories WHERE status > 0")
    return [
        text
        for (text,) in stored
        if text is not None and is_reason(text) and InvalidationReason.from_db(text) is wanted
    ]


def _revival(row: Row) -> _Move:
    return _Move(row.rid, row.change_counter, row.tier, row.tier, revives=True)


def _refuse_unknown(connection: Connection, reason: str) -> None:
    given = connection.execute(
        "SELECT DISTINCT json_extract(settings, '$.reason') FROM runs WHERE kind = 'forget'"
        " UNION SELECT DISTINCT status_reason FROM memories WHERE status_reason IS NOT NULL"
    ).fetchall()
    own = [name for (name,) in given if name is not None]
    if is_reason(reason) or reason in {*own, *REASON_CODE}:
        return
    known = sorted({*FORGETTING_REASONS, *InvalidationReason, *own[:REASONS_NAMED_MAX]})
    raise InvalidParams(
        f"Nothing was forgotten for the reason {quoted(reason)}",
        field="$.reason",
        bound="a reason of a sweep or of memory.invalidate, or one given to memory.forget",
        remedy=remedy_for(reason, map(shortened, known)),
    )


def answer(row: Row, outcome: int, now: int) -> RestoreOutcome:
    """Where it lies is given back in every case; what is believed of it is said."""
    if outcome != MOVED:
        return "conflict" if row.tier == FORGOTTEN else "changed"
    if row.status == SUPERSEDED:
        return "superseded"
    if row.status == INVALIDATED:
        return "invalidated"
    return "expired" if row.expired(now) else "restored"


def rows_at(connection: Connection, rids: Sequence[int]) -> Iterator[Row | None]:
    """The row of each row number in order, None where it is gone; a part of them at a time."""
    for start in range(0, len(rids), ROWS_PER_READ):
        part = rids[start : start + ROWS_PER_READ]
        condition = "WHERE rid IN (SELECT value FROM json_each(?))"
        found = {row.rid: row for row in rows.select(connection, condition, (json.dumps(part),))}
        yield from map(found.get, part)


def _packed(chosen: list[_Move], reason: str) -> tuple[Decisions, Details]:
    packed = np.zeros(len(chosen), DECISION)
    details = np.zeros(len(chosen), DETAIL)
    for rank, move in enumerate(chosen):
        one: Any = packed[rank]
        one["rid"], one["counter"], one["rank"] = move.rid, move.change_counter, rank
        one["action"] = RESTORE if move.from_tier == FORGOTTEN else THAW
        if move.factor is not None:
            one["action"] = FADE
            told: Any = details[rank]
            told["factor_after"] = move.factor
        if move.revives:
            one["action"] = REVIVE
        one["reason"] = REASON_CODE[reason]
        one["from_tier"], one["to_tier"] = move.from_tier, move.to_tier
    for name in ("score", "strength", "value", "retention", "recency"):
        packed[name] = np.nan
    return packed, details
