"""`forgetd lifecycle`: set aside what was of no use, and look at what is set aside."""

from typing import Any, Final

import click

from sidecar.cli.output import Column, emit_json, say, table, tell
from sidecar.cli.report import brake_line
from sidecar.cli.settings import Command, Group, Settings, settings
from sidecar.cli.shown import count, number, plural, when
from sidecar.limits import LIST_LIMIT_MAX, REPORT_DECISIONS_MAX

Answer = dict[str, Any]

SHOWN_CANDIDATES: Final = 20

_CANDIDATES: Final = (
    Column("becomes"),
    Column("usefulness", right=True),
    Column("uses", right=True),
    Column("days", right=True),
    Column("type"),
    Column("tier"),
    Column("id", wide=True),
)
_REASONS: Final = (Column("reason"), Column("memories", right=True))
_ARCHIVED: Final = (
    Column("archived"),
    Column("tier"),
    Column("uses", right=True),
    Column("usefulness", right=True),
    Column("run"),
    Column("id", wide=True),
)


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int:
    """Set aside what was of no use, and look at what is set aside.

    Alone it is "forget" without options: it shows what would be archived, and changes nothing.
    """
    if context.invoked_subcommand is not None:
        return 0
    answer: int = context.invoke(forget)
    return answer


@command.command(cls=Command)
@click.option("--run", "apply", is_flag=True, help="Do it; without this only a plan is made.")
@click.option("--plan", "plan_id", metavar="PLAN", help="Apply exactly this plan of a dry run.")
@click.option("--force", is_flag=True, help="Although forget_enabled is off under [lifecycle].")
@click.option("--now", type=int, metavar="MS", help="Plan for this time.")
@click.option("--usefulness-floor", type=float, metavar="X", help="Low: at most this a use.")
@click.option(
    "--min-age-days",
    type=click.FloatRange(0),
    metavar="N",
    help="Stale: last of use, and made, longer ago.",
)
@click.option(
    "--protect-use-count",
    type=click.IntRange(1),
    metavar="N",
    help="What was used so often stays, unless it does harm.",
)
@click.option("--harmful-floor", type=float, metavar="X", help="Harm: at most this a use.")
@click.option(
    "--candidates",
    type=click.IntRange(0, REPORT_DECISIONS_MAX),
    metavar="N",
    help=f"How many to show (default {SHOWN_CANDIDATES}; 100 with --json).",
)
def forget(
    apply: bool,
    plan_id: str | None,
    force: bool,
    now: int | None,
    usefulness_floor: float | None,
    min_age_days: float | None,
    protect_use_count: int | None,
    harmful_floor: float | None,
    candidates: int | None,
) -> int:
    """Archive memories that are low in usefulness, stale, and neither popular nor evergreen.

    Archived memories leave recall and stay where they are; "restore" and "runs undo" take it
    back. Without --run or --plan nothing changes. The config file must allow a real run with
    forget_enabled = true under [lifecycle], or the operator says --force.
    """
    real = apply or plan_id is not None
    if now is not None and real:
        raise click.UsageError("--now is for looking: what is done, is done now")
    if force and not real:
        raise click.UsageError("--force is for --run or --plan: looking is always allowed")
    options = settings()
    shown = candidates if candidates is not None or options.json else SHOWN_CANDIDATES
    wanted: Answer = {
        "dryRun": not real,
        "planId": plan_id,
        "now": now,
        "usefulnessFloor": usefulness_floor,
        "minAgeDays": min_age_days,
        "protectUseCount": protect_use_count,
        "harmfulFloor": harmful_floor,
        "candidatesLimit": shown,
        "force": force or None,
    }
    call = options.call_admin if force else options.call
    report: Answer = call("lifecycle.forget", wanted)
    if options.json:
        emit_json(report)
        return 0
    _show(report)
    tell(_next_step(options, report, planned_for_other_time=now is not None))
    return 0


@command.command(cls=Command)
def reasons() -> int:
    """Count the memories that are not believed, by reason."""
    options = settings()
    counts: Answer = options.call("lifecycle.invalidationsByReason", {})
    if options.json:
        emit_json(counts)
        return 0
    told = {name: amount for name, amount in counts["reasons"].items() if amount}
    if not told:
        tell("every memory is believed")
        return 0
    table(_REASONS, [[name, count(amount)] for name, amount in told.items()])
    for text in counts["texts"]:
        tell(f"of manual: {text['text']!r}, {count(text['count'])}")
    return 0


@command.command(cls=Command)
@click.option("--limit", type=click.IntRange(1, LIST_LIMIT_MAX), metavar="N", help="How many.")
@click.option("--cursor", metavar="CURSOR", help="Where the page before ended.")
def archived(limit: int | None, cursor: str | None) -> int:
    """List the memories that forgetting archived, newest first."""
    options = settings()
    page: Answer = options.call("lifecycle.listArchived", {"limit": limit, "cursor": cursor})
    if options.json:
        emit_json(page)
        return 0
    if not page["memories"]:
        tell("forgetting has archived nothing")
        return 0
    table(
        _ARCHIVED,
        [
            [
                when(each["archivedAt"]),
                each["tier"],
                count(each["useCount"]),
                number(each["usefulnessScore"]),
                each["runId"] or "-",
                each["id"],
            ]
            for each in page["memories"]
        ],
    )
    if page["cursor"] is not None:
        say(f"more: {options.hint('lifecycle archived --cursor ' + page['cursor'])}")
    return 0


def _show(report: Answer) -> None:
    done = "nothing to do" if report["runId"] is None else f"run {report['runId']}"
    kind = "dry run" if report["dryRun"] else done
    tell(f"lifecycle: {kind} in namespace {report['namespace']}")
    tell(
        f"candidates {count(report['candidateCount'])} of {count(report['scanned'])}: "
        f"{count(report['archived'])} {'to archive' if report['dryRun'] else 'archived'}, "
        f"{count(report['skipped'])} kept, {count(report['failed'])} failed"
    )
    tell(
        f"those of at most {report['usefulnessFloor']:g} usefulness a use, older than"
        f" {report['minAgeDays']:g} days, used less than {report['protectUseCount']} times"
        f" (or of at most {report['harmfulFloor']:g})"
    )
    if report["bySkipped"]:
        kept = (f"{count(amount)} {kind}" for kind, amount in report["bySkipped"].items())
        tell("kept for   " + ", ".join(kept))
    if report["unscored"]:
        tell(
            f"unscored   {plural(report['unscored'], 'memory', 'memories')} with impossible values"
        )
    if report["brake"]:
        tell(brake_line(report["brake"]))
    if report["forced"]:
        tell("forced: forget_enabled is off under [lifecycle]")
    if report["candidates"]:
        tell()
        table(_CANDIDATES, [_row(one, dry_run=report["dryRun"]) for one in report["candidates"]])
    tell()


def _row(candidate: Answer, *, dry_run: bool) -> list[str]:
    kept = candidate["skipped"]
    becomes = f"kept: {kept}" if kept else ("to archive" if dry_run else "archived")
    return [
        becomes,
        number(candidate["usefulness"]),
        count(candidate["useCount"]),
        number(candidate["ageDays"]),
        candidate["memoryType"],
        candidate["tier"],
        candidate["id"],
    ]


def _next_step(options: Settings, report: Answer, *, planned_for_other_time: bool) -> str:
    if not report["archived"]:
        return "nothing to archive"
    if not report["dryRun"]:
        return "take it back: " + options.hint(f"runs undo {report['runId']}")
    if planned_for_other_time:
        return "made for another time: this plan can be read, not applied"
    force = "" if report["forgetEnabled"] else " --force"
    return "apply exactly this: " + options.hint(
        f"lifecycle forget --plan {report['planId']}{force}"
    )
