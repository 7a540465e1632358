"""The examples of every method: read from examples/, and told as transcripts.

A file `examples/<method>.json` is written by hand:

    {"before": [{"method": ..., "params": {...}, "bind": {"$.runId": "01KF..."}}],
     "examples": [{"name": ..., "params": {...}, "result": ..., "varies": [...], "open": true}]}

The calls of `before` prepare the namespace. `bind`, there or in an example, says which value of
a reply the text stands for from then on. What differs from run to run is compared by its type
only: the members of VARIES wherever they are, and those named in `varies`. `open` allows members
that are not shown.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

FOLDER: Final = Path(__file__).resolve().parent / "examples"

# Members whose value no example can promise.
VARIES: Final = frozenset(
    {
        "bytes", "bytesPlanned", "bytesReclaimed", "cursor", "durationMs", "estimatorVersion",
        "liveBytes", "overheadBytes", "pid", "planId", "policyVersion", "runId", "uptimeSeconds",
        "version",
    }
)  # fmt: skip

Line = dict[str, Any]


class Preparation(Struct, forbid_unknown_fields=True):
    """A call that an example stands on, and the values of its reply that are used later."""

    method: str
    params: dict[str, Any] = {}
    bind: dict[str, str] = {}


class Example(Struct, forbid_unknown_fields=True):
    """A call and its result, as a reader sees it."""

    name: str
    params: dict[str, Any]
    result: Any
    bind: dict[str, str] = {}
    varies: list[str] = []
    open: bool = False


class ExampleFile(Struct, forbid_unknown_fields=True):
    """All examples of one method. Each is carried out where those before it left off."""

    examples: list[Example]
    before: list[Preparation] = []


def read_examples() -> dict[str, ExampleFile]:
    """Every file by its method. Raises msgspec.ValidationError, naming the file."""
    found: dict[str, ExampleFile] = {}
    for path in sorted(FOLDER.glob("*.json")):
        try:
            found[path.stem] = msgspec.json.decode(path.read_bytes(), type=ExampleFile)
        except msgspec.ValidationError as error:
            raise msgspec.ValidationError(f"{path.name}: {error}") from None
    return found


def transcript_of(method: str, file: ExampleFile) -> Iterator[Line]:
    """The section of a transcript that carries the examples out."""
    yield {"section": f"{method}: {'; '.join(example.name for example in file.examples)}"}
    bound: dict[str, str] = {}
    for number, call in enumerate(file.before, 1):
        line = _exchange(number, call.method, call.params, bound)
        line["expect"] = {"jsonrpc": "2.0", "id": number, "result": "<any>"}
        yield line | _saved(call.bind, bound)
    for number, example in enumerate(file.examples, len(file.before) + 1):
        line = _exchange(number, method, example.params, bound)
        result = _pattern(example.result, bound, VARIES | set(example.varies))
        if example.open:
            result["..."] = True
        line["expect"] = {"jsonrpc": "2.0", "id": number, "result": result}
        yield line | _saved(example.bind, bound)


def _saved(bind: Mapping[str, str], bound: dict[str, str]) -> Line:
    """What a line says of the values that it binds; notes them in `bound`."""
    saved: dict[str, str] = {}
    for path, text in bind.items():
        bound[text] = f"v{len(bound) + 1}"
        saved[bound[text]] = f"$.result{path[1:]}"
    return {"save": saved} if saved else {}


def _exchange(
    number: int, method: str, params: Mapping[str, Any], bound: Mapping[str, str]
) -> Line:
    given = {"namespace": "${NAMESPACE}", **_replaced(params, bound)}
    return {"send": {"jsonrpc": "2.0", "id": number, "method": method, "params": given}}


def _replaced(value: Any, bound: Mapping[str, str]) -> Any:
    """The value with every bound text as the variable that it stands for."""
    if isinstance(value, dict):
        return {name: _replaced(inner, bound) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, bound) for inner in value]
    return f"${{{bound[value]}}}" if isinstance(value, str) and value in bound else value


def _pattern(value: Any, bound: Mapping[str, str], varies: frozenset[str] | set[str]) -> Any:
    """The value with a wildcard for all that may differ."""
    if isinstance(value, dict):
        return {name: _member(name, inner, bound, varies) for name, inner in value.items()}
    if isinstance(value, list):
        return [_pattern(inner, bound, varies) for inner in value]
    return _replaced(value, bound)


def _member(
    name: str, value: Any, bound: Mapping[str, str], varies: frozenset[str] | set[str]
) -> Any:
    if name == "namespace" and value == "default":
        return "${NAMESPACE}"
    known = isinstance(value, str) and value in bound
    return _wildcard(value) if name in varies and not known else _pattern(value, bound, varies)


def _wildcard(value: Any) -> Any:
    match value:
        case None:
            return None
        case bool():
            return "<boolean>"
        case int() | float():
            return "<number>"
        case str():
            return "<string>"
        case list():
            return "<array>"
        case _:
            return "<object>"
