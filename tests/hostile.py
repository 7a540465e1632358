"""Random and mutated input by the million, judged reply by reply.

    python -m tests.hostile --inputs 1000000 --socket-inputs 20000 [--seed WORD]

The bodies go through the envelope to a real registry, and over a real socket. After every piece
everything is closed, and nothing may be left: no task, no thread, no connection, no memory.
"""

import argparse
import asyncio
import ctypes
import gc
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import structlog

from sidecar.daemon.socket import bind
from sidecar.rpc.calls import Calls
from sidecar.rpc.context import Context
from sidecar.rpc.dispatch import Dispatcher
from sidecar.rpc.envelope import Envelope
from sidecar.rpc.event_stream import EventStreams
from sidecar.rpc.http import HttpServer
from sidecar.rpc.methods import METHODS
from tests.contract_judge import judge
from tests.hostile_inputs import Inputs
from tests.namespaces import a_world
from tests.sources import ROOT
from tests.wire import Peer, eventually, short_directory

PIECE: Final = 25_000
# Every so many replies the whole result is held against openrpc.json, which takes milliseconds.
JUDGED_EVERY: Final = 40
SECONDS_A_REPLY_MAX: Final = 60.0
LEFT_BYTES_MAX: Final = 48_000_000
FAULTS_TOLD_MAX: Final = 50
ERRORS: Final = {
    one["symbol"]: one for one in json.loads((ROOT / "protocol" / "errors.json").read_text("utf-8"))
}
REPLY_MEMBERS: Final = ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
STATUSES: Final = {200, 204, 400, 404, 405, 408, 413, 415}


@dataclass
class Outcome:
    """What came of a number of inputs. `faults` must stay empty."""

    inputs: int = 0
    answered: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list[str])
    held_bytes: list[int] = field(default_factory=list[int])
    threads_before: set[threading.Thread] = field(
        default_factory=lambda: set(threading.enumerate())
    )

    def see(self, body: bytes, reply: bytes | None) -> None:
        """Judge one reply."""
        self.inputs += 1
        try:
            self._judge(body, reply)
        except (ValueError, KeyError, TypeError, AssertionError) as error:
            self._blame(body, f"{type(error).__name__} {error}: {(reply or b'')[:300]!r}")

    def blame(self, fault: str) -> None:
        """Remember and print a fault, but no more of them than a person reads."""
        if len(self.faults) < FAULTS_TOLD_MAX:
            self.faults.append(fault)
            print(f"  FAULT {fault}", flush=True)

    def _blame(self, body: bytes, fault: str) -> None:
        self.blame(f"{body[:600]!r} ({len(body)} bytes): {fault}")

    def _judge(self, body: bytes, reply: bytes | None) -> None:
        if reply is None:
            assert asks_for_nothing(body), "no reply to what asks for one"
            return
        told = json.loads(reply)
        for one in told if isinstance(told, list) else [told]:
            assert set(one) in REPLY_MEMBERS, "no JSON-RPC reply"
            assert one["jsonrpc"] == "2.0"
            if "error" in one:
                judge_error(one["error"])
                self.refused += 1
            else:
                self.answered += 1
        if self.inputs % JUDGED_EVERY == 0:
            try:
                sent = json.loads(body)
            except (ValueError, RecursionError):
                return
            if isinstance(told, list) and len({str(one["id"]) for one in told}) < len(told):
                return  # nobody can say which reply is whose
            for fault in judge().unfit(sent, told):
                self._blame(body, fault)


def judge_error(error: dict[str, Any]) -> None:
    """The error must be one of errors.json and none of the kind that nobody foresaw."""
    known = ERRORS[error["data"]["symbol"]]
    assert known["code"] == error["code"]
    assert known["retryable"] == error["data"]["retryable"]
    assert isinstance(error["message"], str)
    assert error["message"]
    assert known["symbol"] not in ("internal_error", "corrupt", "read_only"), error
    if known["symbol"] == "invalid_params":
        assert {"field", "bound", "remedy"} <= error["data"].keys()


def asks_for_nothing(body: bytes) -> bool:
    """Whether a body is a notification, or a batch of nothing else."""
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        return False
    calls = sent if isinstance(sent, list) else [sent]
    return bool(calls) and all(isinstance(one, dict) and "id" not in one for one in calls)


@contextmanager
def watched(outcome: Outcome) -> Generator[None]:
    """Every log line from `error` on is a fault, and so is an error that only the loop sees."""

    def look(_: Any, level: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if level in ("error", "critical", "exception"):
            cause = entry.get("exc_info")
            outcome.blame(f"logged: {entry.get('event')} {cause!r} {entry.get('doing', '')}")
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[look], cache_logger_on_first_use=False)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: outcome.blame(f"in the loop: {context}"))
    try:
        yield
    finally:
        loop.set_exception_handler(None)
        structlog.configure(**before)


@contextmanager
def state_folder() -> Generator[Path]:
    """A state directory in memory where the system has such a place: syncing is not the point."""
    shared = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="forgetd-hostile-", dir=shared if shared.is_dir() else None)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)


@asynccontextmanager
async def real_calls() -> AsyncIterator[tuple[Calls, Any]]:
    """The calls of a daemon over a new state directory, and its registry."""
    with state_folder() as folder:
        async with a_world(folder) as world:
            yield Calls(Context(world.registry, world.clock, lambda: None)), world.registry


async def in_process(seed: str, count: int, outcome: Outcome) -> None:
    """Give `count` bodies to the envelope of one new daemon."""
    inputs = Inputs(seed)
    with watched(outcome):
        async with real_calls() as (calls, _):
            envelope = Envelope(Dispatcher(METHODS, calls))
            for _ in range(count):
                body = inputs.next()
                async with asyncio.timeout(SECONDS_A_REPLY_MAX):
                    reply = await envelope.answer(body)
                outcome.see(body, reply)
                inputs.learn(reply or b"")
            await eventually(lambda: len(calls) == 0)
        note_what_is_left(outcome)


async def on_socket(seed: str, count: int, outcome: Outcome) -> None:
    """Send `count` bodies to the socket of one new daemon, on connections that are kept."""
    inputs = Inputs(seed)
    with watched(outcome), short_directory() as folder:
        async with real_calls() as (calls, registry):
            ready = asyncio.Event()
            ready.set()
            envelope = Envelope(Dispatcher(METHODS, calls))
            http = HttpServer(envelope, EventStreams(registry), ready)
            bound = bind(folder / "d.sock")
            await http.start(bound.socket)
            try:
                await _send_all(bound.path, inputs, count, outcome)
                server = http._server
                await eventually(lambda: server is not None and not server.connections)
            finally:
                await http.stop_accepting()
                await http.close()
                bound.close()
        note_what_is_left(outcome)


async def _send_all(path: Path, inputs: Inputs, count: int, outcome: Outcome) -> None:
    peer: Peer | None = None
    for _ in range(count):
        peer = peer or await Peer.connect(path)
        body = inputs.next()
        spoilt = inputs.random.random() < 0.15
        peer.send(spoilt_request(inputs.random, body) if spoilt else whole_request(body))
        if spoilt and inputs.random.random() < 0.5:
            peer.writer.write_eof()  # so that what was promised and does not come is no wait
        elif spoilt:
            peer.send(b"\r\n\r\n" + b"0\r\n\r\n" + bytes(70_000))
            peer.writer.write_eof()
        status, reply = await _first_answer(peer)
        if not spoilt:
            outcome.see(body, reply or None)
            inputs.learn(reply)
        else:
            outcome.inputs += 1
        if status is not None and status not in STATUSES:
            outcome.blame(f"HTTP {status} for {body[:300]!r}: {reply[:300]!r}")
        if spoilt or inputs.random.random() < 0.02:
            await peer.close()
            peer = None
    if peer is not None:
        await peer.close()


async def _first_answer(peer: Peer) -> tuple[int | None, bytes]:
    """Status and body of the answer; None where the daemon hung up without one."""
    try:
        answer = await peer.answer()
    except (asyncio.IncompleteReadError, ConnectionError):
        return None, b""
    return answer.status, answer.body


def whole_request(body: bytes) -> bytes:
    """An HTTP request as it should be."""
    head = f"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def spoilt_request(chance: random.Random, body: bytes) -> bytes:
    """A request whose head or length is wrong somewhere."""
    whole = bytearray(whole_request(body))
    at = chance.randrange(min(len(whole), 60))
    match chance.randrange(4):
        case 0:
            whole[at : at + 1] = chance.randbytes(1)
        case 1:
            del whole[at:]
        case 2:
            whole[at:at] = chance.choice((b"\r\n", b"\0", b"\xff" * 9_000, b" ", b"Transfer-"))
        case _:
            return bytes(whole).replace(b"Host: x", b"Transfer-Encoding: chunked", 1)
    return bytes(whole)


def note_what_is_left(outcome: Outcome) -> None:
    """After everything was closed nothing runs on, and the memory is what it was before."""
    running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if running:
        outcome.blame(f"tasks left: {running[:5]}")
    new = set(threading.enumerate()) - outcome.threads_before
    threads = [one.name for one in new if one.name.startswith("forgetd")]
    if threads:
        outcome.blame(f"threads left: {threads}")
    outcome.held_bytes.append(held_bytes())


def held_bytes() -> int:
    """What this process holds, without what the allocator keeps for later."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[1])
    return pages * 4_096


def run_pieces(
    seed: str, count: int, piece: Callable[[str, int, Outcome], Any], outcome: Outcome
) -> None:
    """`count` inputs in pieces, each on a daemon of its own. Memory may grow in the first only."""
    for number, start in enumerate(range(0, count, PIECE)):
        began = time.monotonic()
        asyncio.run(piece(f"{seed}:{number}", min(PIECE, count - start), outcome))
        rate = min(PIECE, count - start) / (time.monotonic() - began)
        held = outcome.held_bytes[-1] / 1_000_000
        print(
            f"  {outcome.inputs} inputs, {outcome.answered} answered, {outcome.refused} refused,"
            f" {len(outcome.faults)} faults; {held:.0f} MB held, {rate:.0f} a second",
            flush=True,
        )
    # The first pieces fill caches and pools; what grows after them is a leak.
    settled = outcome.held_bytes[1:] or outcome.held_bytes
    if settled and max(settled) - settled[0] > LEFT_BYTES_MAX:
        outcome.blame(f"memory grows: {[held // 1_000_000 for held in outcome.held_bytes]} MB")


def main() -> int:
    """Both kinds of input; 1 where anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--inputs", type=int, default=30_000, help="at the envelope")
    parser.add_argument("--socket-inputs", type=int, default=1_000, help="on the socket")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(2**32)))
    given = parser.parse_args()
    print(f"seed: {given.seed} (again: --seed {given.seed})", flush=True)
    faults: list[str] = []
    for name, count, piece in (
        ("at the envelope", given.inputs, in_process),
        ("on the socket", given.socket_inputs, on_socket),
    ):
        print(f"{count} inputs {name}", flush=True)
        outcome = Outcome()
        run_pieces(f"{given.seed}:{name}", count, piece, outcome)
        faults += outcome.faults
    print(f"{len(faults)} faults" if faults else "no faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
