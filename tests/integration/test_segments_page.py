"""A stranger reads a segment with docs/segments.md alone: its commands, and its description.

`read_segment` is written from the page and shares no code with the daemon.
"""

import asyncio
import base64
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw
import pytest
import zstandard

from sidecar.store import segment_format
from sidecar.store.payload import Payload, content_hash
from sidecar.store.segments import FrameBuilder, SegmentWriter
from tests.namespaces import a_world, fill, many, memory, payloads
from tests.sources import ROOT

PAGE = (ROOT / "docs" / "segments.md").read_text(encoding="utf-8")
COMMAND_SECONDS_MAX = 60.0
EXACT = struct.pack("<6f", 0.1, -0.0, 1e-45, 3.4e38, -1.17e-38, 1 / 3)
STRANGE = [
    memory("커피", content="커피를 좋아한다 ☕️", metadata={"b": [1.5, -0.0], "": {"깊이": "🙂"}}),
    memory("lines", content='two\r\nlines\u2028 "quoted" back\\slash \x01'),
    memory("exact", embedding=base64.b64encode(EXACT).decode(), embedding_model="모델-1"),
    memory("wide", embedding=[0.25] * 300, embedding_model="m"),
    memory("dropped", content="to be forgotten"),
]


# --- what the page says, in Python -------------------------------------------------------

# Of a memory: content, metadata, extra, createdAt, model, vector, as bytes where it is text.
Known = dict[str, tuple[Any, ...]]


class Damaged(Exception):
    """The file is not what was sealed."""


@dataclass
class Segment:
    """What the parser recovers: the memories, where each lies, and its line as JSON."""

    memories: Known
    places: dict[str, tuple[int, int]]
    lines: dict[str, dict[str, Any]]


def must(holds: bool) -> None:
    """Raise Damaged unless it holds."""
    if not holds:
        raise Damaged


def body_of(block: bytes, magic: int) -> bytes:
    """The body of a skippable frame, its size and its hash checked."""
    must(struct.unpack_from("<II", block) == (magic, len(block) - 8))
    body, digest = block[8:-32], block[-32:]
    must(hashlib.sha256(body).digest() == digest)
    return body


def vectors_of(block: bytes) -> list[bytes | None]:
    """The vector of each line of the data frame before the block."""
    body = body_of(block, 0x184D2A50)
    (count,) = struct.unpack_from("<I", body)
    at = 4 + 4 * count
    found: list[bytes | None] = []
    for length in struct.unpack_from(f"<{count}I", body, 4):
        if length == 0xFFFFFFFF:
            found.append(None)
        else:
            found.append(body[at : at + length])
            at += length
    must(at == len(body))
    return found


def raw_fields(line: str) -> dict[str, str]:
    """The fields of a line in order, each value as the text that stands there."""
    decoder = json.JSONDecoder()
    fields: dict[str, str] = {}
    at = 1
    while at < len(line):
        name, at = decoder.raw_decode(line, at)
        _, end = decoder.raw_decode(line, at + 1)
        fields[name] = line[at + 1 : end]
        at = end + 1
    return fields


def memory_of(line: str, vector: bytes | None) -> tuple[str, tuple[Any, ...]]:
    """The id and the exact parts of a memory, its content hash checked."""
    fields, values = raw_fields(line), json.loads(line)
    identity, content = values["id"].encode(), values["content"].encode()
    metadata = values.get("metadataText", fields["metadata"]).encode()
    extra = values.get("extraText", fields["extra"]).encode()
    model = None if values["embeddingModel"] is None else values["embeddingModel"].encode()
    lengths = struct.pack(
        "<QQQQqqq",
        *(len(part) for part in (identity, content, metadata, extra)),
        values["createdAt"],
        *(-1 if part is None else len(part) for part in (model, vector)),
    )
    parts = (identity, content, metadata, extra, model or b"", vector or b"")
    digest = hashlib.sha256(b"forgetd payload 1\0" + lengths + b"".join(parts)).hexdigest()
    must(digest == values["hash"])
    decoded_model = values["embeddingModel"]
    known = (content, metadata, extra, values["createdAt"], decoded_model, vector)
    return values["id"], known


def read_segment(data: bytes) -> Segment:
    """Everything in a segment, every hash that the page names checked. Raises Damaged."""
    must(len(data) >= 112)
    seal = body_of(data[-112:], 0x184D2A52)
    label, version, frames, count, index_at, index_size, digest = struct.unpack("<8sIIQQQ32s", seal)
    must((label, version) == (b"FGTDSEAL", 1))
    must(index_at + index_size + 112 == len(data))
    must(hashlib.sha256(data[:-112]).digest() == digest)

    index = body_of(data[index_at:-112], 0x184D2A51)
    must(struct.unpack_from("<8sI", index) == (b"FGTDINDX", frames))
    found, end = Segment({}, {}, {}), 0
    for frame, entry in enumerate(struct.iter_unpack("<QIIII32s", index[12:])):
        offset, data_size, vector_size, text_size, lines, sha256 = entry
        must(offset == end)
        middle, end = offset + data_size, offset + data_size + vector_size
        must(hashlib.sha256(data[offset:middle]).digest() == sha256)
        text = zstandard.ZstdDecompressor().decompress(data[offset:middle])
        must(len(text) == text_size and text.endswith(b"\n") and text.count(b"\n") == lines)
        vectors = vectors_of(data[middle:end])
        for number, line in enumerate(text.decode().removesuffix("\n").split("\n")):
            memory_id, known = memory_of(line, vectors[number])
            found.memories[memory_id] = known
            found.places[memory_id] = (frame, number)
            found.lines[memory_id] = json.loads(line)
    must((end, len(found.places)) == (index_at, count))
    return found


# --- a real namespace --------------------------------------------------------------------


@dataclass
class Archive:
    """A namespace on disk that is not served: all was spilled, then some things happened."""

    directory: Path
    cold: Path
    forgotten: Path
    stored: Known

    def typed_in(self, folder: Path) -> Path:
        """The folder, with the cold segment under the name that the page uses."""
        shutil.copy(self.cold, folder / "segment.jsonl.zst")
        return folder

    def contents(self) -> list[list[str]]:
        """What the page's readers must print of the cold segment, in order."""
        lines = read_segment(self.cold.read_bytes()).lines
        return [[memory_id, line["content"]] for memory_id, line in lines.items()]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """More than a thousand memories in one cold segment; one pinned, one forgotten since."""
    state_dir = tmp_path_factory.mktemp("state")

    async def make() -> tuple[Path, Known]:
        async with a_world(state_dir) as world:
            namespace = await world.open(automatic=False)
            await fill(namespace, [*STRANGE, *many(1_200)])
            stored = payloads(namespace)
            await namespace.cold_spill(dry_run=False, target=0)
            await namespace.pin(id="exact", pinned=True)
            await namespace.forget(ids=["dropped"], reason="called")
            return world.directory(), stored

    directory, stored = asyncio.run(make())
    (cold,) = (directory / "cold").glob("seg-*.jsonl.zst")
    (forgotten,) = (directory / "forgotten").iterdir()
    return Archive(directory, cold, forgotten, stored)


def shown(language: str, containing: str) -> str:
    """The page's one code block in a language that contains the text."""
    fences = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = [fence for fence in fences if containing in fence]
    return found


def run(command: list[str], folder: Path) -> str:
    """The standard output of a command that must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        timeout=COMMAND_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def printed_by_python(folder: Path) -> list[list[str]]:
    """What the page's own Python prints of the segment in a folder."""
    printed = run([sys.executable, "-c", shown("python", "read_across_frames=True")], folder)
    return [json.loads(line) for line in printed.splitlines()]


def printed_by_duckdb(statement: str, folder: Path) -> list[list[str]]:
    """The rows that DuckDB answers; where it is not installed, what the page's Python prints."""
    if find_spec("duckdb") is None:
        return printed_by_python(folder)
    program = f"import duckdb, json; print(json.dumps(duckdb.sql({statement!r}).fetchall()))"
    return json.loads(run([sys.executable, "-c", program], folder))


# --- the commands of the page ------------------------------------------------------------


@pytest.mark.gate("DOC-10")
def test_the_python_of_the_page_prints_every_memory(archive: Archive, tmp_path: Path) -> None:
    assert printed_by_python(archive.typed_in(tmp_path)) == archive.contents()
    assert len(archive.contents()) == len(archive.stored) == 1_205


@pytest.mark.gate("DOC-10")
def test_zstdcat_shows_the_first_memory(archive: Archive, tmp_path: Path) -> None:
    command = shown("sh", "zstdcat")
    if shutil.which("zstdcat") is None:  # then by Python's reader, the rest as it stands there
        reader = (
            "import sys, zstandard; zstandard.ZstdDecompressor()"
            ".copy_stream(open('segment.jsonl.zst', 'rb'), sys.stdout.buffer)"
        )
        command = command.replace("zstdcat segment.jsonl.zst", f'python3 -c "{reader}"')
    printed = json.loads(run(["sh", "-c", command], archive.typed_in(tmp_path)))
    first = archive.contents()[0][0]
    assert printed == read_segment(archive.cold.read_bytes()).lines[first]


@pytest.mark.gate("DOC-10")
@pytest.mark.parametrize("containing", ["format='newline_delimited')\n", "columns="])
def test_duckdb_finds_every_memory(archive: Archive, tmp_path: Path, containing: str) -> None:
    statement = shown("sql", containing)
    assert statement.startswith("SELECT id, content FROM read_json('segment.jsonl.zst'")
    assert printed_by_duckdb(statement, archive.typed_in(tmp_path)) == archive.contents()


@pytest.mark.gate("DOC-10")
def test_the_seal_is_verified_by_the_shell(archive: Archive, tmp_path: Path) -> None:
    command = shown("sh", "sha256sum")
    counted, sealed = run(["sh", "-c", command], archive.typed_in(tmp_path)).split()
    assert counted == sealed
    with (tmp_path / "segment.jsonl.zst").open("r+b") as file:
        file.write(b"\0")
    counted, sealed = run(["sh", "-c", command], tmp_path).split()
    assert counted != sealed


@pytest.mark.gate("DOC-10")
def test_the_worked_example_gives_the_hash_of_its_line(tmp_path: Path) -> None:
    printed = run([sys.executable, "-c", shown("python", "lengths =")], tmp_path).strip()
    line = shown("json", "tofu").removesuffix("\n")
    assert printed == json.loads(line)["hash"]
    vector = struct.pack("<2f", 1.0, -0.5)
    assert memory_of(line, vector)[0] == "tofu"
    record = segment_format.decode_line(line.encode(), vector)
    assert record.content_hash.hex() == printed


# --- the description of the page ---------------------------------------------------------


@pytest.mark.gate("DOC-10")
def test_a_parser_made_from_the_page_recovers_everything_exactly(archive: Archive) -> None:
    cold = read_segment(archive.cold.read_bytes())
    assert cold.memories == archive.stored
    assert cold.memories["exact"][-1] == EXACT
    assert max(cold.places.values())[0] == 1  # more than one frame
    forgotten = read_segment(archive.forgotten.read_bytes())
    assert forgotten.memories == {"dropped": archive.stored["dropped"]}


@pytest.mark.gate("DOC-10")
def test_metadata_that_cannot_stand_in_a_line_is_recovered_too(tmp_path: Path) -> None:
    made = [
        Payload("a", "spans lines", '{"a":\n1}', "{}", 1, None, b""),
        Payload("b", "spaces, keys twice", '{"a" : 1,  "a": 2.50}', '{\r"b": 1}', 2, "", None),
        Payload("c", "no JSON", "none", "", -3, None, struct.pack("<f", -0.0)),
    ]
    builder = FrameBuilder()
    for one in made:
        builder.add(segment_format.encode_line(one, {}, content_hash(one)), one.embedding)
    with SegmentWriter(tmp_path / "segment") as writer:
        writer.write(builder.pack())
        writer.seal()
    found = read_segment((tmp_path / "segment").read_bytes()).memories
    assert found == {
        one.id: (
            *(text.encode() for text in (one.content, one.metadata, one.extra)),
            *(one.created_at, one.embedding_model, one.embedding),
        )
        for one in made
    }


@pytest.mark.gate("DOC-10")
def test_what_the_page_says_to_check_finds_any_damage(archive: Archive) -> None:
    whole = archive.forgotten.read_bytes()
    for at in range(len(whole)):
        with pytest.raises(Damaged):
            read_segment(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(Damaged):
            read_segment(whole[:at])


@pytest.mark.gate("DOC-10")
def test_the_page_names_every_field_and_scalar(archive: Archive) -> None:
    line = read_segment(archive.cold.read_bytes()).lines["exact"]
    assert list(line) == [*names_in("field")][: len(line)]
    assert {*names_in("field")} - {*line} == {"metadataText", "extraText"}
    assert {*names_in("scalar")} == {*line["scalars"]}


def names_in(table: str) -> Iterator[str]:
    """The names in the first column of the table that is headed so."""
    _, rows = PAGE.split(f"| {table} | ")
    for row in rows.partition("\n\n")[0].splitlines()[2:]:
        yield from re.findall(r"`(\w+)`", row.split("|")[1])


@pytest.mark.gate("DOC-10")
def test_the_database_says_which_line_counts_and_wins(archive: Archive) -> None:
    cold = read_segment(archive.cold.read_bytes())
    connection = apsw.Connection(str(archive.directory / "hot.db"), apsw.SQLITE_OPEN_READWRITE)
    rows = connection.execute(shown("sql", "FROM memories")).fetchall()
    connection.close()
    placed = {memory_id: (segment, frame, line) for memory_id, segment, frame, line, _ in rows}
    assert placed.pop("dropped") == (archive.forgotten.name, 0, 0)
    assert placed == {
        memory_id: (archive.cold.name, *place)
        for memory_id, place in cold.places.items()
        if memory_id != "dropped"  # its line is dead
    }
    pinned = {memory_id for memory_id, *_, flag in rows if flag}
    assert pinned == {"exact"}
    assert cold.lines["exact"]["scalars"]["pinned"] == 0
