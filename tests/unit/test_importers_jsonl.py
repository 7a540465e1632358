"""One JSON object a line."""

import io
import json
from typing import Any

import pytest

from sidecar.importers import jsonl
from sidecar.importers.items import BadLine, Item, Notice, Record
from sidecar.limits import CONTENT_BYTES_MAX, METADATA_BYTES_MAX


def read(*records: Any) -> list[Item]:
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    return list(jsonl.read(io.BytesIO("\n".join(lines).encode())))


def memory(record: dict[str, Any]) -> dict[str, Any]:
    (item,) = read(record)
    assert isinstance(item, Record), item
    return item.memory


def bad(record: dict[str, Any]) -> BadLine:
    (item,) = read(record)
    assert isinstance(item, BadLine), item
    assert item.remedy
    return item


@pytest.mark.gate("IMP-10")
def test_every_field_is_passed_on_as_it_stands() -> None:
    record = {
        "id": "a-v1700000000000",
        "content": "아침마다 커피를 마신다 ☕",
        "memoryType": "episodic",
        "importance": 0.7,
        "createdAt": 1_700_000_000_000,
        "lastRecalledAt": None,
        "recallCount": 3,
        "supersedes": ["b"],
        "pinned": True,
        "embedding": [0.25, -1.5],
        "embeddingModel": "m",
        "metadata": {"tags": ["x", {"deep": None}]},
        "color": "grey",
        "nested": {"importance": "unknown here"},
    }
    assert memory(record) == record


@pytest.mark.gate("IMP-10")
def test_null_where_a_memory_has_none_counts_as_absent() -> None:
    record = {"id": None, "content": "x", "pinned": None, "metadata": None, "importance": None}
    kept = memory(record)
    assert set(kept) == {"id", "content", "importance"}
    assert kept["importance"] is None


@pytest.mark.gate("IMP-11")
def test_a_line_without_id_gets_one_from_its_content() -> None:
    first = memory({"content": "x", "color": "grey", "n": {"a": 1, "b": 2}})
    again = memory({"n": {"b": 2, "a": 1}, "color": "grey", "content": "x"})
    other = memory({"content": "x", "color": "green", "n": {"a": 1, "b": 2}})
    assert first["id"] == again["id"] != other["id"]
    assert first["id"].startswith("jsonl-")


@pytest.mark.gate("IMP-11")
def test_a_repeated_line_is_stored_once_and_told() -> None:
    same = {"content": "x"}
    first, second, third = read(same, {"content": "y"}, same)
    assert isinstance(first, Record)
    assert isinstance(second, Record)
    assert third == Notice(3, "repeated", "line 1")


@pytest.mark.gate("IMP-11")
def test_two_contents_under_one_id_are_a_bad_line() -> None:
    first, second = read({"id": "a", "content": "x"}, {"id": "a", "content": "y"})
    assert isinstance(first, Record)
    assert isinstance(second, BadLine)
    assert (second.line, second.field) == (2, "$.id")
    assert "line 1" in second.message


@pytest.mark.gate("IMP-12")
@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({}, "$.content"),
        ({"text": "x"}, "$.content"),
        ({"content": None}, "$.content"),
        ({"content": 1}, "$.content"),
        ({"content": " \n"}, "$.content"),
        ({"content": "a\0b"}, "$.content"),
        ({"content": "x" * (CONTENT_BYTES_MAX + 1)}, "$.content"),
        ({"content": "x", "id": ""}, "$.id"),
        ({"content": "x", "id": "a\0b"}, "$.id"),
        ({"content": "x", "id": "가" * 86}, "$.id"),
        ({"content": "x", "id": 7}, "$.id"),
        ({"content": "x", "memoryType": "working"}, "$.memoryType"),
        ({"content": "x", "createdAt": "2026-01-01"}, "$.createdAt"),
        ({"content": "x", "createdAt": True}, "$.createdAt"),
        ({"content": "x", "recallCount": 1.5}, "$.recallCount"),
        ({"content": "x", "recallCount": -1}, "$.recallCount"),
        ({"content": "x", "pinned": "yes"}, "$.pinned"),
        ({"content": "x", "metadata": []}, "$.metadata"),
        ({"content": "x", "metadata": {"a": "x" * METADATA_BYTES_MAX}}, "$.metadata"),
        ({"content": "x", "unknown": "x" * METADATA_BYTES_MAX}, "$"),
        ({"content": "x", "embedding": []}, "$.embedding"),
        ({"content": "x", "embedding": [1, "a"]}, "$.embedding[1]"),
        ({"content": "x", "embedding": "no base64"}, "$.embedding"),
        ({"content": "x", "mediaRef": "../up"}, "$.mediaRef"),
        ({"content": "x", "supersedes": [1]}, "$.supersedes[0]"),
    ],
)
def test_what_the_daemon_would_refuse_is_found_before_anything_is_sent(
    record: dict[str, Any], field: str
) -> None:
    assert bad(record).field == field


@pytest.mark.gate("IMP-12")
@pytest.mark.parametrize(
    "field", [{"importance": 7}, {"importance": -0.1}, {"createdAt": 1_700_000_000}]
)
def test_values_that_a_put_refuses_and_an_import_keeps_are_passed_on(
    field: dict[str, Any],
) -> None:
    record = {"id": "a", "content": "x", **field}
    assert memory(record) == record


@pytest.mark.gate("IMP-12")
def test_a_bad_line_does_not_hide_the_others() -> None:
    content = b'{"content":"a"}\n{"content":\n{"content":"c"}\n'
    items = list(jsonl.read(io.BytesIO(content)))
    assert [type(item) for item in items] == [Record, BadLine, Record]
    assert [item.line for item in items] == [1, 2, 3]
