"""Runs of Han characters and of hiragana for the guard of duplicates, without a dictionary.

Each Han character that is no number, date, unit or small word counts as a word of its own. Of
hiragana only what is left without particles and verb endings counts.
"""

import re
from collections.abc import Iterator
from typing import Final

from sidecar.plan.duplicate_words import DAYS, RELATIVE_DATES, UNITS

_DIGITS: Final = {
    **{char: value for value, char in enumerate("〇一二三四五六七八九")},
    "零": 0,
    "两": 2,
    "兩": 2,
}
_SCALES: Final = {
    "十": 10,
    "百": 100,
    "千": 1_000,
    "万": 10**4,
    "萬": 10**4,
    "亿": 10**8,
    "億": 10**8,
}
_NUMERALS: Final = "".join([*_DIGITS, *_SCALES])
_NOT: Final = "不没沒無无未非别勿莫"
_LIMITS: Final = "只仅僅除约約前後后"
_FREE: Final = (
    "的了着呢吗是在有和就也都很之这那此些与及或把将被我你他她它们个名位条件本张間又已经过"
)
_COUNTERS: Final = "个個名位条件本张張只人枚匹台冊"
_DATE: Final = (
    "|".join(sorted([*DAYS, *RELATIVE_DATES], key=len, reverse=True)) + "|午前|午後|上午|下午"
)
_RUN: Final = f"[{_NUMERALS}]+"


def read_han(run: str, *, after_number: bool) -> Iterator[tuple[str, str]]:
    """What a run of Han says: (`date`, `number`, `unit`, `not`, `limit` or `word`, its value)."""
    at = 0
    while at < len(run):
        if date := re.match(_DATE, run[at:]):
            yield "date", _date_of(date[0])
            at, after_number = at + date.end(), False
            continue
        if number := re.match(_RUN, run[at:]):
            at, after_number = at + number.end(), True
            if number[0] == "一" and run[at : at + 1] and run[at] in _COUNTERS:
                at, after_number = at + 1, False  # "a", not "one"
                continue
            yield "number", str(_value(number[0]))
            continue
        if after_number and (unit := _unit_at(run, at)):
            yield "unit", UNITS[unit]
            at, after_number = at + len(unit), False
            continue
        char, counted = run[at], after_number and run[at] in _COUNTERS
        at, after_number = at + 1, False
        if char in _NOT:
            yield "not", char
        elif char in _LIMITS:
            yield "limit", char
        elif char not in _FREE and not counted:
            yield "word", char


def _date_of(name: str) -> str:
    if name in DAYS:
        return f"w{DAYS[name]}"
    return {"午前": "am", "上午": "am", "午後": "pm", "下午": "pm"}.get(name, name)


def _unit_at(run: str, at: int) -> str | None:
    return next((run[at : at + size] for size in (2, 1) if run[at : at + size] in UNITS), None)


def _value(numerals: str) -> int:
    """The value of 一百二十 or 二〇二六."""
    if not set(numerals) & set(_SCALES):
        return int("".join(str(_DIGITS[char]) for char in numerals))
    total = section = digit = 0
    for char in numerals:
        if char in _DIGITS:
            digit = _DIGITS[char]
            continue
        scale = _SCALES[char]
        if scale < 10_000:
            section += max(digit, 1) * scale
        else:
            total += max(section + digit, 1) * scale
            section = 0
        digit = 0
    return total + section + digit


_ROLES: Final = (
    ("から", "from"), ("まで", "until"), ("より", "than"), ("は", "topic"), ("が", "subject"),
    ("を", "object"), ("の", "of"), ("に", "to"), ("へ", "to"), ("で", "at"), ("と", "join"),
    ("も", "topic"),
)  # fmt: skip
_JAPANESE_NOT: Final = "ませんでした|ません|なかった|ない|なく|ずに"
_ENDINGS: Final = (
    "でしょう|でした|ました|います|いる|です|ます|である|だった|だ|します|する|した|して|ている|"
    "られ|から|まで|より|には|では|さん|さま|ください|こと|もの|[をはがのにへでとものたてるいきりみびしちけくえべ]"
)


def read_hiragana(run: str) -> tuple[str, int, str]:
    """The role that a run gives the word before it, how often it negates, and what else it says."""
    role = next((role for particle, role in _ROLES if run.startswith(particle)), "")
    negations = len(re.findall(_JAPANESE_NOT, run))
    rest = re.sub(_ENDINGS, "", re.sub(_JAPANESE_NOT, "", run))
    return role, negations, rest if len(rest) > 1 else ""
