"""`forgetd list`: memories page by page."""

from typing import Any

import click

from sidecar.cli.output import Column, emit_json, say, table
from sidecar.cli.settings import Command, settings
from sidecar.cli.shown import number, when
from sidecar.limits import LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX

TIERS = click.Choice(["hot", "cold", "forgotten"])
STATUSES = click.Choice(["active", "superseded", "archived", "invalidated"])
TYPES = click.Choice(["semantic", "episodic", "procedural"])

_COLUMNS = (
    Column("id"),
    Column("tier"),
    Column("status"),
    Column("strength", right=True),
    Column("created"),
    Column("content", wide=True),
)


@click.command(cls=Command)
@click.option("--tier", type=TIERS, help="forgotten: what may be restored. Default: hot and cold.")
@click.option("--status", type=STATUSES, help="Only memories believed so.")
@click.option("--type", "memory_type", type=TYPES, help="Only memories of this type.")
@click.option(
    "--limit",
    type=click.IntRange(1, LIST_LIMIT_MAX),
    help=f"Memories in the page (default {LIST_LIMIT_DEFAULT}).",
)
@click.option("--cursor", help="Where the page begins: from the page before.")
def command(
    tier: str | None,
    status: str | None,
    memory_type: str | None,
    limit: int | None,
    cursor: str | None,
) -> int:
    """List memories."""
    options = settings()
    page: dict[str, Any] = options.call(
        "memory.list",
        {
            "tier": tier,
            "status": status,
            "memoryType": memory_type,
            "limit": limit,
            "cursor": cursor,
        },
    )
    if options.json:
        emit_json(page)
        return 0
    if not page["memories"]:
        say("no memories")
        return 0
    table(_COLUMNS, [_row(memory) for memory in page["memories"]])
    if page["cursor"]:
        say(f"more: the same command with --cursor {page['cursor']}")
    return 0


def _row(memory: dict[str, Any]) -> list[str]:
    return [
        memory["id"],
        memory["tier"],
        memory["status"],
        number(memory["strength"]),
        when(memory["createdAt"]),
        memory["content"],
    ]
