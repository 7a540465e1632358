import assert from "node:assert/strict"
import { test } from "node:test"
import { RpcError, type MemoryInput, type MemorySystem, type TierCounts } from "forgetd"
import { fileDaemon, newSystem, until } from "./daemon.js"

const daemon = await fileDaemon()
const DAY_MS = 86_400_000
const START = 1_761_955_200_000

/** Facts of rising importance: `fact-000` is the weakest. */
function facts(count: number): MemoryInput[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `fact-${String(index).padStart(3, "0")}`,
    content: `fact ${index}: drawer ${index} holds thing ${index * 7}`,
    importance: (0.2 * index) / count,
    metadata: { index },
  }))
}

async function counts(memory: MemorySystem): Promise<TierCounts> {
  const status = await memory.system.status()
  const own = status.namespaces.find((found) => found.namespace === memory.namespace)
  assert.ok(own)
  return own.counts
}

async function symbolOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.catch((reason: unknown) => reason)
  assert.ok(error instanceof RpcError, String(error))
  return error.symbol
}

/** 200 facts, all weak by age, in a namespace whose threshold was then lowered below them. */
async function agedSystem(): Promise<MemorySystem> {
  const memory = newSystem(daemon, { forgetThresholdTotal: 1_000 })
  await memory.system.clock(START)
  await memory.putMany(facts(200))
  await memory.system.clock(START + 200 * DAY_MS)
  // Lowered by hand: automatic forgetting waits an hour, so only the calls below act.
  await memory.thresholds.set({ forgetThresholdTotal: 150, brakeShare: 1 })
  return memory
}

test("[TS-30] a dry run says what would go and why, and moves nothing", async (t) => {
  const memory = await agedSystem()
  t.after(() => memory.close())

  const plan = await memory.forgetSweep({ dryRun: true, decisionsLimit: 10 })

  assert.equal(plan.dryRun, true)
  assert.equal(plan.runId, null)
  assert.equal(typeof plan.planId, "string")
  assert.equal(plan.policy, "balanced")
  assert.equal(plan.before.total, 200)
  assert.equal(plan.after.total, 135)
  assert.equal(plan.decisions.length, 10)
  assert.equal(plan.decisionsTruncated, true)
  assert.ok(plan.stages.some((stage) => stage.stage === 2 && stage.crossed.includes("total")))

  const decisions: string[] = []
  for await (const decision of memory.runs.allDecisions({ planId: plan.planId ?? "" })) {
    assert.equal(decision.action, "forget")
    assert.equal(decision.reason, "total_over_threshold")
    assert.ok(decision.strength !== null && decision.strength < 0.05)
    assert.ok(decision.score !== null && decision.parts !== null)
    decisions.push(decision.id)
  }
  assert.deepEqual(
    decisions,
    facts(200)
      .slice(0, 65)
      .map((fact) => fact.id),
  )
  assert.deepEqual([(await counts(memory)).total, (await counts(memory)).forgotten], [200, 0])
})

test("[TS-31] applying a plan does exactly it, but what changed since is skipped by name", async (t) => {
  const memory = await agedSystem()
  t.after(() => memory.close())
  const plan = await memory.forgetSweep({ dryRun: true, decisionsLimit: 1_000 })
  const planned = plan.decisions.map((decision) => decision.id)
  const { planId } = plan
  assert.ok(planId)
  await memory.touch(["fact-003"])
  await memory.pin("fact-004")

  const run = await memory.forgetSweep({ planId, decisionsLimit: 1_000 })

  const skipped = new Map(run.skipped.map(({ id, why }) => [id, why]))
  assert.deepEqual([...skipped.keys()].sort(), ["fact-003", "fact-004"])
  assert.equal(skipped.get("fact-003"), "changed")
  assert.equal((await counts(memory)).forgotten, planned.length - 2)
  const gone = await memory.getMany(planned)
  const kept = gone.flatMap((found) => (found === null ? [] : [found.id]))
  assert.deepEqual(kept.sort(), ["fact-003", "fact-004"])
  assert.equal(await symbolOf(memory.forgetSweep({ planId })), "plan_used")
  assert.equal(await symbolOf(memory.forgetSweep({ planId: "no-such-plan" })), "plan_unknown")

  const elsewhen = await memory.forgetSweep({ dryRun: true, now: START + 300 * DAY_MS })
  const applied = memory.forgetSweep({ planId: elsewhen.planId ?? "" })
  assert.equal(await symbolOf(applied), "plan_not_applicable")
})

test("[TS-32] what a run forgot comes back by id, and the rest by undoing the run", async (t) => {
  const memory = await agedSystem()
  t.after(() => memory.close())
  const before = await memory.get("fact-000")
  assert.ok(before)
  const { runId } = await memory.forgetSweep()
  assert.ok(runId)
  assert.equal(await memory.get("fact-000"), null)
  const found = await memory.recall({ query: "drawer 0", depth: "deep", touch: "none" })
  assert.ok(!found.results.some(({ memory: one }) => one.id === "fact-000"))

  const restored = await memory.restore({ ids: ["fact-000"] })
  assert.deepEqual(
    restored.results.map(({ id, result }) => [id, result]),
    [["fact-000", "restored"]],
  )
  const back = await memory.get("fact-000")
  assert.ok(back)
  for (const name of ["content", "metadata", "createdAt", "importanceBase"] as const) {
    assert.deepEqual(back[name], before[name], name)
  }

  const undone = await memory.runs.undo(runId)
  assert.equal(undone.paused, true)
  assert.equal((await counts(memory)).total, 200)
  assert.equal((await counts(memory)).forgotten, 0)
  assert.ok((await memory.thresholds.get()).paused.length > 0)
  assert.deepEqual((await memory.thresholds.resume()).paused, [])
  const { runs } = await memory.runs.list()
  assert.equal(runs.find((run) => run.runId === runId)?.state, "undone")
  assert.equal((await memory.runs.get(runId)).run.runId, runId)
  assert.equal(await symbolOf(memory.runs.get("no-such-run")), "run_unknown")
})

test("[TS-33] one memory over forgetThresholdCount spills by itself, and is still found", async (t) => {
  const memory = newSystem(daemon, { forgetThresholdCount: 100 })
  t.after(() => memory.close())

  await memory.putMany(facts(100))
  assert.equal((await counts(memory)).hot, 100)
  await memory.put({ id: "one-more", content: "one more" })
  await until("hot is down to the low watermark", 20_000, async () => {
    return (await counts(memory)).hot === 90
  })

  const after = await counts(memory)
  assert.deepEqual([after.cold, after.total, after.forgotten], [11, 101, 0])
  const [cold] = (await memory.list({ tier: "cold" })).memories
  assert.ok(cold)
  assert.deepEqual((await memory.get(cold.id))?.metadata, cold.metadata)
  const found = await memory.recall({ query: cold.content, depth: "deep", touch: "none" })
  assert.ok(found.results.some((result) => result.memory.id === cold.id))
  assert.ok(found.coldScanned > 0)
})

test("[TS-33] coldSpill goes down to its target when told", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())
  await memory.putMany(facts(50))

  const plan = await memory.coldSpill({ dryRun: true, target: 20 })
  assert.deepEqual([plan.after.hot, (await counts(memory)).hot], [20, 50])
  const run = await memory.coldSpill({ target: 20 })
  assert.deepEqual([run.after.hot, run.after.cold], [20, 30])
  assert.deepEqual([(await counts(memory)).hot, (await counts(memory)).total], [20, 50])
})

test("[TS-34] constructor options apply when the namespace is made and differ later", async (t) => {
  const first = newSystem(daemon, { forgetThresholdCount: 123, forgetThresholdDiskGB: 0.5 })
  t.after(() => first.close())
  assert.equal((await first.connect()).created, true)
  assert.deepEqual(first.thresholdsDiffer, {})
  const settings = (await first.thresholds.get()).thresholds
  assert.deepEqual(settings.forgetThresholdCount, { value: 123, origin: "open" })
  assert.deepEqual(settings.forgetThresholdDiskGB, { value: 0.5, origin: "open" })
  assert.deepEqual(settings.forgetThresholdTotal, { value: 100_000, origin: "default" })

  const { namespace } = first
  const second = newSystem(daemon, { namespace, forgetThresholdCount: 456 })
  t.after(() => second.close())
  await second.get("anything")
  assert.deepEqual(second.thresholdsDiffer, { forgetThresholdCount: 123 })
  const changed = await second.thresholds.set({ forgetThresholdCount: 456 })
  assert.deepEqual(changed.thresholds.forgetThresholdCount, { value: 456, origin: "set" })
  const back = await second.thresholds.set({ forgetThresholdCount: null })
  assert.equal(back.thresholds.forgetThresholdCount.value, 10_000)
  const bad = second.thresholds.set({ lowWatermark: 1.5 })
  assert.equal(await symbolOf(bad), "invalid_params")
  const names = (await second.namespaces.list()).map((found) => found.namespace)
  assert.ok(names.includes(namespace))
})

test("[TS-34] forgetEnabled: false plans and refuses to move", async (t) => {
  const memory = newSystem(daemon, { forgetEnabled: false, forgetThresholdCount: 10 })
  t.after(() => memory.close())
  await memory.putMany(facts(20))

  const plan = await memory.forgetSweep({ dryRun: true })
  assert.ok(plan.decisions.length > 0)
  assert.equal(await symbolOf(memory.forgetSweep()), "forgetting_disabled")
  assert.equal(await symbolOf(memory.coldSpill()), "forgetting_disabled")
  assert.deepEqual([(await counts(memory)).hot, (await counts(memory)).total], [20, 20])
})

test("[TS-35] a client outlives its daemon: reads go on, plans are gone", async (t) => {
  const memory = await agedSystem()
  t.after(() => memory.close())
  const { planId } = await memory.forgetSweep({ dryRun: true })

  assert.equal(await daemon.stop(), 0)
  await assert.rejects(memory.put({ content: "x" }), { name: "ConnectError", sent: false })
  await daemon.start()

  assert.equal((await memory.get("fact-199"))?.metadata["index"], 199)
  assert.equal(await symbolOf(memory.forgetSweep({ planId: planId ?? "" })), "plan_unknown")
  assert.equal((await memory.system.status()).pid > 0, true)
  assert.ok(Object.keys(await memory.system.limits()).length > 10)
})
