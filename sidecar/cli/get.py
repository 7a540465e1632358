"""`forgetd get`: one memory, whole."""

from typing import Any

import click

from sidecar.cli.failures import NEGATIVE
from sidecar.cli.output import emit_json, say, tell
from sidecar.cli.settings import Command, settings
from sidecar.cli.shown import number, when

_TIMES = (
    "createdAt",
    "updatedAt",
    "lastRecalledAt",
    "lastUsefulAt",
    "validFrom",
    "expiresAt",
    "heldUntil",
    "statusAt",
    "forgottenAt",
    "restoredAt",
)
_SHOWN_APART = ("id", "content", "embedding")


@click.command(cls=Command)
@click.argument("id")
@click.option("--embedding", is_flag=True, help="With its vector (for --json).")
def command(id: str, embedding: bool) -> int:
    """Show one memory.

    Looking is not using: nothing is counted. Exit code 1 when there is none.
    """
    options = settings()
    memory: dict[str, Any] | None = options.call(
        "memory.get", {"id": id, "includeEmbedding": embedding or None}
    )
    if options.json:
        emit_json(memory)
    elif memory is not None:
        _show(memory)
    if memory is None:
        say(f"no memory has the id {id} in the namespace {options.namespace_name()}")
        say(f"  next: it may be forgotten: {options.hint('list --tier forgotten')}")
        return NEGATIVE
    return 0


def _show(memory: dict[str, Any]) -> None:
    tell(memory["id"])
    for name, value in memory.items():
        if name in _SHOWN_APART or value in (None, [], {}, False, 0):
            continue
        tell(f"  {name:<20} {_value(name, value)}")
    tell()
    for line in memory["content"].split("\n"):
        tell(line)


def _value(name: str, value: Any) -> str:
    if name in _TIMES:
        return when(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict | list):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)
