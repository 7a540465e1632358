"""The strict scan against a slow and plain reading of the same text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.limits import INTEGER_MAX
from sidecar.rpc.json_scan import decode_strict

TEXT = st.text(alphabet='ab:"\\{}[], \n\u00e9커\U0001f642', max_size=6)
INTEGERS = st.one_of(st.integers(-3, 3), st.sampled_from([INTEGER_MAX, INTEGER_MAX + 1, -(2**60)]))
LEAVES = st.one_of(TEXT, INTEGERS, st.booleans(), st.none(), st.floats(-1, 1))


class Pairs(list[Any]):
    """An object as a list of its pairs, so that a key may stand in it twice."""


VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(st.tuples(TEXT, inner), max_size=4).map(Pairs),
    ),
    max_leaves=12,
)


def spelled(value: Any, escape: bool) -> str:
    """`value` as JSON text, with every object's pairs as they stand."""
    if isinstance(value, Pairs):
        pairs = (f"{json.dumps(k, ensure_ascii=escape)} :{spelled(v, escape)}" for k, v in value)
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + " ,".join(spelled(one, escape) for one in value) + "]"
    return json.dumps(value, ensure_ascii=escape)


def is_faulty(value: Any) -> bool:
    """Whether a key stands twice in an object, or an integer is out of bounds."""
    if isinstance(value, Pairs):
        keys = [key for key, _ in value]
        return len(set(keys)) < len(keys) or any(is_faulty(inner) for _, inner in value)
    if isinstance(value, list):
        return any(is_faulty(one) for one in value)
    return type(value) is int and abs(value) > INTEGER_MAX


@pytest.mark.gate("WIRE-02")
@given(members=st.lists(VALUES, min_size=1, max_size=5), escape=st.booleans())
def test_exactly_the_faulty_members_are_found(members: list[Any], escape: bool) -> None:
    text = "[" + ",".join(spelled(member, escape) for member in members) + "]"
    value, faults = decode_strict(text.encode())
    assert set(faults) == {i for i, member in enumerate(members) if is_faulty(member)}
    assert value == json.loads(text)
