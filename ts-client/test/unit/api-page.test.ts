import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { MemorySystem } from "forgetd"
import { readDocument } from "../judge.js"

const PACKAGE = fileURLToPath(new URL("../../../", import.meta.url))

/** The method of a system that the contract's name leads to: `memory.put` is its own `put`. */
function methodOf(system: MemorySystem, wire: string): unknown {
  const path = wire.replace(/^memory\./, "").split(".")
  return path.reduce<unknown>((found, name) => (found as Record<string, unknown>)?.[name], system)
}

test("[TS-60] the client has every method of the contract by its name", async () => {
  const system = new MemorySystem()
  const all = readDocument().methods as unknown as readonly {
    readonly name: string
    readonly "x-admin"?: boolean
  }[]
  // What only the admin socket serves is for the command.
  const methods = all.filter((method) => method["x-admin"] !== true)
  const lacking = methods.filter(({ name }) => typeof methodOf(system, name) !== "function")
  assert.deepEqual(lacking, [])
  assert.equal(methodOf(system, "memory.guess"), undefined)
  assert.ok(methods.length > 30)
  await system.close()
})

test("[TS-61] the API page is that of the contract and of the client", () => {
  const script = fileURLToPath(new URL("../../../scripts/api-page.mjs", import.meta.url))
  const done = spawnSync(process.execPath, [script, "--check"], { cwd: PACKAGE, encoding: "utf8" })
  assert.equal(done.status, 0, done.stderr)
})
