"""A table of options in `forgetd.toml`: their names, bounds and defaults, all from one struct.

Each option is a field of the struct, with its bounds in its type and its default.
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from sidecar.errors import InvalidParams
from sidecar.limits import INTEGER_MAX
from sidecar.suggest import quoted, remedy_for, shortened
from sidecar.thresholds import DAYS_MAX

OptionValue = bool | int | float | str
Days = Annotated[float, Meta(ge=0, le=DAYS_MAX)]
PositiveCount = Annotated[int, Meta(ge=1, le=INTEGER_MAX)]

O = TypeVar("O", bound=Struct)  # noqa: E741


class OptionTable(Generic[O]):
    """The options of one section, `name`, which a namespace may have for itself too."""

    def __init__(
        self,
        name: str,
        options: type[O],
        check: Callable[[O, Mapping[str, OptionValue], str], None],
    ) -> None:
        """`check(options, given, path)` raises InvalidParams for what only holds together."""
        self.name: Final = name
        self._type = options
        self._check = check
        self._fields = {field.name: field for field in msgspec.structs.fields(options)}
        self.keys: Final = tuple(self._fields)

    def parse(self, name: str, value: object, path: str | None = None) -> OptionValue:
        """Check one option by its name. `path` is where the table stands.

        Numbers that may have a fraction come back as floats. Raises InvalidParams for an unknown
        name or a value out of bounds, with the field, the bound and the remedy.
        """
        path = path or self.name
        field = self._fields.get(name)
        if field is None:
            raise InvalidParams(
                f"{path} has no option named {quoted(name)}",
                field=f"{path}.{shortened(name)}",
                bound="only options that are known",
                remedy=remedy_for(name, self.keys),
            )
        try:
            parsed: OptionValue = msgspec.convert(value, field.type)
            if isinstance(parsed, str) or math.isfinite(parsed):
                return parsed
        except (msgspec.ValidationError, OverflowError):
            pass
        bound = self.bound_of(name)
        raise InvalidParams(
            f"{path}.{name} must be {bound}",
            field=f"{path}.{name}",
            bound=bound,
            remedy=f"give {bound}; the default is {_shown(field.default)}",
        )

    def bound_of(self, name: str) -> str:
        """The rule of the option with this name, in words."""
        declared: Any = self._fields[name].type
        if declared is bool:
            return "true or false"
        kind, meta = declared.__origin__, declared.__metadata__[0]
        if kind is str:
            return f'a name, or "module:name", of at most {meta.max_length} characters'
        noun = "an integer" if kind is int else "a number"
        low = f"from {meta.ge}" if meta.ge is not None else f"greater than {meta.gt}"
        high = f"less than {meta.lt}" if meta.lt is not None else f"at most {meta.le}"
        return f"{noun} {low} and {high}"

    def options(self, values: Mapping[str, OptionValue], path: str | None = None) -> O:
        """The options in force when `values` (each parsed) are set over the defaults.

        Raises InvalidParams where they do not hold together.
        """
        options = msgspec.convert(dict(values), self._type)
        self._check(options, values, path or self.name)
        return options


def _shown(value: OptionValue) -> str:
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"
