import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { ConnectError, MemorySystem, RpcClient, RpcError } from "forgetd"
import { fakeDaemon, temporaryDirectory, type ReceivedCall } from "./fake-daemon.js"

const quick = { retry: { attempts: 3, firstDelayMs: 1, maxDelayMs: 2 } } as const
const keyless = { idempotencyKey: false } as const
const overloaded = { symbol: "overloaded", retryable: true }

test("[TS-10] a read is repeated after a broken connection and a retryable error", async (t) => {
  const daemon = await fakeDaemon(t, (call, index) => {
    if (index === 0) call.cut()
    else if (index === 1) call.error(-32_000, overloaded)
    else call.result("third time")
  })
  const client = new RpcClient(daemon.socketPath, quick)
  t.after(() => client.close())

  assert.equal(await client.call("memory.get"), "third time")
  assert.equal(daemon.calls.length, 3)
})

test("[TS-10] repetitions are bounded and the last error is the call's", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.error(-32_000, overloaded))
  const client = new RpcClient(daemon.socketPath, quick)
  t.after(() => client.close())

  await assert.rejects(client.call("memory.list"), { name: "RpcError", symbol: "overloaded" })
  assert.equal(daemon.calls.length, 3)
})

test("[TS-10] a read waits out a daemon that starts a moment later", async (t) => {
  const socketPath = join(await temporaryDirectory(t), "s.sock")
  const client = new RpcClient(socketPath, { retry: { attempts: 50, maxDelayMs: 50 } })
  t.after(() => client.close())

  const answer = client.call("memory.get")
  await fakeDaemon(t, (call) => call.result("up"), socketPath)

  assert.equal(await answer, "up")
})

test("[TS-11] a write without a key is sent once, whatever fails", async (t) => {
  const daemon = await fakeDaemon(t, (call) =>
    call.params["cut"] === true ? call.cut() : call.error(-32_000, overloaded),
  )
  const client = new RpcClient(daemon.socketPath, quick)
  t.after(() => client.close())
  const writes = [
    "memory.put",
    "memory.putMany",
    "memory.import",
    "memory.update",
    "memory.touch",
    "memory.supersede",
    "memory.pin",
    "memory.hold",
    "memory.forget",
    "memory.restore",
    "forgetSweep",
    "coldSpill",
    "forgetting.runCycle",
    "lifecycle.forget",
    "estimate.refresh",
    "review.clear",
    "proposals.submit",
    "proposals.accept",
    "proposals.reject",
    "proposals.gc",
    "thresholds.set",
    "thresholds.resume",
    "runs.undo",
    "system.clock",
    "system.stop",
    "unknown.method",
  ]

  for (const method of writes) {
    const before = daemon.calls.length
    await assert.rejects(client.call(method, { cut: true }, keyless), ConnectError)
    await assert.rejects(client.call(method, { cut: false }, keyless), RpcError)
    assert.equal(daemon.calls.length, before + 2, method)
  }
  assert.ok(daemon.calls.every((call) => call.key === undefined))
})

test("[TS-62] a write is repeated under one key after whatever a read is repeated for", async (t) => {
  const failures = [
    (call: ReceivedCall) => call.cut(),
    (call: ReceivedCall) => call.error(-32_000, overloaded),
    (call: ReceivedCall) => call.error(-32_001, { symbol: "shutting_down", retryable: true }),
    (call: ReceivedCall) => call.error(-32_005, { symbol: "deadline_exceeded", retryable: true }),
  ]
  const daemon = await fakeDaemon(t, (call, index) => (failures[index] ?? done)(call))
  const done = (call: ReceivedCall): void => call.result("stored")
  const retry = { attempts: 5, firstDelayMs: 1, maxDelayMs: 2 }
  const client = new RpcClient(daemon.socketPath, { retry })
  t.after(() => client.close())

  assert.equal(await client.call("memory.put", { content: "c" }), "stored")
  const keys = new Set(daemon.calls.map((call) => call.key))
  assert.equal(daemon.calls.length, 5)
  assert.equal(keys.size, 1)
  assert.match(String([...keys][0]), /^[0-9a-f-]{36}$/)
})

test("[TS-62] each write has a key of its own, or the one that it is given", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result({}))
  const memory = new MemorySystem({ socketPath: daemon.socketPath })
  t.after(() => memory.close())

  await memory.put({ content: "a" })
  await memory.put({ content: "a" })
  await memory.put({ content: "a" }, { idempotencyKey: "mine" })
  await memory.pin("a", true, { idempotencyKey: "mine too" })
  await memory.call("memory.touch", { ids: [], idempotencyKey: "by name" })
  await memory.get("a")
  await memory.system.stop()

  const [one, two, ...others] = daemon.calls.map((call) => call.key)
  assert.notEqual(one, two)
  assert.deepEqual(others, ["mine", "mine too", "by name", undefined, undefined])
})

test("[TS-62] a write that failed for good is not repeated", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.error(102, { retryable: false }))
  const client = new RpcClient(daemon.socketPath, quick)
  t.after(() => client.close())

  await assert.rejects(client.call("memory.put", { content: "c" }), RpcError)
  assert.equal(daemon.calls.length, 1)
})

test("[TS-62] the methods that get a key are those that take one", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result({}))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())
  const file = new URL("../../../../protocol/openrpc.json", import.meta.url)
  const document = JSON.parse(await readFile(file, "utf8")) as {
    methods: { name: string; params: { name: string }[] }[]
  }
  const takes = document.methods.filter(
    // Opening is as safe to repeat as a read, and is the fake daemon's own.
    ({ name, params }) =>
      name !== "namespaces.open" && params.some((param) => param.name === "idempotencyKey"),
  )

  for (const { name } of document.methods) await client.call(name)
  const given = daemon.calls.filter((call) => call.key !== undefined)
  assert.deepEqual(
    given.map((call) => call.method),
    takes.map((method) => method.name),
  )
})

test("[TS-11] a recall that touches is repeated only when it surely was not carried out", async (t) => {
  const daemon = await fakeDaemon(t, (call) =>
    call.params["cut"] === true ? call.cut() : call.error(-32_000, overloaded),
  )
  const client = new RpcClient(daemon.socketPath, quick)
  t.after(() => client.close())
  const triesOf = async (params: Record<string, unknown>): Promise<number> => {
    const before = daemon.calls.length
    await assert.rejects(client.call("memory.recall", params))
    return daemon.calls.length - before
  }

  assert.equal(await triesOf({ query: "a", cut: true }), 1)
  assert.equal(await triesOf({ query: "a", cut: false }), 3)
  assert.equal(await triesOf({ query: "a", touch: "none", cut: true }), 3)
})

test("[TS-11] an error that says it is not retryable is not repeated", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.error(101, { retryable: false }))
  const client = new RpcClient(daemon.socketPath, quick)
  t.after(() => client.close())

  await assert.rejects(client.call("memory.get"), RpcError)
  assert.equal(daemon.calls.length, 1)
})

test("[TS-11] retry: false repeats nothing, and impossible policies are refused", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.cut())
  const client = new RpcClient(daemon.socketPath, { retry: false })
  t.after(() => client.close())

  await assert.rejects(client.call("memory.get"), ConnectError)
  assert.equal(daemon.calls.length, 1)
  assert.throws(() => new MemorySystem({ retry: { attempts: 0 } }), RangeError)
  assert.throws(() => new MemorySystem({ retry: { firstDelayMs: -1 } }), RangeError)
  assert.throws(() => new MemorySystem({ retry: { firstDelayMs: 9, maxDelayMs: 1 } }), RangeError)
})
