"""The guard of duplicates on a table made by hand, and on what it must never let through."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.limits import GUARD_TEXT_BYTES_MAX
from sidecar.plan.duplicate_guard import DIFFERENCES, difference
from tests.sources import ROOT, text_of

LINES = (ROOT / "tests" / "data" / "duplicate_pairs.jsonl").read_text(encoding="utf-8").splitlines()
TABLE: list[dict[str, Any]] = [json.loads(line) for line in LINES]
HELD_OUT = TABLE[2::3]
TUNED = [pair for place, pair in enumerate(TABLE) if place % 3 != 2]


def score(pairs: list[dict[str, Any]]) -> tuple[int, int, int, int]:
    """How many say the same, of these kept apart; how many do not, of these collapsed."""
    apart = [pair["same"] and difference(pair["a"], pair["b"]) is not None for pair in pairs]
    lost = [not pair["same"] and difference(pair["a"], pair["b"]) is None for pair in pairs]
    same = sum(pair["same"] for pair in pairs)
    return same, sum(apart), len(pairs) - same, sum(lost)


@pytest.mark.gate("DUP-05")
def test_the_table_is_as_large_and_as_even_as_it_says() -> None:
    same = sum(pair["same"] for pair in TABLE)
    assert len(TABLE) >= 200
    assert 2 * same == len(TABLE)
    assert len({(pair["a"], pair["b"]) for pair in TABLE}) == len(TABLE)
    assert {"en", "ko", "ja", "zh", "de", "es", "fr"} <= {pair["language"] for pair in TABLE}


@pytest.mark.gate("DUP-05")
@pytest.mark.parametrize(("name", "pairs"), [("tuned", TUNED), ("held out", HELD_OUT)])
def test_the_score_is_the_one_that_is_documented(name: str, pairs: list[dict[str, Any]]) -> None:
    row = re.search(rf"^\| {name} \|(.*)\|$", text_of(ROOT / "docs/duplicates.md"), re.MULTILINE)
    assert row is not None
    assert tuple(int(cell) for cell in row[1].split("|")) == score(pairs)


@pytest.mark.gate("DUP-06")
def test_no_pair_of_two_facts_that_the_guard_was_made_for_collapses() -> None:
    assert score(TUNED)[3] == 0


@pytest.mark.gate("DUP-06")
@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("The report is due on the 15th.", "The report is due on the 16th.", "number"),
        ("Version 1.10 runs.", "Version 1.1 runs.", "number"),
        ("The deadline is March 3.", "The deadline is March 4.", "date"),
        ("Meet at 3 pm.", "Meet at 3 am.", "date"),
        ("Takes 5 mg.", "Takes 5 g.", "unit"),
        ("She can swim.", "She can't swim.", "negation"),
        ("커피를 마신다.", "커피를 안 마신다.", "negation"),
        ("사용자는 커피를 좋아한다.", "사용자는 커피를 좋아하지 않는다.", "negation"),
        ("Ask Will about it.", "Ask Bill about it.", "name"),
        ("Key: getUser", "Key: getuser", "name"),
        ("Likes tea.", "Likes coffee.", "words"),
        ("Call before lunch.", "Call after lunch.", "words"),
        ("Turn the light on.", "Turn the light off.", "words"),
        ("The user is vegan.", "The user was vegan.", "words"),
        ("The dog bit the man.", "The man bit the dog.", "words"),
        ("민수가 지수를 좋아한다.", "지수가 민수를 좋아한다.", "words"),
        ("Allergic to nuts.", "Allergic to nuts and milk.", "words"),
        ("猫が犬を追う。", "犬が猫を追う。", "words"),
    ],
)
def test_one_token_apart_is_two_facts(a: str, b: str, why: str) -> None:
    assert difference(a, b) == difference(b, a) == why


@pytest.mark.gate("DUP-07")
def test_a_long_text_is_the_same_only_if_its_words_are() -> None:
    long = "word " * GUARD_TEXT_BYTES_MAX
    assert difference(long, long.upper() + " ") is None
    assert difference(long, long + "more") == "words"


@pytest.mark.gate("DUP-07")
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_are_compared(a: str, b: str) -> None:
    assert difference(a, a) is None
    assert difference(a, b) in {None, *DIFFERENCES}
