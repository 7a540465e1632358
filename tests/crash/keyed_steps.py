"""Writes with idempotency keys, and a process that dies in them at a step of one's choice.

To be called as `tests.crash.steps` is.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.crash.namespaces import DAY_MS, NOW, registry_on
from tests.crash.steps import main
from tests.keyed import Wire

MEMBERS = [
    {"id": f"m{at}", "content": f"memory {at}", "createdAt": NOW - (100 + at) * DAY_MS}
    for at in range(12)
]
# Each with the key that its place in the list gives it.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("memory.putMany", {"memories": MEMBERS}),
    ("memory.feedback", {"id": "m0", "signal": "useful"}),
    ("coldSpill", {"target": 4}),
    ("memory.forget", {"ids": ["m1", "m2", "m11", "nobody"]}),
    ("memory.restore", {"ids": ["m1", "m0", "nobody"]}),
    ("runs.undo", {"runId": "that of memory.forget"}),
    ("memory.put", {"content": "without an id"}),
]
FORGETTING = 3


async def send_all(wire: Wire, after_each: Callable[[bytes], None]) -> list[bytes]:
    """Every call with its key, in order; the replies."""
    replies: list[bytes] = []
    run_id = ""
    for number, (method, params) in enumerate(CALLS):
        named = {"runId": run_id} if method == "runs.undo" else params
        report = await wire.raw(method, idempotencyKey=f"key {number}", **named)
        after_each(report)
        replies.append(report)
        if number == FORGETTING:
            run_id = report.partition(b'"runId":"')[2].partition(b'"')[0].decode()
    return replies


async def work(state_dir: Path, after_each: Callable[[], None]) -> None:
    """All of it, with word after each call that was answered, and its reply in a file."""
    async with registry_on(state_dir) as registry:

        def answered(reply: bytes) -> None:
            with (state_dir / "replies").open("ab") as file:
                file.write(reply + b"\n")
            after_each()

        await send_all(Wire(registry), answered)


if __name__ == "__main__":
    sys.exit(main(work))
