/** Makes the demo's namespace, with thresholds small enough to watch. */
import { MemorySystem } from "forgetd"
import { claim, NAMESPACE, tell } from "./narrate.js"

await tell(async () => {
  await using memory = await MemorySystem.open({
    namespace: NAMESPACE,
    forgetThresholdCount: 120,
    forgetThresholdTotal: 300,
  })
  const { thresholds } = await memory.thresholds.get()
  const [hot, total] = [
    thresholds.forgetThresholdCount.value,
    thresholds.forgetThresholdTotal.value,
  ]
  claim(
    `MemorySystem.open({ forgetThresholdCount: ${hot}, forgetThresholdTotal: ${total} })`,
    hot === 120 && total === 300,
    thresholds,
  )
})
