"""Reading lines and opening sources: what every importer stands on."""

import io
import os
import socket
import threading
from pathlib import Path

import pytest

from sidecar.importers.items import BadLine, Record, chunks
from sidecar.importers.lines import Line, read_lines
from sidecar.importers.source import SourceRefused, open_source
from sidecar.limits import IMPORT_LINE_BYTES_MAX, INTEGER_MAX


def lines_of(content: bytes) -> list[Line | BadLine]:
    return list(read_lines(io.BytesIO(content)))


def bad(content: bytes) -> BadLine:
    """The only line of the content, which must be bad and say what to do."""
    (line,) = lines_of(content)
    assert isinstance(line, BadLine), line
    assert line.remedy
    return line


@pytest.mark.gate("IMP-01")
@pytest.mark.parametrize(
    "content",
    [
        b'{"a":1}\n{"a":2}\n',
        b'{"a":1}\n{"a":2}',
        b'{"a":1}\r\n{"a":2}\r\n',
        b'\xef\xbb\xbf{"a":1}\n{"a":2}\n',
    ],
    ids=["plain", "no newline at the end", "CRLF", "byte order mark"],
)
def test_the_usual_shapes_of_a_file_read_alike(content: bytes) -> None:
    assert lines_of(content) == [Line(1, {"a": 1}), Line(2, {"a": 2})]


@pytest.mark.gate("IMP-01")
def test_blank_lines_are_no_records_but_are_counted() -> None:
    assert lines_of(b'\n  \n{"a":1}\n\r\n') == [Line(3, {"a": 1})]
    assert lines_of(b"") == []


@pytest.mark.gate("IMP-01")
def test_a_line_separator_inside_a_text_does_not_end_the_line() -> None:
    (line,) = lines_of('{"a":"one\u2028two\u0085three"}\n'.encode())
    assert line == Line(1, {"a": "one\u2028two\u0085three"})


@pytest.mark.gate("IMP-02")
@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b'{"a":"cut of', "column 6"),
        (b"[1]", "no object"),
        (b"{'a':1}", "no JSON"),
        (b'{"a":1}{"a":2}', "Extra data"),
        (b'{"a":1,"a":2}', "'a' stands twice"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "Infinity"),
        (b'{"a":"\xff"}', "byte 7"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
        (b'{"a":' + b"9" * 5_000 + b"}", "integer"),
        (b'{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}", "nested"),
    ],
)
def test_a_line_that_is_unclear_is_reported_whole(content: bytes, part: str) -> None:
    line = bad(content)
    assert line.line == 1
    assert part in line.message


@pytest.mark.gate("IMP-02")
@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b'{"a":{"b":[1,9007199254740992]}}', "$.a.b[1]"),
        (b'{"a":-9007199254740992}', "$.a"),
        (b'{"a":1e999}', "$.a"),
        (b'{"a":["ok","\\ud83d"]}', "$.a[1]"),
        (b'{"a":{"\\udc00":1}}', "$.a.?"),
        (b'{"a":' + b"[" * 60 + b"]" * 60 + b"}", "$.a" + "[0]" * 57),
    ],
)
def test_a_value_that_the_wire_cannot_carry_is_reported_by_its_path(
    content: bytes, field: str
) -> None:
    assert bad(content).field == field


@pytest.mark.gate("IMP-02")
def test_the_largest_numbers_and_whole_emoji_are_fine() -> None:
    (line,) = lines_of(f'{{"a":[{INTEGER_MAX},-{INTEGER_MAX},1e308,"\\ud83d\\ude00"]}}'.encode())
    assert isinstance(line, Line)


@pytest.mark.gate("IMP-03")
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
def test_a_line_may_have_four_mebibytes_and_no_byte_more(ending: bytes) -> None:
    room = IMPORT_LINE_BYTES_MAX - len(b'{"a":""}')
    after = b'{"b":1}' if ending else b""
    fits = b'{"a":"' + b"x" * room + b'"}' + ending + after
    assert [type(line) for line in lines_of(fits)] == [Line] * (2 if ending else 1)
    over = b'{"a":"' + b"x" * (room + 1) + b'"}' + ending + after
    first, *rest = lines_of(over)
    assert isinstance(first, BadLine)
    assert str(IMPORT_LINE_BYTES_MAX) in first.message
    assert rest == ([Line(2, {"b": 1})] if ending else [])


@pytest.mark.gate("IMP-03")
def test_the_line_after_a_gigantic_one_keeps_its_number() -> None:
    lines = lines_of(b"x" * (IMPORT_LINE_BYTES_MAX * 2 + 7) + b'\n{"b":1}')
    assert [type(line) for line in lines] == [BadLine, Line]
    assert lines[1] == Line(2, {"b": 1})


@pytest.mark.gate("IMP-04")
def test_a_regular_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        with open_source(str(tmp_path / name)) as stream:
            assert stream.read() == b"content"
            stream.seek(0)
            assert stream.read() == b"content"


@pytest.mark.gate("IMP-04")
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "to-directory").symlink_to(tmp_path)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "socket"))
        for path, part in (
            (tmp_path / "pipe", "a pipe"),
            (tmp_path / "socket", "a socket"),
            (tmp_path, "a directory"),
            (tmp_path / "to-directory", "a directory"),
            (Path("/dev/null"), "a device"),
            (tmp_path / "loop", "cannot be opened"),
            (tmp_path / "absent", "does not exist"),
            (Path("nul\0byte"), "cannot be opened"),
        ):
            with pytest.raises(SourceRefused) as caught, open_source(str(path)):
                pass
            assert part in caught.value.message
            assert caught.value.remedy


@pytest.mark.gate("IMP-04")
def test_standard_input_can_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as pipe, open(writing, "wb") as sender:
        monkeypatch.setattr("sys.stdin", pipe)
        content = "줄\n".encode() * 50_000  # more than a pipe holds

        def send() -> None:
            sender.write(content)
            sender.close()

        thread = threading.Thread(target=send)
        thread.start()
        with open_source("-") as stream:
            assert stream.read() == content
            stream.seek(0)
            assert stream.read() == content
        thread.join()


@pytest.mark.gate("IMP-05")
def test_records_are_sent_in_calls_of_at_most_500_and_about_4_megabytes() -> None:
    def groups(contents: list[str]) -> list[int]:
        records = [Record(at, {"content": content}) for at, content in enumerate(contents)]
        found = list(chunks(records))
        assert [record for group in found for record in group] == records
        return [len(group) for group in found]

    assert groups([]) == []
    assert groups(["x"] * 500) == [500]
    assert groups(["x"] * 501) == [500, 1]
    assert groups(["x" * 1_500_000] * 3) == [2, 1]
    assert groups(["x", "가" * 1_400_000, "x"]) == [1, 1, 1]  # one that is larger goes alone
