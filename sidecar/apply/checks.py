"""The last look at a record, inside the transaction that would move it."""

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sidecar.apply.journal import MOVED, OUTCOME_CODE
from sidecar.model import FORGOTTEN, INVALIDATED
from sidecar.plan.guards import CurrentState, recheck
from sidecar.plan.plan import ARCHIVE, FORGET, CascadeSettings
from sidecar.store import links
from sidecar.store.sqlite.typed import Connection

_NAMES: Final = (
    "rid, id, tier, status, change_counter, pinned, evergreen, held_until, created_at,"
    " restored_at, superseded_by, segment, memory_type, media_ref"
)


class Present(NamedTuple):
    """The columns of one row that a move looks at."""

    rid: int
    id: str
    tier: int
    status: int
    change_counter: int
    pinned: int
    evergreen: int
    held_until: int | None
    created_at: int
    restored_at: int | None
    superseded_by: str | None
    segment: str | None
    memory_type: int
    media_ref: str | None


def present_rows(connection: Connection, rids: Iterable[int]) -> dict[int, Present]:
    """The rows that are there, by row number."""
    query = f"SELECT {_NAMES} FROM memories WHERE rid IN (SELECT value FROM json_each(?))"
    found = connection.execute(query, (json.dumps(list(rids)),))
    return {values[0]: Present(*values) for values in found}


def outcome_of(
    connection: Connection,
    decision: Any,
    row: Present | None,
    settings: CascadeSettings,
    now: int,
    *,
    by_policy: bool,
    forced: bool = False,
) -> int:
    """The outcome code: MOVED where the decision may still be carried out, else why not.

    Any change of the record since planning stops it. `by_policy` adds the promises that no
    policy may break; a host's own call was checked against them when it came. `forced` is for
    what a cycle prunes however young it is.
    """
    if row is None:
        return OUTCOME_CODE["gone"]
    if row.change_counter != decision["counter"] or row.tier != decision["from_tier"]:
        return OUTCOME_CODE["changed"]
    if not by_policy:
        return MOVED
    forgets = decision["action"] in (FORGET, ARCHIVE)
    linked = forgets and row.superseded_by is not None
    state = CurrentState(
        pinned=bool(row.pinned),
        evergreen=bool(row.evergreen),
        held_until=row.held_until or 0,
        created_at=row.created_at,
        restored_at=row.restored_at or 0,
        newer_version_stands=linked and links.newer_stands(connection, row.id),
        older_version_lives=forgets and links.older_lives(connection, row.id),
    )
    action, reason = int(decision["action"]), int(decision["reason"])
    kept = recheck(state, action, reason, settings, now, forced=forced)
    return MOVED if kept is None else OUTCOME_CODE[kept]


def survivor_stands(connection: Connection, detail: Any) -> bool:
    """Whether the memory that stays for a duplicate is here, believed, and as it was compared.

    Any change of it since planning counts, but the fade of the same run.
    """
    query = "SELECT tier, status, change_counter FROM memories WHERE rid = ?"
    found = connection.execute(query, (int(detail["survivor"]),)).fetchall()
    if not found:
        return False
    tier, status, counter = found[0]
    return tier != FORGOTTEN and status != INVALIDATED and counter == detail["survivor_counter"]
