"""`forgetd status`: counts against thresholds, alarms, pauses."""

from typing import Any, Final

import click

from sidecar.cli.failures import NEGATIVE
from sidecar.cli.namespaces import show_listing
from sidecar.cli.output import bars, emit_json, say, tell
from sidecar.cli.review import counts_line
from sidecar.cli.settings import Command, settings
from sidecar.cli.shown import count, duration, gigabytes, plural, setting, size, when

Answer = dict[str, Any]


# Looking at a namespace opens it: of more than so many only the counts are listed.
DETAILED_MAX: Final = 16


@click.command(cls=Command)
@click.option("--all", "every", is_flag=True, help=f"In detail, also more than {DETAILED_MAX}.")
def command(every: bool) -> int:
    """Show counts, thresholds and alarms.

    Shows every namespace, or the one named by --namespace.
    """
    options = settings()
    one = options.namespace is not None and not every
    listed: list[Answer] = [] if one else options.call_daemon("namespaces.list")["namespaces"]
    detailed = every or len(listed) <= DETAILED_MAX
    report: Answer = options.call("system.status", {"all": True if detailed and not one else None})
    if options.json:
        emit_json(report)
        return NEGATIVE if one and not report["namespaces"] else 0
    _daemon(report)
    if not detailed:
        tell()
        show_listing(listed)
        say("in detail: `forgetd status --namespace NAME`, or --all")
        return 0
    for namespace in report["namespaces"]:
        tell()
        _namespace(namespace)
    if one and not report["namespaces"]:
        say(f"there is no namespace {options.namespace_name()}; see `forgetd namespaces`")
        return NEGATIVE
    if not report["namespaces"]:
        say("no namespaces yet: a first memory makes one")
    return 0


def _daemon(report: Answer) -> None:
    clock = f", its clock is held at {when(report['now'])}" if report.get("clockHeld") else ""
    up = duration(report["uptimeSeconds"])
    tell(
        f"forgetd {report['version']}, protocol {report['protocolVersion']}, "
        f"pid {report['pid']}, up {up}{clock}"
    )


def _namespace(status: Answer) -> None:
    counts, thresholds = status["counts"], status["thresholds"]
    values: Answer = {name: each["value"] for name, each in thresholds["thresholds"].items()}
    tell(f"namespace {status['namespace']}")
    bars(
        [
            _bar("hot", counts["hot"], values["forgetThresholdCount"]),
            _bar("total", counts["total"], values["forgetThresholdTotal"]),
            _disk(counts["liveBytes"], values["forgetThresholdDiskGB"]),
        ]
    )
    tell(
        f"  {count(counts['cold'])} cold, {count(counts['forgotten'])} forgotten "
        f"(restorable), {size(counts['overheadBytes'])} overhead"
    )
    for line in _activity(status, values):
        tell(f"  {line}")
    for line in _attention(status):
        tell(f"  ! {line}")


def _bar(label: str, amount: int, limit: int) -> tuple[str, str, float | None]:
    return label, f"{count(amount)} of {count(limit)}", amount / limit if limit else None


def _disk(live_bytes: int, limit_gigabytes: float) -> tuple[str, str, float | None]:
    limit = gigabytes(limit_gigabytes)
    return "disk", f"{size(live_bytes)} of {size(limit)}", live_bytes / limit


def _activity(status: Answer, values: Answer) -> list[str]:
    lines: list[str] = []
    if status["running"]:
        lines.append(f"running: {status['running']}")
    if last := status["lastRun"]:
        lines.append(
            f"last run: {last['runId']} ({last['kind']}, {last['trigger']}) {last['state']} "
            f"{when(last['finishedAt'])}, moved {count(last['moved'])}"
        )
    if status["unscored"]:
        lines.append(f"{plural(status['unscored'], 'memory', 'memories')} unscored: kept")
    if waiting := counts_line(status["review"]):
        lines.append(f"to look at: {waiting}; `{settings().hint('review', status['namespace'])}`")
    if values["forgetEnabled"] is False:
        lines.append(f"forgetEnabled is {setting(False)}: nothing is moved")
    return lines


def _attention(status: Answer) -> list[str]:
    thresholds = status["thresholds"]
    lines: list[str] = []
    if status["readOnly"]:
        lines.append(f"read-only: {status['readOnly']}")
    lines += pause_lines(thresholds)
    if not_before := thresholds["stageTwoNotBefore"]:
        lines.append(f"automatic forgetting waits until {when(not_before)}")
    if status["corrupt"]:
        lines.append(f"{plural(status['corrupt'], 'memory', 'memories')} damaged; see doctor")
    if unknown := status["unknownSegments"]:
        lines.append(f"{plural(len(unknown), 'unknown segment')} kept; see doctor")
    return lines + list(status["alarms"])


def pause_lines(thresholds: Answer) -> list[str]:
    """Why automatic runs of a namespace stand still, and how they go on."""
    resume = settings().hint("thresholds resume", thresholds["namespace"])
    lines: list[str] = []
    for pause in thresholds["paused"]:
        until = f"`{resume}`" if pause["until"] is None else when(pause["until"])
        lines.append(f"automatic runs are paused ({pause['reason']}) until {until}")
    return lines
