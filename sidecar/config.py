"""The settings of the daemon: flags, then environment, then forgetd.toml, then defaults.

    [daemon]                          flags          environment
    socket = "/run/me/forgetd.sock"   --socket       FORGETD_SOCKET
    state_dir = "/var/lib/forgetd"    --state-dir    FORGETD_STATE_DIR
    log_level = "info"                --log-level    FORGETD_LOG_LEVEL

    [gc]                              only in the file
    allow_rpc = false
    standing_order_days = 0

    [thresholds]                      for every namespace; FORGETD_THRESHOLDS_<KEY>
    forget_threshold_count = 10_000

    [namespaces.me.thresholds]        for one namespace, over [thresholds]
    forget_enabled = false

    [cycle]                           for every namespace; FORGETD_CYCLE_<KEY>
    enabled = true

    [namespaces.me.cycle]             for one namespace, over [cycle]
    fade_interval_days = 14

Every variable may also be written out as FORGETD_<SECTION>_<KEY>. An unknown key is an error.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

import msgspec
from msgspec import Struct

from sidecar.config_text import line_of
from sidecar.cycle_config import (
    CYCLE_KEYS,
    CycleOptions,
    CycleValue,
    cycle_options,
    parse_cycle_value,
)
from sidecar.errors import ConfigError, InvalidParams
from sidecar.limits import (
    GC_DAYS_MAX,
    GC_STANDING_ORDER_DAYS_MIN,
    NAMESPACE_NAME_BYTES_MAX,
)
from sidecar.locations import socket_path, state_directory
from sidecar.suggest import quoted, remedy_for
from sidecar.thresholds import SNAKE_BY_WIRE, WIRE_BY_SNAKE, Value, parse_threshold

CONFIG_NAME: Final = "forgetd.toml"
CONFIG_VARIABLE: Final = "FORGETD_CONFIG"
CONFIG_BYTES_MAX: Final = 1_048_576

Origin = Literal["flag", "env", "file", "default"]
LogLevel = Literal["debug", "info", "warning", "error"]
LOG_LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)


class DaemonSection(Struct, frozen=True, kw_only=True):
    """Where the daemon listens and keeps its state (absolute paths), and how much it logs."""

    socket: Path
    state_dir: Path
    log_level: LogLevel = "info"


class GcSection(Struct, frozen=True, kw_only=True):
    """Who may destroy memories for good: who calls, and after how many days by itself (0: never).

    Only the file sets these: destroying is nothing to switch on in passing.
    """

    allow_rpc: bool = False
    standing_order_days: int = 0


NAMESPACE_NAME: Final = re.compile(
    rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAMESPACE_NAME_BYTES_MAX - 1}}}"
)
DAEMON_KEYS: Final = DaemonSection.__struct_fields__
GC_KEYS: Final = GcSection.__struct_fields__
SECTIONS: Final = ("daemon", "gc", "thresholds", "cycle", "namespaces")
NAMESPACE_SECTIONS: Final = ("thresholds", "cycle")


@dataclass(frozen=True, slots=True)
class Config:
    """All settings, checked. Thresholds go by wire name, and only those that are given.

    `origins` says of every setting, by dotted name (`daemon.socket`,
    `thresholds.low_watermark`, `namespaces.me.thresholds.low_watermark`), where it is from.
    """

    daemon: DaemonSection
    path: Path | None = None
    gc: GcSection = field(default_factory=GcSection)
    thresholds: dict[str, Value] = field(default_factory=dict[str, Value])
    namespaces: dict[str, dict[str, Value]] = field(default_factory=dict[str, dict[str, Value]])
    cycle: dict[str, CycleValue] = field(default_factory=dict[str, CycleValue])
    cycles: dict[str, dict[str, CycleValue]] = field(
        default_factory=dict[str, dict[str, CycleValue]]
    )
    origins: dict[str, Origin] = field(default_factory=dict[str, Origin])

    def thresholds_for(self, namespace: str) -> dict[str, Value]:
        """What the operator ordered for one namespace, by wire name; absent: not ordered."""
        # Names of namespaces differ by more than letter case.
        own = self.namespaces.get(namespace.casefold(), {})
        return {**self.thresholds, **own}

    def cycle_for(self, namespace: str) -> CycleOptions:
        """What the cycle of one namespace goes by."""
        return cycle_options({**self.cycle, **self.cycles.get(namespace.casefold(), {})})


def default_config_path(environ: Mapping[str, str] | None = None) -> Path:
    """Where forgetd.toml is looked for when nobody names a file."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CONFIG_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path.home() / ".config"
    return home / "forgetd" / CONFIG_NAME


def load_config(
    *,
    path: str | os.PathLike[str] | None = None,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """Read and check every setting; nothing is created.

    `path` names the file (else FORGETD_CONFIG, else the default place, where it may be
    missing). `flags` are by dotted name; None means not given. Raises ConfigError.
    """
    environ = os.environ if environ is None else environ
    named = path or environ.get(CONFIG_VARIABLE)
    file = Path(named).expanduser().absolute() if named else default_config_path(environ)
    return _Reader(file, _read(file, must_exist=bool(named)), environ).config(flags or {})


def _read(path: Path, *, must_exist: bool) -> str:
    try:
        with path.open("rb") as stream:
            raw = stream.read(CONFIG_BYTES_MAX + 1)
    except FileNotFoundError:
        if not must_exist:
            return ""
        raise ConfigError(f"{path} does not exist", "name another file with --config") from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror})", "name a file that you may read"
        ) from None
    if len(raw) > CONFIG_BYTES_MAX:
        raise ConfigError(f"{path} is longer than {CONFIG_BYTES_MAX} bytes", "shorten it")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 at byte {error.start}", "save it as UTF-8"
        ) from None


class _Reader:
    """Checks one file's text and one environment, and lays them over each other."""

    def __init__(self, path: Path, text: str, environ: Mapping[str, str]) -> None:
        self.path = path
        self.text = text
        self.environ = environ
        self.origins: dict[str, Origin] = {}
        self.cycles: dict[str, dict[str, CycleValue]] = {}

    def config(self, flags: Mapping[str, object]) -> Config:
        document = self._document()
        self._refuse_unknown(document, SECTIONS, ())
        thresholds = self._file_thresholds(document.get("thresholds", {}), ("thresholds",))
        thresholds |= self._environment_thresholds()
        cycle = self._file_cycle(document.get("cycle", {}), ("cycle",))
        cycle |= self._environment_cycle()
        namespaces = self._namespaces(document.get("namespaces", {}))
        self._check_cycles(cycle)
        daemon = self._daemon(document.get("daemon", {}), flags)
        return Config(
            daemon=daemon,
            path=self.path,
            gc=self._gc(document.get("gc", {})),
            thresholds=thresholds,
            namespaces=namespaces,
            cycle=cycle,
            cycles=self.cycles,
            origins=self.origins,
        )

    def _document(self) -> dict[str, object]:
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{self.path}: {error}", "mend the line named") from None

    def _daemon(self, table: object, flags: Mapping[str, object]) -> DaemonSection:
        section = self._table(table, ("daemon",))
        self._refuse_unknown(section, DAEMON_KEYS, ("daemon",))
        self._refuse_unknown_variables("DAEMON", DAEMON_KEYS)
        given: dict[str, str] = {}
        for key in DAEMON_KEYS:
            value, origin, shown = self._layered(key, section, flags)
            self.origins[f"daemon.{key}"] = origin
            if value is None:
                continue
            if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
                raise ConfigError(f"{shown} must be a text that is not empty", "put it in quotes")
            given[key] = str(value)
            if key == "log_level" and value not in LOG_LEVELS:
                raise ConfigError(
                    f"{shown} is {quoted(str(value))}; it must be one of {', '.join(LOG_LEVELS)}",
                    remedy_for(str(value), LOG_LEVELS),
                )
        # The file and the flags have spoken: what is left is the environment's default places.
        bare = {k: v for k, v in self.environ.items() if not k.startswith("FORGETD_")}
        state = state_directory(given.get("state_dir"), bare)
        return DaemonSection(
            socket=socket_path(given.get("socket"), state, bare),
            state_dir=state,
            log_level=cast(LogLevel, given.get("log_level", "info")),
        )

    def _gc(self, table: object) -> GcSection:
        section = self._table(table, ("gc",))
        self._refuse_unknown(section, GC_KEYS, ("gc",))
        self._refuse_unknown_variables("GC", ())
        for key in GC_KEYS:
            self.origins[f"gc.{key}"] = "file" if key in section else "default"
        allow_rpc, days = section.get("allow_rpc", False), section.get("standing_order_days", 0)
        if not isinstance(allow_rpc, bool):
            raise ConfigError(
                f"{self._where(('gc', 'allow_rpc'))} must be true or false", "write true or false"
            )
        least = GC_STANDING_ORDER_DAYS_MIN
        known = isinstance(days, int) and (days == 0 or least <= days <= GC_DAYS_MAX)
        if not isinstance(days, int) or isinstance(days, bool) or not known:
            raise ConfigError(
                f"{self._where(('gc', 'standing_order_days'))} must be 0 (never) or an integer"
                f" from {least} to {GC_DAYS_MAX}",
                f"write 0, or at least {least}",
            )
        return GcSection(allow_rpc=allow_rpc, standing_order_days=days)

    def _layered(
        self, key: str, section: Mapping[str, object], flags: Mapping[str, object]
    ) -> tuple[object, Origin, str]:
        flag = flags.get(f"daemon.{key}")
        if flag is not None:
            return flag, "flag", f"--{key.replace('_', '-')}"
        names = (f"FORGETD_{key.upper()}", f"FORGETD_DAEMON_{key.upper()}")
        found = {name: self.environ[name] for name in names if self.environ.get(name)}
        if len(set(found.values())) > 1:
            raise ConfigError(f"{' and '.join(found)} differ", "set only one of them")
        for name, value in found.items():
            return value, "env", name
        if key in section:
            return section[key], "file", self._where(("daemon", key))
        return None, "default", key

    def _file_thresholds(self, table: object, at: tuple[str, ...]) -> dict[str, Value]:
        section = self._table(table, at)
        self._refuse_unknown(section, tuple(WIRE_BY_SNAKE), at)
        return {
            WIRE_BY_SNAKE[key]: self._threshold(
                key, value, self._where((*at, key)), ".".join((*at, key)), "file"
            )
            for key, value in section.items()
        }

    def _environment_thresholds(self) -> dict[str, Value]:
        self._refuse_unknown_variables("THRESHOLDS", tuple(WIRE_BY_SNAKE))
        values: dict[str, Value] = {}
        for wire, key in SNAKE_BY_WIRE.items():
            variable = f"FORGETD_THRESHOLDS_{key.upper()}"
            if text := self.environ.get(variable):
                values[wire] = self._threshold(
                    key, _number_or_text(text), variable, f"thresholds.{key}", "env"
                )
        return values

    def _threshold(self, key: str, value: object, where: str, dotted: str, origin: Origin) -> Value:
        try:
            parsed = parse_threshold(WIRE_BY_SNAKE[key], value)
        except InvalidParams as error:
            raise _out_of_bounds(where, error) from None
        assert parsed is not None, "neither TOML nor the environment has a null"
        self.origins[dotted] = origin
        return parsed

    def _file_cycle(self, table: object, at: tuple[str, ...]) -> dict[str, CycleValue]:
        section = self._table(table, at)
        self._refuse_unknown(section, CYCLE_KEYS, at)
        return {
            key: self._cycle_value(
                key, value, self._where((*at, key)), ".".join((*at, key)), "file"
            )
            for key, value in section.items()
        }

    def _environment_cycle(self) -> dict[str, CycleValue]:
        self._refuse_unknown_variables("CYCLE", CYCLE_KEYS)
        values: dict[str, CycleValue] = {}
        for key in CYCLE_KEYS:
            variable = f"FORGETD_CYCLE_{key.upper()}"
            if text := self.environ.get(variable):
                value = _number_or_text(text)
                values[key] = self._cycle_value(key, value, variable, f"cycle.{key}", "env")
        return values

    def _cycle_value(
        self, key: str, value: object, where: str, dotted: str, origin: Origin
    ) -> CycleValue:
        try:
            parsed = parse_cycle_value(key, value)
        except InvalidParams as error:
            raise _out_of_bounds(where, error) from None
        self.origins[dotted] = origin
        return parsed

    def _check_cycles(self, common: Mapping[str, CycleValue]) -> None:
        """Check what only holds together, for all namespaces and for each that has its own."""
        tables = {("namespaces", name, "cycle"): own for name, own in self.cycles.items()}
        for at, own in {("cycle",): {}, **tables}.items():
            try:
                cycle_options({**common, **own}, ".".join(at))
            except InvalidParams as error:
                remedy = str(error.data.get("remedy"))
                raise ConfigError(f"{self.path}: {error}", remedy) from None

    def _namespaces(self, tables: object) -> dict[str, dict[str, Value]]:
        found: dict[str, dict[str, Value]] = {}
        for name, table in self._table(tables, ("namespaces",)).items():
            at = ("namespaces", name)
            if not NAMESPACE_NAME.fullmatch(name) or name.casefold() in found:
                raise ConfigError(
                    f"{self._where(at)} is no namespace's name, or stands there twice in other "
                    "letter case",
                    f"name each namespace once, as it is called: 1 to {NAMESPACE_NAME_BYTES_MAX} "
                    "of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
                )
            section = self._table(table, at)
            self._refuse_unknown(section, NAMESPACE_SECTIONS, at)
            found[name.casefold()] = self._file_thresholds(
                section.get("thresholds", {}), (*at, "thresholds")
            )
            if "cycle" in section:
                own = self._file_cycle(section["cycle"], (*at, "cycle"))
                self.cycles[name.casefold()] = own
        return found

    def _table(self, value: object, at: tuple[str, ...]) -> dict[str, object]:
        if not isinstance(value, dict):
            raise ConfigError(f"{self._where(at)} must be a table", f"write [{'.'.join(at)}]")
        return cast(dict[str, object], value)

    def _refuse_unknown(
        self, table: Mapping[str, object], known: tuple[str, ...], at: tuple[str, ...]
    ) -> None:
        for key in table:
            if key not in known:
                raise ConfigError(f"{self._where((*at, key))} is not known", remedy_for(key, known))

    def _refuse_unknown_variables(self, section: str, keys: tuple[str, ...]) -> None:
        prefix = f"FORGETD_{section}_"
        known = [prefix + key.upper() for key in keys]
        for variable in self.environ:
            if variable.startswith(prefix) and variable not in known:
                raise ConfigError(
                    f"the environment variable {quoted(variable)} is not known",
                    remedy_for(variable, known),
                )

    def _where(self, at: tuple[str, ...]) -> str:
        """`file:line: dotted.key`, or without the line where it cannot be told."""
        line = line_of(self.text, at)
        return f"{self.path}{f':{line}' if line else ''}: {quoted('.'.join(at))}"


def _out_of_bounds(where: str, error: InvalidParams) -> ConfigError:
    return ConfigError(f"{where} must be {error.data.get('bound')}", str(error.data.get("remedy")))


def _number_or_text(text: str) -> Any:
    """A variable's text as the boolean or number it spells, else the text itself."""
    try:
        return msgspec.json.decode(text.strip().replace("_", "").lower())
    except msgspec.DecodeError:
        return text
