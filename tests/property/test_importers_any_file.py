"""Whatever bytes a file holds, an importer answers line by line and raises nothing."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.client import Client, RpcFailure, Unreachable
from sidecar.importers import forgetd, jsonl, mcp_memory
from sidecar.importers.items import BadLine, Notice, Record
from sidecar.importers.whole import whole_memory
from sidecar.validation import check_id

texts = st.text(max_size=8)
GRAPH = "type name entityType observations from to relationType other"
MEMORY = "id content importance metadata embedding pinned createdAt supersedes"
names = st.sampled_from(f"{GRAPH} {MEMORY}".split())
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.just("entity"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | texts, inner, max_size=3),
    max_leaves=6,
)
exports = st.dictionaries(names, values, max_size=3).map(
    lambda fields: whole_memory(id="a", content="b", created_at=1) | fields
)
kinds = st.sampled_from(["entity", "relation", "tag"])
objects = st.dictionaries(names, values, max_size=6)
typed = st.builds(lambda kind, record: {**record, "type": kind}, kinds, objects)
lines = st.binary(max_size=40) | (typed | objects | exports | values).map(
    lambda value: json.dumps(value).encode()
)
files = st.lists(lines, max_size=6).map(b"\n".join)


@pytest.mark.gate("IMP-06")
@pytest.mark.parametrize(
    "read",
    [jsonl.read, mcp_memory.read, forgetd.read],
    ids=["jsonl", "mcp-memory", "forgetd"],
)
@given(content=files)
def test_any_file_is_read_to_its_end(read: Any, content: bytes) -> None:
    items = list(read(io.BytesIO(content)))
    assert items == list(read(io.BytesIO(content)))  # the same file, the same records
    identities = [item.memory["id"] for item in items if isinstance(item, Record)]
    assert len(set(identities)) == len(identities)
    for item in items:
        assert item.where or 1 <= item.line <= content.count(b"\n") + 1
        if isinstance(item, BadLine):
            assert item.message
            assert item.remedy
        elif isinstance(item, Record):
            check_id(item.memory["id"], "$.id")
            assert item.memory["content"].strip()
            can_be_sent(item.memory)
        else:
            assert isinstance(item, Notice)


def can_be_sent(memory: dict[str, Any]) -> None:
    """The client gets as far as looking for a daemon: the memory is proper JSON."""
    try:
        Client("absent.sock").call("memory.import", {"memories": [memory]})
    except Unreachable:
        return
    except RpcFailure as failure:
        pytest.fail(f"not sent: {failure.message}")
