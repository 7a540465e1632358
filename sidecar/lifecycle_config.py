"""The settings of active forgetting in one namespace: names, bounds, defaults.

They stand in `forgetd.toml` under `[lifecycle]`, and for one namespace under
`[namespaces.NAME.lifecycle]`, by the names of the fields of `LifecycleOptions`. A call of
`lifecycle.forget` may name others for itself, except `forget_enabled`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta, Struct

from sidecar.errors import InvalidParams
from sidecar.limits import CANDIDATE_MEMORIES_DEFAULT
from sidecar.option_table import Days, OptionTable, OptionValue, PositiveCount

if TYPE_CHECKING:
    from sidecar.plan.lifecycle import LifecycleSettings

# Of usefulness a use: "harmful" is -1 and "useful" is 1, and hosts may import others.
FLOOR_MAX: Final = 1_000

Floor = Annotated[float, Meta(ge=-FLOOR_MAX, le=FLOOR_MAX)]


class LifecycleOptions(Struct, frozen=True, kw_only=True):
    """Every option with its default. Floors are of the usefulness a use, days of age.

    `forget_enabled` lets a call archive; without it a call only shows what it would do.
    """

    forget_enabled: bool = False
    usefulness_floor: Floor = -0.1
    min_age_days: Days = 90.0
    protect_use_count: PositiveCount = 10
    harmful_floor: Floor = -0.5


def _check_floors(options: LifecycleOptions, given: Mapping[str, OptionValue], path: str) -> None:
    """Raise InvalidParams where popularity would yield to what is not even low."""
    if options.harmful_floor > options.usefulness_floor:
        named = "usefulness_floor" if "usefulness_floor" in given else "harmful_floor"
        raise InvalidParams(
            f"{path}.harmful_floor ({options.harmful_floor:g}) is above"
            f" {path}.usefulness_floor ({options.usefulness_floor:g})",
            field=f"{path}.{named}",
            bound="harmful_floor at most usefulness_floor, which are"
            f" {options.harmful_floor:g} and {options.usefulness_floor:g}",
            remedy="lower harmful_floor, or raise usefulness_floor",
        )


LIFECYCLE: Final = OptionTable("lifecycle", LifecycleOptions, _check_floors)


class LifecycleRequest(Struct, frozen=True, kw_only=True):
    """What a caller wants. `options` are those in force for the call; `now` (ms) only to look.

    `forced`: the operator wants a real run although the config file does not allow one.
    """

    options: LifecycleOptions
    now: int | None = None
    forced: bool = False
    candidates_limit: int = CANDIDATE_MEMORIES_DEFAULT


def lifecycle_settings(options: LifecycleOptions) -> "LifecycleSettings":
    """What bounds active forgetting under these options."""
    # Only a daemon that plans needs numpy, which this pulls in; the command does not.
    from sidecar.plan.lifecycle import LifecycleSettings

    values = msgspec.structs.asdict(options)
    del values["forget_enabled"]
    return LifecycleSettings(**values)
