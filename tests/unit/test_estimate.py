"""Estimated importance: the golden vectors, the pairs made by hand, and what each rule does."""

import json
import re
import unicodedata
from dataclasses import asdict
from typing import Any

import pytest

from protocol.generate_vectors import VECTORS
from protocol.vector_store import DAY, NOW, StoredMemory, snapshot_of
from sidecar.estimate import ESTIMATE_MAX, ESTIMATE_MIN, estimate, estimate_parts
from sidecar.estimate_words import KINDS, KOREAN_STEMS, KOREAN_WORDS, UNSPACED, WORDS
from sidecar.plan.policies import policy_named
from sidecar.plan.scoring import sweep_score
from sidecar.strength import strength_parts
from tests.sources import ROOT, text_of


def lines_of(text: str) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines; texts in it may hold other ends of lines."""
    return [json.loads(line) for line in text.split("\n") if line]


PAIRS = lines_of(text_of(ROOT / "tests" / "data" / "outlive_pairs.jsonl"))
HELD_OUT = [pair for pair in PAIRS if pair["held_out"]]
LISTS = (WORDS, KOREAN_WORDS, KOREAN_STEMS, UNSPACED)


def holds(pair: dict[str, Any]) -> bool:
    """Whether what must outlive is estimated higher."""
    return estimate(pair["outlives"]) > estimate(pair["outlived"])


@pytest.mark.gate("EST-01")
def test_the_vectors_are_what_the_daemon_computes() -> None:
    vectors = lines_of((VECTORS / "estimate.jsonl").read_text("utf-8"))
    assert len(vectors) >= 200
    for vector in vectors:
        assert asdict(estimate_parts(vector["content"])) == vector["expected"], vector["name"]


@pytest.mark.gate("EST-02")
def test_the_table_of_pairs_is_as_large_as_it_says() -> None:
    assert len(PAIRS) - len(HELD_OUT) >= 150
    assert len(HELD_OUT) >= len(PAIRS) / 3
    assert len({(pair["outlives"], pair["outlived"]) for pair in PAIRS}) == len(PAIRS)
    assert all(pair["reason"] and pair["domain"] for pair in PAIRS)
    assert len({pair["language"] for pair in PAIRS}) == 9


@pytest.mark.gate("EST-02")
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair["held_out"]], ids=str)
def test_what_must_outlive_is_estimated_higher(pair: dict[str, Any]) -> None:
    assert holds(pair), pair["reason"]


@pytest.mark.gate("EST-02")
def test_the_score_of_the_pairs_held_out_is_the_one_that_is_documented() -> None:
    row = re.search(
        r"^\| pairs held out \| (\d+) of (\d+) \|$",
        text_of(ROOT / "docs/policy.md"),
        re.MULTILINE,
    )
    assert row is not None
    assert (int(row[1]), int(row[2])) == (sum(map(holds, HELD_OUT)), len(HELD_OUT))


@pytest.mark.gate("EST-06")
@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        ("I teach pottery in Ghent.", "She teaches pottery in Ghent."),
        ("She teaches pottery in Ghent.", "You teach pottery in Ghent."),
        ("You teach pottery in Ghent.", "You teach pottery in Ghent?"),
        ("She teaches pottery in Ghent.", "She teaches pottery."),
        ("She teaches pottery.", "She teaches pottery pottery pottery."),
        ("yesterday Anneliese came", "yesterday anneliese came"),
        ("the rent is 1450", "the rent is high"),
        ("the ferry leaves on Tuesday", "the ferry leaves on arrival"),
        ("I am allergic to peanuts", "I am partial to peanuts"),
        ("저는 땅콩 알레르기가 있어요.", "저는 땅콩 과자가 있어요."),
        ("我对花生过敏。", "我对花生好奇。"),
    ],
)
def test_what_says_more_is_worth_more(higher: str, lower: str) -> None:
    assert estimate(higher) > estimate(lower)


@pytest.mark.gate("EST-07")
@pytest.mark.parametrize(
    ("about", "empty"),
    [
        ("We never eat pork.", "We never know."),
        ("I don't eat pork.", "I don't worry."),
        ("술을 마시지 않아요.", "걱정하지 않아요."),
        ("운전을 못 배웠다.", "오늘 못 봐요."),
        ("他不吃牛肉。", "不好的。"),
    ],
)
def test_a_rule_or_a_negation_lifts_only_where_it_is_about_something(
    about: str, empty: str
) -> None:
    assert estimate_parts(about).standing > 0
    assert estimate_parts(empty).standing == 0


@pytest.mark.gate("EST-07")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "👍🎉",
        "ok",
        "Hello! How are you?",
        "haha lol",
        "Thanks so much!",
        "네 알겠습니다!",
        "ㅋㅋㅋ",
        "哈哈哈哈",
        "Danke, bis bald!",
    ],
)
def test_chat_and_marks_are_worth_little(text: str) -> None:
    assert estimate(text) < 0.2


@pytest.mark.gate("EST-08")
def test_no_estimate_passes_what_a_host_called_important_for_months() -> None:
    richest = (
        "I never eat nuts, allergic. Mother Ines born 3 May 1950 in Ghent; password due Monday."
    )
    assert ESTIMATE_MIN < estimate(richest) <= ESTIMATE_MAX
    snapshot = snapshot_of(
        [
            StoredMemory("host", importance=0.9, created_at=NOW - 120 * DAY),
            StoredMemory("estimated", importance=ESTIMATE_MAX, created_at=NOW),
        ]
    )
    policy = policy_named("balanced", "any")
    host, fresh = sweep_score(strength_parts(snapshot, NOW), snapshot.status, policy)
    assert host > fresh


@pytest.mark.gate("EST-09")
def test_each_word_stands_in_one_list_as_the_reader_meets_it() -> None:
    for lists in LISTS:
        words = [word for text in lists.values() for word in text.split()]
        assert len(words) == len(set(words))
        assert all(word == unicodedata.normalize("NFC", word.lower()) for word in words)
        assert set(lists) <= set(KINDS)


@pytest.mark.gate("EST-09")
@pytest.mark.parametrize("lists", [WORDS, KOREAN_WORDS, UNSPACED], ids=["words", "korean", "runs"])
def test_each_word_alone_is_read_as_its_kind(lists: dict[str, str]) -> None:
    read = {
        word: list(estimate_parts(word).words) for text in lists.values() for word in text.split()
    }
    meant = {word: [kind] for kind, text in lists.items() for word in text.split()}
    assert read == meant
