"""events.json: every kind of event, when it is written, and the schema of its payload.

`streamOnly` are those that a stream tells of itself: they are in no log and have no number.
"""

from typing import Any

import msgspec

from protocol.descriptions import Descriptions
from protocol.schemas import Schema, threshold_schemas
from sidecar.reports import StreamReset
from sidecar.rpc.event_stream import RESET
from sidecar.store.event_kinds import ANNOUNCED, KINDS, EventKind
from sidecar.thresholds import Thresholds


def events_table(words: Descriptions) -> dict[str, Any]:
    """The kinds in the order of the daemon's table, and the schemas that they refer to."""
    types = [StreamReset, *(kind.payload for kind in KINDS if kind.payload is not None)]
    _, named = msgspec.json.schema_components(types, ref_template="#/schemas/{name}")
    _, declared = msgspec.json.schema_components([Thresholds])
    changes = threshold_schemas(declared["Thresholds"])["ThresholdChanges"]
    schemas: dict[str, Schema] = {**named, "ThresholdChanges": changes}
    for name, schema in schemas.items():
        words.describe_fields(name, schema)
        # A payload may gain fields.
        schema.pop("additionalProperties", None)
    reset = {
        "kind": RESET,
        "when": "No way leads from the place asked for: the oldest event there is comes next.",
        "payload": {"$ref": f"#/schemas/{StreamReset.__name__}"},
    }
    return {
        "kinds": [_told(kind) for kind in KINDS],
        "streamOnly": [reset, *(_told(kind) for kind in ANNOUNCED)],
        "schemas": {name: schemas[name] for name in sorted(schemas)},
    }


def _told(kind: EventKind) -> dict[str, Any]:
    payload = {"$ref": f"#/schemas/{_name(kind)}"}
    return {"kind": kind.kind, "when": kind.when, "payload": payload}


def _name(kind: EventKind) -> str:
    return "ThresholdChanges" if kind.payload is None else kind.payload.__name__
