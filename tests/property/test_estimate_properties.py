"""Estimates of any text: within their bounds, and the same however the text is written."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.estimate import ESTIMATE_MAX, ESTIMATE_MIN, estimate, estimate_parts
from sidecar.estimate_words import KOREAN_WORDS, UNSPACED, WORDS
from sidecar.limits import CONTENT_BYTES_MAX, ESTIMATE_CHARACTERS_MAX
from tests.hostile_inputs import TEXTS

KNOWN = sorted(
    word
    for lists in (WORDS, KOREAN_WORDS, UNSPACED)
    for words in lists.values()
    for word in words.split()
)
MARKS = st.sampled_from(
    [" ", ". ", "? ", "! ", ", ", "'s ", "-", "\n", "Kestrel ", "42 ", "\u0301"]
)
SENTENCES = st.lists(st.sampled_from(KNOWN) | MARKS | st.text(max_size=5)).map("".join)
ANY_TEXT = SENTENCES | st.text() | st.sampled_from(TEXTS)


def assert_sane(content: str) -> None:
    """From the least to the most, to four decimals, and explained by its two shares."""
    parts = estimate_parts(content)
    assert ESTIMATE_MIN <= parts.estimate <= ESTIMATE_MAX
    assert parts.estimate == round(parts.estimate, 4)
    assert abs(ESTIMATE_MIN + parts.value + parts.standing - parts.estimate) <= 0.000051
    assert estimate_parts(content) == parts


@pytest.mark.gate("EST-03")
@given(ANY_TEXT)
def test_every_text_has_an_estimate_within_its_bounds(content: str) -> None:
    assert_sane(content)


@pytest.mark.gate("EST-03")
@pytest.mark.parametrize(
    "unit", ["a", " ", "\n", "가", "\u1100\u1161", "😀", "\u0301", "a'", "?!", "não "]
)
def test_the_longest_texts_have_one_too(unit: str) -> None:
    assert_sane(unit * (CONTENT_BYTES_MAX // len(unit.encode())))


@pytest.mark.gate("EST-04")
@given(SENTENCES | st.text(st.characters(exclude_categories=["Cs"])))
def test_space_around_and_composition_change_nothing(content: str) -> None:
    found = estimate(content)
    assert estimate(f"\n {content}\t \r\n") == found
    assert estimate(unicodedata.normalize("NFC", content)) == found
    assert estimate(unicodedata.normalize("NFD", content)) == found


@pytest.mark.gate("EST-05")
@given(SENTENCES.filter(lambda text: text.strip()), SENTENCES)
def test_what_stands_after_the_beginning_changes_nothing(content: str, rest: str) -> None:
    composed = unicodedata.normalize("NFC", f"x{content}")
    repeated = composed * (ESTIMATE_CHARACTERS_MAX // len(composed) + 1)
    beginning = unicodedata.normalize("NFC", repeated)[:ESTIMATE_CHARACTERS_MAX] + "x"
    found = estimate(beginning)
    assert estimate(beginning + rest) == found
    assert estimate(unicodedata.normalize("NFD", beginning + rest)) == found
