"""Gets or puts at a steady pace, in a process of its own, until standard input closes.

    python -m benchmarks.load SOCKET get|put MEMORIES SEED

Prints the latencies in milliseconds as a JSON array. A slow answer delays the calls behind it,
as it would in a host that waits for its answers.
"""

import json
import random
import select
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks.daemons import Caller

PACE_SECONDS: Final = {"get": 0.01, "put": 0.02}


def main(path: str, kind: str, memories: int, seed: int) -> None:
    """Call until standard input closes, then print what each call took."""
    caller = Caller(Path(path))
    rng = random.Random(seed)
    latencies: list[float] = []
    pace = PACE_SECONDS[kind]
    print("started", flush=True)
    while not select.select([sys.stdin], [], [], pace)[0]:
        started = time.perf_counter()
        if kind == "get":
            caller.call("memory.get", id=f"memory-{rng.randrange(memories):07d}")
        else:
            caller.call("memory.put", content="a ship was seen while it was written")
        latencies.append((time.perf_counter() - started) * 1000)
    print(json.dumps(latencies), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
