"""`forgetd sweep`: preview the cascade, apply a plan, or do both at once."""

from typing import Any

import click

from sidecar.cli.output import emit_json, tell
from sidecar.cli.report import show_sweep
from sidecar.cli.settings import Command, Settings, settings
from sidecar.limits import REPORT_DECISIONS_MAX

SHOWN_DECISIONS = 10


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Only plan: nothing is moved.")
@click.option("--plan", "plan_id", metavar="PLAN", help="Apply exactly this plan of a dry run.")
@click.option(
    "--mode",
    type=click.Choice(["normal", "strict"]),
    help="strict: go on to stronger memories until the number is reached; protections hold.",
)
@click.option("--policy", help="Score by this policy instead of the namespace's.")
@click.option("--brake-share", type=float, help="The brake of this call, a share of one.")
@click.option("--now", type=int, metavar="MS", help="Plan for this time; needs --dry-run.")
@click.option(
    "--decisions",
    type=click.IntRange(0, REPORT_DECISIONS_MAX),
    help=f"How many decisions to show (default {SHOWN_DECISIONS}; 100 with --json).",
)
def command(
    dry_run: bool,
    plan_id: str | None,
    mode: str | None,
    policy: str | None,
    brake_share: float | None,
    now: int | None,
    decisions: int | None,
) -> int:
    """Spill and forget where thresholds are crossed.

    First cold memories spill to archive files, then the weakest are forgotten. Forgotten
    memories can be restored, and the whole run undone.
    """
    if dry_run and plan_id is not None:
        raise click.UsageError("--dry-run makes a plan and --plan applies one: give one of them")
    if now is not None and not dry_run:
        raise click.UsageError("--now is for --dry-run: what is done, is done now")
    options = settings()
    shown = decisions if decisions is not None or options.json else SHOWN_DECISIONS
    report: dict[str, Any] = options.call(
        "forgetSweep",
        {
            "dryRun": dry_run or None,
            "planId": plan_id,
            "mode": mode,
            "policy": policy,
            "brakeShare": brake_share,
            "now": now,
            "decisionsLimit": shown,
        },
    )
    if options.json:
        emit_json(report)
        return 0
    show_sweep(report)
    tell()
    tell(_next_step(options, report, planned_for_other_time=now is not None))
    return 0


def _next_step(options: Settings, report: dict[str, Any], *, planned_for_other_time: bool) -> str:
    if not any(stage["selected"] for stage in report["stages"]):
        return "nothing to move" + (
            "" if any(stage["crossed"] for stage in report["stages"]) else ": no threshold crossed"
        )
    if not report["dryRun"]:
        return "take it back: " + options.hint(f"runs undo {report['runId']}")
    if planned_for_other_time:
        return "made for another time: this plan can be read, not applied"
    return "apply exactly this: " + options.hint(f"sweep --plan {report['planId']}")
