"""The encoding process: same result, and no death of it goes unnoticed or leaves a trace."""

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidecar.limits import ENCODE_IN_PROCESS_MEMORIES_MAX
from sidecar.store.encode import EncodeFailed, EncodeResult, encode_segments
from sidecar.store.encode_process import EncodeWorkerDied, NamespaceEncoder, ProcessEncoder
from sidecar.store.segments import SegmentReader
from tests.unit.segment_samples import FakeSource, payload, steer

SOURCE = "tests.unit.segment_samples:FakeSource"
ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 30.0


@pytest.fixture(autouse=True)
def _find_the_fake_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    (tmp_path / "cold").mkdir()
    return tmp_path / "cold"


@pytest.fixture
def encoder(tmp_path: Path) -> Iterator[ProcessEncoder]:
    with ProcessEncoder(tmp_path, SOURCE) as made:
        yield made


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)


def is_alive(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def read_back(result: EncodeResult) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for segment in result.segments:
        with SegmentReader(segment.temporary) as reader:
            assert reader.verify() == segment.sha256
            for rid, frame, line in zip(segment.rid, segment.frame, segment.line, strict=True):
                found.append((int(rid), reader.record(int(frame), int(line)).payload.id))
    return found


@pytest.mark.gate("ENC-09")
def test_the_process_gives_what_encoding_here_gives(cold: Path, encoder: ProcessEncoder) -> None:
    steer(cold.parent, corrupt=[4], missing=[6])
    rids = [9, *range(1, 8)]
    far = encoder.encode(rids, cold, "run-1")
    near = encode_segments(FakeSource(cold.parent), rids, cold, "run-1")
    assert read_back(far) == read_back(near) == [(r, payload(r).id) for r in [9, 1, 2, 3, 5, 7]]
    assert (far.corrupt, far.missing, far.oversized) == (near.corrupt, near.missing, [])
    for one, other in zip(far.segments, near.segments, strict=True):
        assert (one.records, one.bytes, one.sha256) == (other.records, other.bytes, other.sha256)
        for name in ("rid", "frame", "line", "change_counter", "share_bytes"):
            left, right = getattr(one, name), getattr(other, name)
            assert left.tolist() == right.tolist()
            assert left.dtype == right.dtype


@pytest.mark.gate("ENC-09")
def test_one_process_serves_every_call_and_ends_with_close(
    cold: Path, encoder: ProcessEncoder
) -> None:
    assert encoder.process_id is None
    encoder.encode([1, 2], cold, "run-1")
    first = encoder.process_id
    encoder.encode([3], cold, "run-2")
    assert first is not None
    assert encoder.process_id == first
    encoder.close()
    encoder.close()
    assert encoder.process_id is None
    assert not is_alive(first)


@pytest.mark.gate("ENC-10")
def test_a_process_killed_midway_is_noticed_and_its_files_are_removed(
    cold: Path, encoder: ProcessEncoder
) -> None:
    (earlier,) = encoder.encode([50], cold, "run-1").segments
    (cold / ".tmp-run-2-of-another-run").touch()
    kept = sorted(os.listdir(cold))
    steer(cold.parent, stall_at=30, content_bytes=900_000)

    def kill_when_stalled() -> None:
        wait_until((cold.parent / "stalled").exists)
        left.extend(os.listdir(cold))
        assert encoder.process_id is not None
        os.kill(encoder.process_id, signal.SIGKILL)

    left: list[str] = []
    killer = threading.Thread(target=kill_when_stalled)
    killer.start()
    with pytest.raises(EncodeWorkerDied):
        encoder.encode(list(range(1, 41)), cold, "run-1")
    killer.join()
    assert len(left) > len(kept) + 1
    assert sorted(os.listdir(cold)) == kept
    assert earlier.temporary.name in kept


@pytest.mark.gate("ENC-10")
def test_after_a_death_the_next_call_starts_a_new_process(
    cold: Path, encoder: ProcessEncoder
) -> None:
    encoder.encode([1], cold, "run-1")
    first = encoder.process_id
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not is_alive(first))
    with pytest.raises(EncodeWorkerDied):
        encoder.encode([2], cold, "run-2")
    assert read_back(encoder.encode([3], cold, "run-3")) == [(3, payload(3).id)]
    assert encoder.process_id != first


@pytest.mark.gate("ENC-10")
def test_a_process_that_cannot_start_says_why(cold: Path) -> None:
    with (
        ProcessEncoder(cold.parent, "tests.unit.segment_samples:Absent") as encoder,
        pytest.raises(EncodeWorkerDied) as caught,
    ):
        encoder.encode([1], cold, "run-1")
    assert "Absent" in caught.value.last_words
    assert "Absent" not in str(caught.value.to_wire_data())


@pytest.mark.gate("ENC-11")
def test_close_ends_a_call_that_is_under_way(cold: Path, encoder: ProcessEncoder) -> None:
    steer(cold.parent, stall_at=2)

    def close_when_stalled() -> None:
        wait_until((cold.parent / "stalled").exists)
        encoder.close()

    closer = threading.Thread(target=close_when_stalled)
    closer.start()
    with pytest.raises(EncodeWorkerDied):
        encoder.encode([1, 2, 3], cold, "run-1")
    closer.join()
    assert os.listdir(cold) == []


@pytest.mark.gate("ENC-11")
def test_the_process_does_not_outlive_a_killed_daemon(cold: Path) -> None:
    steer(cold.parent, stall_at=2)
    program = (
        "import sys; from pathlib import Path;"
        "from sidecar.store.encode_process import ProcessEncoder;"
        "root = Path(sys.argv[1]);"
        f"ProcessEncoder(root, {SOURCE!r}).encode([1, 2, 3], root / 'cold', 'run-1')"
    )
    daemon = subprocess.Popen([sys.executable, "-c", program, str(cold.parent)])
    try:
        wait_until((cold.parent / "stalled").exists)
        children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
    finally:
        daemon.kill()
        daemon.wait()
    assert len(children) == 1
    wait_until(lambda: not is_alive(int(children[0])))


@pytest.mark.gate("ENC-12")
def test_a_disk_error_in_the_process_keeps_its_number(cold: Path, encoder: ProcessEncoder) -> None:
    encoder.encode([1], cold, "run-1")
    before = os.listdir(cold)
    assert encoder.process_id is not None
    resource.prlimit(encoder.process_id, resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    steer(cold.parent, content_bytes=900_000)
    with pytest.raises(OSError, match="File too large") as caught:
        encoder.encode(list(range(1, 9)), cold, "run-2")
    assert caught.value.errno == errno.EFBIG
    assert os.listdir(cold) == before


@pytest.mark.gate("ENC-12")
def test_an_error_of_the_source_is_named_without_its_words(
    cold: Path, encoder: ProcessEncoder
) -> None:
    steer(cold.parent, fail_at=2)
    with pytest.raises(EncodeFailed) as caught:
        encoder.encode([1, 2], cold, "run-1")
    assert "ValueError" in caught.value.message
    assert "broke" not in caught.value.message
    assert os.listdir(cold) == []
    steer(cold.parent)
    assert len(encoder.encode([1, 2], cold, "run-1").segments) == 1


@pytest.mark.gate("ENC-13")
def test_only_many_memories_are_worth_a_process(cold: Path) -> None:
    with NamespaceEncoder(cold.parent, SOURCE) as encoder:
        few = list(range(1, ENCODE_IN_PROCESS_MEMORIES_MAX + 1))
        assert len(read_back(encoder.encode(few, cold, "run-1"))) == len(few)
        assert encoder.process_id is None
        many = [*few, len(few) + 1]
        assert len(read_back(encoder.encode(many, cold, "run-1"))) == len(many)
        started = encoder.process_id
        assert started is not None
    assert not is_alive(started)
