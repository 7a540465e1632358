import assert from "node:assert/strict"
import { test } from "node:test"
import { MemorySystem } from "forgetd"
import { fakeDaemon } from "./fake-daemon.js"

test("[TS-40] feedback, invalidate, import and events.list are one call each by their wire names", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result({}))
  const memory = new MemorySystem({ socketPath: daemon.socketPath, namespace: "n" })
  t.after(() => memory.close())
  const line = { id: "a", content: "c" }

  await memory.feedback("a", "useful", { timeoutMs: 5_000 })
  await memory.invalidate("a", "incorrect")
  await memory.import([line], { format: "forgetd", ifExists: "replace" })
  await memory.events.list({ since: 3, limit: 5, kinds: ["memory.created"], timeoutMs: 5_000 })

  assert.deepEqual(
    daemon.calls.map(({ method, params: { namespace, ...params } }) => [method, params]),
    [
      ["memory.feedback", { id: "a", signal: "useful" }],
      ["memory.invalidate", { id: "a", reason: "incorrect" }],
      ["memory.import", { memories: [line], format: "forgetd", ifExists: "replace" }],
      ["events.list", { since: 3, limit: 5, kinds: ["memory.created"] }],
    ],
  )
  assert.ok(daemon.calls.every((call) => call.params["namespace"] === "n"))
})

test("[TS-40] pages of events and of an export are repeated", async (t) => {
  const daemon = await fakeDaemon(t, (call, index) => {
    if (index % 2 === 0) call.cut()
    else call.result({ lines: [], cursor: null })
  })
  const retry = { firstDelayMs: 1, maxDelayMs: 1 }
  const memory = new MemorySystem({ socketPath: daemon.socketPath, retry })
  t.after(() => memory.close())

  await memory.events.list()
  await memory.export().next()
  assert.equal(daemon.calls.length, 4)
})

test("[TS-40] an export comes page by page, and only as far as it is read", async (t) => {
  const daemon = await fakeDaemon(t, (call) => {
    const page = Number(call.params["cursor"] ?? 0)
    const cursor = page === 2 ? null : String(page + 1)
    const stateHash = page === 2 ? "ab" : null
    call.result({ lines: [{ id: `m${page}` }], again: 0, cursor, stateHash, damaged: [] })
  })
  const memory = new MemorySystem({ socketPath: daemon.socketPath })
  t.after(() => memory.close())

  const told: unknown[] = []
  for await (const page of memory.export({ tiers: ["hot"], limit: 1 })) {
    told.push([page.lines[0]?.id, page.stateHash])
  }
  assert.deepEqual(told, [
    ["m0", null],
    ["m1", null],
    ["m2", "ab"],
  ])
  assert.deepEqual(
    daemon.calls.map(({ params: { namespace, ...params } }) => params),
    [
      { tiers: ["hot"], limit: 1 },
      { tiers: ["hot"], limit: 1, cursor: "1" },
      { tiers: ["hot"], limit: 1, cursor: "2" },
    ],
  )

  for await (const _ of memory.export()) break
  assert.equal(daemon.calls.length, 4)
})
