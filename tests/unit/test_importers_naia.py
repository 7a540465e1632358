"""The store file of naia-memory: facts, episodes, chains, vectors, and what is wrong with them."""

import base64
import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from sidecar.importers import naia
from sidecar.importers.items import BadLine, Item, Notice, Record
from sidecar.importers.naia_chains import successors
from sidecar.importers.source import SourceRefused

SAMPLE = Path(__file__).parents[1] / "data" / "naia-memory.json"
AT = 1_790_000_000_000
EPISODE = {"importance": {"utility": 0.5}, "timestamp": AT, "summary": "", "recallCount": 0}


def fact(identity: str, **fields: Any) -> dict[str, Any]:
    given = {"importance": 0.5, "createdAt": AT, "updatedAt": AT, "lastAccessed": AT}
    return {"id": identity, "content": f"fact {identity}", "status": "active", **given, **fields}


def episode(identity: str, **fields: Any) -> dict[str, Any]:
    return {"id": identity, "content": f"episode {identity}", **EPISODE, **fields}


def items_of(model: str | None = None, **parts: Any) -> list[Item]:
    """What is read of a store file with these parts."""
    content = json.dumps({"version": 1, **parts}).encode()
    return list(naia.parse(io.BytesIO(content), model).read())


def memories_of(items: list[Item]) -> dict[str, dict[str, Any]]:
    return {item.memory["id"]: item.memory for item in items if isinstance(item, Record)}


def one(**parts: Any) -> dict[str, Any]:
    """The only memory of the parts, with nothing else to say."""
    items = items_of(**parts)
    assert [type(item) for item in items] == [Record], items
    (memory,) = memories_of(items).values()
    return memory


@pytest.mark.gate("IMP-50")
def test_the_file_that_the_real_package_wrote() -> None:
    with SAMPLE.open("rb") as stream:
        store = naia.parse(stream, None)
    items = list(store.read())
    assert items == list(store.read())
    found = memories_of(items)
    assert len(items) == len(found) == store.places == 4
    shown = {
        name: [memory["memoryType"], memory["status"], memory["statusReason"]]
        for name, memory in found.items()
    }
    assert shown == {
        "fact-1": ["semantic", "archived", "manual"],  # a user deleted it
        "fact-2": ["semantic", "active", None],
        "fact-3": ["semantic", "archived", "forgotten"],  # it decayed
        "ep-1": ["episodic", "active", None],
    }
    cat = found["fact-2"]
    assert (cat["importanceBase"], cat["importanceSource"]) == (0.9, "host")
    assert (cat["recallCount"], cat["lastRecalledAt"]) == (7, 1796059729877)
    assert cat["extra"]["naiaMemory"]["relevanceScore"] == 0.6167657306072107
    assert found["fact-3"]["lastRecalledAt"] is None  # naia writes the creation there
    said = found["ep-1"]
    assert said["importanceBase"] == 0.5
    assert said["metadata"] == {
        "source": "naia-memory",
        "kind": "episode",
        "role": "user",
        "summary": "release October",
        "encodingContext": {"project": "lighthouse"},
        "consolidated": False,
    }
    assert said["extra"]["naiaMemory"]["importance"]["surprise"] == 0.3


@pytest.mark.gate("IMP-50")
def test_what_naia_knows_of_a_fact_has_its_place() -> None:
    memory = one(
        facts=[
            fact(
                "f",
                entities=["Mina"],
                topics=[],
                sourceEpisodes=["e1"],
                validFrom=AT - 5,
                validTo=AT + 5,
                maxEmotion=0.9,
                structured={"attribute": "city"},
            )
        ]
    )
    assert memory["metadata"] == {
        "source": "naia-memory",
        "kind": "fact",
        "entities": ["Mina"],
        "sourceEpisodes": ["e1"],
    }
    kept = {"validTo": AT + 5, "maxEmotion": 0.9, "structured": {"attribute": "city"}}
    assert memory["extra"] == {"naiaMemory": kept}
    assert (memory["validFrom"], memory["expiresAt"]) == (AT - 5, AT + 5)


@pytest.mark.gate("IMP-50")
def test_skills_and_reflections_are_procedural() -> None:
    skill = {"id": "s", "name": "deploy", "description": "push it", "learnedAt": AT}
    reflection = {"task": "deploy", "failure": "red", "analysis": "", "correction": "test first"}
    items = items_of(
        skills=[{**skill, "successCount": 3, "failureCount": 1, "confidence": 0.75}],
        reflections=[{**reflection, "timestamp": AT}] * 2,
    )
    learned, thought = memories_of(items).values()
    assert (learned["content"], learned["memoryType"]) == ("deploy: push it", "procedural")
    assert (learned["successCount"], learned["failureCount"]) == (3, 1)
    assert learned["importanceSource"] == "estimated"
    assert thought["content"] == "Task: deploy\nFailure: red\nCorrection: test first"
    assert isinstance(items[-1], Notice)
    assert (items[-1].kind, items[-1].detail) == ("repeated", "reflections[0]")


@pytest.mark.gate("IMP-51")
def test_chains_are_followed_by_every_name_that_naia_gave_them() -> None:
    facts = [
        fact("a", status="superseded", successorId="b", validTo=AT + 1),
        fact("b", status="superseded", validTo=AT + 2),
        fact("c", supersedes="b"),
        fact("d", status="superseded"),
        fact("d-v1700", status="superseded", createdAt=AT + 1),
        fact("d-v1700-v1800", createdAt=AT + 2),
    ]
    found = memories_of(items_of(facts=facts))
    assert {name: memory["supersededBy"] for name, memory in found.items()} == {
        "a": "b",
        "b": "c",
        "c": None,
        "d": "d-v1700",
        "d-v1700": "d-v1700-v1800",
        "d-v1700-v1800": None,
    }
    assert (found["a"]["status"], found["a"]["statusAt"]) == ("superseded", AT + 1)
    assert found["a"]["expiresAt"] is None


@pytest.mark.gate("IMP-51")
def test_a_chain_that_comes_back_to_itself_is_cut_and_told() -> None:
    facts = [
        fact("a", successorId="b"),
        fact("b", successorId="c"),
        fact("c", successorId="b"),
        fact("self", successorId="self"),
        fact("d", successorId="gone"),
    ]
    items = items_of(facts=facts)
    links = {name: memory["supersededBy"] for name, memory in memories_of(items).items()}
    assert links == {"a": "b", "b": None, "c": None, "self": None, "d": "gone"}
    told = [item.where for item in items if isinstance(item, Notice) and item.kind == "no_link"]
    assert told == ["facts[1]", "facts[2]", "facts[3]"]


@pytest.mark.gate("IMP-51")
def test_long_chains_are_read_in_linear_time() -> None:
    facts: list[Any] = [fact(f"{n}", successorId=f"{n + 1}") for n in range(20_000)]
    assert len(successors(facts)) == 20_000


@pytest.mark.gate("IMP-52")
def test_vectors_are_taken_over_exactly() -> None:
    items = items_of(
        facts=[fact("f"), fact("bare")],
        episodes=[episode("e")],
        factEmbeddings={"f": [0.5, -1, 0.1]},
        episodeEmbeddings={"e": [1, 2, 3]},
        embeddingSpaceId="e5-large",
    )
    found = memories_of(items)
    assert base64.b64decode(found["f"]["embedding"]) == struct.pack("<3f", 0.5, -1, 0.1)
    assert [found[name]["embeddingModel"] for name in ("f", "e", "bare")] == [
        "e5-large",
        "e5-large",
        None,
    ]
    assert found["bare"]["embedding"] is None


@pytest.mark.gate("IMP-52")
def test_a_vector_that_does_not_fit_the_others_is_left_out_and_the_text_kept() -> None:
    vectors = {"a": [1, 2], "b": [3, 4], "short": [1], "null": [None, 1], "text": "x", "none": None}
    items = items_of("mine", facts=[fact(name) for name in vectors], factEmbeddings=vectors)
    found = memories_of(items)
    assert {name for name, memory in found.items() if memory["embedding"]} == {"a", "b"}
    assert found["a"]["embeddingModel"] == "mine"
    told = {item.where for item in items if isinstance(item, Notice) and item.kind == "no_vector"}
    assert told == {f"facts[{n}]" for n in range(2, 6)}


@pytest.mark.gate("IMP-53")
@pytest.mark.parametrize(
    ("part", "value", "field"),
    [
        ("facts", 7, None),
        ("facts", {}, "$.id"),
        ("facts", fact("f", content=" "), "$.content"),
        ("facts", fact("f", content=3), "$.content"),
        ("facts", fact("f", createdAt=None), "$.createdAt"),
        ("facts", fact("f", createdAt="yesterday"), "$.createdAt"),
        ("facts", fact("f", createdAt=-1), "$.createdAt"),
        ("facts", fact("f", importance="high"), "$.importance"),
        ("facts", fact("f", recallCount=-1), "$.recallCount"),
        ("facts", fact("f", status="lost"), "$.status"),
        ("facts", fact("f", topics="x" * 70_000), "$.metadata"),
        ("facts", fact("f" * 300), "$.id"),
        ("facts", fact("f", other="\ud800"), "$.other"),
        ("facts", fact("f", other=2**60), "$.other"),
        ("episodes", episode("e", timestamp=None), "$.timestamp"),
        ("episodes", episode("e", importance={"utility": "x"}), "$.importance.utility"),
        ("episodes", episode("e", status="superseded"), "$.status"),
        ("skills", {"id": "s", "learnedAt": AT}, "$.name"),
        ("reflections", {"timestamp": AT}, "$.task"),
    ],
)
def test_what_cannot_be_stored_is_named_by_its_place(part: str, value: Any, field: Any) -> None:
    good = {"facts": fact("good"), "episodes": episode("good")}.get(part)
    items = items_of(**{part: [value, *([good] if good else [])]})
    bad = items[0]
    assert isinstance(bad, BadLine), items
    assert (bad.place, bad.field) == (f"{part}[0]", field)
    assert bad.message
    assert bad.remedy
    assert list(memories_of(items)) == (["good"] if good else [])


@pytest.mark.gate("IMP-53")
def test_an_id_that_stands_twice_is_stored_once() -> None:
    items = items_of(facts=[fact("f"), fact("f"), fact("f", content="other")])
    assert [type(item) for item in items] == [Record, Notice, BadLine]


@pytest.mark.gate("IMP-53")
def test_an_odd_number_is_kept_and_older_stores_have_no_status() -> None:
    memory = one(facts=[fact("f", importance=7, createdAt=AT + 0.7, status=None)])
    assert (memory["importanceBase"], memory["createdAt"], memory["status"]) == (7, AT, "active")


@pytest.mark.gate("IMP-54")
def test_parts_that_hold_no_memories_are_told_and_empty_ones_are_not() -> None:
    items = items_of(
        associations={"a::b": 0.3},
        knowledgeGraph={"nodes": {}, "edges": {}},
        epochs=[{"id": "x"}],
        skills=[],
        factEmbeddings={},
    )
    assert [(item.kind, item.detail) for item in items if isinstance(item, Notice)] == [
        ("no_memory", "associations"),
        ("no_memory", "epochs"),
    ]


@pytest.mark.gate("IMP-54")
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cut off"),
        (SAMPLE.read_bytes()[:-20], "cut off"),
        (b"[]", "no store"),
        (b'{"version": 2, "facts": []}', "no store"),
        (b'{"version": 1, "facts": {}}', "no store"),
        (b'{"version": 1, "version": 1}', "twice"),
        (b'{"version": 1, "facts": [NaN]}', "NaN"),
        (b"\xff\xfe", "cut off"),
        (b"NAIA\x01 and so on", "encrypted backup"),
        (b"[" * 100_000, "cut off"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_store_of_naia_is_refused(content: bytes, told: str) -> None:
    with pytest.raises(SourceRefused) as refused:
        naia.parse(io.BytesIO(content), None)
    assert told in refused.value.message
    assert refused.value.remedy


@pytest.mark.gate("IMP-54")
def test_a_byte_order_mark_is_no_fault() -> None:
    content = b"\xef\xbb\xbf" + json.dumps({"version": 1, "facts": [fact("f")]}).encode()
    assert naia.parse(io.BytesIO(content), None).places == 1
