"""GET /events over real namespaces: the frames, the place to go on from, refusals, the end."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from sidecar.limits import EVENTS_PER_READ_MAX, INTEGER_MAX
from sidecar.rpc import event_stream
from sidecar.store import event_log
from tests.namespaces import DAY, fill, many, memory, put, sweep
from tests.subscribers import Streaming, Subscriber, deaf, logged, request, streaming
from tests.wire import Answer, Peer, eventually


async def answer(served: Streaming, raw: bytes) -> Answer:
    peer = await Peer.connect(served.path)
    peer.send(raw)
    found = await peer.answer()
    await peer.close()
    return found


@pytest.mark.gate("EVT-10")
async def test_a_stream_tells_old_events_in_order_and_then_each_new_one(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open()
        await put(namespace, memory("a"), memory("b"))
        subscriber = await served.subscribe("namespace=default&since=0")
        assert subscriber.status == 200
        assert subscriber.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert subscriber.headers["forgetd-protocol"] == "1"
        first = await subscriber.frame()
        assert first is not None
        assert (first.id, first.event, first.data) == ("0", None, None)
        known = msgspec.to_builtins(await logged(namespace))
        for event in known:
            frame = await subscriber.frame()
            assert frame is not None
            assert frame == (str(event["seq"]), event["kind"], event)
        await put(namespace, memory("c"))
        (event,) = await subscriber.events(1)
        assert (event["kind"], event["memoryId"]) == ("memory.created", "c")
        assert event["seq"] == known[-1]["seq"] + 1


@pytest.mark.gate("EVT-11")
async def test_a_stream_cut_at_any_event_goes_on_without_gap_or_double(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open(automatic=False, forgetThresholdCount=20)
        await fill(namespace, many(40))
        await sweep(namespace)
        known = msgspec.to_builtins(await logged(namespace))
        assert len(known) > 60
        for cut in range(len(known) + 1):
            place = known[cut - 1]["seq"] if cut else 0
            resumed = await served.subscribe("since=0", Last_Event_ID=str(place))
            assert await resumed.events(len(known) - cut) == known[cut:]
            await resumed.close()


@pytest.mark.gate("EVT-11")
async def test_more_than_one_read_is_told_whole(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open(automatic=False)
        await fill(namespace, many(2 * EVENTS_PER_READ_MAX + 7))
        known = msgspec.to_builtins(await logged(namespace))
        subscriber = await served.subscribe("since=0")
        assert await subscriber.events(len(known)) == known


@pytest.mark.gate("EVT-12")
async def test_without_a_place_only_new_events_come_and_the_place_is_told(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open()
        await put(namespace, memory("old"))
        latest = (await logged(namespace))[-1].seq
        subscriber = await served.subscribe()
        first = await subscriber.frame()
        assert first is not None
        assert (first.id, first.data) == (str(latest), None)
        await put(namespace, memory("new"))
        (event,) = await subscriber.events(1)
        assert event["memoryId"] == "new"


@pytest.mark.gate("EVT-13")
async def test_a_number_of_another_store_is_answered_by_a_reset(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open()
        await put(namespace, memory("a"))
        known = msgspec.to_builtins(await logged(namespace))
        latest = known[-1]["seq"]
        subscriber = await served.subscribe(f"since={latest + 1}")
        await subscriber.frame()
        reset = await subscriber.frame()
        assert reset is not None
        assert reset == ("0", "reset", {"oldest": 1, "latest": latest})
        assert await subscriber.events(len(known)) == known


@pytest.mark.gate("EVT-13")
async def test_folded_events_are_answered_by_a_reset_also_while_they_are_followed(
    tmp_path: Path,
) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open(automatic=False)
        await put(namespace, memory("a"), memory("b"))
        follower = await served.subscribe("since=0")
        known = await follower.events(len(await logged(namespace)))
        for _ in range(2):  # the streams' reads are held up
            await served.streams._reads.acquire()
        await put(namespace, memory("c"), memory("d"), memory("e"))
        folded = namespace.store.writer.call(
            lambda tx: event_log.fold(tx, served.world.clock.now_ms() + DAY, 1_000)
        )
        for _ in range(2):
            served.streams._reads.release()
        latest = (await logged(namespace))[-1].seq
        assert folded == latest - 1
        reset = await follower.frame()
        assert reset == (str(folded), "reset", {"oldest": latest, "latest": latest})
        assert (await follower.events(1))[0]["memoryId"] == "e"

        late = await served.subscribe(f"since={known[-1]['seq']}")
        await late.frame()
        assert await late.frame() == reset
        # Who has all that was folded misses nothing.
        (event,) = await (await served.subscribe(f"since={folded}")).events(1)
        assert event["seq"] == latest


@pytest.mark.gate("EVT-14")
@pytest.mark.parametrize(
    "query,headers,status,symbol",
    [
        ("since=x", {}, 400, "invalid_params"),
        ("since=-1", {}, 400, "invalid_params"),
        ("since=1.0", {}, 400, "invalid_params"),
        ("since=%D9%A1", {}, 400, "invalid_params"),  # a digit, of another script
        (f"since={INTEGER_MAX + 1}", {}, 400, "invalid_params"),
        (f"since={'9' * 6_000}", {}, 400, "invalid_params"),
        ("since=1&since=2", {}, 400, "invalid_params"),
        ("sinse=1", {}, 400, "invalid_params"),
        ("since=0", {"Last_Event_ID": "abc"}, 400, "invalid_params"),
        ("namespace=..", {}, 400, "invalid_params"),
        ("namespace=DEFAULT", {}, 400, "namespace_conflict"),
        ("namespace=absent", {}, 404, "namespace_not_found"),
        ("", {"Origin": "null"}, 403, "permission_denied"),
    ],
)
async def test_what_cannot_be_followed_is_refused_in_json_before_the_first_byte(
    tmp_path: Path, query: str, headers: dict[str, str], status: int, symbol: str
) -> None:
    async with streaming(tmp_path) as served:
        await served.world.open()
        refused = await served.subscribe(query, **headers)
        assert refused.status == status
        assert refused.headers["content-type"].startswith("application/json")
        data = refused.body["error"]["data"]
        assert data["symbol"] == symbol
        assert data["remedy"]
        assert served.world.registry.names()[0].namespace == "default"
        assert len(served.world.registry.names()) == 1, "following makes no namespace"


@pytest.mark.gate("EVT-14")
async def test_other_verbs_start_no_stream(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        await served.world.open()
        assert (await answer(served, request("", "POST"))).status == 405
        peer = await Peer.connect(served.path)
        for query, line in (("since=0", b"200 OK"), ("since=x", b"400 Bad Request")):
            peer.send(request(query, "HEAD"))
            head = await peer.reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 " + line)
            assert (b"text/event-stream" in head) == (query == "since=0")
        await peer.close()
        assert served.open_streams() == 0


@pytest.mark.gate("EVT-15")
async def test_a_place_is_free_again_as_soon_as_a_subscriber_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "EVENT_STREAMS_MAX", 2)
    async with streaming(tmp_path) as served:
        namespace = await served.world.open()
        first, _ = [await served.subscribe("since=0") for _ in range(2)]
        refused = await served.subscribe("since=0")
        assert refused.status == 503
        assert refused.body["error"]["data"]["symbol"] == "overloaded"
        assert "at most 2 streams" in refused.body["error"]["data"]["bound"]
        assert namespace.busy
        await first.close()
        await eventually(lambda: served.open_streams() == 1)
        assert (await served.subscribe("since=0")).status == 200
        await served.leave()
        await eventually(lambda: served.open_streams() == 0)
        assert not namespace.busy


@pytest.mark.gate("EVT-16")
async def test_a_followed_namespace_does_not_close_for_being_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.registry.SWEEP_TIMER_SECONDS", 0.01)
    async with streaming(tmp_path) as served:
        for name in ("followed", "idle"):
            await put(await served.world.open(name, automatic=False), memory("a"))
        registry: Any = served.world.registry
        namespace = registry._open["followed"]
        subscriber = await served.subscribe("namespace=followed&since=0")
        await subscriber.events(2)
        monkeypatch.setattr("sidecar.registry.NAMESPACE_IDLE_SECONDS", 0.0)
        await eventually(lambda: "idle" not in registry._open)
        assert registry._open == {"followed": namespace}
        await put(namespace, memory("b"))
        await subscriber.events(1)
        await subscriber.close()
        await eventually(lambda: registry._open == {})


@pytest.mark.gate("EVT-17")
async def test_a_quiet_stream_gives_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "EVENT_HEARTBEAT_SECONDS", 0.02)
    async with streaming(tmp_path) as served:
        await served.world.open()
        subscriber = await served.subscribe()
        await subscriber.frame()
        assert await subscriber.sign_of_life() == b": alive\n\n"
        assert await subscriber.sign_of_life() == b": alive\n\n"


@pytest.mark.gate("EVT-18")
async def test_streams_end_in_order_when_the_daemon_stops_accepting(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open()
        await put(namespace, memory("a"))
        subscriber = await served.subscribe("since=0")
        known = await subscriber.events(len(await logged(namespace)))
        idle = await Peer.connect(served.path)
        assert "result" in await idle.call("system.status")
        await served.http.stop_accepting()
        assert await subscriber.frame() is None
        assert known[-1]["memoryId"] == "a"
        idle.send(request("since=0"))
        late = await idle.answer()
        assert (late.status, late.error["data"]["symbol"]) == (503, "shutting_down")
        await idle.close()


@pytest.mark.gate("EVT-18")
async def test_a_stream_asked_for_while_the_daemon_recovers_begins_when_it_has(
    tmp_path: Path,
) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open()
        served.ready.clear()
        asking = asyncio.create_task(Subscriber.connect(served.path, "since=0"))
        await eventually(lambda: bool(served.http._server and served.http._server.connections))
        assert not asking.done()
        served.ready.set()
        subscriber = await asking
        assert await subscriber.events(1) == msgspec.to_builtins((await logged(namespace))[:1])
        await subscriber.close()


@pytest.mark.gate("EVT-19")
async def test_what_is_sent_beside_a_stream_is_thrown_away(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open()
        subscriber = await served.subscribe()
        await subscriber.frame()
        for _ in range(500):
            subscriber._peer.send(request() * 20)
        await put(namespace, memory("a"))
        (event,) = await subscriber.events(1)
        assert event["memoryId"] == "a"
        server: Any = served.http._server
        assert [len(one._messages) for one in server.connections] == [0]


@pytest.mark.gate("EVT-15")
async def test_a_subscriber_that_leaves_while_it_is_written_to_is_no_fault(tmp_path: Path) -> None:
    async with streaming(tmp_path) as served:
        namespace = await served.world.open(automatic=False)
        await fill(namespace, many(4_000))
        with capture_logs() as logs:
            with deaf(served.path, "since=0"):
                await eventually(lambda: max(served.buffered_bytes(), default=0) > 0)
            await eventually(lambda: served.open_streams() == 0)
            subscriber = await served.subscribe("since=0")
            await subscriber.events(10)
            await subscriber.close()
            await eventually(lambda: served.open_streams() == 0)
            server: Any = served.http._server
            await eventually(lambda: not server.connections)
        assert logs == []
