"""Judges calls and replies by protocol/openrpc.json, so that the daemon cannot drift from it.

As a pytest plugin it watches every call that `sidecar.client` makes in the integration tests;
`tests.wire` hands over what goes through its raw connections. A test in which something did
not fit fails, whatever it looked at itself.
"""

import json
from collections.abc import Generator, Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft7Validator, ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from sidecar import client
from tests.sources import ROOT

DOCUMENT = ROOT / "protocol" / "openrpc.json"
URI = "urn:forgetd"
# Longer arrays are judged by their ends: a thousand memories more tell nothing new.
JUDGED_ITEMS_MAX = 100


class Judge:
    """One document. `unfit` says what is wrong with a call or its reply."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.methods: dict[str, Any] = {method["name"]: method for method in document["methods"]}
        self._errors: dict[str, Any] = document["components"]["errors"]
        strict = _closed({"components": {"schemas": document["components"]["schemas"]}})
        strict["params"] = {name: _params(method) for name, method in self.methods.items()}
        strict["results"] = {
            name: method["result"]["schema"] for name, method in self.methods.items()
        }
        resource = Resource(contents=strict, specification=DRAFT7)
        self._registry = Registry().with_resource(URI, resource)  # type: ignore[var-annotated]
        self._validators: dict[str, Draft7Validator] = {}

    def unfit(self, request: Any, reply: Any) -> Iterator[str]:
        """Every way in which a call and its reply break the contract. Batches are taken apart."""
        if isinstance(request, list) and isinstance(reply, list):
            replies = {json.dumps(one["id"]): one for one in reply}
            for one in request:
                if isinstance(one, dict) and "id" in one:
                    yield from self.unfit(one, replies.get(json.dumps(one["id"])))
        elif isinstance(request, dict) and isinstance(reply, dict):
            method = self.methods.get(str(request.get("method")))
            if method is not None:
                told = self._unfit_call(method, request, reply)
                yield from (f"{method['name']}: {fault}" for fault in told)
            elif "result" in reply:
                yield f"{request.get('method')!r} is no method of openrpc.json"

    def _unfit_call(self, method: Any, request: Any, reply: Any) -> Iterator[str]:
        if "error" in reply:
            yield from self._unfit_error(method, reply["error"])
            return
        params = request.get("params", {})
        if isinstance(params, list):
            names = [param["name"] for param in method["params"]]
            params = dict(zip(names, params, strict=False))
        # Of these each member is judged by the daemon, and the answer names the bad ones.
        lenient = params.get("partial") or params.get("skipBad")
        where = f"took parameters that the contract refuses: {json.dumps(params)[:200]}: "
        if not lenient:
            yield from (where + one for one in self._faults("params", method["name"], params))
        yield from self._faults("results", method["name"], reply.get("result"))

    def _unfit_error(self, method: Any, error: Any) -> Iterator[str]:
        data = error.get("data", {})
        symbol = data.get("symbol")
        known = self._errors.get(symbol)
        if known is None or not isinstance(error.get("message"), str):
            yield f"{error} is no error of the contract"
        elif (error["code"], data.get("retryable")) != (known["code"], known["data"]["retryable"]):
            yield f"{symbol} has another code or retryable in the contract: {error}"
        elif {"$ref": f"#/components/errors/{symbol}"} not in method["errors"]:
            yield f"{symbol} is not among the errors of the method: {error}"
        elif symbol == "invalid_params" and not {"field", "bound", "remedy"} <= data.keys():
            yield f"{error} lacks field, bound or remedy"
        if not str(data.get("field", "$")).startswith("$"):
            yield f"the field of {error} is no JSON path"

    def _faults(self, side: str, name: str, value: Any) -> Iterator[str]:
        path = f"{URI}#/{side}/{name}"
        if path not in self._validators:
            self._validators[path] = Draft7Validator({"$ref": path}, registry=self._registry)
        for error in self._validators[path].iter_errors(_ends(value)):
            cause = _cause(error)
            steps = "".join(
                f".{s}" if isinstance(s, str) else f"[{s}]" for s in cause.absolute_path
            )
            yield f"{side[:-1]} ${steps}: {cause.message[-300:]}"


@cache
def judge() -> Judge:
    """The judge by the committed document."""
    return Judge(json.loads(DOCUMENT.read_text("utf-8")))


def _cause(error: ValidationError) -> ValidationError:
    """Of alternatives the one that was probably meant: not the one of another type altogether."""
    while error.context:
        error = min(error.context, key=lambda one: one.validator == "type" and not one.path)
    return error


def _params(method: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {param["name"]: param["schema"] for param in method["params"]},
        "required": [param["name"] for param in method["params"] if param["required"]],
        "additionalProperties": False,
    }


def _closed(value: Any) -> Any:
    """The schemas without room for fields that are not declared, which clients must ignore."""
    if isinstance(value, list):
        return [_closed(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    closed = {name: _closed(inner) for name, inner in value.items()}
    if isinstance(closed.get("properties"), dict) and closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def _ends(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _ends(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > 2 * JUDGED_ITEMS_MAX:
        value = value[:JUDGED_ITEMS_MAX] + value[-JUDGED_ITEMS_MAX:]
    return [_ends(inner) for inner in value]


class Watch:
    """What the calls of the running test broke."""

    def __init__(self) -> None:
        self.on = False
        self.faults: list[str] = []

    def see(self, sent: bytes, received: bytes) -> None:
        """Judge one body and the body that came back, where both are JSON."""
        if not self.on:
            return
        try:
            request, reply = json.loads(sent), json.loads(received)
        except (ValueError, RecursionError):
            return
        self.faults += judge().unfit(request, reply)


WATCH = Watch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Watch from the first fixture of an integration or contract test to its last."""
    WATCH.on = bool({"integration", "contract"} & set(item.path.parts))
    WATCH.faults.clear()
    try:
        return (yield)
    finally:
        WATCH.on = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test whose calls or replies do not fit, also when it passed by itself."""
    yield
    assert not WATCH.faults, "\n".join(dict.fromkeys(WATCH.faults))


@pytest.fixture(scope="session", autouse=True)
def watched_client() -> Iterator[None]:
    """Every client of this process shows what it sends and receives."""
    exchange = client.Client._exchange

    def shown(self: client.Client, verb: str, path: str, body: bytes | None) -> Any:
        answer = exchange(self, verb, path, body)
        if body is not None:
            WATCH.see(body, answer[2])
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client.Client, "_exchange", shown)
        yield
