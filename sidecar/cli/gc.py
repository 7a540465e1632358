"""`forgetd gc`: destroy forgotten memories for good, after showing which and asking."""

import sys
from typing import Any

import click

from sidecar.cli.failures import NEGATIVE
from sidecar.cli.output import Column, emit_json, say, table, tell
from sidecar.cli.settings import Command, Group, Settings, settings
from sidecar.cli.shown import count, plural, size, when
from sidecar.limits import GC_DAYS_MAX, GC_OLDER_THAN_DAYS_DEFAULT

_SAMPLE = (
    Column("tier"),
    Column("forgotten"),
    Column("created"),
    Column("bytes", right=True),
    Column("id", wide=True),
)
_NAMED = (Column("why"), Column("id", wide=True))
_FOUND = (Column("where"), Column("what", wide=True))


@click.group(cls=Group, invoke_without_command=True)
@click.option(
    "--older-than-days",
    type=click.FloatRange(0, GC_DAYS_MAX),
    metavar="N",
    help=f"Only what was forgotten at least so long ago (default {GC_OLDER_THAN_DAYS_DEFAULT}).",
)
@click.option(
    "--id",
    "ids",
    multiple=True,
    metavar="ID",
    help="This memory; may be repeated. With --older-than-days 0 also one that is not forgotten.",
)
@click.option("--run", "run_id", metavar="RUN", help="What this run forgot.")
@click.option("--replaced-by", metavar="ID", help="Only if this memory, in their place, is stored.")
@click.option("--all", "everything", is_flag=True, help="The namespace itself, whole.")
@click.option("--dry-run", is_flag=True, help="Only show the plan and its token.")
@click.option("--token", metavar="TOKEN", help="Carry out the plan that this token is of.")
@click.pass_context
def command(
    context: click.Context,
    older_than_days: float | None,
    ids: tuple[str, ...],
    run_id: str | None,
    replaced_by: str | None,
    everything: bool,
    dry_run: bool,
    token: str | None,
) -> int:
    """Destroy memories for good.

    Shows what would go and asks. Without a terminal it shows the plan and its token, and only
    --token carries it out. Exit code 1 when nothing was destroyed, or something is left.
    """
    if context.invoked_subcommand is not None:
        return 0
    options = settings()
    chosen: dict[str, Any] = {
        "olderThanDays": older_than_days,
        "ids": list(ids) or None,
        "runId": run_id,
        "replacedBy": replaced_by,
        "all": everything or None,
    }
    if token is not None:
        if dry_run or any(value is not None for value in chosen.values()):
            raise click.UsageError("--token names a plan: nothing else can be chosen beside it")
        return _execute(options, token)
    return _plan(options, chosen, dry_run=dry_run)


@command.command(cls=Command)
@click.option("--id", "ids", multiple=True, metavar="ID", help="An id that was destroyed.")
@click.option("--text", "texts", multiple=True, metavar="TEXT", help="Words that should be gone.")
def verify(ids: tuple[str, ...], texts: tuple[str, ...]) -> int:
    """Look whether anything is left of ids or of words, in every table and every file.

    Exit code 1 when something is.
    """
    if not ids and not texts:
        raise click.UsageError("name what to look for: --id ID, or --text TEXT")
    options = settings()
    found: dict[str, Any] = options.call_admin(
        "gc.verify", {"ids": list(ids) or None, "texts": list(texts) or None}
    )
    if options.json:
        emit_json(found)
    else:
        _show_verification(found)
    return 0 if found["clean"] else NEGATIVE


def _plan(options: Settings, chosen: dict[str, Any], *, dry_run: bool) -> int:
    plan: dict[str, Any] = options.call_admin("gc.plan", chosen)
    may_ask = sys.stdin.isatty() and sys.stderr.isatty() and not options.json
    if options.json:
        emit_json(plan)
    else:
        _show_plan(plan)
    token = plan["token"]
    if token is None:
        say("nothing to destroy" if not plan["wholeNamespace"] else "lift what holds them first")
        return 0 if dry_run else NEGATIVE
    if dry_run or not may_ask:
        say(f"nothing was destroyed; to do it: {options.hint(f'gc --token {token}')}")
        return 0 if dry_run else NEGATIVE
    say("This cannot be taken back.")
    word = click.prompt(f"Write {plan['namespace']} to destroy them", err=True, default="")
    if word != plan["namespace"]:
        say("nothing was destroyed")
        return NEGATIVE
    return _execute(options, token)


def _execute(options: Settings, token: str) -> int:
    say("destroying; a kill does no harm: the next start of the daemon finishes it")
    report: dict[str, Any] = options.call_admin("gc.execute", {"token": token})
    if options.json:
        emit_json(report)
    else:
        show_report(report)
    checked = report["verification"]
    left = report["leftCount"] or (checked is not None and not checked["clean"])
    return NEGATIVE if left or not report["destroyed"] else 0


def _show_plan(plan: dict[str, Any]) -> None:
    if plan["wholeNamespace"]:
        tell(f"the namespace {plan['namespace']} itself, with everything in it")
    tiers = ", ".join(f"{count(number)} {tier}" for tier, number in plan["tiers"].items() if number)
    memories = plural(plan["memories"], "memory", "memories")
    tell(f"{memories}{f' ({tiers})' if tiers else ''}, {size(plan['bytes'])}, {plan['reason']}")
    if plan["memories"]:
        tell(f"from {when(plan['oldest'])} to {when(plan['newest'])}")
    if plan["media"]:
        tell(f"with {plural(plan['media'], 'media file')}")
    if plan["sample"]:
        tell()
        table(
            _SAMPLE,
            [
                [
                    each["tier"],
                    when(each["forgottenAt"]),
                    when(each["createdAt"]),
                    count(each["bytes"]),
                    each["id"],
                ]
                for each in plan["sample"]
            ],
        )
        if plan["memories"] > len(plan["sample"]):
            tell(f"and {count(plan['memories'] - len(plan['sample']))} more")
    if plan["refused"]:
        tell()
        tell(f"refused: {count(plan['refusedCount'])}")
        table(_NAMED, [[each["why"], each["id"]] for each in plan["refused"]])


def show_report(report: dict[str, Any]) -> None:
    """What was destroyed, what stayed, and whether anything is left."""
    gone = plural(report["destroyed"], "memory", "memories")
    change = report["bytesReclaimed"]
    # Tombstones and events take room too: more than many short memories gave back.
    than_before = "smaller" if change >= 0 else "larger"
    tell(f"destroyed {gone}; files are {size(abs(change))} {than_before}")
    if report["wholeNamespace"]:
        tell(f"the namespace {report['namespace']} is no more")
    if report["runId"] is not None:
        tell(f"run {report['runId']}")
    if report["mediaRemoved"]:
        tell(f"removed {plural(report['mediaRemoved'], 'media file')}")
    for name in report["backupsRemoved"]:
        tell(f"removed the backup {name}")
    for note in report["notes"]:
        tell(f"note: {note}")
    if report["left"]:
        tell(f"left: {count(report['leftCount'])}")
        table(_NAMED, [[each["why"], each["id"] or "-"] for each in report["left"]])
    if report["verification"] is not None:
        _show_verification(report["verification"])


def _show_verification(found: dict[str, Any]) -> None:
    searched = f"{count(found['files'])} files, {size(found['bytes'])}"
    texts = f"{count(found['texts'])} of {count(found['textsOf'])} texts"
    if found["clean"]:
        tell(f"verified: nothing is left ({searched}; {texts} searched for)")
    else:
        tell(f"something is left ({searched}; {texts} searched for)")
        table(_FOUND, [[each["where"], each["what"]] for each in found["left"]])
    for memory_id in found["shared"]:
        tell(f"the same words are in {memory_id}, which is kept")
    for name in found["notReached"]:
        tell(f"not reached: {name}")
