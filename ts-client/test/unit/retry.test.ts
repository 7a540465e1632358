import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { ConnectError, MemorySystem, RpcClient, RpcError } from "forgetd"
import { fakeDaemon, temporaryDirectory } from "./fake-daemon.js"

const quick = { retry: { attempts: 3, firstDelayMs: 1, maxDelayMs: 2 } } as const
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

test("[TS-11] a write is sent once, whatever fails", async (t) => {
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
    "thresholds.set",
    "thresholds.resume",
    "runs.undo",
    "system.clock",
    "system.stop",
    "unknown.method",
  ]

  for (const method of writes) {
    const before = daemon.calls.length
    await assert.rejects(client.call(method, { cut: true }), ConnectError)
    await assert.rejects(client.call(method, { cut: false }), RpcError)
    assert.equal(daemon.calls.length, before + 2, method)
  }
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
