"""`forgetd explain`: why a memory would go, or stays."""

from typing import Any

import click

from sidecar.cli.output import Column, emit_json, table, tell
from sidecar.cli.settings import Command, settings
from sidecar.cli.shown import count, number, when

_COLUMNS = (
    Column("policy"),
    Column("stage", right=True),
    Column("goes"),
    Column("why"),
    Column("score", right=True),
    Column("strength", right=True),
    Column("rank", right=True),
    Column("protected by"),
)
_CROSSING_COLUMNS = (
    Column("threshold"),
    Column("below", right=True),
    Column("crossed"),
    Column("may act from"),
    Column("why"),
)


@click.command(cls=Command)
@click.argument("id")
@click.option("--policy", help="Only as this policy sees it, or cycle, or lifecycle.")
def command(id: str, policy: str | None) -> int:
    """Say why a memory would go, or stays.

    Shows for each policy whether it is a candidate, its score, its rank and its protections; what
    a cycle and active forgetting would do with it now; and when, never used again, it would come
    below each threshold.
    """
    options = settings()
    answer: dict[str, Any] = options.call("memory.explain", {"id": id, "policy": policy})
    if options.json:
        emit_json(answer)
        return 0
    tell(
        f"{answer['id']} is {answer['tier']}; importance {answer['importanceSource']}; "
        f"at {when(answer['now'])}"
    )
    tell(f"  estimate {number(answer['estimate'])}: {_estimate_line(answer)}")
    if policies := answer["policies"]:
        table(_COLUMNS, [_row(each) for each in policies])
    for each in policies:
        if parts := each["parts"]:
            tell(f"  {each['policy']}: {_product(parts)}")
    if cycle := answer["cycle"]:
        tell()
        tell(f"a cycle would {_cycle_line(cycle)}")
    if lifecycle := answer["lifecycle"]:
        tell()
        tell(f"active forgetting would {lifecycle['action']} it: {lifecycle['why']}")
    tell()
    tell("if it is never used again:")
    table(_CROSSING_COLUMNS, [_crossing_row(each) for each in answer["crossings"]])
    return 0


def _row(each: dict[str, Any]) -> list[str]:
    rank = "-" if each["rank"] is None else f"{count(each['rank'])} of {count(each['of'])}"
    return [
        each["policy"],
        str(each["stage"] or "-"),
        "yes" if each["candidate"] else "no",
        each["why"],
        number(each["score"]),
        number(each["strength"]),
        rank,
        ", ".join(each["protections"]) or "-",
    ]


def _estimate_line(answer: dict[str, Any]) -> str:
    parts = answer["estimateParts"]
    if parts is None:
        return f"by another estimator, {answer['estimatorVersion']}"
    words, sentences = (
        ", ".join(f"{count(many)} {kind}" for kind, many in parts[name].items()) or "none"
        for name in ("words", "sentences")
    )
    return (
        f"0.1 + {number(parts['value'])} for its words + {number(parts['standing'])} for what "
        f"lasts ({answer['estimatorVersion']}; words: {words}; sentences: {sentences})"
    )


def _product(parts: dict[str, Any]) -> str:
    return (
        f"value {number(parts['value'])}, retention {number(parts['retention'])}, "
        f"recall recency {number(parts['recallRecency'])}, status ×{parts['statusFactor']}"
    )


def _cycle_line(cycle: dict[str, Any]) -> str:
    line = f"{cycle['action']} it: {cycle['why']}"
    if cycle["action"] == "fade":
        line += f"; importance {number(cycle['oldImportance'])} → {number(cycle['newImportance'])}"
    if not cycle["duplicatesSearched"]:
        line += " (not looked for duplicates: too many memories)"
    return line


def _crossing_row(crossing: dict[str, Any]) -> list[str]:
    return [
        crossing["threshold"],
        number(crossing["bound"]),
        when(crossing["crossedAt"]),
        when(crossing["actsAt"]),
        crossing["why"],
    ]
