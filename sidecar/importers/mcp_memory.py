"""The knowledge graph file of `@modelcontextprotocol/server-memory`, line by line.

    entity    one memory for each observation, "Mina_Park: Works as a data engineer"; an entity
              without any becomes one memory, "Mina_Park (person)"
    relation  one memory, "Mina_Park leads Project_Lighthouse"
    other     one memory, kept as it is

A memory can be forgotten alone, so each holds what it takes to be understood alone: the names
stand in its text, and metadata has `source`, `kind` (observation, entity, relation, other) and
the graph's own fields. Ids depend on these names and texts only, so a file that grew adds what is
new. Fields that the package does not write are kept on the first memory of their line, under
`mcpMemory`, where no name of theirs can be mistaken for a field of a memory.
"""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, cast

from sidecar.importers.check import canonical, derived_id, problem_of
from sidecar.importers.items import BadLine, Item, Notice, Record
from sidecar.importers.lines import REPAIR, Line, read_lines

SOURCE: Final = "mcp-memory"
UNKNOWN_FIELDS: Final = "mcpMemory"
PREVIEW_CHARACTERS: Final = 1_000

_ENTITY_FIELDS: Final = ("type", "name", "entityType", "observations")
_RELATION_FIELDS: Final = ("type", "from", "to", "relationType")


class _Wrong(Exception):
    def __init__(self, field: str, message: str) -> None:
        self.field = field
        self.message = message


def read(stream: BinaryIO) -> Iterator[Item]:
    """The records of the file in its order, and what cannot be or need not be stored.

    A line with one bad part is bad as a whole: half an entity is never stored.
    """
    first_lines: dict[str, int] = {}
    for line in read_lines(stream):
        items = [line] if isinstance(line, BadLine) else _read_line(line)
        bad = next((item for item in items if isinstance(item, BadLine)), None)
        for item in [bad] if bad else items:
            if not isinstance(item, Record):
                yield item
            elif (identity := item.memory["id"]) in first_lines:
                yield Notice(item.line, "repeated", f"line {first_lines[identity]}")
            else:
                first_lines[identity] = item.line
                yield item


def _read_line(line: Line) -> list[Item]:
    try:
        kind = _text(line.value, "type")
        if kind == "entity":
            return _entity(line)
        if kind == "relation":
            return _relation(line)
        return _other(line, kind)
    except _Wrong as wrong:
        return [BadLine(line.number, wrong.field, wrong.message, REPAIR)]


def _entity(line: Line) -> list[Item]:
    name = _text(line.value, "name")
    untyped = line.value.get("entityType") in (None, "")
    entity_type = "" if untyped else _text(line.value, "entityType")
    items: list[Item] = []
    unknown = _unknown_fields(line.value, _ENTITY_FIELDS)
    for order, observation in enumerate(_observations(line.value)):
        field = f"$.observations[{order}]"
        if not observation.strip():
            items.append(Notice(line.number, "blank", f"{field} of {name}"))
            continue
        memory = {
            "id": derived_id("mcp-observation", name, observation),
            "content": f"{name}: {observation}",
            "metadata": {
                "source": SOURCE,
                "kind": "observation",
                "entityName": name,
                "entityType": entity_type,
                "order": order,
            },
        }
        items.append(_checked(line, memory | unknown, {"content": field, "metadata": "$.name"}))
        unknown = {}
    if not any(isinstance(item, Record | BadLine) for item in items):
        memory = {
            "id": derived_id("mcp-entity", name),
            "content": f"{name} ({entity_type})" if entity_type else name,
            "metadata": {
                "source": SOURCE,
                "kind": "entity",
                "entityName": name,
                "entityType": entity_type,
            },
        }
        names = {"content": "$.name", "metadata": "$.name"}
        items.append(_checked(line, memory | unknown, names))
    return items


def _relation(line: Line) -> list[Item]:
    subject, verb = _text(line.value, "from"), _text(line.value, "relationType")
    target = _text(line.value, "to")
    memory = {
        "id": derived_id("mcp-relation", subject, verb, target),
        "content": f"{subject} {verb} {target}",
        "metadata": {
            "source": SOURCE,
            "kind": "relation",
            "from": subject,
            "to": target,
            "relationType": verb,
        },
    }
    unknown = _unknown_fields(line.value, _RELATION_FIELDS)
    names = {"content": "$.relationType", "metadata": "$.relationType"}
    return [_checked(line, memory | unknown, names)]


def _other(line: Line, kind: str) -> list[Item]:
    whole = canonical(line.value)
    memory = {
        "id": derived_id("mcp-other", whole),
        "content": whole[:PREVIEW_CHARACTERS],
        "metadata": {"source": SOURCE, "kind": "other", "type": kind[:PREVIEW_CHARACTERS]},
        UNKNOWN_FIELDS: line.value,
    }
    return [Notice(line.number, "unknown_type", kind), _checked(line, memory, {})]


def _checked(line: Line, memory: dict[str, Any], paths: Mapping[str, str]) -> Record | BadLine:
    record = Record(line.number, memory)
    return problem_of(record, paths) or record


def _unknown_fields(value: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    unknown = {name: member for name, member in value.items() if name not in known}
    return {UNKNOWN_FIELDS: unknown} if unknown else {}


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        problem = "is missing" if text is None else "must be a string"
        raise _Wrong(f"$.{name}", problem)
    if not text.strip():
        raise _Wrong(f"$.{name}", "must not be blank")
    return text


def _observations(value: Mapping[str, Any]) -> list[str]:
    observations: Any = value.get("observations", [])
    if not isinstance(observations, list):
        raise _Wrong("$.observations", "must be an array of strings")
    for order, observation in enumerate(cast(list[Any], observations)):
        if not isinstance(observation, str):
            raise _Wrong(f"$.observations[{order}]", "must be a string")
    return cast(list[str], observations)
