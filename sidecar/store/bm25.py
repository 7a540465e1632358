"""How text hits are scored: SQLite's bm25(), with statistics that may span several tables."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sidecar.store.search_text import TextQuery
from sidecar.store.sqlite.typed import Connection

# The constants of SQLite's bm25(), so that scores are on one scale wherever they are computed.
K1: Final = 1.2
B: Final = 0.75
RARITY_MIN: Final = 1e-6

_COUNT_MATCHES = "SELECT count(*) FROM search WHERE search MATCH ?"


@dataclass(frozen=True, slots=True)
class TextStatistics:
    """How many documents there are, and how many of them hold each term of a query.

    `mean_tokens` is the length of a document; None: not known.
    """

    documents: int
    frequencies: tuple[int, ...]
    mean_tokens: float | None = None

    def __add__(self, other: "TextStatistics") -> "TextStatistics":
        """Those of both; lengths count against the mean of the first that knows it."""
        mean = other.mean_tokens if self.mean_tokens is None else self.mean_tokens
        pairs = zip(self.frequencies, other.frequencies, strict=True)
        return TextStatistics(
            self.documents + other.documents, tuple(one + more for one, more in pairs), mean
        )

    def rarity(self) -> NDArray[np.float64]:
        """What one occurrence of each term is worth."""
        frequencies = np.array(self.frequencies, np.float64)
        logarithms = np.log((self.documents - frequencies + 0.5) / (frequencies + 0.5))
        return np.where(logarithms > 0, logarithms, RARITY_MIN)


def term_frequencies(connection: Connection, query: TextQuery) -> tuple[int, ...]:
    """How many texts of the connection's table `search` hold each term."""
    found: list[list[Any]] = [
        list(connection.execute(_COUNT_MATCHES, (term.expression,)).fetchall()[0])
        for term in query.terms
    ]
    return tuple(count for (count,) in found)
