"""Put memories, read what a sweep would forget, apply exactly that plan, take it back.

    forgetd serve &
    python examples/forget_sweep.py

Finds the daemon by $FORGETD_SOCKET or in the usual place. Uses a namespace of its own.
"""

import os
import sys
import time
from typing import Any

from sidecar.client import Client, RpcFailure, Unreachable

NAMESPACE = f"example-{os.getpid()}"
DAY_MS = 86_400_000


def main() -> int:
    client = Client()

    def call(method: str, **params: Any) -> Any:
        return client.call(method, {"namespace": NAMESPACE, **params})

    # Thirty facts of no great importance that nobody has asked for since last year.
    long_ago = time.time_ns() // 1_000_000 - 400 * DAY_MS
    call(
        "memory.putMany",
        memories=[
            {
                "id": f"fact-{number}",
                "content": f"Locker {number} is on floor {number % 4}",
                "importance": 0.2,
                "createdAt": long_ago + number * DAY_MS,
                "pinned": number == 0,
            }
            for number in range(30)
        ],
    )
    # A lower threshold does not make the daemon forget at once; an explicit sweep does not wait.
    call("thresholds.set", thresholds={"forgetThresholdTotal": 20})

    plan = call("forgetSweep", dryRun=True)
    print(f"the plan forgets {plan['before']['total'] - plan['after']['total']} of 30 memories:")
    for decision in plan["decisions"]:
        print(f"  {decision['id']}: {decision['reason']}, strength {decision['strength']:.4f}")
    print("protected:", {kind: count for kind, count in plan["protected"].items() if count})

    run = call("forgetSweep", planId=plan["planId"])
    planned = sorted(decision["id"] for decision in plan["decisions"])
    assert sorted(decision["id"] for decision in run["decisions"]) == planned
    assert call("memory.get", id=planned[0]) is None
    print(f"run {run['runId']} forgot exactly these; {run['after']['total']} are left")

    undone = call("runs.undo", runId=run["runId"])
    assert call("memory.get", id=planned[0])["content"].startswith("Locker ")
    print(f"undone: {undone['counts']}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unreachable as error:
        sys.exit(f"{error.message}\n  next: {error.remedy}")
    except RpcFailure as error:
        sys.exit(f"{error.symbol}: {error.message}")
