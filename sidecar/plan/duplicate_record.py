"""What a text says, as the guard of duplicates compares it: facts by kind, words in order."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

ItemKind = Literal["word", "name", "number", "negation", "person"]


@dataclass(slots=True)
class Item:
    """A word that counts. `keys` are the forms by which it may meet one of another text."""

    kind: ItemKind
    keys: frozenset[str]
    role: str = ""
    noun: str = ""  # the key of which the role is told; empty: whichever
    past: bool = False
    opens: bool = False  # a capital word that opens a sentence: perhaps a name
    joined: bool = False  # an item of a list, not the only one
    place: str = ""  # the preposition before it


@dataclass(slots=True)
class Reading:
    """One text, read. `exact` are the codes whose letter case says something."""

    items: list[Item] = field(default_factory=list[Item])
    numbers: list[str] = field(default_factory=list[str])
    dates: Counter[str] = field(default_factory=Counter[str])
    units: Counter[str] = field(default_factory=Counter[str])
    negations: int = 0
    limits: Counter[str] = field(default_factory=Counter[str])
    persons: set[str] = field(default_factory=set[str])
    exact: dict[str, str] = field(default_factory=dict[str, str])
    negated: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    past: bool = False
    present: bool = False


class Record:
    """Writes a Reading, item by item, and remembers what the part before was."""

    def __init__(self) -> None:
        self.reading = Reading()
        self._number_open = False  # the part before was a number: a unit or scale may follow
        self._item_open = False  # the part before was an item: a particle may follow
        self._negation_open = False  # the next item is what is negated
        self._join = False
        self._place = ""

    def _add(self, item: Item) -> None:
        item.joined = item.joined or self._join
        item.place, self._place = self._place, ""
        self._join = False
        if self._negation_open and item.kind != "negation":
            self.reading.negated.append(item.keys)
            self._negation_open = False
        self.reading.items.append(item)
        self._item_open = True

    def _word_item(self, keys: frozenset[str], role: str = "", past: bool = False) -> None:
        self._number_open = False
        self._add(Item("word", keys, role, past=past))

    def _negate(self) -> None:
        self.reading.negations += 1
        self._add(Item("negation", frozenset({"#not"})))
        self._negation_open = True

    def _count(self, value: str) -> None:
        self.reading.numbers.append(value)
        self._add(Item("number", frozenset({"#" + value})))
        self._number_open = True

    def _date(self, name: str) -> None:
        self.reading.dates[name] += 1
        self._number_open = self._item_open = False
        self._negation_open = False

    def _take_number(self) -> str:
        """Take the number just read back: it was part of something larger."""
        self._number_open = False
        self.reading.items.pop()
        return self.reading.numbers.pop()

    def _scale(self, factor: int) -> None:
        value = float(self._take_number().replace(",", ""))
        self._count(f"{value * factor:.12g}")

    def _unit(self, unit: str) -> None:
        self.reading.units[unit] += 1
        self._number_open = False
        numbers = self.reading.numbers
        # Of a measure, zeros behind the point say nothing.
        if numbers and "." in numbers[-1]:
            numbers[-1] = numbers[-1].rstrip("0").rstrip(".")
