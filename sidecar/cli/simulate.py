"""`forgetd simulate`: what automatic runs would do in the days to come."""

from collections.abc import Sequence
from typing import Any, Final

import click

from sidecar.cli.output import Column, emit_json, table, tell
from sidecar.cli.settings import Command, settings
from sidecar.cli.shown import count, plural, size, when
from sidecar.cli.status import pause_lines
from sidecar.cli.thresholds import assigned
from sidecar.limits import (
    SIMULATED_DAYS_DEFAULT,
    SIMULATED_DAYS_MAX,
    SIMULATED_MEMORIES_PER_DAY_MAX,
)

Answer = dict[str, Any]

SHOWN_DAYS: Final = 40
_COLUMNS = (
    Column("day", right=True),
    Column("until"),
    Column("arrived", right=True),
    Column("spilled", right=True),
    Column("forgotten", right=True),
    Column("faded", right=True),
    Column("pruned", right=True),
    Column("hot", right=True),
    Column("cold", right=True),
    Column("total", right=True),
    Column("live", right=True),
    Column("notes"),
)


@click.command(cls=Command)
@click.argument("name", metavar="[NAMESPACE]", required=False)
@click.option(
    "--days",
    type=click.IntRange(1, SIMULATED_DAYS_MAX),
    help=f"How many days (default {SIMULATED_DAYS_DEFAULT}).",
)
@click.option(
    "--arrivals",
    type=click.IntRange(0, SIMULATED_MEMORIES_PER_DAY_MAX),
    metavar="N",
    help="Memories that arrive a day; without it as many as of late.",
)
@click.option("--policy", help="Score by this policy instead of the default one.")
@click.option(
    "--set",
    "assignments",
    metavar="NAME=VALUE",
    multiple=True,
    help="As if this threshold were set now; may be repeated.",
)
def command(
    name: str | None,
    days: int | None,
    arrivals: int | None,
    policy: str | None,
    assignments: Sequence[str],
) -> int:
    """Tell what automatic runs would do in the days to come; nothing changes.

    Day by day: what arrives, spills, fades and is forgotten, what is there at the end, and when
    each threshold is crossed first. Arrivals are like the newest memories; nothing is recalled.
    """
    options = settings()
    if name is not None and options.namespace not in (None, name):
        raise click.UsageError("two namespaces are named: give one of them")
    params: Answer = {
        "days": days,
        "arrivalsPerDay": arrivals,
        "policy": policy,
        "thresholds": assigned(assignments) or None,
        "namespace": name,
    }
    report: Answer = options.call("simulate", params)
    if options.json:
        emit_json(report)
        return 0
    _show(report)
    return 0


def _show(report: Answer) -> None:
    rate = f"{plural(report['arrivalsPerDay'], 'memory', 'memories')} a day"
    if report["arrivalsMeasured"]:
        rate += ", as of late"
    tell(
        f"simulation: {plural(report['days'], 'day')} of namespace {report['namespace']} "
        f"from {when(report['now'])}, {rate}"
    )
    if not report["thresholds"]["forgetEnabled"]:
        tell("forgetting is switched off: nothing moves")
    for line in pause_lines(report):
        tell(line)
    tell()
    table(_COLUMNS, [_row(day) for day in _shown(report["perDay"])])
    if len(report["perDay"]) > SHOWN_DAYS:
        tell(f"every {_stride(report['perDay'])}th day; all of them with --json")
    tell()
    for crossing in report["firstCrossed"]:
        at = "now" if crossing["day"] == 0 else f"on day {crossing['day']}, {when(crossing['at'])}"
        tell(f"{crossing['threshold']:<10} crossed {at}")
    if not report["firstCrossed"]:
        tell("no threshold is crossed")
    tell(f"in all     {_total(report['totals'])}")


def _stride(days: Sequence[Answer]) -> int:
    return -(-len(days) // SHOWN_DAYS)


def _shown(days: Sequence[Answer]) -> list[Answer]:
    """Not more days than a reader looks at: each so-many-th, the last one included."""
    stride = _stride(days)
    return [day for day in days if day["day"] % stride == 0 or day is days[-1]]


def _row(day: Answer) -> list[str]:
    moved, after = day["moved"], day["after"]
    notes = [f"over {name}" for name in day["crossed"]]
    notes += [name for name in ("braked", "pressure") if day[name]]
    return [
        count(day["day"]),
        when(day["at"]),
        *(count(moved[name]) for name in ("arrived", "spilled", "forgotten", "faded", "pruned")),
        *(count(after[name]) for name in ("hot", "cold", "total")),
        size(after["liveBytes"]),
        ", ".join(notes) or "-",
    ]


def _total(totals: Answer) -> str:
    return ", ".join(f"{count(amount)} {name}" for name, amount in totals.items())
