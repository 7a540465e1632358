"""The index of cold memories on disk: what is kept, and how damage to it is noticed."""

import os
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest

from sidecar.store import cold_tables, cold_vectors
from sidecar.store.cold_entries import COUNTER_UNKNOWN, NO_SPACE, Entries, stamp_of
from sidecar.store.cold_tables import (
    DATABASE,
    FAULTS,
    SEAL,
    Document,
    IndexDamaged,
    IndexState,
    IndexWriter,
)
from sidecar.store.vector_index import Float32, normalised

DIMENSIONS = 12


def direction(rid: int, dimensions: int = DIMENSIONS) -> Float32:
    """Always the same vector of length 1 for one row."""
    row = np.random.default_rng(rid).standard_normal(dimensions).astype("<f4")
    vector = normalised(row.tobytes())
    assert vector is not None
    return vector


def document(rid: int, text: str = "some words", model: str | None = "m") -> Document:
    """A row; every fifth has no vector, every seventh one of another size."""
    vector = None if rid % 5 == 0 else direction(rid, 20 if rid % 7 == 0 else DIMENSIONS)
    return Document(rid, rid * 1_000, rid % 3, f"{text} row{rid}", model, vector)


def build(folder: Path, rids: Sequence[int], batch: int = 10) -> IndexState:
    """A sealed index of some rows."""
    writer = IndexWriter(folder, None)
    made = [
        writer.add([document(rid) for rid in rids[start : start + batch]])
        for start in range(0, len(rids), batch)
    ]
    writer.join(made)
    writer.close(seal=True)
    return writer.state


def assert_same(one: IndexState | None, other: IndexState) -> None:
    """Equal but for the counters, which are not stored."""
    assert one is not None
    assert one.build == other.build
    assert sorted(one.spaces, key=str) == sorted(other.spaces, key=str)
    assert one.entries.stored() == other.entries.stored()


def assert_vectors_are_found(folder: Path, state: IndexState) -> None:
    """Each row's vector lies in the slot that its entry names."""
    entries = state.entries
    for space in state.spaces:
        descriptor = cold_vectors.open_vectors(folder, space)
        for place in np.flatnonzero(entries.space == space.number):
            query = direction(int(entries.rid[place]), space.dimensions)
            cosines = cold_vectors.cosines(descriptor, space, query)
            assert cosines[entries.slot[place]] == pytest.approx(1, abs=1e-3)
        os.close(descriptor)


@pytest.mark.gate("COLD-40")
def test_what_was_written_is_loaded_again(tmp_path: Path) -> None:
    rids = [7, 3, 12, *range(20, 80)]
    state = build(tmp_path, rids)
    loaded = cold_tables.load(tmp_path)
    assert_same(loaded, state)
    assert loaded is not None
    assert loaded.entries.rid.tolist() == sorted(rids)
    assert set(loaded.entries.counter.tolist()) == {COUNTER_UNKNOWN}
    assert {(space.model, space.dimensions) for space in loaded.spaces} == {("m", 12), ("m", 20)}
    without = loaded.entries.rid[loaded.entries.space == NO_SPACE].tolist()
    assert without == [rid for rid in sorted(rids) if rid % 5 == 0]
    assert_vectors_are_found(tmp_path, loaded)
    assert sum(space.slots for space in loaded.spaces) == len(rids) - len(without)
    connection = cold_tables.open_for_reading(tmp_path)
    counts = cold_tables.counts_of(connection, loaded.build)
    assert counts.documents == len(rids)
    assert counts.mean_tokens == 3
    found = connection.execute("SELECT rowid FROM search WHERE search MATCH 'row12'").fetchall()
    assert found == [(12,)]
    with pytest.raises(apsw.ReadOnlyError):
        connection.execute("DELETE FROM entries")
    connection.close()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.gate("COLD-40")
def test_an_index_goes_on_where_it_stopped(tmp_path: Path) -> None:
    build(tmp_path, range(1, 30))
    loaded = cold_tables.load(tmp_path)
    writer = IndexWriter(tmp_path, loaded)
    assert not (tmp_path / SEAL).exists()
    writer.join([writer.add([document(rid) for rid in range(30, 60)])])
    writer.remove(np.arange(1, 5))
    writer.close(seal=True)
    again = cold_tables.load(tmp_path)
    assert_same(again, writer.state)
    assert again is not None
    assert again.entries.rid.tolist() == list(range(5, 60))
    assert_vectors_are_found(tmp_path, again)
    connection = cold_tables.open_for_reading(tmp_path)
    assert cold_tables.counts_of(connection, again.build).documents == 55
    assert connection.execute("SELECT 1 FROM search WHERE search MATCH 'row3'").fetchall() == []
    with pytest.raises(IndexDamaged):
        cold_tables.counts_of(connection, again.build + 1)
    connection.close()


@pytest.mark.gate("COLD-41")
def test_vectors_that_are_mostly_dead_are_copied_to_a_new_file(tmp_path: Path) -> None:
    build(tmp_path, range(1, 201))
    writer = IndexWriter(tmp_path, cold_tables.load(tmp_path))
    writer.remove(np.arange(1, 40))
    assert writer.worth_repacking() == []
    writer.remove(np.array([rid for rid in range(40, 201) if rid % 7 == 0 or rid % 4 == 0]))
    old = {space.file for space in writer.state.spaces}
    spaces = writer.worth_repacking()
    assert {space.dimensions for space in spaces} == {12, 20}
    for space in spaces:
        writer.repack(space)
    # A reader that began before still has what it needs.
    assert all((tmp_path / file).exists() for file in old)
    writer.close(seal=True)
    assert not any((tmp_path / file).exists() for file in old)
    loaded = cold_tables.load(tmp_path)
    assert_same(loaded, writer.state)
    assert loaded is not None
    (space,) = loaded.spaces  # none of the other size is left
    live = [rid for rid in range(40, 201) if rid % 7 and rid % 4 and rid % 5]
    assert space.slots == len(live)
    assert (tmp_path / space.file).stat().st_size == len(live) * DIMENSIONS * 2
    assert_vectors_are_found(tmp_path, loaded)
    writer = IndexWriter(tmp_path, loaded)
    writer.join([writer.add([document(rid) for rid in range(300, 320)])])
    writer.close(seal=True)
    assert_vectors_are_found(tmp_path, writer.state)


@pytest.mark.gate("COLD-41")
def test_a_database_of_free_pages_gets_smaller(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path, None)
    text = " ".join(f"word{number}" for number in range(200))
    writer.join([writer.add([document(rid, text) for rid in range(1, 2_000)])])
    writer.close(seal=True)
    before = (tmp_path / DATABASE).stat().st_size
    writer = IndexWriter(tmp_path, cold_tables.load(tmp_path))
    writer.remove(np.arange(1, 1_990))
    writer.close(seal=True)
    assert (tmp_path / DATABASE).stat().st_size < before / 2
    assert_same(cold_tables.load(tmp_path), writer.state)


@pytest.mark.gate("COLD-42")
def test_no_seal_no_index(tmp_path: Path) -> None:
    assert cold_tables.load(tmp_path) is None
    writer = IndexWriter(tmp_path, None)
    writer.join([writer.add([document(rid) for rid in range(1, 9)])])
    assert cold_tables.load(tmp_path) is None  # as after a kill at this point
    writer.close(seal=False)
    assert cold_tables.load(tmp_path) is None
    build(tmp_path, range(1, 5))  # over the remains
    loaded = cold_tables.load(tmp_path)
    assert loaded is not None
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.gate("COLD-42")
@pytest.mark.parametrize("name", [DATABASE, SEAL, "vectors"])
def test_damage_to_any_file_is_noticed(tmp_path: Path, name: str) -> None:
    build(tmp_path, range(1, 60))
    path = next(path for path in tmp_path.iterdir() if path.name.startswith(name))
    whole = path.read_bytes()
    generator = np.random.default_rng(1)
    places = {0, len(whole) - 1, *generator.integers(0, len(whole), 25).tolist()}
    damaged = [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in places]
    for content in [*damaged, b"", whole[: len(whole) // 2], whole[:-1]]:
        path.write_bytes(content)
        with pytest.raises((*FAULTS, ValueError)):
            cold_tables.load(tmp_path)
    path.write_bytes(whole)
    assert cold_tables.load(tmp_path) is not None
    path.unlink()
    if name == SEAL:
        assert cold_tables.load(tmp_path) is None
    else:
        with pytest.raises(FAULTS):
            cold_tables.load(tmp_path)


@pytest.mark.gate("COLD-42")
def test_an_index_of_another_version_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path, range(1, 9))
    monkeypatch.setattr(cold_tables, "VERSION", 2)
    with pytest.raises(IndexDamaged):
        cold_tables.load(tmp_path)


@pytest.mark.gate("COLD-42")
def test_removing_an_index_leaves_everything_else(tmp_path: Path) -> None:
    build(tmp_path, range(1, 9))
    (tmp_path / f"{DATABASE}-journal").write_text("left by something")
    kept = ["seg-0123456789ab-0123456789abcdef.jsonl.zst", ".tmp-run-1", "vectors-mine.f16"]
    for name in kept:
        (tmp_path / name).write_text("kept")
    cold_tables.remove_files(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
    cold_tables.remove_files(tmp_path)


@pytest.mark.gate("COLD-43")
def test_a_failed_change_changes_nothing(tmp_path: Path) -> None:
    build(tmp_path, range(1, 9))
    before = cold_tables.load(tmp_path)
    writer = IndexWriter(tmp_path, before)
    with pytest.raises(apsw.ConstraintError):
        writer.add([document(50), document(3)])
    writer.join([writer.add([document(60)])])
    writer.close(seal=True)
    loaded = cold_tables.load(tmp_path)
    assert_same(loaded, writer.state)
    assert loaded is not None
    assert loaded.entries.rid.tolist() == [*range(1, 9), 60]
    assert_vectors_are_found(tmp_path, loaded)


@pytest.mark.gate("COLD-44")
def test_entries_are_found_joined_and_taken_out_by_row() -> None:
    entries = Entries.of([(5, 50, 1, 0), (2, 20, NO_SPACE, 0), (9, 90, 1, 1)], [7, 8, 9])
    assert entries.rid.tolist() == [2, 5, 9]
    assert entries.counter.tolist() == [8, 7, 9]
    assert entries.find(np.array([9, 1, 2, 10, 5])).tolist() == [2, -1, 0, -1, 1]
    assert Entries.of(()).find(np.array([1, 2])).tolist() == [-1, -1]
    joined = entries.joined([Entries.of([(7, 70, 2, 0)]), Entries.of([(1, 10, 1, 2)])])
    assert joined.stored() == [
        (1, 10, 1, 2),
        (2, 20, NO_SPACE, 0),
        (5, 50, 1, 0),
        (7, 70, 2, 0),
        (9, 90, 1, 1),
    ]
    assert joined.without(np.array([5, 6])).rid.tolist() == [1, 2, 7, 9]
    moved = joined.moved(np.array([0, 2]), np.array([30, 40], np.int32))
    assert moved.slot.tolist() == [30, 0, 40, 0, 1]
    assert joined.slot.tolist() == [2, 0, 0, 0, 1]
    assert stamp_of(bytes(range(32))) == int.from_bytes(bytes(range(8)), "little")
    assert stamp_of(b"\xff" * 32) == -1
