import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { constants } from "node:fs"
import { open, type FileHandle } from "node:fs/promises"
import { SpawnError } from "./errors.js"
import type { SpawnPlan } from "./spawn-options.js"

const LAST_LINES = 20
const LAST_BYTES = 8_192

/** How a daemon ended: by itself with a code, or by a signal. */
export type Ending = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** A daemon that was started, in a session of its own, so that it outlives this process. */
export class DaemonProcess {
  readonly #child: ChildProcess
  readonly #log: LogFile | undefined
  #ending: Ending | undefined
  #last = Buffer.alloc(0)

  private constructor(child: ChildProcess, log: LogFile | undefined) {
    this.#child = child
    this.#log = log
    child.unref()
    child.on("error", () => undefined)
    // Not "exit": its last words come after that.
    child.on("close", (code, signal) => (this.#ending = { code, signal }))
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#last = Buffer.concat([this.#last, chunk]).subarray(-LAST_BYTES)
    })
    child.stderr?.on("error", () => undefined)
  }

  /** Starts the command. Rejects with SpawnError `not_started`. */
  static async start(plan: SpawnPlan): Promise<DaemonProcess> {
    const log = plan.logFile === undefined ? undefined : await LogFile.open(plan.logFile)
    try {
      const child = spawn(plan.program, plan.arguments, {
        detached: true,
        env: plan.env,
        stdio: ["ignore", "ignore", log === undefined ? "pipe" : log.descriptor],
      })
      // Made before the wait, so that it misses neither words nor the end.
      const daemon = new DaemonProcess(child, log)
      await once(child, "spawn")
      return daemon
    } catch (cause) {
      await log?.close()
      const { code } = cause as NodeJS.ErrnoException
      throw new SpawnError(
        "not_started",
        `${plan.program} cannot be run (${code}): ` +
          "install forgetd, or give the program's whole path in spawn.command",
        { cause },
      )
    }
  }

  /** How it ended, or undefined while it runs. */
  get ending(): Ending | undefined {
    return this.#ending
  }

  /** The last lines that it wrote to standard error. */
  async lastLines(): Promise<string> {
    const bytes = this.#log === undefined ? this.#last : await this.#log.last()
    return bytes.toString("utf8").trimEnd().split("\n").slice(-LAST_LINES).join("\n")
  }

  /** Asks it, and what it started, to stop. */
  stop(): void {
    if (this.#child.pid === undefined || this.#ending !== undefined) return
    try {
      process.kill(-this.#child.pid, "SIGTERM")
    } catch {
      // It ended by itself meanwhile.
    }
  }

  /** Leaves it to itself. From then on what it writes without a log file is dropped. */
  async release(): Promise<void> {
    this.#child.stderr?.destroy()
    await this.#log?.close()
  }
}

/** A file that a daemon's standard error is added to. */
class LogFile {
  readonly #handle: FileHandle
  readonly #from: number

  private constructor(handle: FileHandle, from: number) {
    this.#handle = handle
    this.#from = from
  }

  static async open(path: string): Promise<LogFile> {
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants
    try {
      const handle = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
      return new LogFile(handle, (await handle.stat()).size)
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      const message = `the log file ${path} cannot be opened (${code}): name another by spawn.logFile`
      throw new SpawnError("not_started", message, { cause })
    }
  }

  get descriptor(): number {
    return this.#handle.fd
  }

  /** The end of what was added since it was opened. */
  async last(): Promise<Buffer> {
    const { size } = await this.#handle.stat()
    const from = Math.max(this.#from, size - LAST_BYTES)
    const { buffer, bytesRead } = await this.#handle.read(Buffer.alloc(Math.max(0, size - from)), {
      position: from,
    })
    return buffer.subarray(0, bytesRead)
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}
