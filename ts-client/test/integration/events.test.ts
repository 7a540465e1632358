import assert from "node:assert/strict"
import { test } from "node:test"
import {
  isReset,
  RpcError,
  type EventItem,
  type ExportPage,
  type LoggedEvent,
  type MemorySystem,
} from "forgetd"
import { fileDaemon, newSystem } from "./daemon.js"

const daemon = await fileDaemon()

/** The whole log, read page by page. */
async function logged(memory: MemorySystem): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = []
  for (;;) {
    const page = await memory.events.list({ since: events.at(-1)?.seq ?? 0, limit: 7 })
    events.push(...page.events)
    if (page.events.length < 7) return events
  }
}

test("[TS-47] the stream of a daemon that is stopped and killed has each event once, as logged", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  await memory.put({ id: "first", content: "커피 before the stream" })
  const events = memory.events({ since: 0 })
  const begin = (await events.next()).value
  assert.ok(begin)
  const taken: EventItem[] = [begin]
  const done = (async () => {
    for await (const item of events) {
      taken.push(item)
      if (!isReset(item) && item.memoryId === "last") return
    }
  })()

  for (const end of ["stop", "kill"] as const) {
    await memory.putMany(Array.from({ length: 30 }, (_, n) => ({ content: `${end} ${n}` })))
    await daemon[end]()
    await daemon.start()
    await memory.touch(["first"])
  }
  await memory.put({ id: "last", content: "after the stream" })
  await done

  assert.ok(taken.length > 60)
  assert.deepEqual(taken, await logged(memory))
})

test("[TS-47] a place of another store is a reset, new events come alone, a misspelt kind is refused", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  await memory.put({ id: "a", content: "a" })
  const known = await logged(memory)

  const lost = memory.events({ since: 1_000_000 })
  const reset = (await lost.next()).value
  assert.ok(reset !== undefined && isReset(reset))
  assert.deepEqual([reset.oldest, reset.latest], [1, known.at(-1)?.seq])
  assert.deepEqual((await lost.next()).value, known[0])
  await lost.return()

  const kinds = ["memory.feedback"]
  const feedback = memory.events({ since: reset.latest, kinds })
  const next = feedback.next()
  await memory.touch(["a"])
  await memory.feedback("a", "useful")
  const heard = (await next).value
  assert.ok(heard !== undefined && !isReset(heard))
  assert.deepEqual([heard.kind, heard.memoryId], ["memory.feedback", "a"])
  assert.deepEqual((await memory.events.list({ kinds })).events, [heard])
  await feedback.return()

  const misspelt = memory.events({ kinds: ["memory.feedbak"] }).next()
  await assert.rejects(misspelt, (error) => {
    return error instanceof RpcError && error.symbol === "invalid_params"
  })
})

test("[TS-48] feedback counts, invalidating ends belief, and an export is taken back exactly", async (t) => {
  const memory = newSystem(daemon)
  const copy = newSystem(daemon)
  t.after(() => Promise.all([memory.close(), copy.close()]))
  await memory.putMany([
    {
      id: "tea",
      content: "녹차를 마신다",
      importance: 0.7,
      embedding: [1, 0.5],
      metadata: { n: 1 },
    },
    { id: "wrong", content: "lives in Busan" },
    { id: "gone", content: "had a bike" },
  ])

  const useful = await memory.feedback("tea", "useful")
  assert.deepEqual([useful.usefulnessScore, useful.useCount, useful.revision], [1, 1, 1])
  const wrong = await memory.invalidate("wrong", "incorrect")
  assert.deepEqual([wrong.status, wrong.statusReason], ["invalidated", "incorrect"])
  await memory.forget(["gone"])

  const exported: ExportPage[] = []
  for await (const page of memory.export({ limit: 2 })) {
    exported.push(page)
    const report = await copy.import(page.lines, { format: "forgetd", ifExists: "replace" })
    assert.equal(report.failed, 0)
  }
  assert.equal(exported.flatMap((page) => page.lines).length, 3)
  const [mine, other] = [await memory.get("tea"), await copy.get("tea")]
  // Strength falls with the time between two answers.
  assert.deepEqual({ ...other, strength: 0 }, { ...mine, strength: 0 })
  const { stateHash } = exported.at(-1) as ExportPage
  assert.equal(typeof stateHash, "string")
  let copied: string | null = null
  for await (const page of copy.export()) copied = page.stateHash
  assert.equal(copied, stateHash)
})
