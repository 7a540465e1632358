"""`forgetd recall`: what an agent would find, without counting as a use."""

from typing import Any

import click

from sidecar.cli.failures import NEGATIVE
from sidecar.cli.list import TYPES
from sidecar.cli.output import Column, emit_json, say, table
from sidecar.cli.settings import Command, settings
from sidecar.cli.shown import count, number
from sidecar.limits import RECALL_TOP_DEFAULT, RECALL_TOP_MAX

_COLUMNS = (
    Column("score", right=True),
    Column("strength", right=True),
    Column("tier"),
    Column("id"),
    Column("content", wide=True),
)


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--top",
    type=click.IntRange(1, RECALL_TOP_MAX),
    help=f"At most so many results (default {RECALL_TOP_DEFAULT}).",
)
@click.option(
    "--depth",
    type=click.Choice(["auto", "hot", "deep"]),
    help="deep: cold memories too; auto: when hot ones do not suffice (default).",
)
@click.option("--type", "memory_types", type=TYPES, multiple=True, help="Only these types.")
@click.option("--include-archived", is_flag=True, help="Archived memories too.")
@click.option("--min-strength", type=float, help="Only memories at least so strong.")
def command(
    words: tuple[str, ...],
    top: int | None,
    depth: str | None,
    memory_types: tuple[str, ...],
    include_archived: bool,
    min_strength: float | None,
) -> int:
    """Find memories by WORDS.

    Never counts as a use. Exit code 1 when nothing is found.
    """
    options = settings()
    answer: dict[str, Any] = options.call(
        "memory.recall",
        {
            "query": " ".join(words),
            "topK": top,
            "depth": depth,
            "memoryTypes": list(memory_types) or None,
            "includeArchived": include_archived or None,
            "minStrength": min_strength,
            "touch": "none",
        },
    )
    if options.json:
        emit_json(answer)
    else:
        table(_COLUMNS, [_row(result) for result in answer["results"]])
        scanned = (
            f", {count(answer['coldScanned'])} cold ones looked at" if answer["coldScanned"] else ""
        )
        say(f"{count(len(answer['results']))} found ({answer['depth']}{scanned})")
    return 0 if answer["results"] else NEGATIVE


def _row(result: dict[str, Any]) -> list[str]:
    memory = result["memory"]
    return [
        number(result["score"]),
        number(memory["strength"]),
        memory["tier"],
        memory["id"],
        memory["content"],
    ]
