/**
 * Puts old facts, reads what a sweep would do to them, lets it do exactly that, and takes one
 * fact back.
 *
 * Needs a running daemon (`forgetd serve`) and, once, `make setup`. Run it from the repository:
 *
 *     cd ts-client && npm run example:forget_sweep
 *
 * In a project of yours, `npm install` the folder ts-client and compile with tsc as usual. The
 * socket is `$FORGETD_SOCKET` or the daemon's usual place; the facts go into a new namespace.
 */
import { MemorySystem } from "forgetd"

const DAY_MS = 86_400_000
const FACTS = 30

const memory = await MemorySystem.open({
  namespace: `sweep-example-${Date.now()}`,
})
try {
  const createdAt = Date.now() - 300 * DAY_MS
  await memory.putMany(
    Array.from({ length: FACTS }, (_, index) => ({
      id: `fact-${index}`,
      content: `Fact number ${index}, noted long ago and never asked for since`,
      importance: index / FACTS,
      createdAt,
    })),
  )
  // Lowering a threshold makes automatic forgetting wait for an hour; a call need not wait.
  await memory.thresholds.set({ forgetThresholdTotal: 25 })

  const plan = await memory.forgetSweep({ dryRun: true })
  console.log(`The plan ${plan.planId}: from ${plan.before.total} to ${plan.after.total} memories`)
  for (const { id, action, reason, strength } of plan.decisions) {
    console.log(`  ${action} ${id}: ${reason}, strength ${strength?.toFixed(3)}`)
  }
  if (plan.planId === null) throw new Error("the dry run gave no plan")

  const run = await memory.forgetSweep({ planId: plan.planId })
  console.log(`The run ${run.runId}: ${run.after.total} here, ${run.after.forgotten} forgotten`)

  const weakest = plan.decisions[0]?.id ?? "fact-0"
  const { results } = await memory.restore({ ids: [weakest] })
  const back = await memory.get(weakest)
  console.log(`Taken back: ${weakest} is ${results[0]?.result}, now ${back?.tier}`)
} finally {
  await memory.close()
}
