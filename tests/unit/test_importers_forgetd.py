"""The file of an export: whole or refused, with the later of two lines of one id."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.importers import forgetd
from sidecar.importers.items import BadLine, Item, Notice, Record
from sidecar.importers.whole import whole_memory
from sidecar.limits import EXPORT_LINE_BYTES_MAX, IMPORT_LINE_BYTES_MAX

GOLDEN = Path(__file__).parents[1] / "data" / "export.jsonl"
AT = 1_790_000_000_000
OPENING = {"forgetd": {"export": 1, "namespace": "n"}}


def line(identity: str, **fields: Any) -> dict[str, Any]:
    return whole_memory(id=identity, content="x", created_at=AT, **fields)


def exported(*records: Any, repeated: int = 0, opening: Any = OPENING) -> bytes:
    """A whole file with these records."""
    body = b"".join(json.dumps(one).encode() + b"\n" for one in (opening, *records))
    told = {"records": len(records), "repeated": repeated, "stateHash": None}
    closing = {"forgetd": {**told, "sha256": hashlib.sha256(body).hexdigest()}}
    return body + json.dumps(closing).encode() + b"\n"


def items_of(content: bytes) -> list[Item]:
    return list(forgetd.read(io.BytesIO(content)))


@pytest.mark.gate("IMP-55")
def test_a_whole_file_is_read_line_by_line() -> None:
    items = items_of(exported(line("a"), line("b")))
    assert [(item.line, item.memory["id"]) for item in items if isinstance(item, Record)] == [
        (2, "a"),
        (3, "b"),
    ]
    assert len(items) == 2
    assert len(items_of(GOLDEN.read_bytes())) == 27
    assert items_of(exported()) == []


@pytest.mark.gate("IMP-55")
def test_records_alone_are_read_too() -> None:
    content = json.dumps(line("a")).encode() + b"\n\n" + json.dumps(line("b")).encode()
    assert [type(item) for item in items_of(content)] == [Record, Record]
    assert items_of(b"") == []


@pytest.mark.gate("IMP-55")
@pytest.mark.parametrize("closed", [True, False])
def test_of_two_lines_of_one_id_the_later_counts(closed: bool) -> None:
    content = exported(line("a"), line("b"), line("a", revision=2), repeated=1)
    if not closed:
        content = b"\n".join(content.split(b"\n")[1:-2])
    items = items_of(content)
    first = 2 if closed else 1
    assert [(type(item), item.line) for item in items] == [
        (Notice, first),
        (Record, first + 1),
        (Record, first + 2),
    ]
    assert isinstance(items[2], Record)
    assert items[2].memory["revision"] == 2


@pytest.mark.gate("IMP-56")
def test_every_cut_and_every_changed_byte_is_noticed() -> None:
    content = exported(line("a", metadata={"k": "v"}), line("b"))
    places = range(0, len(content), 37)
    for at in places:
        cut, changed = content[:at], bytearray(content)
        changed[at] ^= 1
        for torn in (cut, bytes(changed)):
            items = items_of(torn)
            assert not torn or any(isinstance(item, BadLine) for item in items), at
    assert not any(isinstance(item, BadLine) for item in items_of(content))


@pytest.mark.gate("IMP-56")
def test_lines_that_are_missing_added_or_swapped_are_noticed() -> None:
    opening, first, second, closing = exported(line("a"), line("b")).splitlines(keepends=True)
    for lines in (
        (opening, second, closing),
        (opening, second, first, closing),
        (opening, first, first, second, closing),
        (opening, first, second),
        (first, second, closing),
    ):
        items = items_of(b"".join(lines))
        bad = [item for item in items if isinstance(item, BadLine)]
        assert bad, lines
        assert bad[0].where is not None
        assert bad[0].remedy
        # What is there can still be taken.
        assert any(isinstance(item, Record) for item in items)


@pytest.mark.gate("IMP-56")
def test_a_line_that_was_changed_on_purpose_is_refused_by_its_field() -> None:
    bad, good = items_of(exported(line("a", importance=1), line("b")))
    assert isinstance(bad, BadLine)
    assert isinstance(good, Record)
    assert (bad.line, bad.field) == (2, "$")
    assert "importance" in bad.message
    (bad,) = items_of(exported(line("a", revision=0)))
    assert isinstance(bad, BadLine)
    assert bad.field == "$.revision"


@pytest.mark.gate("IMP-56")
def test_a_file_of_a_later_format_is_refused_at_once() -> None:
    items = items_of(exported({"new": 1}, opening={"forgetd": {"export": 2}}))
    (bad,) = items
    assert isinstance(bad, BadLine)
    assert (bad.line, bad.field) == (1, "$.forgetd.export")


@pytest.mark.gate("IMP-57")
def test_the_largest_memory_there_is_fits_into_a_line() -> None:
    largest = line("a", metadata={"x": "\x01" * 10_000})
    largest["content"] = "\x01" * 1_048_576  # six bytes each
    content = exported(largest)
    assert IMPORT_LINE_BYTES_MAX < len(content) < EXPORT_LINE_BYTES_MAX
    (item,) = items_of(content)
    assert isinstance(item, Record)
