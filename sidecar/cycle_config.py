"""The settings of the cycle in one namespace: names, bounds, defaults.

They stand in `forgetd.toml` under `[cycle]`, and for one namespace under
`[namespaces.NAME.cycle]`, by the names of the fields of `CycleOptions`.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from sidecar.errors import InvalidParams
from sidecar.limits import INTEGER_MAX
from sidecar.suggest import quoted, remedy_for, shortened
from sidecar.thresholds import DAYS_MAX

if TYPE_CHECKING:
    from sidecar.plan.cycle_settings import CycleSettings

HOURS_MAX: Final = 8_760
RESOLVER_DEFAULT: Final = "exact"

CycleValue = bool | int | float | str
Hours = Annotated[float, Meta(gt=0, le=HOURS_MAX)]
Days = Annotated[float, Meta(ge=0, le=DAYS_MAX)]
Outcomes = Annotated[int, Meta(ge=1, le=INTEGER_MAX)]
Threshold = Annotated[float, Meta(ge=0, le=1)]
Share = Annotated[float, Meta(gt=0, le=1)]
ProperShare = Annotated[float, Meta(gt=0, lt=1)]
ResolverName = Annotated[
    str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*(:[A-Za-z_][A-Za-z0-9_]*)?\Z", max_length=256)
]

# A memory fades before it goes: in each pair the first may not be above the second.
_ORDERED: Final = (
    ("semantic_prune_threshold", "semantic_fade_threshold"),
    ("episodic_prune_threshold", "episodic_fade_threshold"),
    ("procedural_prune_threshold", "procedural_fade_threshold"),
)


class CycleOptions(Struct, frozen=True, kw_only=True):
    """Every option with its default. Thresholds are of strength, or as their names say.

    `enabled` lets the timer run a cycle every `interval_hours`; a call runs one at any time.
    """

    enabled: bool = False
    interval_hours: Hours = 24.0
    fade_factor: ProperShare = 0.5
    fade_floor: Share = 0.01
    fade_interval_days: Days = 7.0
    semantic_prune_threshold: Threshold = 0.05
    semantic_fade_threshold: Threshold = 0.15
    episodic_prune_threshold: Threshold = 0.05
    episodic_fade_threshold: Threshold = 0.20
    procedural_prune_threshold: Threshold = 0.05
    procedural_fade_threshold: Threshold = 0.15
    procedural_low_perf_wilson_threshold: Threshold = 0.1
    procedural_low_perf_min_outcomes: Outcomes = 10
    semantic_duplicate_threshold: Share = 0.95
    duplicate_guard: bool = True
    duplicate_resolver: ResolverName = RESOLVER_DEFAULT


_FIELDS: Final = {field.name: field for field in msgspec.structs.fields(CycleOptions)}
CYCLE_KEYS: Final[tuple[str, ...]] = tuple(_FIELDS)
_NOT_PLANNED_WITH: Final = ("enabled", "interval_hours", "duplicate_resolver")


def parse_cycle_value(name: str, value: object, path: str = "cycle") -> CycleValue:
    """Check one option by its name. `path` is where the table stands.

    Shares, days and hours come back as floats. Raises InvalidParams for an unknown name or a
    value out of bounds, with the field, the bound and the remedy.
    """
    field = _FIELDS.get(name)
    if field is None:
        raise InvalidParams(
            f"{path} has no option named {quoted(name)}",
            field=f"{path}.{shortened(name)}",
            bound="only options that are known",
            remedy=remedy_for(name, CYCLE_KEYS),
        )
    try:
        parsed: CycleValue = msgspec.convert(value, field.type)
        if isinstance(parsed, str) or math.isfinite(parsed):
            return parsed
    except (msgspec.ValidationError, OverflowError):
        pass
    bound = bound_of_cycle(name)
    raise InvalidParams(
        f"{path}.{name} must be {bound}",
        field=f"{path}.{name}",
        bound=bound,
        remedy=f"give {bound}; the default is {_shown(field.default)}",
    )


def bound_of_cycle(name: str) -> str:
    """The rule of the option with this name, in words."""
    declared: Any = _FIELDS[name].type
    if declared is bool:
        return "true or false"
    kind, meta = declared.__origin__, declared.__metadata__[0]
    if kind is str:
        return f'a name, or "module:name", of at most {meta.max_length} characters'
    noun = "an integer" if kind is int else "a number"
    low = f"from {meta.ge}" if meta.ge is not None else f"greater than {meta.gt}"
    high = f"less than {meta.lt}" if meta.lt is not None else f"at most {meta.le}"
    return f"{noun} {low} and {high}"


def cycle_options(values: Mapping[str, CycleValue], path: str = "cycle") -> CycleOptions:
    """The options in force when `values` (each parsed) are set over the defaults.

    Raises InvalidParams where a prune threshold is above the fade threshold of its type.
    """
    options = msgspec.convert(dict(values), CycleOptions)
    for prune, fade in _ORDERED:
        low, high = getattr(options, prune), getattr(options, fade)
        if low > high:
            named = prune if prune in values else fade
            raise InvalidParams(
                f"{path}.{prune} ({low:g}) is above {path}.{fade} ({high:g})",
                field=f"{path}.{named}",
                bound=f"{prune} at most {fade}, which are {low:g} and {high:g}",
                remedy=f"lower {prune}, or raise {fade}",
            )
    return options


def cycle_settings(options: CycleOptions) -> "CycleSettings":
    """What bounds a cycle under these options."""
    # Only a daemon that plans needs numpy, which this pulls in; the command does not.
    from sidecar.plan.cycle_settings import CycleSettings

    values = msgspec.structs.asdict(options)
    return CycleSettings(**{k: v for k, v in values.items() if k not in _NOT_PLANNED_WITH})


def _shown(value: CycleValue) -> str:
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"
