"""A scan outside the table finds exactly what the table finds."""

from collections.abc import Iterator

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.store.search_text import TermCounter, index_text, parse_query

WORDS = [
    "happy", "happiness", "relational", "possibility", "running", "hoping", "agreed", "flies",
    "generalizations", "oscillators", "controlling", "sky", "bees", "caresses", "conflated",
    "Café", "naïve", "Straße", "커피", "커피를", "서울에서", "책", "東京都", "コーヒー", "กาแฟ",
    "हिन्दी", "القهوة", "🍕", "👍🏽", "ke123", "don't", "a_b", "ﬁ", "x",
]  # fmt: skip
PIECES = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(["", " ", ", "])), max_size=12).map(
    lambda pieces: "".join(word + border for word, border in pieces)
)


@pytest.fixture
def table() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE search USING fts5 (text, content='', contentless_delete=1,"
        " tokenize='porter unicode61 remove_diacritics 2')"
    )
    yield connection
    connection.close()


@pytest.mark.gate("REC-13")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(content=TEXTS, query=TEXTS)
def test_counting_agrees_with_the_table(table: apsw.Connection, content: str, query: str) -> None:
    parsed = parse_query(query)
    counts = TermCounter(parsed).count(content) or [0] * len(parsed.terms)
    table.execute("DELETE FROM search WHERE rowid = 1")
    table.execute("INSERT INTO search (rowid, text) VALUES (1, ?)", (index_text(content),))
    sql = "SELECT count(*) FROM search WHERE search MATCH ?"
    in_table = [table.execute(sql, (term.expression,)).fetchall()[0][0] for term in parsed.terms]
    assert [min(count, 1) for count in counts] == in_table


@pytest.mark.gate("REC-01")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(before=TEXTS, query=TEXTS, after=TEXTS)
def test_a_text_is_found_by_words_taken_from_it(
    table: apsw.Connection, before: str, query: str, after: str
) -> None:
    parsed = parse_query(query)
    table.execute("DELETE FROM search WHERE rowid = 1")
    table.execute(
        "INSERT INTO search (rowid, text) VALUES (1, ?)",
        (index_text(f"{before} {query} {after}"),),
    )
    sql = "SELECT count(*) FROM search WHERE search MATCH ?"
    unfound = [
        term
        for term in parsed.terms
        if not table.execute(sql, (term.expression,)).fetchall()[0][0]
        and TermCounter(parse_query(term.text)).phrases != [[]]
    ]
    assert unfound == []
