"""`forgetd call`: any method of the daemon, for scripts and for what has no command."""

import json
import sys
from typing import Any, cast

import click

from sidecar.cli.failures import USAGE, Failure
from sidecar.cli.output import emit_json
from sidecar.cli.settings import Command, settings
from sidecar.client import Params

STANDARD_INPUT = "-"


@click.command(cls=Command)
@click.argument("method")
@click.argument("parameters", required=False, metavar="[JSON|-]")
def command(method: str, parameters: str | None) -> None:
    """Call any METHOD of the daemon.

    Its parameters are JSON, read from standard input for "-".

    For example: forgetd call memory.put '{"content": "Tofu is a grey cat"}'
    """
    text = sys.stdin.read() if parameters == STANDARD_INPUT else parameters
    options = settings()
    emit_json(options.call_daemon(method, _with_namespace(_parsed(text), options.namespace)))


def _parsed(text: str | None) -> Params | None:
    if text is None or not text.strip():
        return None
    try:
        value: Any = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Failure(
            f"the parameters are not valid JSON: {error}", "send one JSON object or array", USAGE
        ) from None
    if not isinstance(value, dict | list):
        raise Failure(
            "the parameters are JSON, but neither object nor array",
            'write them by name: {"id": "…"}',
            USAGE,
        )
    return cast(Params, value)


def _with_namespace(params: Params | None, namespace: str | None) -> Params | None:
    if namespace is None:
        return params
    if isinstance(params, list):
        raise Failure(
            "--namespace cannot be added to parameters by position",
            "give the parameters by name, as a JSON object",
            USAGE,
        )
    return {"namespace": namespace, **cast(dict[str, Any], params or {})}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
