"""The store file of naia-memory's LocalAdapter: one JSON object with facts and episodes.

    fact        semantic; importance, recalls, status, validity and successor are taken over
    episode     episodic; what naia fades it by, `importance.utility`, is its importance
    skill       procedural, with its successes and failures
    reflection  procedural: task, failure, analysis and correction as one text

An archived fact is set aside here too: as `forgotten` where it was as weak as what naia's decay
archives, so that a restore may bring it back, else as `manual`, for then a user deleted it.
`metadata` has `source`, `kind` and what naia knows around the text; every other field is kept in
`extra` under `naiaMemory`. Associations, the knowledge graph and epochs are no memories.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, cast

from sidecar.importers.check import Seen, derived_id, problem_of_whole
from sidecar.importers.items import BadLine, Item, Notice, Record
from sidecar.importers.lines import Unclear, parse_json, unsendable
from sidecar.importers.naia_chains import successors
from sidecar.importers.source import SourceRefused
from sidecar.importers.whole import vector_text, whole_memory

SOURCE: Final = "naia-memory"
UNKNOWN_FIELDS: Final = "naiaMemory"
VERSION: Final = 1
BACKUP_MAGIC: Final = b"NAIA"
PRUNE_STRENGTH: Final = 0.05  # naia's decay archives what is weaker
REPAIR: Final = "mend it in a copy of the file, or leave it out with --skip-bad"

_PARTS: Final = ("facts", "episodes", "skills", "reflections")
_VECTORS: Final = ("factEmbeddings", "episodeEmbeddings")
_STATUSES: Final = ("active", "superseded", "archived")
_TEXT_OF_REFLECTION: Final = ("task", "failure", "analysis", "correction")


class _Wrong(Exception):
    def __init__(self, name: str, message: str) -> None:
        self.field = f"$.{name}"
        self.message = message


@dataclass(slots=True)
class NaiaFile:
    """One file, read and parsed. `embedding_model` names what made its vectors."""

    value: dict[str, Any]
    embedding_model: str | None = None
    _size: int | None = field(init=False, default=None)
    _successors: dict[str, str | None] = field(init=False, default_factory=dict[str, str | None])

    def __post_init__(self) -> None:
        named: Any = self.value.get("embeddingSpaceId")
        if self.embedding_model is None and isinstance(named, str):
            self.embedding_model = named
        vectors = [v for part in _VECTORS for v in self._object(part).values()]
        sizes = Counter(len(cast(list[Any], v)) for v in vectors if isinstance(v, list))
        self._size = sizes.most_common(1)[0][0] if sizes else None
        self._successors = successors(self._list("facts"))

    @property
    def places(self) -> int:
        """How many things the file holds that may be memories."""
        return sum(len(self._list(part)) for part in _PARTS)

    def read(self) -> Iterator[Item]:
        """The records of the file in its order, and what cannot be or need not be stored."""
        seen = Seen()
        for part in _PARTS:
            for at, value in enumerate(self._list(part)):
                for item in self._items(part, value, f"{part}[{at}]"):
                    yield seen.admit(item) if isinstance(item, Record) else item
        for name, value in self.value.items():
            known = name in (*_PARTS, *_VECTORS, "version", "embeddingSpaceId")
            if not known and _says_something(value):
                yield Notice(0, "no_memory", name, name)

    def _items(self, part: str, value: Any, where: str) -> Iterator[Item]:
        if not isinstance(value, dict):
            yield BadLine(0, None, "is no object ({…})", REPAIR, where)
            return
        given = cast(dict[str, Any], value)
        if found := unsendable(given):
            yield BadLine(0, *found, REPAIR, where)
            return
        try:
            memory = _MAKERS[part](self, given)
        except _Wrong as wrong:
            yield BadLine(0, wrong.field, wrong.message, REPAIR, where)
            return
        if found := unsendable(memory):
            yield BadLine(0, *found, REPAIR, where)
            return
        record = Record(0, memory, where)
        if bad := problem_of_whole(record, _FIELDS[part]):
            yield bad
            return
        if part == "facts" and self._successors.get(memory["id"], "") is None:
            yield Notice(0, "no_link", "a chain of successors that comes back to itself", where)
        vectors = {"facts": "factEmbeddings", "episodes": "episodeEmbeddings"}.get(part, "")
        if memory["embedding"] is None and memory["id"] in self._object(vectors):
            yield Notice(0, "no_vector", f"not {self._size} finite numbers", where)
        yield record

    def fact(self, given: dict[str, Any]) -> dict[str, Any]:
        """A fact as a memory."""
        rest = dict(given)
        memory = self._memory(rest, "facts", kind="fact", created="createdAt")
        status = rest.pop("status", None) or "active"
        if status not in _STATUSES:
            raise _Wrong("status", f"must be one of {', '.join(_STATUSES)}")
        memory["updatedAt"] = _time(rest, "updatedAt") or memory["created_at"]
        memory["importanceBase"] = _number(rest, "importance")
        memory["validFrom"] = _time(rest, "validFrom")
        ends = _time(rest, "validTo", keep=True)
        memory["supersededBy"] = self._successors.get(memory["id"])
        rest.pop("successorId", None)
        if status == "superseded":
            memory |= {"status": status, "statusReason": status, "statusAt": ends}
        else:
            memory["expiresAt"] = ends
        if status == "archived":
            weak = (_number(rest, "strength", keep=True) or 0.0) < PRUNE_STRENGTH
            memory |= {"status": status, "statusReason": "forgotten" if weak else "manual"}
        _describe(memory, rest, ("entities", "topics", "sourceEpisodes", "encodingContext"))
        return whole_memory(**memory)

    def episode(self, given: dict[str, Any]) -> dict[str, Any]:
        """An episode as a memory."""
        rest = dict(given)
        memory = self._memory(rest, "episodes", kind="episode", created="timestamp")
        status = rest.pop("status", None) or "active"
        if status not in ("active", "archived"):
            raise _Wrong("status", "must be one of active, archived")
        if status == "archived":
            memory |= {"status": status, "statusReason": "forgotten"}
        weighed: Any = rest.get("importance")
        if isinstance(weighed, dict):
            memory["importanceBase"] = _number(
                cast(dict[str, Any], weighed), "utility", keep=True, path="importance."
            )
        _describe(memory, rest, ("role", "summary", "encodingContext", "consolidated"))
        return whole_memory(**memory, memoryType="episodic")

    def skill(self, given: dict[str, Any]) -> dict[str, Any]:
        """A skill as a memory."""
        rest = dict(given)
        name, described = _text(rest, "name"), str(rest.pop("description", None) or "")
        memory: dict[str, Any] = {
            "id": _text(rest, "id"),
            "content": f"{name}: {described}" if described.strip() else name,
            "created_at": _required_time(rest, "learnedAt"),
            "successCount": _count(rest, "successCount"),
            "failureCount": _count(rest, "failureCount"),
            "metadata": {"source": SOURCE, "kind": "skill", "name": name},
        }
        _describe(memory, rest, ())
        return whole_memory(**memory, memoryType="procedural")

    def reflection(self, given: dict[str, Any]) -> dict[str, Any]:
        """A reflection as a memory. It has no id: one is made of its texts and its time."""
        rest = dict(given)
        texts = {name: str(rest.pop(name, None) or "") for name in _TEXT_OF_REFLECTION}
        told = [f"{name.capitalize()}: {text}" for name, text in texts.items() if text.strip()]
        if not told:
            raise _Wrong("task", "is missing")
        at = _required_time(rest, "timestamp")
        memory: dict[str, Any] = {
            "id": derived_id("naia-reflection", *texts.values(), str(at)),
            "content": "\n".join(told),
            "created_at": at,
            "metadata": {"source": SOURCE, "kind": "reflection"},
        }
        _describe(memory, rest, ())
        return whole_memory(**memory, memoryType="procedural")

    def _memory(
        self, rest: dict[str, Any], part: str, *, kind: str, created: str
    ) -> dict[str, Any]:
        """What facts and episodes have in common; the fields that it takes leave `rest`."""
        identity = _text(rest, "id")
        at = _required_time(rest, created)
        recalls, used = _count(rest, "recallCount"), _time(rest, "lastAccessed")
        vectors = "factEmbeddings" if part == "facts" else "episodeEmbeddings"
        vector: Any = self._object(vectors).get(identity)
        fits = isinstance(vector, list) and len(cast(list[Any], vector)) == self._size
        return {
            "id": identity,
            "content": _text(rest, "content"),
            "created_at": at,
            "recallCount": recalls,
            # naia writes the creation there as long as nobody has recalled it.
            "lastRecalledAt": used if recalls or (used or 0) > at else None,
            "embedding": vector_text(vector) if fits else None,
            "embeddingModel": self.embedding_model if fits else None,
            "metadata": {"source": SOURCE, "kind": kind},
        }

    def _list(self, name: str) -> list[Any]:
        value: Any = self.value.get(name)
        return cast(list[Any], value) if isinstance(value, list) else []

    def _object(self, name: str) -> Mapping[str, Any]:
        value: Any = self.value.get(name)
        return cast(dict[str, Any], value) if isinstance(value, dict) else {}


_MAKERS: Final = {
    "facts": NaiaFile.fact,
    "episodes": NaiaFile.episode,
    "skills": NaiaFile.skill,
    "reflections": NaiaFile.reflection,
}
# Where the fields of a memory stand in the file, where their names differ.
_FIELDS: Final = {
    "facts": {"importanceBase": "$.importance", "lastRecalledAt": "$.lastAccessed"},
    "episodes": {"createdAt": "$.timestamp", "importanceBase": "$.importance.utility"},
    "skills": {"createdAt": "$.learnedAt", "content": "$.name"},
    "reflections": {"createdAt": "$.timestamp", "content": "$.task"},
}


def parse(stream: BinaryIO, embedding_model: str | None) -> NaiaFile:
    """The whole file. Raises SourceRefused where it is no store file of naia-memory."""
    content = stream.read()
    if content.startswith(BACKUP_MAGIC):
        raise SourceRefused(
            "the file is an encrypted backup of naia-memory",
            "restore it with naia-memory, then import the store file",
        )
    try:
        value: Any = parse_json(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError, Unclear, RecursionError, ValueError) as error:
        what = (
            f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        )
        raise SourceRefused(
            f"the file is cut off or is no JSON ({what or error})",
            "copy it once more while naia-memory does not write",
        ) from None
    store = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    if store.get("version") != VERSION or not all(
        isinstance(store.get(part, []), list) for part in _PARTS
    ):
        raise SourceRefused(
            f"the file is no store of naia-memory's LocalAdapter, version {VERSION}",
            "name its store file, usually naia-memory.json",
        )
    return NaiaFile(store, embedding_model)


def _says_something(value: Any) -> bool:
    """Whether there is anything in it: empty graphs and lists are not worth a word."""
    if isinstance(value, dict):
        return any(_says_something(one) for one in cast(dict[str, Any], value).values())
    return value not in (None, "", [])


def _describe(memory: dict[str, Any], rest: dict[str, Any], named: tuple[str, ...]) -> None:
    """The named fields go to metadata where they say something, all others to extra."""
    for name in named:
        if (value := rest.pop(name, None)) not in (None, "", [], {}):
            memory["metadata"][name] = value
    kept = {name: value for name, value in rest.items() if value is not None}
    memory["extra"] = {UNKNOWN_FIELDS: kept} if kept else {}


def _text(rest: dict[str, Any], name: str) -> str:
    text = rest.pop(name, None)
    if not isinstance(text, str) or not text.strip():
        raise _Wrong(name, "is missing" if text is None else "must be a text that is not blank")
    return text


def _number(
    rest: Mapping[str, Any], name: str, *, keep: bool = False, path: str = ""
) -> float | None:
    value = rest.get(name)
    if not keep and isinstance(rest, dict):
        rest.pop(name, None)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise _Wrong(f"{path}{name}", "must be a number")
    return float(value)


def _time(rest: dict[str, Any], name: str, *, keep: bool = False) -> int | None:
    value = _number(rest, name, keep=keep)
    return None if value is None else math.floor(value)


def _required_time(rest: dict[str, Any], name: str) -> int:
    value = _time(rest, name)
    if value is None:
        raise _Wrong(name, "is missing")
    return value


def _count(rest: dict[str, Any], name: str) -> int:
    return math.floor(_number(rest, name) or 0)
