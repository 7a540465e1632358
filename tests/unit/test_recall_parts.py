"""Hot text, the scan of cold segments, and fusing: each against what it must equal."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest

from sidecar.model import COLD, FORGOTTEN, HOT
from sidecar.store.payload import Payload
from sidecar.store.recall import (
    RELEVANCE_COSINE_MIN,
    RELEVANCE_TERM_SHARE_MIN,
    ColdResult,
    ColdRows,
    ColdScan,
    SegmentFault,
    TextStatistics,
    fuse,
    hot_statistics,
    is_relevant,
    load_cold_rows,
    merge_hits,
    search_hot_text,
)
from sidecar.store.search_text import index_text, parse_query
from tests.unit.segment_samples import write_segment

DIMENSIONS = 16
CONTENTS = [
    "Anna bought a blue bike in Berlin",
    "커피를 마시며 책을 읽었다",
    "The bike was stolen in Berlin, Anna said; Anna was sad about the bike",
    "東京都に住んでいます 🍣",
    "Tea, not coffee",
    "nothing to see here",
]


def vector(seed: int, dimensions: int = DIMENSIONS) -> bytes:
    return np.random.default_rng(seed).standard_normal(dimensions).astype("<f4").tobytes()


def memory(rid: int, content: str, model: str | None = "m", seed: int | None = None) -> Payload:
    embedding = None if model is None else vector(rid if seed is None else seed)
    return Payload(f"id-{rid}", content, "{}", "{}", 1_700_000_000_000, model, embedding)


@pytest.fixture
def database() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE search USING fts5 (text, content='', contentless_delete=1,"
        " tokenize='porter unicode61 remove_diacritics 2');"
        "CREATE TABLE memories (rid INTEGER PRIMARY KEY, tier INTEGER, segment TEXT,"
        " frame INTEGER, line INTEGER, embedding_model TEXT)"
    )
    yield connection
    connection.close()


class Archive:
    """Segments in a folder, and the rows that say what lies in them."""

    def __init__(self, folder: Path, database: apsw.Connection) -> None:
        self.folder = folder
        self.database = database

    def add(self, name: str, frames: Sequence[Sequence[tuple[int, Payload]]]) -> None:
        write_segment(self.folder / name, [[payload for _, payload in frame] for frame in frames])
        for frame, memories in enumerate(frames):
            for line, (rid, payload) in enumerate(memories):
                self.database.execute(
                    "INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?)",
                    (rid, COLD, name, frame, line, payload.embedding_model),
                )

    @property
    def rows(self) -> ColdRows:
        return load_cold_rows(self.database)

    def scan(self, query: str | None = None, **settings: object) -> ColdResult:
        parsed = None if query is None else parse_query(query)
        scan = ColdScan(**{"limit": 10, "query": parsed, **settings})  # pyright: ignore
        return scan.run(self.folder, self.rows)


@pytest.fixture
def archive(tmp_path: Path, database: apsw.Connection) -> Archive:
    made = Archive(tmp_path, database)
    memories = [(rid, memory(rid, content)) for rid, content in enumerate(CONTENTS, start=1)]
    made.add("one", [memories[:2], memories[2:3]])
    made.add("two", [memories[3:]])
    return made


def index(database: apsw.Connection, contents: Sequence[str]) -> None:
    for rid, content in enumerate(contents, start=1):
        database.execute(
            "INSERT INTO search (rowid, text) VALUES (?, ?)", (rid, index_text(content))
        )


# --- hot ---------------------------------------------------------------------------------


@pytest.mark.gate("REC-12")
def test_hot_text_comes_best_first_with_positive_scores(database: apsw.Connection) -> None:
    index(database, [*CONTENTS, *(f"filler {n}" for n in range(30))])
    hits = search_hot_text(database, "who said that Anna's bike was stolen?", 10)
    assert [rid for rid, _ in hits] == [3, 1]
    assert hits[0][1] > hits[1][1] > 0
    assert [rid for rid, _ in search_hot_text(database, "커피", 10)] == [2]
    assert search_hot_text(database, "?", 10) == []
    assert search_hot_text(database, "bike", 0) == []


@pytest.mark.gate("REC-12")
def test_hot_text_looks_on_until_enough_allowed_memories_are_found(
    database: apsw.Connection,
) -> None:
    index(database, ["same words"] * 1_000)
    hits = search_hot_text(database, "words", 3, lambda rids: rids > 990)
    assert [rid for rid, _ in hits] == [991, 992, 993]
    assert search_hot_text(database, "words", 3, lambda rids: rids > 5_000) == []
    assert [rid for rid, _ in search_hot_text(database, "words", 3)] == [1, 2, 3]
    database.execute("DELETE FROM search WHERE rowid = 1")  # no statement is left open
    assert len(search_hot_text(database, "words", 2_000)) == 999


@pytest.mark.gate("REC-12")
def test_hot_statistics_count_documents_and_terms(database: apsw.Connection) -> None:
    index(database, CONTENTS)
    query = parse_query("bikes Berlin coffee absent 책")
    assert hot_statistics(database, query) == TextStatistics(6, (2, 2, 1, 0, 1))


# --- cold --------------------------------------------------------------------------------


@pytest.mark.gate("REC-13")
@pytest.mark.parametrize(
    ("query", "rids"),
    [
        ("커피", [2]),
        ("책", [2]),
        ("bikes", [1, 3]),
        ("東京", [4]),
        ("🍣", [4]),
        ("coffee or tea", [5]),
        ("absent", []),
        ("?", []),
    ],
)
def test_a_cold_scan_finds_what_the_hot_index_would(
    archive: Archive, query: str, rids: list[int]
) -> None:
    result = archive.scan(query)
    assert sorted(rid for rid, _ in result.text) == rids
    assert result.faults == []
    index(archive.database, CONTENTS)
    assert sorted(rid for rid, _ in search_hot_text(archive.database, query, 10)) == rids


@pytest.mark.gate("REC-13")
def test_cold_scores_are_bm25_over_hot_and_cold_together(archive: Archive) -> None:
    statistics = TextStatistics(100, (3, 7))
    result = archive.scan("anna stolen", statistics=statistics)
    assert [rid for rid, _ in result.text] == [3, 1]
    mean = sum(map(len, CONTENTS)) / len(CONTENTS)

    def part(documents_with: int, count: int, content: str) -> float:
        rarity = math.log((106 - documents_with + 0.5) / (documents_with + 0.5))
        return rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(content) / mean))

    anna, stolen = 3 + 2, 7 + 1
    expected = [
        part(anna, 2, CONTENTS[2]) + part(stolen, 1, CONTENTS[2]),
        part(anna, 1, CONTENTS[0]),
    ]
    np.testing.assert_allclose([score for _, score in result.text], expected)


@pytest.mark.gate("REC-14")
def test_cold_cosines_are_exact_and_the_nearest_come_first(
    tmp_path: Path, database: apsw.Connection
) -> None:
    archive = Archive(tmp_path, database)
    rids = list(range(1, 301))
    for start in range(0, 300, 100):
        chunk = [(rid, memory(rid, "x", "m" if rid % 5 else None)) for rid in rids[start:][:100]]
        archive.add(f"segment-{start}", [chunk[:37], chunk[37:]])
    query = np.frombuffer(vector(999), "<f4").astype(float)

    def cosine(rid: int) -> float:
        other = np.frombuffer(vector(rid), "<f4").astype(float)
        return float(query @ other / np.linalg.norm(query) / np.linalg.norm(other))

    result = archive.scan(vector=vector(999), model="m", limit=7)
    wanted = sorted((rid for rid in rids if rid % 5), key=lambda rid: -cosine(rid))[:7]
    assert [rid for rid, _ in result.vectors] == wanted
    np.testing.assert_allclose(
        [score for _, score in result.vectors], [cosine(rid) for rid in wanted], atol=1e-6
    )
    assert result.scanned == 300
    assert result.text == []


@pytest.mark.gate("REC-14")
def test_cold_vectors_of_another_model_size_or_without_direction_match_nothing(
    tmp_path: Path, database: apsw.Connection
) -> None:
    archive = Archive(tmp_path, database)
    zero = Payload("zero", "x", "{}", "{}", 1, "m", bytes(4 * DIMENSIONS))
    short = Payload("short", "x", "{}", "{}", 1, "m", vector(1, 8))
    odd = Payload("odd", "x", "{}", "{}", 1, "m", b"abc")
    archive.add(
        "one",
        [[(1, memory(1, "x", "m", 1)), (2, memory(2, "x", "other", 1)), (3, zero), (4, short)]],
    )
    archive.add("two", [[(5, memory(5, "x", None))], [(6, odd)]])
    assert [rid for rid, _ in archive.scan(vector=vector(1), model="m").vectors] == [1]
    assert [rid for rid, _ in archive.scan(vector=vector(1)).vectors] == [1, 2]
    assert archive.scan(vector=bytes(4 * DIMENSIONS)).vectors == []
    assert archive.scan(vector=vector(1), model="unknown").vectors == []


@pytest.mark.gate("REC-15")
def test_only_live_cold_rows_are_looked_at(archive: Archive) -> None:
    archive.database.execute("UPDATE memories SET tier = ? WHERE rid = 1", (HOT,))
    archive.database.execute("UPDATE memories SET tier = ? WHERE rid = 4", (FORGOTTEN,))
    result = archive.scan("bike 東京")
    assert [rid for rid, _ in result.text] == [3]
    assert result.scanned == 4
    rows = archive.rows
    kept = rows.keep(rows.rid != 3)
    assert kept.rid.tolist() == [2, 5, 6]
    scan = ColdScan(limit=10, query=parse_query("bike tea"))
    assert [rid for rid, _ in scan.run(archive.folder, kept).text] == [5]


@pytest.mark.gate("REC-15")
def test_rows_are_read_in_file_order_whatever_their_ids(
    tmp_path: Path, database: apsw.Connection
) -> None:
    archive = Archive(tmp_path, database)
    archive.add("b", [[(9, memory(9, "x")), (2, memory(2, "x"))], [(4, memory(4, "x"))]])
    archive.add("a", [[(3, memory(3, "x")), (1, memory(1, "x"))]])
    rows = archive.rows
    order = [
        (rows.segments[segment], frame, line)
        for segment, frame, line in zip(rows.segment, rows.frame, rows.line, strict=True)
    ]
    assert len(rows) == 5
    assert order == sorted(order, key=lambda place: (rows.segments.index(place[0]), *place[1:]))
    empty = load_cold_rows(apsw_without_rows())
    assert len(empty) == 0
    assert ColdScan(limit=3, query=parse_query("x")).run(tmp_path, empty).scanned == 0


def apsw_without_rows() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE memories (rid, tier, segment, frame, line, embedding_model)")
    return connection


@pytest.mark.gate("REC-16")
def test_damaged_segments_are_skipped_and_reported(archive: Archive) -> None:
    whole = (archive.folder / "one").read_bytes()
    (archive.folder / "one").write_bytes(whole[:-1])
    result = archive.scan("bike tea", vector=vector(5))
    assert [rid for rid, _ in result.text] == [5]
    assert result.faults == [SegmentFault("one", None, "seal")]
    assert result.vectors[0][0] == 5

    (archive.folder / "one").unlink()
    assert archive.scan("bike tea").faults == [SegmentFault("one", None, "missing")]

    (archive.folder / "one").write_bytes(bytes([*whole[:20], whole[20] ^ 1, *whole[21:]]))
    result = archive.scan("bike tea")
    assert sorted(rid for rid, _ in result.text) == [3, 5]
    assert result.faults == [SegmentFault("one", 0, "frame")]


@pytest.mark.gate("REC-16")
def test_a_row_that_names_a_place_beyond_its_segment_is_reported(archive: Archive) -> None:
    archive.database.execute("UPDATE memories SET line = 50 WHERE rid = 3")
    archive.database.execute("UPDATE memories SET frame = 50 WHERE rid = 1")
    result = archive.scan("anna tea", vector=vector(1))
    assert [rid for rid, _ in result.text] == [5]
    assert {(fault.segment, fault.frame) for fault in result.faults} == {("one", 1), ("one", 50)}


# --- fusing ------------------------------------------------------------------------------


@pytest.mark.gate("REC-17")
def test_fusing_prefers_what_several_lists_rank_high() -> None:
    ranked = fuse([[1, 2, 3], [3, 4, 1]], lambda _: 0.5, str)
    assert [rid for rid, _ in ranked] == [1, 3, 2, 4]
    assert ranked[0][1] == pytest.approx(1 / 61 + 1 / 63)
    assert fuse([], lambda _: 0.5, str) == []
    assert fuse([[], [7]], lambda _: 0.5, str) == [(7, pytest.approx(1 / 61))]


@pytest.mark.gate("REC-17")
def test_equal_scores_go_by_strength_then_by_id() -> None:
    strengths = {1: 0.2, 2: 0.9, 3: 0.2, 4: None}
    ids = {1: "b", 2: "c", 3: "a", 4: "0"}
    ranked = fuse([[1], [2], [3], [4]], strengths.__getitem__, ids.__getitem__)
    assert [rid for rid, _ in ranked] == [2, 3, 1, 4]


@pytest.mark.gate("REC-17")
def test_fusing_does_not_depend_on_the_order_of_the_lists() -> None:
    lists = [[1, 2, 3, 4], [4, 1, 2, 3], [3, 4, 1, 2], [2, 3, 4, 1]]
    for shift in range(4):
        ranked = fuse(lists[shift:] + lists[:shift], lambda _: 0.5, str)
        assert [rid for rid, _ in ranked] == [1, 2, 3, 4]
        assert len({score for _, score in ranked}) == 1


@pytest.mark.gate("REC-17")
def test_merging_takes_the_best_score_of_each_memory() -> None:
    assert merge_hits(3, [(1, 0.5), (2, 0.4)], [(2, 0.9), (3, 0.4), (4, 0.4)]) == [
        (2, 0.9),
        (1, 0.5),
        (3, 0.4),
    ]


@pytest.mark.gate("REC-18")
def test_a_result_is_relevant_by_its_words_or_by_its_vector() -> None:
    assert is_relevant(RELEVANCE_TERM_SHARE_MIN, None)
    assert not is_relevant(RELEVANCE_TERM_SHARE_MIN - 0.01, None)
    assert is_relevant(None, RELEVANCE_COSINE_MIN)
    assert not is_relevant(None, RELEVANCE_COSINE_MIN - 0.01)
    assert is_relevant(0.0, RELEVANCE_COSINE_MIN)
    assert not is_relevant(None, None)
    assert not is_relevant(0.0, math.nan)
