import assert from "node:assert/strict"
import { test } from "node:test"
import { MemorySystem, RpcClient, type MemoryInput } from "forgetd"
import { fakeDaemon } from "./fake-daemon.js"

class Place {
  constructor(readonly name: string) {}
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) }
}

const loop: Record<string, unknown> = {}
loop["self"] = loop

const refused: readonly (readonly [string, unknown, RegExp])[] = [
  ["NaN", { importance: Number.NaN }, /params\.importance is NaN: give a finite number/],
  ["infinity", { list: [1, -Infinity] }, /params\.list\[1\] is -Infinity/],
  ["half a surrogate pair", { content: "a\ud83d" }, /params\.content holds half a surrogate/],
  ["such a name", { m: { "\udc00": 1 } }, /a name in params\.m holds half a surrogate/],
  ["undefined in an array", { ids: ["a", undefined] }, /params\.ids\[1\] is undefined/],
  ["a hole in an array", { ids: new Array<string>(1) }, /params\.ids\[0\] is undefined/],
  ["a bigint", { createdAt: 1n }, /params\.createdAt is a bigint/],
  ["a function", { now: Date.now }, /params\.now is a function/],
  ["a symbol", { id: Symbol("x") }, /params\.id is a symbol/],
  ["a Map", { metadata: new Map([["a", 1]]) }, /params\.metadata is a Map/],
  ["a class instance", { metadata: { at: new Place("home") } }, /params\.metadata\.at is a Place/],
  ["an invalid date", { metadata: { at: new Date("?") } }, /params\.metadata\.at is a Date/],
  ["a loop", loop, /nested deeper than 64 levels, or loops/],
  ["depth 65", { deep: nested(63) }, /nested deeper than 64 levels, or loops/],
]

for (const [name, params, message] of refused) {
  test(`[TS-12] ${name} is refused by its path before anything is sent`, async (t) => {
    const daemon = await fakeDaemon(t, (call) => call.result(null))
    const client = new RpcClient(daemon.socketPath)
    t.after(() => client.close())

    await assert.rejects(client.call("memory.put", params as Record<string, unknown>), (error) => {
      assert.ok(error instanceof TypeError || error instanceof RangeError)
      assert.match(error.message, message)
      return true
    })
    assert.equal(daemon.connections(), 0)
  })
}

test("[TS-12] what JSON can carry arrives unchanged, and undefined members are left out", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())
  const date = new Date(1_761_955_200_000)
  const bare: Record<string, unknown> = Object.assign(Object.create(null), { a: 1 })

  await client.call("memory.put", {
    text: "커피를 ☕\u0000\u2028",
    number: -1.5e-300,
    big: 2 ** 53 - 1,
    absent: undefined,
    metadata: { at: date, absent: undefined, none: null, list: [[], {}], yes: true, bare },
    deep: nested(62),
  })

  assert.deepEqual(daemon.calls[0]?.params, {
    text: "커피를 ☕\u0000\u2028",
    number: -1.5e-300,
    big: 2 ** 53 - 1,
    metadata: { at: date.toISOString(), none: null, list: [[], {}], yes: true, bare: { a: 1 } },
    deep: nested(62),
  })
})

test("[TS-12] a call larger than the daemon reads is refused before it is sent", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())

  const content = "é".repeat(17_000_000)
  await assert.rejects(client.call("memory.put", { content }), /daemon reads 33554432: split it/)
  assert.equal(daemon.connections(), 0)
})

test("[TS-13] embeddings are sent as base64 of little-endian float32", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const system = new MemorySystem({ socketPath: daemon.socketPath })
  t.after(() => system.close())
  const wire = Buffer.from([0, 0, 128, 63, 0, 0, 0, 192, 205, 204, 204, 61]).toString("base64")
  const whole = new Float32Array([9, 1, -2, 0.1])

  await system.put({ content: "a", embedding: [1, -2, 0.1] })
  await system.put({ content: "a", embedding: whole.subarray(1) })
  await system.put({ content: "a", embedding: wire })
  await system.putMany([{ content: "a", embedding: [1, -2, 0.1] }, { content: "b" }])
  await system.update("a", { embedding: [1, -2, 0.1] })
  await system.update("a", { embedding: null })
  await system.recall({ embedding: [1, -2, 0.1] })

  const sent = daemon.calls.map((call) => call.params)
  assert.equal(sent[0]?.["embedding"], wire)
  assert.equal(sent[1]?.["embedding"], wire)
  assert.equal(sent[2]?.["embedding"], wire)
  assert.deepEqual(sent[3]?.["memories"], [{ content: "a", embedding: wire }, { content: "b" }])
  assert.deepEqual(sent[4]?.["patch"], { embedding: wire })
  assert.deepEqual(sent[5]?.["patch"], { embedding: null })
  assert.equal(sent[6]?.["embedding"], wire)
})

test("[TS-13] an entry that float32 cannot hold is refused by its place", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const system = new MemorySystem({ socketPath: daemon.socketPath })
  t.after(() => system.close())
  const put = (embedding: unknown): Promise<unknown> =>
    system.put({ content: "a", embedding } as MemoryInput)

  await assert.rejects(put([0, Number.NaN]), /memory\.embedding\[1\] is NaN/)
  await assert.rejects(put(new Float32Array([Infinity])), /memory\.embedding\[0\] is Infinity/)
  await assert.rejects(put([1e39]), /memory\.embedding\[0\] is 1e\+39/)
  await assert.rejects(put(["1"]), /memory\.embedding\[0\] is 1: give a finite/)
  await assert.rejects(
    system.putMany([{ content: "a" }, { content: "b", embedding: [NaN] }]),
    /memories\[1\]\.embedding\[0\] is NaN/,
  )
  assert.equal(daemon.connections(), 0)
})
