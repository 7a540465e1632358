"""Whatever a store's file holds, its importer reads it to the end and raises nothing else."""

import io
import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.importers import mem0, naia
from sidecar.importers.check import problem_of, problem_of_whole
from sidecar.importers.items import BadLine, Item, Record
from sidecar.importers.source import SourceRefused

AT = 1_790_000_000_000
FACT = "id content createdAt importance recallCount lastAccessed strength status supersedes"
REST = "successorId validFrom validTo entities role name learnedAt task failure timestamp utility"
PAYLOAD = "data createdAt created_at expiration_date importance user_id memory_type entityType"
texts = st.text(max_size=6) | st.sampled_from(["a", "b", "a-v1", "active", "superseded", "\ud800"])
numbers = st.integers() | st.floats() | st.sampled_from([AT, 2**60, 1e300, -0.0])
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
whole = {"id": "a", "content": "x", "createdAt": AT, "timestamp": AT, "learnedAt": AT, "name": "n"}
things = st.lists(
    values
    | st.dictionaries(st.sampled_from(f"{FACT} {REST}".split()), values, max_size=5).map(
        lambda fields: whole | fields
    ),
    max_size=4,
)
vectors = values | st.dictionaries(texts, values | st.just([1.0, 2.0]), max_size=3)
stores = st.fixed_dictionaries(
    {"version": st.just(1)},
    optional={
        **dict.fromkeys(("facts", "episodes", "skills", "reflections"), things),
        **dict.fromkeys(("factEmbeddings", "episodeEmbeddings"), vectors),
        "embeddingSpaceId": values,
        "associations": values,
    },
)
payloads = st.dictionaries(st.sampled_from(PAYLOAD.split()), values, max_size=5).map(
    lambda fields: json.dumps({"data": "x"} | fields)
)


def check(items: list[Item], problem: Any) -> None:
    """Each id once, nothing that the daemon would refuse, and what is bad says what to do."""
    memories = [item for item in items if isinstance(item, Record)]
    assert len({item.memory["id"] for item in memories}) == len(memories)
    for item in memories:
        assert problem(item) is None
        json.dumps(item.memory, allow_nan=False, ensure_ascii=False).encode()
    for item in items:
        assert not isinstance(item, BadLine) or (item.message and item.remedy and item.where)


@pytest.mark.gate("IMP-54")
@given(store=stores)
def test_any_store_of_naia_is_read_to_its_end(store: Any) -> None:
    try:
        parsed = naia.parse(io.BytesIO(json.dumps(store).encode()), None)
    except SourceRefused:
        return
    items = list(parsed.read())
    assert list(parsed.read()) == items
    check(items, problem_of_whole)


@pytest.mark.gate("IMP-64")
@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8"), max_size=3) | st.none(),
            st.binary(max_size=9) | st.none() | st.integers(-9, 9),
            payloads | st.binary(max_size=9) | st.none(),
        ),
        max_size=4,
        unique_by=lambda row: row[0],
    )
)
def test_any_rows_of_mem0_are_read_to_their_end(rows: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "v.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE vectors (id TEXT PRIMARY KEY, vector, payload)")
            connection.executemany("INSERT INTO vectors VALUES (?, ?, ?)", rows)
        with mem0.open_store(path, None) as reader:
            check(list(reader.read()), problem_of)
