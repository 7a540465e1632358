"""The store of mem0ai/oss: `vectors` in one SQLite file, `memory_history` in another.

A vector is a memory: its text, times, vector, and the last day on which it holds. Whom it is
about (user, agent, run, role) goes to `metadata`; every other field of its payload is kept in
`extra` under `mem0`, where no name of theirs can be mistaken for a field of a memory.
`importance`, which mem0 does not know but hosts write, is the memory's importance if it lies from
0 to 1 in every memory of the file. What the history says was deleted is counted, never stored.
mem0's own index of entities is made of the memories and is left out.
"""

import base64
import math
import sqlite3
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

from sidecar.errors import InvalidParams
from sidecar.importers.check import problem_of
from sidecar.importers.items import BadLine, Item, Notice, Record
from sidecar.importers.lines import Unclear, parse_json, unsendable
from sidecar.importers.mem0_files import VECTORS, find_store
from sidecar.importers.sqlite_file import open_sqlite
from sidecar.validation import embedding_bytes

SOURCE: Final = "mem0"
UNKNOWN_FIELDS: Final = "mem0"
PROCEDURAL: Final = "procedural_memory"
REPAIR: Final = "mend it in a copy of the file, or leave it out with --skip-bad"

_ABOUT: Final = ("user_id", "agent_id", "run_id", "actor_id", "role")
# Names of other releases and of the Python package.
_NAMES: Final = {
    "userId": "user_id",
    "agentId": "agent_id",
    "runId": "run_id",
    "actorId": "actor_id",
    "created_at": "createdAt",
    "updated_at": "updatedAt",
    "expirationDate": "expiration_date",
}
_PATHS: Final = {
    "content": "$.payload.data",
    "createdAt": "$.payload.createdAt",
    "updatedAt": "$.payload.updatedAt",
    "expiresAt": "$.payload.expiration_date",
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _History:
    """When each memory was first written, and which ones were deleted last."""

    created: Mapping[str, str]
    deleted: frozenset[str]


@contextmanager
def open_store(path: Path, embedding_model: str | None) -> Generator["Mem0Reader"]:
    """A reader of the store that a path means. Raises SourceRefused."""
    store = find_store(path)
    history = _History({}, frozenset())
    if store.history is not None:
        with open_sqlite(store.history) as connection:
            history = _read_history(connection)
    with open_sqlite(store.vectors) as connection:
        yield Mem0Reader(connection, history, embedding_model)


class Mem0Reader:
    """One store, opened; it can be read more than once."""

    def __init__(
        self, connection: sqlite3.Connection, history: _History, embedding_model: str | None
    ) -> None:
        self._connection = connection
        self._history = history
        self._model = embedding_model
        query = "SELECT length(vector) FROM vectors GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
        found = connection.execute(query).fetchall()
        self._vector_bytes: int = found[0][0] or 0 if found else 0
        weights = [
            payload["importance"]
            for (text,) in connection.execute("SELECT payload FROM vectors")
            if (payload := _payload(text)) is not None and "importance" in payload
        ]
        self._weighs = all(map(_is_share, weights))
        self.places: int = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]

    def read(self) -> Iterator[Item]:
        """The records in the order of their rows, and what cannot be or need not be stored."""
        gone = set(self._history.deleted)
        entities = 0
        query = "SELECT rowid, id, vector, payload FROM vectors ORDER BY rowid"
        for row, identity, vector, text in self._connection.execute(query):
            where = f"{VECTORS} row {row}"
            name, payload = _text(identity), _payload(text)
            if name is None:
                yield BadLine(0, "$.id", "is no text", REPAIR, where)
            elif payload is None:
                yield BadLine(0, "$.payload", "is no JSON object", REPAIR, where)
            elif "entityType" in payload and "linkedMemoryIds" in payload:
                entities += 1
            elif name in self._history.deleted:
                gone.discard(name)
                yield Notice(0, "deleted", name, where)
            else:
                yield from self._items(name, vector, payload, where)
        if entities:
            yield Notice(0, "no_memory", "entities", VECTORS)
        for name in sorted(gone):
            yield Notice(0, "deleted", name, "history")

    def _items(
        self, identity: str, vector: Any, payload: dict[str, Any], where: str
    ) -> Iterator[Item]:
        if found := unsendable(payload):
            yield BadLine(0, f"$.payload{found[0].removeprefix('$')}", found[1], REPAIR, where)
            return
        memory: dict[str, Any] = {"id": identity, "metadata": {"source": SOURCE}}
        rest = dict(payload)
        if (content := rest.pop("data", None)) is not None:
            memory["content"] = content
        created = _moment(rest, "createdAt")
        if created is None:
            created = _moment({"at": self._history.created.get(identity)}, "at")
        updated = _moment(rest, "updatedAt")
        times = {"createdAt": created, "updatedAt": created if updated is None else updated}
        memory |= {name: at for name, at in times.items() if at is not None}
        if (last_day := _day(rest.get("expiration_date"))) is not None:
            memory["expiresAt"] = last_day
            del rest["expiration_date"]
        if self._weighs and "importance" in rest:
            memory["importance"] = rest.pop("importance")
        if rest.get("memory_type") == PROCEDURAL:
            memory["memoryType"] = "procedural"
        memory["metadata"] |= {name: rest.pop(name) for name in _ABOUT if name in rest}
        if rest:
            memory[UNKNOWN_FIELDS] = rest
        embedding = self._embedding(vector)
        if embedding is not None:
            memory |= {"embedding": embedding, "embeddingModel": self._model}
        record = Record(0, memory, where)
        if found := unsendable(memory):
            yield BadLine(0, *found, REPAIR, where)
        elif bad := problem_of(record, _PATHS):
            yield bad
        else:
            if embedding is None and vector:
                count = self._vector_bytes // 4
                yield Notice(0, "no_vector", f"not {count} finite numbers", where)
            yield record

    def _embedding(self, vector: Any) -> str | None:
        if not isinstance(vector, bytes) or not vector or len(vector) != self._vector_bytes:
            return None
        text = base64.b64encode(vector).decode()
        try:
            embedding_bytes(text, "$")
        except InvalidParams:
            return None
        return text


def _read_history(connection: sqlite3.Connection) -> _History:
    created: dict[str, str] = {}
    last: dict[str, str | None] = {}
    query = "SELECT memory_id, action, created_at FROM memory_history ORDER BY id"
    for identity, action, at in connection.execute(query):
        name, moment = _text(identity), _text(at)
        if name is None:
            continue
        last[name] = _text(action)
        if moment is not None:
            created.setdefault(name, moment)
    deleted = (name for name, action in last.items() if (action or "").upper() == "DELETE")
    return _History(created, frozenset(deleted))


def _payload(value: Any) -> dict[str, Any] | None:
    """The payload with today's names; None where it is no JSON object."""
    text = _text(value)
    try:
        payload: Any = None if text is None else parse_json(text)
    except (ValueError, RecursionError, Unclear):
        return None
    if not isinstance(payload, dict):
        return None
    given = cast(dict[str, Any], payload)
    for name in _NAMES.keys() & given.keys():
        told = given.pop(name)
        if given.get(_NAMES[name]) is None:
            given[_NAMES[name]] = told
    return given


def _text(value: Any) -> str | None:
    """A text of the file, which comes as bytes; None where it is none."""
    if not isinstance(value, bytes):
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _moment(rest: dict[str, Any], name: str) -> int | None:
    """A time in milliseconds, taken out of `rest`; what is no time stays there."""
    value = rest.get(name)
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    del rest[name]
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _day(value: Any) -> int | None:
    """The end of a day in UTC, in milliseconds: a memory holds to the end of its last day."""
    try:
        last = date.fromisoformat(value) if isinstance(value, str) and len(value) == 10 else None
        if last is None:
            return None
        start = datetime(last.year, last.month, last.day, tzinfo=UTC)
        return (start + timedelta(days=1) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        return None


def _is_share(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 <= value <= 1
