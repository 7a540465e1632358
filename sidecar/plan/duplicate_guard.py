"""The guard of duplicates: two texts may be close and still say two things.

`difference` names why two texts must both stay, or answers None where they say the same. It
reads words, it does not understand: what it cannot place it takes for a difference, because a
duplicate that stays costs room, and a fact that goes is lost to the next question.
"""

import unicodedata
from collections import Counter
from typing import Final, Literal

from sidecar.limits import GUARD_TEXT_BYTES_MAX
from sidecar.plan.duplicate_reading import read_pair
from sidecar.plan.duplicate_record import Item, Reading
from sidecar.plan.duplicate_scan import folded
from sidecar.plan.duplicate_words import SUBJECTS

Difference = Literal["number", "date", "unit", "negation", "name", "words"]
DIFFERENCES: Final[tuple[Difference, ...]] = (
    "number", "date", "unit", "negation", "name", "words",
)  # fmt: skip

EXTRA_WORDS_MAX: Final = 2
_MARKED_ROLES: Final = frozenset({"subject", "object", "of", "from", "to", "until", "since", "at"})
Matched = list[tuple[int, int]]


def difference(a: str, b: str) -> Difference | None:
    """Why `a` and `b` are two facts: the first of DIFFERENCES that holds, None for one fact.

    Numbers, dates, units, negations and names must be the same in both, also where one text has
    more words. Of other words one text may have a few more than the other, but not each some of
    its own, and not another item of a list. Function words, inflection and the order of phrases
    may differ; who does what to whom may not. The same for (b, a).
    """
    if a == b:
        return None
    if max(len(a.encode()), len(b.encode())) > GUARD_TEXT_BYTES_MAX:
        return None if _spaced(a) == _spaced(b) else "words"
    one, two = read_pair(a, b)
    if not (one.items or two.items or one.dates or two.dates):
        return None if folded(a) == folded(b) else "words"
    if Counter(one.numbers) != Counter(two.numbers):
        return "number"
    if one.dates != two.dates:
        return "date"
    if one.units != two.units:
        return "unit"
    if one.numbers != two.numbers:
        return "number"
    if one.negations != two.negations:
        return "negation"
    pairs, extra_one, extra_two = _match(one, two)
    if _negates_another(one, two) or _negates_another(two, one):
        return "negation"
    if _names_differ(one, two, pairs, extra_one, extra_two):
        return "name"
    return "words" if _words_differ(one, two, pairs, extra_one, extra_two) else None


def _spaced(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _match(one: Reading, two: Reading) -> tuple[Matched, list[Item], list[Item]]:
    """The items that meet, by place, and what each text has beyond them."""
    free = dict(enumerate(two.items))
    pairs: Matched = []
    extra: list[Item] = []  # a pronoun too many is none: a text may leave it out
    accents = _has_accents(one) and _has_accents(two)
    for place, item in enumerate(one.items):
        found = next((p for p, other in free.items() if _meet(item, other, accents)), None)
        if found is None:
            extra += [item] if item.kind != "person" else []
        else:
            pairs.append((place, found))
            del free[found]
    return pairs, extra, [item for item in free.values() if item.kind != "person"]


def _meet(item: Item, other: Item, accents: bool) -> bool:
    shared = item.keys & other.keys
    return any(not key.startswith("a:") for key in shared) or (bool(shared) and not accents)


def _has_accents(reading: Reading) -> bool:
    return any(not key.isascii() for item in reading.items for key in item.keys if key[:2] != "a:")


def _negates_another(one: Reading, two: Reading) -> bool:
    """Whether a word is negated here that stands there without its negation."""
    there = [keys for item in two.items for keys in [item.keys] if item.kind != "negation"]
    negated_there = {key for keys in two.negated for key in keys}
    return any(
        not (keys & negated_there) and any(keys & other for other in there) for keys in one.negated
    ) and any(any(keys & item.keys for item in one.items) for keys in two.negated)


def _names_differ(
    one: Reading, two: Reading, pairs: Matched, extra_one: list[Item], extra_two: list[Item]
) -> bool:
    for extras in (extra_one, extra_two):
        if any(_may_be_name(item) for item in extras):
            return True
    shared = one.exact.keys() & two.exact.keys()
    if any(one.exact[key] != two.exact[key] for key in shared):
        return True
    named = [
        (here, there)
        for here, there in pairs
        if "name" in (one.items[here].kind, two.items[there].kind)
    ]
    there = [place for _, place in named]
    return there != sorted(there)


def _may_be_name(item: Item) -> bool:
    if item.keys & SUBJECTS:
        return False
    return item.kind == "name" or item.opens or item.role in ("topic", "subject")


def _words_differ(
    one: Reading, two: Reading, pairs: Matched, extra_one: list[Item], extra_two: list[Item]
) -> bool:
    if one.limits != two.limits or (extra_one and extra_two):
        return True
    extra = extra_one or extra_two
    if len(extra) > max(EXTRA_WORDS_MAX, len(pairs) // 2) or any(item.joined for item in extra):
        return True
    persons_one, persons_two = one.persons - two.persons, two.persons - one.persons
    if (persons_one and (persons_two or extra_two)) or (persons_two and extra_one):
        return True
    return (
        _times_differ(one, two, pairs)
        or not _moved_once([there for _, there in pairs])
        or _roles_differ(one, two, pairs)
        or _places_differ(one, two, pairs)
    )


def _times_differ(one: Reading, two: Reading, pairs: Matched) -> bool:
    for before, after in ((one, two), (two, one)):
        if before.past and not before.present and after.present and not after.past:
            return True
    return any(one.items[here].past != two.items[there].past for here, there in pairs)


def _moved_once(places: list[int]) -> bool:
    """Whether one order becomes the other by moving one phrase: more turns the sentence round."""
    order = sorted(places)
    while places and places[0] == order[0]:
        places, order = places[1:], order[1:]
    while places and places[-1] == order[-1]:
        places, order = places[:-1], order[:-1]
    if not places:
        return True
    start = places.index(order[0])
    return places[start:] + places[:start] == order


def _roles_differ(one: Reading, two: Reading, pairs: Matched) -> bool:
    """Whether particles say that another does it: one clear change, or two of any kind."""
    roles = (
        (_role_in(one.items[here], two.items[there]), _role_in(two.items[there], one.items[here]))
        for here, there in pairs
    )
    changed = [(before, after) for before, after in roles if before and after and before != after]
    clear = sum(set(change) <= _MARKED_ROLES for change in changed)
    return clear > 0 or len(changed) > 1


def _role_in(item: Item, other: Item) -> str:
    """The item's role, unless what looks like its particle is a part of the word."""
    return item.role if not item.noun or item.noun in other.keys else ""


def _places_differ(one: Reading, two: Reading, pairs: Matched) -> bool:
    """Whether a word follows another preposition of place, or its preposition another word."""
    if any(
        one.items[here].place != two.items[there].place
        for here, there in pairs
        if one.items[here].place and two.items[there].place
    ):
        return True
    here_bound = {item.place: here for here, item in enumerate(one.items) if item.place}
    there_bound = {item.place: there for there, item in enumerate(two.items) if item.place}
    met = dict(pairs)
    back = {there: here for here, there in pairs}
    return any(
        here in met and there_bound[place] in back and met[here] != there_bound[place]
        for place, here in here_bound.items()
        if place in there_bound
    )
