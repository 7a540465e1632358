"""Forgetting memories that a host names: the same journal and the same way back as a sweep."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from sidecar.apply.journal import DECISION, OUTCOMES, Decisions
from sidecar.model import FORGOTTEN
from sidecar.plan.plan import FORGET, REASON_CODE
from sidecar.reports import ForgetAnswer
from sidecar.store import rows
from sidecar.store.rows import Row
from sidecar.store.sqlite.typed import Connection

# What became of a decision, as it is answered; whatever is not named was changed meanwhile.
_ANSWERS: Final[dict[str, ForgetAnswer]] = {"moved": "forgotten", "corrupt": "corrupt"}


def decisions_for(
    connection: Connection, ids: Sequence[str], now: int
) -> tuple[Decisions, list[tuple[str, ForgetAnswer | None]]]:
    """What is to be forgotten, and each id in order with its answer; None: it is to be forgotten.

    Pinned and held memories are refused: the host has to lift the protection first.
    """
    chosen: list[Row] = []
    answers: list[tuple[str, ForgetAnswer | None]] = []
    for memory_id in ids:
        row = rows.by_id(connection, memory_id)
        answer: ForgetAnswer | None = None
        if row is None:
            answer = "unknown"
        elif row.tier == FORGOTTEN:
            answer = "already_forgotten"
        elif row.pinned or (row.held_until or 0) > now:
            answer = "protected"
        else:
            chosen.append(row)
        answers.append((memory_id, answer))
    packed = np.zeros(len(chosen), DECISION)
    for rank, row in enumerate(chosen):
        one: Any = packed[rank]
        one["rid"], one["counter"], one["rank"] = row.rid, row.change_counter, rank
        one["action"], one["reason"] = FORGET, REASON_CODE["called"]
        one["from_tier"], one["to_tier"] = row.tier, FORGOTTEN
    for name in ("score", "strength", "value", "retention", "recency"):
        packed[name] = np.nan
    return packed, answers


def answer_of(outcome: int) -> ForgetAnswer:
    """What a decision's outcome code says to the host."""
    return _ANSWERS.get(OUTCOMES[outcome], "changed")
