"""Text search over one table `search` with the statistics of several of them.

SQLite's bm25() weighs a term by how rare it is in its own table. A deep recall searches the hot
table and the cold one, so each term is searched by itself and weighed by how rare it is in all
texts: hot and cold scores are then on one scale. Lengths count against the mean of a text's own
table, as in bm25().
"""

from typing import Any, Final

import apsw
import numpy as np

from sidecar.store.bm25 import TextStatistics
from sidecar.store.recall import Hit
from sidecar.store.search_text import TextQuery
from sidecar.store.sqlite.typed import Connection
from sidecar.store.vector_index import Allowed

# As the hot table; the text is prepared by search_text.py.
TABLE: Final = (
    "CREATE VIRTUAL TABLE search USING fts5 (text, content='', contentless_delete=1,"
    " tokenize='porter unicode61 remove_diacritics 2')"
)
_ONE_TERM = "SELECT rowid AS rid, ? * bm25(search) AS score FROM search WHERE search MATCH ?"
# The limit keeps SQLite from merging a single part into the grouping, where bm25() cannot be.
_BEST = "SELECT rid, sum(score) AS score FROM ({} LIMIT -1) GROUP BY rid ORDER BY score DESC, rid"
_FETCH_ROWS = 256


def search_text(
    connection: Connection,
    query: TextQuery,
    own: TextStatistics,
    everywhere: TextStatistics,
    limit: int,
    allowed: Allowed,
) -> list[Hit]:
    """The texts of a table that hold any term, best BM25 first (higher is better).

    `own` are the statistics of the table, `everywhere` those that scores shall have.
    """
    parts: list[str] = []
    bindings: list[float | str] = []
    weights = everywhere.rarity() / own.rarity()
    for term, frequency, weight in zip(query.terms, own.frequencies, weights, strict=True):
        if frequency:
            parts.append(_ONE_TERM)
            bindings += [-float(weight), term.expression]
    if not parts or limit <= 0:
        return []
    found: list[Hit] = []
    rows: Any = connection.execute(_BEST.format(" UNION ALL ".join(parts)), bindings)
    try:
        while len(found) < limit:
            block: list[Hit] = [row for _, row in zip(range(_FETCH_ROWS), rows, strict=False)]
            if block:
                within = allowed(np.array([rid for rid, _ in block], np.int64))
                found += [hit for hit, keep in zip(block, within, strict=True) if keep]
            if len(block) < _FETCH_ROWS:
                break
    finally:
        rows.close(True)
    return found[:limit]


def count_tokens(connection: Any) -> tuple[int, int]:
    """How many texts the table `search` holds, and how many words they have together."""

    def totals(api: apsw.FTS5ExtensionApi, *_: object) -> str:
        return f"{api.row_count} {api.column_total_size(0)}"

    connection.register_fts5_function("totals", totals)
    found: list[Any] = connection.execute("SELECT totals(search) FROM search LIMIT 1").fetchall()
    documents, tokens = map(int, found[0][0].split()) if found else (0, 0)
    return documents, tokens
