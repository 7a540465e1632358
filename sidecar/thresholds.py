"""The settings of forgetting in one namespace: names, bounds, defaults.

`Thresholds` is the one place where an option is declared. On the wire and in stored values an
option goes by its camelCase name (`forgetThresholdDiskGB`); in Python and in `forgetd.toml` by
the snake_case name of its field (`forget_threshold_disk_gb`).
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from sidecar.errors import InvalidParams
from sidecar.limits import GIGABYTE_BYTES, INTEGER_MAX
from sidecar.suggest import quoted, remedy_for, shortened

if TYPE_CHECKING:
    from sidecar.plan.plan import CascadeSettings

GIGABYTES_MAX: Final = 9_000_000  # in bytes still an exact integer for a JavaScript host
DAYS_MAX: Final = 36_500
MINUTES_MAX: Final = 525_600

Value = bool | int | float
Memories = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
Gigabytes = Annotated[float, Meta(gt=0, le=GIGABYTES_MAX)]
Days = Annotated[float, Meta(ge=0, le=DAYS_MAX)]
Minutes = Annotated[float, Meta(ge=0, le=MINUTES_MAX)]
PositiveShare = Annotated[float, Meta(gt=0, le=1)]
Strength = Annotated[float, Meta(ge=0, le=1)]


class Thresholds(
    Struct,
    frozen=True,
    kw_only=True,
    rename={
        "forget_threshold_count": "forgetThresholdCount",
        "forget_threshold_total": "forgetThresholdTotal",
        "forget_threshold_disk_gb": "forgetThresholdDiskGB",
        "forget_enabled": "forgetEnabled",
        "low_watermark": "lowWatermark",
        "weak_strength": "weakStrength",
        "min_idle_days": "minIdleDays",
        "newborn_days": "newbornDays",
        "restore_grace_days": "restoreGraceDays",
        "forget_active": "forgetActive",
        "brake_share": "brakeShare",
        "lowering_delay_minutes": "loweringDelayMinutes",
        "forgotten_warn_gb": "forgottenWarnGB",
        "event_retention_days": "eventRetentionDays",
    },
):
    """Every option with its default. Gigabytes are 10^9 bytes; shares are of one."""

    forget_threshold_count: Memories = 10_000
    forget_threshold_total: Memories = 100_000
    forget_threshold_disk_gb: Gigabytes = 2.0
    forget_enabled: bool = True
    low_watermark: PositiveShare = 0.9
    weak_strength: Strength = 0.05
    min_idle_days: Days = 7.0
    newborn_days: Days = 1.0
    restore_grace_days: Days = 30.0
    forget_active: bool = True
    brake_share: PositiveShare = 0.2
    lowering_delay_minutes: Minutes = 60.0
    forgotten_warn_gb: Gigabytes = 1.0
    event_retention_days: Days = 90.0


_FIELDS: Final = {field.encode_name: field for field in msgspec.structs.fields(Thresholds)}

WIRE_NAMES: Final[tuple[str, ...]] = tuple(_FIELDS)
SNAKE_BY_WIRE: Final[dict[str, str]] = {wire: field.name for wire, field in _FIELDS.items()}
WIRE_BY_SNAKE: Final[dict[str, str]] = {snake: wire for wire, snake in SNAKE_BY_WIRE.items()}
DEFAULTS: Final[dict[str, Value]] = {wire: field.default for wire, field in _FIELDS.items()}


def parse_thresholds(
    mapping: Mapping[str, object], path: str = "$.thresholds"
) -> dict[str, Value | None]:
    """Check options given by wire name; the answer holds the same names.

    Numbers of days, minutes, gigabytes and shares come back as floats. A null stays None: the
    caller wants the default back. `path` is the JSON path of the mapping. Raises InvalidParams
    for an unknown name or a value out of bounds, with the field, the bound and the remedy.
    """
    return {name: parse_threshold(name, value, path) for name, value in mapping.items()}


def parse_threshold(name: str, value: object, path: str = "$.thresholds") -> Value | None:
    """Check one option given by wire name. See `parse_thresholds`."""
    field = _FIELDS.get(name)
    if field is None:
        raise InvalidParams(
            f"{path} has no option named {quoted(name)}",
            field=f"{path}.{shortened(name)}",
            bound="only options that are known",
            remedy=remedy_for(name, WIRE_NAMES),
        )
    if value is None:
        return None
    try:
        parsed: Value = msgspec.convert(value, field.type)
        if math.isfinite(parsed):
            return parsed
    except (msgspec.ValidationError, OverflowError):
        pass
    bound = bound_of(name)
    raise InvalidParams(
        f"{path}.{name} must be {bound}",
        field=f"{path}.{name}",
        bound=bound,
        remedy=f"give {bound}; the default is {_shown(field.default)}",
    )


def bound_of(name: str) -> str:
    """The rule of the option with this wire name, in words."""
    declared: Any = _FIELDS[name].type
    if declared is bool:
        return "true or false"
    kind, meta = declared.__origin__, declared.__metadata__[0]
    noun = "an integer" if kind is int else "a number"
    if meta.ge is not None:
        return f"{noun} from {meta.ge} to {meta.le}"
    return f"{noun} greater than {meta.gt} and at most {meta.le}"


def thresholds_from(values: Mapping[str, Value | None]) -> Thresholds:
    """The options in force when `values` (parsed, by wire name) are set over the defaults."""
    given = {name: value for name, value in values.items() if value is not None}
    return msgspec.convert(given, Thresholds)


def settings(
    values: Mapping[str, Value | None], brake_share: float | None = None
) -> "CascadeSettings":
    """What bounds a sweep under `values` (parsed, by wire name; absent means default).

    `brake_share` is the share that this one call names; None takes the namespace's.
    """
    # Only a daemon that plans needs numpy, which this pulls in; the command does not.
    from sidecar.plan.plan import CascadeSettings

    options = thresholds_from(values)
    return CascadeSettings(
        threshold_count=options.forget_threshold_count,
        threshold_total=options.forget_threshold_total,
        threshold_disk_bytes=round(options.forget_threshold_disk_gb * GIGABYTE_BYTES),
        low_watermark=options.low_watermark,
        weak_strength=options.weak_strength,
        idle_days_min=options.min_idle_days,
        newborn_days=options.newborn_days,
        restore_grace_days=options.restore_grace_days,
        forget_active=options.forget_active,
        brake_share=options.brake_share if brake_share is None else brake_share,
    )


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"
