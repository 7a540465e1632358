import assert from "node:assert/strict"
import { getEventListeners, once } from "node:events"
import { join } from "node:path"
import { test, type TestContext } from "node:test"
import {
  ClosedError,
  ConnectError,
  isReset,
  MemorySystem,
  ProtocolError,
  RpcError,
  type EventItem,
} from "forgetd"
import type * as stream from "../../dist/event-stream.js"
import { event, eventDaemon, frame, type EventDaemon } from "./event-daemon.js"
import { temporaryDirectory } from "./fake-daemon.js"

const MODULE = new URL("../../../dist/event-stream.js", import.meta.url)
const { followEvents } = (await import(MODULE.href)) as typeof stream

function systemOf(context: TestContext, { socketPath }: EventDaemon): MemorySystem {
  const system = new MemorySystem({ socketPath, namespace: "me" })
  context.after(() => system.close())
  return system
}

/** The first `count` items; leaves the stream. */
async function take(events: AsyncIterable<EventItem>, count: number): Promise<EventItem[]> {
  const taken: EventItem[] = []
  for await (const item of events) {
    taken.push(item)
    if (taken.length === count) break
  }
  return taken
}

const numbers = (items: readonly EventItem[]): number[] => items.map((item) => item.seq)

test("[TS-42] events come in order, whole, from the place asked for", async (t) => {
  const daemon = await eventDaemon(t, (subscriber) => {
    subscriber.begin()
    subscriber.response.write(": alive\n\n")
    subscriber.events(8, 9, 11)
  })
  const system = systemOf(t, daemon)

  const items = await take(system.events({ since: 7 }), 3)

  assert.deepEqual(items, [event(8), event(9), event(11)])
  assert.deepEqual(
    daemon.subscribers.map(({ place, namespace }) => [place, namespace]),
    [["7", "me"]],
  )
  assert.throws(() => system.events({ since: -1 }), RangeError)
  assert.throws(() => system.events({ since: 1.5 }), RangeError)
})

test("[TS-42] a stream cut within any frame goes on after the last event, without gap or double", async (t) => {
  const daemon = await eventDaemon(t, (subscriber, index) => {
    const place = Number(subscriber.place)
    subscriber.begin()
    // The event before comes twice, the one after the next is cut off.
    const cutOff = frame(place + 3).slice(0, index * 30)
    const text = frame(place) + frame(place + 1) + frame(place + 2) + cutOff
    if (index % 2 === 1) subscriber.response.end(text)
    else subscriber.response.write(text, () => subscriber.response.destroy())
  })

  const items = await take(systemOf(t, daemon).events({ since: 0 }), 9)

  assert.deepEqual(numbers(items), [1, 2, 3, 4, 5, 6, 7, 8, 9])
  // What had come when the connection broke may be lost with it, and comes again.
  const places = daemon.subscribers.map(({ place }) => Number(place))
  assert.ok(places.length >= 5)
  assert.deepEqual(
    places,
    places.toSorted((left, right) => left - right),
  )
})

test("[TS-42] a stream of new events that is cut before the first goes on where it began", async (t) => {
  const daemon = await eventDaemon(t, (subscriber, index) => {
    subscriber.begin(index === 0 ? 41 : undefined)
    if (index === 0) subscriber.response.end()
    else subscriber.events(42)
  })

  assert.deepEqual(numbers(await take(systemOf(t, daemon).events(), 1)), [42])
  assert.deepEqual(
    daemon.subscribers.map(({ place }) => place),
    [undefined, "41"],
  )
})

test("[TS-63] an event without a number is told and leaves the place where it is", async (t) => {
  const kind = "forgetting.cycle_dry_run"
  const told = event(0, kind)
  const daemon = await eventDaemon(t, (subscriber) => {
    subscriber.begin()
    subscriber.events(Number(subscriber.place) + 1)
    subscriber.response.write(`event: ${kind}\ndata: ${JSON.stringify(told)}\n\n`, () =>
      subscriber.response.destroy(),
    )
  })

  const items = await take(systemOf(t, daemon).events({ since: 4 }), 4)

  assert.deepEqual(numbers(items), [5, 0, 6, 0])
  assert.equal(daemon.subscribers[1]?.place, "5")
})

test("[TS-43] a reset is an item of its own, back to earlier numbers, and the stream resumes from it", async (t) => {
  const daemon = await eventDaemon(t, (subscriber, index) => {
    subscriber.begin()
    if (index > 0) return subscriber.events(3, 4)
    const reset = 'id: 2\nevent: reset\ndata: {"oldest":3,"latest":4}\n\n'
    subscriber.response.end(reset)
    return undefined
  })

  const items = await take(systemOf(t, daemon).events({ since: 90, kinds: ["memory.touched"] }), 3)

  assert.deepEqual(items[0], { kind: "reset", seq: 2, oldest: 3, latest: 4 })
  assert.deepEqual(items.map(isReset), [true, false, false])
  assert.deepEqual(numbers(items), [2, 3, 4])
  assert.equal(daemon.subscribers[1]?.place, "2")
})

test("[TS-43] only the kinds asked for come, and the others move the place on", async (t) => {
  const daemon = await eventDaemon(t, (subscriber, index) => {
    subscriber.begin()
    if (index === 0) subscriber.response.end(frame(1) + frame(2, "memory.created") + frame(3))
    else subscriber.response.write(frame(4, "memory.created"))
  })
  const kinds = ["memory.created"]

  assert.deepEqual(numbers(await take(systemOf(t, daemon).events({ since: 0, kinds }), 2)), [2, 4])
  assert.equal(daemon.subscribers[1]?.place, "3")
  assert.deepEqual(daemon.listed[0]?.["kinds"], kinds)
})

test("[TS-44] a stream ends with its signal, its system, a break and a return, also while it waits", async (t) => {
  const daemon = await eventDaemon(t, (subscriber) => {
    subscriber.begin()
    subscriber.events(1)
  })
  const controller = new AbortController()
  const { signal } = controller
  const system = systemOf(t, daemon)
  const gone = (index: number): Promise<unknown> => {
    const { response } = daemon.subscribers[index] as (typeof daemon.subscribers)[number]
    return response.closed ? Promise.resolve() : once(response, "close")
  }

  const aborted = system.events({ since: 0, signal })
  assert.equal((await aborted.next()).value?.seq, 1)
  const waiting = aborted.next()
  controller.abort()
  assert.equal((await waiting).done, true)
  await gone(0)

  await take(system.events({ since: 0 }), 1)
  await gone(1)

  const left = system.events({ since: 0 })
  await left.next()
  const pending = left.next()
  await left.return()
  assert.equal((await pending).done, true)
  await gone(2)

  const closed = system.events({ since: 0 })
  await closed.next()
  const last = closed.next()
  await system.close()
  assert.equal((await last).done, true)
  await gone(3)

  assert.equal(getEventListeners(signal, "abort").length, 0)
  assert.equal(
    (await system.events({ signal }).next().catch(String)) as unknown,
    String(new ClosedError()),
  )
})

test("[TS-44] an aborted stream yields nothing more, and one that never began asks nothing", async (t) => {
  const daemon = await eventDaemon(t, (subscriber) => {
    subscriber.begin()
    subscriber.events(1, 2, 3)
  })
  const system = systemOf(t, daemon)
  const controller = new AbortController()
  const seen: number[] = []
  for await (const item of system.events({ since: 0, signal: controller.signal })) {
    seen.push(item.seq)
    controller.abort()
  }
  assert.deepEqual(seen, [1])

  const { signal } = controller
  assert.equal((await system.events({ signal }).next()).done, true)
  assert.equal(daemon.subscribers.length, 1)
})

test(
  "[TS-45] what a slow consumer has not taken waits with the daemon",
  { timeout: 60_000 },
  async (t) => {
    let sent = 0
    let full: () => void
    const blocked = new Promise<void>((resolve) => (full = resolve))
    const daemon = await eventDaemon(t, (subscriber) => {
      subscriber.begin()
      const pump = (): void => {
        while (sent < 200_000) {
          sent += 1
          if (!subscriber.response.write(frame(sent))) {
            const stuck = setTimeout(full, 500)
            subscriber.response.once("drain", () => {
              clearTimeout(stuck)
              pump()
            })
            return
          }
        }
      }
      pump()
    })

    const events = systemOf(t, daemon).events({ since: 0 })
    assert.equal((await events.next()).value?.seq, 1)
    await blocked
    const bytes = sent * frame(1).length
    assert.ok(bytes < 4_000_000, `${bytes} bytes were read ahead`)
    for (let seq = 2; seq <= 20_000; seq += 1) assert.equal((await events.next()).value?.seq, seq)
    await events.return()
  },
)

test("[TS-46] no daemon and a refusal are told at first; what passes is waited for", async (t) => {
  const socketPath = join(await temporaryDirectory(t), "none.sock")
  const lonely = new MemorySystem({ socketPath, retry: { attempts: 2, firstDelayMs: 1 } })
  t.after(() => lonely.close())
  await assert.rejects(lonely.events().next(), ConnectError)

  const refusing = await eventDaemon(t, (subscriber) =>
    subscriber.refuse(404, "namespace_not_found", false),
  )
  await assert.rejects(systemOf(t, refusing).events().next(), (error) => {
    return error instanceof RpcError && error.symbol === "namespace_not_found"
  })
  assert.equal(refusing.subscribers.length, 1)

  const busy = await eventDaemon(t, (subscriber) => subscriber.refuse(503, "overloaded", true))
  await assert.rejects(systemOf(t, busy).events().next(), RpcError)
  assert.equal(busy.subscribers.length, 3)

  const restarting = await eventDaemon(t, (subscriber, index) => {
    if (index === 1) return subscriber.refuse(503, "shutting_down", true)
    if (index > 1 && index < 5) return subscriber.cut()
    subscriber.begin()
    subscriber.events(Number(subscriber.place) + 1)
    if (index === 0) subscriber.response.end()
    return undefined
  })
  assert.deepEqual(numbers(await take(systemOf(t, restarting).events({ since: 0 }), 2)), [1, 2])
  assert.equal(restarting.subscribers.length, 6)
})

test("[TS-46] a daemon that falls silent is asked again", async (t) => {
  const daemon = await eventDaemon(t, (subscriber) => {
    subscriber.begin()
    subscriber.events(Number(subscriber.place) + 1)
  })
  const { socketPath } = daemon
  const following = { socketPath, namespace: "me", since: 0, kinds: undefined, attempts: 1 }
  const { signal } = new AbortController()

  const items = await take(followEvents({ ...following, silentMs: 100 }, signal), 2)

  assert.deepEqual(numbers(items), [1, 2])
  assert.equal(daemon.subscribers.length, 2)
})

test("[TS-46] what is no event stream is a ProtocolError and not asked again", async (t) => {
  const broken: readonly string[] = [
    "id: x\nevent: a\ndata: {}\n\n",
    "id: 1\nevent: a\ndata: nothing\n\n",
    "id: 1\nevent: a\ndata: null\n\n",
    frame(1).replace("id: 1", "id: 2"),
    "id: 0\nevent: reset\ndata: {}\n\n",
  ]
  for (const text of broken) {
    const daemon = await eventDaemon(t, (subscriber) => {
      subscriber.begin()
      subscriber.response.write(text)
    })
    await assert.rejects(systemOf(t, daemon).events({ since: 0 }).next(), ProtocolError, text)
    assert.equal(daemon.subscribers.length, 1)
  }
  const page = await eventDaemon(t, ({ response }) => response.end("<html>"))
  await assert.rejects(systemOf(t, page).events().next(), ProtocolError)
})
