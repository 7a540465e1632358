import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { fileDaemon, newSystem, REPOSITORY } from "./daemon.js"

const daemon = await fileDaemon()
const run = promisify(execFile)
const COMPILED = join(REPOSITORY, "ts-client", "build", "examples")

/** What the program prints; an error if it fails or says anything on stderr. */
async function output(program: string, ...words: string[]): Promise<string> {
  const env = { PATH: process.env["PATH"], FORGETD_SOCKET: daemon.socketPath }
  const { stdout, stderr } = await run(program, words, { env, timeout: 60_000 })
  assert.equal(stderr, "")
  return stdout
}

test("[TS-36] the TypeScript example plans, applies exactly that and takes one back", async () => {
  const said = await output(process.execPath, join(COMPILED, "forget_sweep.js"))

  assert.match(said, /The plan \S+: from 30 to 22 memories/)
  assert.equal(said.match(/forget fact-\d+: total_over_threshold, strength 0\.0/g)?.length, 8)
  assert.match(said, /The run \S+: 22 here, 8 forgotten/)
  assert.match(said, /Taken back: fact-0 is restored, now hot/)
})

test("[TS-36] the curl example plans and applies exactly that", async () => {
  const said = await output("bash", join(REPOSITORY, "examples", "forget_sweep.sh"))

  assert.match(said, /The plan \S+ would change these:/)
  assert.equal(said.match(/"reason": "total_over_threshold"/g)?.length, 8)
  assert.match(said, /The run \S+ moved:[^}]*"forget\w*": 8/)
})

test("[TS-37] the demo's filling crosses both stages and moves nothing by itself", async (t) => {
  const memory = newSystem(daemon)
  t.after(() => memory.close())

  await output(process.execPath, join(COMPILED, "demo", "fill.js"), memory.namespace, "320")

  const plan = await memory.forgetSweep({ dryRun: true, decisionsLimit: 1_000 })
  assert.deepEqual([plan.before.hot, plan.before.total], [320, 320])
  assert.deepEqual(plan.stages.map((stage) => stage.crossed).flat(), ["count", "total"])
  const reasons = new Set(plan.decisions.map(({ action, reason }) => `${action} ${reason}`))
  for (const expected of [
    "spill hot_over_threshold",
    "forget superseded",
    "forget total_over_threshold",
  ]) {
    assert.ok(reasons.has(expected), expected)
  }
})
