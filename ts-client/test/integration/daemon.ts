import { spawn, type ChildProcess } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after } from "node:test"
import { setTimeout as wait } from "node:timers/promises"
import { MemorySystem, type MemorySystemOptions } from "forgetd"
import { REPOSITORY } from "../judge.js"
import { watchTransport } from "../watch.js"

export { REPOSITORY }
export const PROGRAM = process.env["FORGETD_BIN"] ?? join(REPOSITORY, ".venv", "bin", "forgetd")
const START_MS = 30_000
const STOP_MS = 30_000

await watchTransport()

/** A real daemon in a directory of its own, with a clock that can be set. */
export class Daemon {
  readonly directory: string
  readonly socketPath: string
  #process: ChildProcess | undefined
  #log = ""

  constructor(directory: string) {
    this.directory = directory
    this.socketPath = join(directory, "d.sock")
  }

  /** Starts the daemon and returns when it serves calls. */
  async start(): Promise<void> {
    const state = join(this.directory, "state")
    const config = join(this.directory, "forgetd.toml")
    await writeFile(config, "[gc]\nallow_rpc = true\n[lifecycle]\nforget_enabled = true\n")
    const paths = ["--socket", this.socketPath, "--state-dir", state, "--config", config]
    const options = [...paths, "--allow-injected-clock"]
    const started = spawn(PROGRAM, ["serve", ...options], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], HOME: this.directory },
    })
    this.#process = started
    const note = (chunk: Buffer): void => void (this.#log = (this.#log + chunk).slice(-20_000))
    started.stdout.on("data", note)
    started.stderr.on("data", note)
    started.on("error", (error) => (this.#log += String(error)))
    await until("the daemon is ready", START_MS, async () => {
      if (started.exitCode !== null || started.pid === undefined) {
        throw new Error(`${PROGRAM} ended with ${started.exitCode}:\n${this.#log}`)
      }
      return (await statusOf(this.socketPath, "/readyz")) === 200
    })
  }

  /** Kills the daemon without a word and returns when it is gone. */
  async kill(): Promise<void> {
    const running = this.#process
    if (running === undefined) return
    running.kill("SIGKILL")
    await this.stop()
  }

  /** Asks the daemon to stop and returns its exit code. */
  async stop(): Promise<number | null> {
    const running = this.#process
    this.#process = undefined
    if (running === undefined || running.exitCode !== null) return running?.exitCode ?? null
    const ended = new Promise<number | null>((resolve) => running.once("exit", resolve))
    running.kill("SIGTERM")
    const killer = setTimeout(() => running.kill("SIGKILL"), STOP_MS)
    const code = await ended
    clearTimeout(killer)
    return code
  }
}

let lastNamespace = 0

/** A client of the daemon in a namespace that no other test has; closed by the caller. */
export function newSystem(daemon: Daemon, options: MemorySystemOptions = {}): MemorySystem {
  const namespace = `test-${(lastNamespace += 1)}`
  return new MemorySystem({ socketPath: daemon.socketPath, namespace, ...options })
}

/** The daemon of one test file: ready at once, stopped and removed after the tests. */
export async function fileDaemon(): Promise<Daemon> {
  const directory = await mkdtemp(join(tmpdir(), "forgetd-ts-"))
  const daemon = new Daemon(directory)
  const end = async (): Promise<void> => {
    await daemon.stop()
    await rm(directory, { recursive: true, force: true })
  }
  after(end)
  await daemon.start().catch(async (error: unknown) => {
    await end()
    throw error
  })
  return daemon
}

/** From now on the daemon's clock stands at `now` (ms). */
export async function holdClock(daemon: Daemon, now: number): Promise<void> {
  const memory = newSystem(daemon)
  await memory.system.clock(now)
  await memory.close()
}

/** Asks again and again until the condition holds; an error once the time is over. */
export async function until(
  what: string,
  deadlineMs: number,
  condition: () => Promise<boolean>,
): Promise<void> {
  const end = Date.now() + deadlineMs
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`)
    await wait(20)
  }
}

/** The status of a GET over the socket; 0 where nothing answers. */
function statusOf(socketPath: string, path: string): Promise<number> {
  return new Promise((resolve) => {
    const call = request({ socketPath, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    call.on("error", () => resolve(0))
    call.end()
  })
}
