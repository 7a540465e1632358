"""Korean words for the guard of duplicates: particles, verb endings, negation, counters.

A word is written together with its particles and endings, so it is taken apart until two forms
of one word meet. What is left over may be one of several stems: a word has all of them.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from sidecar.plan.duplicate_words import words_of

# Longest first. The role is what the noun does: two nouns that change roles change the fact.
PARTICLES: Final[tuple[tuple[str, str], ...]] = (
    ("에게서", "from"), ("으로부터", "from"), ("한테서", "from"), ("에서", "from"),
    ("으로", "to"), ("에게", "to"), ("한테", "to"), ("까지", "until"), ("부터", "since"),
    ("께서", "subject"), ("보다", "than"), ("이랑", "join"), ("하고", "join"), ("마다", "each"),
    ("씩", "each"), ("께", "to"), ("은", "topic"), ("는", "topic"), ("을", "object"),
    ("를", "object"), ("의", "of"), ("에", "at"), ("로", "to"), ("도", "topic"), ("과", "join"),
    ("와", "join"), ("랑", "join"), ("이", "subject"), ("가", "subject"), ("만", "only"),
)  # fmt: skip
# After a noun of one syllable these are as often a part of the word.
_DOUBTFUL: Final = frozenset({"이", "가", "만", "랑", "도", "로", "하고", "보다"})
_COPULA = "(까지|부터)?(이다|입니다|이에요|예요|에요|임|이야|이었다|였다|이며|이고|인|다)$"

COUNTERS: Final = (
    "가지", "번째", "마리", "사람", "군데", "박스", "명", "번", "개", "권", "잔", "대", "층", "병",
    "장", "호", "회", "차", "분", "알", "그루", "켤레", "벌", "통", "곳", "인", "위", "점", "등",
)  # fmt: skip
NUMBERS: Final = {
    "하나": 1, "한": 1, "둘": 2, "두": 2, "셋": 3, "세": 3, "넷": 4, "네": 4, "다섯": 5,
    "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9, "열": 10, "열한": 11, "열두": 12, "스무": 20,
    "스물": 20, "서른": 30, "마흔": 40, "쉰": 50,
}  # fmt: skip
FREE: Final = words_of(
    """그리고 및 매우 아주 정말 참 그 이 저 것 수 지금 현재 약 또 또는 있다 있어요 있습니다
    있음 있는 있고 있어 입니다 이다 들"""
)
_NEGATION = (
    "(안|못|않.*|없.*|아니.*|아닙.*|아닌.*|못하.*|못한.*|못해.*|못합.*|마세요|말아.*|말라|마라"
    "|마십시오|말.?다|말고|금지.*)$"
)
LIMITS: Final = words_of("""거의 아마 만약 더 덜 가끔 오직 겨우 제외 절반 반""")

_FINALS = {"ㄴ": "\u11ab", "ㄹ": "\u11af", "ㅁ": "\u11b7", "ㅂ": "\u11b8", "ㅆ": "\u11bb"}


def _jamo(text: str) -> str:
    return "".join(_FINALS.get(c, c) for c in unicodedata.normalize("NFD", text))


_ENDINGS = "|".join(
    _jamo(ending)
    for ending in (
        *("습니다", "ㅂ니다", "으세요", "세요", "는다", "ㄴ다", "어요", "아요", "여요", "네요"),
        *("려고", "으면", "면서", "으며", "지만", "거나", "다", "요", "음", "ㅁ", "어", "아", "고"),
        *("며", "지", "게", "는", "은", "ㄴ", "ㄹ", "을", "면", "서", "기"),
    )
)
_PAST = _FINALS["ㅆ"]
_OPENED = (("\u1112\u1162", "\u1112\u1161"), ("\u1167", "\u1175"), ("\u116a", "\u1169"),
           ("\u116f", "\u116e"), ("\u116b", "\u116c"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class KoreanWord:
    """A word between spaces: the stems it may have, its noun's role, whether it tells the past."""

    stems: frozenset[str]
    role: str = ""
    noun: str = ""
    past: bool = False


def is_negation(word: str) -> bool:
    """Whether the word turns the statement round."""
    return re.match(_NEGATION, word) is not None


def korean_word(word: str) -> KoreanWord:
    """Take a word apart. Of no use for negations and numbers: ask for these first."""
    stems = {word}
    role = of = ""
    for particle, meaning in PARTICLES:
        if word.endswith(particle) and len(word) > len(particle):
            noun = word.removesuffix(particle)
            if len(noun) > 1 or particle not in _DOUBTFUL:
                stems.add(noun)
                role, of = meaning, noun
            break
    noun = re.sub(_COPULA, "", word)
    if len(noun) > 0 and noun != word:
        stems.add(noun)
    verb, past = _verb(word)
    stems.update("v:" + stem for stem in verb)
    return KoreanWord(frozenset(stems), role, of, past)


def _verb(word: str) -> tuple[set[str], bool]:
    """The stems of a verb form, in letters, and whether it is of the past."""
    letters = _jamo(word)
    bare = re.sub(f"(?:{_ENDINGS})$", "", letters, count=1)
    if bare == letters or len(bare) < 2:
        return set(), False
    past = bare.endswith(_PAST) and not word.startswith(("있", "계")) and "겠" not in word
    if past:
        bare = bare.removesuffix(_PAST)
        bare = re.sub("(?<=[\u11a8-\u11ff])\u110b[\u1161\u1165]$", "", bare)
    for contracted, full in _OPENED:
        if bare.endswith(contracted):
            bare = bare.removesuffix(contracted) + full
    stems = {bare}
    syllables = len(re.findall("[\u1161-\u1175]", bare))
    loose = re.sub("[\u11ae\u11af\u11b8]$", "", bare)
    stems.add(loose)
    if syllables > 1 and bare[-1] in "\u1173\u1161\u1165":
        stems.add(bare[:-1])
    return stems, past


def sino_number(word: str) -> int | None:
    """The value of 삼백 or 이십오; None for what is not surely a number."""
    digits = {char: value for value, char in enumerate("영일이삼사오육칠팔구")}
    scales = {"십": 10, "백": 100, "천": 1_000}
    if len(word) < 2 or not re.fullmatch("[일이삼사오육칠팔구십백천]+", word):
        return None
    if not set(word) & set(scales):
        return None
    total, current = 0, 0
    for char in word:
        if char in scales:
            total, current = total + max(current, 1) * scales[char], 0
        else:
            current = digits[char]
    return total + current


def is_copula(word: str) -> bool:
    """Whether the word is nothing but a form of "to be" behind a noun."""
    return re.fullmatch(_COPULA, word) is not None
