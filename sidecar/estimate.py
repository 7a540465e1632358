"""Estimated importance of a memory whose host sent none: what its words tell of its worth.

    sum      = weights of the different words, sentence by sentence: nothing for function words,
               little for chat, 1 for what no list knows, more for names, numbers and times; a
               sentence in the first person counts more, one that only addresses the other or
               asks counts less
    density  = sum / sqrt(words)
    standing = 0 to 1: what lasts however short it is said (an allergy, a deadline, a password)
    estimate = 0.1 + 0.4 * density / (density + 1.5) + 0.1 * standing

The estimate reads nothing but the text, so no other memory can move it; it is taken when a
memory is put and kept with `ESTIMATOR_VERSION`. It never reaches what a host calls important.
The client in ts-client/src/estimate.ts computes the same number to the last bit: both use only
+ - * / and sqrt, in the same order, and ranges of characters that are written out.
"""

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from sidecar.estimate_words import (
    KINDS,
    KOREAN_STEMS,
    KOREAN_WORDS,
    UNSPACED,
    WORDS,
)
from sidecar.limits import ESTIMATE_CHARACTERS_MAX

ESTIMATE_NEUTRAL: Final = 0.5

ESTIMATOR_VERSION: Final = "words-1"  # changes with anything that can change an estimate

ESTIMATE_MIN: Final = 0.1
VALUE_SHARE: Final = 0.4
STANDING_SHARE: Final = 0.1
ESTIMATE_MAX: Final = 0.6  # below what a host calls important, for months
DENSITY_HALF: Final = 1.5  # the density that gives half of the value's share
SENTENCES: Final = {"plain": 1.0, "first": 1.3, "addressed": 0.5, "question": 0.3}
CHARACTER_LENGTH: Final = 0.5  # of a character of a script without spaces, in words
STEM_SYLLABLES_MAX: Final = 4
ELISION_LETTERS_MAX: Final = 2  # l'adresse is an address, mom's is of mom

# Ranges of code points, first and last. Property tables would differ with the Unicode version.
LETTERS: Final = (
    (0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2AF),
    (0x300, 0x61E), (0x620, 0x963), (0x966, 0xDFF), (0xF00, 0xFFF), (0x10A0, 0x177F),
    (0x1800, 0x1FFF), (0x2C00, 0x2DFF), (0xA640, 0xABFF), (0xAC00, 0xD7A3), (0xFB00, 0xFDFF),
    (0xFE70, 0xFEFC), (0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A),
)  # fmt: skip
UNSPACED_SCRIPTS: Final = (
    (0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3041, 0x30FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xE000, 0xFAFF), (0xFF66, 0xFF9F), (0x10000, 0x1EFFF), (0x20000, 0x10FFFF),
)  # fmt: skip
CAPITALS: Final = ((0x41, 0x5A), (0xC0, 0xD6), (0xD8, 0xDE), (0x391, 0x3AB), (0x410, 0x42F))
CAPITAL_TO_SMALL: Final = 32  # code points further on, in each of these ranges
ENDS: Final = ".!?\u2026\u3002\uff01\uff1f\uff0e\u061f\u0964\n"


def _within(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_TOKEN: Final = re.compile(
    "https?://[^ \t\r\n]+"
    f"|[{_within(LETTERS)}]+(?:['\u2019_@.:/-][{_within(LETTERS)}]+|,[0-9]+)*"
    f"|[{_within(UNSPACED_SCRIPTS)}]+"
    f"|[{ENDS}]+"
)
_RUN: Final = re.compile(f"[{_within(UNSPACED_SCRIPTS)}]")
_FIRST_UNSPACED: Final = "\u0e00"
_EAST_ASIAN: Final = "\u3041"
_FIRST_SYLLABLE: Final = "\uac00"
_QUESTION: Final = re.compile("[?\uff1f\u061f]")
_DIGIT: Final = re.compile("[0-9]")
_REFERENCE: Final = re.compile("^https?://|@")
_CAPITAL: Final = re.compile(f"[{_within(CAPITALS)}]")
_FOLDED: Final = {
    code: code + CAPITAL_TO_SMALL for first, last in CAPITALS for code in range(first, last + 1)
} | {ord("\u2019"): "'"}
_Word = tuple[str, str]  # in folded case, and its kind


def _by_word(lists: dict[str, str]) -> dict[str, str]:
    return {word: kind for kind, words in lists.items() for word in words.split()}


_WORDS: Final = _by_word(WORDS)
_KOREAN_WORDS: Final = _by_word(KOREAN_WORDS)
_KOREAN_STEMS: Final = _by_word(KOREAN_STEMS)
_RUN_PARTS: Final = _by_word(UNSPACED)
_RUN_PART: Final = re.compile("|".join(sorted(_RUN_PARTS, key=len, reverse=True)) + "|.")
_BESIDE: Final = frozenset(kind for kind, adds in KINDS.items() if adds.beside)
# Looked past on the way to the word that a negation or a rule is about.
_LOOKED_PAST: Final = _BESIDE | {"function", "first", "second"}


@dataclass(frozen=True, slots=True)
class EstimateParts:
    """Why an estimate is what it is: estimate = ESTIMATE_MIN + value + standing.

    `words` counts the different words by kind and `sentences` the sentences by kind, as in
    KINDS and SENTENCES; `length` counts all words, repeated ones too.
    """

    estimate: float
    value: float
    standing: float
    length: float
    words: dict[str, int]
    sentences: dict[str, int]


class Estimator(Protocol):
    """Estimates importance from text. Deterministic, local, no download."""

    version: str

    def estimate(self, content: str) -> float:
        """A value from 0 (not worth keeping) to 1 (must be kept)."""
        ...


class TextEstimator:
    """Reads the words: see above."""

    version = ESTIMATOR_VERSION

    def estimate(self, content: str) -> float:
        """From ESTIMATE_MIN to ESTIMATE_MAX, for any text."""
        return estimate_parts(content).estimate


class NeutralEstimator:
    """Knows nothing of the text: every memory is worth the same.

    The first stores were written so; their memories keep it until estimates are refreshed.
    """

    version = "neutral-1"

    def estimate(self, content: str) -> float:
        """Always `ESTIMATE_NEUTRAL`."""
        return ESTIMATE_NEUTRAL


def estimate(content: str) -> float:
    """The importance of a text whose host said none, from ESTIMATE_MIN to ESTIMATE_MAX."""
    return estimate_parts(content).estimate


def estimate_parts(content: str) -> EstimateParts:
    """What lifts and lowers the estimate of a text. Reads its first characters only."""
    reading = _Reading()
    sentence: list[_Word] = []
    for token in _TOKEN.findall(_beginning(content)):
        if token[0] in ENDS:
            reading.add_sentence(sentence, asked=_QUESTION.search(token) is not None)
            sentence = []
        else:
            sentence += _words_of(token, first=not sentence)
    reading.add_sentence(sentence, asked=False)
    return reading.parts()


@dataclass(slots=True)
class _Reading:
    """What was read of a text so far."""

    sum: float = 0.0
    standing: float = 0.0
    length: float = 0.0
    seen: set[str] = field(default_factory=set[str])
    words: dict[str, int] = field(default_factory=dict[str, int])
    sentences: dict[str, int] = field(default_factory=dict[str, int])

    def add_sentence(self, words: list[_Word], *, asked: bool) -> None:
        """Add the words that are new; what asks, or only addresses the other, counts less."""
        if not words:
            return
        kinds = [kind for _, kind in words]
        sentence = _sentence_kind(kinds, asked=asked)
        self.sentences[sentence] = self.sentences.get(sentence, 0) + 1
        factor = SENTENCES[sentence]
        weights = 0.0
        for place, (text, kind) in enumerate(words):
            self.length += CHARACTER_LENGTH if kind == "character" else 1.0
            if text in self.seen:
                continue
            self.seen.add(text)
            self.words[kind] = self.words.get(kind, 0) + 1
            adds = KINDS[kind]
            weights += adds.weight
            if adds.lift and (not adds.beside or _beside_content(kinds, place, text)):
                self.standing += adds.lift * min(1.0, factor)
        self.sum += weights * factor

    def parts(self) -> EstimateParts:
        """What it all makes."""
        density = self.sum / math.sqrt(self.length) if self.length else 0.0
        value = VALUE_SHARE * density / (density + DENSITY_HALF)
        standing = STANDING_SHARE * min(1.0, self.standing)
        estimate = math.floor((ESTIMATE_MIN + value + standing) * 10_000 + 0.5) / 10_000
        return EstimateParts(estimate, value, standing, self.length, self.words, self.sentences)


def _beginning(content: str) -> str:
    """The first characters in NFC, of which each stands for at most four: reading is bounded."""
    content = content.lstrip(" \t\r\n")
    if not content.isascii():
        content = unicodedata.normalize("NFC", content[: 4 * ESTIMATE_CHARACTERS_MAX])
    return content[:ESTIMATE_CHARACTERS_MAX]


def _sentence_kind(kinds: list[str], *, asked: bool) -> str:
    if asked:
        return "question"
    if "first" in kinds:
        return "first"
    return "addressed" if "second" in kinds else "plain"


def _beside_content(kinds: list[str], place: int, text: str) -> bool:
    """Whether the word is about something: English looks ahead, Korean and Chinese both ways."""
    if _is_content(kinds[place + 1 :]):
        return True
    return text[0] >= _EAST_ASIAN and _is_content(kinds[:place][::-1])


def _is_content(kinds: list[str]) -> bool:
    nearest = next((kind for kind in kinds if kind not in _LOOKED_PAST), "chat")
    return nearest != "chat"


def _words_of(token: str, *, first: bool) -> list[_Word]:
    """A token as one word in folded case, or a run without spaces as its parts, by kind."""
    if token[0] >= _FIRST_UNSPACED and _RUN.match(token):
        parts: list[str] = _RUN_PART.findall(token)
        return [(part, _RUN_PARTS.get(part, "character")) for part in parts]
    folded = token.lower() if token.isascii() else token.translate(_FOLDED)
    kind = _kind_of(folded)
    if kind == "content" and not first and _CAPITAL.match(token):
        kind = "name"
    return [(folded, kind)]


def _kind_of(word: str) -> str:
    kind = _WORDS.get(word)
    if kind is None and "'" in word:
        head, _, tail = word.partition("'")
        kind = _WORDS.get(tail if len(head) <= ELISION_LETTERS_MAX else head)
    if kind is not None:
        return kind
    if _REFERENCE.search(word):
        return "reference"
    if _DIGIT.search(word):
        return "number"
    return _korean_kind(word) if word[0] >= _FIRST_SYLLABLE else "content"


def _korean_kind(word: str) -> str:
    kind = _KOREAN_WORDS.get(word)
    for syllables in range(min(len(word), STEM_SYLLABLES_MAX), 0, -1):
        if kind is not None:
            return kind
        kind = _KOREAN_STEMS.get(word[:syllables])
    return kind or "content"
