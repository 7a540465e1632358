"""Encoding in a process of its own, so that the daemon's interpreter stays free.

Parent and worker speak over the worker's stdin and stdout: four bytes of length, then msgpack.
The worker ends at once when its stdin closes, so it never outlives the daemon.
"""

import contextlib
import errno
import importlib
import os
import queue
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Self, cast

import msgspec
import numpy as np

from sidecar.limits import ENCODE_IN_PROCESS_MEMORIES_MAX
from sidecar.store.encode import (
    EncodedSegment,
    EncodeFailed,
    EncodeResult,
    InProcessEncoder,
    encode_segments,
)
from sidecar.store.payload import RecordSource
from sidecar.store.segments import remove_temporaries, temporaries

PAYLOAD_SOURCE = "sidecar.store.sqlite.source:PayloadSource"

_LENGTH_BYTES = 4
_NICENESS = 5
_STDERR_LINES_KEPT = 50
_CLOSE_SECONDS = 5.0


class EncodeWorkerDied(EncodeFailed):
    """The encoding process ended before it answered; its temporary files were removed.

    `last_words` is the end of its standard error, for the log only.
    """

    default_message = "The encoding process ended before it answered"

    def __init__(self, last_words: str = "") -> None:
        super().__init__()
        self.last_words = last_words


class _Request(msgspec.Struct):
    rids: bytes
    directory: str
    run_id: str


class _Segment(msgspec.Struct):
    temporary: str
    name: str
    records: int
    sha256: bytes
    rid: bytes
    frame: bytes
    line: bytes
    change_counter: bytes
    share_bytes: bytes
    bytes: int


class _Encoded(msgspec.Struct, tag=True):
    segments: list[_Segment]
    corrupt: list[int]
    missing: list[int]
    oversized: list[int]


class _DiskError(msgspec.Struct, tag=True):
    number: int
    text: str


class _Failed(msgspec.Struct, tag=True):
    kind: str


_Answer = _Encoded | _DiskError | _Failed
_answer_decoder: msgspec.msgpack.Decoder[_Answer] = msgspec.msgpack.Decoder(_Answer)
_request_decoder = msgspec.msgpack.Decoder(_Request)


class NamespaceEncoder:
    """The encoder of one run: few memories in the caller's thread, many in a process.

    The process starts when it is first needed and ends with `close`.
    """

    def __init__(self, namespace_directory: Path, source: str = PAYLOAD_SOURCE) -> None:
        open_source = _resolve(source)
        self._near = InProcessEncoder(lambda: open_source(namespace_directory))
        self._far = ProcessEncoder(namespace_directory, source)

    def encode(self, rids: Sequence[int], directory: Path, run_id: str) -> EncodeResult:
        """See `SegmentEncoder.encode`."""
        few = len(rids) <= ENCODE_IN_PROCESS_MEMORIES_MAX
        return (self._near if few else self._far).encode(rids, directory, run_id)

    @property
    def process_id(self) -> int | None:
        """The process id while a process runs."""
        return self._far.process_id

    def close(self) -> None:
        """End the process, if one was started."""
        self._far.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ProcessEncoder:
    """A `SegmentEncoder` whose work is done by `python -m sidecar.store.encode_process`.

    `source` names, as `module:callable`, what opens a `RecordSource` on the namespace's
    directory. One call at a time; others wait.
    """

    def __init__(self, namespace_directory: Path, source: str = PAYLOAD_SOURCE) -> None:
        self._namespace_directory = namespace_directory
        self._source = source
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    @property
    def process_id(self) -> int | None:
        """The worker's process id while there is one."""
        worker = self._worker
        return None if worker is None else worker.process.pid

    def encode(self, rids: Sequence[int], directory: Path, run_id: str) -> EncodeResult:
        """See `SegmentEncoder.encode`. Raises EncodeWorkerDied; the next call starts anew."""
        with self._lock:
            if self._worker is None:
                self._worker = _Worker(self._namespace_directory, self._source)
            earlier = temporaries(directory, run_id)  # of calls whose files are not yet published
            request = _Request(np.asarray(rids, dtype="<i8").tobytes(), str(directory), run_id)
            answer = self._worker.ask(msgspec.msgpack.encode(request))
            if answer is None:
                last_words = self._worker.stop()
                self._worker = None
                remove_temporaries(directory, run_id, keep=earlier)
                raise EncodeWorkerDied(last_words)
        match _answer_decoder.decode(answer):
            case _Encoded() as encoded:
                return _to_result(encoded)
            case _DiskError(number=number, text=text):
                raise OSError(number, text)
            case _Failed(kind=kind):
                raise EncodeFailed(f"Memories could not be encoded ({kind})")

    def close(self) -> None:
        """End the worker and wait for it. A call that is under way fails as if it had died."""
        worker = self._worker
        if worker is not None:
            worker.stop()
        with self._lock:
            self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Worker:
    """The running process, as the parent sees it."""

    def __init__(self, namespace_directory: Path, source: str) -> None:
        root = str(Path(__file__).resolve().parents[2])
        inherited = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            # The worker must run the daemon's own code, from wherever the daemon was started.
            "PYTHONPATH": os.pathsep.join([root, inherited] if inherited else [root]),
            "OPENBLAS_NUM_THREADS": "1",
        }
        module = "sidecar.store.encode_process"
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, source, str(namespace_directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # a Ctrl-C meant for the daemon lets the run end in order
        )
        self._stdin = cast(BinaryIO, self.process.stdin)
        self._stdout = cast(BinaryIO, self.process.stdout)
        self._stderr = cast(BinaryIO, self.process.stderr)
        self._last_words: deque[bytes] = deque(maxlen=_STDERR_LINES_KEPT)
        self._stop_lock = threading.Lock()
        self._listener = threading.Thread(target=self._listen, name="encode-stderr", daemon=True)
        self._listener.start()

    def ask(self, request: bytes) -> bytes | None:
        """Send a request and wait for the answer; None when the worker has ended."""
        try:
            _write_message(self._stdin, request)
            return _read_message(self._stdout)
        except (OSError, ValueError):  # a broken pipe, or closed by `stop` in another thread
            return None

    def stop(self) -> str:
        """End the process, wait for it, and return the end of its standard error."""
        with self._stop_lock:
            with contextlib.suppress(OSError):  # what was not yet sent is lost with the worker
                self._stdin.close()
            try:
                self.process.wait(_CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self._listener.join()
            self._stdout.close()
            self._stderr.close()
            return b"".join(self._last_words).decode(errors="replace")

    def _listen(self) -> None:
        for line in self._stderr:
            self._last_words.append(line)


def _to_result(encoded: _Encoded) -> EncodeResult:
    segments = [
        EncodedSegment(
            temporary=Path(segment.temporary),
            name=segment.name,
            records=segment.records,
            bytes=segment.bytes,
            sha256=segment.sha256,
            rid=np.frombuffer(segment.rid, dtype=np.int64),
            frame=np.frombuffer(segment.frame, dtype=np.int32),
            line=np.frombuffer(segment.line, dtype=np.int32),
            change_counter=np.frombuffer(segment.change_counter, dtype=np.int64),
            share_bytes=np.frombuffer(segment.share_bytes, dtype=np.int64),
        )
        for segment in encoded.segments
    ]
    return EncodeResult(segments, encoded.corrupt, encoded.missing, encoded.oversized)


def _to_answer(result: EncodeResult) -> _Encoded:
    segments = [
        _Segment(
            temporary=str(segment.temporary),
            name=segment.name,
            records=segment.records,
            bytes=segment.bytes,
            sha256=segment.sha256,
            rid=segment.rid.tobytes(),
            frame=segment.frame.tobytes(),
            line=segment.line.tobytes(),
            change_counter=segment.change_counter.tobytes(),
            share_bytes=segment.share_bytes.tobytes(),
        )
        for segment in result.segments
    ]
    return _Encoded(segments, result.corrupt, result.missing, result.oversized)


def _write_message(stream: BinaryIO, body: bytes) -> None:
    stream.write(len(body).to_bytes(_LENGTH_BYTES, "little") + body)
    stream.flush()


def _read_message(stream: BinaryIO) -> bytes | None:
    """The next message; None at the end of the stream, also in the middle of a message."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(head, "little")
    body = stream.read(size)
    return body if len(body) == size else None


def _resolve(source: str) -> Callable[[Path], RecordSource]:
    module, _, name = source.partition(":")
    return getattr(importlib.import_module(module), name)


# --- the worker --------------------------------------------------------------------------


def _answer(open_source: Callable[[Path], RecordSource], directory: Path, body: bytes) -> _Answer:
    try:
        request = _request_decoder.decode(body)
        rids: list[int] = np.frombuffer(request.rids, dtype="<i8").tolist()
        source = open_source(directory)
        try:
            result = encode_segments(source, rids, Path(request.directory), request.run_id)
        finally:
            source.close()
        return _to_answer(result)
    except OSError as error:
        return _DiskError(error.errno or errno.EIO, error.strerror or "input/output error")
    except Exception as error:
        traceback.print_exc()
        return _Failed(type(error).__name__)


def main() -> None:
    """Serve requests from stdin until it closes. Arguments: source, namespace directory."""
    open_source, directory = _resolve(sys.argv[1]), Path(sys.argv[2])
    os.nice(_NICENESS)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a stray print must not end up between two answers
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def receive() -> None:
        while (body := _read_message(sys.stdin.buffer)) is not None:
            requests.put(body)
        os._exit(0)  # the daemon is gone or done: nobody waits for what is under way

    threading.Thread(target=receive, name="encode-requests", daemon=True).start()
    while True:
        _write_message(
            answers, msgspec.msgpack.encode(_answer(open_source, directory, requests.get()))
        )


if __name__ == "__main__":
    main()
