"""From the parameters of a call to a method's typed struct, with errors that can be acted on."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec import inspect as types

from sidecar.errors import InvalidParams
from sidecar.limits import ID_BYTES_MAX, INTEGER_MAX, TIME_MIN_MS
from sidecar.rpc.json_scan import json_path
from sidecar.suggest import quoted, remedy_for

# An id that is looked for. What a new id may be is checked where it is stored.
Id = Annotated[str, Meta(min_length=1, max_length=ID_BYTES_MAX)]
Time = Annotated[int, Meta(ge=TIME_MIN_MS, le=INTEGER_MAX)]
Cursor = Annotated[str, Meta(min_length=1, max_length=1_024)]

P = TypeVar("P", bound=Struct)

_PATH: Final = re.compile(r" - at `(\$.*)`$")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`\Z", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(.*)`\Z")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


class Params(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What every method takes: the name of the namespace it is about."""

    namespace: str = "default"


def by_name(
    params: Mapping[str, object] | Sequence[object], order: tuple[str, ...]
) -> Mapping[str, object]:
    """Parameters by wire name. `order` names those that may be given by position.

    Raises InvalidParams for more positions than that.
    """
    if isinstance(params, Mapping):
        return params
    if len(params) > len(order):
        count = f"at most {len(order)} parameters" if order else "no parameters"
        raise InvalidParams(
            "Parameters by position are not understood here",
            field="$",
            bound=f"an object with named parameters, or an array of {count}",
            remedy="send params as an object: the names say what each value is",
        )
    return dict(zip(order, params, strict=False))


def convert(value: object, kind: type[P], path: str = "$") -> P:
    """`value` as a struct of `kind`. `path` is the JSON path of the value in the parameters.

    Raises InvalidParams with the field's JSON path, the bound and the remedy.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _explained(str(error), kind, path) from None


def convert_many(values: Sequence[object], kind: type[P], path: str) -> list[P]:
    """Each of `values` as a struct of `kind`; `path` is the JSON path of the list.

    Raises InvalidParams for the first bad one.
    """
    try:
        return msgspec.convert(values, list[kind])
    except msgspec.ValidationError:
        return [convert(value, kind, f"{path}[{i}]") for i, value in enumerate(values)]


def _explained(message: str, kind: type[Struct], root: str) -> InvalidParams:
    at = _PATH.search(message)
    path = at[1] if at else "$"
    what = message[: at.start()] if at else message
    declared = _declared(types.type_info(kind), path)
    here = root + path[1:]
    if unknown := _UNKNOWN.match(what):
        names = [field.encode_name for field in declared.fields] if _is_struct(declared) else []
        return InvalidParams(
            f"{here} has no field named {quoted(unknown[1])}",
            field=here + json_path((unknown[1],))[1:],
            bound="only fields that are known",
            remedy=remedy_for(unknown[1], names),
        )
    if missing := _MISSING.match(what):
        field = f"{here}.{missing[1]}"
        bound = _bound(_declared(declared, f"$.{missing[1]}"))
        return InvalidParams(
            f"{field} is missing", field=field, bound=f"required: {bound}", remedy=f"give {field}"
        )
    bound = _bound(declared)
    return InvalidParams(
        f"{here} must be {bound}", field=here, bound=bound, remedy=_remedy(declared, bound)
    )


def _declared(info: types.Type, path: str) -> Any:
    """The declared type at a path of msgspec's (`$.memories[3].importance`)."""
    current: Any = info
    for name, _ in _STEP.findall(path):
        current = _container(current)
        if _is_struct(current):
            fields = {field.encode_name: field.type for field in current.fields}
            current = fields.get(name, types.AnyType())
        elif isinstance(current, types.ListType) and not name:
            current = current.item_type
        elif isinstance(current, types.DictType):
            current = current.value_type
        else:
            return types.AnyType()
    return _alternatives(current)[0] if len(_alternatives(current)) == 1 else current


def _alternatives(info: Any) -> list[Any]:
    """The types a value may have, without null and without what only describes them."""
    while isinstance(info, types.Metadata):
        info = info.type
    if isinstance(info, types.UnionType):
        return [t for one in info.types for t in _alternatives(one)]
    return [] if isinstance(info, types.NoneType) else [info]


def _container(info: Any) -> Any:
    nested = (types.StructType, types.ListType, types.DictType)
    return next((t for t in _alternatives(info) if isinstance(t, nested)), types.AnyType())


def _is_struct(info: Any) -> bool:
    return isinstance(info, types.StructType)


def _bound(info: Any) -> str:
    """The rule of a declared type in words."""
    match info:
        case types.Metadata():
            return _bound(info.type)
        case types.BoolType():
            return "true or false"
        case types.IntType():
            return f"an integer{_limits(info)}"
        case types.FloatType():
            return f"a number{_limits(info)}"
        case types.StrType(max_length=None):
            return "a string"
        case types.StrType():
            return f"a string of {info.min_length or 0} to {info.max_length} characters"
        case types.LiteralType():
            return "one of " + ", ".join(map(str, info.values))
        case types.ListType():
            most = f" of at most {info.max_length}" if info.max_length is not None else ""
            return f"an array{most}, each {_bound(info.item_type)}"
        case types.DictType() | types.StructType():
            return "an object"
        case types.UnionType():
            return " or ".join(map(_bound, _alternatives(info)))
        case _:
            return "of another type"


def _limits(info: Any) -> str:
    if info.ge is not None and info.le is not None:
        return f" from {info.ge} to {info.le}"
    words = (("from", info.ge), ("greater than", info.gt), ("at most", info.le))
    return "".join(f" {word} {value}" for word, value in words if value is not None)


def _remedy(info: Any, bound: str) -> str:
    if isinstance(info, types.IntType) and info.ge == TIME_MIN_MS:
        return "give milliseconds since 1970 (a time in seconds is too small by a factor of 1000)"
    return f"give {bound}"
