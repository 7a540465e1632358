"""The commit counter beside the database: it survives torn and rotten bytes."""

import random
from pathlib import Path

import pytest

from sidecar.store.commits import (
    RUN_UNFINISHED,
    SLOT_BYTES,
    SLOTS,
    THRESHOLD_CROSSED,
    CommitFile,
    StoredCounts,
    read_counts,
)


def counts(commits: int) -> StoredCounts:
    """The counts of a store that grows by one memory a commit."""
    return StoredCounts(commits, commits, 2, 3, 1_000 * commits, RUN_UNFINISHED)


def written(path: Path, last: int) -> Path:
    """A file with the counts of every commit up to `last`."""
    file = CommitFile(path / "commits")
    for number in range(1, last + 1):
        file.write(counts(number))
    file.close()
    return path / "commits"


@pytest.mark.gate("STORE-30")
def test_the_last_commit_is_read_back(tmp_path: Path) -> None:
    assert read_counts(tmp_path / "commits") is None
    for last in (1, 2, 3, 10):
        path = written(tmp_path, last)
        assert read_counts(path) == counts(last)
        assert path.stat().st_size <= SLOT_BYTES * SLOTS
        assert path.stat().st_mode & 0o777 == 0o600
        path.unlink()


@pytest.mark.gate("STORE-30")
def test_flags_and_large_numbers_come_back(tmp_path: Path) -> None:
    largest = StoredCounts(2**63, 2**40, 0, 2**53, 2**60, RUN_UNFINISHED | THRESHOLD_CROSSED)
    file = CommitFile(tmp_path / "commits")
    file.write(largest)
    file.close()
    assert read_counts(tmp_path / "commits") == largest


@pytest.mark.gate("STORE-30")
@pytest.mark.parametrize("last", [4, 5])
def test_a_torn_write_leaves_the_commit_before(tmp_path: Path, last: int) -> None:
    path = written(tmp_path, last)
    whole = path.read_bytes()
    start = last % SLOTS * SLOT_BYTES
    older = written(tmp_path, last - 2).read_bytes()[start : start + SLOT_BYTES]
    for cut in range(1, SLOT_BYTES):
        torn = whole[start : start + cut] + older[cut:]
        path.write_bytes(whole[:start] + torn + whole[start + SLOT_BYTES :])
        assert read_counts(path) in (counts(last), counts(last - 1)), cut


@pytest.mark.gate("STORE-30")
def test_rot_never_raises_the_counter(tmp_path: Path, rng: random.Random) -> None:
    path = written(tmp_path, 9)
    whole = path.read_bytes()
    possible = (counts(9), counts(8))
    for _ in range(300):
        rotten = bytearray(whole)
        rotten[rng.randrange(len(rotten))] ^= 1 << rng.randrange(8)
        path.write_bytes(rotten)
        assert read_counts(path) in possible


@pytest.mark.gate("STORE-30")
@pytest.mark.parametrize("raw", [b"", b"x", b"\0" * 128, b"\xff" * 500])
def test_a_file_of_something_else_says_nothing(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "commits").write_bytes(raw)
    assert read_counts(tmp_path / "commits") is None
