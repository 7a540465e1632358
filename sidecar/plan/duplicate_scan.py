"""Cutting a text into parts for the guard of duplicates: links, times, numbers, words, signs.

A part is what the reader looks at as one thing. Scripts that are written without spaces come as
runs of one script; letters, digits and compatibility forms are folded (NFKC) first, digits of
any script become 0-9.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

PartKind = Literal[
    "link", "iso", "clock", "phone", "version", "number", "code", "hangul", "han", "katakana",
    "hiragana", "thai", "sign", "word", "stop", "comma",
]  # fmt: skip

PHONE_DIGITS_MIN: Final = 7
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_UNSPACED = "\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_LETTER = rf"(?:(?![{_UNSPACED}])[^\W\d_]|[{_MARKS}])"
_PART: Final = rf"""
    (?P<link>[A-Za-z][A-Za-z0-9+.-]*://\S+|www\.\S+|[\w.+-]+@[\w-]+\.[\w.-]+|~?(?:/[\w.-]+){{2,}}/?)
    |(?P<iso>\d{{4}}-\d{{1,2}}-\d{{1,2}}(?!\d))
    |(?P<clock>\d{{1,2}}:\d{{2}}(?::\d{{2}})?)
    |(?P<phone>\+?\d+(?:[\ -]\d{{2,}})+)
    |(?P<version>[vV]\d+(?:\.\d+)*|\d+(?:\.\d+){{2,}})
    |(?P<number>(?:(?<![\w-])-)?\d+(?:[.,]\d+)*)
    |(?P<code>[^\W\d_]*[a-z][A-Z]\w*|\w+_\w*|[A-Za-z]+\d\w*|[A-Z](?:\+\+|\#))
    |(?P<hangul>[\uac00-\ud7a3]+)
    |(?P<han>[\u3005-\u3007\u3400-\u9fff]+)
    |(?P<katakana>[\u30a1-\u30fa\u30fc]+)
    |(?P<hiragana>[\u3041-\u3096]+)
    |(?P<thai>[\u0e00-\u0eff]+)
    |(?P<word>{_LETTER}+(?:'{_LETTER}+)*)
    |(?P<stop>[.!?。！？]|\n)
    |(?P<comma>[,;:、])
    |(?P<sign>°[CFcf]\b|[$€£¥₩%°<>≤≥≠+&]|[\u2190-\u21ff\u2600-\u27bf\U0001f000-\U0001faff]+)
"""
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": " ", "−": "-", "‐": "-", "‑": "-"})
_MERIDIEM = r"(?i)\b([ap])\.\s?m\.?(?!\w)"
_ENGLISH_TAILS: Final = frozenset({"s", "re", "m", "ve", "d", "ll"})
_WHOLE: Final = frozenset({"aujourd'hui", "o'clock"})


@dataclass(frozen=True, slots=True)
class Part:
    """One thing of a text: what it is, its text with the letter case it had."""

    kind: PartKind
    text: str

    @property
    def folded(self) -> str:
        """The text without letter case."""
        return unicodedata.normalize("NFKC", self.text.casefold())


def folded(text: str) -> str:
    """The text in which only letters and digits count: NFKC, no case, punctuation or space.

    A sign that says something (a currency, a comparison, an emoji, a combining mark) stays.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(
        char for char in plain if unicodedata.category(char)[0] in "LNMS" and char not in "`^~|"
    )


def parts_of(text: str) -> list[Part]:
    """The parts of a text in their order; what is neither word nor sign is left out."""
    plain = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    plain = re.sub(_MERIDIEM, r"\1m", plain)
    plain = "".join(
        str(unicodedata.decimal(char)) if char.isdecimal() and char > "9" else char
        for char in plain
    )
    found: list[Part] = []
    for match in re.finditer(_PART, plain, re.VERBOSE):
        kind, piece = match.lastgroup, match[0]
        if kind == "phone" and sum(map(str.isdigit, piece)) < PHONE_DIGITS_MIN:
            found += (
                [Part("number", number) for number in re.findall(r"\d+", piece)]
                if not _thousands(piece)
                else [Part("number", piece.replace(" ", ""))]
            )
        elif kind == "word" and "'" in piece:
            found += [Part("word", cut) for cut in _cut(piece)]
        elif kind == "link":
            found.append(Part("link", piece.rstrip(".,;:!?)")))
        else:
            found.append(Part(kind, piece))  # type: ignore[arg-type]
    return found


def _thousands(piece: str) -> bool:
    return re.fullmatch(r"\d{1,3}(?: \d{3})+", piece) is not None


def _cut(word: str) -> list[str]:
    plain = word.casefold()
    if plain in _WHOLE or plain.endswith("n't"):
        return [word]
    head, _, tail = word.partition("'")
    if tail.casefold() in _ENGLISH_TAILS:
        return [head, "'" + tail]
    return [cut for cut in word.split("'") if cut]


def number_of(text: str, *, decimal_comma: bool) -> str:
    """A number in one spelling: no separators of thousands, a point before decimals.

    Zeros at the end stay: of a version they say something.
    """
    comma, point = (".", ",") if decimal_comma else (",", ".")
    if re.fullmatch(rf"-?\d{{1,3}}(?:\{comma}\d{{3}})+(?:\{point}\d+)?", text):
        text = text.replace(comma, "")
    text = text.replace(",", ".")
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    return sign + (digits.lstrip("0") or "0" if "." not in digits else digits)
