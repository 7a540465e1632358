"""Single calls from Node, the daemon at rest, and the start of the command and of the daemon."""

import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Final

from benchmarks.clocks import cpu_seconds, resident_bytes
from benchmarks.context import Context
from benchmarks.daemons import FORGETD, Caller, daemon, environment
from benchmarks.figures import Figure

NODE_SCRIPT: Final = Path(__file__).with_name("node_calls.mjs")
NODE_CALLS: Final = 1_000
NODE_MANY: Final = 9
IDLE_SECONDS: Final = 5.0
STARTS: Final = 9


def measure_node(context: Context) -> list[Figure]:
    """get and put one after the other on one connection, and putMany of 1 000."""
    state_dir = _empty(context, "node")
    calls = NODE_CALLS // 4 if context.quick else NODE_CALLS
    context.tell(f"{calls} gets and puts from Node, then putMany")
    with daemon(state_dir) as running:
        used = cpu_seconds(running.pid)
        command = ["node", NODE_SCRIPT, running.socket, str(calls), str(NODE_MANY)]
        done = subprocess.run(command, check=True, capture_output=True, env=environment())
        used = cpu_seconds(running.pid) - used
    context.done(state_dir)
    found: dict[str, float] = json.loads(done.stdout)
    bare = found["health"]

    def figure(what: str, name: str, aim: float, note: str = "") -> Figure:
        return Figure("node", what, found[name], "ms", at_most=aim, note=note)

    return [
        Figure(
            "node", "system.clock from Node, p50", bare, "ms", note="the cheapest call there is"
        ),
        figure("get from Node, p50", "get", 0.8, f"{found['get'] / bare:.1f} × the cheapest call"),
        figure("put from Node, p50", "put", 1.5, f"{found['put'] / bare:.1f} × the cheapest call"),
        figure("putMany of 1 000 from Node, text", "putManyText", 180),
        figure("putMany of 1 000 from Node, vectors", "putManyVectors", 300),
        Figure("node", "CPU of the daemon for all of these", used, "s"),
    ]


def measure_idle(context: Context) -> list[Figure]:
    """RAM and CPU of a daemon with one empty namespace that nobody calls."""
    state_dir = _empty(context, "idle")
    context.tell(f"leaving a daemon alone for {IDLE_SECONDS:g} seconds")
    started = time.perf_counter()
    with daemon(state_dir) as running:
        ready = time.perf_counter() - started
        caller = Caller(running.socket)
        caller.call("namespaces.open", namespace="default")
        caller.close()
        used = cpu_seconds(running.pid)
        time.sleep(IDLE_SECONDS)
        used = cpu_seconds(running.pid) - used
        resident = resident_bytes(running.pid)
    context.done(state_dir)
    share = used / IDLE_SECONDS * 100
    return [
        Figure("idle", "start of the daemon until it is ready", ready, "s"),
        Figure(
            "idle", "RAM of an idle daemon, one empty namespace", resident / 1e6, "MB", at_most=90
        ),
        Figure(
            "idle",
            "CPU of an idle daemon",
            share,
            "%",
            at_most=0.2,
            note=f"one tick in {IDLE_SECONDS:g} s would be 0.2 %",
        ),
    ]


def measure_start(context: Context) -> list[Figure]:
    """The command from its start to its end."""
    state_dir = _empty(context, "start")
    context.tell("starting the command")
    with daemon(state_dir) as running:
        figures = [
            _start("forgetd --version", ["--version"], running.socket),
            _start("forgetd status", ["status"], running.socket),
        ]
    context.done(state_dir)
    return figures


def _start(named: str, arguments: list[str], socket: Path) -> Figure:
    times: list[float] = []
    for _ in range(STARTS):
        started = time.perf_counter()
        subprocess.run(
            [*FORGETD, *arguments],
            check=True,
            capture_output=True,
            env=environment(FORGETD_SOCKET=str(socket)),
        )
        times.append((time.perf_counter() - started) * 1000)
    return Figure(
        "start",
        f"{named}, p50",
        statistics.median(times),
        "ms",
        at_most=150,
        note=f"best {min(times):.0f}",
    )


def _empty(context: Context, name: str) -> Path:
    state_dir = context.scratch / name / "state"
    state_dir.parent.mkdir(mode=0o700)
    state_dir.mkdir(mode=0o700)
    return state_dir
