"""`forgetd namespaces`: the memory systems that this daemon keeps apart."""

from typing import Any

import click

from sidecar.cli.output import Column, emit_json, say, table
from sidecar.cli.settings import Command, settings
from sidecar.cli.shown import count

_COLUMNS = (
    Column("namespace"),
    Column("open"),
    Column("hot", right=True),
    Column("cold", right=True),
    Column("forgotten", right=True),
)


@click.command(cls=Command)
def command() -> None:
    """List all namespaces."""
    options = settings()
    answer: dict[str, Any] = options.call_daemon("namespaces.list")
    if options.json:
        emit_json(answer)
        return
    if not answer["namespaces"]:
        say("no namespaces yet: a first memory makes one")
        return
    show_listing(answer["namespaces"])


def show_listing(listed: list[dict[str, Any]]) -> None:
    """A table of the namespaces in a listing."""
    table(_COLUMNS, [_row(each) for each in listed])


def _row(each: dict[str, Any]) -> list[str]:
    counts = [count(each[tier]) for tier in ("hot", "cold", "forgotten")]
    return [each["namespace"], "yes" if each["open"] else "no", *counts]
