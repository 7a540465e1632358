"""`forgetd config`: the settings that a daemon started now would have, and where they are from."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from sidecar.cli.failures import Failure
from sidecar.cli.output import Column, emit_json, say, table, tell
from sidecar.cli.settings import Group, Settings, settings
from sidecar.cli.shown import setting
from sidecar.config import DAEMON_KEYS, Config, load_config
from sidecar.config_text import line_of
from sidecar.errors import ConfigError
from sidecar.limits import (
    NAMESPACE_IDLE_SECONDS,
    SWEEP_DEBOUNCE_SECONDS,
    SWEEP_TIMER_SECONDS,
    TOUCH_FLUSH_SECONDS,
)
from sidecar.thresholds import DEFAULTS, SNAKE_BY_WIRE

_COLUMNS: Final = (Column("key"), Column("value", wide=True))
_ORIGIN: Final = Column("from", wide=True)


@dataclass(frozen=True, slots=True)
class _Shown:
    """One key with its value, and where that is from."""

    key: str
    value: Any
    origin: str
    place: str | None


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
    options = settings()
    flags = {"daemon.socket": options.socket, "daemon.state_dir": options.state_dir}
    try:
        loaded = load_config(path=config, flags=flags)
    except ConfigError as error:
        raise Failure(error.message, error.remedy, error.exit_code) from None
    shown = _settings(loaded, options)
    if options.json:
        emit_json(_plain(loaded, shown))
        return 0
    columns = (*_COLUMNS, _ORIGIN) if origin else _COLUMNS
    cells = [[each.key, _value(each.value), each.place or each.origin] for each in shown]
    table(columns, [row[: len(columns)] for row in cells])
    tell()
    tell("schedule")
    for line in _schedule_lines(shown):
        tell(f"  {line}")
    file = loaded.path
    if file is not None and not file.exists():
        say(f"there is no file {file}: all of this is from elsewhere")
    return 0


def _settings(config: Config, options: Settings) -> list[_Shown]:
    text = config.path.read_text() if config.path and config.path.exists() else ""
    shown: list[_Shown] = []

    def add(key: str, value: Any) -> None:
        origin = config.origins.get(key, "default")
        shown.append(_Shown(key, value, origin, _place(config, text, key, origin)))

    for key in DAEMON_KEYS:
        value = getattr(config.daemon, key)
        add(f"daemon.{key}", str(value) if isinstance(value, Path) else value)
    own = {} if options.namespace is None else config.thresholds_for(options.namespace)
    for wire, snake in SNAKE_BY_WIRE.items():
        key = f"thresholds.{snake}"
        if options.namespace is not None and _is_own(config, options.namespace, snake):
            key = f"namespaces.{_written_name(config, options.namespace)}.{key}"
        add(key, own.get(wire, config.thresholds.get(wire, DEFAULTS[wire])))
    if options.namespace is None:
        for key in config.origins:
            if key.startswith("namespaces."):
                name, _, snake = _parts(key)
                wire = next(wire for wire, known in SNAKE_BY_WIRE.items() if known == snake)
                add(key, config.namespaces[name.casefold()][wire])
    return shown


def _parts(key: str) -> tuple[str, str, str]:
    """`namespaces.NAME.thresholds.KEY`, where the name may have points in it, in its parts."""
    head, _, snake = key.rpartition(".")
    return head.removeprefix("namespaces.").removesuffix(".thresholds"), "thresholds", snake


def _written_name(config: Config, namespace: str) -> str:
    """The namespace's name as the file spells it."""
    names = (_parts(key)[0] for key in config.origins if key.startswith("namespaces."))
    return next(name for name in names if name.casefold() == namespace.casefold())


def _is_own(config: Config, namespace: str, snake: str) -> bool:
    return any(
        name.casefold() == namespace.casefold() and key == snake
        for name, _, key in map(_parts, config.origins)
    )


def _place(config: Config, text: str, key: str, origin: str) -> str | None:
    """Where a value is written: the flag, the variable, the file with its line."""
    section, _, name = key.partition(".")
    if origin == "flag":
        return f"--{name.replace('_', '-')}"
    if origin == "env":
        variables = (f"FORGETD_{section}_{name}".upper(), f"FORGETD_{name}".upper())
        return f"${next(variable for variable in variables if os.environ.get(variable))}"
    if origin == "file":
        path = ("namespaces", *_parts(key)) if section == "namespaces" else (section, name)
        line = line_of(text, path)
        return f"{config.path}{f':{line}' if line else ''}"
    return None


def _schedule(shown: list[_Shown]) -> dict[str, Any]:
    enabled = next(s.value for s in shown if s.key.endswith("thresholds.forget_enabled"))
    return {
        "automaticSweep": enabled,
        "sweepDebounceSeconds": SWEEP_DEBOUNCE_SECONDS,
        "sweepTimerSeconds": SWEEP_TIMER_SECONDS,
        "touchFlushSeconds": TOUCH_FLUSH_SECONDS,
        "namespaceIdleSeconds": NAMESPACE_IDLE_SECONDS,
    }


def _schedule_lines(shown: list[_Shown]) -> list[str]:
    sweeps = _schedule(shown)["automaticSweep"]
    return [
        f"sweeps by itself: {'yes' if sweeps else 'no (forget_enabled is false)'}",
        f"a sweep starts {SWEEP_DEBOUNCE_SECONDS:g} s after a threshold is crossed; idle "
        f"namespaces are looked at every {SWEEP_TIMER_SECONDS:g} s",
        f"touches are written after {TOUCH_FLUSH_SECONDS:g} s; a namespace closes after "
        f"{NAMESPACE_IDLE_SECONDS:g} s without a call",
    ]


def _plain(config: Config, shown: list[_Shown]) -> dict[str, Any]:
    return {
        "file": None if config.path is None else str(config.path),
        "settings": {
            each.key: {"value": each.value, "origin": each.origin, "place": each.place}
            for each in shown
        },
        "schedule": _schedule(shown),
    }


def _value(value: Any) -> str:
    return value if isinstance(value, str) else setting(value)
