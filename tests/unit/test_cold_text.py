"""Text search with the statistics of several tables."""

import math
from collections.abc import Iterator, Sequence

import apsw
import numpy as np
import pytest

from sidecar.store.bm25 import RARITY_MIN, TextStatistics, term_frequencies
from sidecar.store.cold_text import TABLE, count_tokens, search_text
from sidecar.store.recall import Hit, hot_statistics, search_hot_text
from sidecar.store.search_text import TermCounter, index_text, parse_query
from sidecar.store.vector_index import RowIds

CONTENTS = [
    "Anna bought a blue bike in Berlin",
    "커피를 마시며 책을 읽었다",
    "The bike was stolen in Berlin, Anna said; Anna was sad about the bike",
    "東京都に住んでいます 🍣",
    "Tea, not coffee",
    "nothing to see here",
    "GPT-5 and a bike",
]


@pytest.fixture
def table() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(TABLE)
    yield connection
    connection.close()


def insert(table: apsw.Connection, contents: Sequence[str]) -> None:
    """Number contents from 1."""
    for rid, content in enumerate(contents, start=1):
        table.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (rid, index_text(content)))


def everything(rids: RowIds) -> np.ndarray:
    return np.ones(len(rids), np.bool_)


def searched(
    table: apsw.Connection, text: str, elsewhere: TextStatistics | None = None, limit: int = 100
) -> list[Hit]:
    """Hits with the table's own statistics and those of elsewhere."""
    query = parse_query(text)
    own = hot_statistics(table, query)
    everywhere = own if elsewhere is None else own + elsewhere
    return search_text(table, query, own, everywhere, limit, everything)


@pytest.mark.gate("COLD-23")
@pytest.mark.parametrize(
    "text", ["bike", "who said that Anna's bike was stolen?", "커피 책", "🍣", "책", "gpt5", "?"]
)
def test_with_its_own_statistics_a_table_scores_as_sqlite_does(
    table: apsw.Connection, text: str
) -> None:
    insert(table, [*CONTENTS, *(f"filler {number}" for number in range(30))])
    expected = search_hot_text(table, text, 100)
    assert [rid for rid, _ in searched(table, text)] == [rid for rid, _ in expected]
    assert dict(searched(table, text)) == pytest.approx(dict(expected), abs=1e-12)


@pytest.mark.gate("COLD-23")
def test_with_statistics_of_elsewhere_rarity_is_that_of_all_texts(table: apsw.Connection) -> None:
    insert(table, CONTENTS)
    table.execute("DELETE FROM search WHERE rowid = 7")
    text = "anna bike 커피"
    query = parse_query(text)
    elsewhere = TextStatistics(1_000, (400, 3, 20))
    counter = TermCounter(query)
    live = CONTENTS[:6]
    mean = sum(map(counter.length, live)) / len(live)
    expected: dict[int, float] = {}
    for rid, content in enumerate(live, start=1):
        counts = counter.count(content)
        if counts is None:
            continue
        damping = 1.2 * (0.25 + 0.75 * counter.length(content) / mean)
        parts: list[float] = []
        for term, count in enumerate(counts):
            holding = elsewhere.frequencies[term] + (2, 2, 1)[term]
            rarity = math.log((1_006 - holding + 0.5) / (holding + 0.5))
            parts.append(rarity * count * 2.2 / (count + damping))
        expected[rid] = sum(parts)
    found = searched(table, text, elsewhere)
    assert dict(found) == pytest.approx(expected, abs=1e-12)
    assert [rid for rid, _ in found] == sorted(expected, key=lambda rid: -expected[rid])


@pytest.mark.gate("COLD-23")
def test_equal_texts_go_by_row_and_only_allowed_ones_are_answered(table: apsw.Connection) -> None:
    insert(table, ["same old words"] * 1_000)
    query = parse_query("same words")
    own = hot_statistics(table, query)

    def last(rids: RowIds) -> np.ndarray:
        return rids > 990

    hits = search_text(table, query, own, own, 3, last)
    assert [rid for rid, _ in hits] == [991, 992, 993]
    assert search_text(table, query, own, own, 3, lambda rids: rids < 0) == []
    assert [rid for rid, _ in search_text(table, query, own, own, 2, everything)] == [1, 2]
    assert search_text(table, query, own, own, 0, everything) == []
    table.execute("DELETE FROM search WHERE rowid = 1")  # no statement is left open


@pytest.mark.gate("COLD-23")
def test_sixty_four_terms_can_be_asked_at_once(table: apsw.Connection) -> None:
    insert(table, [" ".join(f"word{number}" for number in range(start, 100)) for start in range(9)])
    text = " ".join(f"word{number}" for number in range(200))
    assert len(searched(table, text)) == 9
    assert dict(searched(table, text)) == pytest.approx(
        dict(search_hot_text(table, text, 100)), abs=1e-9
    )


@pytest.mark.gate("COLD-23")
def test_statistics_add_up_and_a_term_in_most_texts_is_worth_next_to_nothing() -> None:
    both = TextStatistics(10, (1, 9)) + TextStatistics(30, (2, 30), 4.5)
    assert both == TextStatistics(40, (3, 39), 4.5)
    assert (TextStatistics(1, (1,), 2.0) + TextStatistics(1, (1,), 3.0)).mean_tokens == 2.0
    assert both.rarity().tolist() == [pytest.approx(math.log(37.5 / 3.5)), RARITY_MIN]
    assert TextStatistics(2, (1,)).rarity().tolist() == [RARITY_MIN]


@pytest.mark.gate("COLD-23")
def test_texts_and_words_are_counted_also_after_deletes(table: apsw.Connection) -> None:
    assert count_tokens(table) == (0, 0)
    insert(table, ["one two three", "four", ""])
    assert count_tokens(table) == (3, 4)
    table.execute("DELETE FROM search WHERE rowid = 1")
    assert count_tokens(table) == (2, 1)
    assert term_frequencies(table, parse_query("four two")) == (1, 0)
