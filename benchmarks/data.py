"""Memories to measure with: the same for one seed, on any machine.

Words are made of syllables and drawn as content words of a language are: the commonest in one
memory of fifteen, most in one of some hundreds. A third of each text are stop words.
"""

import base64
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

VOCABULARY: Final = 20_000
COMMONEST_SHIFT: Final = 50
CONTENT_WORDS: Final = 20
QUESTION_WORDS: Final = 6
_STOP_WORDS = (
    "the of and a to in is was it for on with he she they at by this had not are but from have an"
    " which you were all her his would there been one so if no"
)
DIMENSIONS: Final = 384
DAY_MS: Final = 86_400_000
AGE_DAYS: Final = (2, 400)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Deterministic memories and questions. `now` (ms) is what ages are counted from.

    A text has `content_words`, and half as many stop words.
    """

    seed: int
    now: int
    content_words: int = CONTENT_WORDS

    def batches(
        self, count: int, dimensions: int, size: int = 1_000
    ) -> Iterator[list[dict[str, Any]]]:
        """`count` memories as `putMany` takes them, `size` at a time."""
        rng = random.Random(self.seed)
        vectors = np.random.default_rng(self.seed)
        words = _Words(rng)
        numbers = iter(range(count))
        while part := list(itertools.islice(numbers, size)):
            embeddings = vectors.standard_normal((len(part), dimensions), dtype=np.float32)
            batch = [
                {
                    "id": f"memory-{number:07d}",
                    "content": words.sentence(self.content_words),
                    "importance": rng.random(),
                    "memoryType": ("semantic", "episodic", "procedural")[number % 3],
                    "createdAt": self.now - rng.randint(*AGE_DAYS) * DAY_MS - number,
                }
                for number in part
            ]
            if dimensions:
                for memory, vector in zip(batch, embeddings, strict=True):
                    memory["embedding"] = base64.b64encode(vector.tobytes()).decode()
            yield batch

    def questions(self, count: int, dimensions: int) -> list[tuple[str, str]]:
        """QUESTION_WORDS content words each, as in a question asked, and a vector in base64."""
        rng = random.Random(self.seed + 1)
        words = _Words(random.Random(self.seed))
        vectors = np.random.default_rng(self.seed + 1)
        return [
            (
                " ".join(words.content(rng, QUESTION_WORDS)),
                base64.b64encode(
                    vectors.standard_normal(dimensions, dtype=np.float32).tobytes()
                ).decode(),
            )
            for _ in range(count)
        ]


class _Words:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprstvz", "aeiou")]
        spelled: dict[str, None] = {}
        while len(spelled) < VOCABULARY:
            spelled["".join(rng.choices(syllables, k=rng.randint(2, 4)))] = None
        self._words = list(spelled)
        self._stop_words = _STOP_WORDS.split()
        self._weights = list(
            itertools.accumulate(1 / (rank + COMMONEST_SHIFT) for rank in range(VOCABULARY))
        )

    def content(self, rng: random.Random, count: int) -> list[str]:
        return rng.choices(self._words, cum_weights=self._weights, k=count)

    def sentence(self, content_words: int) -> str:
        drawn = self.content(self._rng, content_words)
        drawn += self._rng.choices(self._stop_words, k=content_words // 2)
        self._rng.shuffle(drawn)
        return " ".join(drawn)
