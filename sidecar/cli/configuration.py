"""`forgetd config`: the settings that a daemon started now would have, and where they are from."""

from typing import Any, Final

import click

from sidecar.cli.output import Column, emit_json, say, table, tell
from sidecar.cli.settings import Group, settings
from sidecar.cli.shown import setting

_COLUMNS: Final = (Column("key"), Column("value", wide=True), Column("from", wide=True))


@click.group(cls=Group)
def command() -> None:
    """Show the settings of the daemon."""


@command.command("show")
@click.option(
    "--origin",
    is_flag=True,
    help="Also show where each value is from: flag, variable, line, default.",
)
@click.option(
    "--config", metavar="FILE", help="Read this file (default: the one serve would read)."
)
def show(origin: bool, config: str | None) -> int:
    """Show every key with the value that is in force.

    These are the settings that `forgetd serve` would start with in this environment, with the same
    --socket and --state-dir; nothing is asked of a running daemon. With --namespace those of one
    namespace. An option that stands neither in the file nor in the environment may be set for each
    namespace: forgetd thresholds shows that. Exit code 78 when a setting is wrong.
    """
    from sidecar.cli import config_shown

    options = settings()
    loaded = config_shown.load(options, config)
    shown = config_shown.shown_settings(loaded, options)
    if options.json:
        emit_json(config_shown.as_json(loaded, shown))
        return 0
    columns = _COLUMNS if origin else _COLUMNS[:2]
    cells = [[each.key, _value(each.value), each.place or each.origin] for each in shown]
    table(columns, [row[: len(columns)] for row in cells])
    tell()
    tell("schedule")
    for line in config_shown.schedule_lines(shown):
        tell(f"  {line}")
    if loaded.path is not None and not loaded.path.exists():
        say(f"there is no file {loaded.path}: all of this is from elsewhere")
    return 0


def _value(value: Any) -> str:
    return value if isinstance(value, str) else setting(value)
