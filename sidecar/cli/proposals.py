"""`forgetd proposals`: texts that may become memories: list them, accept, reject, tidy up."""

from typing import Any

import click

from sidecar.cli.failures import NEGATIVE
from sidecar.cli.output import Column, emit_json, say, table, tell
from sidecar.cli.settings import Command, Group, settings
from sidecar.cli.shown import count, plural, when
from sidecar.limits import (
    LIST_LIMIT_MAX,
    PROPOSAL_AUTO_ACCEPT_SHARE_MAX,
    PROPOSAL_EXPIRY_DAYS_DEFAULT,
    PROPOSAL_EXPIRY_DAYS_MAX,
)

Answer = dict[str, Any]

STATUSES = ("pending", "accepted", "rejected")
_COLUMNS = (
    Column("status"),
    Column("sure", right=True),
    Column("submitted"),
    Column("supersedes"),
    Column("in the way"),
    Column("id"),
    Column("content", wide=True),
)
_FAILED = (Column("why"), Column("id", wide=True))


class NamedGroup(Group):
    """A group before whose command a namespace may stand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take a first word that is no command, and is followed by one, for the namespace."""
        if len(args) > 1 and args[0] not in self.commands and args[1] in self.commands:
            settings().use_namespace(args[0])
            args = args[1:]
        return super().parse_args(ctx, args)


@click.group(
    cls=NamedGroup,
    invoke_without_command=True,
    options_metavar="[NAMESPACE]",
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.pass_context
def command(context: click.Context) -> None:
    """List and decide proposals: texts that wait to become memories.

    The namespace may stand before the command: forgetd proposals me accept ID
    """
    if context.invoked_subcommand is None:
        _list({})


@command.command("list", cls=Command)
@click.option("--status", type=click.Choice(STATUSES), help="Only these.")
@click.option("--limit", type=click.IntRange(1, LIST_LIMIT_MAX), help="Proposals in the page.")
@click.option("--cursor", help="Where the page begins: from the page before.")
def list_proposals(status: str | None, limit: int | None, cursor: str | None) -> None:
    """List proposals, the oldest first."""
    _list({"status": status, "limit": limit, "cursor": cursor})


@command.command(cls=Command)
@click.argument("id")
def accept(id: str) -> None:
    """Make a proposal a memory.

    Refused where the memory that it supersedes has changed since it was submitted.
    """
    options = settings()
    memory: Answer = options.call("proposals.accept", {"id": id})
    if options.json:
        emit_json(memory)
        return
    tell(f"accepted: {memory['id']} is a memory now")
    for older in memory["supersedes"]:
        tell(f"it takes the place of {older}")


@command.command(cls=Command)
@click.argument("id")
@click.option("--reason", help="Why; kept with the proposal.")
def reject(id: str, reason: str | None) -> None:
    """Turn a proposal down."""
    options = settings()
    proposal: Answer = options.call("proposals.reject", {"id": id, "reason": reason})
    if options.json:
        emit_json(proposal)
    else:
        tell(f"rejected: {proposal['id']}")


@command.command(cls=Command)
@click.option("--apply", is_flag=True, help="Do it; without this only say what would be done.")
@click.option(
    "--expiry-days",
    type=click.FloatRange(0, PROPOSAL_EXPIRY_DAYS_MAX),
    metavar="N",
    help=f"Reject what is as old as this (default {PROPOSAL_EXPIRY_DAYS_DEFAULT}).",
)
@click.option(
    "--accept-confidence",
    type=click.FloatRange(0, PROPOSAL_AUTO_ACCEPT_SHARE_MAX),
    metavar="N",
    help="Accept what is as sure as this, 0 to 1 (by default nothing).",
)
def gc(apply: bool, expiry_days: float | None, accept_confidence: float | None) -> int:
    """Decide by age and by confidence, and drop what was decided as long ago.

    Exit code 1 when there was nothing to decide or to drop.
    """
    options = settings()
    report: Answer = options.call(
        "proposals.gc",
        {
            "dryRun": not apply,
            "proposalExpiryDays": expiry_days,
            "proposalAutoAcceptConfidence": accept_confidence,
        },
    )
    done = bool(report["expired"] or report["autoAccepted"] or report["dropped"])
    if options.json:
        emit_json(report)
        return 0 if done else NEGATIVE
    would = "would be " if report["dryRun"] else ""
    for name, word in (("expired", "rejected for their age"), ("autoAccepted", "accepted")):
        tell(f"{count(len(report[name]))} {would}{word}")
        for proposal_id in report[name]:
            tell(f"  {proposal_id}")
    tell(f"{plural(report['dropped'], 'decided proposal')} {would}dropped")
    if report["failed"]:
        tell("sure enough, and not accepted by itself:")
        table(_FAILED, [[each["why"], each["id"]] for each in report["failed"]])
    if report["dryRun"] and done:
        say("nothing was done; --apply does it")
    return 0 if done else NEGATIVE


def _list(params: Answer) -> None:
    options = settings()
    page: Answer = options.call("proposals.list", params)
    if options.json:
        emit_json(page)
        return
    if not page["proposals"]:
        say("no proposals")
        return
    table(_COLUMNS, [_row(proposal) for proposal in page["proposals"]])
    more = f"; more: --cursor {page['cursor']}" if page["cursor"] else ""
    say(f"{count(page['pending'])} pending{more}")


def _row(proposal: Answer) -> list[str]:
    decided = f" ({proposal['decidedReason']})" if proposal["decidedReason"] else ""
    return [
        proposal["status"] + decided,
        f"{proposal['proposedConfidence']:.2f}",
        when(proposal["createdAt"]),
        proposal["supersedes"] or "-",
        proposal["obstacle"] or "-",
        proposal["id"],
        proposal["content"] or "-",
    ]
