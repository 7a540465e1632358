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

    [lifecycle]                       as [cycle]; FORGETD_LIFECYCLE_<KEY>
    forget_enabled = true

Every variable may also be written out as FORGETD_<SECTION>_<KEY>. An unknown key is an error.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

import msgspec
from msgspec import Struct

from sidecar.config_text import ConfigText
from sidecar.cycle_config import CYCLE, CycleOptions
from sidecar.errors import ConfigError, InvalidParams
from sidecar.lifecycle_config import LIFECYCLE, LifecycleOptions
from sidecar.limits import (
    GC_DAYS_MAX,
    GC_STANDING_ORDER_DAYS_MIN,
    NAMESPACE_NAME_BYTES_MAX,
)
from sidecar.locations import socket_path, state_directory
from sidecar.option_table import OptionTable, OptionValue
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
# The sections that are tables of options, for all namespaces and for one.
OPTION_TABLES: Final[dict[str, OptionTable[Any]]] = {
    table.name: table for table in (CYCLE, LIFECYCLE)
}
SECTIONS: Final = ("daemon", "gc", "thresholds", *OPTION_TABLES, "namespaces")
NAMESPACE_SECTIONS: Final = ("thresholds", *OPTION_TABLES)


@dataclass(frozen=True, slots=True)
class Config:
    """All settings, checked. Thresholds go by wire name, and only those that are given.

    `options` are the given ones of each section of OPTION_TABLES, `own_options` those of one
    namespace, by its casefolded name.

    `origins` says of every setting, by dotted name (`daemon.socket`,
    `thresholds.low_watermark`, `namespaces.me.thresholds.low_watermark`), where it is from.
    """

    daemon: DaemonSection
    path: Path | None = None
    gc: GcSection = field(default_factory=GcSection)
    thresholds: dict[str, Value] = field(default_factory=dict[str, Value])
    namespaces: dict[str, dict[str, Value]] = field(default_factory=dict[str, dict[str, Value]])
    options: dict[str, dict[str, OptionValue]] = field(
        default_factory=dict[str, dict[str, OptionValue]]
    )
    own_options: dict[str, dict[str, dict[str, OptionValue]]] = field(
        default_factory=dict[str, dict[str, dict[str, OptionValue]]]
    )
    origins: dict[str, Origin] = field(default_factory=dict[str, Origin])

    def thresholds_for(self, namespace: str) -> dict[str, Value]:
        """What the operator ordered for one namespace, by wire name; absent: not ordered."""
        # Names of namespaces differ by more than letter case.
        own = self.namespaces.get(namespace.casefold(), {})
        return {**self.thresholds, **own}

    def cycle_for(self, namespace: str) -> CycleOptions:
        """What the cycle of one namespace goes by."""
        return CYCLE.options(self.options_for("cycle", namespace))

    def lifecycle_for(self, namespace: str) -> LifecycleOptions:
        """What active forgetting in one namespace goes by."""
        return LIFECYCLE.options(self.options_for("lifecycle", namespace))

    def options_for(self, section: str, namespace: str) -> dict[str, OptionValue]:
        """The given options of one section for one namespace."""
        own = self.own_options.get(namespace.casefold(), {})
        return {**self.options.get(section, {}), **own.get(section, {})}


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


class _Reader(ConfigText):
    """Checks one file's text and one environment, and lays them over each other."""

    def __init__(self, path: Path, text: str, environ: Mapping[str, str]) -> None:
        super().__init__(path, text, environ)
        self.origins: dict[str, Origin] = {}
        self.own_options: dict[str, dict[str, dict[str, OptionValue]]] = {}

    def config(self, flags: Mapping[str, object]) -> Config:
        document = self.document()
        self.refuse_unknown(document, SECTIONS, ())
        thresholds = self._file_thresholds(document.get("thresholds", {}), ("thresholds",))
        thresholds |= self._environment_thresholds()
        options = {
            name: self._file_options(table, document.get(name, {}), (name,))
            | self._environment_options(table)
            for name, table in OPTION_TABLES.items()
        }
        namespaces = self._namespaces(document.get("namespaces", {}))
        for table in OPTION_TABLES.values():
            self._check_options(table, options[table.name])
        daemon = self._daemon(document.get("daemon", {}), flags)
        return Config(
            daemon=daemon,
            path=self.path,
            gc=self._gc(document.get("gc", {})),
            thresholds=thresholds,
            namespaces=namespaces,
            options=options,
            own_options=self.own_options,
            origins=self.origins,
        )

    def _daemon(self, table: object, flags: Mapping[str, object]) -> DaemonSection:
        section = self.table(table, ("daemon",))
        self.refuse_unknown(section, DAEMON_KEYS, ("daemon",))
        self.refuse_unknown_variables("DAEMON", DAEMON_KEYS)
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
        section = self.table(table, ("gc",))
        self.refuse_unknown(section, GC_KEYS, ("gc",))
        self.refuse_unknown_variables("GC", ())
        for key in GC_KEYS:
            self.origins[f"gc.{key}"] = "file" if key in section else "default"
        allow_rpc, days = section.get("allow_rpc", False), section.get("standing_order_days", 0)
        if not isinstance(allow_rpc, bool):
            raise ConfigError(
                f"{self.where(('gc', 'allow_rpc'))} must be true or false", "write true or false"
            )
        least = GC_STANDING_ORDER_DAYS_MIN
        known = isinstance(days, int) and (days == 0 or least <= days <= GC_DAYS_MAX)
        if not isinstance(days, int) or isinstance(days, bool) or not known:
            raise ConfigError(
                f"{self.where(('gc', 'standing_order_days'))} must be 0 (never) or an integer"
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
            return section[key], "file", self.where(("daemon", key))
        return None, "default", key

    def _file_thresholds(self, table: object, at: tuple[str, ...]) -> dict[str, Value]:
        section = self.table(table, at)
        self.refuse_unknown(section, tuple(WIRE_BY_SNAKE), at)
        return {
            WIRE_BY_SNAKE[key]: self._threshold(
                key, value, self.where((*at, key)), ".".join((*at, key)), "file"
            )
            for key, value in section.items()
        }

    def _environment_thresholds(self) -> dict[str, Value]:
        self.refuse_unknown_variables("THRESHOLDS", tuple(WIRE_BY_SNAKE))
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

    def _file_options(
        self, table: OptionTable[Any], section: object, at: tuple[str, ...]
    ) -> dict[str, OptionValue]:
        values = self.table(section, at)
        self.refuse_unknown(values, table.keys, at)
        return {
            key: self._option(
                table, key, value, self.where((*at, key)), ".".join((*at, key)), "file"
            )
            for key, value in values.items()
        }

    def _environment_options(self, table: OptionTable[Any]) -> dict[str, OptionValue]:
        section = table.name.upper()
        self.refuse_unknown_variables(section, table.keys)
        values: dict[str, OptionValue] = {}
        for key in table.keys:
            variable = f"FORGETD_{section}_{key.upper()}"
            if text := self.environ.get(variable):
                value, dotted = _number_or_text(text), f"{table.name}.{key}"
                values[key] = self._option(table, key, value, variable, dotted, "env")
        return values

    def _option(
        self,
        table: OptionTable[Any],
        key: str,
        value: object,
        where: str,
        dotted: str,
        origin: Origin,
    ) -> OptionValue:
        try:
            parsed = table.parse(key, value)
        except InvalidParams as error:
            raise _out_of_bounds(where, error) from None
        self.origins[dotted] = origin
        return parsed

    def _check_options(self, table: OptionTable[Any], common: Mapping[str, OptionValue]) -> None:
        """Check what only holds together, for all namespaces and for each that has its own."""
        tables: dict[tuple[str, ...], dict[str, OptionValue]] = {(table.name,): {}}
        for name, own in self.own_options.items():
            if table.name in own:
                tables["namespaces", name, table.name] = own[table.name]
        for at, own in tables.items():
            try:
                table.options({**common, **own}, ".".join(at))
            except InvalidParams as error:
                remedy = str(error.data.get("remedy"))
                raise ConfigError(f"{self.path}: {error}", remedy) from None

    def _namespaces(self, tables: object) -> dict[str, dict[str, Value]]:
        found: dict[str, dict[str, Value]] = {}
        for name, table in self.table(tables, ("namespaces",)).items():
            at = ("namespaces", name)
            if not NAMESPACE_NAME.fullmatch(name) or name.casefold() in found:
                raise ConfigError(
                    f"{self.where(at)} is no namespace's name, or stands there twice in other "
                    "letter case",
                    f"name each namespace once, as it is called: 1 to {NAMESPACE_NAME_BYTES_MAX} "
                    "of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
                )
            section = self.table(table, at)
            self.refuse_unknown(section, NAMESPACE_SECTIONS, at)
            found[name.casefold()] = self._file_thresholds(
                section.get("thresholds", {}), (*at, "thresholds")
            )
            self.own_options[name.casefold()] = {
                known: self._file_options(table, section[known], (*at, known))
                for known, table in OPTION_TABLES.items()
                if known in section
            }
        return found


def _out_of_bounds(where: str, error: InvalidParams) -> ConfigError:
    return ConfigError(f"{where} must be {error.data.get('bound')}", str(error.data.get("remedy")))


def _number_or_text(text: str) -> Any:
    """A variable's text as the boolean or number it spells, else the text itself."""
    try:
        return msgspec.json.decode(text.strip().replace("_", "").lower())
    except msgspec.DecodeError:
        return text
