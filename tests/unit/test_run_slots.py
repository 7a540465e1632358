"""One run at a time: joining, queueing, refusing, and a caller that gives up."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sidecar.errors import RunQueueFull
from sidecar.limits import RUN_QUEUE_MAX
from sidecar.run_slots import RunSlots


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


class Work:
    """Runs that wait for a signal and note when each begins and ends."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.log: list[str] = []

    def run(self, name: str) -> Callable[[], str]:
        def work() -> str:
            self.log.append(f"{name} begins")
            assert self.go.wait(30)
            self.log.append(f"{name} ends")
            return name

        return work


@pytest.mark.gate("RUN-23")
async def test_runs_take_turns_in_the_order_of_their_calls(threads: ThreadPoolExecutor) -> None:
    slots, work = RunSlots(threads), Work()
    calls = [asyncio.create_task(slots.run(name, work.run(name))) for name in "abc"]
    await asyncio.sleep(0)
    assert slots.busy
    work.go.set()
    assert await asyncio.gather(*calls) == ["a", "b", "c"]
    assert work.log == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]
    await slots.drain()
    assert not slots.busy


@pytest.mark.gate("RUN-23")
async def test_the_same_key_joins_while_it_waits_or_runs_and_not_afterwards(
    threads: ThreadPoolExecutor,
) -> None:
    slots, work = RunSlots(threads), Work()
    calls = [asyncio.create_task(slots.run(key, work.run(key))) for key in "aabab"]
    await asyncio.sleep(0)
    work.go.set()
    assert await asyncio.gather(*calls) == ["a", "a", "b", "a", "b"]
    assert work.log.count("a begins") == work.log.count("b begins") == 1
    await slots.drain()
    assert await slots.run("a", work.run("a")) == "a"
    assert work.log.count("a begins") == 2


@pytest.mark.gate("RUN-23")
async def test_a_failure_reaches_every_joiner_and_the_next_run_goes_on(
    threads: ThreadPoolExecutor,
) -> None:
    slots = RunSlots(threads)

    def fail() -> None:
        raise OSError("broken")

    calls = [asyncio.create_task(slots.run("a", fail)) for _ in range(2)]
    after = asyncio.create_task(slots.run("b", lambda: "done"))
    results = await asyncio.gather(*calls, after, return_exceptions=True)
    assert [type(one) for one in results] == [OSError, OSError, str]
    await slots.drain()
    assert await slots.run("a", lambda: "again") == "again"


@pytest.mark.gate("RUN-23")
async def test_giving_up_cancels_the_call_and_not_the_run(threads: ThreadPoolExecutor) -> None:
    slots, work = RunSlots(threads), Work()
    first = asyncio.create_task(slots.run("a", work.run("a")))
    waiting = asyncio.create_task(slots.run("b", work.run("b")))
    await asyncio.sleep(0)
    for call in (first, waiting):
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    work.go.set()
    await slots.drain()
    assert work.log[-1] == "b ends"


@pytest.mark.gate("RUN-23")
async def test_the_queue_has_an_end(threads: ThreadPoolExecutor) -> None:
    slots, work = RunSlots(threads), Work()
    calls = [
        asyncio.create_task(slots.run(number, work.run(str(number))))
        for number in range(RUN_QUEUE_MAX)
    ]
    await asyncio.sleep(0)
    with pytest.raises(RunQueueFull) as refused:
        await slots.run("more", work.run("more"))
    assert {"bound", "remedy"} <= set(refused.value.data)
    joined = asyncio.create_task(slots.run(3, work.run("3")))
    await asyncio.sleep(0)
    work.go.set()
    assert await joined == "3"
    await asyncio.gather(*calls)
