"""Strict JSON: what a decoder lets pass silently, found and named.

A decoder keeps the last of two equal keys, and takes integers that a JavaScript host would
round, and any depth. One walk over the decoded containers finds all of these; the numbers of a
long vector are never looked at one by one in Python.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec

from sidecar.errors import ParseError
from sidecar.limits import INTEGER_MAX, JSON_DEPTH_MAX
from sidecar.suggest import shortened

Path = tuple[str | int, ...]

# Possessive, so that it never goes back: the text is known to be JSON when this is used.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DECODER: Final = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in one call that JSON allows and this daemon does not, and where it is."""

    path: Path
    problem: str
    bound: str
    remedy: str


def decode_strict(body: bytes) -> tuple[object, dict[int, Fault]]:
    """The decoded body, and by position in the batch (0 for a single call) what is wrong there.

    Raises ParseError where the body is not JSON (RFC 8259 in UTF-8), holds NaN, Infinity, half
    a surrogate pair or a number too large for a double, or is nested too deep to be decoded.
    """
    try:
        value: object = _DECODER.decode(body)
        is_batch = type(value) is list
        members = cast(list[object], value) if is_batch else [value]
        return value, _find_faults(body, members, is_batch=is_batch)
    except RecursionError:
        raise ParseError(
            detail="nested too deep to be read",
            bound=f"at most {JSON_DEPTH_MAX} levels",
            remedy="send flatter parameters",
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParseError(
            detail=str(error).splitlines()[0],
            bound="one JSON text in UTF-8; no NaN or Infinity, no half of a surrogate pair, "
            "no comments, no byte order mark",
            remedy="send the output of a JSON encoder unchanged",
        ) from None


def json_path(path: Path) -> str:
    """A path as `error.data.field` shows it: `$.memories[3].importance`."""
    return "$" + "".join(map(_step, path))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    name = shortened(step)
    return f".{name}" if _PLAIN_KEY.match(name) else f"[{json.dumps(name, ensure_ascii=False)}]"


def _find_faults(body: bytes, members: list[object], *, is_batch: bool) -> dict[int, Fault]:
    faults: dict[int, Fault] = {}
    keys = 0
    for index, member in enumerate(members):
        member_keys, clean = _survey(member)
        keys += member_keys
        if not clean:
            faults[index] = next(_faults(member, ()))
    if _has_equal_keys(body, keys):
        faults |= _equal_keys(body, is_batch=is_batch)
    return faults


def _survey(member: object) -> tuple[int, bool]:
    """The number of keys in all objects of `member`, and whether its values are within bounds."""
    keys = 0
    clean = True
    stack: list[tuple[Any, int]] = [((member,), 0)]
    while stack:
        node, depth = stack.pop()
        if type(node) is dict:
            keys += len(cast(dict[str, object], node))
            node = cast(dict[str, object], node).values()
        kinds = set(map(type, node))
        if int in kinds:
            clean &= all(-INTEGER_MAX <= v <= INTEGER_MAX for v in node if type(v) is int)
        if dict in kinds or list in kinds:
            clean &= depth < JSON_DEPTH_MAX
            stack.extend((v, depth + 1) for v in node if type(v) in (dict, list))
    return keys, clean


def _faults(node: object, path: Path) -> Iterator[Fault]:
    """Every value out of bounds at or below `node`. What is nested too deep is not read."""
    if type(node) is int and not -INTEGER_MAX <= node <= INTEGER_MAX:
        yield Fault(
            path,
            "an integer that a double cannot hold exactly",
            f"from -{INTEGER_MAX} to {INTEGER_MAX}",
            "send it as a string, or smaller",
        )
    elif type(node) in (dict, list) and len(path) >= JSON_DEPTH_MAX:
        bound = f"at most {JSON_DEPTH_MAX} levels"
        yield Fault(path[:3], "nested too deep", bound, "send it flatter")
    else:
        for key, value in _children(node):
            yield from _faults(value, (*path, key))


def _children(node: object) -> Iterable[tuple[str | int, object]]:
    if isinstance(node, dict):
        return cast(dict[str | int, object], node).items()
    return enumerate(cast(list[object], node)) if isinstance(node, list) else ()


def _has_equal_keys(body: bytes, decoded_keys: int) -> bool:
    """Whether the text has more keys than the decoded objects: then two of them were equal.

    Outside of strings every colon of a JSON text belongs to one key, so counting is exact,
    also for keys that are equal only once their escapes are read.
    """
    if body.count(b":") == decoded_keys:
        return False
    return _STRING.sub(b"", body).count(b":") != decoded_keys


class _Repeated(dict[str, object]):
    """A decoded object in which `key` stood twice."""

    key = ""


def _equal_keys(body: bytes, *, is_batch: bool) -> dict[int, Fault]:
    def note(pairs: list[tuple[str, object]]) -> dict[str, object]:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                repeated = _Repeated(pairs)
                repeated.key = key
                return repeated
            seen.add(key)
        return dict(pairs)

    value: object = json.loads(body, object_pairs_hook=note)
    members = cast(list[object], value) if is_batch else [value]
    found = {index: _first_repeated(member, ()) for index, member in enumerate(members)}
    return {index: fault for index, fault in found.items() if fault is not None}


def _first_repeated(node: object, path: Path) -> Fault | None:
    if isinstance(node, _Repeated):
        at = (*path, node.key)
        return Fault(at, "a key that stands twice", "each key once", "remove one of them")
    for key, child in _children(node):
        if fault := _first_repeated(child, (*path, key)):
            return fault
    return None
