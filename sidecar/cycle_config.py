"""The settings of the cycle in one namespace: names, bounds, defaults.

They stand in `forgetd.toml` under `[cycle]`, and for one namespace under
`[namespaces.NAME.cycle]`, by the names of the fields of `CycleOptions`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta, Struct

from sidecar.errors import InvalidParams
from sidecar.option_table import Days, OptionTable, OptionValue, PositiveCount

if TYPE_CHECKING:
    from sidecar.plan.cycle_settings import CycleSettings

HOURS_MAX: Final = 8_760
RESOLVER_DEFAULT: Final = "exact"

Hours = Annotated[float, Meta(gt=0, le=HOURS_MAX)]
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
    procedural_low_perf_min_outcomes: PositiveCount = 10
    semantic_duplicate_threshold: Share = 0.95
    duplicate_guard: bool = True
    duplicate_resolver: ResolverName = RESOLVER_DEFAULT


_NOT_PLANNED_WITH: Final = ("enabled", "interval_hours", "duplicate_resolver")


def _check_order(options: CycleOptions, given: Mapping[str, OptionValue], path: str) -> None:
    """Raise InvalidParams where a prune threshold is above the fade threshold of its type."""
    for prune, fade in _ORDERED:
        low, high = getattr(options, prune), getattr(options, fade)
        if low > high:
            named = prune if prune in given else fade
            raise InvalidParams(
                f"{path}.{prune} ({low:g}) is above {path}.{fade} ({high:g})",
                field=f"{path}.{named}",
                bound=f"{prune} at most {fade}, which are {low:g} and {high:g}",
                remedy=f"lower {prune}, or raise {fade}",
            )


CYCLE: Final = OptionTable("cycle", CycleOptions, _check_order)


def cycle_settings(options: CycleOptions) -> "CycleSettings":
    """What bounds a cycle under these options."""
    # Only a daemon that plans needs numpy, which this pulls in; the command does not.
    from sidecar.plan.cycle_settings import CycleSettings

    values = msgspec.structs.asdict(options)
    return CycleSettings(**{k: v for k, v in values.items() if k not in _NOT_PLANNED_WITH})
