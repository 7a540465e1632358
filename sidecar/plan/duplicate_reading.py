"""Reading a text for the guard of duplicates: from its parts to the facts that it states."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Final

from sidecar.plan import duplicate_korean as korean
from sidecar.plan.duplicate_han import read_han, read_hiragana
from sidecar.plan.duplicate_record import Item, Reading, Record
from sidecar.plan.duplicate_scan import Part, number_of, parts_of
from sidecar.plan.duplicate_stems import spellings_of, stems_of
from sidecar.plan.duplicate_words import (
    DAYS,
    ENGLISH,
    GERMAN,
    LEXICONS,
    MONEY,
    MONTHS,
    OTHER,
    PERSONS,
    RELATIVE_DATES,
    SCALES,
    SECRETS,
    UNITS,
    Lexicon,
)

_ROMAN: Final = {
    name: value
    for value, name in enumerate(
        ["II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "XI", "XII", "XIII", "XIV"], 2
    )
}
_MERIDIEM: Final = {"am": 0, "pm": 12, "오전": 0, "오후": 12}
_AMBIGUOUS_MONTHS: Final = frozenset({"may", "march", "mar", "mars", "sept", "jan", "mai", "dec"})


def read_pair(a: str, b: str) -> tuple[Reading, Reading]:
    """Both texts, read as texts of one language: the one whose small words they have."""
    parts_a, parts_b = parts_of(a), parts_of(b)
    lexicon = _lexicon_of([part.folded for part in parts_a + parts_b if part.kind == "word"])
    return _Reader(parts_a, lexicon).reading, _Reader(parts_b, lexicon).reading


def _lexicon_of(words: Iterable[str]) -> Lexicon:
    found = Counter(words)

    def hits(lexicon: Lexicon) -> int:
        known = lexicon.free | lexicon.negations
        return sum(times for word, times in found.items() if word in known)

    return max(LEXICONS, key=hits)


class _Reader(Record):
    """Reads parts from left to right into a Reading."""

    def __init__(self, parts: list[Part], lexicon: Lexicon) -> None:
        super().__init__()
        self._parts = parts
        self._lexicon = lexicon
        self._numbers = dict(lexicon.numbers)
        self._capitals_say = (
            any(part.text != part.text.upper() for part in parts if part.kind == "word")
            and lexicon is not GERMAN
        )
        self._case_says = any(
            part.folded in SECRETS or part.text.startswith(tuple(SECRETS)) for part in parts
        )
        self._decimal_comma = lexicon not in (ENGLISH, OTHER)
        self._opens = True
        self._half_day: int | None = None
        self._at = 0
        while self._at < len(parts):
            part = parts[self._at]
            self._at += 1
            getattr(self, f"_{part.kind}")(part)
            if part.kind not in ("stop", "comma"):
                self._opens = False
        self._finish_clock()

    # The kinds of parts.

    def _stop(self, _: Part) -> None:
        self._opens = True
        self._number_open = False

    def _comma(self, part: Part) -> None:
        self._join = part.text in ",、"
        self._number_open = False

    def _link(self, part: Part) -> None:
        self._add(Item("name", frozenset({part.text})))

    def _phone(self, part: Part) -> None:
        self._count("".join(filter(str.isdigit, part.text)))

    def _version(self, part: Part) -> None:
        self._count(part.folded.removeprefix("v"))
        self._number_open = False

    def _iso(self, part: Part) -> None:
        for letter, piece in zip("ymd", part.text.split("-"), strict=True):
            self._date(f"{letter}{int(piece)}")

    def _clock(self, part: Part) -> None:
        pieces = [int(piece) for piece in part.text.split(":")]
        self._time(pieces[0], pieces[1], *pieces[2:])

    def _time(self, hour: int, minute: int = 0, second: int = 0) -> None:
        following = self._peek()
        half = self._half_day
        if following in ("am", "pm"):
            half = _MERIDIEM[following]
            self._at += 1
        if half is not None:
            hour = hour % 12 + half
            self._half_day = None
        self._date(f"t{hour:02}:{minute:02}:{second:02}")

    def _finish_clock(self) -> None:
        if self._half_day is not None:
            self._date("pm" if self._half_day else "am")

    def _peek(self) -> str:
        return self._parts[self._at].folded if self._at < len(self._parts) else ""

    def _number(self, part: Part) -> None:
        following = self._peek()
        value = number_of(part.text, decimal_comma=self._decimal_comma)
        if following in ("am", "pm"):
            self._time(int(float(value)) % 24)
            return
        self._count(value)
        if following in ("st", "nd", "rd", "th", "er", "e"):
            self._at += 1
        self._month_beside()

    def _month_beside(self) -> None:
        """A number beside a month is its day, or the year."""
        dates = self.reading.dates
        before = self._parts[max(0, self._at - 3) : self._at]
        month = any(part.folded in MONTHS for part in before) or self._peek() in MONTHS
        if (
            month
            and self._number_open
            and any(d.startswith("m") for d in dates) | (self._peek() in MONTHS)
        ):
            value = self._take_number()
            self._date(("y" if len(value) == 4 else "d") + value)

    def _code(self, part: Part) -> None:
        self._number_open = False
        self.reading.exact[part.folded] = part.text
        self._add(Item("name", frozenset({part.folded})))

    def _sign(self, part: Part) -> None:
        sign = part.folded
        if sign in UNITS:
            self._unit(UNITS[sign])
        elif sign in ("&", "+"):
            self._join = True
        elif unicodedata.category(sign[0]) == "Sm":
            self.reading.limits[sign] += 1
        else:
            self._word_item(frozenset({sign}))

    def _katakana(self, part: Part) -> None:
        if part.folded in UNITS and self._number_open:
            self._unit(UNITS[part.folded])
        else:
            self._word_item(frozenset({part.folded}))

    def _thai(self, part: Part) -> None:
        for _ in range(part.text.count("ไม่")):
            self._negate()
        self._word_item(frozenset({part.text.replace("ไม่", "")}))

    def _han(self, part: Part) -> None:
        for kind, value in read_han(part.text, after_number=self._number_open):
            match kind:
                case "date":
                    self._date(value)
                case "number":
                    self._count(value)
                case "unit":
                    self._unit(value)
                case "not":
                    self._negate()
                case "limit":
                    self.reading.limits[value] += 1
                case _:
                    self._word_item(frozenset({value}))

    def _hiragana(self, part: Part) -> None:
        self._number_open = False
        role, negations, rest = read_hiragana(part.text)
        if role and self._item_open:
            self.reading.items[-1].role = role
        for _ in range(negations):
            self._negate()
        if rest:
            self._word_item(frozenset({rest}))

    def _hangul(self, part: Part) -> None:
        word = part.text
        if self._number_open:
            word = self._counted(word)
            if not word:
                return
        bare = next((word.removesuffix(p) for p, _ in korean.PARTICLES if word.endswith(p)), word)
        bare = bare.removesuffix("입니다").removesuffix("이다")
        if korean.is_negation(word):
            self._negate()
        elif word in _MERIDIEM or bare in _MERIDIEM:
            self._half_day = _MERIDIEM[word if word in _MERIDIEM else bare]
        elif bare in DAYS:
            self._date(f"w{DAYS[bare]}")
        elif bare in RELATIVE_DATES:
            self._date(bare)
        elif word in korean.FREE or bare in korean.FREE:
            self._number_open = False
        elif word in korean.LIMITS or bare in korean.LIMITS:
            self.reading.limits[bare] += 1
        elif word in korean.NUMBERS:
            self._count(str(korean.NUMBERS[word]))
        elif (value := korean.sino_number(word)) is not None:
            self._count(str(value))
        elif bare in UNITS and UNITS[bare] in MONEY:
            self._unit(UNITS[bare])
        else:
            self._korean_word(word)

    def _korean_word(self, word: str) -> None:
        taken = korean.korean_word(word)
        if taken.role == "only":
            self.reading.limits["only"] += 1
        self._word_item(taken.stems, taken.role, taken.past)
        self.reading.items[-1].noun = taken.noun
        if taken.role == "join":
            self.reading.items[-1].joined = True
            self._join = True

    def _counted(self, word: str) -> str:
        """Take scale, unit or counter from a word behind a number; what is left of the word."""
        for scale, factor in (("만", 10_000), ("억", 10**8), ("천", 1_000)):
            if word.startswith(scale):
                word = word.removeprefix(scale)
                self._scale(factor)
                break
        for sign, letter in (("년", "y"), ("월", "m"), ("일", "d")):
            if word.startswith(sign) and not word.startswith("일주"):
                self._date(letter + self._take_number())
                return self._rest(word.removeprefix(sign))
        if word.startswith("시") and not word.startswith("시간"):
            self._time(int(float(self._take_number())) % 24)
            return self._rest(word.removeprefix("시"))
        for unit in sorted(UNITS, key=len, reverse=True):
            if word.startswith(unit):
                self._unit(UNITS[unit])
                return self._rest(word.removeprefix(unit))
        for counter in korean.COUNTERS:
            if word.startswith(counter):
                self._number_open = False
                return self._rest(word.removeprefix(counter))
        return self._rest(word)

    def _rest(self, word: str) -> str:
        particles = {particle for particle, _ in korean.PARTICLES}
        return "" if not word or word in particles or korean.is_copula(word) else word

    def _word(self, part: Part) -> None:
        word, lexicon, reading = part.folded, self._lexicon, self.reading
        capital = part.text[:1].isupper() and self._capitals_say
        if self._case_says and not self._opens:
            reading.exact[word] = part.text
        named = capital and not self._opens
        if word in PERSONS and lexicon is ENGLISH and not (named and part.text.isupper()):
            self._person(PERSONS[word])
        reading.past |= word in lexicon.past
        reading.present |= word in lexicon.present and self._peek() != "been"
        if word in lexicon.places:
            self._place = word
        if self._number_open and self._after_number(word):
            return
        if part.text in _ROMAN and named:
            self._count(str(_ROMAN[part.text]))
        elif self._is_month(word, capital):
            self._date(f"m{MONTHS[word]}")
        elif word in DAYS:
            self._date(f"w{DAYS[word]}")
        elif word in RELATIVE_DATES:
            self._date(word)
        elif named and part.text != "I":
            self._number_open = False
            self._add(Item("name", spellings_of(word)))
        elif word in lexicon.negations or word in OTHER.negations - lexicon.free:
            self._negate()
        elif word in lexicon.limits:
            reading.limits[word] += 1
        elif word in self._numbers:
            self._number_word(word)
        elif word in UNITS and UNITS[word] in MONEY:
            self._unit(UNITS[word])
        else:
            self._plain_word(part, word)

    def _person(self, person: str) -> None:
        self.reading.persons.add(person)
        self.reading.items.append(Item("person", frozenset({"p:" + person})))

    def _plain_word(self, part: Part, word: str) -> None:
        lexicon, reading = self._lexicon, self.reading
        self._number_open = False
        if word in lexicon.joins:
            if reading.items:
                reading.items[-1].joined = True
            self._join = True
        elif word not in lexicon.free:
            self._word_item(stems_of(word, lexicon is ENGLISH), past=word.endswith("ed"))
            self.reading.items[-1].opens = self._opens and part.text[:1].isupper()

    def _number_word(self, word: str) -> None:
        value = self._numbers[word]
        if self._number_open and self.reading.numbers[-1].isdigit():
            before = int(self.reading.numbers[-1])
            if before >= 20 and before % 10 == 0 and value < 10:
                self._take_number()
                value += before
        self._count(str(value))
        self._month_beside()

    def _is_month(self, word: str, capital: bool) -> bool:
        if word not in MONTHS:
            return False
        return word not in _AMBIGUOUS_MONTHS or capital or self._lexicon is not ENGLISH

    def _after_number(self, word: str) -> bool:
        """Read a scale, a unit or a clock's half after a number; whether it was one."""
        if word in SCALES:
            self._scale(SCALES[word])
        elif word in UNITS:
            self._unit(UNITS[word])
        else:
            return False
        return True
