"""Calls of one kind at a steady pace, in a process of its own, until standard input closes.

    python -m benchmarks.load SOCKET get|put|recall MEMORIES SEED

Prints the latencies in milliseconds as a JSON array. A slow answer delays the calls behind it,
as it would in a host that waits for its answers.
"""

import json
import random
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.daemons import Caller
from benchmarks.data import DIMENSIONS, Corpus

PACE_SECONDS: Final = {"get": 0.01, "put": 0.02, "recall": 0.05}
QUESTIONS: Final = 200


def main(path: str, kind: str, memories: int, seed: int) -> None:
    """Call until standard input closes, then print what each call took."""
    caller = Caller(Path(path))
    call = _calls(caller, memories, seed)[kind]
    latencies: list[float] = []
    pace = PACE_SECONDS[kind]
    print("started", flush=True)
    # At least one, however soon it is to end: a step that is over before the first has one too.
    while not latencies or not select.select([sys.stdin], [], [], pace)[0]:
        started = time.perf_counter()
        call()
        latencies.append((time.perf_counter() - started) * 1000)
    print(json.dumps(latencies), flush=True)


def _calls(caller: Caller, memories: int, seed: int) -> dict[str, Callable[[], Any]]:
    rng = random.Random(seed)
    questions = Corpus(seed, 0).questions(QUESTIONS, DIMENSIONS)

    def get() -> Any:
        return caller.call("memory.get", id=f"memory-{rng.randrange(memories):07d}")

    def put() -> Any:
        return caller.call("memory.put", content="a ship was seen while it was written")

    def recall() -> Any:
        text, vector = rng.choice(questions)
        return caller.call("memory.recall", query=text, embedding=vector, touch="none")

    return {"get": get, "put": put, "recall": recall}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
