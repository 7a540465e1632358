"""Whether the event log replays to the present state, and where it does not."""

from typing import Any, Final

from sidecar.store import events
from sidecar.store.event_kinds import STATE_FIELDS
from sidecar.store.findings import NAMED_MAX, Findings
from sidecar.store.sqlite.typed import Connection

FIELDS_NAMED_MAX: Final = 5


def look_at_log(connection: Connection, found: Findings) -> None:
    """Replay the log, compare both state hashes, and name the first ids and fields that differ."""
    present = events.state_hash(connection)
    if present == events.replayed_hash(connection):
        found.add("event log", True, f"replays to the present state, {present}")
        return
    differing = differences(connection)
    shown = "; ".join(differing[:NAMED_MAX])
    more = f"; and {len(differing) - NAMED_MAX} more" if len(differing) > NAMED_MAX else ""
    found.add("event log", False, f"does not replay to the present state: {shown}{more}")


def differences(connection: Connection) -> list[str]:
    """Each id that the log and the tables see otherwise, with the names of the fields."""
    replayed = events.replay(connection)
    query = f"SELECT {', '.join(STATE_FIELDS)} FROM memories ORDER BY id"
    differing: list[str] = []
    for values in connection.execute(query):
        present = dict(zip(STATE_FIELDS, values, strict=True))
        told = replayed.pop(present["id"], None)
        if told is None:
            differing.append(f"{present['id']}: not in the log")
        elif fields := _differing(present, told):
            named = ", ".join(fields[:FIELDS_NAMED_MAX])
            more = f" and {len(fields) - FIELDS_NAMED_MAX} more fields"
            tail = more if len(fields) > FIELDS_NAMED_MAX else ""
            differing.append(f"{present['id']}: {named}{tail}")
    differing += [f"{memory_id}: only in the log" for memory_id in sorted(replayed)]
    return differing


def _differing(present: dict[str, Any], told: dict[str, Any]) -> list[str]:
    fields: list[str] = []
    for name, value in present.items():
        plain = value.hex() if isinstance(value, bytes) else value
        if plain != told.get(name) or type(plain) is not type(told.get(name)):
            fields.append(name)
    return fields
