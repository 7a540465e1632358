"""The journal of runs: the full decision list is committed before the first move.

A run's decisions lie in chunks, each the work of one transaction, in row order. The moving
transaction writes the chunk's outcomes, so a start after a kill knows exactly what is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from sidecar.idempotency import PARAMETER
from sidecar.limits import MOVES_PER_TRANSACTION_MAX, PRUNES_PER_TRANSACTION_MAX
from sidecar.model import COLD, FORGOTTEN, HOT, TIERS
from sidecar.plan.plan import ACTIONS, ARCHIVE, FORGET, IN_PLACE, REASONS, SPILL, Plan
from sidecar.reports import Decision, RunSummary, ScoreParts
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

RunKind = Literal["sweep", "spill", "forget", "restore", "undo", "cycle", "lifecycle", "gc"]
Decisions = NDArray[Any]
Details = NDArray[Any]

# What became of a decision. Append only: journals hold the numbers.
OUTCOMES: Final = (
    "moved",
    "changed",
    "pinned",
    "held",
    "evergreen",
    "head",
    "newborn",
    "restored",
    "unscored",
    "braked",
    "corrupt",
    "gone",
    "oversized",
    "disk_full",
    "disabled",
)
OUTCOME_CODE: Final = {name: code for code, name in enumerate(OUTCOMES)}
MOVED: Final = 0
# Beside each decision of a cycle, and of the undoing of one: whose duplicate the memory is (a row
# number, 0: nobody's), its fade factor as planned and as it is to be, its type, and the survivor's
# change counter when all fades of the run are done. Append only: see `_unpacked`.
DETAIL: Final = np.dtype(
    [
        ("survivor", "<i8"),
        ("factor_before", "<f8"),
        ("factor_after", "<f8"),
        ("memory_type", "u1"),
        ("survivor_counter", "<i8"),
    ]
)
DECISION: Final = np.dtype(
    [
        ("rid", "<i8"),
        ("counter", "<i8"),
        ("rank", "<i4"),
        ("action", "u1"),
        ("reason", "u1"),
        ("from_tier", "u1"),
        ("to_tier", "u1"),
        ("score", "<f8"),
        ("strength", "<f8"),
        ("value", "<f8"),
        ("retention", "<f8"),
        ("recency", "<f8"),
    ]
)


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What a run is, apart from its decisions. Times are milliseconds."""

    run_id: str
    kind: RunKind
    trigger: str
    planned_at: int
    started_at: int
    settings: dict[str, Any]
    plan_id: str | None = None
    policy: str | None = None
    policy_version: str | None = None
    undoes: str | None = None

    @property
    def key(self) -> str | None:
        """The idempotency key of the call that wanted the run."""
        return self.settings.get(PARAMETER)


def decisions_of(plan: Plan) -> Decisions:
    """A plan's decisions, packed; in plan order."""
    packed = np.zeros(len(plan), DECISION)
    packed["rid"] = plan.rid
    packed["counter"] = plan.change_counter
    packed["rank"] = np.arange(len(plan), dtype=np.int32)
    packed["action"] = plan.action
    packed["reason"] = plan.reason
    packed["from_tier"] = plan.from_tier
    packed["to_tier"] = np.where(plan.action == SPILL, COLD, FORGOTTEN)
    for name in ("score", "strength", "value", "retention", "recency"):
        packed[name] = getattr(plan, name)
    return packed


ChunkRow = tuple[str, int, bytes, bytes | None]


def chunk_rows(
    header: RunHeader, decisions: Decisions, details: Details | None = None
) -> list[ChunkRow]:
    """A run's whole list as the journal keeps it, one row a chunk."""
    return [
        (
            header.run_id,
            number,
            decisions[chosen].tobytes(),
            None if details is None else details[chosen].tobytes(),
        )
        for number, chosen in enumerate(_chunks(header.kind, decisions))
    ]


def list_chunks(tx: Transaction, chunks: Sequence[ChunkRow]) -> None:
    """Write a part of a run's list. It counts for nothing until `begin` has committed."""
    tx.connection.executemany(
        "INSERT INTO run_chunks (run_id, chunk, decisions, details) VALUES (?, ?, ?, ?)", chunks
    )


def begin(
    tx: Transaction, header: RunHeader, count: int, begun: bytes, chunks: Sequence[ChunkRow]
) -> None:
    """Write the run, with the last part of its list. After this commit it will be finished.

    `count` is how many decisions there are in all. `begun` is what the report is to be made from;
    it stands in the report's place until then.
    """
    tx.connection.execute(
        "INSERT INTO runs (run_id, kind, trigger, state, plan_id, planned_at, started_at, policy,"
        " policy_version, settings, decisions, undoes, report)"
        " VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            header.run_id,
            header.kind,
            header.trigger,
            header.plan_id,
            header.planned_at,
            header.started_at,
            header.policy,
            header.policy_version,
            msgspec.json.encode(header.settings).decode(),
            count,
            header.undoes,
            begun.decode(),
        ),
    )
    list_chunks(tx, chunks)


# Run ids rise with time, and a list is written before its run: what comes after the last run is
# the list of one that was killed before it began.
_UNBEGUN: Final = "run_id > (SELECT coalesce(max(run_id), '') FROM runs)"


def unbegun(connection: Connection) -> bool:
    """Whether there is a list whose run never began."""
    return bool(connection.execute(f"SELECT 1 FROM run_chunks WHERE {_UNBEGUN} LIMIT 1").fetchall())


def drop_unbegun(tx: Transaction) -> None:
    """Forget the lists of runs that never began."""
    tx.connection.execute(f"DELETE FROM run_chunks WHERE {_UNBEGUN}")


def _chunks(kind: RunKind, decisions: Decisions) -> list[NDArray[np.int64]]:
    """The places of the decisions of each transaction: what moves nowhere, then by target tier.

    Among these in row order, at most a transaction's worth a chunk.
    """
    in_place = np.isin(decisions["action"], IN_PLACE)
    groups = [np.flatnonzero(in_place)]
    for tier in (HOT, COLD, FORGOTTEN):
        groups.append(np.flatnonzero(~in_place & (decisions["to_tier"] == tier)))
    chunks: list[NDArray[np.int64]] = []
    for number, group in enumerate(groups):
        prunes = kind == "cycle" and number > 0
        most = PRUNES_PER_TRANSACTION_MAX if prunes else MOVES_PER_TRANSACTION_MAX
        group = group[np.argsort(decisions["rid"][group], kind="stable")]
        chunks += [group[start : start + most] for start in range(0, len(group), most)]
    return chunks


def counts_for_brake(decisions: Any) -> Any:
    """Which decisions the brake limits: what is forgotten, and what is archived."""
    return (decisions["to_tier"] == FORGOTTEN) | (decisions["action"] == ARCHIVE)


class Chunk(NamedTuple):
    """The decisions of one transaction. `details` only of cycles and of what undoes one."""

    number: int
    decisions: Decisions
    details: Details | None


def pending(connection: Connection, run_id: str) -> list[Chunk]:
    """The chunks that have no outcomes yet, in order."""
    query = (
        "SELECT chunk, decisions, details FROM run_chunks"
        " WHERE run_id = ? AND outcomes IS NULL ORDER BY chunk"
    )
    chunks: list[Chunk] = []
    for number, blob, told in connection.execute(query, (run_id,)):
        decisions = np.frombuffer(blob, DECISION)
        details = None if told is None else _unpacked(told, len(decisions))
        chunks.append(Chunk(number, decisions, details))
    return chunks


def _unpacked(details: bytes | None, count: int) -> Details:
    """The details of so many decisions; zeros where they have none.

    A run of an older version has the first fields only: the others are 0, which is no counter.
    """
    fields = np.zeros((count, DETAIL.itemsize), np.uint8)
    if details is not None:
        stored = np.frombuffer(details, np.uint8).reshape(count, -1)
        fields[:, : stored.shape[1]] = stored
    return fields.view(DETAIL)[:, 0]


def record(tx: Transaction, run_id: str, chunk: int, outcomes: NDArray[np.uint8]) -> None:
    """Write a chunk's outcomes into the transaction that made them true."""
    tx.connection.execute(
        "UPDATE run_chunks SET outcomes = ? WHERE run_id = ? AND chunk = ?",
        (outcomes.tobytes(), run_id, chunk),
    )
    moved = int(np.count_nonzero(outcomes == MOVED))
    tx.connection.execute(
        "UPDATE runs SET moved = moved + ?, skipped = skipped + ? WHERE run_id = ?",
        (moved, len(outcomes) - moved, run_id),
    )


def finish(tx: Transaction, run_id: str, at: int, report: bytes) -> None:
    """Close the run with its report."""
    tx.connection.execute(
        "UPDATE runs SET state = 'finished', finished_at = ?, report = ? WHERE run_id = ?",
        (at, report.decode(), run_id),
    )


def unfinished(connection: Connection) -> list[str]:
    """The ids of runs that were begun and not finished."""
    query = "SELECT run_id FROM runs WHERE state = 'running' ORDER BY started_at, run_id"
    return [run_id for (run_id,) in connection.execute(query)]


def header_of(connection: Connection, run_id: str) -> RunHeader | None:
    """The header of a run of the ledger."""
    query = (
        "SELECT run_id, kind, trigger, planned_at, started_at, settings, plan_id, policy,"
        " policy_version, undoes FROM runs WHERE run_id = ?"
    )
    found = connection.execute(query, (run_id,)).fetchall()
    if not found:
        return None
    identity, kind, trigger, planned_at, started_at, settings, *rest = found[0]
    return RunHeader(
        identity, kind, trigger, planned_at, started_at, msgspec.json.decode(settings), *rest
    )


def begun_of(connection: Connection, run_id: str) -> bytes:
    """What the report of a running run is to be made from."""
    query = "SELECT report FROM runs WHERE run_id = ?"
    return connection.execute(query, (run_id,)).fetchall()[0][0].encode()


def all_decisions(connection: Connection, run_id: str) -> tuple[Decisions, NDArray[np.int16]]:
    """Every decision of a run in plan order, with its outcome (-1: not tried yet)."""
    decisions, outcomes, _ = all_details(connection, run_id)
    return decisions, outcomes


def all_details(
    connection: Connection, run_id: str
) -> tuple[Decisions, NDArray[np.int16], Details]:
    """As `all_decisions`, with the details of each; zeros for a run that has none."""
    query = "SELECT decisions, outcomes, details FROM run_chunks WHERE run_id = ? ORDER BY chunk"
    parts: list[Decisions] = [np.zeros(0, DECISION)]
    outcomes: list[NDArray[np.int16]] = [np.zeros(0, np.int16)]
    details: list[Details] = [np.zeros(0, DETAIL)]
    for blob, outcome, told in connection.execute(query, (run_id,)):
        chunk = np.frombuffer(blob, DECISION)
        parts.append(chunk)
        tried = outcome is not None
        codes = np.frombuffer(outcome, np.uint8) if tried else np.full(len(chunk), -1)
        outcomes.append(codes.astype(np.int16))
        details.append(_unpacked(told, len(chunk)))
    decisions = np.concatenate(parts)
    order = np.argsort(decisions["rank"], kind="stable")
    return decisions[order], np.concatenate(outcomes)[order], np.concatenate(details)[order]


def ids_of(connection: Connection, rids: NDArray[np.int64]) -> list[str]:
    """The ids of rows, in order; "" where the row is gone for good."""
    query = "SELECT id FROM memories WHERE rid = ?"
    ids: list[str] = []
    for rid in rids.tolist():
        found = connection.execute(query, (rid,)).fetchall()
        ids.append(found[0][0] if found else "")
    return ids


def to_wire(
    decisions: Decisions,
    ids: list[str],
    outcomes: NDArray[np.int16] | None,
    *,
    cycle: bool = False,
) -> list[Decision]:
    """Decisions as they are answered; what a `cycle` forgets is pruned."""
    tried = outcomes.tolist() if outcomes is not None else [-1] * len(ids)
    return [
        Decision(
            id=memory_id,
            action="prune" if cycle and one["action"] == FORGET else ACTIONS[int(one["action"])],
            reason=REASONS[int(one["reason"])],
            from_tier=TIERS[int(one["from_tier"])],
            score=_number(one["score"]),
            strength=_number(one["strength"]),
            parts=_parts(one),
            outcome=None if outcome < 0 else OUTCOMES[outcome],
        )
        for one, memory_id, outcome in zip(decisions, ids, tried, strict=True)
    ]


def _parts(decision: Any) -> ScoreParts | None:
    if decision["action"] not in (SPILL, FORGET) or np.isnan(decision["score"]):
        return None
    return ScoreParts(
        value=_number(decision["value"]),
        retention=_number(decision["retention"]),
        recall_recency=_number(decision["recency"]),
        status_factor=1 if REASONS[decision["reason"]] in ("superseded", "archived") else 2,
    )


def _number(value: Any) -> float | None:
    number = float(value)
    return None if np.isnan(number) else number


def summaries(
    connection: Connection, limit: int, before: tuple[int, str] | None = None
) -> list[RunSummary]:
    """Runs of the ledger, newest first, from below (startedAt, runId) on."""
    at, run_id = before or (2**62, "")
    query = (
        "SELECT run_id, kind, trigger, state, planned_at, started_at, finished_at, policy,"
        " policy_version, decisions, moved, skipped, undone_by, undoes FROM runs"
        " WHERE (started_at, run_id) < (?, ?) ORDER BY started_at DESC, run_id DESC LIMIT ?"
    )
    return [_summary(values) for values in connection.execute(query, (at, run_id, limit))]


def summary(connection: Connection, run_id: str) -> RunSummary | None:
    """One run of the ledger."""
    query = (
        "SELECT run_id, kind, trigger, state, planned_at, started_at, finished_at, policy,"
        " policy_version, decisions, moved, skipped, undone_by, undoes FROM runs"
        " WHERE run_id = ?"
    )
    found = connection.execute(query, (run_id,)).fetchall()
    return _summary(found[0]) if found else None


def _summary(values: tuple[Any, ...]) -> RunSummary:
    names = RunSummary.__struct_fields__
    return RunSummary(**dict(zip(names, values, strict=True)))
