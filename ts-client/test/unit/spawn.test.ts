import assert from "node:assert/strict"
import * as fs from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as wait } from "node:timers/promises"
import {
  ClosedError,
  ConnectError,
  ForgetdError,
  MemorySystem,
  RpcClient,
  SpawnError,
  TimeoutError,
  type SpawnFault,
  type SpawnOptions,
} from "forgetd"
import { lives } from "../processes.js"
import { fakeDaemon, temporaryDirectory } from "./fake-daemon.js"
import { place, type Born } from "./spawned-daemon.js"

/** Waits for what happens in another process. */
async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 20_000
  while (!condition()) {
    assert.ok(Date.now() < end, "the condition never held")
    await wait(10)
  }
}

function refusal(reason: SpawnFault, told: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof SpawnError && error instanceof ForgetdError)
    assert.equal(error.name, "SpawnError")
    assert.equal(error.reason, reason)
    assert.match(error.message, told)
    return true
  }
}

test("[TS-50] a daemon that listens is used and none is started", async (t) => {
  const { command, started } = await place(t)
  const daemon = await fakeDaemon(t, (call) => call.result({ pid: 1 }))
  const client = new RpcClient(daemon.socketPath, { spawn: command() })
  t.after(() => client.close())

  assert.deepEqual(await client.call("memory.get"), { pid: 1 })
  assert.deepEqual(started(), [])
})

test("[TS-50] without the option none is started", async (t) => {
  const { socketPath } = await place(t)
  const client = new RpcClient(socketPath, { retry: false })
  t.after(() => client.close())
  await assert.rejects(client.call("memory.get"), ConnectError)
})

test("[TS-50] calls that find no daemon at once start one, which outlives the client", async (t) => {
  const { socketPath, command, started } = await place(t)
  const client = new RpcClient(socketPath, { spawn: { ...command(), idleExitSeconds: 45 } })
  const calls = [1, 2, 3].map(() => client.call<Born>("memory.put"))
  const [born] = await Promise.all(calls)
  client.close()

  assert.ok(born)
  assert.deepEqual(started(), [born.pid])
  assert.deepEqual(born.argv, ["--socket", socketPath, "--idle-exit", "45"])
  assert.ok(lives(born.pid))
  const stat = fs.readFileSync(`/proc/${born.pid}/stat`, "utf8").split(") ")[1]?.split(" ")
  assert.equal(Number(stat?.[3]), born.pid, "it leads a session of its own")
})

test("[TS-50] a daemon that is gone is started again, for calls and for events", async (t) => {
  const { socketPath, command, started } = await place(t)
  const system = await MemorySystem.open({ socketPath, spawn: command() })
  t.after(() => system.close())
  const kill = async (): Promise<void> => {
    const last = started().at(-1) ?? 0
    process.kill(last, "SIGKILL")
    await until(() => !lives(last))
  }

  await kill()
  await system.put({ content: "a write that finds nobody was surely not carried out" })
  assert.equal(started().length, 2)
  await kill()
  await assert.rejects(system.events({ since: 0 }).next(), /no event stream/)
  assert.equal(started().length, 3)
})

test("[TS-51] a daemon gets a clean environment and what it is given", async (t) => {
  const { socketPath, command } = await place(t)
  process.env["FORGETD_TEST_PASSED_ON"] = "yes"
  process.env["API_KEY_OF_THE_HOST"] = "secret"
  t.after(() => {
    delete process.env["FORGETD_TEST_PASSED_ON"]
    delete process.env["API_KEY_OF_THE_HOST"]
  })
  const client = new RpcClient(socketPath, { spawn: { ...command(), env: { GIVEN: "this" } } })
  t.after(() => client.close())

  const { env } = await client.call<Born>("memory.get")
  assert.equal(env["FORGETD_TEST_PASSED_ON"], "yes")
  assert.equal(env["GIVEN"], "this")
  assert.equal(env["PATH"], process.env["PATH"])
  const allowed = /^(PATH|HOME|LANG|TMPDIR|GIVEN|XDG_\w+|FORGETD_\w+)$/
  assert.deepEqual(
    Object.keys(env).filter((name) => !allowed.test(name)),
    [],
  )
})

test("[TS-52] a daemon that ends at once is told with its exit code and its last words", async (t) => {
  const { socketPath, command, started } = await place(t)
  const words = `for (let line = 1; line <= 30; line += 1) console.error("line " + line)
    process.exitCode = 78`
  const client = new RpcClient(socketPath, { spawn: command(words, false) })
  t.after(() => client.close())

  await assert.rejects(client.call("memory.get"), (error) => {
    assert.ok(error instanceof SpawnError)
    assert.equal(error.exitCode, 78)
    assert.equal(error.stderr.split("\n").length, 20)
    assert.match(error.stderr, /line 30$/)
    return refusal("ended", /exit code 78.*run it by hand.*line 30/s)(error)
  })
  assert.equal(started().length, 1, "it is not started again and again")
})

test("[TS-52] a command that cannot be run is told", async (t) => {
  const { socketPath } = await place(t)
  const client = new RpcClient(socketPath, { spawn: { command: ["no-such-program-here"] } })
  t.after(() => client.close())
  await assert.rejects(
    client.call("memory.get"),
    refusal("not_started", /no-such-program-here cannot be run \(ENOENT\): install forgetd/),
  )
})

test("[TS-52] a log file gets the daemon's words, is private, and its older ones are not told", async (t) => {
  const { socketPath, directory, command } = await place(t)
  const logFile = join(directory, "daemon.log")
  for (const word of ["first", "second"]) {
    const fails = command(`console.error("${word}"); process.exitCode = 1`, false)
    const client = new RpcClient(socketPath, { spawn: { ...fails, logFile } })
    await assert.rejects(client.call("memory.get"), (error) => {
      assert.ok(error instanceof SpawnError)
      assert.equal(error.stderr, word)
      return true
    })
    client.close()
  }
  assert.equal(fs.readFileSync(logFile, "utf8"), "first\nsecond\n")
  assert.equal(fs.statSync(logFile).mode & 0o777, 0o600)

  const unwritable = { ...command(), logFile: join(directory, "absent", "daemon.log") }
  const client = new RpcClient(socketPath, { spawn: unwritable })
  t.after(() => client.close())
  await assert.rejects(client.call("memory.get"), refusal("not_started", /log file.*ENOENT/))
})

test("[TS-52] a command that never listens is stopped when its time is over", async (t) => {
  const { socketPath, command, started } = await place(t)
  const sleeps = command("setTimeout(() => undefined, 30_000)", false)
  const client = new RpcClient(socketPath, { spawn: { ...sleeps, readyTimeoutMs: 400 } })
  t.after(() => client.close())

  await assert.rejects(client.call("memory.get"), refusal("not_ready", /not ready within 400 ms/))
  await until(() => started().every((pid) => !lives(pid)))
})

test("[TS-52] a daemon that listens and recovers longer is not ready and left to it", async (t) => {
  const { socketPath, directory, command, started } = await place(t)
  const recovers = command(
    `process.on("SIGTERM", () => require("node:fs").writeFileSync(${JSON.stringify(
      join(directory, "stopped"),
    )}, ""))
    const { createServer } = require("node:http")
    const made = createServer
    require("node:http").createServer = (handle) => made((request, response) => {
      request.url === "/readyz" ? response.writeHead(503).end() : handle(request, response)
    })`,
  )
  const client = new RpcClient(socketPath, { spawn: { ...recovers, readyTimeoutMs: 2_000 } })
  t.after(() => client.close())
  await assert.rejects(client.call("memory.get"), refusal("not_ready", /not ready within/))
  assert.equal(started().length, 1)
  assert.ok(started().every(lives))
  assert.ok(!fs.existsSync(join(directory, "stopped")))
})

test("[TS-53] a socket directory that is not ours alone is not trusted, daemon or not", async (t) => {
  const directory = await temporaryDirectory(t)
  const open = join(directory, "open")
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  fs.mkdirSync(open)
  fs.chmodSync(open, 0o755)
  fs.symlinkSync(directory, join(directory, "link"))
  fs.writeFileSync(join(directory, "file"), "")
  const cases: readonly (readonly [string, RegExp])[] = [
    [join(open, "d.sock"), /open to others \(mode 0755\): chmod 700/],
    [join(directory, "link", "d.sock"), /is a symbolic link: name its target/],
    [join(directory, "file", "d.sock"), /is not a directory/],
    ["/d.sock", /open to others|belongs to the user with id 0/],
  ]
  const { command, started } = await place(t)
  for (const [socketPath, told] of cases) {
    const client = new RpcClient(socketPath, { spawn: command() })
    await assert.rejects(client.call("memory.get"), refusal("unsafe_directory", told))
    client.close()
  }
  fs.chmodSync(join(daemon.socketPath, ".."), 0o711)
  const client = new RpcClient(daemon.socketPath, { spawn: command() })
  t.after(() => client.close())
  await assert.rejects(client.call("memory.get"), refusal("unsafe_directory", /mode 0711/))
  assert.deepEqual(daemon.calls, [])
  assert.deepEqual(started(), [])
})

test("[TS-54] signals, deadlines and close end a call that waits for a daemon, which goes on", async (t) => {
  const { socketPath, command, started } = await place(t)
  const slow = `await new Promise((resolve) => setTimeout(resolve, 1_500))`
  const {
    command: [node, , program, rest],
  } = command(slow) as { command: string[] }
  const wrapped = `(async () => {${program}})()`
  const spawn: SpawnOptions = { command: [node ?? "", "-e", wrapped, rest ?? ""] }
  const client = new RpcClient(socketPath, { spawn })

  await assert.rejects(client.call("memory.get", {}, { timeoutMs: 100 }), TimeoutError)
  const reason = new Error("not needed any more")
  const signal = AbortSignal.timeout(100)
  const controller = new AbortController()
  signal.addEventListener("abort", () => controller.abort(reason))
  await assert.rejects(client.call("memory.get", {}, { signal: controller.signal }), reason)
  const waiting = client.call("memory.get")
  client.close()
  await assert.rejects(waiting, ClosedError)

  await until(() => started().length > 0)
  assert.ok(lives(started()[0] ?? 0), "the one that it started is left alone")
  const next = new RpcClient(socketPath)
  t.after(() => next.close())
  await until(() => fs.existsSync(socketPath))
  assert.ok(started().includes((await next.call<Born>("memory.get")).pid))
})

test("[TS-55] the loser of two starts waits for the winner, or starts again when that ends", async (t) => {
  const { socketPath, directory, command, started } = await place(t)
  const marker = JSON.stringify(join(directory, "was-here"))
  const loses = `const { existsSync, writeFileSync } = require("node:fs")
    if (!fs.existsSync(${marker})) { fs.writeFileSync(${marker}, ""); process.exit(75) }`
  const client = new RpcClient(socketPath, { spawn: command(loses) })
  t.after(() => client.close())

  const born = await client.call<Born>("memory.get")
  assert.equal(started().length, 2)
  assert.equal(started()[1], born.pid)
})

test("[TS-56] wrong options are refused before anything is touched", () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ command: [] }, /spawn.command/],
    [{ command: "forgetd serve" }, /spawn.command/],
    [{ command: ["forgetd", "a\0b"] }, /spawn.command/],
    [{ command: ["forgetd"], env: { A: 1 } }, /spawn.env/],
    [{ command: ["forgetd"], logFile: "" }, /spawn.logFile/],
    [{ command: ["forgetd"], idleExitSeconds: 0 }, /spawn.idleExitSeconds is 0/],
    [{ command: ["forgetd"], idleExitSeconds: Infinity }, /at most 2678400/],
    [{ command: ["forgetd"], readyTimeoutMs: NaN }, /spawn.readyTimeoutMs is NaN/],
    [{ command: ["forgetd"], comand: [] }, /spawn has no option comand/],
  ]
  for (const [spawn, told] of wrong) {
    assert.throws(() => new MemorySystem({ spawn: spawn as SpawnOptions }), told)
  }
})
