"""The OpenRPC document: every method of the registry with types, errors and examples."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from protocol.descriptions import Descriptions
from protocol.examples import Example
from protocol.schemas import Schemas
from sidecar import PROTOCOL_VERSION, __version__
from sidecar.errors import (
    DeadlineExceeded,
    ForgetdError,
    IdempotencyConflict,
    InternalError,
    InvalidParams,
    InvalidRequest,
    NamespaceConflict,
    NamespaceLocked,
    NamespacesExhausted,
    Overloaded,
    ParseError,
    PermissionDenied,
    SchemaTooNew,
    ShuttingDown,
    TooLarge,
    walk,
)
from sidecar.rpc.method import Method

OPENRPC: Final = "1.3.2"

# What any call may be answered: its envelope, its namespace, and the daemon's state.
EVERY_CALL: Final[tuple[type[ForgetdError], ...]] = (
    InvalidParams,
    InvalidRequest,
    ParseError,
    InternalError,
    Overloaded,
    ShuttingDown,
    TooLarge,
    DeadlineExceeded,
    PermissionDenied,
    NamespaceConflict,
    NamespacesExhausted,
    NamespaceLocked,
    SchemaTooNew,
)

ABOUT: Final = (
    "JSON-RPC 2.0 as HTTP POST /rpc over the daemon's Unix socket. Parameters go by name. Times"
    " are integer milliseconds since the Unix epoch. Results may gain fields, errors may gain"
    " data and symbols: ignore what you do not know. Unknown parameters are refused. Every error"
    " has data.symbol and data.retryable; decide by the symbol. Extensions: x-writes says"
    " whether a method may change something, x-deadlineSeconds how long it may take to answer,"
    " x-admin that it is served on the admin socket only, unless the config file says otherwise."
)


def openrpc_document(
    methods: Sequence[Method], examples: Mapping[str, Sequence[Example]], words: Descriptions
) -> dict[str, Any]:
    """The document. A method without examples is described without them."""
    schemas = Schemas(methods, words)
    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "forgetd",
            "version": __version__,
            "description": ABOUT,
            "license": {"name": "Apache-2.0"},
            "x-protocolVersion": PROTOCOL_VERSION,
        },
        "servers": [
            {
                "name": "socket",
                "url": "http://localhost/rpc",
                "summary": "The path on the Unix socket; the host counts for nothing.",
            }
        ],
        "methods": [_method(method, schemas, examples.get(method.name, ())) for method in methods],
        "components": {
            "schemas": schemas.components,
            "errors": {error.symbol: _error(error) for error in walk()},
        },
    }


def _method(method: Method, schemas: Schemas, examples: Sequence[Example]) -> dict[str, Any]:
    by_key = (IdempotencyConflict,) if method.keyed else ()
    errors = dict.fromkeys((*method.errors, *by_key, *EVERY_CALL))
    return {
        "name": method.name,
        "summary": method.summary,
        "tags": [{"name": method.handler.__module__.rpartition(".")[2]}],
        "paramStructure": "either" if method.positional else "by-name",
        "params": schemas.parameters[method.name],
        "result": {"name": "result", "schema": schemas.results[method.name]},
        "errors": [{"$ref": f"#/components/errors/{error.symbol}"} for error in errors],
        "examples": [_pairing(example) for example in examples],
        "x-admin": method.admin,
        "x-writes": method.writes,
        "x-deadlineSeconds": method.deadline_seconds,
    }


def _pairing(example: Example) -> dict[str, Any]:
    return {
        "name": example.name,
        "params": [{"name": name, "value": value} for name, value in example.params.items()],
        "result": {"name": "result", "value": example.result},
    }


def _error(error: type[ForgetdError]) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.default_message,
        "data": {"symbol": error.symbol, "retryable": error.retryable},
    }


def errors_table() -> list[dict[str, Any]]:
    """Every error that can reach the wire, in the order of the tree."""
    return [
        {
            "code": error.code,
            "symbol": error.symbol,
            "message": error.default_message,
            "retryable": error.retryable,
            "exitCode": error.exit_code,
        }
        for error in walk()
    ]
