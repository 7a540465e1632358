/**
 * Recalls what was spilled, restores one memory that was forgotten, then undoes the whole run.
 *
 *     node build/examples/demo/bring_back.js RUN
 */
import { MemorySystem } from "forgetd"
import { claim, NAMESPACE, say, table, tell } from "./narrate.js"

const QUERY = "커피"
const [runId] = process.argv.slice(2)

await tell(async () => {
  if (runId === undefined) throw new Error("usage: bring_back.js RUN")
  await using memory = await MemorySystem.open({ namespace: NAMESPACE })
  await recallSpilled(memory)
  await restoreOne(memory, runId)
  await undo(memory, runId)
})

/** Looking must not count as use here: a touched cold memory would thaw. */
async function recallSpilled(memory: MemorySystem): Promise<void> {
  const { results, depth, coldScanned } = await memory.recall({ query: QUERY, touch: "none" })
  const spilled = results.filter(({ memory: { tier } }) => tier === "cold")
  claim(
    `memory.recall("${QUERY}") found too little that is hot and looked into the archive too:`,
    depth === "deep" && coldScanned > 0 && spilled.length > 0,
    { depth, coldScanned, results },
  )
  table(
    ["tier", "content"],
    results.map(({ memory: { tier, content } }) => [tier, content]),
  )
}

async function restoreOne(memory: MemorySystem, runId: string): Promise<void> {
  const { decisions } = await memory.runs.decisions({ runId }, { limit: 1000 })
  const forgotten = decisions.find(
    ({ action, reason, fromTier }) =>
      action === "forget" && reason === "total_over_threshold" && fromTier === "hot",
  )
  if (forgotten === undefined) throw new Error("the run forgot nothing that was hot")
  const { id } = forgotten

  const gone = await memory.get(id)
  claim(`memory.get("${id}") gives null: it was forgotten.`, gone === null, gone)
  const { results } = await memory.restore({ ids: [id] })
  const back = await memory.get(id)
  claim(
    `memory.restore({ ids: ["${id}"] }) brings it back; it is ${back?.tier} again:`,
    results[0]?.result === "restored" && back?.tier === "hot" && back.content.length > 0,
    { results, back },
  )
  say(`“${back?.content}”`)
}

async function undo(memory: MemorySystem, runId: string): Promise<void> {
  console.log("\n6  The whole run is undone: memory.runs.undo(runId)\n")
  const { counts } = await memory.runs.undo(runId)
  const { restored = 0, already_here = 0, superseded = 0, expired = 0, ...others } = counts
  claim(
    `${restored + superseded + expired} memories are back where they were; ${already_here} was already.`,
    Object.keys(others).length === 0 && already_here === 1,
    counts,
  )
  say(
    `Of these, ${superseded} are superseded and ${expired} expired, as before: no belief changed.`,
  )
  const { paused } = await memory.thresholds.get()
  claim(
    "Nothing is swept again by itself until somebody calls memory.thresholds.resume().",
    paused.some(({ reason }) => reason === "undo"),
    paused,
  )
}
