"""Reports of sweeps and restores, as a person reads them."""

from collections.abc import Sequence
from typing import Any, Final

from sidecar.cli.output import Column, table, tell
from sidecar.cli.settings import settings
from sidecar.cli.shown import count, number, plural, size

Answer = dict[str, Any]

STAGES: Final = {1: "1 spill", 2: "2 forget"}
NOT_BACK_SHOWN_MAX: Final = 20
FILE_NOT_BACK: Final = {
    "blocked": "still in the trash: another lies in its place",
    "missing": "missing",
    "waiting": "waiting for the media folder",
}

_STAGE_COLUMNS = (
    Column("stage"),
    Column("crossed"),
    Column("selected", right=True),
    Column("moved", right=True),
    Column("skipped", right=True),
)
_COUNT_COLUMNS = (Column("memories"), Column("before", right=True), Column("after", right=True))
_DECISION_COLUMNS = (
    Column("action"),
    Column("reason"),
    Column("score", right=True),
    Column("strength", right=True),
    Column("from"),
    Column("outcome"),
    Column("id"),
)


def show_sweep(report: Answer) -> None:
    """A sweep or a spill, dry or done: what was crossed, what moves, what stands in its way."""
    done = "no run needed" if report["runId"] is None else f"run {report['runId']}"
    kind = "dry run" if report["dryRun"] else done
    tell(
        f"{kind} in namespace {report['namespace']} "
        f"(policy {report['policy']}, mode {report['mode']}, by {report['trigger']})"
    )
    tell()
    if report["stages"]:
        table(_STAGE_COLUMNS, [_stage(stage) for stage in report["stages"]])
        tell()
    table(_COUNT_COLUMNS, _counts(report["before"], report["after"]))
    tell()
    for line in _notes(report):
        tell(line)
    if report["decisions"]:
        tell()
        show_decisions(report["decisions"])
        _more(report)


def show_decisions(decisions: Sequence[Answer]) -> None:
    """A table of decisions, in their order."""
    table(_DECISION_COLUMNS, [_decision(decision) for decision in decisions])


def show_restore(report: Answer) -> None:
    """What became of memories that were to come back."""
    counts = ", ".join(f"{count(amount)} {name}" for name, amount in report["counts"].items())
    tell(f"{counts or 'nothing to restore'} (namespace {report['namespace']})")
    others = [each for each in report["results"] if each["result"] != "restored"]
    for each in others[:NOT_BACK_SHOWN_MAX]:
        tell(f"  {each['result']}: {each['id']}")
    if len(others) > NOT_BACK_SHOWN_MAX:
        tell(f"  and {count(len(others) - NOT_BACK_SHOWN_MAX)} more; --json lists them")
    for each in report["results"]:
        if each.get("media") in FILE_NOT_BACK:
            tell(f"  its file is {FILE_NOT_BACK[each['media']]}: {each['id']}")
    if report["paused"]:
        resume = settings().hint("thresholds resume", report["namespace"])
        tell(f"automatic runs are paused until `{resume}`")


def brake_line(brake: Answer) -> str:
    """What the brake allows, and whether it stopped the run."""
    allowed = "off" if brake["allowed"] is None else f"{count(brake['allowed'])} allowed"
    stopped = ", and it stopped this run" if brake["engaged"] else ""
    return (
        f"brake      {brake['share']:.0%} a day: {allowed}, "
        f"{count(brake['forgottenInWindow'])} forgotten in the last 24 hours{stopped}"
    )


def _stage(stage: Answer) -> list[str]:
    return [
        STAGES.get(stage["stage"], str(stage["stage"])),
        ", ".join(stage["crossed"]) or "-",
        count(stage["selected"]),
        count(stage["moved"]),
        count(stage["skipped"]),
    ]


def _counts(before: Answer, after: Answer) -> list[list[str]]:
    rows = [
        [tier, count(before[tier]), count(after[tier])]
        for tier in ("hot", "cold", "forgotten", "total")
    ]
    for label, name in (("live bytes", "liveBytes"), ("overhead", "overheadBytes")):
        rows.append([label, size(before[name]), size(after[name])])
    return rows


def _notes(report: Answer) -> list[str]:
    lines: list[str] = []
    if brake := report["brake"]:
        lines.append(brake_line(brake))
    if shortfall := report["shortfall"]:
        lines.append(
            f"shortfall  {plural(shortfall['memories'], 'memory', 'memories')} and "
            f"{size(shortfall['bytes'])} over the watermark: no more may go down"
        )
    if protected := {kind: n for kind, n in report["protected"].items() if n}:
        kinds = ", ".join(f"{count(amount)} {kind}" for kind, amount in protected.items())
        lines.append(f"protected  {kinds}")
    if report["unscored"]:
        lines.append(f"unscored   {count(report['unscored'])}: kept")
    lines.append(f"kept       {count(report['kept'])}")
    if report["skippedCount"]:
        lines.append(f"skipped    {count(report['skippedCount'])}")
        lines += [f"  {each['why']}: {each['id']}" for each in report["skipped"]]
    freed = f"{size(report['bytesPlanned'])} planned"
    if not report["dryRun"]:
        freed += f", {size(report['bytesReclaimed'])} reclaimed"
    note = f" ({report['spaceNote']})" if report["spaceNote"] else ""
    lines.append(f"space      {freed}{note}")
    if (media := report.get("media")) and any(media.values()):
        lines.append(
            f"media      {count(media['moved'])} to the trash ({size(media['bytes'])}), "
            f"{count(media['skipped'])} skipped, {count(media['missing'])} missing"
        )
    return lines


def _decision(decision: Answer) -> list[str]:
    return [
        decision["action"],
        decision["reason"],
        number(decision["score"]),
        number(decision["strength"]),
        decision["fromTier"],
        decision["outcome"] or "-",
        decision["id"],
    ]


def _more(report: Answer) -> None:
    if not report["decisionsTruncated"]:
        return
    selected = sum(stage["selected"] for stage in report["stages"])
    rest = count(max(0, selected - len(report["decisions"])))
    source = f"--plan {report['planId']}" if report["runId"] is None else report["runId"]
    hint = settings().hint(f"runs decisions {source}", report["namespace"])
    tell(f"and {rest} more: {hint}")
