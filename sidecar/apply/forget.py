"""Forgetting memories that a host names: the same journal and the same way back as a sweep."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from sidecar.apply.journal import DECISION, Decisions
from sidecar.model import FORGOTTEN
from sidecar.plan.plan import FORGET, REASON_CODE
from sidecar.reports import ForgetReport, ForgetResult
from sidecar.store import rows
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection

Answer = Literal["forgotten", "already_forgotten", "unknown", "protected", "changed"]


def decisions_for(
    connection: Connection, ids: Sequence[str], now: int
) -> tuple[Decisions, dict[int, Answer]]:
    """What is to be forgotten, and the answer for each row that is not (by row number).

    Pinned and held memories are refused: the host has to lift the protection first.
    """
    chosen: list[Row] = []
    answers: dict[int, Answer] = {}
    for memory_id in ids:
        row = rows.by_id(connection, memory_id)
        if row is None:
            continue
        if row.tier == FORGOTTEN:
            answers[row.rid] = "already_forgotten"
        elif row.pinned or (row.held_until or 0) > now:
            answers[row.rid] = "protected"
        else:
            chosen.append(row)
    packed = np.zeros(len(chosen), DECISION)
    for rank, row in enumerate(chosen):
        one: Any = packed[rank]
        one["rid"], one["counter"], one["rank"] = row.rid, row.change_counter, rank
        one["action"], one["reason"] = FORGET, REASON_CODE["called"]
        one["from_tier"], one["to_tier"] = row.tier, FORGOTTEN
    for name in ("score", "strength", "value", "retention", "recency"):
        packed[name] = np.nan
    return packed, answers


def forget_report(
    connection: Connection,
    ids: Sequence[str],
    answers: dict[int, Answer],
    run_id: str | None,
) -> ForgetReport:
    """The answer of memory.forget, in the order of the call."""
    results: list[ForgetResult] = []
    for memory_id in ids:
        row = rows.by_id(connection, memory_id)
        result = "unknown" if row is None else answers.get(row.rid, "unknown")
        results.append(ForgetResult(id=memory_id, result=result))
    forgotten = sum(one.result == "forgotten" for one in results)
    return ForgetReport(run_id=run_id, forgotten=forgotten, results=results)
