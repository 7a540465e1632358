import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test, type TestContext } from "node:test"
import { promisify } from "node:util"
import { MemorySystem, SpawnError, type MemorySystemOptions } from "forgetd"
import { lives } from "../processes.js"
import { PROGRAM, until } from "./daemon.js"

const END_MS = 30_000

/** Options of a client that starts a real daemon in a new place, which ends by itself. */
async function spawning(
  t: TestContext,
  ...more: readonly string[]
): Promise<{ options: MemorySystemOptions; ended: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "forgetd-ts-"))
  const socketPath = join(directory, "run", "d.sock")
  const ended = (): Promise<void> =>
    until("the daemon ended by itself", END_MS, async () => !existsSync(socketPath))
  t.after(async () => {
    await ended()
    await rm(directory, { recursive: true, force: true })
  })
  const command = [PROGRAM, "serve", "--state-dir", join(directory, "state"), ...more]
  return { options: { socketPath, spawn: { command, idleExitSeconds: 1 } }, ended }
}

test("[TS-57] a real daemon is started, ends when idle, and is started again with its memories", async (t) => {
  const { options, ended } = await spawning(t)
  for (const id of ["first", "second"]) {
    const memory = await MemorySystem.open(options)
    await memory.put({ id, content: `put by the ${id} client` })
    assert.equal((await memory.get("first"))?.content, "put by the first client")
    await memory.close()
    await ended()
  }
})

test("[TS-57] an open client starts it again when it has ended, also to write", async (t) => {
  const { options } = await spawning(t)
  const memory = await MemorySystem.open(options)
  const { pid } = await memory.system.status()
  process.kill(pid, "SIGTERM")
  await until("the daemon is gone", END_MS, async () => !lives(pid))

  await memory.put({ id: "later", content: "written to the second one" })
  assert.notEqual((await memory.system.status()).pid, pid)
  await memory.close()
})

test("[TS-58] processes that spawn at once end with one daemon", async (t) => {
  const { options } = await spawning(t)
  const program = `
    import { MemorySystem } from "forgetd"
    const memory = await MemorySystem.open(${JSON.stringify(options)})
    const { id } = await memory.put({ content: "from process " + process.pid })
    const { pid } = await memory.system.status()
    console.log(JSON.stringify({ id, pid }))
    await memory.close()`
  const runs = [1, 2, 3].map(() =>
    promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
      timeout: 60_000,
    }),
  )
  const told = (await Promise.all(runs)).map(
    ({ stdout }) => JSON.parse(stdout) as { id: string; pid: number },
  )

  assert.equal(new Set(told.map(({ pid }) => pid)).size, 1)
  const memory = await MemorySystem.open(options)
  const kept = await memory.getMany(told.map(({ id }) => id))
  await memory.close()
  assert.ok(kept.every((one) => one !== null))
})

test("[TS-59] why a real daemon did not start is told in its own words", async (t) => {
  const { options } = await spawning(t, "--config", "/no/such/forgetd.toml")
  await assert.rejects(MemorySystem.open(options), (error) => {
    assert.ok(error instanceof SpawnError)
    assert.equal(error.reason, "ended")
    assert.equal(error.exitCode, 78)
    assert.match(error.stderr, /forgetd.toml does not exist\n {2}next: name another file/)
    return true
  })
})
