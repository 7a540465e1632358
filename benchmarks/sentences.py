"""Sentences as memories hold them, as many as are asked for, from a file of real dialogues.

The file is read where it lies and never copied. Its turns are cut into sentences. What is
missing to the number wanted are edited copies: of every three one is edited lightly (a word
dropped, doubled, or replaced) and two heavily (every third word comes from elsewhere), so that
some are near each other and most are not, as in a store.
"""

import json
import random
import re
from pathlib import Path
from typing import Final

WORDS_MIN: Final = 4
WORDS_MAX: Final = 24
_END = re.compile(r"(?<=[.!?])\s+")


def sentences_of(source: Path, count: int, seed: int) -> list[str]:
    """`count` sentences, the same for one file and seed; one a line, so none has a line break."""
    originals = _originals(source)
    rng = random.Random(seed)
    words = [word for sentence in originals for word in sentence.split()]
    made = originals[:count]
    while len(made) < count:
        sentence = rng.choice(originals).split()
        made.append(" ".join((_light if len(made) % 3 == 0 else _heavy)(sentence, words, rng)))
    return made


def _originals(source: Path) -> list[str]:
    dialogues = json.loads(source.read_text(encoding="utf-8"))
    turns = (
        turn["text"]
        for dialogue in dialogues
        for session in dialogue["conversation"].values()
        if isinstance(session, list)
        for turn in session
    )
    cut = (" ".join(part.split()) for turn in turns for part in _END.split(turn))
    kept = (part for part in cut if WORDS_MIN <= len(part.split()) <= WORDS_MAX)
    return list(dict.fromkeys(kept))


def _light(sentence: list[str], words: list[str], rng: random.Random) -> list[str]:
    place = rng.randrange(len(sentence))
    instead = rng.choice(([], [sentence[place]] * 2, [rng.choice(words)]))
    return sentence[:place] + instead + sentence[place + 1 :]


def _heavy(sentence: list[str], words: list[str], rng: random.Random) -> list[str]:
    return [rng.choice(words) if rng.random() < 1 / 3 else word for word in sentence]
