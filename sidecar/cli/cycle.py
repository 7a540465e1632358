"""`forgetd cycle`: preview keeping, fading and pruning, apply a plan, or do both at once."""

from collections.abc import Sequence
from typing import Any, Final

import click

from sidecar.cli.output import Column, emit_json, table, tell
from sidecar.cli.report import brake_line
from sidecar.cli.settings import Command, Settings, settings
from sidecar.cli.shown import count, number, plural, size
from sidecar.limits import REPORT_DECISIONS_MAX

Answer = dict[str, Any]

SHOWN_DECISIONS: Final = 10

_TYPE_COLUMNS = (
    Column("memory type"),
    Column("keep", right=True),
    Column("fade", right=True),
    Column("prune", right=True),
)
_REASON_COLUMNS = (
    Column("reason"),
    Column("prune", right=True),
    Column("fade", right=True),
    Column("kept all the same", right=True),
)
_DECISION_COLUMNS = (
    Column("action"),
    Column("reason"),
    Column("kept for"),
    Column("type"),
    Column("strength", right=True),
    Column("importance", right=True),
    Column("id"),
)


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Only plan: nothing changes.")
@click.option("--plan", "plan_id", metavar="PLAN", help="Apply exactly this plan of a dry run.")
@click.option("--now", type=int, metavar="MS", help="Plan for this time; needs --dry-run.")
@click.option(
    "--decisions",
    type=click.IntRange(0, REPORT_DECISIONS_MAX),
    help=f"How many decisions to show (default {SHOWN_DECISIONS}; 1 000 with --json).",
)
def command(dry_run: bool, plan_id: str | None, now: int | None, decisions: int | None) -> int:
    """Decide on every memory: keep it, fade it, or prune it.

    What is weak fades: its importance is halved, at most once a week. What is weaker, replaced
    by a newer version, said twice, or a procedure that failed too often is pruned: moved to
    forgotten, from where the whole run can be undone.
    """
    if dry_run and plan_id is not None:
        raise click.UsageError("--dry-run makes a plan and --plan applies one: give one of them")
    if now is not None and not dry_run:
        raise click.UsageError("--now is for --dry-run: what is done, is done now")
    options = settings()
    shown = decisions if decisions is not None or options.json else SHOWN_DECISIONS
    report: Answer = options.call(
        "forgetting.runCycle",
        {"dryRun": dry_run or None, "planId": plan_id, "now": now, "decisionsLimit": shown},
    )
    if options.json:
        emit_json(report)
        return 0
    _show(report)
    tell()
    tell(_next_step(options, report, planned_for_other_time=now is not None))
    return 0


def _show(report: Answer) -> None:
    done = "nothing to do" if report["runId"] is None else f"run {report['runId']}"
    kind = "dry run" if report["dryRun"] else done
    tell(f"cycle: {kind} in namespace {report['namespace']} (by {report['trigger']})")
    tell()
    table(_TYPE_COLUMNS, [_type_row(name, told) for name, told in report["byType"].items()])
    tell()
    if report["byReason"]:
        rows = [_reason_row(name, told) for name, told in report["byReason"].items()]
        table(_REASON_COLUMNS, rows)
        tell()
    for line in _notes(report):
        tell(line)
    for title, name in (
        ("decisions", "decisions"),
        ("the weakest that stay", "weakest"),
        ("nearest to a threshold", "nearest"),
    ):
        _show_decisions(title, report[name])
    _more(report)


def _show_decisions(title: str, decisions: Sequence[Answer]) -> None:
    if decisions:
        tell()
        tell(title)
        table(_DECISION_COLUMNS, [_decision_row(one) for one in decisions])


def _type_row(name: str, told: Answer) -> list[str]:
    return [name, *(count(told[action]) for action in ("keep", "fade", "prune"))]


def _reason_row(name: str, told: Answer) -> list[str]:
    return [name, *(count(told[action]) for action in ("prune", "fade", "keep"))]


def _notes(report: Answer) -> list[str]:
    lines = [
        f"scanned    {count(report['scanned'])}: {count(report['kept'])} kept, "
        f"{count(report['faded'])} faded, {count(report['pruned'])} pruned"
    ]
    if kept := report["bySkipped"]:
        lines.append(
            "kept for   " + ", ".join(f"{count(amount)} {kind}" for kind, amount in kept.items())
        )
    if report["brake"]:
        lines.append(brake_line(report["brake"]))
    if report["duplicatesFlagged"]:
        lines.append(f"look at    {count(report['duplicatesFlagged'])} that may be duplicates")
    if report["brokenChainCount"]:
        lines.append(
            f"broken     {plural(report['brokenChainCount'], 'memory', 'memories')} replaced by "
            f"what is not there: {', '.join(report['brokenChains'][:SHOWN_DECISIONS])}"
        )
    if report["skippedRecords"]:
        lines.append(f"skipped    {count(report['skippedRecords'])}: changed meanwhile")
    if report["mediaDeleted"] or report["skippedMedia"]:
        lines.append(
            f"files      {count(report['mediaDeleted'])} moved to the trash, "
            f"{count(report['skippedMedia'])} left"
        )
    if not report["dryRun"]:
        note = f" ({report['spaceNote']})" if report["spaceNote"] else ""
        lines.append(f"space      {size(report['bytesReclaimed'])} reclaimed{note}")
    return lines


def _decision_row(decision: Answer) -> list[str]:
    before, after = number(decision["oldImportance"]), number(decision["newImportance"])
    return [
        decision["action"],
        decision["reason"] or "-",
        decision["skipped"] or "-",
        decision["memoryType"],
        number(decision["score"]),
        f"{before} → {after}" if decision["action"] == "fade" else before,
        decision["recordId"],
    ]


def _more(report: Answer) -> None:
    if report["decisionsTruncated"]:
        rest = count(report["scanned"] - len(report["decisions"]))
        tell()
        tell(f"and {rest} more: --decisions N shows more, --json all there is room for")


def _next_step(options: Settings, report: Answer, *, planned_for_other_time: bool) -> str:
    changed = report["faded"] + report["pruned"]
    if not changed:
        return "nothing fades and nothing is pruned"
    if not report["dryRun"]:
        return "take it back: " + options.hint(f"runs undo {report['runId']}")
    if planned_for_other_time:
        return "made for another time: this plan can be read, not applied"
    return "apply exactly this: " + options.hint(f"cycle --plan {report['planId']}")
