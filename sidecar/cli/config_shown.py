"""What the settings are and where each is from, for `forgetd config show`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sidecar.cli.failures import Failure
from sidecar.cli.settings import Settings
from sidecar.config import NAMESPACE_SECTIONS, OPTION_TABLES, Config, load_config
from sidecar.config_text import line_of
from sidecar.errors import ConfigError
from sidecar.limits import (
    NAMESPACE_IDLE_SECONDS,
    SWEEP_DEBOUNCE_SECONDS,
    SWEEP_TIMER_SECONDS,
    TOUCH_FLUSH_SECONDS,
)
from sidecar.thresholds import DEFAULTS, SNAKE_BY_WIRE


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One key with its value, its origin (flag, env, file, default), and where it is written."""

    key: str
    value: Any
    origin: str
    place: str | None


def load(options: Settings, path: str | None) -> Config:
    """The settings by these options, environment and file. Raises Failure where one is wrong."""
    flags = {"daemon.socket": options.socket, "daemon.state_dir": options.state_dir}
    try:
        return load_config(path=path, flags=flags)
    except ConfigError as error:
        raise Failure(error.message, error.remedy, error.exit_code) from None


def shown_settings(config: Config, options: Settings) -> list[ShownSetting]:
    """Every key in force, for all namespaces or the one that the options name."""
    text = config.path.read_text() if config.path and config.path.exists() else ""
    shown: list[ShownSetting] = []

    def add(key: str, value: Any) -> None:
        origin = config.origins.get(key, "default")
        shown.append(ShownSetting(key, value, origin, _place(config, text, key, origin)))

    for section, values in (("daemon", config.daemon), ("gc", config.gc)):
        for key in values.__struct_fields__:
            value = getattr(values, key)
            add(f"{section}.{key}", str(value) if isinstance(value, Path) else value)
    for section in NAMESPACE_SECTIONS:
        for key, value in _in_force(config, section, options.namespace).items():
            dotted = f"{section}.{key}"
            own = None if options.namespace is None else _own_key(config, options.namespace, dotted)
            add(own or dotted, value)
    if options.namespace is None:
        for dotted in config.origins:
            if dotted.startswith("namespaces."):
                name, section, key = _parts(dotted)
                add(dotted, _in_force(config, section, name)[key])
    return shown


def _in_force(config: Config, section: str, namespace: str | None) -> dict[str, Any]:
    """The options of a section by their names in the file, as they are for a namespace."""
    if section != "thresholds":
        values = config.options_for(section, namespace or "")
        return msgspec.structs.asdict(OPTION_TABLES[section].options(values))
    given = config.thresholds if namespace is None else config.thresholds_for(namespace)
    return {snake: given.get(wire, DEFAULTS[wire]) for wire, snake in SNAKE_BY_WIRE.items()}


def _parts(dotted: str) -> tuple[str, str, str]:
    """`namespaces.NAME.SECTION.KEY`, where the name may have points in it, in its parts."""
    head, section, key = dotted.rsplit(".", 2)
    return head.removeprefix("namespaces."), section, key


def _own_key(config: Config, namespace: str, dotted: str) -> str | None:
    """Where the file has this option for the namespace alone, as it is spelled there."""
    for key in config.origins:
        if key.startswith("namespaces."):
            name, *rest = _parts(key)
            if name.casefold() == namespace.casefold() and ".".join(rest) == dotted:
                return key
    return None


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


def _schedule(shown: list[ShownSetting]) -> dict[str, Any]:
    enabled = next(s.value for s in shown if s.key.endswith("thresholds.forget_enabled"))
    return {
        "automaticSweep": enabled,
        "sweepDebounceSeconds": SWEEP_DEBOUNCE_SECONDS,
        "sweepTimerSeconds": SWEEP_TIMER_SECONDS,
        "touchFlushSeconds": TOUCH_FLUSH_SECONDS,
        "namespaceIdleSeconds": NAMESPACE_IDLE_SECONDS,
    }


def schedule_lines(shown: list[ShownSetting]) -> list[str]:
    """What the daemon does by itself, and when, in sentences."""
    sweeps = _schedule(shown)["automaticSweep"]
    return [
        f"sweeps by itself: {'yes' if sweeps else 'no (forget_enabled is false)'}",
        f"a sweep starts {SWEEP_DEBOUNCE_SECONDS:g} s after a threshold is crossed; idle "
        f"namespaces are looked at every {SWEEP_TIMER_SECONDS:g} s",
        f"touches are written after {TOUCH_FLUSH_SECONDS:g} s; a namespace closes after "
        f"{NAMESPACE_IDLE_SECONDS:g} s without a call",
    ]


def as_json(config: Config, shown: list[ShownSetting]) -> dict[str, Any]:
    """The same for a program."""
    return {
        "file": None if config.path is None else str(config.path),
        "settings": {
            each.key: {"value": each.value, "origin": each.origin, "place": each.place}
            for each in shown
        },
        "schedule": _schedule(shown),
    }
