/**
 * Puts the facts of 300 days into a namespace.
 *
 *     node build/examples/demo/fill.js [NAMESPACE] [FACTS]
 *
 * Forgetting is switched off on opening. In a namespace that is there already this only pauses
 * what the daemon does by itself, so that nothing moves before somebody has read the plan; a
 * new one is made with small thresholds.
 */
import { MemorySystem } from "forgetd"
import { factsOfTheYear } from "./facts.js"
import { claim, NAMESPACE, say, tell } from "./narrate.js"

const [namespace = NAMESPACE, count = "170"] = process.argv.slice(2)

await tell(async () => {
  await using memory = await MemorySystem.open({
    namespace,
    forgetThresholdCount: 120,
    forgetThresholdTotal: 300,
    forgetEnabled: false,
  })
  const { now } = await memory.system.clock()
  const facts = factsOfTheYear(Number(count), now)
  const { created } = await memory.putMany(facts)
  claim(`memory.putMany: ${created} facts stored`, created === facts.length, created)

  // Two of the imported facts must never go, however old they get.
  const { results } = await memory.recall({
    query: "allergic to peanuts 땅콩 알레르기",
    touch: "none",
  })
  const peanuts = results.filter(({ memory: { content } }) => /peanut|땅콩/.test(content))
  for (const { memory: found } of peanuts) {
    await memory.pin(found.id)
    say(`memory.pin: “${found.content}”`)
  }
})
