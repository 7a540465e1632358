"""The segment file: what other tools see, exactness, and reading one record."""

import io
import json
import os
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from sidecar.limits import SEGMENT_BYTES_MAX
from sidecar.store.payload import content_hash
from sidecar.store.segments import (
    SegmentDamaged,
    SegmentReader,
    SegmentWriter,
    is_segment,
    is_temporary,
    new_segment_name,
    new_temporary_name,
    publish,
    remove_temporaries,
)
from tests.unit.segment_samples import SCALARS, payload, write_segment

FRAMES = [[payload(n) for n in range(1, 6)], [payload(6)], [payload(n) for n in range(7, 10)]]


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / new_segment_name()
    write_segment(path, FRAMES)
    return path


@pytest.mark.gate("SEG-01")
def test_every_record_comes_back_exactly(segment: Path) -> None:
    with SegmentReader(segment) as reader:
        assert reader.count == 9
        for frame, memories in enumerate(FRAMES):
            assert [record.payload for record in reader.records(frame)] == memories
        record = reader.record(2, 1)
        assert record.payload == payload(8)
        assert record.scalars == SCALARS
        assert record.content_hash == content_hash(payload(8))
        assert [(frame, line) for frame, line, _ in reader][:6] == [(0, n) for n in range(5)] + [
            (1, 0)
        ]


@pytest.mark.gate("SEG-02")
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{ }",
        '{"a" : 1.0, "b":[1e5, -0.0]}',
        '{"same":1,"same":2}',
        '{"키":"값","escaped":"\\uac00\\/"}',
        '{\n  "pretty": true\n}',
        ' {"space":"around"} ',
        '{"deep":' + "[" * 5_000 + "]" * 5_000 + "}",
        '{"big":123456789012345678901234567890}',
        "[1, 2]",
        "not json at all",
        "",
    ],
)
def test_metadata_and_extra_keep_their_exact_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "segment"
    memory = payload(1, metadata=text, extra=text)
    write_segment(path, [[memory, payload(2)]])
    with SegmentReader(path) as reader:
        assert reader.record(0, 0).payload == memory
        assert reader.record(0, 1).payload == payload(2)
        reader.verify()


@pytest.mark.gate("SEG-03")
def test_a_plain_zstd_reader_sees_one_json_object_a_line(segment: Path) -> None:
    with segment.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        lines = io.TextIOWrapper(stream, encoding="utf-8", newline="\n").readlines()
    objects = [json.loads(line) for line in lines]
    assert [found["id"] for found in objects] == [m.id for frame in FRAMES for m in frame]
    assert set(objects[0]) == {
        "id", "content", "metadata", "extra", "createdAt", "embeddingModel", "scalars", "hash"
    }  # fmt: skip
    assert objects[0]["metadata"] == {"number": 1, "이름": "값"}
    assert objects[0]["hash"] == content_hash(payload(1)).hex()


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the zstd command is not installed")
def test_the_zstd_command_accepts_a_segment(segment: Path) -> None:
    subprocess.run(["zstd", "-t", "-q", segment], check=True)
    shown = subprocess.run(["zstd", "-dcq", segment], check=True, capture_output=True).stdout
    assert len(shown.splitlines()) == 9


@pytest.mark.gate("SEG-04")
def test_files_are_private(segment: Path) -> None:
    assert stat.S_IMODE(segment.stat().st_mode) == 0o600


@pytest.mark.gate("SEG-05")
def test_publish_gives_the_final_name_and_takes_the_temporary_one(tmp_path: Path) -> None:
    temporary, final = tmp_path / new_temporary_name("run-1"), tmp_path / new_segment_name()
    write_segment(temporary, FRAMES)
    publish(temporary, final)
    assert os.listdir(tmp_path) == [final.name]
    SegmentReader(final).verify()


@pytest.mark.gate("SEG-05")
def test_publish_never_replaces_a_file(tmp_path: Path) -> None:
    temporary, final = tmp_path / new_temporary_name("run-1"), tmp_path / new_segment_name()
    write_segment(temporary, FRAMES)
    final.write_bytes(b"the only copy of something")
    with pytest.raises(FileExistsError):
        publish(temporary, final)
    assert final.read_bytes() == b"the only copy of something"
    assert temporary.exists()


@pytest.mark.gate("SEG-05")
def test_publish_syncs_the_directory_before_the_temporary_name_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary, final = tmp_path / new_temporary_name("run-1"), tmp_path / new_segment_name()
    write_segment(temporary, FRAMES)

    def fail(descriptor: int) -> None:
        assert stat.S_ISDIR(os.fstat(descriptor).st_mode)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output error"):
        publish(temporary, final)
    assert temporary.exists()


@pytest.mark.gate("SEG-06")
def test_names_tell_finished_files_from_unfinished_ones(tmp_path: Path) -> None:
    names = {new_segment_name() for _ in range(1_000)}
    assert len(names) == 1_000
    assert all(is_segment(name) and not is_temporary(name) for name in names)
    temporary = new_temporary_name("run-01ABC")
    assert is_temporary(temporary)
    assert not is_segment(temporary)
    assert not is_segment("seg-000000000000-0000000000000000.jsonl.zst.bak")
    for run_id in ("", "../x", "a/b", "ü", "a" * 65):
        with pytest.raises(ValueError, match="run id"):
            new_temporary_name(run_id)


@pytest.mark.gate("SEG-06")
def test_temporary_files_are_removed_by_run_or_all(tmp_path: Path) -> None:
    kept = new_segment_name()
    mine, other = new_temporary_name("run-1"), new_temporary_name("run-10")
    for name in (kept, mine, other, "notes.txt"):
        (tmp_path / name).touch()
    assert remove_temporaries(tmp_path, "run-1") == [mine]
    assert remove_temporaries(tmp_path) == [other]
    assert sorted(os.listdir(tmp_path)) == sorted([kept, "notes.txt"])


@pytest.mark.gate("SEG-07")
def test_an_unsealed_file_is_removed_when_its_writer_is_left(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    with pytest.raises(RuntimeError, match="stop"), SegmentWriter(path):
        raise RuntimeError("stop")
    assert not path.exists()


@pytest.mark.gate("SEG-07")
def test_a_writer_never_opens_a_file_that_exists(tmp_path: Path) -> None:
    (tmp_path / "segment").write_bytes(b"here")
    with pytest.raises(FileExistsError):
        SegmentWriter(tmp_path / "segment")
    assert (tmp_path / "segment").read_bytes() == b"here"


@pytest.mark.gate("SEG-08")
def test_the_hash_covers_every_field_of_the_payload() -> None:
    memory = payload(1)
    changes = [
        {"id": memory.id + "x"},
        {"content": memory.content + "x"},
        {"metadata": "{}"},
        {"extra": '{"x":1}'},
        {"created_at": memory.created_at + 1},
        {"embedding_model": None},
        {"embedding_model": ""},
        {"embedding": None},
        {"embedding": b""},
        {"embedding": memory.embedding[:-4] + b"\0\0\0\1" if memory.embedding else b""},
    ]
    hashes = {content_hash(replace(memory, **change)) for change in [{}, *changes]}
    assert len(hashes) == len(changes) + 1
    assert all(len(digest) == 32 for digest in hashes)


@pytest.mark.gate("SEG-08")
def test_moving_text_between_fields_changes_the_hash() -> None:
    one = payload(1, id="ab", content="c", metadata="d", extra="e")
    assert content_hash(one) != content_hash(replace(one, id="a", content="bc"))
    assert content_hash(one) != content_hash(replace(one, content="cd", metadata=""))
    assert content_hash(one) != content_hash(replace(one, metadata="", extra="de"))
    with_model = replace(one, embedding_model="xx", embedding=b"")
    assert content_hash(with_model) != content_hash(
        replace(one, embedding_model="", embedding=b"xx")
    )


@pytest.mark.gate("SEG-09")
@pytest.mark.parametrize("kind", ["missing", "folder", "link", "pipe", "empty", "huge", "foreign"])
def test_what_is_no_segment_is_reported_as_damage(tmp_path: Path, segment: Path, kind: str) -> None:
    path = tmp_path / "thing"
    match kind:
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(segment)
        case "pipe":
            os.mkfifo(path)
        case "empty":
            path.touch()
        case "huge":
            path.touch()
            os.truncate(path, SEGMENT_BYTES_MAX + 1)
        case "foreign":
            path.write_bytes(zstandard.compress(b'{"id":"x"}\n' * 100) * 20)
        case _:
            pass
    with pytest.raises(SegmentDamaged) as caught:
        SegmentReader(path)
    assert str(tmp_path) not in str(caught.value)
    assert str(tmp_path) not in str(caught.value.to_wire_data())


@pytest.mark.gate("SEG-10")
def test_a_place_that_is_not_in_the_segment_is_damage(segment: Path) -> None:
    with SegmentReader(segment) as reader:
        for frame, line in ((3, 0), (-1, 0), (0, 5), (0, -1)):
            with pytest.raises(SegmentDamaged):
                reader.record(frame, line)
