"""The knowledge graph file of @modelcontextprotocol/server-memory."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.importers import mcp_memory
from sidecar.importers.items import BadLine, Item, Notice, Record

EXAMPLE = Path(__file__).parents[2] / "examples" / "data" / "mcp-memory.jsonl"


def read(*lines: dict[str, Any]) -> list[Item]:
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    return list(mcp_memory.read(io.BytesIO(text.encode())))


def memories(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    items = read(*lines)
    assert not [item for item in items if isinstance(item, BadLine)], items
    return [item.memory for item in items if isinstance(item, Record)]


def entity(name: str, *observations: Any, **more: Any) -> dict[str, Any]:
    line = {"type": "entity", "name": name, "entityType": "person"}
    return {**line, "observations": list(observations), **more}


def relation(subject: str, verb: str, target: str, **more: Any) -> dict[str, Any]:
    return {"type": "relation", "from": subject, "to": target, "relationType": verb, **more}


@pytest.mark.gate("IMP-20")
def test_an_observation_becomes_a_memory_that_names_its_entity() -> None:
    first, second = memories(entity("김서연", "커피를 마신다", "서울에 산다"))
    assert first["content"] == "김서연: 커피를 마신다"
    assert second["metadata"] == {
        "source": "mcp-memory",
        "kind": "observation",
        "entityName": "김서연",
        "entityType": "person",
        "order": 1,
    }


@pytest.mark.gate("IMP-20")
def test_a_relation_becomes_a_memory_with_both_ends() -> None:
    (memory,) = memories(relation("Mina_Park", "owns", "Tofu"))
    assert memory["content"] == "Mina_Park owns Tofu"
    assert memory["metadata"] == {
        "source": "mcp-memory",
        "kind": "relation",
        "from": "Mina_Park",
        "to": "Tofu",
        "relationType": "owns",
    }


@pytest.mark.gate("IMP-20")
@pytest.mark.parametrize("observations", [[], ["", "  "]])
def test_an_entity_without_observations_is_a_memory_of_its_own(observations: list[str]) -> None:
    (memory,) = memories(entity("Unfiled", *observations))
    assert memory["content"] == "Unfiled (person)"
    assert memory["metadata"]["kind"] == "entity"


@pytest.mark.gate("IMP-20")
def test_entity_type_and_observations_may_be_absent() -> None:
    (memory,) = memories({"type": "entity", "name": "Bare"})
    assert memory["content"] == "Bare"


@pytest.mark.gate("IMP-20")
def test_nothing_of_an_importance_or_a_time_is_invented() -> None:
    for memory in memories(entity("A", "x"), relation("A", "b", "C")):
        assert set(memory) == {"id", "content", "metadata"}


@pytest.mark.gate("IMP-21")
def test_ids_depend_on_names_and_texts_and_not_on_the_place_in_the_file() -> None:
    before = memories(entity("A", "x", "y"), relation("A", "likes", "B"))
    after = memories(relation("A", "likes", "B"), entity("A", "new", "y", "x"))
    assert {memory["id"] for memory in before} < {memory["id"] for memory in after}
    assert len({memory["id"] for memory in after}) == 4


@pytest.mark.gate("IMP-21")
def test_names_and_texts_that_run_together_alike_keep_different_ids() -> None:
    found = memories(
        entity("A: b", "c"),
        entity("A", "b: c"),
        relation("A", "b c", "D"),
        relation("A b", "c", "D"),
    )
    assert found[0]["content"] == found[1]["content"]
    assert len({memory["id"] for memory in found}) == 4


@pytest.mark.gate("IMP-21")
def test_what_stands_twice_is_stored_once_and_told() -> None:
    items = read(entity("A", "x", "x"), relation("A", "b", "C"), relation("A", "b", "C"))
    assert [item for item in items if isinstance(item, Notice)] == [
        Notice(1, "repeated", "line 1"),
        Notice(3, "repeated", "line 2"),
    ]
    assert len([item for item in items if isinstance(item, Record)]) == 2


@pytest.mark.gate("IMP-22")
def test_unknown_fields_are_kept_on_the_first_memory_of_the_line() -> None:
    unknown = {"importance": "high", "createdAt": "2026", "id": 7, "deep": {"a": [None]}}
    first, second = memories(entity("A", "x", "y", **unknown))
    assert first["mcpMemory"] == unknown
    assert set(second) == {"id", "content", "metadata"}
    (of_relation,) = memories(relation("A", "b", "C", weight=0.5))
    assert of_relation["mcpMemory"] == {"weight": 0.5}


@pytest.mark.gate("IMP-22")
def test_a_line_of_unknown_type_is_kept_whole_and_told() -> None:
    line = {"type": "tag", "name": "여행", "members": ["A"]}
    notice, record = read(line)
    assert notice == Notice(1, "unknown_type", "tag")
    assert isinstance(record, Record)
    assert record.memory["mcpMemory"] == line
    assert "여행" in record.memory["content"]
    assert record.memory["metadata"] == {"source": "mcp-memory", "kind": "other", "type": "tag"}


@pytest.mark.gate("IMP-23")
@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"name": "A"}, "$.type"),
        ({"type": 1}, "$.type"),
        ({"type": "entity"}, "$.name"),
        (entity(" ", "x"), "$.name"),
        (entity("A", "x", entityType=5), "$.entityType"),
        (entity("A", observations="x"), "$.observations"),
        (entity("A", observations=None), "$.observations"),
        (entity("A", "x", {"text": "y"}), "$.observations[1]"),
        (entity("A", "x", "nul\0"), "$.observations[1]"),
        (entity("A", "x" * 1_048_576), "$.observations[0]"),
        (entity("A" * 70_000, "x"), "$.name"),
        (entity("A", "x", blob="y" * 70_000), "$"),
        ({"type": "tag", "blob": "y" * 70_000}, "$"),
        ({"type": "relation", "from": "A", "to": "B"}, "$.relationType"),
        ({"type": "relation", "from": "A", "relationType": "b"}, "$.to"),
        (relation("", "b", "C"), "$.from"),
    ],
)
def test_a_line_with_one_bad_part_is_bad_as_a_whole(line: dict[str, Any], field: str) -> None:
    (item, after) = read(line, entity("Good", "x"))
    assert isinstance(item, BadLine)
    assert (item.line, item.field) == (1, field)
    assert item.message
    assert item.remedy
    assert isinstance(after, Record)


@pytest.mark.gate("IMP-24")
def test_the_file_that_the_real_package_wrote_is_taken_whole() -> None:
    lines = [json.loads(line) for line in EXAMPLE.read_text().splitlines()]
    with EXAMPLE.open("rb") as stream:
        items = list(mcp_memory.read(stream))
    records = [item for item in items if isinstance(item, Record)]
    assert records == items  # nothing bad, nothing to tell
    observations = [
        (line["name"], text)
        for line in lines
        if line["type"] == "entity"
        for text in line["observations"]
    ]
    kinds = [record.memory["metadata"]["kind"] for record in records]
    assert kinds.count("observation") == len(observations) == 113
    assert kinds.count("relation") == 40
    assert kinds.count("entity") == 1
    assert {f"{name}: {text}" for name, text in observations} <= {
        record.memory["content"] for record in records
    }
    assert len({record.memory["id"] for record in records}) == len(records)
