"""Where the id of a memory stands besides its row, and taking it out when the row is destroyed.

Events keep what they count and when; the id gives way to its tombstone's hash, and texts and
hashes go. Reports of runs name the hash instead of the id. A stored reply that names the id goes.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec
import numpy as np

from sidecar.store import event_log, proposals, replies, reviews
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction

# Texts of a memory's events that say nothing of it: names that we chose.
KEPT_TEXTS: Final = frozenset({"signal"})
# The kinds of event whose payload names memories, as a list in SQL.
NAMES_MEMORIES: Final = (
    f"('forgetting.cycle_completed', '{reviews.CLEARED}', '{proposals.SUBMITTED_EVENT}',"
    f" '{proposals.ACCEPTED_EVENT}', '{proposals.REJECTED_EVENT}', '{proposals.DROPPED_EVENT}')"
)
_Places = dict[str, set[str]]


@dataclass(slots=True)
class Traces:
    """The places that name some ids, as far as event number `through`."""

    through: int = 0
    events: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    runs: _Places = field(default_factory=dict[str, set[str]])
    replies: _Places = field(default_factory=dict[str, set[str]])
    summaries: _Places = field(default_factory=dict[str, set[str]])


def look(connection: Connection, ids: Collection[str]) -> Traces:
    """Find every place that names one of `ids`. To be called in one view."""
    wanted = frozenset(ids)
    traces = Traces(event_log.latest(connection))
    query = "SELECT seq, memory_id FROM events WHERE memory_id IS NOT NULL"
    for seq, memory_id in connection.execute(query):
        if memory_id in wanted:
            traces.events.setdefault(memory_id, []).append(seq)
    query = f"SELECT seq, payload FROM events WHERE kind IN {NAMES_MEMORIES}"
    for seq, payload in connection.execute(query):
        _note(traces.summaries, str(seq), [payload], wanted)
    query = "SELECT run_id, settings, coalesce(report, 'null') FROM runs"
    for run_id, *documents in connection.execute(query):
        _note(traces.runs, run_id, documents, wanted)
    query = "SELECT key, coalesce(reply, 'null') FROM idempotency"
    for key, reply in connection.execute(query):
        _note(traces.replies, key, [reply], wanted)
    return traces


def take_out(tx: Transaction, traces: Traces, hashes: Mapping[str, str], now: int) -> None:
    """Take out every trace of the ids that are the keys of `hashes`, in this transaction."""
    connection = tx.connection
    named = json.dumps(list(hashes))
    later = connection.execute(
        "SELECT seq, memory_id FROM events WHERE seq > ? AND memory_id IN"
        " (SELECT value FROM json_each(?))",
        (traces.through, named),
    ).fetchall()
    for memory_id, stands_for in hashes.items():
        for seq in traces.events.get(memory_id, ()):
            _scrub_event(connection, seq, stands_for)
    for seq, memory_id in later:
        _scrub_event(connection, seq, hashes[memory_id])
    connection.execute(
        "DELETE FROM event_checkpoint WHERE memory_id IN (SELECT value FROM json_each(?))", (named,)
    )
    reviews.leave(connection, list(hashes))
    proposals.leave(tx, hashes, now)
    _scrub_summaries(connection, traces, hashes)
    replies.drop(tx, _places(traces.replies, hashes))
    for run_id in _places(traces.runs, hashes):
        _scrub_run(connection, run_id, hashes)


def _scrub_summaries(connection: Connection, traces: Traces, hashes: Mapping[str, str]) -> None:
    """Let hashes stand for the ids in the events that tell of many memories at once."""
    later = connection.execute(
        f"SELECT seq FROM events WHERE seq > ? AND kind IN {NAMES_MEMORIES}", (traces.through,)
    )
    named = {int(seq) for seq in _places(traces.summaries, hashes)}
    for seq in sorted(named | {seq for (seq,) in later.fetchall()}):
        query = "SELECT payload FROM events WHERE seq = ?"
        for (payload,) in connection.execute(query, (seq,)).fetchall():
            told = _replaced(msgspec.json.decode(payload), hashes)
            connection.execute(
                "UPDATE events SET payload = ? WHERE seq = ?",
                (msgspec.json.encode(told).decode(), seq),
            )


def take_out_reasons(tx: Transaction) -> None:
    """Take a caller's words out of each forgetting whose memories are destroyed or elsewhere now.

    Where some still lie where that run put them, the words are theirs too, and a restore by
    reason must find them.
    """
    connection = tx.connection
    query = "SELECT run_id FROM runs WHERE json_extract(settings, '$.reason') IS NOT NULL"
    for (run_id,) in connection.execute(query + " AND kind = 'forget'").fetchall():
        rids = _rows_of(connection, run_id)
        present = connection.execute(
            "SELECT count(*), coalesce(sum(moved_run = ?), 0) FROM memories"
            " WHERE rid IN (SELECT value FROM json_each(?))",
            (run_id, json.dumps(rids)),
        ).fetchall()[0]
        if present[0] == len(rids) or present[1]:
            continue
        connection.execute(
            "UPDATE runs SET settings = json_remove(settings, '$.reason') WHERE run_id = ?",
            (run_id,),
        )
        connection.execute(
            "UPDATE events SET payload = json_remove(payload, '$.reason')"
            " WHERE run_id = ? AND memory_id IS NULL AND kind = 'forgetting.sweep_completed'",
            (run_id,),
        )


def named_in(connection: Connection, ids: Collection[str]) -> dict[str, int]:
    """How often some ids still stand in events, runs, replies, reviews and proposals."""
    traces = look(connection, ids)
    named = json.dumps(list(ids))
    folded = connection.execute(
        "SELECT count(*) FROM event_checkpoint WHERE memory_id IN (SELECT value FROM json_each(?))",
        (named,),
    ).fetchall()[0][0]
    counts = {
        "events": sum(map(len, traces.events.values())),
        "event_checkpoint": folded,
        "runs": len(_places(traces.runs, ids)),
        "idempotency": len(_places(traces.replies, ids)),
        "summaries": len(_places(traces.summaries, ids)),
        **reviews.named_in(connection, list(ids)),
        "proposals": proposals.named_in(connection, list(ids)),
    }
    return {table: count for table, count in counts.items() if count}


def _rows_of(connection: Connection, run_id: str) -> list[int]:
    """The row numbers of a run's decisions, of which each begins with one."""
    found: list[int] = []
    query = (
        "SELECT c.decisions, r.decisions FROM run_chunks c JOIN runs r USING (run_id)"
        " WHERE run_id = ? ORDER BY chunk"
    )
    blobs = [(blob, count) for blob, count in connection.execute(query, (run_id,))]
    whole = b"".join(blob for blob, _ in blobs)
    if blobs and blobs[0][1]:
        size = len(whole) // blobs[0][1]
        kind = np.dtype([("rid", "<i8"), ("rest", f"V{size - 8}")])
        found = np.frombuffer(whole, kind)["rid"].tolist()
    return found


def _scrub_event(connection: Connection, seq: int, stands_for: str) -> None:
    ((payload,),) = connection.execute(
        "SELECT payload FROM events WHERE seq = ?", (seq,)
    ).fetchall()
    kept = {
        name: value
        for name, value in msgspec.json.decode(payload, type=dict[str, Any]).items()
        if not isinstance(value, str) or name in KEPT_TEXTS
    }
    told = {event_log.TOMBSTONE: stands_for, **kept}
    connection.execute(
        "UPDATE events SET memory_id = NULL, payload = ? WHERE seq = ?",
        (msgspec.json.encode(told).decode(), seq),
    )


def _scrub_run(connection: Connection, run_id: str, hashes: Mapping[str, str]) -> None:
    ((settings, report),) = connection.execute(
        "SELECT settings, report FROM runs WHERE run_id = ?", (run_id,)
    ).fetchall()
    scrubbed = [
        None
        if document is None
        else msgspec.json.encode(_replaced(msgspec.json.decode(document), hashes)).decode()
        for document in (settings, report)
    ]
    connection.execute(
        "UPDATE runs SET settings = ?, report = ? WHERE run_id = ?", (*scrubbed, run_id)
    )


def _note(places: _Places, key: str, documents: list[str], wanted: frozenset[str]) -> None:
    for document in documents:
        for text in _texts(msgspec.json.decode(document)):
            if text in wanted:
                places.setdefault(text, set()).add(key)


def _places(places: _Places, ids: Collection[str]) -> list[str]:
    return sorted({key for memory_id in ids for key in places.get(memory_id, ())})


def _texts(value: Any) -> Iterator[str]:
    """Every text in a decoded document, names of members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in cast(dict[str, Any], value).items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast(list[Any], value):
            yield from _texts(inner)


def _replaced(value: Any, hashes: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return hashes.get(value, value)
    if isinstance(value, dict):
        members = cast(dict[str, Any], value)
        return {hashes.get(name, name): _replaced(each, hashes) for name, each in members.items()}
    if isinstance(value, list):
        return [_replaced(inner, hashes) for inner in cast(list[Any], value)]
    return value
