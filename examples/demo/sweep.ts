/**
 * Reads what a sweep would do, then lets it do exactly that.
 *
 *     node build/examples/demo/sweep.js DIRECTORY
 *
 * DIRECTORY is where the daemon keeps the namespace: a dry run must not change a byte in it.
 */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { MemorySystem, type Decision, type Memory, type SweepReport, type Tier } from "forgetd"
import { claim, NAMESPACE, say, shortened, size, table, tell } from "./narrate.js"

const DAY_MS = 86_400_000
const [directory] = process.argv.slice(2)

await tell(async () => {
  if (directory === undefined) throw new Error("usage: sweep.js DIRECTORY")
  await using memory = await MemorySystem.open({ namespace: NAMESPACE })
  const memories = await everyMemory(memory)
  const bytesBefore = fingerprint(directory)
  const diskBefore = bytesOnDisk(directory)

  const plan = await memory.forgetSweep({ dryRun: true, decisionsLimit: 1000 })
  showPlan(plan, memories)
  const untouched = fingerprint(directory) === bytesBefore
  claim("The dry run has not changed a byte of the directory.", untouched, plan.planId)

  if (plan.planId === null) throw new Error("the dry run gave no plan")
  console.log(`\n4  That plan is applied: memory.forgetSweep({ planId: "${plan.planId}" })\n`)
  const run = await memory.forgetSweep({ planId: plan.planId, decisionsLimit: 1000 })
  showChange(run, diskBefore, bytesOnDisk(directory))
  claimExactly(plan, run, memories, await everyMemory(memory))
})

/** All hot and cold memories, by id. */
async function everyMemory(memory: MemorySystem): Promise<Map<string, Memory>> {
  const found = new Map<string, Memory>()
  for await (const one of memory.listAll({ limit: 1000 })) found.set(one.id, one)
  return found
}

/** One hash of every file and its name; `*-shm` is shared memory, not data. */
function fingerprint(folder: string): string {
  const hash = createHash("sha256")
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    const path = join(folder, name)
    if (name.endsWith("-shm") || !statSync(path).isFile()) continue
    hash.update(`${name}\0${statSync(path).size}\0`).update(readFileSync(path))
  }
  return hash.digest("hex")
}

/** The bytes on disk of the hot store with its log, and of the archive. */
function bytesOnDisk(folder: string): { hot: number; archive: number } {
  const bytes = { hot: 0, archive: 0 }
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const size = statSync(join(folder, name)).size
    if (/^hot\.db(-wal)?$/.test(name)) bytes.hot += size
    else if (name.endsWith(".jsonl.zst")) bytes.archive += size
  }
  return bytes
}

function showPlan(plan: SweepReport, memories: Map<string, Memory>): void {
  const { before, after, counts, brake } = plan
  const { spill = 0, forget = 0 } = counts
  const both = plan.stages.every(({ crossed, selected }) => crossed.length > 0 && selected > 0)
  claim(
    `${before.hot} hot are more than 120: ${spill} would be spilled to the archive.`,
    both && spill > 0,
    plan,
  )
  claim(
    `${before.total} in total are more than 300: ${forget} would be forgotten.`,
    both && forget > 0 && after.total === before.total - forget,
    plan,
  )
  const shown = firstsAndLast(plan.decisions)
  const rows = shown.map((decision) => planRow(decision, memories.get(decision.id), plan.now))
  console.log()
  table(["stage", "reason", "score", "strength", "idle", "content"], rows)
  console.log(`     and ${plan.decisions.length - shown.length} more, each with its reason\n`)
  const { pinned = 0, head = 0 } = plan.protected
  claim(
    `Weak, and kept all the same: ${pinned} pinned, ${head} the newest of its chain.`,
    pinned > 0 && head > 0,
    plan.protected,
  )
  claim(
    `The brake lets ${brake?.allowed} go in a day; the plan stays below it.`,
    brake !== null && !brake.engaged && forget <= (brake.allowed ?? 0),
    brake,
  )
}

/** Of each action and reason the first two decisions and the last, in the plan's order. */
function firstsAndLast(decisions: readonly Decision[]): Decision[] {
  const groups = new Map<string, Decision[]>()
  for (const decision of decisions) {
    const kind = `${decision.action} ${decision.reason}`
    groups.set(kind, [...(groups.get(kind) ?? []), decision])
  }
  return [...groups.values()].flatMap((group) => [
    ...new Set([...group.slice(0, 2), ...group.slice(-1)]),
  ])
}

function planRow(decision: Decision, memory: Memory | undefined, now: number): string[] {
  const lastUse = memory?.lastRecalledAt ?? memory?.createdAt ?? now
  return [
    decision.action === "spill" ? "1 spill" : "2 forget",
    decision.reason ?? "",
    decision.score?.toFixed(4) ?? "-",
    decision.strength?.toFixed(4) ?? "-",
    `${Math.floor((now - lastUse) / DAY_MS)} d`,
    shortened(memory?.content ?? ""),
  ]
}

function showChange(
  run: SweepReport,
  diskBefore: ReturnType<typeof bytesOnDisk>,
  diskAfter: ReturnType<typeof bytesOnDisk>,
): void {
  const { before, after } = run
  table(
    ["before", "after", ""],
    [
      ...(["hot", "cold", "forgotten", "total"] as const).map((name) => [
        `${before[name]}`,
        `${after[name]}`,
        name,
      ]),
      [size(before.liveBytes), size(after.liveBytes), "live bytes, as the threshold counts them"],
      [size(diskBefore.hot), size(diskAfter.hot), "hot.db with its log, on disk"],
      [size(diskBefore.archive), size(diskAfter.archive), "archive files, on disk"],
    ],
  )
  console.log()
  claim(
    "Fewer memories, fewer live bytes, and a smaller hot.db.",
    after.hot < before.hot &&
      after.total < before.total &&
      after.liveBytes < before.liveBytes &&
      diskAfter.hot < diskBefore.hot,
    { before, after, diskBefore, diskAfter },
  )
}

/** Every decision of the plan was carried out, and nothing else moved. */
function claimExactly(
  plan: SweepReport,
  run: SweepReport,
  before: Map<string, Memory>,
  after: Map<string, Memory>,
): void {
  const tierAfter = new Map<string, Tier>([...before].map(([id, { tier }]) => [id, tier]))
  for (const { id, action } of plan.decisions)
    tierAfter.set(id, action === "spill" ? "cold" : "forgotten")
  const wrong = [...tierAfter].filter(([id, tier]) => (after.get(id)?.tier ?? "forgotten") !== tier)
  const moved = run.decisions.filter(({ outcome }) => outcome === "moved").length
  claim(
    `All ${moved} decisions of the plan were carried out, and no other memory moved.`,
    wrong.length === 0 && moved === plan.decisions.length && run.skippedCount === 0,
    { wrong, moved, skipped: run.skipped },
  )
  say(`The run is ${run.runId}.`)
}
