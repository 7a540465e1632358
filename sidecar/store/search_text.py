"""How text is found: what goes into the index, and what a query asks of it.

The table `search` splits text with SQLite's `porter unicode61`, which takes a run of Hangul,
Han or kana as one word and cuts Thai and Indic words at their vowel signs. So text is prepared
first: scripts that are not found word by word become overlapping pairs of characters, and what
the tokenizer would drop or tear (vowel signs, emoji) becomes a word of digits. A query is
prepared the same way; nothing of it is ever read as FTS5 syntax.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

import apsw

QUERY_TERMS_MAX: Final = 64
# Content is bounded in bytes, but compatibility forms can grow: this bounds what is indexed.
INDEX_CHARACTERS_MAX: Final = 1_048_576
# Canonical ordering is quadratic in a run of combining marks, so it works on short pieces.
_NORMALISE_CHARACTERS: Final = 512

# Scripts in which a word is not a run of letters between spaces (Hangul glues particles on),
# or whose vowel signs unicode61 would cut at: Indic, Thai, Lao, Tibetan, Myanmar, Khmer, ...
_PAIRED = (
    "\u0900-\u0dff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0f40-\u0fbc\u1000-\u109f"
    "\u1100-\u11ff\u1780-\u17d3\u3005-\u3007\u3041-\u30fa\u30fc-\u318f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# Those of them that unicode61 keeps whole, so that they need no digits.
_PLAIN = "\u3041-\u3096\u30a1-\u30fa\u3400-\u4db5\u4e00-\u9fcc\uac00-\ud7a3"
_SYMBOLS = "\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff"

# Accents, vowel points and soft hyphens: a word is found with and without them.
_MARKS = re.compile(
    "[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]"
)

_TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])  # as in the migration
_SPECIAL = re.compile(f"([{_PAIRED}]+)|([{_SYMBOLS}])")
_PART = re.compile(f"([{_PAIRED}]+)|([{_SYMBOLS}])|((?:(?![{_PAIRED}])[^\\W_])+)")
# SQLite knows other characters as letters than Python does: where words end is decided here.
_BETWEEN = re.compile(f"[^\\w{_PAIRED}{_SYMBOLS}]+|_")
_NOT_PLAIN = re.compile(f"[^{_PLAIN}]")
_PIECE = re.compile(
    f"(?s).{{1,{_NORMALISE_CHARACTERS}}}(?![\u0300-\u036f\u1160-\u11ff\u3099\u309a])"
    f"|.{{1,{_NORMALISE_CHARACTERS}}}"
)

_ENGLISH = """
    a about after again all am an and any are as at be because been before being between both but
    by can could did do does doing don down during each few for from further had has have having
    he her here hers him his how i if in into is it its itself just me more most my no nor not now
    of off on once only or other our ours out over own s same she should so some such t than that
    the their theirs them then there these they this those through to too under until up very was
    we were what when where which while who whom why will with would you your yours
"""
ENGLISH_STOP_WORDS: Final = frozenset(_ENGLISH.split())
# A particle that stands alone is what is left of a word like "GPT를", not what is looked for.
_KOREAN = "은 는 이 가 을 를 에 의 도 로 와 과 만 에서 으로 에게 한테 까지 부터 처럼 보다 이랑"
KOREAN_PARTICLES: Final = frozenset(_KOREAN.split())
_NOT_ASKED_FOR = ENGLISH_STOP_WORDS | KOREAN_PARTICLES


def index_text(content: str) -> str:
    """The text to put into the `search` table for a memory's content.

    Linear in the content; at most INDEX_CHARACTERS_MAX characters of it are indexed.
    """
    text = _fold(content)
    if text.isascii():
        return text
    return _SPECIAL.sub(_replace_special, _BETWEEN.sub(" ", text))


def match_expression(query: str) -> str | None:
    """The FTS5 MATCH expression of a query, or None when it holds nothing to look for."""
    return parse_query(query).expression


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One thing to look for: a word, a pair of characters, or (a prefix) a single character."""

    text: str
    prefix: bool

    @property
    def expression(self) -> str:
        """The term as FTS5 syntax; `text` holds letters and digits only."""
        return f'"{self.text}" *' if self.prefix else f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A query's distinct terms, in the order in which they were written."""

    terms: tuple[QueryTerm, ...]

    @property
    def expression(self) -> str | None:
        """Any of the terms, as an FTS5 MATCH expression; None without terms."""
        return " OR ".join(term.expression for term in self.terms) or None


def parse_query(query: str) -> TextQuery:
    """The terms of a query, at most QUERY_TERMS_MAX.

    English stop words and Korean particles that stand alone are left out unless nothing else
    remains.
    """
    parts = [(match.lastindex, match.group()) for match in _PART.finditer(_fold(query))]
    kept = [part for part in parts if part[1] not in _NOT_ASKED_FOR] or parts
    terms: dict[QueryTerm, None] = {}
    for kind, text in kept:
        for term in _terms_of(kind, text):
            terms[term] = None
        if len(terms) >= QUERY_TERMS_MAX:
            break
    return TextQuery(tuple(terms)[:QUERY_TERMS_MAX])


def _terms_of(kind: int | None, text: str) -> Iterable[QueryTerm]:
    if kind == 1 and len(text) == 1:
        return [QueryTerm(_spell(text), prefix=True)]
    if kind == 1:
        return [QueryTerm(pair, prefix=False) for pair in _pairs(text)]
    return [QueryTerm(_spell(text) if kind == 2 else text, prefix=False)]


def _replace_special(match: re.Match[str]) -> str:
    run = match.group(1)
    if run is None:
        return f" {_spell(match.group(2))} "
    # The last character stands alone too, so that every character begins some word.
    return f" {' '.join([*_pairs(run), _spell(run[-1])])} "


def _pairs(run: str) -> list[str]:
    pairs = list(map(str.__add__, run, run[1:]))
    return [_spell(pair) for pair in pairs] if _NOT_PLAIN.search(run) else pairs


@functools.lru_cache(maxsize=16_384)
def _spell(characters: str) -> str:
    """The characters themselves, or a word of digits where unicode61 would tear them.

    Decimal digits, all of one width: the stemmer leaves them alone, and the word of one
    character is a prefix of the word of a pair.
    """
    if not _NOT_PLAIN.search(characters):
        return characters
    return "u" + "".join(f"{ord(character):07d}" for character in characters)


def _fold(text: str) -> str:
    """Compatibility forms and letter case folded; bounded in length."""
    if text.isascii():
        return text[:INDEX_CHARACTERS_MAX].lower()
    pieces = (unicodedata.normalize("NFKC", piece) for piece in _PIECE.findall(text))
    return _MARKS.sub("", "".join(pieces)[:INDEX_CHARACTERS_MAX].casefold())


# --- the same matching outside the table -------------------------------------------------


class TermCounter:
    """Counts a query's terms in texts, word for word as the table `search` would.

    It asks SQLite's own tokenizer, so stems and folded accents agree. For one thread.
    """

    def __init__(self, query: TextQuery) -> None:
        self._tokenizer = apsw.Connection(":memory:").fts5_tokenizer(*_TOKENIZER)
        self.phrases = [self._tokens(term.text) for term in query.terms]
        self._prefixes = [term.text if term.prefix else None for term in query.terms]
        self._words = {phrase[0] for phrase in self.phrases if phrase}
        self._has_prefix = any(term.prefix for term in query.terms)
        self._hint = _hint(self.phrases)

    def count(self, content: str) -> list[int] | None:
        """How often each term occurs in a content; None when none does."""
        if content.isascii() and not (self._hint and self._hint.search(content)):
            return None
        tokens = self._tokens(index_text(content))
        if not self._has_prefix and self._words.isdisjoint(tokens):
            return None
        counts = [
            _count_prefix(tokens, prefix) if prefix else _count_phrase(tokens, phrase)
            for phrase, prefix in zip(self.phrases, self._prefixes, strict=True)
        ]
        return counts if any(counts) else None

    def share(self, content: str) -> float:
        """Which share of the terms occurs in a content, from 0 to 1."""
        counts = self.count(content) or [0]
        return sum(count > 0 for count in counts) / len(counts)

    def length(self, content: str) -> int:
        """How many words the table would index of a content."""
        return len(self._tokens(index_text(content)))

    def _tokens(self, text: str) -> list[str]:
        tokens = self._tokenizer(
            text.encode(),
            apsw.FTS5_TOKENIZE_DOCUMENT,
            None,
            include_offsets=False,
            include_colocated=False,
        )
        return cast(list[str], tokens)


def _hint(phrases: Sequence[Sequence[str]]) -> re.Pattern[str] | None:
    """A quick test that every ASCII content with one of the terms passes.

    The stemmer changes at most the last two letters of what it leaves of a word, and only the
    last one of three or fewer.
    """
    words = {phrase[0] for phrase in phrases if phrase and phrase[0].isascii()}
    beginnings = {word[: max(1, len(word) - (2 if len(word) > 3 else 1))] for word in words}
    if not beginnings:
        return None
    return re.compile("|".join(map(re.escape, sorted(beginnings))), re.IGNORECASE | re.ASCII)


def _count_prefix(tokens: Sequence[str], prefix: str) -> int:
    return sum(token.startswith(prefix) for token in tokens)


def _count_phrase(tokens: Sequence[str], phrase: Sequence[str]) -> int:
    if len(phrase) == 1:
        return tokens.count(phrase[0])
    width = len(phrase)
    starts = range(len(tokens) - width + 1) if width else ()
    return sum(tokens[start : start + width] == phrase for start in starts)
