"""A load on a real daemon that remembers every answer, so that a kill can be held to them."""

import random
import threading
from collections.abc import Callable
from typing import Any

from sidecar.client import Client, RpcFailure, Unreachable

# More memories than that are not made: a life is spent on moving, not on growing.
BATCHES_KEPT_MAX = 3
# What a call may rightly answer while others move the same memories.
EXPECTED = {"memory_not_found", "run_not_undoable", "run_queue_full", "memory_exists"}


class Load:
    """Two clients that write and move, until the daemon is gone. One for many lives of it."""

    def __init__(self, rng: random.Random, batch: int) -> None:
        """`batch` memories go into each putMany; a spill then moves about as many."""
        self._rng = rng
        self._batch = batch
        self._made = 0
        self.acknowledged: dict[str, str] = {}
        # Sent and not answered: each of these groups is stored whole or not at all.
        self.in_doubt: list[dict[str, str]] = []
        self.runs: list[str] = []

    def run_until_killed(self, socket: Any, kill: Callable[[], None], seconds: float) -> None:
        """Write and move; after `seconds` the daemon is killed under it."""
        writer = random.Random(self._rng.random())
        mover = random.Random(self._rng.random())
        threads = [
            threading.Thread(target=self._repeat, args=(self._write, Client(socket), writer)),
            threading.Thread(target=self._repeat, args=(self._move, Client(socket), mover)),
        ]
        killer = threading.Timer(seconds, kill)
        for thread in [*threads, killer]:
            thread.start()
        for thread in [*threads, killer]:
            thread.join()

    def hold_to(self, found: dict[str, str]) -> None:
        """Compare with what a daemon found after its start; what was in doubt is then known."""
        for group in self.in_doubt:
            stored = {key for key, content in group.items() if found.get(key) == content}
            assert not stored or stored == set(group), "half of a write is there"
            for key in stored:
                self.acknowledged[key] = group[key]
        self.in_doubt.clear()
        lost = {key for key, content in self.acknowledged.items() if found.get(key) != content}
        assert not lost, f"acknowledged and not there: {sorted(lost)[:5]}"
        assert set(found) == set(self.acknowledged), "there is what nobody wrote"

    def _repeat(
        self, step: Callable[[Client, random.Random], None], client: Client, rng: random.Random
    ) -> None:
        while True:
            try:
                step(client, rng)
            except RpcFailure as failure:
                if failure.symbol not in EXPECTED:
                    raise
            except Unreachable:
                return

    def _write(self, client: Client, rng: random.Random) -> None:
        enough = len(self.acknowledged) > BATCHES_KEPT_MAX * self._batch
        if self.acknowledged and rng.random() < (0.9 if enough else 0.3):
            key = rng.choice(list(self.acknowledged))
            content = self._content(key, rng)
            self._send(client, {key: content}, "memory.update", id=key, patch={"content": content})
        elif enough or rng.random() < 0.5:
            key, content = self._new(rng)
            self._send(client, {key: content}, "memory.put", id=key, content=content)
        else:
            group = dict(self._new(rng) for _ in range(self._batch))
            members = [
                {"id": key, "content": content, "importance": rng.random() * 0.3}
                for key, content in group.items()
            ]
            self._send(client, group, "memory.putMany", memories=members)

    def _send(self, client: Client, group: dict[str, str], method: str, **params: Any) -> None:
        self.in_doubt.append(group)
        try:
            client.call(method, params)
        except RpcFailure:
            self.in_doubt.remove(group)
            raise
        self.in_doubt.remove(group)
        self.acknowledged.update(group)

    def _move(self, client: Client, rng: random.Random) -> None:
        known = list(self.acknowledged)
        step = rng.randrange(6)
        if step == 0:
            self._ran(client.call("coldSpill", {"target": rng.randrange(20)}))
        elif step == 1 and known:
            self._ran(client.call("memory.forget", {"ids": rng.sample(known, len(known) // 5)}))
        elif step == 2 and known:
            client.call("memory.restore", {"ids": rng.sample(known, len(known) // 4)})
        elif step == 3 and self.runs:
            client.call("runs.undo", {"runId": self.runs.pop(rng.randrange(len(self.runs)))})
        elif step == 4:
            self._ran(client.call("forgetSweep", {"brakeShare": 0.5}))
        elif known:
            client.call("memory.touch", {"ids": rng.sample(known, len(known) // 10)})

    def _ran(self, report: Any) -> None:
        if report["runId"] is not None:
            self.runs.append(report["runId"])

    def _new(self, rng: random.Random) -> tuple[str, str]:
        self._made += 1
        key = f"k{self._made}"
        return key, self._content(key, rng)

    def _content(self, key: str, rng: random.Random) -> str:
        return f"{key}: 기억 {rng.random()} " + "x" * rng.randrange(200)
