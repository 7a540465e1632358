"""Whatever memories are sealed come back exactly, and no damage passes."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.store.payload import Payload, content_hash
from sidecar.store.segments import SegmentDamaged, SegmentReader
from tests.unit.segment_samples import write_segment

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)


@st.composite
def json_texts(draw: Callable[..., object]) -> str:
    value = draw(st.dictionaries(TEXT, VALUES, max_size=5))
    indent = draw(st.sampled_from([None, 1]))
    separators = draw(st.sampled_from([(",", ":"), (", ", " : ")]))
    return json.dumps(value, ensure_ascii=draw(st.booleans()), indent=indent, separators=separators)


PAYLOADS = st.builds(
    Payload,
    id=TEXT,
    content=TEXT,
    metadata=json_texts() | TEXT,
    extra=json_texts() | st.just("{}"),
    created_at=st.integers(-(2**53), 2**53),
    embedding_model=st.none() | TEXT,
    embedding=st.none() | st.binary(max_size=64),
)
FRAMES = st.lists(st.lists(PAYLOADS, min_size=1, max_size=5), min_size=1, max_size=3)


@pytest.mark.gate("SEG-01")
@given(frames=FRAMES)
def test_any_memories_come_back_exactly(frames: list[list[Payload]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "segment"
        write_segment(path, frames)
        with SegmentReader(path) as reader:
            reader.verify()
            back = [[*reader.records(frame)] for frame in range(len(frames))]
    assert [[record.payload for record in frame] for frame in back] == frames
    hashes = [[record.content_hash for record in frame] for frame in back]
    assert hashes == [[content_hash(payload) for payload in frame] for frame in frames]


@pytest.mark.gate("SEG-12")
@given(frames=FRAMES, data=st.data())
def test_no_change_of_some_bytes_passes(frames: list[list[Payload]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "segment"
        write_segment(path, frames)
        whole = path.read_bytes()
        start = data.draw(st.integers(0, len(whole) - 1))
        stop = data.draw(st.integers(start, min(len(whole), start + 40)))
        changed = whole[:start] + data.draw(st.binary(max_size=40)) + whole[stop:]
        path.write_bytes(changed)
        try:
            with SegmentReader(path) as reader:
                reader.verify()
            accepted = True
        except SegmentDamaged:
            accepted = False
    assert accepted is (changed == whole)


@pytest.mark.gate("SEG-08")
@given(one=PAYLOADS, other=PAYLOADS)
def test_two_payloads_have_one_hash_only_when_they_are_equal(one: Payload, other: Payload) -> None:
    assert (content_hash(one) == content_hash(other)) is (one == other)
