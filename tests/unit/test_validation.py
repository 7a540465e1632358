"""What a caller may write of a memory: every bound, one step to either side of it."""

import base64
import math
import struct
from typing import Any

import pytest
from msgspec import UNSET

from sidecar.errors import InvalidParams
from sidecar.limits import (
    CONTENT_BYTES_MAX,
    EMBEDDING_DIMENSIONS_MAX,
    EMBEDDING_MODEL_BYTES_MAX,
    FUTURE_TOLERANCE_MS,
    ID_BYTES_MAX,
    INTEGER_MAX,
    MEDIA_REF_BYTES_MAX,
    METADATA_BYTES_MAX,
    SUPERSEDES_IDS_MAX,
    TIME_MIN_MS,
)
from sidecar.model import MemoryInput
from sidecar.validation import CheckedMemory, check, check_reason, embedding_bytes

NOW = 1_780_000_000_000
PAST = ("created_at", "updated_at", "last_recalled_at", "last_useful_at")
FREE = ("valid_from", "expires_at", "held_until")
COUNTS = ("recall_count", "use_count", "regret_count", "success_count", "failure_count")
WIRE = {
    "created_at": "createdAt",
    "updated_at": "updatedAt",
    "last_recalled_at": "lastRecalledAt",
    "last_useful_at": "lastUsefulAt",
    "valid_from": "validFrom",
    "expires_at": "expiresAt",
    "held_until": "heldUntil",
    "media_ref": "mediaRef",
    "embedding_model": "embeddingModel",
    "usefulness_score": "usefulnessScore",
    "recall_count": "recallCount",
    "use_count": "useCount",
    "regret_count": "regretCount",
    "success_count": "successCount",
    "failure_count": "failureCount",
    "successor_id": "successorId",
    "superseded_by": "supersededBy",
}


def good(**fields: Any) -> CheckedMemory:
    """The checked form of a memory that must be accepted."""
    return check(MemoryInput(**fields), NOW)


def bad(**fields: Any) -> InvalidParams:
    """The error of a memory that must be refused: it names its field, the bound, the remedy."""
    (name,) = [one for one in fields if one != "superseded_by"] or ["superseded_by"]
    with pytest.raises(InvalidParams) as refused:
        check(MemoryInput(**fields), NOW, "$.memories[3]")
    data = refused.value.data
    assert data["field"] == f"$.memories[3].{WIRE.get(name, name)}"
    assert data["bound"]
    assert data["remedy"]
    return refused.value


@pytest.mark.gate("RECORD-09")
@pytest.mark.parametrize(
    "value", ["a", "x" * ID_BYTES_MAX, "가" * 85, "a b\n", "👩‍👩‍👧", "-v1780000000000", " ", "."]
)
def test_an_id_may_be_any_text_within_its_bytes(value: str) -> None:
    assert good(id=value).id == value


@pytest.mark.gate("RECORD-09")
@pytest.mark.parametrize(
    "value", ["", "x" * (ID_BYTES_MAX + 1), "가" * 86, "a\0b", "\ud800", "x\udc00"]
)
def test_a_bad_id_is_refused(value: str) -> None:
    bad(id=value)
    bad(superseded_by=value)
    bad(successor_id=value)


@pytest.mark.gate("RECORD-09")
def test_content_is_text_that_is_not_blank_and_not_gigantic() -> None:
    for value in ("x", " x ", "x" * CONTENT_BYTES_MAX, "\x01"):
        assert good(content=value).content == value
    for value in (
        "",
        " ",
        "\n\t\u3000",
        "x" * (CONTENT_BYTES_MAX + 1),
        "가" * 349_526,
        "\udfff",
        "\0",
    ):
        bad(content=value)


@pytest.mark.gate("RECORD-09")
def test_metadata_is_an_object_within_its_bytes() -> None:
    filler = "x" * (METADATA_BYTES_MAX - len('{"a":""}'))
    assert good(metadata={"a": filler}).metadata == f'{{"a":"{filler}"}}'
    bad(metadata={"a": filler + "x"})
    bad(metadata={"a": "\ud800"})
    nested: dict[str, Any] = {}
    for _ in range(100_000):
        nested = {"a": nested}
    bad(metadata=nested)


@pytest.mark.gate("RECORD-08")
@pytest.mark.parametrize("name", PAST + FREE)
def test_a_time_is_milliseconds_from_the_year_2000_on(name: str) -> None:
    assert good(**{name: TIME_MIN_MS}).scalars == {name: TIME_MIN_MS}
    for value in (TIME_MIN_MS - 1, 1, 0, -1, INTEGER_MAX + 1, -INTEGER_MAX):
        bad(**{name: value})


@pytest.mark.gate("RECORD-08")
@pytest.mark.parametrize("name", PAST + FREE)
def test_epoch_seconds_are_refused_with_the_milliseconds_to_send(name: str) -> None:
    refused = bad(**{name: 1_779_999_999})
    assert "1779999999000" in refused.data["remedy"]
    assert "milliseconds" in refused.message


@pytest.mark.gate("RECORD-08")
def test_what_has_happened_may_lie_at_most_a_day_ahead() -> None:
    latest = NOW + FUTURE_TOLERANCE_MS
    for name in PAST:
        assert good(**{name: latest}).scalars == {name: latest}
        bad(**{name: latest + 1})
    for name in FREE:
        assert good(**{name: INTEGER_MAX}).scalars == {name: INTEGER_MAX}


@pytest.mark.gate("RECORD-08")
def test_a_time_may_be_taken_away_but_for_the_two_that_always_are() -> None:
    for name in ("last_recalled_at", "last_useful_at", *FREE):
        assert good(**{name: None}).scalars == {name: None}


@pytest.mark.gate("RECORD-09")
def test_importance_is_a_share_or_null() -> None:
    for value in (0, 0.0, 1, 0.5, None):
        assert good(importance=value).scalars == {"importance": value}
    for value in (-0.001, 1.001, 5, math.nan, math.inf, -math.inf):
        bad(importance=value)


@pytest.mark.gate("RECORD-09")
def test_counters_count_from_nought() -> None:
    for name in COUNTS:
        assert good(**{name: 0}).scalars == {name: 0}
        assert good(**{name: INTEGER_MAX}).scalars == {name: INTEGER_MAX}
        bad(**{name: -1})
        bad(**{name: INTEGER_MAX + 1})
    for value in (math.nan, math.inf):
        bad(usefulness_score=value)
    assert good(usefulness_score=-2.5).scalars == {"usefulness_score": -2.5}


@pytest.mark.gate("RECORD-06")
def test_a_successor_goes_by_one_of_two_names_and_predecessors_by_one_or_many() -> None:
    assert good(superseded_by="n").scalars == {"superseded_by": "n"}
    assert good(successor_id="n").scalars == {"superseded_by": "n"}
    assert good(superseded_by=None).scalars == {"superseded_by": None}
    assert good(supersedes="a").supersedes == ["a"]
    assert good(supersedes=["a", "b"]).supersedes == ["a", "b"]
    assert good(supersedes=[]).supersedes == []
    bad(superseded_by="n", successor_id="n")
    bad(supersedes=["a", ""])
    bad(supersedes=["a"] * (SUPERSEDES_IDS_MAX + 1))


@pytest.mark.gate("RECORD-10")
@pytest.mark.parametrize("value", ["a", "a/b.png", "사진/커피.jpg", "..a/b..", ".hidden", "a b"])
def test_a_media_reference_is_a_path_below_the_media_folder(value: str) -> None:
    assert good(media_ref=value).scalars == {"media_ref": value}


@pytest.mark.gate("RECORD-10")
@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "../a",
        "a/../b",
        "a/./b",
        "a\\b",
        "a\0b",
        ".trash/a",
        "x" * (MEDIA_REF_BYTES_MAX + 1),
        "\ud800",
    ],
)
def test_a_media_reference_that_leads_elsewhere_is_refused(value: str) -> None:
    bad(media_ref=value)


@pytest.mark.gate("RECORD-07")
def test_an_embedding_is_numbers_or_base64_of_them() -> None:
    numbers = [0.1, -0.0, 1e-45, 3.4e38]
    packed = struct.pack("<4f", *numbers)
    assert good(embedding=numbers).embedding == packed
    assert good(embedding=base64.b64encode(packed).decode()).embedding == packed
    assert good(embedding=numbers).scalars == {"embedding_dimensions": 4}
    assert good(embedding=None).embedding == b""
    assert good(embedding=None).scalars == {"embedding_dimensions": None}
    assert good().embedding is None
    assert len(embedding_bytes([1.0] * EMBEDDING_DIMENSIONS_MAX, "$")) == 16_384


@pytest.mark.gate("RECORD-07")
@pytest.mark.parametrize(
    "value",
    [
        [],
        "",
        "AAA",
        "AAAA",
        "!!!!",
        "AAAAAA==\n",
        "😀",
        [1.0] * (EMBEDDING_DIMENSIONS_MAX + 1),
        [math.nan],
        [math.inf],
        [3.5e38],
        [1e300],
        [10**400],
        base64.b64encode(struct.pack("<2f", 1.0, math.nan)).decode(),
        base64.b64encode(b"\0" * 4 * (EMBEDDING_DIMENSIONS_MAX + 1)).decode(),
    ],
)
def test_a_bad_embedding_is_refused(value: Any) -> None:
    bad(embedding=value)


@pytest.mark.gate("RECORD-07")
def test_a_model_has_a_name_or_none() -> None:
    assert good(embedding_model="모델").scalars == {"embedding_model": "모델"}
    assert good(embedding_model=None).scalars == {"embedding_model": None}
    for value in ("", " ", "x" * (EMBEDDING_MODEL_BYTES_MAX + 1)):
        bad(embedding_model=value)


@pytest.mark.gate("RECORD-09")
def test_what_is_absent_is_not_written() -> None:
    checked = good()
    assert checked == CheckedMemory(id=None, scalars={})
    assert MemoryInput().content is UNSET


@pytest.mark.gate("RECORD-12")
def test_an_import_keeps_impossible_times_and_importance_and_refuses_the_rest() -> None:
    for name in PAST + FREE:
        for value in (1_700_000_000, 0, -5, INTEGER_MAX, -INTEGER_MAX):
            checked = check(MemoryInput(**{name: value}), NOW, lenient=True)
            assert checked.scalars == {name: value}
        for value in (INTEGER_MAX + 1, -INTEGER_MAX - 1):
            with pytest.raises(InvalidParams):
                check(MemoryInput(**{name: value}), NOW, lenient=True)
    for value in (-1.0, 7.5, 1e300):
        checked = check(MemoryInput(importance=value), NOW, lenient=True)
        assert checked.scalars == {"importance": value}
    refused: list[dict[str, Any]] = [
        {"importance": math.nan},
        {"importance": math.inf},
        {"recall_count": -1},
        {"content": " "},
        {"id": "a\0"},
        {"embedding": [math.nan]},
        {"media_ref": "../x"},
    ]
    for fields in refused:
        with pytest.raises(InvalidParams):
            check(MemoryInput(**fields), NOW, lenient=True)


@pytest.mark.gate("RECORD-12")
def test_unknown_fields_have_a_bound_too() -> None:
    checked = check(MemoryInput(), NOW, lenient=True, extra={"b": 1, "a": [None]})
    assert checked.extra == '{"a":[null],"b":1}'
    with pytest.raises(InvalidParams) as refused:
        check(MemoryInput(), NOW, lenient=True, extra={"a": "x" * METADATA_BYTES_MAX})
    assert refused.value.data["field"] == "$.extra"


@pytest.mark.gate("RECORD-09")
def test_a_reason_is_a_short_text() -> None:
    assert check_reason("말했다", "$.reason", 9) == "말했다"
    for value in ("", " ", "말했다.", "\ud800"):
        with pytest.raises(InvalidParams) as refused:
            check_reason(value, "$.reason", 9)
        assert refused.value.data["field"] == "$.reason"
