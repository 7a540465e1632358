"""The JSON schemas of the contract: the structs as msgspec describes them, made exact.

Parameters stay as they are: what has a default may be left out. Results say all they have: a
field with a default is always answered, only one that may be unset may be missing. What a
mapping leaves open and `sidecar.thresholds` knows is filled in.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from protocol.descriptions import Descriptions
from sidecar.idempotency import PARAMETER
from sidecar.limits import IDEMPOTENCY_KEY_BYTES_MAX
from sidecar.rpc.method import Method
from sidecar.thresholds import Thresholds

PREFIX: Final = "#/components/schemas/"

Schema = dict[str, Any]

# Members that are objects in Python and have known names on the wire.
REFINED: Final = {
    ("SweepReport", "thresholds"): "Thresholds",
    ("OpenReport", "thresholds"): "Thresholds",
    ("OpenReport", "thresholdsDiffer"): "ThresholdDifferences",
    ("ThresholdsReport", "thresholds"): "ThresholdOrigins",
    ("SetThresholdsParams", "thresholds"): "ThresholdChanges",
    ("OpenParams", "thresholds"): "ThresholdChanges",
    ("SimulateParams", "thresholds"): "ThresholdChanges",
    ("SimulationReport", "thresholds"): "Thresholds",
}


class Schemas:
    """The schemas of all methods. `components` holds the named ones, in alphabetical order."""

    def __init__(self, methods: Sequence[Method], descriptions: Descriptions) -> None:
        types = [kind for method in methods for kind in (method.params, method.result)]
        described, raw = msgspec.json.schema_components(
            [*types, Thresholds], ref_template=PREFIX + "{name}"
        )
        named: dict[str, Schema] = {name: _tidied(schema) for name, schema in raw.items()}
        named |= threshold_schemas(named["Thresholds"])
        for (owner, field), kind in REFINED.items():
            named[owner]["properties"][field] = {"$ref": PREFIX + kind}
        params = {method.name: named[method.params.__name__] for method in methods}
        self.results = {
            method.name: _tidied(schema)
            for method, schema in zip(methods, described[1:-1:2], strict=True)
        }
        asked = set(_reachable(params, named))
        answered = set(_reachable(self.results, named))
        if both := (asked & answered) - {"Thresholds"}:
            raise ValueError(f"{sorted(both)}: one struct for each direction, please")
        for name in answered:
            named[name] = _answered(named[name])
        self.components = {name: named[name] for name in sorted(asked | answered)}
        for name, schema in self.components.items():
            descriptions.describe_fields(name, schema)
        self.parameters = {
            method.name: descriptions.parameters(
                method, _with_key(params[method.name]) if method.keyed else params[method.name]
            )
            for method in methods
        }


def _with_key(schema: Schema) -> Schema:
    """The parameters of a write: every one takes an idempotency key besides its own."""
    key = {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_BYTES_MAX}
    return {**schema, "properties": {**schema["properties"], PARAMETER: key}}


def threshold_schemas(declared: Schema) -> dict[str, Schema]:
    """The options of forgetting as values in force, with origins, as changes, as differences."""
    options: dict[str, Schema] = declared["properties"]
    bare = {
        name: {key: value for key, value in option.items() if key != "default"}
        for name, option in options.items()
    }
    nullable = {name: {"anyOf": [option, {"type": "null"}]} for name, option in bare.items()}
    origin = {"$ref": f"{PREFIX}ThresholdValue"}
    return {
        "ThresholdChanges": _object(
            "ThresholdChanges",
            "Options of forgetting to set; null takes the default back.",
            nullable,
            additionalProperties=False,
        ),
        "ThresholdDifferences": _object(
            "ThresholdDifferences", "Options of forgetting with the values in force.", bare
        ),
        "ThresholdOrigins": _object(
            "ThresholdOrigins",
            "Every option of forgetting with its value and origin.",
            dict.fromkeys(options, origin),
            required=list(options),
        ),
    }


def _object(title: str, description: str, properties: Mapping[str, Schema], **more: Any) -> Schema:
    fields = {name: dict(field) for name, field in properties.items()}
    return {
        "title": title,
        "description": description,
        "type": "object",
        "properties": fields,
        **more,
    }


def _tidied(value: Any) -> Any:
    """A reference stands alone: in this dialect what is beside it counts for nothing."""
    if isinstance(value, dict):
        if "$ref" in value:
            return {"$ref": value["$ref"]}
        return {key: _tidied(inner) for key, inner in value.items()}
    return [_tidied(inner) for inner in value] if isinstance(value, list) else value


def _answered(schema: Schema) -> Schema:
    """The schema of a result: no defaults, and every field that has one is there."""
    required = set(schema.get("required", ()))
    properties: dict[str, Schema] = {}
    for name, field in schema["properties"].items():
        if "default" in field:
            required.add(name)
        properties[name] = {key: value for key, value in field.items() if key != "default"}
    ordered = [name for name in properties if name in required]
    return {**schema, "properties": properties, "required": ordered}


def _reachable(value: Any, named: Mapping[str, Schema]) -> Iterator[str]:
    """The names of all schemas that `value` refers to, through others too."""
    seen: set[str] = set()
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, list):
            waiting += current
        elif isinstance(current, dict):
            reference = current.get("$ref")
            if isinstance(reference, str):
                name = reference.removeprefix(PREFIX)
                if name not in seen:
                    seen.add(name)
                    waiting.append(named[name])
            waiting += current.values()
    yield from seen
