import assert from "node:assert/strict"
import { test } from "node:test"
import { RpcError, strengthOf, sweepScore, POLICIES, type Memory, type MemoryInput } from "forgetd"
import { fileDaemon, holdClock, newSystem } from "./daemon.js"

const DAY_MS = 86_400_000
const daemon = await fileDaemon()
// A held clock: strength, which falls with time, is then the same in two answers.
await holdClock(daemon, 1_761_955_200_000)

/** The call's RpcError; an assertion error if it ends otherwise. */
async function refusal(call: Promise<unknown>): Promise<RpcError> {
  const error: unknown = await call.then(
    () => assert.fail("the call was not refused"),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof RpcError, String(error))
  return error
}

test("[TS-20] a memory comes back as it was put, whatever its id", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  const ids = [
    "커피-취향",
    "☕🫖",
    "-v1761955200000",
    "a b/c?d#e%20",
    "\u202e\u0001",
    "x".repeat(256),
  ]

  for (const id of ids) {
    const put = await memory.put({ id, content: `내용 of ${id}`, metadata: { id, n: [1, null] } })
    const got = await memory.get(id)
    assert.equal(put.id, id)
    assert.deepEqual(got, put)
    assert.equal(got?.content, `내용 of ${id}`)
    assert.deepEqual(got?.metadata, { id, n: [1, null] })
    assert.equal(got?.tier, "hot")
    assert.equal(got?.status, "active")
  }
  assert.deepEqual(
    (await memory.getMany([...ids, "absent"])).map((found) => found?.id ?? null),
    [...ids, null],
  )
  assert.equal(await memory.get("absent"), null)
})

test("[TS-20] every field that may be written is answered as written", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  const now = (await memory.system.clock()).now
  const fields = {
    id: "whole",
    memoryType: "procedural",
    content: "turn the key twice",
    importance: 0.25,
    createdAt: now - 9 * DAY_MS,
    updatedAt: now - 8 * DAY_MS,
    lastRecalledAt: now - 7 * DAY_MS,
    validFrom: now - 6 * DAY_MS,
    expiresAt: now + 5 * DAY_MS,
    heldUntil: now + 4 * DAY_MS,
    recallCount: 3,
    useCount: 4,
    regretCount: 1,
    successCount: 5,
    failureCount: 2,
    usefulnessScore: -0.5,
    lastUsefulAt: now - DAY_MS,
    pinned: true,
    evergreen: true,
    embeddingModel: "tiny",
    metadata: { deep: { er: ["커피", 1.5, true, null] } },
  } as const satisfies MemoryInput

  await memory.put({ ...fields, embedding: new Float32Array([0.1, -2.5, 1e-20]) })
  const got = await memory.get("whole", { includeEmbedding: true })

  assert.ok(got)
  for (const [name, value] of Object.entries(fields)) {
    assert.deepEqual(got[name as keyof Memory], value, name)
  }
  assert.equal(got.importanceSource, "host")
  assert.equal(got.embeddingDimensions, 3)
  assert.deepEqual(got.embedding, [...new Float32Array([0.1, -2.5, 1e-20])])
  assert.equal("embedding" in ((await memory.get("whole")) ?? {}), false)
})

test("[TS-20] putMany reports each one, lists page through, update and ifExists keep their word", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  const facts = Array.from({ length: 25 }, (_, index) => ({
    id: `fact-${String(index).padStart(2, "0")}`,
    content: `fact number ${index}`,
  }))

  const report = await memory.putMany(facts)
  assert.equal(report.created, 25)
  assert.deepEqual(
    report.results.map((item) => item.id),
    facts.map((fact) => fact.id),
  )

  const listed: string[] = []
  for await (const found of memory.listAll({ limit: 10 })) listed.push(found.id)
  assert.deepEqual(
    listed.sort(),
    facts.map((fact) => fact.id),
  )
  const page = await memory.list({ limit: 10 })
  assert.equal(page.memories.length, 10)
  assert.equal(typeof page.cursor, "string")

  const [first] = facts
  assert.ok(first)
  assert.equal((await refusal(memory.put(first))).symbol, "memory_exists")
  assert.equal(
    (await memory.put({ ...first, content: "new" }, { ifExists: "skip" })).content,
    first.content,
  )
  const replaced = await memory.put({ ...first, content: "new" }, { ifExists: "replace" })
  assert.equal(replaced.content, "new")

  const updated = await memory.update(
    first.id,
    { content: "newer" },
    { ifRevision: replaced.revision },
  )
  assert.ok(updated.revision > replaced.revision)
  const stale = memory.update(first.id, { content: "x" }, { ifRevision: replaced.revision })
  assert.equal((await refusal(stale)).symbol, "revision_conflict")

  const bad = { id: "bad", content: " " }
  await refusal(memory.putMany([{ id: "good", content: "g" }, bad]))
  assert.equal(await memory.get("good"), null)
  const partial = await memory.putMany([{ id: "good", content: "g" }, bad], { partial: true })
  assert.deepEqual([partial.created, partial.failed], [1, 1])
  assert.deepEqual(
    partial.results.map((item) => item.result),
    ["created", "failed"],
  )
})

test("[TS-21] recall finds English and Korean, by text and by vector, and touches what it says", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  await memory.putMany([
    { id: "coffee", content: "아침마다 커피를 마신다", embedding: [1, 0, 0] },
    { id: "cat", content: "Tofu is a grey cat", embedding: [0, 1, 0] },
    { id: "bike", content: "the bike has a flat tyre", embedding: [0, 0, 1] },
  ])

  assert.equal((await memory.recall("커피")).results[0]?.memory.id, "coffee")
  assert.equal((await memory.recall("grey cat")).results[0]?.memory.id, "cat")
  const near = await memory.recall({ embedding: [0.1, 0.1, 0.9], topK: 1, touch: "none" })
  assert.deepEqual(
    near.results.map((result) => result.memory.id),
    ["bike"],
  )
  assert.deepEqual([near.depth, near.coldScanned], ["hot", 0])

  const before = await memory.get("bike")
  await memory.recall({ query: "flat tyre", touch: "none" })
  assert.deepEqual(await memory.get("bike"), before)
  assert.deepEqual(await memory.touch(["bike", "absent"]), { touched: 1, unknown: ["absent"] })
  assert.equal((await memory.get("bike"))?.recallCount, 1)
})

test("[TS-21] supersede, pin, hold, forget, restore and explain act on one memory", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  await memory.putMany([
    { id: "old", content: "lives in Busan" },
    { id: "new", content: "lives in Seoul" },
  ])
  const { now } = await memory.system.clock()

  assert.equal((await memory.supersede("old", "new")).status, "superseded")
  assert.deepEqual((await memory.get("new"))?.supersedes, ["old"])
  assert.equal((await refusal(memory.supersede("new", "old"))).symbol, "supersession_conflict")
  assert.equal((await memory.pin("new")).pinned, true)
  assert.equal((await memory.pin("new", false)).pinned, false)
  assert.equal((await memory.hold("new", now + DAY_MS)).heldUntil, now + DAY_MS)
  assert.equal((await memory.hold("new", null)).heldUntil, null)

  const explanation = await memory.explain("old")
  assert.equal(explanation.id, "old")
  assert.deepEqual(explanation.policies.map((policy) => policy.policy).sort(), [
    "balanced",
    "classic",
  ])
  assert.equal((await memory.explain("old", { policy: "classic" })).policies.length, 1)
  assert.equal((await refusal(memory.explain("absent"))).symbol, "memory_not_found")

  const forgotten = await memory.forget(["old"], { reason: "moved" })
  assert.equal(forgotten.forgotten, 1)
  assert.equal(await memory.get("old"), null)
  assert.deepEqual(
    (await memory.list({ tier: "forgotten" })).memories.map((m) => m.id),
    ["old"],
  )
  const back = await memory.restore({ ids: ["old"] })
  assert.equal(back.results.length, 1)
  assert.equal((await memory.get("old"))?.content, "lives in Busan")
})

test("[TS-21] import keeps unknown keys and leaves what cannot be scored unscored", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())

  const records = [
    { id: "a", content: "kept", colour: "grey", nested: { x: 1 } },
    { id: "b", content: "odd", importance: 7 },
  ]
  const report = await memory.import(records, { source: "elsewhere" })
  assert.equal(report.created, 2)
  assert.deepEqual((await memory.get("a"))?.extra, { colour: "grey", nested: { x: 1 } })
  assert.equal((await memory.get("b"))?.strength, null)
  assert.equal((await memory.import(records)).skipped, 2)
})

test("[TS-22] refused input names field, bound and remedy, and nothing is stored", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  await memory.put({ id: "three", content: "three", embedding: [1, 2, 3], embeddingModel: "m" })
  const inputs: readonly (readonly [string, object, RegExp])[] = [
    ["blank content", { content: " " }, /content/],
    ["importance over 1", { content: "c", importance: 1.5 }, /importance/],
    ["epoch seconds", { content: "c", createdAt: 1_761_955_200 }, /createdAt/],
    ["an id with NUL", { content: "c", id: "a\0b" }, /id/],
    ["an id of 300 bytes", { content: "c", id: "i".repeat(300) }, /id/],
    ["an unknown field", { content: "c", contnt: "typo" }, /contnt/],
    ["a read-only field", { content: "c", tier: "cold" }, /tier/],
    ["a huge integer", { content: "c", recallCount: 2 ** 60 }, /recallCount/],
    ["another vector size", { content: "c", embedding: [1], embeddingModel: "m" }, /embedding/],
  ]

  for (const [name, input, field] of inputs) {
    const error = await refusal(memory.put(input as MemoryInput))
    assert.ok([-32_602, -32_600, -32_700].includes(error.code), `${name}: ${error.code}`)
    assert.match(String(error.data.field), field, name)
    assert.ok(error.data.bound, `${name}: a bound`)
    assert.ok(error.data.remedy, `${name}: a remedy`)
    assert.equal(error.retryable, false)
  }
  assert.deepEqual(
    (await memory.list()).memories.map((found) => found.id),
    ["three"],
  )
})

test("[TS-22] an unknown method and a namespace that is a path are typed errors", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())

  const unknown = await refusal(memory.call("memory.destroy"))
  assert.deepEqual([unknown.code, unknown.symbol], [-32_601, "method_not_found"])
  for (const namespace of ["..", "a/b", "", "-x", "n".repeat(65)]) {
    const error = await refusal(newSystem(daemon, { namespace }).get("a"))
    assert.equal(error.code, -32_602, namespace)
  }
})

test("[TS-23] the strength and the scores computed here are the daemon's", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  const { now } = await memory.system.clock()
  await memory.putMany([
    { id: "fresh", content: "a", importance: 0.9 },
    { id: "old", content: "b", importance: 0.5, createdAt: now - 40 * DAY_MS },
    { id: "used", content: "c", importance: 0.3, createdAt: now - 90 * DAY_MS, recallCount: 4 },
    { id: "dead", content: "d", importance: 0, createdAt: now - 400 * DAY_MS },
    {
      id: "way",
      content: "e",
      memoryType: "procedural",
      importance: 0.6,
      createdAt: now - 60 * DAY_MS,
      lastRecalledAt: now - 20 * DAY_MS,
      successCount: 1,
      failureCount: 9,
    },
    { id: "gone", content: "f", createdAt: now - 10 * DAY_MS, supersededBy: "fresh" },
  ])

  for await (const found of memory.listAll()) {
    assert.ok(found.strength !== null)
    assertNear(strengthOf(found, now), found.strength, found.id)
    const { policies } = await memory.explain(found.id)
    for (const { policy, score, parts } of policies) {
      const ours = sweepScore(found, now, POLICIES[policy as keyof typeof POLICIES])
      assert.ok(ours !== null && score !== null && parts !== null)
      assertNear(ours.score, score, `${found.id} ${policy}`)
      assertNear(ours.parts.value, parts.value, `${found.id} value`)
      assertNear(ours.parts.retention, parts.retention, `${found.id} retention`)
      assertNear(ours.parts.recallRecency, parts.recallRecency, `${found.id} recency`)
      assert.equal(ours.parts.statusFactor, parts.statusFactor)
    }
  }
})

function assertNear(actual: number | null, expected: number | null, what: string): void {
  assert.ok(actual !== null && expected !== null, what)
  const scale = Math.max(Math.abs(actual), Math.abs(expected), 1e-300)
  assert.ok(Math.abs(actual - expected) <= 1e-12 * scale, `${what}: ${actual} and ${expected}`)
}
