"""Following a namespace's events from Python: in order, without gap or double.

    from sidecar.client import Client
    from sidecar.event_client import follow

    for event in follow(Client(), since=0):
        print(event.seq, event.kind, event.data)

A daemon that goes away is waited for; the stream goes on where it stood.
"""

import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from http.client import HTTPException
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from sidecar.client import Client, RpcFailure, Unreachable
from sidecar.limits import EVENT_HEARTBEAT_SECONDS

RESET: Final = "reset"
# A daemon that stays silent for so many heartbeats is gone, or hangs.
SILENT_SECONDS_MAX: Final = 3 * EVENT_HEARTBEAT_SECONDS
RETRY_FIRST_SECONDS: Final = 0.1
RETRY_SECONDS_MAX: Final = 2.0
_COMES_BACK: Final = ("no_socket", "refused", "timeout", "broken")


class Event(NamedTuple):
    """One event. `data` is the logged event; of a `reset` it has `oldest` and `latest`.

    `seq` 0, of an event that is no reset: it is told to those who follow, and is in no log.

    After a reset what was built from earlier events counts no more: events were folded away, or
    the store is another one. The stream begins anew with event `oldest`.
    """

    seq: int
    kind: str
    data: dict[str, Any]


def follow(
    client: Client,
    namespace: str = "default",
    since: int | None = None,
    *,
    when_waiting: Callable[[Unreachable | RpcFailure], None] = lambda _: None,
) -> Generator[Event]:
    """Every event after number `since`, for ever; None: every new one.

    Raises Unreachable where no daemon answers at first, and RpcFailure where it refuses. Once
    it has answered, `when_waiting` hears of each time that it is waited for.
    """
    place = since
    answered = told = False
    wait_seconds = RETRY_FIRST_SECONDS
    while True:
        try:
            for frame in _frames(client, namespace, place):
                answered, told, wait_seconds = True, False, RETRY_FIRST_SECONDS
                if frame.seq or frame.kind in ("", RESET):
                    place = frame.seq
                if frame.kind:
                    yield frame
        except (Unreachable, RpcFailure) as error:
            if not answered or not _may_come_back(error):
                raise
            if not told:
                told = True
                when_waiting(error)
        time.sleep(wait_seconds)
        wait_seconds = min(RETRY_SECONDS_MAX, 2 * wait_seconds)


def _may_come_back(error: Unreachable | RpcFailure) -> bool:
    return error.retryable if isinstance(error, RpcFailure) else error.reason in _COMES_BACK


def _frames(client: Client, namespace: str, place: int | None) -> Iterator[Event]:
    path = "/events?" + urlencode({"namespace": namespace})
    headers = {} if place is None else {"Last-Event-ID": str(place)}
    with client.stream(path, headers, timeout_seconds=SILENT_SECONDS_MAX) as response:
        yield from parse(response)


def parse(lines: Iterable[bytes]) -> Iterator[Event]:
    """The frames of a stream of Server-Sent Events. One that has only an id has no kind.

    A frame that is cut off is left out: it comes again.
    """
    fields: dict[str, str] = {}
    for line in lines:
        text = line.decode().rstrip("\r\n")
        if text:
            name, _, value = text.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "id" in fields or "data" in fields:
            try:
                data = json.loads(fields.get("data", "{}"))
                yield Event(int(fields.get("id", 0)), fields.get("event", ""), data)
            except ValueError:
                raise HTTPException("a frame of the event stream is not whole") from None
            fields = {}
        else:
            fields = {}
