"""Choosing what is to be destroyed. Looks only: a plan leaves nothing on disk."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from sidecar.apply import journal
from sidecar.apply.destroy import doomed_of
from sidecar.errors import InvalidParams, MemoryNotFound, RunUnknown
from sidecar.gc_reports import DestroyReason, GcPlanReport, GcRefusal, GcRequest, GcSample
from sidecar.gc_tokens import PlannedDestruction
from sidecar.limits import (
    GC_SAMPLE_MEMORIES_MAX,
    GC_STANDING_ORDER_MEMORIES_MAX,
    MILLISECONDS_PER_DAY,
    REPORT_NAMED_MAX,
)
from sidecar.model import FORGOTTEN, TIERS
from sidecar.store import rows, tombstones
from sidecar.store.rows import Row
from sidecar.store.sqlite.source import PayloadDamaged
from sidecar.store.sqlite.typed import Connection
from sidecar.store.store import Store

Why = Literal["held", "not_forgotten", "too_young", "replacement_missing"]
_AGED: Final = "WHERE tier = ? AND forgotten_at <= ?"


@dataclass(slots=True)
class Chosen:
    """The rows that may go, and the named ones that may not."""

    rows: list[Row] = field(default_factory=list[Row])
    refused: list[GcRefusal] = field(default_factory=list[GcRefusal])

    def add(self, row: Row, why: Why | None) -> None:
        """Take a row, or note why not."""
        if why is None:
            self.rows.append(row)
        else:
            self.refused.append(GcRefusal(id=row.id, why=why))

    def report(
        self,
        plan: PlannedDestruction,
        older_than_days: float,
        token: str | None,
        expires_at: int | None,
    ) -> GcPlanReport:
        """What a plan of these rows says before it is carried out."""
        times = [_when(row) for row in self.rows]
        tiers = Counter(TIERS[row.tier] for row in self.rows)
        oldest_first = sorted(self.rows, key=lambda row: (_when(row), row.rid))
        return GcPlanReport(
            namespace=plan.namespace,
            token=token,
            expires_at=expires_at,
            whole_namespace=plan.whole,
            reason=plan.reason,
            older_than_days=older_than_days,
            memories=len(self.rows),
            tiers={tier: tiers[tier] for tier in TIERS},
            bytes=sum(row.bytes for row in self.rows),
            oldest=min(times, default=None),
            newest=max(times, default=None),
            media=len({row.media_ref for row in self.rows if row.media_ref is not None}),
            sample=[_sample(row) for row in oldest_first[:GC_SAMPLE_MEMORIES_MAX]],
            refused=self.refused[:REPORT_NAMED_MAX],
            refused_count=len(self.refused),
        )


def choose(store: Store, request: GcRequest, now: int) -> Chosen:
    """The memories that a request is about. Raises MemoryNotFound, RunUnknown, InvalidParams."""
    before = now - round(request.older_than_days * MILLISECONDS_PER_DAY)
    chosen = Chosen()
    with store.readers.view() as connection:
        replacements = _replacements(store, connection, request)
        for row in _candidates(connection, request, before):
            chosen.add(row, _refusal(row, request, before, now, replacements))
    if request.standing_order:
        chosen.rows = chosen.rows[:GC_STANDING_ORDER_MEMORIES_MAX]
    return chosen


def choose_all(store: Store, now: int) -> Chosen:
    """Every memory of a namespace that is to be deleted whole."""
    chosen = Chosen()
    with store.readers.view() as connection:
        for row in rows.select(connection, "ORDER BY rid", ()):
            chosen.add(row, "held" if (row.held_until or 0) > now else None)
    return chosen


def state_of(connection: Connection) -> tuple[int, ...]:
    """Numbers that differ when a memory was added, moved, changed or destroyed meanwhile."""
    query = (
        "SELECT count(*), coalesce(max(rid), 0), coalesce(sum(revision), 0),"
        " coalesce(sum(tier), 0), coalesce(sum(held_until), 0), coalesce(sum(pinned), 0),"
        " coalesce(sum(evergreen), 0), coalesce(sum(restored_at), 0), coalesce(sum(use_count), 0)"
        " FROM memories"
    )
    return connection.execute(query).fetchall()[0]


def planned(chosen: Chosen, namespace: str, request: GcRequest, now: int) -> PlannedDestruction:
    """The plan for exactly these rows as they are now."""
    return PlannedDestruction(namespace, doomed_of(chosen.rows), reason_of(request), now)


def reason_of(request: GcRequest) -> DestroyReason:
    """What the tombstones will say."""
    if request.standing_order:
        return "standing_order"
    if request.ids is not None:
        return "erased" if request.replaced_by is None else "replaced"
    return "aged" if request.run_id is None else "run"


def _candidates(connection: Connection, request: GcRequest, before: int) -> Sequence[Row]:
    if request.ids is not None:
        return [_named(connection, name, at) for at, name in enumerate(request.ids)]
    if request.run_id is None:
        return rows.select(connection, f"{_AGED} ORDER BY forgotten_at, rid", (FORGOTTEN, before))
    if journal.summary(connection, request.run_id) is None:
        raise RunUnknown(field="$.runId", remedy="look the id up with runs.list")
    where = f"{_AGED} AND moved_run = ? ORDER BY rid"
    return rows.select(connection, where, (FORGOTTEN, before, request.run_id))


def _named(connection: Connection, memory_id: str, position: int) -> Row:
    row = rows.by_id(connection, memory_id)
    if row is not None:
        return row
    field_ = f"$.ids[{position}]"
    if tombstones.stands(connection, memory_id):
        raise MemoryNotFound(
            "The memory with this id was destroyed already",
            field=field_,
            remedy="leave the id out; gc.verify looks whether anything of it is left",
        )
    raise MemoryNotFound(
        field=field_, remedy="list the ids of this namespace with memory.list, each tier by itself"
    )


def _refusal(
    row: Row, request: GcRequest, before: int, now: int, replacements: dict[str, bool]
) -> Why | None:
    if (row.held_until or 0) > now:
        return "held"
    if not replacements.get(row.id, True):
        return "replacement_missing"
    if request.ids is None or request.older_than_days == 0:
        return None
    if row.forgotten_at is None or row.tier != FORGOTTEN:
        return "not_forgotten"
    return "too_young" if row.forgotten_at > before else None


def _replacements(store: Store, connection: Connection, request: GcRequest) -> dict[str, bool]:
    """For each id that is to be replaced, whether its replacement is live, stored and whole."""
    if request.replaced_by is None:
        return {}
    ids = request.ids or ()
    if isinstance(request.replaced_by, str):
        by = dict.fromkeys(ids, request.replaced_by)
    else:
        by = {name: str(other) for name, other in request.replaced_by.items()}
        if set(by) - set(ids):
            raise InvalidParams(
                "$.replacedBy names an id that $.ids does not",
                field="$.replacedBy",
                bound="ids of $.ids, each with the id that takes its place",
                remedy="name the same ids in both",
            )
    durable = {other: _is_durable(store, connection, other) for other in set(by.values())}
    return {name: name in by and by[name] not in ids and durable[by[name]] for name in ids}


def _is_durable(store: Store, connection: Connection, memory_id: str) -> bool:
    row = rows.by_id(connection, memory_id)
    if row is None or row.tier == FORGOTTEN:
        return False
    try:
        store.payload(connection, row)
    except PayloadDamaged:
        return False
    return True


def _when(row: Row) -> int:
    """Since when a memory is forgotten; a live one, since when it is there."""
    return row.created_at if row.forgotten_at is None else row.forgotten_at


def _sample(row: Row) -> GcSample:
    return GcSample(
        id=row.id,
        tier=TIERS[row.tier],
        forgotten_at=row.forgotten_at,
        created_at=row.created_at,
        bytes=row.bytes,
    )
