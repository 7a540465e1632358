"""The SQLite files of mem0ai/oss: read, never written, whatever state they are in."""

import base64
import hashlib
import json
import shutil
import sqlite3
import struct
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sidecar.importers.items import BadLine, Item, Notice, Record
from sidecar.importers.mem0 import open_store
from sidecar.importers.source import SourceRefused
from sidecar.importers.sqlite_file import open_sqlite

SAMPLE = Path(__file__).parents[1] / "data" / "mem0"
SCHEMA = "CREATE TABLE vectors (id TEXT PRIMARY KEY, vector BLOB, payload TEXT)"
HISTORY = (
    "CREATE TABLE memory_history (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT,"
    " previous_value TEXT, new_value TEXT, action TEXT, created_at TEXT, updated_at TEXT,"
    " is_deleted INTEGER DEFAULT 0)"
)
AT = "2026-11-30T17:24:00.418Z"
AT_MS = 1796059440418


def vector(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def make_vectors(path: Path, *rows: tuple[Any, Any, Any]) -> Path:
    """A vector file with rows (id, vector, payload); payloads that are no text are encoded."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(SCHEMA)
        for identity, numbers, payload in rows:
            text = payload if isinstance(payload, str | bytes) else json.dumps(payload)
            connection.execute("INSERT INTO vectors VALUES (?, ?, ?)", (identity, numbers, text))
    return path


def make_history(path: Path, *actions: tuple[str, str, str | None]) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(HISTORY)
        connection.executemany(
            "INSERT INTO memory_history (memory_id, action, created_at) VALUES (?, ?, ?)", actions
        )
    return path


def items_of(path: Path, model: str | None = None) -> list[Item]:
    with open_store(path, model) as reader:
        items = list(reader.read())
        assert list(reader.read()) == items
    return items


def memories_of(items: Iterable[Item]) -> dict[str, dict[str, Any]]:
    return {item.memory["id"]: item.memory for item in items if isinstance(item, Record)}


def one(path: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """The only memory of a new file with this payload."""
    given = {"data": "x", "createdAt": AT} | payload
    (item,) = items_of(make_vectors(path / "v.db", ("m", vector(1, 2), given)))
    assert isinstance(item, Record), item
    return item.memory


def state_of(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        entry.name: (hashlib.sha256(entry.read_bytes()).hexdigest(), entry.stat().st_mtime_ns)
        for entry in folder.iterdir()
    }


@pytest.mark.gate("IMP-60")
@pytest.mark.parametrize("name", ["", "vectors.db"], ids=["the folder", "the file"])
def test_the_files_that_the_real_package_wrote(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "mem0"
    shutil.copytree(SAMPLE, folder)
    before = state_of(folder)
    items = items_of(folder / name)
    assert state_of(folder) == before
    found = {memory["content"]: memory for memory in memories_of(items).values()}
    assert list(found) == [
        "Mina works as a data engineer in Daegu",
        "Tofu the cat is allergic to chicken",
        "Release of Lighthouse is planned for October",
        "Temporary parking code is 4471",
    ]
    mina = found["Mina works as a data engineer in Daegu"]
    assert (mina["createdAt"], mina["updatedAt"]) == (AT_MS, AT_MS + 66)
    assert mina["importance"] == 0.7
    assert mina["metadata"] == {"source": "mem0", "user_id": "mina"}
    assert set(mina["mem0"]) == {"hash", "textLemmatized"}
    assert len(base64.b64decode(mina["embedding"])) == 16 * 4
    parking = found["Temporary parking code is 4471"]
    assert parking["expiresAt"] == 1577923200000  # the end of 2020-01-01
    assert "importance" not in parking
    (deleted,) = [item for item in items if isinstance(item, Notice)]
    assert (deleted.kind, deleted.detail) == ("deleted", "5ec401ff-b570-439f-bdf8-ac3eef2c8f45")


@pytest.mark.gate("IMP-61")
@pytest.mark.parametrize(
    ("payload", "fields"),
    [
        ({"createdAt": "2026-11-30T18:24:00.418+01:00"}, {"createdAt": AT_MS}),
        ({"createdAt": None, "created_at": "2026-11-30T17:24:00.418"}, {"createdAt": AT_MS}),
        ({"expiration_date": "2026-02-28"}, {"expiresAt": 1772323200000}),
        ({"expirationDate": "2026-02-28"}, {"expiresAt": 1772323200000}),
        ({"expiration_date": "soon"}, {"mem0": {"expiration_date": "soon"}}),
        ({"expiration_date": "2026-02-30"}, {"mem0": {"expiration_date": "2026-02-30"}}),
        ({"userId": "mina", "role": "user"}, {"metadata": {"source": "mem0", "user_id": "mina"}}),
        ({"memory_type": "procedural_memory"}, {"memoryType": "procedural"}),
        ({"importance": 1}, {"importance": 1}),
        ({"importance": 8}, {"mem0": {"importance": 8}}),
        ({"importance": True}, {"mem0": {"importance": True}}),
        ({"pinned": "yes", "id": 7}, {"mem0": {"pinned": "yes", "id": 7}}),
    ],
)
def test_what_mem0_and_its_hosts_write_has_its_place(
    tmp_path: Path, payload: dict[str, Any], fields: dict[str, Any]
) -> None:
    memory = one(tmp_path, payload)
    for name, value in fields.items():
        found = memory[name]
        assert (value.items() <= found.items()) if isinstance(value, dict) else found == value


@pytest.mark.gate("IMP-61")
def test_one_importance_out_of_bounds_means_that_none_is_on_our_scale(tmp_path: Path) -> None:
    rows = [(f"m{n}", vector(1), {"data": "x", "importance": n}) for n in (0, 1, 5)]
    found = memories_of(items_of(make_vectors(tmp_path / "v.db", *rows)))
    assert [memory["mem0"]["importance"] for memory in found.values()] == [0, 1, 5]
    assert all("importance" not in memory for memory in found.values())


@pytest.mark.gate("IMP-61")
def test_the_history_counts_deletions_and_dates_what_has_no_date(tmp_path: Path) -> None:
    rows = [(name, vector(1), {"data": name}) for name in ("kept", "again", "there")]
    make_vectors(tmp_path / "v.db", *rows)
    make_history(
        tmp_path / "h.db",
        ("kept", "ADD", AT),
        ("again", "ADD", AT),
        ("again", "DELETE", None),
        ("again", "ADD", AT),
        ("there", "ADD", AT),
        ("there", "DELETE", None),
        ("gone", "DELETE", None),
    )
    items = items_of(tmp_path / "v.db")
    assert {name: m["createdAt"] for name, m in memories_of(items).items()} == {
        "kept": AT_MS,
        "again": AT_MS,
    }
    told = {item.detail for item in items if isinstance(item, Notice) and item.kind == "deleted"}
    assert told == {"there", "gone"}


@pytest.mark.gate("IMP-61")
def test_vectors_that_do_not_fit_the_others_are_left_out_and_the_text_kept(tmp_path: Path) -> None:
    vectors = [vector(1, 2), vector(3, 4), vector(1), b"abc", vector(1, float("nan")), b""]
    rows = [(f"m{n}", numbers, {"data": "x"}) for n, numbers in enumerate(vectors)]
    items = items_of(make_vectors(tmp_path / "v.db", *rows), "small")
    found = memories_of(items)
    assert [name for name, memory in found.items() if "embedding" in memory] == ["m0", "m1"]
    assert found["m0"]["embeddingModel"] == "small"
    told = [item.where for item in items if isinstance(item, Notice)]
    assert told == ["vectors row 3", "vectors row 4", "vectors row 5"]


@pytest.mark.gate("IMP-62")
@pytest.mark.parametrize(
    ("identity", "payload", "field"),
    [
        ("m", "{torn", "$.payload"),
        ("m", "[]", "$.payload"),
        ("m", '{"data": "x", "data": "y"}', "$.payload"),
        ("m", '{"data": NaN}', "$.payload"),
        ("m", "\udce9".encode(errors="surrogateescape"), "$.payload"),
        ("m", {"hash": "x"}, "$.content"),
        ("m", {"data": " "}, "$.payload.data"),
        ("m", {"data": 5}, "$.payload.data"),
        ("m", {"data": "x", "big": 2**60}, "$.payload.big"),
        ("m", {"data": "x", "long": "y" * 70_000}, "$"),
        (None, {"data": "x"}, "$.id"),
        ("m" * 300, {"data": "x"}, "$.id"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_row_that_cannot_be_stored_is_named_and_the_others_read(
    tmp_path: Path, identity: Any, payload: Any, field: str
) -> None:
    good = ("good", vector(1), {"data": "x"})
    path = make_vectors(tmp_path / "v.db", (identity, vector(1), payload), good)
    bad, record = items_of(path)
    assert isinstance(bad, BadLine)
    assert (bad.place, bad.field) == ("vectors row 1", field)
    assert bad.remedy
    assert isinstance(record, Record)


@pytest.mark.gate("IMP-63")
def test_a_file_with_a_log_is_read_with_it_and_nothing_beside_it_changes(tmp_path: Path) -> None:
    path = make_vectors(tmp_path / "v.db", ("old", vector(1), {"data": "x"}))
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL").fetchall()
        writer.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        with writer:
            row = ("new", vector(2), '{"data": "커피"}')
            writer.execute("INSERT INTO vectors VALUES (?, ?, ?)", row)
        before = state_of(tmp_path)
        assert "v.db-wal" in before
        assert list(memories_of(items_of(path))) == ["old", "new"]
        assert state_of(tmp_path) == before
    # Closed well, it keeps its mode, and the log is gone: still nothing is made beside it.
    before = state_of(tmp_path)
    assert list(before) == ["v.db"]
    assert list(memories_of(items_of(path))) == ["old", "new"]
    assert state_of(tmp_path) == before


@pytest.mark.gate("IMP-63")
def test_a_store_that_lies_in_its_log_alone_is_found(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL").fetchall()
        writer.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        with writer:
            writer.execute(SCHEMA)
            writer.execute("INSERT INTO vectors VALUES ('m', x'', '{\"data\": \"x\"}')")
        before = state_of(tmp_path)
        assert list(memories_of(items_of(tmp_path))) == ["m"]
        assert state_of(tmp_path) == before


@pytest.mark.gate("IMP-63")
def test_a_rollback_that_waits_is_carried_out_in_the_copy_only(tmp_path: Path) -> None:
    path = make_vectors(tmp_path / "v.db", ("m", vector(1), {"data": "x"}))
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1").fetchall()
        writer.execute("BEGIN")
        for number in range(200):  # more than fits into the cache: pages reach the file
            row = (f"n{number}", b"x" * 900, '{"data": "never committed"}')
            writer.execute("INSERT INTO vectors VALUES (?, ?, ?)", row)
        crashed = tmp_path / "crashed"
        crashed.mkdir()
        shutil.copy(path, crashed)
        shutil.copy(f"{path}-journal", crashed)
        writer.execute("ROLLBACK")
    before = state_of(crashed)
    assert list(memories_of(items_of(crashed))) == ["m"]
    assert state_of(crashed) == before


@pytest.mark.gate("IMP-63")
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = make_vectors(tmp_path / "v.db", ("m", vector(1), {"data": "x"}))
    with pytest.raises(SourceRefused, match="changes while it is read"), open_sqlite(path):
        path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.gate("IMP-63")
def test_a_link_is_followed_to_the_log_of_the_file_itself(tmp_path: Path) -> None:
    real, linked = tmp_path / "real", tmp_path / "linked"
    real.mkdir()
    linked.mkdir()
    path = make_vectors(real / "v.db", ("m", vector(1), {"data": "x"}))
    (linked / "v.db").symlink_to(path)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL").fetchall()
        with writer:
            writer.execute("INSERT INTO vectors VALUES ('n', x'', '{\"data\": \"y\"}')")
        assert list(memories_of(items_of(linked / "v.db"))) == ["m", "n"]


@pytest.mark.gate("IMP-64")
def test_the_index_of_entities_is_no_memory(tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "vectors_entities.db", tmp_path)
    with pytest.raises(SourceRefused, match="it holds none"):
        items_of(tmp_path)
    (told,) = items_of(tmp_path / "vectors_entities.db")
    assert isinstance(told, Notice)
    assert (told.kind, told.detail) == ("no_memory", "entities")


@pytest.mark.gate("IMP-64")
def test_what_is_no_store_or_more_than_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not SQLite at all, but long enough to have a header")
    (tmp_path / "torn.db").write_bytes((SAMPLE / "vectors.db").read_bytes()[:5_000])
    make_history(tmp_path / "history.db")
    for name in ("absent.db", "text.db", "history.db", "torn.db"):
        with pytest.raises(SourceRefused) as refused, open_store(tmp_path / name, None) as reader:
            list(reader.read())
        assert refused.value.remedy
    (tmp_path / "torn.db").unlink()
    make_vectors(tmp_path / "a.db")
    assert items_of(tmp_path) == []
    make_vectors(tmp_path / "b.db")
    with pytest.raises(SourceRefused, match=r"a\.db, b\.db"):
        items_of(tmp_path)
    make_history(tmp_path / "other.sqlite")
    with pytest.raises(SourceRefused, match=r"more than one history"):
        items_of(tmp_path / "a.db")
