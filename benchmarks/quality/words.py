"""The words of the turns: how rare they are so far, and which earlier turns a turn is like."""

import re
from typing import Final

import numpy as np

from benchmarks.quality.dialogue import Dialogue, Float64, Rows

_WORD: Final = re.compile(r"[\uac00-\ud7a3]+|[^\W\uac00-\ud7a3]+")
_HANGUL: Final = re.compile(r"[\uac00-\ud7a3]")


def terms(text: str) -> list[str]:
    """The words in lower case; of Korean, where particles cling to words, pairs of syllables."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        if _HANGUL.match(word) and len(word) > 1:
            found += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            found.append(word)
    return found


class Words:
    """The different words of each turn of a dialogue, and statistics of the turns so far."""

    def __init__(self, dialogue: Dialogue) -> None:
        numbers: dict[str, int] = {}
        rows: list[int] = []
        words: list[int] = []
        for row, turn in enumerate(dialogue.turns):
            for word in dict.fromkeys(terms(turn.text)):
                rows.append(row)
                words.append(numbers.setdefault(word, len(numbers)))
        self._row = np.array(rows, dtype=np.int64)
        self._word = np.array(words, dtype=np.int64)
        self._vocabulary = len(numbers)

    def rarity(self, count: int) -> Float64:
        """Of the first `count` turns, the sum of log(turns / turns with the word) over its words.

        Only these turns are counted: nobody knows what will be said.
        """
        end = int(np.searchsorted(self._row, count))
        row, word = self._row[:end], self._word[:end]
        frequency = np.bincount(word, minlength=self._vocabulary)
        return np.bincount(row, weights=np.log(count / frequency[word]), minlength=count)

    def matrix(self, count: int) -> Float64:
        """A unit row for each of `count` turns: its words, each weighted by its rarity."""
        dense = np.zeros((count, self._vocabulary))
        frequency = np.bincount(self._word, minlength=self._vocabulary)
        dense[self._row, self._word] = np.log(count / frequency[self._word])
        return dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-12)


WANTED_MAX: Final = 3
WANTED_COSINE_MIN: Final = 0.45
WANTED_WORDS_COSINE_MIN: Final = 0.2


def wanted_by_likeness(dialogue: Dialogue) -> tuple[tuple[int, ...], ...]:
    """For each turn, the earlier ones most like it: what an agent would look up to answer it.

    By sentence vectors, the three nearest of cosine above .45; without a model by rare words.
    """
    if dialogue.vectors is not None:
        unit, least = np.asarray(dialogue.vectors, dtype=np.float64), WANTED_COSINE_MIN
    else:
        unit, least = Words(dialogue).matrix(len(dialogue.turns)), WANTED_WORDS_COSINE_MIN
    cosine = unit @ unit.T
    return tuple(
        tuple(row for row in _nearest(cosine[turn, :turn]) if cosine[turn, row] > least)
        for turn in range(len(dialogue.turns))
    )


def _nearest(cosine: Float64) -> list[int]:
    order: Rows = np.argsort(-cosine, kind="stable")[:WANTED_MAX]
    return order.tolist()
