"""Calls from other processes at a steady pace, while something else happens in the daemon."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.context import Context
from benchmarks.daemons import Daemon, environment
from benchmarks.machine import ROOT

Latencies = dict[str, list[float]]


@contextmanager
def calls_beside(
    context: Context, running: Daemon, latencies: Latencies, kinds: Sequence[str] = ("get", "put")
) -> Iterator[None]:
    """Calls of each kind from a process of its own during the block.

    `latencies` holds their milliseconds after it.
    """
    processes = {
        kind: subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.load",
                running.socket,
                kind,
                str(context.memories),
                str(context.seed),
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        for kind in kinds
    }
    for process in processes.values():
        assert process.stdout is not None
        process.stdout.readline()  # it says when its connection stands
    try:
        yield
    finally:
        for kind, process in processes.items():
            output, _ = process.communicate()
            latencies[kind] = json.loads(output)
