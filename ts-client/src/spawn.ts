import { dirname } from "node:path"
import { DaemonProcess } from "./daemon-process.js"
import { SpawnError } from "./errors.js"
import { abortable, pause } from "./pause.js"
import { isAbsent, readinessOf, type Readiness } from "./readiness.js"
import { checkSocketDirectory } from "./socket-directory.js"
import { planSpawn, type SpawnOptions, type SpawnPlan } from "./spawn-options.js"
import type { Reply, Transport } from "./transport.js"

const POLL_MS = 25

/** The exit code of a daemon that found another one on its socket or its state directory. */
const ALREADY_RUNNING = 75

/** The other one may be ending: soon nobody listens any more, and another start succeeds. */
const START_AGAIN_MS = 500

/** Starts a daemon where none listens. Calls that find none at once share one start. */
export class Spawner {
  readonly #socketPath: string
  readonly #plan: SpawnPlan
  #start: Start | undefined

  /** Checks the options and touches nothing. Throws TypeError or RangeError. */
  constructor(socketPath: string, options: SpawnOptions) {
    this.#socketPath = socketPath
    this.#plan = planSpawn(options, socketPath)
  }

  /** Throws SpawnError unless the socket's directory is one where nobody else puts sockets. */
  trust(): void {
    checkSocketDirectory(dirname(this.#socketPath))
  }

  /**
   * Resolves when a daemon serves calls: the one that listens, or a new one. Rejects with
   * SpawnError, the signal's reason, or what else keeps calls from the socket.
   */
  async ensure(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.trust()
    const start = (this.#start ??= new Start(this.#plan, this.#socketPath))
    start.waiting += 1
    try {
      await abortable(start.ready, signal)
    } finally {
      start.waiting -= 1
      if (start.waiting === 0) {
        // Nobody waits any more. The daemon goes on, and the next call finds it.
        start.abandon()
        this.#start = undefined
      }
    }
    // It is there now, whoever made it.
    this.trust()
  }
}

/** Characters of a command that are shown. */
const SHOWN_MAX = 300

/** One start, from finding nobody to a daemon that serves calls. */
class Start {
  /** Calls that wait for it. */
  waiting = 0
  readonly ready: Promise<void>
  readonly #plan: SpawnPlan
  readonly #socketPath: string
  readonly #controller = new AbortController()
  readonly #late: Error
  #daemon: DaemonProcess | undefined
  #seen: Readiness = "absent"

  constructor(plan: SpawnPlan, socketPath: string) {
    this.#plan = plan
    this.#socketPath = socketPath
    this.#late = new Error(`not ready within ${plan.readyTimeoutMs} ms`)
    this.ready = this.#withDeadline()
  }

  abandon(): void {
    this.#controller.abort()
  }

  async #withDeadline(): Promise<void> {
    const late = (): void => this.#controller.abort(this.#late)
    const timer = setTimeout(late, this.#plan.readyTimeoutMs)
    try {
      await this.#untilReady(this.#controller.signal)
    } catch (error) {
      if (error !== this.#late) throw error
      // One that listens is recovering, and is left to it.
      if (this.#seen === "absent") this.#daemon?.stop()
      throw await this.#fault("not_ready", `the daemon was ${this.#late.message}`)
    } finally {
      clearTimeout(timer)
      await this.#daemon?.release()
    }
  }

  async #untilReady(signal: AbortSignal): Promise<void> {
    for (;;) {
      // Before the look: another's daemon that makes ours end is seen by it.
      const ending = this.#daemon?.ending
      this.#seen = await readinessOf(this.#socketPath, signal)
      if (this.#seen === "ready") return
      if (this.#daemon === undefined) {
        if (this.#seen === "absent") this.#daemon = await DaemonProcess.start(this.#plan)
      } else if (ending?.code === ALREADY_RUNNING) {
        await this.#waitForOther(signal)
      } else if (ending !== undefined) {
        const how = ending.signal ?? `exit code ${ending.code}`
        throw await this.#fault("ended", `the daemon ended with ${how}`, ending.code)
      }
      await pause(POLL_MS, signal)
    }
  }

  /** Another daemon holds the lock: it serves soon, or it ends and ours may start again. */
  async #waitForOther(signal: AbortSignal): Promise<void> {
    await pause(START_AGAIN_MS, signal)
    this.#seen = await readinessOf(this.#socketPath, signal)
    if (this.#seen !== "absent") return
    const before = this.#daemon
    this.#daemon = await DaemonProcess.start(this.#plan)
    await before?.release()
  }

  async #fault(
    reason: "ended" | "not_ready",
    what: string,
    exitCode: number | null = null,
  ): Promise<SpawnError> {
    const stderr = (await this.#daemon?.lastLines()) ?? ""
    const command = [this.#plan.program, ...this.#plan.arguments].join(" ").slice(0, SHOWN_MAX)
    const told = stderr === "" ? "; it said nothing" : `; it said:\n${stderr}`
    const remedy = "mend what it says, or run it by hand"
    return new SpawnError(reason, `${what}: ${remedy} (${command})${told}`, { exitCode, stderr })
  }
}

/** A transport that starts a daemon when it finds none, and then sends the body to that. */
export class SpawningTransport implements Pick<Transport, "post" | "close"> {
  readonly #transport: Transport
  readonly #spawner: Spawner

  constructor(transport: Transport, spawner: Spawner) {
    this.#transport = transport
    this.#spawner = spawner
  }

  /** As `Transport.post`; rejects with SpawnError, too. */
  async post(body: string, signal: AbortSignal): Promise<Reply> {
    this.#spawner.trust()
    try {
      return await this.#transport.post(body, signal)
    } catch (error) {
      if (!isAbsent(error)) throw error
      await this.#spawner.ensure(signal)
      return await this.#transport.post(body, signal)
    }
  }

  close(): void {
    this.#transport.close()
  }
}
