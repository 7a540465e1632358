"""`forgetd review`: what waits for a person's look, one item opened, and taking items off."""

from typing import Any

import click

from sidecar.cli.failures import NEGATIVE
from sidecar.cli.output import Column, emit_json, say, table, tell
from sidecar.cli.settings import Command, Settings, settings
from sidecar.cli.shown import count, number, plural, when
from sidecar.limits import (
    LIST_LIMIT_MAX,
    REGRETS_KEPT_COUNT_MAX,
    REVIEW_REGRETS_COUNT_DEFAULT,
    REVIEW_WINDOW_DAYS_DEFAULT,
    REVIEW_WINDOW_DAYS_MAX,
)

Answer = dict[str, Any]

REASONS = ("regret", "guarded", "brokenChain", "unscored")
_COLUMNS = (
    Column("reason"),
    Column("why"),
    Column("days", right=True),
    Column("leaves"),
    Column("memory"),
    Column("other", wide=True),
)
_COMPARED = (
    "content", "tier", "status", "statusReason", "memoryType", "importance", "strength",
    "createdAt", "updatedAt", "forgottenAt", "recallCount", "useCount", "regretCount",
    "supersededBy", "pinned", "metadata",
)  # fmt: skip


@click.command(cls=Command)
@click.argument("name", required=False, metavar="[NAMESPACE]")
@click.option("--open", "opened", metavar="ID", help="Show this memory and what it is met with.")
@click.option("--clear", "cleared", multiple=True, metavar="ID", help="Take its items off.")
@click.option("--clear-all", is_flag=True, help="Take off all items of --reason.")
@click.option("--reason", type=click.Choice(REASONS), help="Only items of this reason.")
@click.option(
    "--threshold",
    type=click.IntRange(1, REGRETS_KEPT_COUNT_MAX),
    help=f"So many regrets are enough (default {REVIEW_REGRETS_COUNT_DEFAULT}).",
)
@click.option(
    "--window-days",
    type=click.FloatRange(0, REVIEW_WINDOW_DAYS_MAX, min_open=True),
    metavar="N",
    help=f"Within so many days (default {REVIEW_WINDOW_DAYS_DEFAULT}).",
)
@click.option("--limit", type=click.IntRange(1, LIST_LIMIT_MAX), help="Items in the page.")
@click.option("--cursor", help="Where the page begins: from the page before.")
def command(
    name: str | None,
    opened: str | None,
    cleared: tuple[str, ...],
    clear_all: bool,
    reason: str | None,
    threshold: int | None,
    window_days: float | None,
    limit: int | None,
    cursor: str | None,
) -> int:
    """List what a person should look at: nothing is ever deleted for it.

    Memories that were missed after they were dropped, near memories that the guard of duplicates
    kept apart, broken chains, and memories that cannot be scored. What is cleared comes back
    when something new happens to it. Exit code 1 when there was nothing to open or to clear.
    """
    if clear_all and reason is None:
        raise click.UsageError("--clear-all needs --reason: say which items you have looked at")
    if opened is not None and (cleared or clear_all):
        raise click.UsageError("--open shows and --clear takes off: give one of them")
    options = settings()
    if name is not None:
        options.use_namespace(name)
    scope: Answer = {"threshold": threshold, "windowDays": window_days}
    if opened is not None:
        return _open(options, opened, scope)
    if cleared or clear_all:
        return _clear(options, {"ids": list(cleared) or None, "reason": reason, **scope})
    return _list(options, {"reason": reason, "limit": limit, "cursor": cursor, **scope})


def counts_line(counts: Answer) -> str:
    """How much there is to look at, by reason; empty where there is nothing."""
    words = {
        "regret": "missed",
        "guarded": "kept apart",
        "brokenChain": "with a broken chain",
        "unscored": "unscored",
    }
    return ", ".join(
        f"{count(counts[name])} {word}" for name, word in words.items() if counts[name]
    )


def _list(options: Settings, params: Answer) -> int:
    page: Answer = options.call("review.flagged", params)
    if options.json:
        emit_json(page)
        return 0
    if not page["items"]:
        say("nothing to look at")
        return 0
    table(_COLUMNS, [_row(item) for item in page["items"]])
    tell()
    tell(f"in all: {counts_line(page['counts'])}")
    if page["cursor"]:
        say(f"more: --cursor {page['cursor']}")
    say(f"look at one: {options.hint('review --open ID')}")
    return 0


def _open(options: Settings, memory_id: str, scope: Answer) -> int:
    detail: Answer = options.call("review.open", {"id": memory_id, **scope})
    if options.json:
        emit_json(detail)
        return 0 if detail["items"] else NEGATIVE
    if detail["items"]:
        table(_COLUMNS, [_row(item) for item in detail["items"]])
        tell()
    memories: list[Answer] = detail["memories"]
    columns = (Column(""), *(Column(memory["id"]) for memory in memories))
    rows = [[name, *(_value(name, memory[name]) for memory in memories)] for name in _COMPARED]
    table(columns, [row for row in rows if any(cell != "-" for cell in row[1:])])
    if not detail["items"]:
        say("nothing is to be looked at here, or it was cleared")
        return NEGATIVE
    say(f"when you have looked: {options.hint(f'review --clear {memory_id}')}")
    return 0


def _clear(options: Settings, params: Answer) -> int:
    report: Answer = options.call("review.clear", params)
    if options.json:
        emit_json(report)
    else:
        tell(f"cleared {plural(report['cleared'], 'item')}")
        for memory_id in report["notFlagged"]:
            tell(f"nothing to clear: {memory_id}")
        if report["left"]:
            say(f"{count(report['left'])} are left: clear again")
    return 0 if report["cleared"] else NEGATIVE


def _row(item: Answer) -> list[str]:
    why = item["why"] or "-"
    if item["regrets"] is not None:
        why = plural(item["regrets"], "regret")
    return [
        item["reason"],
        why,
        "-" if item["ageDays"] is None else f"{item['ageDays']:.1f}",
        when(item["expiresAt"]),
        item["memoryId"],
        item["otherId"] or "-",
    ]


def _value(name: str, value: Any) -> str:
    if value in (None, {}, False):
        return "-"
    if name.endswith("At"):
        return when(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)
