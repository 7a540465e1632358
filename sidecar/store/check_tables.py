"""Whether the tables of a namespace fit each other."""

from typing import Final

from sidecar.model import COLD, FORGOTTEN, HOT, MEMORY_TYPES, STATUSES
from sidecar.store.findings import Findings
from sidecar.store.sqlite.typed import Connection

_IS_HOT: Final = f"IN (SELECT rid FROM memories WHERE tier = {HOT})"
LATER_TABLES: Final = ("event_checkpoint", "proposals")
MISFITS: Final = {
    "texts without a hot memory": f"SELECT count(*) FROM texts WHERE rid NOT {_IS_HOT}",
    "vectors without a hot memory": f"SELECT count(*) FROM vectors WHERE rid NOT {_IS_HOT}",
    "index entries without a hot memory": f"SELECT count(*) FROM search WHERE rowid NOT {_IS_HOT}",
    "hot memories without a text": (
        f"SELECT count(*) FROM memories WHERE tier = {HOT} AND rid NOT IN (SELECT rid FROM texts)"
    ),
    "hot memories without their vector": (
        f"SELECT count(*) FROM memories WHERE tier = {HOT} AND embedding_dimensions IS NOT NULL"
        " AND rid NOT IN (SELECT rid FROM vectors)"
    ),
    "hot memories without an index entry": (
        f"SELECT count(*) FROM memories WHERE tier = {HOT}"
        " AND rid NOT IN (SELECT rowid FROM search)"
    ),
    "hot memories that name a segment": (
        f"SELECT count(*) FROM memories WHERE tier = {HOT} AND segment IS NOT NULL"
    ),
    "cold or forgotten memories that name no line": (
        f"SELECT count(*) FROM memories WHERE tier <> {HOT}"
        " AND (segment IS NULL OR frame IS NULL OR line IS NULL)"
    ),
    "memories in segments that are not listed": (
        f"SELECT count(*) FROM memories WHERE tier <> {HOT}"
        " AND segment NOT IN (SELECT name FROM segments)"
    ),
    "memories of another tier than their segment": (
        "SELECT count(*) FROM memories m JOIN segments s ON s.name = m.segment"
        " WHERE s.tier <> m.tier"
    ),
    # More than there are memories is right: lines that stand nowhere else keep their file.
    "segments that count fewer memories than lie in them": (
        "SELECT count(*) FROM segments s WHERE s.live <"
        " (SELECT count(*) FROM memories m WHERE m.segment = s.name)"
    ),
    "memories with a tier, status or type that does not exist": (
        f"SELECT count(*) FROM memories WHERE tier NOT IN ({HOT}, {COLD}, {FORGOTTEN})"
        f" OR status NOT BETWEEN 0 AND {len(STATUSES) - 1}"
        f" OR memory_type NOT BETWEEN 0 AND {len(MEMORY_TYPES) - 1}"
    ),
    "memories that no event tells of": (
        "SELECT count(*) FROM memories WHERE id NOT IN"
        " (SELECT memory_id FROM events WHERE memory_id IS NOT NULL"
        "  UNION ALL SELECT memory_id FROM event_checkpoint)"
    ),
    "ids in the event log without a memory": (
        "SELECT count(*) FROM (SELECT memory_id FROM events WHERE memory_id IS NOT NULL"
        " UNION SELECT memory_id FROM event_checkpoint)"
        " WHERE memory_id NOT IN (SELECT id FROM memories)"
    ),
    "decisions of runs that are not listed": (
        "SELECT count(*) FROM run_chunks WHERE run_id NOT IN (SELECT run_id FROM runs)"
    ),
    "accepted proposals without their memory": (
        "SELECT count(*) FROM proposals WHERE status = 1 AND id NOT IN (SELECT id FROM memories)"
    ),
    # Of those whose last event was not folded yet.
    "proposals that the log tells otherwise of": (
        "SELECT count(*) FROM proposals p JOIN"
        " (SELECT payload ->> 'proposalId' AS id, kind, max(seq) FROM events"
        "  WHERE kind IN ('proposal.submitted', 'proposal.accepted', 'proposal.rejected')"
        "  GROUP BY 1) told USING (id)"
        " WHERE told.kind <> CASE p.status WHEN 0 THEN 'proposal.submitted'"
        "  WHEN 1 THEN 'proposal.accepted' ELSE 'proposal.rejected' END"
    ),
    "segments that are needed and are to be removed": (
        "SELECT count(*) FROM unlink_intents WHERE name IN (SELECT name FROM segments)"
    ),
}


def look_at_tables(connection: Connection, found: Findings) -> None:
    """Whether text, index, vectors, events, runs and counters fit the memories."""

    def count(query: str) -> int:
        return connection.execute(query).fetchall()[0][0]

    # A database that no start has migrated yet has no folded events, and no proposals.
    missing = [
        table
        for table in LATER_TABLES
        if not count(f"SELECT count(*) FROM sqlite_schema WHERE name = '{table}'")
    ]
    wrong = {
        what: number
        for what, query in MISFITS.items()
        if not any(table in query for table in missing) and (number := count(query))
    }
    detail = ", ".join(f"{number} {what}" for what, number in wrong.items())
    found.add("tables", not wrong, detail or "all fit the memories")
