"""`forgetd runs`: what was done, decision by decision, and taking a run back."""

from typing import Any

import click

from sidecar.cli.failures import NEGATIVE
from sidecar.cli.output import Column, emit_json, say, table, tell
from sidecar.cli.report import show_decisions, show_restore, show_sweep
from sidecar.cli.settings import Command, Group, settings
from sidecar.cli.shown import count, when
from sidecar.limits import LIST_LIMIT_MAX

_COLUMNS = (
    Column("run"),
    Column("kind"),
    Column("trigger"),
    Column("state"),
    Column("started"),
    Column("policy"),
    Column("moved", right=True),
    Column("skipped", right=True),
)


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show what runs did, and undo them."""
    if context.invoked_subcommand is None:
        _list(None, None)


@command.command("list", cls=Command)
@click.option("--limit", type=click.IntRange(1, LIST_LIMIT_MAX), help="Runs in the page.")
@click.option("--cursor", help="Where the page begins: from the page before.")
def list_runs(limit: int | None, cursor: str | None) -> None:
    """List runs, newest first."""
    _list(limit, cursor)


@command.command(cls=Command)
@click.argument("run")
def show(run: str) -> None:
    """Show one run and its report."""
    options = settings()
    answer: dict[str, Any] = options.call("runs.get", {"runId": run})
    if options.json:
        emit_json(answer)
        return
    table(_COLUMNS, [_row(answer["run"])])
    report = answer["report"]
    if report is None:
        say("the run has no report yet")
        return
    tell()
    if "stages" in report:
        show_sweep(report)
    elif "verification" in report:
        from sidecar.cli.gc import show_report

        show_report(report)
    elif "results" in report and "counts" in report:
        show_restore(report)
    else:
        emit_json(report)


@command.command(cls=Command)
@click.argument("run", required=False)
@click.option("--plan", "plan_id", metavar="PLAN", help="The decisions of a plan instead.")
@click.option("--limit", type=click.IntRange(1, LIST_LIMIT_MAX), help="Decisions in the page.")
@click.option("--cursor", help="Where the page begins: from the page before.")
def decisions(run: str | None, plan_id: str | None, limit: int | None, cursor: str | None) -> None:
    """List every decision of a RUN, or of a plan."""
    if (run is None) == (plan_id is None):
        raise click.UsageError("name a RUN, or a plan by --plan")
    options = settings()
    page: dict[str, Any] = options.call(
        "runs.decisions", {"runId": run, "planId": plan_id, "limit": limit, "cursor": cursor}
    )
    if options.json:
        emit_json(page)
        return
    show_decisions(page["decisions"])
    more = f"; more: --cursor {page['cursor']}" if page["cursor"] else ""
    say(f"{count(len(page['decisions']))} of {count(page['total'])}{more}")


@command.command(cls=Command)
@click.argument("run")
def undo(run: str) -> int:
    """Bring every memory of a run back to where it was, and pause automatic runs."""
    options = settings()
    report: dict[str, Any] = options.call("runs.undo", {"runId": run})
    if options.json:
        emit_json(report)
    else:
        show_restore(report)
    return 0 if any(report["counts"].values()) else NEGATIVE


def _list(limit: int | None, cursor: str | None) -> None:
    options = settings()
    page: dict[str, Any] = options.call("runs.list", {"limit": limit, "cursor": cursor})
    if options.json:
        emit_json(page)
        return
    if not page["runs"]:
        say("no runs")
        return
    table(_COLUMNS, [_row(run) for run in page["runs"]])
    if page["cursor"]:
        say(f"more: forgetd runs list --cursor {page['cursor']}")


def _row(run: dict[str, Any]) -> list[str]:
    state = f"undone by {run['undoneBy']}" if run["undoneBy"] else run["state"]
    return [
        run["runId"],
        run["kind"],
        run["trigger"],
        state,
        when(run["startedAt"]),
        run["policy"] or "-",
        count(run["moved"]),
        count(run["skipped"]),
    ]
