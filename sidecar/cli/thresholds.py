"""`forgetd thresholds`: read and set what bounds forgetting in a namespace."""

import json
from collections.abc import Sequence
from typing import Any

import click

from sidecar.cli.failures import USAGE, Failure
from sidecar.cli.output import Column, emit_json, table, tell
from sidecar.cli.settings import Group, settings
from sidecar.cli.shown import setting, when
from sidecar.cli.status import pause_lines

_COLUMNS = (Column("threshold"), Column("value", right=True), Column("from"))


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show or change the thresholds."""
    if context.invoked_subcommand is None:
        _show(settings().call("thresholds.get"))


@command.command()
def get() -> None:
    """Show every threshold and where its value comes from."""
    _show(settings().call("thresholds.get"))


@command.command("set")
@click.argument("assignments", nargs=-1, required=True, metavar="NAME=VALUE…")
def set_values(assignments: tuple[str, ...]) -> None:
    """Set thresholds; `NAME=default` gives the default back.

    For example: forgetd thresholds set forgetThresholdCount=5000 forgetEnabled=true
    """
    _show(settings().call("thresholds.set", {"thresholds": assigned(assignments)}))


@command.command()
def resume() -> None:
    """Let automatic runs go on.

    After an undo, the brake, or a jump of the clock they stand still.
    """
    _show(settings().call("thresholds.resume"))


def assigned(assignments: Sequence[str]) -> dict[str, bool | int | float | None]:
    """Thresholds from NAME=VALUE texts; None for a default. Raises Failure."""
    return dict(_parsed(assignment) for assignment in assignments)


def _parsed(assignment: str) -> tuple[str, bool | int | float | None]:
    name, equals, text = assignment.partition("=")
    try:
        value: Any = None if text == "default" else json.loads(text, parse_constant=_refuse)
    except ValueError:
        value = text
    if not (name and equals) or isinstance(value, str | list | dict):
        raise Failure(
            f"{assignment!r} is not NAME=VALUE with a number, true, false or default",
            "write it like forgetThresholdCount=5000; `forgetd thresholds` shows the names",
            USAGE,
        )
    return name.strip(), value


def _refuse(name: str) -> None:
    raise ValueError(name)


def _show(report: dict[str, Any]) -> None:
    if settings().json:
        emit_json(report)
        return
    table(
        _COLUMNS,
        [
            [name, setting(each["value"]), each["origin"]]
            for name, each in report["thresholds"].items()
        ],
    )
    tell(f"crossed: {', '.join(report['crossed']) or 'none'}")
    for line in pause_lines(report):
        tell(line)
    if report["stageTwoNotBefore"] is not None:
        tell(f"automatic forgetting waits until {when(report['stageTwoNotBefore'])}")
