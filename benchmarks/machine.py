"""What a run was measured on, and yardsticks that tell a slow machine from slow code."""

import hashlib
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import apsw
import numpy as np

from benchmarks.clocks import percentile

ROOT: Final = Path(__file__).resolve().parent.parent
FSYNCS: Final = 50
HASHED_BYTES: Final = 64 * 1_048_576


def facts(scratch: Path, seed: int) -> dict[str, Any]:
    """Machine, versions, revision, seed, and the load before the first measurement."""
    return {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "ramGiB": round(int(_field("/proc/meminfo", "MemTotal").split()[0]) / 1_048_576, 1),
        "kernel": platform.release(),
        "fileSystem": _output("stat", "-f", "-c", "%T", str(scratch)),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "numpy": np.__version__,
        "node": _output("node", "--version"),
        "revision": _output("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
        "seed": seed,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "load": load(),
        "niceness": os.nice(0),
        "fsyncMs": round(_fsync_ms(scratch), 2),
        "sha256MBps": round(_hash_speed()),
    }


def load() -> list[float]:
    """The load averages of 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def _fsync_ms(scratch: Path) -> float:
    """The median of one 8 KiB write made durable, in milliseconds."""
    times: list[float] = []
    with tempfile.TemporaryFile(dir=scratch, buffering=0) as file:
        for _ in range(FSYNCS):
            started = time.perf_counter()
            file.write(b"\1" * 8192)
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - started) * 1000)
    return percentile(times, 50)


def _hash_speed() -> float:
    """Megabytes a second of SHA-256 in one thread: how fast one core is now."""
    block = bytes(HASHED_BYTES)
    started = time.perf_counter()
    hashlib.sha256(block).digest()
    return HASHED_BYTES / 1e6 / (time.perf_counter() - started)


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
